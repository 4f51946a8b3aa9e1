"""What nccl-tests and rccl-tests print: a table for each test, or one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from ... import strict
from .. import Garbage
from .printed import NUMBER, is_whole

OPERATIONS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "reduce",
    "sendrecv",
    "gather",
    "scatter",
)
_BEGIN = re.compile(r"^# nThread \d+", re.MULTILINE)
_RANK = re.compile(r"^#\s+Rank +(\d{1,9}) (?:Group +\d+ )?Pid +\d+ on +(\S{1,255}) device", re.MULTILINE)
_NAME = re.compile(r"^# Collective test starting: (\S{1,80}?)(?:_perf)?\s*$", re.MULTILINE)
_VERSION = re.compile(r"^# nccl-tests version (\S{1,40})", re.MULTILINE)
_END = re.compile(r"^# Out of bounds values *: (\d{1,18}) (OK|FAILED)", re.MULTILINE)
#: NCCL_DEBUG_SUBSYS=TUNING: which algorithm it chose, by name, or by number before 2.24.
_CHOSEN = re.compile(r"NCCL INFO .{0,60}?(\d{1,18}) Bytes -> Algo (\w{1,20}) proto")
_NUMBERED = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
_NAMES = {"NVLSTREE": "nvls_tree", "COLLNET_DIRECT": "collnet_direct", "COLLNET_CHAIN": "collnet_chain"}


class Result(NamedTuple):
    """One size, out of place or in place; numbers as they are printed."""

    bytes: int
    type: str
    redop: str
    in_place: bool
    time_us: str
    algorithm_gb_s: str
    bus_gb_s: str
    wrong: float | None  # None: not checked
    times_us: tuple[float, ...] = ()  # of each iteration, where they are given


class Test(NamedTuple):
    operation: str  # empty where it is not said
    ranks: int
    nodes: int
    host: str
    version: str
    results: tuple[Result, ...]
    out_of_bounds: int
    algorithms: dict[int, str]  # bytes -> "ring", where NCCL said so
    begin: str = ""
    end: str = ""


def tests(text: str) -> tuple[Test, ...]:
    """The tests of a text. Raises Garbage."""
    if text.lstrip()[:1] == "{":
        return (_of_json(text),)
    begins = [found.start() for found in _BEGIN.finditer(text)]
    if not begins:
        raise Garbage("this is not output of nccl-tests: there is no line '# nThread ...' and it is not its JSON")
    found = []
    # What names a test stands before its first line.
    starts = [0, *(max(text.rfind("# nccl-tests version", end, begin), end) if "# nccl-tests version" in text[end:begin]
                   else begin for end, begin in pairwise(begins))]  # fmt: skip
    for start, after in zip(starts, [*starts[1:], len(text)], strict=True):
        found.append(_of_text(text[start:after], several=len(begins) > 1))
    return tuple(found)


def _of_text(text: str, *, several: bool) -> Test:
    end = _END.search(text)
    if end is None:
        why = (
            "another test begins before it: copies of the program ran side by side, each alone"
            if several
            else "it is cut"
        )
        raise Garbage(f"a table of nccl-tests has no line '# Out of bounds values' at its end: {why}")
    ranks = {int(rank): host for rank, host in _RANK.findall(text)}
    if not ranks:
        raise Garbage("nccl-tests does not say on which devices it ran ('#  Rank ... device ...')")
    if len(ranks) != len(_RANK.findall(text)) or sorted(ranks) != list(range(len(ranks))):
        raise Garbage(
            "nccl-tests names a rank twice, or not all: copies of the program ran side by side, or lines are lost"
        )
    name, version = _NAME.search(text), _VERSION.search(text)
    return Test(
        operation=_operation(name[1] if name else ""),
        ranks=len(ranks),
        nodes=len(set(ranks.values())),
        host=ranks[0],
        version=version[1] if version else "",
        results=_rows(text[: end.start()]),
        out_of_bounds=int(end[1]) or int(end[2] != "OK"),
        algorithms=chosen(text),
    )


def _operation(name: str) -> str:
    return name.removesuffix("_perf").rpartition("/")[2]


def chosen(text: str) -> dict[int, str]:
    """Bytes of a call -> the algorithm that NCCL said it took; the last word counts."""
    found = {}
    for size, word in _CHOSEN.findall(text):
        if is_whole(word):
            name = _NUMBERED[int(word)] if len(word) == 1 and int(word) < len(_NUMBERED) else ""
        else:
            name = _NAMES.get(word.upper(), word.lower())
        if name:
            found[int(size)] = name
    return found


def _rows(text: str) -> tuple[Result, ...]:
    heads: list[str] = []
    found: list[Result] = []
    for line in text.splitlines():
        words = line.strip("# ").split()
        if line.startswith("#"):
            if words[:1] == ["size"] and len(words) > 6:
                heads = ["time" if word == "cputime" else word for word in words if word != "timestamp"]
        elif heads and words and is_whole(words[0]):
            found += _row(heads, words, line)
    if not heads:
        raise Garbage("nccl-tests has no line of headings ('#  size  count  type ...')")
    if not found:
        raise Garbage("nccl-tests has no row below its headings")
    return tuple(found)


def _row(heads: list[str], words: list[str], line: str) -> list[Result]:
    """Out of place and in place of one line. Raises Garbage."""
    if len(words) < len(heads):
        raise Garbage(f"a row of nccl-tests has {len(words)} words below {len(heads)} headings: {line.strip()[:80]!r}")
    starts = [at for at, head in enumerate(heads) if head == "time"]
    named = dict(zip(heads[: starts[0]], words, strict=False)) if starts else {}
    found = []
    for number, start in enumerate(starts):
        time, algorithm, bus, wrong = words[start : start + 4]
        if time == "N/A":
            continue
        if not all(re.fullmatch(NUMBER, word) for word in (time, algorithm, bus)):
            raise Garbage(f"a row of nccl-tests has no time and rates: {line.strip()[:100]!r}")
        if wrong != "N/A" and not re.fullmatch(NUMBER, wrong):
            raise Garbage(f"a row of nccl-tests has no count of wrong elements: {line.strip()[:100]!r}")
        found.append(
            Result(
                bytes=int(words[0]),
                type=named.get("type", ""),
                redop=named.get("redop", ""),
                in_place=number == 1,
                time_us=time,
                algorithm_gb_s=algorithm,
                bus_gb_s=bus,
                wrong=None if wrong == "N/A" else float(wrong),
            )
        )
    return found


def _of_json(text: str) -> Test:
    try:
        whole = json.loads(text)
        strict.check_numbers(whole, "nccl-tests")
    except (*strict.UNREADABLE, ValueError, RecursionError) as error:
        raise Garbage(f"this is not the JSON of nccl-tests: {str(error)[:120]}") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("results"), list):
        raise Garbage("this is not the JSON of nccl-tests: it has no list 'results'")
    config = _dict(whole.get("config"))
    devices = config.get("devices", whole.get("devices")) or []
    if not isinstance(devices, list) or not all(isinstance(one, dict) for one in devices) or not devices:
        raise Garbage("the JSON of nccl-tests does not say on which devices it ran")
    if "end_time" not in whole or "out_of_bounds" not in whole:
        raise Garbage(
            "the JSON of nccl-tests has no 'end_time' or no 'out_of_bounds': the test did not come to its end"
        )
    args = whole.get("args") if isinstance(whole.get("args"), list) else []
    # Of each process the first device alone is listed.
    ranks = len(devices) * _count(config, "nthreads") * _count(config, "ngpus") if _one_each(devices) else len(devices)
    hosts = [str(one.get("hostname", "")) for one in devices]
    bounds = whole["out_of_bounds"]
    count = bounds.get("count") if isinstance(bounds, dict) else None
    results = [result for one in whole["results"] for result in _of_entry(one)]
    if not results:
        raise Garbage("the JSON of nccl-tests has no result")
    return Test(
        operation=_operation(str(args[0])) if args else "",
        ranks=ranks,
        nodes=len(set(hosts)),
        host=hosts[0],
        version=str(whole.get("nccl_tests_version", ""))[:40],
        results=tuple(results),
        out_of_bounds=int(count) if isinstance(count, int) and not isinstance(count, bool) else 1,
        algorithms={},
        begin=str(whole.get("start_time", ""))[:40],
        end=str(whole.get("end_time", ""))[:40],
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _one_each(devices: list[Any]) -> bool:
    """Whether the ranks that are listed are those of each process's first device: 0, 8, 16."""
    ranks = [one.get("rank") for one in devices]
    return ranks == [0] or (len(ranks) > 1 and isinstance(ranks[1], int) and ranks[1] > 1)


