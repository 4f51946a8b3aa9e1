"""Jobs of a cluster that never was, as ``sacct -P`` prints them, with totals that are exact because they are counted as the
jobs are made, in plain integers and in nobody's reader.

What makes accounting hard is in it: jobs across both edges of the window, jobs that still run, that never started, that were
requeued (each attempt uses resources), suspended ones, arrays, steps below their jobs, rows that come twice, and names with
line breaks, delimiters and bytes that are not UTF-8. Times are local, across the clocks' change where the window holds one.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...times import local, midnight, next_month
from . import live
from .zones import Period, periods

Ints = NDArray[np.int64]
#: The columns that are written, as a site would ask for them.
FORMAT = (*(name for name in live.FORMAT if name not in ("NTasks", "TRESUsageInTot")), "JobName")
STATES = ("COMPLETED", "FAILED", "CANCELLED by 4711", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "RUNNING")
_SHARES = (0.80, 0.08, 0.06, 0.04, 0.01, 0.005, 0.005)
_EXITS = ("0:0", "1:0", "0:15", "0:0", "0:125", "0:0", "0:0", "0:0")
_PARTITIONS = ("cpu", "gpu", "fat")
_GPUS = ("a100", "h200")
_CORES = 128
_DAY_S = 86400
#: Rows that are laid out at once.
_CHUNK = 200_000


@dataclass(slots=True)
class Sum:
    """Integers: runs of jobs, and CPU, GPU and node seconds and joules inside the window."""

    runs: int = 0
    cpu_s: int = 0
    gpu_s: int = 0
    node_s: int = 0
    energy_j: int = 0


@dataclass(slots=True)
class GeneratedTruth:
    """What is true of the jobs that were written."""

    begin_s: int
    end_s: int
    zone: str
    rows: int = 0
    jobs: int = 0  # that ran in the window, each once
    never: int = 0  # cancelled before they started, in the window
    broken: int = 0  # rows that are no line of whole fields in UTF-8
    twice: int = 0  # rows that were written a second time
    steps: int = 0
    whole: Sum = field(default_factory=Sum)
    by: dict[str, dict[str, Sum]] = field(default_factory=dict)  # user, project, partition, state, day


def write(
    path: Path, jobs: int, *, year: int = 2026, month: int = 10, zone: str = "Europe/Zurich", seed: int = 1
) -> GeneratedTruth:
    """Write so many jobs of a month to a file and say what is true of them."""
    first_day = datetime.date(year, month, 1)
    begin_s, end_s = midnight(first_day, zone), midnight(next_month(first_day), zone)
    known = GeneratedTruth(begin_s=begin_s, end_s=end_s, zone=zone)
    known.by = {name: defaultdict(Sum) for name in ("user", "project", "partition", "state", "day")}
    rng = np.random.default_rng(seed)
    edges = periods("day", begin_s, end_s, zone)
    with open(path, "wb") as file:
        file.write(("|".join(FORMAT) + "\n").encode())
        for first in range(0, jobs, _CHUNK):
            made = _made(rng, first, min(_CHUNK, jobs - first), begin_s, end_s)
            _count(known, made, edges)
            for part in _lines(known, made, rng, zone):
                file.write(part)
    return known


# --------------------------------------------------------------------------------------------------------------- making


def _made(rng: np.random.Generator, first: int, size: int, begin_s: int, end_s: int) -> dict[str, Any]:
    """Columns of jobs; a job that is requeued is two rows of one number."""
    span = np.maximum(1, rng.lognormal(5.9, 1.9, size)).astype(np.int64)
    span = np.minimum(span, 3 * _DAY_S)
    start = rng.integers(begin_s - _DAY_S, end_s, size)
    state = rng.choice(7, size, p=_SHARES)
    again = np.flatnonzero(state >= 5)
    numbers = np.concatenate([np.arange(size), again]) + first
    wait = rng.exponential(900, size).astype(np.int64)
    held = np.where(rng.random(size) < 0.02, rng.integers(60, 86400, size), 0)
    start2 = start[again] + span[again] + rng.integers(30, 600, len(again))
    eligible = np.concatenate([start - wait, start[again] + span[again]])
    made: dict[str, Any] = {
        "number": numbers,
        "start": np.concatenate([start, start2]),
        "span": np.concatenate([span, rng.integers(60, 7200, len(again))]),
        "eligible": eligible,
        "submit": np.concatenate([start - wait - held, start[again] + span[again]]),
        "state": np.concatenate([state, np.zeros(len(again), np.int64)]),
        "attempt": np.concatenate([np.zeros(size, np.int64), np.ones(len(again), np.int64)]),
    }
    user = rng.zipf(1.3, size) % 400
    made["user"] = np.concatenate([user, user[again]])
    made |= {name: np.concatenate([column, column[again]]) for name, column in _sizes(rng, size).items()}
    _fates(rng, made, end_s)
    return made


def _sizes(rng: np.random.Generator, size: int) -> dict[str, Ints]:
    partition = rng.choice(3, size, p=(0.8, 0.15, 0.05))
    nodes = np.where(rng.random(size) < 0.04, rng.integers(2, 33, size), 1)
    cpus = np.where(nodes > 1, nodes * _CORES, 1 << rng.integers(0, 8, size))
    gpus = np.where(partition == 1, nodes * (1 << rng.integers(0, 3, size)), 0)
    return {"partition": partition, "nodes": nodes, "cpus": cpus, "gpus": gpus, "kind": rng.integers(0, 2, size)}


def _fates(rng: np.random.Generator, made: dict[str, Any], end_s: int) -> None:
    """Which are suspended, never start, still run; what they use."""
    size = len(made["number"])
    draw = rng.random(size)
    plain = (made["attempt"] == 0) & (made["state"] < 5)
    made["never"] = plain & (made["state"] == 2) & (draw < 0.3)
    made["idle"] = np.where(plain & (draw > 0.999), made["span"] // 3, 0)  # suspended
    made["runs_on"] = plain & (made["start"] < end_s) & (made["start"] + made["span"] > end_s) & ~made["never"]
    made["idle"][made["runs_on"]] = 0
    made["state"] = np.where(made["runs_on"], 7, made["state"])
    ran = made["span"] - made["idle"]
    made["busy"] = (ran * made["cpus"] * rng.random(size)).astype(np.int64)
    made["energy"] = np.where(made["partition"] == 0, 0, ran * made["nodes"] * rng.integers(200, 900, size))
    made["energy"][made["runs_on"]] = 0


# ------------------------------------------------------------------------------------------------------------- counting


def _count(known: GeneratedTruth, made: dict[str, Any], edges: Sequence[Period]) -> None:
    """Add what lies inside the window: seconds run are parted over a suspended job's span in whole seconds."""
    start = made["start"]
    end = np.where(made["runs_on"], known.end_s, start + made["span"])
    ran = np.where(made["runs_on"], end - start, made["span"] - made["idle"])
    here = ~made["never"] & (start < known.end_s) & (end > known.begin_s)

    def parted(amount: Ints, low: int, high: int) -> Ints:
        span = np.maximum(1, end - start)
        upto = [np.clip(edge, start, end) - start for edge in (low, high)]
        return np.where(here, amount * upto[1] // span - amount * upto[0] // span, 0)

    known.never += int((made["never"] & (start >= known.begin_s) & (start < known.end_s)).sum())
    known.jobs += len(np.unique(made["number"][here]))
    columns = {
        "user": [f"user{one:03d}" for one in range(400)],
        "project": [f"proj{one:02d}" for one in range(40)],
        "partition": list(_PARTITIONS),
        "state": [word.split()[0] for word in STATES],
    }
    codes = {"user": made["user"], "project": made["user"] % 40, "partition": made["partition"], "state": made["state"]}
    seconds, energy = parted(ran, known.begin_s, known.end_s), parted(made["energy"], known.begin_s, known.end_s)
    for name, names in columns.items():
        for code in np.unique(codes[name][here]).tolist():
            _add(known.by[name][names[code]], made, here & (codes[name] == code), seconds, energy)
    _add(known.whole, made, here, seconds, energy)
    for day, low, high in edges:
        there = here & (start < high) & (end > low)
        _add(known.by["day"][day], made, there, parted(ran, low, high), parted(made["energy"], low, high))


def _add(to: Sum, made: dict[str, Any], rows: NDArray[np.bool_], seconds: Ints, energy: Ints) -> None:
    to.runs += int(rows.sum())
    to.cpu_s += int((seconds * made["cpus"])[rows].sum())
    to.gpu_s += int((seconds * made["gpus"])[rows].sum())
    to.node_s += int((seconds * made["nodes"])[rows].sum())
    to.energy_j += int(energy[rows].sum())


# -------------------------------------------------------------------------------------------------------------- writing


class _Stamps:
    """Local stamps; the minutes that came before are kept."""

    def __init__(self, clock: str) -> None:
        self.clock = clock
        self.minutes: dict[int, str] = {}

    def of(self, times: Ints) -> list[str]:
        minutes, kept = self.minutes, []
        for minute, second in zip((times // 60).tolist(), (times % 60).tolist(), strict=True):
            if minute not in minutes:
                minutes[minute] = local(minute * 60, self.clock).strftime("%Y-%m-%dT%H:%M:")
            kept.append(f"{minutes[minute]}{second:02d}")
        return kept


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, _DAY_S)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{days}-{hours:02d}:{minutes:02d}:{rest:02d}" if days else f"{hours:02d}:{minutes:02d}:{rest:02d}"


def _tres(cpus: int, gpus: int, nodes: int, kind: int) -> str:
    gpu = f",gres/gpu:{_GPUS[kind]}={gpus},gres/gpu={gpus}" if gpus else ""
    return f"billing={cpus},cpu={cpus}{gpu},mem={cpus * 2}G,node={nodes}"


def _id(number: int) -> str:
    """Every tenth hundred is an array."""
    return f"{900_000 + number // 100 * 100}_{number % 100}" if number // 100 % 10 == 0 else str(1_000_000 + number)


def _lines(known: GeneratedTruth, made: dict[str, Any], rng: np.random.Generator, clock: str) -> Iterator[bytes]:
    size = len(made["number"])
    stamps = _Stamps(clock)
    never, runs_on = made["never"].tolist(), made["runs_on"].tolist()
    starts, ends = stamps.of(made["start"]), stamps.of(made["start"] + made["span"])
    cut = np.where(made["runs_on"], known.end_s - made["start"], made["span"] - made["idle"])
    odd = rng.random(size)
    cpus, gpus, nodes = (made[name].tolist() for name in ("cpus", "gpus", "nodes"))
    raw = (made["number"] + 1_000_000).tolist()
    columns: list[list[str]] = [
        [_id(one) for one in made["number"].tolist()],
        list(map(str, raw)),
        ["big"] * size,
        [f"user{one:03d}" for one in made["user"].tolist()],
        [f"proj{one:02d}" for one in (made["user"] % 40).tolist()],
        [f"grp{one}" for one in (made["user"] % 7).tolist()],
        [_PARTITIONS[one] for one in made["partition"].tolist()],
        ["normal"] * size,
        stamps.of(made["submit"]),
        stamps.of(made["eligible"]),
        ["None" if dead else word for dead, word in zip(never, starts, strict=True)],
        [starts[i] if never[i] else "Unknown" if runs_on[i] else ends[i] for i in range(size)],
        ["0" if dead else str(one) for dead, one in zip(never, cut.tolist(), strict=True)],
        [_clock(one) if one else "00:00:00" for one in made["idle"].tolist()],
        [STATES[one] for one in made["state"].tolist()],
        [_EXITS[one] for one in made["state"].tolist()],
        ["0" if dead else str(one) for dead, one in zip(never, nodes, strict=True)],
        ["0" if dead else str(one) for dead, one in zip(never, cpus, strict=True)],
        [
            "" if dead else _tres(*of)
            for dead, of in zip(never, zip(cpus, gpus, nodes, made["kind"].tolist(), strict=True), strict=True)
        ],
        [f"{one * 2}G" for one in cpus],
        [_clock(one) for one in np.where(made["never"], 0, made["busy"]).tolist()],
        [""] * size,
        [str(one) if one else "0" for one in made["energy"].tolist()],
        [
            "None assigned" if dead else f"node[{one % 900 + 1}-{one % 900 + k}]"
            for dead, one, k in zip(never, raw, nodes, strict=True)
        ],
        ["7200"] * size,
        [f"job_{one % 1000}" for one in raw],
    ]
    texts = list(map("|".join, zip(*columns, strict=True)))
    known.rows += size
    yield from _spoiled(known, texts, columns, odd, made["never"])


def _spoiled(
    known: GeneratedTruth, texts: list[str], columns: list[list[str]], odd: Any, never: NDArray[np.bool_]
) -> Iterator[bytes]:
    """The lines as they come: with steps below some, some twice, and names that break lines."""
    out: list[bytes] = []
    steps, twice, broken = (odd < 0.02) & ~never, (odd > 0.02) & (odd < 0.021), odd > 0.9995
    for place, text in enumerate(texts):
        if broken[place]:
            stem = text.rpartition("|")[0].encode()
            name = (b"two\nlines", b"caf\xe9", b"a|b", b"tab\tand\r\nmore|\xff")[known.broken % 4]
            out.append(stem + b"|" + name)
            known.broken += 1
        else:
            out.append(text.encode())
        if steps[place]:
            row = [column[place] for column in columns]
            row[0], row[1] = f"{row[0]}.batch", f"{row[1]}.batch"
            row[3] = row[5] = row[6] = row[7] = row[24] = ""
            row[21], row[25] = "1048576K", "batch"
            out.append("|".join(row).encode())
            known.steps += 1
        if twice[place]:
            out.append(out[-1])
            known.twice += 1
    yield b"\n".join(out) + b"\n"
