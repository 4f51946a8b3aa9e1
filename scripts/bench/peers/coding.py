"""The checkpoint library's checksums, staging and Reed-Solomon parity beside the C library's memcpy and Intel's ISA-L.

One program, coding_peers (built with the native tests, --build), runs them in turn on one thread and takes that thread's own
time, so other load of the machine counts little. Staging copies blocks of 1 MiB with their CRC-32C; memcpy copies the same
memory at once (past the caches, its fastest) and block by block. Parity is that of one stripe of 1 MiB blocks, in the caches
where they are large enough; ISA-L gets our matrix, and its parity has to be ours to the bit, as its checksum has.
"""

from __future__ import annotations

import argparse
import ctypes.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

RATE = {"rate": Figure("GB/s of data", 1e-9)}
PEERS = ("ISA-L", "memcpy", "memcpy by MiB")


def measured(asked: argparse.Namespace, *words: str) -> dict[str, Any]:
    """What the program prints."""
    path = str(Path(asked.build or "build", "native/checkpoint/coding/coding_peers").resolve())
    (found,) = common.events([path, "--rounds", str(asked.rounds), *words])
    common.say(f"checksums in {found.pop('checksum_isa')}, parity in {found.pop('field_isa')}")
    return dict(found)


def series(case: dict[str, Any]) -> Iterator[Rates]:
    """Bytes of data per second of each side, a round after another."""
    sides = [side for side in ("ours", *PEERS) if side in case]
    for seconds in zip(*(case[side] for side in sides), strict=True):
        yield {side: {"rate": case["bytes"] / one} for side, one in zip(sides, seconds, strict=True)}


def group(title: str, case: dict[str, Any]) -> Group:
    rounds = series(case)
    return Group(title, RATE, [Pass("coding_peers", lambda: next(rounds))], ["ours"])


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    yield group("staging", measured(asked, "--mib", str(asked.mib))["staging"])
    library = asked.isal or ctypes.util.find_library("isal")
    if not library:
        common.say("parity: not measured: ISA-L is absent\n  next: sudo apt-get install libisal2")
        return
    for name, case in measured(asked, "--isal", library).items():
        yield group(name if "+" not in name else f"parity, {name}", case)


ROW = Row(
    groups,
    rounds=30,
    options={
        "mib": Option(256, 2, "MiB that are staged"),
        "isal": Option("", help="ISA-L's library, where it is not found"),
    },
)
