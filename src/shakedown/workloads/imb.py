"""The Intel MPI Benchmarks (IMB), as a site has installed them: an adapter that runs one of their programs.

PingPong's time is half a round trip, as that of our `pingpong`, under whose metrics it and Uniband and Biband stand. A
collective is given as the mean over ranks (``t_avg``) and as the slowest rank (``t_max``), each a mean over repetitions:
there is no interval, and one late repetition moves it. What IMB means by MB/s has changed: 10^6 bytes since IMB 2018, 2^20
before; each table's times and sizes show which, and a rate that is neither is refused. Bandwidths are bytes over times.

A table of one process has sent no message: where several should run, the launcher was another MPI's and ran copies of
one rank. Such a table leaves no score, and neither does one of fewer processes than requested. What a program built
with ``CHECK`` found wrong leaves none either.

Source: Intel MPI Benchmarks User Guide; source of IMB 2021.11; outputs of versions 3 to 2021.
"""

from __future__ import annotations

import re

from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import site_mpi
from .common.imb_output import Row, Table, log
from .common.passes import joined
from .common.printed import is_whole, times
from .common.table import table_of

TABLE = table_of(__file__)

_US = 1e-6
#: One-sided operations of one pair, each waited for: as the OSU micro-benchmarks measure them.
_RMA = {
    "unidir_put": "put_latency",
    "unidir_get": "get_latency",
    "accumulate": "accumulate_latency",
    "get_accumulate": "get_accumulate_latency",
    "fetch_and_op": "fetch_and_op_latency",
    "compare_and_swap": "compare_and_swap_latency",
}


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    site_mpi.need(host, "imb")
    ranks = cores(host) if params["ranks"] == "cores" else int(params["ranks"])
    return ({**params, "ranks": max(2, ranks), "hosts": host.count},)


def _command(params: Params, host: Host) -> Command:
    argv = [str(params["program"]), *str(params["benchmarks"]).replace(",", " ").split()]
    argv += ["-npmin", str(params["ranks"])]
    argv += ["-iter", str(params["iterations"])] if params["iterations"] else []
    argv += ["-msglog", str(params["sizes"])] if params["sizes"] else []
    return Command(argv=(*argv, *str(params["arguments"]).split()), ranks=int(params["ranks"]), site_mpi=True)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each row that was measured. Raises Garbage."""
    found = log(text)
    cases = [_case(table, row, params) for table in found.tables for row in table.rows if not row.failure]
    if not cases:
        raise Garbage("IMB measured nothing: each row says that it failed, or no benchmark had enough processes")
    return joined(case for case in cases if case.seconds)


def _case(table: Table, row: Row, params: Params) -> Case:
    kernel, told = _meaning(table)
    told |= {"application": "imb", "version": table.version, "ranks": table.processes}
    told |= {"groups": table.groups} if table.groups > 1 else {}
    told |= {"group": row.group} if row.group is not None else {}
    told |= {"bytes": row.size} if row.size is not None else {}
    told |= {"mode": table.mode} if table.mode and kernel == "rma" else {}
    if params.get("hosts") and table.processes == 2:
        told["link"] = "network" if int(params["hosts"]) > 1 else "shared memory"
    work, seconds = _figures(table, row)
    return Case(kernel=kernel, params=told, work=work, seconds=seconds, residual=_check(table, row, params))


def _meaning(table: Table) -> tuple[str, Params]:
    """The kernel of a table, and the parameters that its name says."""
    name = table.name
    if name in _RMA and table.mode != "aggregate" and table.processes == 2:
        return _RMA[name], {}
    if name == "truly_passive_put":
        return "truly_passive", {}
    if table.mode or re.search(r"put|get|accumulate|fetch|swap", name):
        return "rma", {"operation": name}
    alone = table.processes == 2 and table.groups == 1
    if name in ("pingpong", "pingpongspecificsource", "pingponganysource"):
        told: Params = {} if name == "pingpong" else {"source": "any" if "any" in name else "specific"}
        return ("latency", told) if alone else ("multi_latency", told)
    if name in ("uniband", "biband"):
        kernel = "bandwidth" if name == "uniband" else "bidirectional"
        return (kernel, {}) if alone else (f"multi_{kernel}", {})
    if "mbytes/sec" in table.columns:
        return "exchange", {"operation": name}
    if "t_ovrl[usec]" in table.columns:
        return "nonblocking", {"operation": name.removeprefix("i")}
    return "collective", {"operation": name}


def _figures(table: Table, row: Row) -> tuple[dict[str, float], tuple[float, ...]]:
    """The work and the seconds of a row; none where its time is 0.00, below what is printed."""
    value = {name: float(word) for name, word in row.cells.items()}
    if {"msg/sec", "mbytes/sec"} <= value.keys():
        rate = value["mbytes/sec"] * table.mb
        return ({"bytes": rate, "messages": value["msg/sec"]}, (1.0,)) if value["msg/sec"] else ({}, ())
    work: dict[str, float] = {"messages": 1.0}
    if {"t_ovrl[usec]", "t_pure[usec]"} <= value.keys():
        work["overlapped_s"] = value["t_ovrl[usec]"] * _US
        work |= {"overlap": value["overlap[%]"] / 100} if "overlap[%]" in value else {}
        return (work, (value["t_pure[usec]"] * _US,)) if value["t_pure[usec]"] else ({}, ())
    whole = "mbytes/sec" in value
    time = value.get("t[usec]", value.get("t_max[usec]" if whole else "t_avg[usec]", 0.0))
    if whole and row.size:
        work["bytes"] = float(row.size * table.scale)
    for name in ("t_min[usec]", "t_max[usec]", "t_avg[usec]"):
        if name in value:
            work[f"{name[2:5]}_s"] = value[name] * _US
    return (work, (time * _US,)) if time else ({}, ())


def _check(table: Table, row: Row, params: Params) -> Residual | None:
    asked = int(params.get("ranks", 0)) if is_whole(str(params.get("ranks", ""))) else 0
    seen = table.processes * table.groups
    missing = max(0, asked - seen) if asked else int(seen < 2)
    if missing:
        kind = "ranks that the benchmark did not see: it ran as copies of itself, each alone (another MPI's launcher?)"
        return Residual(value=float(missing), limit=0.0, kind=kind)
    if "defects" in row.cells:
        return Residual(value=float(row.cells["defects"]), limit=0.0, kind="defects that IMB found in its data")
    return None


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Rows that IMB left out, and benchmarks that had too few processes."""
    found = log(text)
    failed = [
        f"{table.name}, {row.size} B: {row.failure}" for table in found.tables for row in table.rows if row.failure
    ]
    zero = sum(1 for table in found.tables for row in table.rows if not row.failure and not _figures(table, row)[1])
    notices = [Notice(code="imb-left-out", text=f"IMB left out {line[:200]}") for line in [*failed, *found.invalid][:8]]
    if zero:
        notices.append(Notice(code="imb-below-resolution", text=f"{zero} times are 0.00 us: not measured"))
    return tuple(notices)


def stated(text: str) -> Stated:
    """When it began, without a zone. No host."""
    begin, end = times(
        re.findall(r"^# Date +: (\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4})", text, re.MULTILINE), "%a %b %d %H:%M:%S %Y"
    )
    return Stated(begin=begin, end=end)


def _estimate_s(params: Params, host: Host) -> float:
    return 10.0 + 20.0 * len(str(params["benchmarks"]).replace(",", " ").split())


WORKLOAD = TABLE.workload(
    title="Intel MPI Benchmarks: messages, collectives and one-sided operations of MPI",
    network=True,
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("program",),
    estimate_s=_estimate_s,
)