def _count(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name, 1)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6 else 1


def _of_entry(one: object) -> list[Result]:
    if (
        not isinstance(one, dict)
        or not isinstance(one.get("size"), int)
        or isinstance(one["size"], bool)
        or one["size"] < 0
    ):
        raise Garbage("a result in the JSON of nccl-tests has no size")
    found = []
    for in_place, name in ((False, "out_of_place"), (True, "in_place")):
        part = one.get(name)
        if part is None:
            continue
        figures = [part.get(key) for key in ("alg_bw", "bus_bw")] if isinstance(part, dict) else []
        time = part.get("time", part.get("cpu_time")) if isinstance(part, dict) else None
        if not all(_real(value) for value in (time, *figures)) or len(figures) < 2:
            raise Garbage(f"a result of {one['size']} B in the JSON of nccl-tests has no time or no rate ({name})")
        wrong = part.get("nwrong")
        if wrong is not None and not _real(wrong):
            wrong = 1.0  # "nan"
        each = one.get(f"{name}_per_iter")
        times = each.get("times_us", []) if isinstance(each, dict) else []
        if not isinstance(times, list) or not all(_real(value) and value > 0 for value in times):
            raise Garbage(f"a result of {one['size']} B in the JSON of nccl-tests has times that are none ({name})")
        found.append(
            Result(
                bytes=one["size"],
                type=str(one.get("type", ""))[:20],
                redop=str(one.get("redop", ""))[:20],
                in_place=in_place,
                time_us=f"{time:.6f}",
                algorithm_gb_s=f"{figures[0]:.6f}",
                bus_gb_s=f"{figures[1]:.6f}",
                wrong=None if wrong is None else float(wrong),
                times_us=tuple(float(value) for value in times),
            )
        )
    return found


def _real(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
