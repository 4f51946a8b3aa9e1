"""Pixels as PNG (ISO/IEC 15948): what a map lays under its lines."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_KINDS = {3: 2, 4: 6}  # channels: the standard's colour type, of 8 bits each


def encode(pixels: Pixels) -> bytes:
    """``pixels[row, column, channel]`` (red, green, blue, and opacity where there are four; row 0 above) as a PNG file."""
    import numpy as np

    rows, columns, channels = pixels.shape
    filtered = np.zeros((rows, 1 + columns * channels), np.uint8)  # each row begins with its filter: 0, none
    filtered[:, 1:] = np.ascontiguousarray(pixels).reshape(rows, columns * channels)
    header = struct.pack(">IIBBBBB", columns, rows, 8, _KINDS[channels], 0, 0, 0)
    chunks = (("IHDR", header), ("IDAT", zlib.compress(filtered.tobytes(), 6)), ("IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name.encode(), data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def as_url(pixels: Pixels) -> str:
    """The picture as a data URL, for a page that stands alone."""
    return "data:image/png;base64," + base64.b64encode(encode(pixels)).decode()
