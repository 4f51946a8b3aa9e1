"""Tables as meters write them."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np

from shakedown.hosts.access import LocalHost
from shakedown.metering.meters import Target, csv
from shakedown.metering.trace import Trace, trace

T0 = int(datetime.datetime(2026, 11, 21, 13, tzinfo=datetime.UTC).timestamp())


def written(folder: Path, text: str, name: str = "meter.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(rows: list[tuple[str, object]], head: str = "time,power [W]") -> str:
    return "\n".join([head, *(f"{stamp},{value}" for stamp, value in rows)]) + "\n"


def read(path: Path, options: dict[str, str] | None = None) -> tuple[Trace, ...]:
    """What a file gives that is followed from its first line."""
    target = Target(meter="csv", address=str(path), options={**(options or {}), "begin": "start"})
    source = csv.METER.open(target, LocalHost())
    got = source.read()
    return tuple(
        trace(
            channel,
            [one.device_ns or 0 for one in got if one.channel == index],
            [np.nan if one.value is None else one.value for one in got if one.channel == index],
            status=[one.status for one in got if one.channel == index],
        )
        for index, channel in enumerate(source.channels)
    )
