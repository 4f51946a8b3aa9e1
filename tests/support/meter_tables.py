"""Tables as meters write them."""

from __future__ import annotations

import datetime
from pathlib import Path

from shakedown.metering.meters import csv

T0 = int(datetime.datetime(2026, 11, 21, 13, tzinfo=datetime.UTC).timestamp())


def written(folder: Path, text: str, name: str = "meter.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(rows: list[tuple[str, object]], head: str = "time,power [W]") -> str:
    return "\n".join([head, *(f"{stamp},{value}" for stamp, value in rows)]) + "\n"


def codes(found: csv.Loaded) -> list[str]:
    return [notice.code for notice in found.notices if notice.code != "scope-taken"]
