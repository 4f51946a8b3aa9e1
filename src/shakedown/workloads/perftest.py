"""perftest (``ib_write_bw``, ``ib_read_lat`` and their kin), as a site has it: an adapter for RDMA between two hosts.

A server waits on one host (``ib_write_bw``), this side is the client. Latency is half a round trip for writes and sends and
a whole one for reads and atomics; its typical value, the median, is the figure, and mean, extremes and percentiles stand
beside it. Bandwidth counts both directions where the test is bidirectional. What perftest heads "MB/sec" are MiB of 2^20
bytes (later versions say so), "Gb/sec" 10^9 bits; the message rate beside it must agree, or the row is refused. Where server
and client write to one log, each row stands twice and counts once. perftest reads the processor's cycle counter: where it
says that clocks differ, its times may be off, and that is said.

Source: linux-rdma/perftest, README; outputs of versions 3 to 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Value
from . import Garbage
from .common.passes import joined
from .common.printed import NUMBER, is_whole, span
from .common.table import table_of

TABLE = table_of(__file__)

_ATOMIC = r"FETCH_AND_ADD|CMP_AND_SWAP"
_TITLE = re.compile(
    rf"^ *(?:RDMA_)?(?P<operation>Write|Read|Send|Atomic|Write_Imm\w*|(?:Atomic )?(?:{_ATOMIC}))(?: with imm\w*)?"
    rf"(?: (?P<atomic>{_ATOMIC}))?(?: (?P<both>Bidirectional|Post List))? (?P<kind>BW|Latency|Message Rate) Test",
    re.MULTILINE | re.IGNORECASE,
)
_FACT = re.compile(r"(Device|Number of qps|Link type|Connection type) *: *(\S+)")
_HEADING = re.compile(
    r"#bytes|#iterations|BW[ _]peak ?\[\w+/sec\]|BW[ _]average ?\[\w+/sec\]|MsgRate ?\[Mpps\]|CPU_Util ?\[%\]|tps average"
    r"|t_(?:min|max|typical|avg|stdev) ?\[usec\]|99(?:\.9)?% percentile ?\[usec\]"
)
#: Two numbers of two decimals that ran into each other: the columns are as wide as small numbers.
_MERGED = re.compile(r"(\d{1,12}\.\d{2})(\d{1,12}\.\d{2})")
_US = 1e-6


class _Block(NamedTuple):
    operation: str
    kind: str  # "bw", "latency"
    both: bool
    facts: dict[str, str]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    if not params["server"]:
        raise BadInput(
            "perftest.server is empty: with which host are messages exchanged?",
            hint=f"start {str(params['program']).rpartition('/')[2]} there without a host, and name it: server=HOST",
        )
    return (params,)


def _command(params: Params, host: Host) -> Command:
    argv = [str(params["program"])]
    argv += ["-d", str(params["device"])] if params["device"] else []
    argv += ["-a"] if params["size"] == "all" else ["-s", str(params["size"])]
    argv += ["-F", *str(params["arguments"]).split(), str(params["server"])]
    return Command(argv=tuple(argv))


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each size of each test. Raises Garbage."""
    blocks = list(_blocks(text))
    cases = [case for block in blocks for row in dict.fromkeys(block.rows) if (case := _case(block, row)) is not None]
    if not cases:
        raise Garbage("perftest measured nothing: each of its figures is 0")
    return joined(cases)


def _blocks(text: str) -> Iterator[_Block]:
    """The tests of a text. Raises Garbage."""
    titles = list(_TITLE.finditer(text))
    if not titles:
        raise Garbage("this is not output of perftest: there is no line such as 'RDMA_Write BW Test'")
    found: dict[tuple[object, ...], None] = {}
    for title, after in zip(titles, [*titles[1:], None], strict=True):
        part = text[title.end() : after.start() if after else len(text)]
        headings, rows = _table(part)
        if not rows:
            error = re.search(r"^[^\n]{0,100}(?:Unable to|Couldn't|Failed to|Cannot)[^\n]{0,200}", part, re.MULTILINE)
            raise Garbage(f"a test of perftest has no row of figures{': ' + error[0].strip() if error else ''}")
        name = f"{title['operation']} {title['atomic'] or ''}".strip().lower().replace("atomic ", "").replace(" ", "_")
        both = (title["both"] or "").lower() == "bidirectional"
        block = _Block(name, title["kind"].lower(), both, dict(_FACT.findall(part)), headings, rows)
        key = (block.operation, block.kind, block.both, block.headings, block.rows)
        if key not in found:  # the server's page and the client's in one log
            yield block
        found[key] = None


