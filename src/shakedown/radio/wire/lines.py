"""Lines of JSON, one message each: positions on their way in, losses on their way out.

    {"id": 7, "latitude_deg": 47.25, "longitude_deg": 11.5, "height_m": 2.0}     or "altitude_m", above the sea
    {"time_s": 1.5, "update": 3, "whole": false, "part": 1, "parts": 1, "links": [[1, 7, 101.25]], "skipped": 0}

Other keys are passed over. In a file of positions each line has its ``time_s`` too (``traces.py``).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ...errors import UNREADABLE
from .losses import Ids, Losses
from .malformed import Malformed, check_id

MOST_BYTES = 4096
#: Links of one line: some 80 kB.
MOST_LINKS = 4000


class Position(msgspec.Struct, frozen=True):
    """One radio's place. A height above ground comes before an altitude above the sea; with neither it is the server's."""

    id: int
    latitude_deg: float
    longitude_deg: float
    height_m: float | None = None
    altitude_m: float | None = None
    time_s: float | None = None


class LossLine(msgspec.Struct, frozen=True):
    """A part of an update: links as two ids, the lower first, and their loss in dB; no loss (null) where there is no
    link any longer. ``whole``: all links that there are, else those that changed. ``skipped``: how many updates this
    reader has been too slow for until now."""

    time_s: float
    update: int
    whole: bool
    part: int
    parts: int
    links: list[tuple[int, int, float | None]]
    skipped: int = 0


_POSITION = msgspec.json.Decoder(Position)
_LOSSES = msgspec.json.Decoder(LossLine)


def read_position(line: bytes) -> Position:
    """Raises Malformed."""
    if len(line) > MOST_BYTES:
        raise Malformed("a line that is too long")
    try:
        found = _POSITION.decode(line)
    except msgspec.ValidationError:
        raise Malformed("JSON without id, latitude_deg and longitude_deg, or not numbers") from None
    except UNREADABLE:
        raise Malformed("not JSON") from None
    check_id(found.id)
    return found


def write_position(position: Position) -> bytes:
    """A line with its end; what is None is left out."""
    given = {name: value for name, value in msgspec.structs.asdict(position).items() if value is not None}
    return msgspec.json.encode(given) + b"\n"


def write_losses(
    time_s: float, update: int, first: Ids, second: Ids, loss_db: Losses, *, whole: bool, skipped: int = 0
) -> list[bytes]:
    """The lines of an update, at least one, of at most MOST_LINKS links each. Losses are rounded to 0.01 dB; one that
    is not a finite number is null."""
    rounded = np.round(loss_db.astype(np.float64), 2)
    values = [value if math.isfinite(value) else None for value in rounded.tolist()]
    links = list(zip(first.tolist(), second.tolist(), values, strict=True))
    parts = max(1, -(-len(links) // MOST_LINKS))
    return [
        msgspec.json.encode(
            LossLine(
                time_s=round(time_s, 6),
                update=update,
                whole=whole,
                part=part + 1,
                parts=parts,
                links=links[part * MOST_LINKS : (part + 1) * MOST_LINKS],
                skipped=skipped,
            )
        )
        + b"\n"
        for part in range(parts)
    ]


def read_losses(line: bytes) -> LossLine:
    """Raises Malformed."""
    try:
        return _LOSSES.decode(line)
    except UNREADABLE:
        raise Malformed("not a line of losses") from None


_NONE_SKIPPED = b'"skipped":0}\n'


def with_skipped(line: bytes, skipped: int) -> bytes:
    """A line of losses that says how many updates were skipped before it: the last of its entries, 0 as it was written."""
    if not line.endswith(_NONE_SKIPPED):
        raise ValueError("not a line of losses as they are written here")
    return line[: -len(_NONE_SKIPPED)] + b'"skipped":%d}\n' % skipped
