"""elbencho, as a site has installed it: an adapter that runs it on files of one folder and reads its CSV or JSON.

elbencho's threads write, read, look at and remove files; it prints each phase twice, when the first thread was done and
when the last was. The last counts here: until then all of the data have moved. Its rates, MiB of 2^20 bytes and times in
ms are cut to whole numbers, so that a figure is the MiB over the time, of which both were cut the middle of what they and
the rate allow; a row whose three numbers cannot be of one phase is refused. A phase of 0 ms has no figure, one of less
than a second of small files is in doubt. With ``--rwmixpct`` a row has writes and reads that ran together, and each says
so (``mix``).

Data are compared by elbencho itself (``check``: ``--verify``); it stops at the first error, with an exit code and without
the row. What threads of one host read may come from its page cache: ``cache`` says what is known of it, and a figure in
doubt is not ranked. Columns are found by their names: versions differ in how many they have.

Source: elbencho, csv-docs.md ("CSV Results File") and --help-all; rows of versions 1.6 to 3.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from .. import strict
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Value
from ..times import iso
from . import Garbage, Stated
from .common import page_cache
from .common.printed import Span, agreed_s, csv_rows
from .common.table import table_of

TABLE = table_of(__file__)

_MIB = 2**20
_OUTPUT = "elbencho.csv"
#: A phase -> the kernel. What stands nowhere here (SYNC, DROPCACHE, MKBUCKETS) measures nothing that is compared.
_KERNELS = {
    "WRITE": "write",
    "READ": "read",
    "STAT": "stat",
    "RMFILES": "unlink",
    "MKDIRS": "mkdir",
    "RMDIRS": "rmdir",
}
_MIXED = re.compile(r"RWMIX|MIX")
Cells = Mapping[str, str]


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    threads = cores(machine.hosts[0]) if params["threads"] == "all" else int(params["threads"])
    return (page_cache.resolved({**params, "threads": threads}, machine),)


def _command(params: Params, host: Host) -> Command:
    threads, files = int(params["threads"]), int(params["files"])
    argv = [
        *(str(params["program"]), "--mkdirs", "--write", "--stat", "--read", "--delfiles", "--deldirs"),
        *("--threads", str(threads), "--dirs", "1", "--files", str(files)),
        *("--size", str(params["size"]), "--block", str(params["block"]), "--iodepth", str(params["depth"])),
        *("--nolive", "--lat", "--csvfile", _OUTPUT),
    ]
    argv += ["--direct"] if params["direct"] else []
    argv += ["--rand"] if params["random"] else []
    argv += ["--verify", "1"] if params["check"] else []
    argv += ["--dropcache"] if params["drop"] else []
    return Command(argv=(*argv, *str(params["arguments"]).split(), str(params["directory"])), output=_OUTPUT)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each phase that moved something. Raises Garbage."""
    cases = []
    for cells in _rows(text):
        operation = cells.get("operation", "").strip().upper()
        mixed = _MIXED.match(operation) is not None
        kernel = "write" if mixed else _KERNELS.get(operation)
        if kernel is None:
            continue
        cases += _cases(cells, "", kernel, mixed or bool(_cell(cells, "rwmix read MiB [last]")), params)
        cases += _cases(cells, "rwmix read ", "read", True, params)
    if not cases:
        raise Garbage("elbencho's rows have no phase that wrote, read, looked at or removed something")
    return tuple(cases)


def _rows(text: str) -> Iterator[Cells]:
    """The rows, whichever form they have. Raises Garbage."""
    first = re.search(r"\S", text)
    if first is None or first[0] not in "{[":
        yield from _csv_rows(text)
        return
    decoder, place, count = json.JSONDecoder(), first.start(), 0
    while place < len(text):
        try:
            found, end = decoder.raw_decode(text, place)
        except (*strict.UNREADABLE, ValueError, RecursionError) as error:
            raise Garbage(f"this is not elbencho's results as JSON ({str(error)[:120]})") from None
        for one in found if isinstance(found, list) else [found]:
            if not isinstance(one, dict) or "operation" not in one:
                raise Garbage("this is not elbencho's results as JSON: there is an entry without 'operation'")
            count += 1
            yield {str(name): "" if value is None else str(value) for name, value in one.items()}
        following = re.compile(r"[\s,]*").match(text, end)
        place = following.end() if following else len(text)
    if not count:
        raise Garbage("elbencho's results as JSON have no entry")


def _csv_rows(text: str) -> Iterator[Cells]:
    """Each run appends to its file, with a heading of its own where its options gave other columns."""
    columns: list[str] = []
    count = 0
    for row in csv_rows(text, "elbencho"):
        if row and row[0] == "ISO date":
            columns = row
        elif columns and row:
            if len(row) != len(columns):
                raise Garbage(
                    f"a row of elbencho's CSV has {len(row)} words below {len(columns)} headings: {','.join(row)[:100]!r}"
                )
            count += 1
            yield dict(zip(columns, row, strict=True))
    if not columns:
        raise Garbage(
            "this is not elbencho's CSV: there is no heading 'ISO date,...' (give what --csvfile or --jsonfile wrote)"
        )
    if not count:
        raise Garbage("elbencho's CSV has a heading and no row")


