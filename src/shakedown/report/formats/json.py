"""JSON: the whole Analysis as one object, in SI units, nothing left out; it reads back as the same Analysis."""

from __future__ import annotations

import msgspec

from ...records import Analysis
from .. import ReportFormat

REPORT = ReportFormat(name="json", suffix="json", render=msgspec.json.encode)


def read(data: bytes) -> Analysis:
    """The Analysis that was rendered. Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=Analysis)
