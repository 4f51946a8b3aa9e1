"""What IOR prints, read: its text of any version since 2.10, and its summary files as JSON and CSV. Pure.

    text -> Test (what was asked for, what went wrong) with Rows (one pass of writing or reading)

The text has a block of options, a table with a row a pass, and at its end a summary of all tests, which alone has sizes
to the byte. Columns are found by their headings: older versions lack IOPS and Latency, newer ones lay "-" into rows of
removing and "NA" where no stonewall was. Numbers of 3600 and more have no decimal point. A log may hold several runs, one
after another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ... import strict
from .. import Garbage
from .printed import NUMBER, csv_rows, half_place

#: How IOR and mdtest write sizes: 1024 is the step.
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


class Row(NamedTuple):
    """One pass. Numbers as they are printed, so that their precision is kept; empty where there is none."""

    direction: str  # write, read
    bandwidth: str  # MiB/s; empty: of several passes, whose mean time this is
    total_s: str
    open_s: str = ""
    close_s: str = ""
    latency_s: str = ""
    moved_bytes: int = 0  # where IOR says that these were moved, not those of the sizes


class Test(NamedTuple):
    """One test: its passes, and what it was asked for."""

    rows: tuple[Row, ...]
    api: str
    access: str
    block: int  # bytes of a transfer
    size: int  # bytes that a task reads or writes in one piece
    segments: int
    ranks: int
    nodes: int = 0  # 0: not printed
    direct: bool = False
    synced: bool = False
    elsewhere: bool = False
    stonewalled: bool = False
    checked: bool = False
    errors: int | None = 0  # None: more than can be counted
    segments_known: bool = True


def tests(text: str) -> tuple[Test, ...]:
    """All tests of a text, a JSON or a CSV file. Raises Garbage."""
    if re.search(r"^\s*\{", text[:2000]) and '"tests"' in text:
        return tuple(_of_json(text))
    if re.match(r"\s*access,bw\(MiB/s\),", text):
        return (*_of_csv(text),)
    return tuple(_of_text(text))


# ---------------------------------------------------------------------------------------------------------------- text

_BEGIN = re.compile(r"^IOR-\S+: MPI Coordinated Test of Parallel I/O", re.MULTILINE)
_END = re.compile(r"^(?:Finished *:|Run finished:)", re.MULTILINE)
_OPTION = re.compile(r"^\s*([A-Za-z][\w ]{2,22}?)\s*[:=]\s*(\S.*?)\s*$", re.MULTILINE)
_TABLE = re.compile(r"^access +bw\(MiB/s\)[^\n]*$", re.MULTILINE)
_WRONG = re.compile(r"incorrect data on (?:read|write)\b[^\d\n-]*\n?\s*\(?(-?\d{1,18}) errors found", re.IGNORECASE)
#: What the ranks print of it, with or without the sum above.
_COMPARED = re.compile(r"In transfer \d{1,18}, (\d{1,18}) errors between buffer indices|FAILED comparison of buffer")
_ERROR = re.compile(r"^(?:ior )?(?:\*\* )?ERROR\b[^\n]{0,200}", re.MULTILINE)
_ACTUAL = re.compile(r"^WARNING: Using actual aggregate bytes moved = (\d{1,18})\.", re.MULTILINE)


def _of_text(text: str) -> Iterator[Test]:
    begins = [found.start() for found in _BEGIN.finditer(text)]
    if not begins:
        raise Garbage("this is not output of IOR: there is no line 'IOR-...: MPI Coordinated Test of Parallel I/O'")
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        run = text[begin:end]
        if not _END.search(run):
            raise Garbage("the output ends before IOR said 'Finished'")
        if error := _ERROR.search(run):
            raise Garbage(f"IOR reports an error: {error[0]}")
        yield from _of_run(run)


def _of_run(run: str) -> Iterator[Test]:
    """The tests of one run: each table, with the options that stand before it."""
    line = re.search(r"^Command line[^:\n]*:\s*([^\n]*)", run, re.MULTILINE)
    command = line[1].replace('"', "").replace("'", "") if line else ""
    summary = _summary(run)
    heads = list(_TABLE.finditer(run))
    options: dict[str, str] = {}
    if not heads:
        options = dict(_OPTION.findall(run))
        yield _test(_means(run), {name.strip(): value for name, value in options.items()}, command, run, {})
        return
    for number, (head, after) in enumerate(zip(heads, [*heads[1:], None], strict=True)):
        before = run[heads[number - 1].end() if number else 0 : head.start()]
        options = {**options, **{name.strip(): value for name, value in _OPTION.findall(before)}}
        # Options of the next test begin with its number; what stands behind the table of the last is the summary.
        part = run[head.end() : after.start() if after else len(run)]
        yield _test(_rows(head[0], part), options, command, part, summary.get(options.get("TestID", str(number)), {}))


def _rows(head: str, part: str) -> tuple[Row, ...]:
    """The rows below a heading, up to the summary. Raises Garbage for one with another number of words."""
    columns = head.split()
    table = re.split(
        r"^(?:Summary of all tests|Max Write|Max Read|Operation +Max)", part, maxsplit=1, flags=re.MULTILINE
    )
    rows, moved = [], 0
    for line in table[0].splitlines():
        if actual := _ACTUAL.match(line):
            moved = int(actual[1])
        words = line.split()
        if (
            not words
            or words[0] not in ("write", "read")
            or len(words) < 2
            or not re.match(r"[-\d]|NA$|nan|inf", words[1])
        ):
            continue
        if len(words) != len(columns):
            raise Garbage(f"a row of IOR has {len(words)} words below {len(columns)} headings: {line.strip()[:120]!r}")
        cells = {name: "" if word in ("-", "NA") else word for name, word in zip(columns, words, strict=True)}
        rows.append(_row(cells, moved))
        moved = 0
    return tuple(row for row in rows if row.bandwidth)


def _means(run: str) -> tuple[Row, ...]:
    """The rows of a summary that stands alone, as IOR 2.10 prints it: of several passes their mean time and no rate."""
    found = re.search(r"^Operation +Max \(MiB\)[^\n]* Mean \(s\)[^\n]*$", run, re.MULTILINE)
    if found is None:
        raise Garbage(
            "IOR's output has neither a table 'access  bw(MiB/s) ...' nor a summary 'Operation  Max (MiB) ...'"
        )
    columns = re.sub(r" \((\w+)\)", r"(\1)", found[0]).replace("Std Dev", "StdDev").split()
    alone = re.search(r"^\s*repetitions *= 1$", run, re.MULTILINE) is not None
    rows = []
    for line in run[found.end() :].splitlines():
        words = line.split()
        if words and words[0] in ("write", "read") and len(words) >= len(columns):
            cells = dict(zip(columns, words, strict=False))
            rate = {"bw(MiB/s)": cells["Mean(MiB)"]} if alone else {}
            rows.append(_row({"access": words[0], "total(s)": cells["Mean(s)"], **rate}))
    return tuple(rows)


def _row(cells: Mapping[str, str], moved: int = 0) -> Row:
    def number(name: str) -> str:
        word = cells.get(name, "")
        if word and not re.fullmatch(NUMBER, word):
            raise Garbage(f"{name} of a row of IOR is not a number: {word[:40]!r}")
        return word

    return Row(
        direction=cells["access"],
        bandwidth=number("bw(MiB/s)"),
        total_s=number("total(s)"),
        open_s=number("open(s)"),
        close_s=number("close(s)"),
        latency_s=number("Latency(s)") or number("Latency"),
        moved_bytes=moved,
    )


def _test(rows: tuple[Row, ...], options: Mapping[str, str], command: str, part: str, exact: Mapping[str, str]) -> Test:
    """A test from its options; sizes and counts to the byte from the summary, where it has them."""
    clients = re.match(r"(\d{1,9})(?: \((\d{1,9}) per node\))?", options.get("clients", ""))
    ranks = exact.get("#Tasks") or options.get("tasks") or (clients[1] if clients else "")
    each = exact.get("tPN") or options.get("clients per node") or (clients[2] if clients and clients[2] else "")
    nodes = options.get("nodes", "")
    if not nodes and re.fullmatch(r"[1-9]\d{0,8}", each) and re.fullmatch(r"[1-9]\d{0,8}", ranks):
        nodes = str(-(-int(ranks) // int(each)))
    strided = re.search(r"\((\d{1,9}) segments?\)", options.get("pattern", ""))
    segments = exact.get("segcnt") or options.get("segments") or (strided[1] if strided else "1")
    offsets = options.get("ordering inter file", "")
    errors = _errors(part)
    return Test(
        rows=rows,
        api=(exact.get("API") or options.get("api", "")).split(" ")[0].split("(")[0] or "not stated",
        access=options.get("access", "not stated").split(",")[0],
        block=_bytes(exact.get("xsize") or options.get("xfersize", ""), "xfersize"),
        size=_bytes(exact.get("blksiz") or options.get("blocksize", ""), "blocksize"),
        segments=_count(segments, "segments"),
        ranks=_count(ranks, "tasks"),
        nodes=int(nodes) if re.fullmatch(r"\d{1,9}", nodes) else 0,
        direct=bool(re.search(r"(?:^|\s)(?:--posix\.odirect|-\w*B\w*)(?:\s|$)|useO_DIRECT=1", command)),
        synced=bool(re.search(r"(?:^|\s)-[A-Za-z]*e[A-Za-z]*(?:\s|$)|fsync=1", command)),
        elsewhere="constant task offset" in offsets,  # at random (-Z) a rank may get what its own node wrote
        stonewalled=bool(re.search(r"(?:^|\s)-D|deadlineForStonewall\w*=[1-9]", command))
        or options.get("stonewallingTime", "0") != "0" or "Using stonewalling" in part,
        checked=errors != 0 or bool(re.search(r"(?:^|\s)-[A-Za-z]*[RW][A-Za-z]*(?:\s|$)|check(?:Read|Write)=1", command)),
        errors=errors,
    )  # fmt: skip


def _errors(part: str) -> int | None:
    """How many words IOR found wrong: its sum, or what its ranks say; None where there are more than it counts."""
    told = [int(one) for one in _WRONG.findall(part)]
    found = [int(one or 0) for one in _COMPARED.findall(part)]
    return None if any(one < 0 for one in told) else max(sum(told), sum(found), bool(found))


def _summary(run: str) -> dict[str, dict[str, str]]:
    """Of each test by its number, the counts and sizes of the summary; none where its headings are of an older form."""
    found: dict[str, dict[str, str]] = {}
    head = re.search(r"^Operation +Max\(MiB\)[^\n]*Test#[^\n]*$", run, re.MULTILINE)
    if head is None:
        return found
    columns = head[0].split()
    for line in run[head.end() :].splitlines():
        words = line.split()
        if len(words) == len(columns) and words[0] in ("write", "read"):
            cells = dict(zip(columns, words, strict=True))
            if all(
                re.fullmatch(r"\d{1,18}", cells.get(name, "0"))
                for name in ("#Tasks", "tPN", "segcnt", "blksiz", "xsize")
            ):
                found.setdefault(cells["Test#"], cells)
    return found


def _bytes(text: str, what: str) -> int:
    """A size as IOR prints it: bytes, or a number with a binary unit. Raises Garbage."""
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,6})?)(?: (bytes|[KMGTP]iB))?", text)
    if found is None or float(found[1]) <= 0:
        raise Garbage(f"IOR does not say its {what}, or it is not a size: {text[:40]!r}")
    return round(float(found[1]) * _UNITS[found[2] or "bytes"])


def _count(text: str, what: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise Garbage(f"IOR does not say its number of {what}, or it is not a count: {text[:40]!r}")
    return int(text)


# ---------------------------------------------------------------------------------------------------------------- JSON


class _Pass(msgspec.Struct, frozen=True):
    """One of the results, its numbers kept as they are printed."""

    access: str
    bw: msgspec.Raw = msgspec.field(name="bwMiB", default=msgspec.Raw())
    total: msgspec.Raw = msgspec.field(name="totalTime", default=msgspec.Raw())
    open: msgspec.Raw = msgspec.field(name="openTime", default=msgspec.Raw())
    close: msgspec.Raw = msgspec.field(name="closeTime", default=msgspec.Raw())
    latency: msgspec.Raw = msgspec.field(name="latency", default=msgspec.Raw())


class _JsonTest(msgspec.Struct, frozen=True):
    parameters: dict[str, Any] = msgspec.field(name="Parameters")
    results: tuple[_Pass, ...] = msgspec.field(name="Results")
    options: dict[str, Any] = msgspec.field(name="Options", default_factory=dict)


class _Json(msgspec.Struct, frozen=True):
    tests: tuple[_JsonTest, ...]
    command: str = msgspec.field(name="Command line", default="")
    finished: str = msgspec.field(name="Finished", default="")


def _of_json(text: str) -> Iterator[Test]:
    try:
        found = msgspec.json.decode(text, type=_Json)
    except strict.UNREADABLE as error:
        raise Garbage(f"this is not a summary of IOR as JSON ({error})") from None
    if not found.finished:
        raise Garbage("the summary ends before IOR said 'Finished'")
    for one in found.tests:
        yield _json_test(one, found.command)


def _json_test(one: _JsonTest, command: str) -> Test:
    given = {name: str(value) for name, value in one.parameters.items()}
    options = {name: str(value) for name, value in one.options.items()}
    plain = {
        "api": given.get("api", ""),
        "access": options.get("access")
        or ("file-per-process" if given.get("filePerProc") == "1" else "single-shared-file"),
        "xfersize": given.get("transferSize", ""),
        "blocksize": given.get("blockSize", ""),
        "segments": given.get("segmentCount", "1"),
        "tasks": options.get("tasks") or given.get("numTasks", ""),
        "nodes": options.get("nodes") or given.get("nodes", ""),
        "ordering inter file": options.get("ordering inter file", ""),
    }
    rows = tuple(
        _row({"access": row.access, "bw(MiB/s)": _raw(row.bw), "total(s)": _raw(row.total), "open(s)": _raw(row.open),
              "close(s)": _raw(row.close), "Latency(s)": _raw(row.latency)})
        for row in one.results if row.access in ("write", "read")
    )  # fmt: skip
    test = _test(tuple(row for row in rows if row.bandwidth), plain, command, "", {})
    return test._replace(
        synced=test.synced or given.get("fsync") == "1",
        direct=test.direct or given.get("useO_DIRECT") == "1",
        stonewalled=given.get("deadlineForStonewall", "0") != "0",
        checked=test.checked or "1" in (given.get("checkRead"), given.get("checkWrite")),
    )


def _raw(number: msgspec.Raw) -> str:
    word = bytes(number).decode("utf-8", "replace").strip().strip('"')
    return "" if word in ("", "null", "NA", "-") else word


# ----------------------------------------------------------------------------------------------------------------- CSV


def _of_csv(text: str) -> Iterator[Test]:
    """Rows of alike sizes and tasks are a test. The file has neither version, nor API, nor whether one file was shared."""
    rows = csv_rows(text.strip(), "IOR")
    columns = rows[0]
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows[1:]:
        if len(row) != len(columns):
            raise Garbage(
                f"a row of IOR's CSV has {len(row)} words below {len(columns)} headings: {','.join(row)[:120]!r}"
            )
        cells = {name: "" if word in ("-", "NA") else word for name, word in zip(columns, row, strict=True)}
        if cells["access"] in ("write", "read"):
            key = (cells.get("block(KiB)", ""), cells.get("xfer(KiB)", ""), cells.get("numTasks", ""))
            groups.setdefault(key, []).append(_row(cells))
    for (size, block, ranks), found in groups.items():
        for word in (size, block):
            if not re.fullmatch(r"\d{1,15}(\.\d{1,6})?", word) or half_place(word) > 1:
                raise Garbage(f"a size of IOR's CSV is not a number of KiB: {word[:40]!r}")
        yield Test(
            rows=tuple(row for row in found if row.bandwidth),
            api="not stated",
            access="not stated",
            block=max(1, round(float(block) * 1024)),
            size=max(1, round(float(size) * 1024)),
            segments=1,
            ranks=_count(ranks, "tasks"),
            segments_known=False,
        )