def _cases(cells: Cells, prefix: str, kernel: str, mixed: bool, params: Params) -> list[Case]:
    """The case of one direction of a row, if it did something."""
    mib, entries = _cell(cells, f"{prefix}MiB [last]"), _cell(cells, f"{prefix}entries [last]")
    ms = _cell(cells, "time ms [last]")
    if ms is None:
        raise Garbage("a row of elbencho has no 'time ms [last]'")
    if not ms or not (mib or entries):
        return []
    told = {**_told(cells), **({"mix": True} if mixed else {})}
    work: dict[str, float] = {}
    if mib and kernel in ("read", "write"):
        seconds = _seconds(Span(mib * _MIB, (mib + 1) * _MIB), ms, _cell(cells, f"{prefix}MiB/s [last]"), _MIB, "MiB")
        operations = _cell(cells, f"{prefix}IOPS [last]")
        work = {"bytes": float(mib * _MIB), **({"op": operations * seconds} if operations else {})}
        data = min(mib * _MIB, _data(cells) or mib * _MIB)
        hosts, direct = _count(cells, "hosts"), cells.get("direct IO") == "1"
        moved = page_cache.Moved(kernel, data, seconds * data / (mib * _MIB), hosts, direct)
        told |= page_cache.verdict(moved, params)
        latency = "IO"
    elif entries and kernel not in ("read", "write"):
        seconds = _seconds(Span(entries, entries), ms, _cell(cells, f"{prefix}entries/s [last]"), 1, "entries")
        work = {"op": float(entries)}
        told |= {page_cache.DOUBT: page_cache.TOO_SHORT} if seconds < 1.0 else {}
        latency = "Ent"
    else:
        return []
    for name, end in (("avg", "mean"), ("max", "max")):
        value = _cell(cells, f"{prefix}{latency} lat us [{name}]")
        work |= {f"latency_{end}_s": value * 1e-6} if value is not None else {}
    return [Case(kernel=kernel, params=told, work=work, seconds=(seconds,))]


def _seconds(work: Span, ms: int, rate: int | None, unit: float, what: str) -> float:
    """The time of a phase, cut to ms, whose rate was cut to a whole number of ``unit``. Raises Garbage where they do not
    agree."""
    time = Span(ms * 1e-3, (ms + 1) * 1e-3)
    if rate is None:
        return (time.low + time.high) / 2
    rates = Span(rate * unit, (rate + 1) * unit)
    # Files are whole MiB more often than not; where that cannot be, a part of one was cut.
    found = agreed_s(Span(work.low, work.low), time, rates) or agreed_s(work, time, rates)
    if found is None:
        amount = f"{work.low / unit:.0f}"
        raise Garbage(f"a row of elbencho says {rate} {what} a second, which is not {amount} of them in {ms} ms")
    return found


def _told(cells: Cells) -> dict[str, Value]:
    """The parameters of a row."""
    told: dict[str, Value] = {"application": "elbencho", "threads": _count(cells, "threads")}
    hosts = _count(cells, "hosts")
    told |= {"nodes": hosts, "ranks": hosts} if hosts > 1 else {}
    for name, column in (("block", "block size"), ("size", "file size"), ("files", "files"), ("depth", "IO depth")):
        value = _cell(cells, column)
        told |= {name: value} if value else {}
    told |= {"random": True} if cells.get("random") == "1" else {}
    return told


def _data(cells: Cells) -> int:
    """The bytes of all files, which a phase with a time limit moves again and again; 0 where they are not said."""
    size = _cell(cells, "file size") or 0
    if cells.get("path type") != "dir":
        return size * _count(cells, "paths")
    each = (_cell(cells, "files") or 0) * _count(cells, "dirs")
    return size * each * _count(cells, "threads") * _count(cells, "hosts")


def _cell(cells: Cells, name: str) -> int | None:
    """A number of a row; None where it is empty or not there. Raises Garbage."""
    word = cells.get(name, "").strip()
    if not word:
        return None
    if not re.fullmatch(r"\d{1,18}(\.\d{1,9})?", word):
        raise Garbage(f"{name!r} of a row of elbencho is not a number: {word[:40]!r}")
    return int(float(word)) if "." in word else int(word)


def _count(cells: Cells, name: str) -> int:
    """How many, at least one: 0 hosts is this host alone."""
    return max(1, min(_cell(cells, name) or 1, 10**9))


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What is in doubt."""
    return page_cache.notices([(case.kernel, case.params) for case in parse(text, params)])


def stated(text: str) -> Stated:
    """When the phases ended, without a zone in older versions. No host."""
    try:
        stamps = [iso(cells.get("ISO date", "")[:40]) for cells in _rows(text)]
    except Garbage:
        return Stated()
    found = [one for one in stamps if one is not None]
    return Stated(begin=found[0], end=found[-1]) if found else Stated()


def _estimate_s(params: Params, host: Host) -> float:
    threads = cores(host) if params["threads"] == "all" else int(params["threads"])
    return 5.0 + (3 if params["check"] else 2) * threads * int(params["files"]) * int(params["size"]) / 200e6


WORKLOAD = TABLE.workload(
    title="elbencho: files under many threads, on one host or several",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("directory",),
    estimate_s=_estimate_s,
)