def _table(part: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    headings: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    lines = part.splitlines(keepends=True)
    for line in lines:
        names = tuple(re.sub(r"[ _]", "", name).lower() for name in _HEADING.findall(line))
        if "#bytes" in names and len(names) > 2:
            if rows and names != headings:
                raise Garbage("the rows of one test of perftest stand below different headings")
            headings = names
            continue
        words = _MERGED.sub(r"\1 \2", line).split()
        if not headings or not words or not is_whole(words[0]):
            continue
        if len(words) != len(headings) or not all(re.fullmatch(NUMBER, word) for word in words) or len(words[0]) > 15:
            raise Garbage(
                f"a row of perftest has not {len(headings)} numbers below its headings: {line.strip()[:100]!r}"
            )
        if not line.endswith("\n"):
            raise Garbage(f"the text ends within a row of perftest: {line.strip()[:100]!r}")
        rows.append(tuple(words))
    return headings, tuple(rows)


def _case(block: _Block, row: tuple[str, ...]) -> Case | None:
    cells = dict(zip(block.headings, row, strict=True))
    told: dict[str, Value] = {
        "operation": block.operation,
        "bytes": int(row[0]),
        "application": "perftest",
        **({"adapter": block.facts["Device"]} if "Device" in block.facts else {}),
        **({"link_type": block.facts["Link type"]} if "Link type" in block.facts else {}),
        **({"connection": block.facts["Connection type"]} if "Connection type" in block.facts else {}),
    }
    pairs = block.facts.get("Number of qps", "")
    told |= {"queue_pairs": int(pairs)} if is_whole(pairs) else {}
    if block.kind == "latency":
        return _latency(told, cells)
    average = next((name for name in cells if name.startswith("bwaverage")), None)
    if average is None:
        raise Garbage(f"a bandwidth test of perftest has no column 'BW average': {', '.join(block.headings)}")
    rate = float(cells[average]) * _unit(average, cells, int(row[0]))
    if not rate:
        return None
    kernel = "bidirectional" if block.both else "bandwidth"
    messages = float(cells["msgrate[mpps]"]) * 1e6 if "msgrate[mpps]" in cells else rate / max(1, int(row[0]))
    return Case(kernel=kernel, params=told, work={"bytes": rate, "messages": messages}, seconds=(1.0,))


def _unit(average: str, cells: dict[str, str], size: int) -> float:
    """Bytes a second of one unit of the rate. Raises Garbage where the message rate beside it says another."""
    units = {"gb": (1e9 / 8,), "mib": (2.0**20,), "mb": (2.0**20, 1e6)}.get(average.partition("[")[2].partition("/")[0])
    if units is None:
        raise Garbage(f"perftest's unit of {average!r} is not known")
    if "msgrate[mpps]" not in cells:
        return units[0]
    messages = span(cells["msgrate[mpps]"], 1e6 * size)
    for unit in units:
        rate = span(cells[average], unit)
        if rate.low <= messages.high * (1 + 1e-6) and messages.low <= rate.high * (1 + 1e-6):
            return unit
    raise Garbage(
        f"a row of perftest says {cells[average]} ({average}) and {cells['msgrate[mpps]']} M messages/s of {size} B"
    )


def _latency(told: dict[str, Value], cells: dict[str, str]) -> Case | None:
    value = {name: float(word) * _US for name, word in cells.items() if name.endswith("[usec]")}
    typical = value.get("ttypical[usec]", value.get("tavg[usec]"))
    if typical is None:
        raise Garbage(f"a latency test of perftest has neither t_typical nor t_avg: {', '.join(cells)}")
    names = (("tmin[usec]", "min_s"), ("tmax[usec]", "max_s"), ("tavg[usec]", "mean_s"), ("99%percentile[usec]", "p99_s"),
             ("99.9%percentile[usec]", "p999_s"))  # fmt: skip
    work = {"messages": 1.0, **{to: value[name] for name, to in names if name in value}}
    least, most = work.get("min_s", 0.0), work.get("max_s", typical)
    if not least - 1e-8 <= typical <= most + 1e-8:
        raise Garbage(f"a row of perftest whose typical time, {typical / _US:.2f} us, is not between its extremes")
    if not typical:
        return None
    told["statistic"] = "median" if "ttypical[usec]" in value else "mean"
    return Case(kernel="latency", params=told, work=work, seconds=(typical,))


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Doubts of perftest's own."""
    if "Conflicting CPU frequency values" not in text:
        return ()
    return (
        Notice(
            code="perftest-clock",
            text="perftest found processors at different clocks; it takes its times from cycles, and they may be off",
            advice="the governor 'performance' on both hosts, or a perftest that reads the clock (4.5 and later)",
        ),
    )


def _estimate_s(params: Params, host: Host) -> float:
    return 30.0 if params["size"] == "all" else 5.0


WORKLOAD = TABLE.workload(
    title="perftest: RDMA between two hosts (ib_write_bw, ib_read_lat)",
    network=True,
    command=_command,
    parse=parse,
    notices=notices,
    resolve=_resolve,
    marks=("program", "server"),
    estimate_s=_estimate_s,
)
