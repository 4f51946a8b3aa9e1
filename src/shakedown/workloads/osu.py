"""The OSU micro-benchmarks, as a site has installed them: an adapter that runs one of them and reads its table.

Latency is half the mean round trip, bandwidth that of windows of messages: the definitions of our `pingpong`, under whose
metrics they stand, so that the two lie side by side. OSU prints the mean of all iterations, once: there is no interval, and
one late message moves it. A collective's figure is the mean over the ranks of each rank's mean time in the call, which is
not the time until the last rank has its result: for rooted operations it is shorter by up to the number of ranks. It has
metrics of its own, and so have MPI's one-sided operations and those of OpenSHMEM. OSU counts in MB of 10^6 bytes.

Where OSU checks its data (``check``, its option ``-c``) a row that failed leaves no score. A latency printed as 0.00 is
below what two decimals show and is not measured. Two tests begun at once, or sizes that do not grow, are copies of a program
whose ranks ran alone, and are refused.

Source: README of the OSU micro-benchmarks 7.4; outputs of versions 2.1 to 7.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from . import Garbage
from .common import site_mpi
from .common.osu_output import Row, Table, tables
from .common.passes import joined
from .common.printed import is_whole
from .common.table import table_of

TABLE = table_of(__file__)

_US = 1e-6
_MB = 1e6
#: Tests of exactly two ranks, by the ends of their programs' names.
_OF_TWO = ("latency", "_bw", "_bibw", "_put", "_get", "_atomics")
_RMA = re.compile(
    r"(?:one sided )?mpi_(put|get|accumulate|get_accumulate|fetch_and_op|compare_and_swap) "
    r"(latency|bandwidth|bi-directional bandwidth)"
)
_COLLECTIVE = re.compile(
    r"(?P<library>mpi|openshmem|nccl|rccl|xccl|upc|upc\+\+) (?P<how>non-blocking |persistent )?(?P<hood>neighborhood )?"
    r"(?P<name>allgatherv?|allreduce|all-to-all[vw]?(?: personalized exchange)?|alltoall[vw]?|barrier|broadcast|bcast|"
    r"gatherv?|ialltoall|reduce|reduce[_-]scatter(?:[_-]block)?|scatterv?|collect|fcollect) ?(?:latency)?"
)
_POINT_TO_POINT = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "bi-directional bandwidth": "bidirectional",
    "multi latency": "multi_latency",
    "multi-threaded latency": "multi_latency",
    "multi-process latency": "multi_latency",
    "multiple bandwidth / message rate": "multi_pair",
}
#: Where the sizes of a test end, or later, unless it was told otherwise.
_LAST = 2**20


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = params["ranks"]
    if ranks == "auto":
        name = str(params["program"]).rpartition("/")[2]
        ranks = 2 if name.endswith(_OF_TWO) and "multi" not in name else max(2, cores(host))
    site_mpi.need(host, "osu")
    return ({**params, "ranks": int(ranks), "hosts": host.count},)


def _command(params: Params, host: Host) -> Command:
    argv = [str(params["program"])]
    argv += ["-m", str(params["sizes"])] if params["sizes"] else []
    argv += ["-i", str(params["iterations"])] if params["iterations"] else []
    argv += ["-c"] if params["check"] else []
    argv += ["-f"] if params["full"] else []
    return Command(argv=(*argv, *str(params["arguments"]).split()), ranks=int(params["ranks"]), site_mpi=True)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each row that measured something. Raises Garbage."""
    found = tables(text)
    cases = joined(case for at, table in enumerate(found, start=1) for case in _of_table(table, at, params))
    if not cases:
        raise Garbage("OSU measured nothing: each of its figures is 0.00")
    return cases


def _of_table(table: Table, at: int, params: Params) -> Iterator[Case]:
    kernel, told = _meaning(table)
    told |= {"application": "osu", **({"version": table.version} if table.version else {})}
    if table.device:
        # Which memories the messages went between is no longer said since version 7: two tests are not one case.
        told |= {"device": "gpu", **({"sides": table.sides} if table.sides else {"test": at} if at > 1 else {})}
    if params.get("ranks") and params["ranks"] != "auto":
        told["ranks"] = int(params["ranks"])
    if "hosts" in params and told.get("ranks") == 2:
        told["link"] = "network" if int(params["hosts"]) > 1 else "shared memory"
    for row in table.rows:
        case = _case(kernel, table, row, dict(told))
        if case is not None:
            yield case


def _meaning(table: Table) -> tuple[str, Params]:
    """The kernel of a test, and what its title and its notes say. Raises Garbage for a title that is not known."""
    title = table.title
    told: Params = {}
    if found := _RMA.fullmatch(title):
        kind = {"latency": "latency", "bandwidth": "bandwidth"}.get(found[2], "bidirectional")
        for name in ("window creation", "synchronization"):
            if name in table.notes:
                told[name.split()[0]] = table.notes[name].removeprefix("MPI_")
        return f"{found[1]}_{kind}", told
    library, _, rest = title.partition(" ")
    if library in ("mpi", "nccl", "rccl", "xccl") and rest in _POINT_TO_POINT:
        told |= {"library": library.upper()} if library != "mpi" else {}
        told |= {name: int(table.notes[name]) for name in ("pairs", "window") if is_whole(table.notes.get(name, ""))}
        return _POINT_TO_POINT[rest], told
    if title in ("openshmem put", "openshmem get", "openshmem atomic operation rate"):
        return f"shmem_{rest.split()[0]}", told
    if title.startswith("openshmem ") and rest.endswith("message rate"):
        return f"shmem_{rest.split()[0]}_rate", told
    if found := _COLLECTIVE.fullmatch(title):
        told["operation"] = ("neighbor_" if found["hood"] else "") + _operation(found["name"])
        told |= {"blocking": False} if found["how"] == "non-blocking " else {}
        told |= {"persistent": True} if found["how"] == "persistent " else {}
        told |= {"library": found["library"].upper()} if found["library"] != "mpi" else {}
        return "collective", told
    raise Garbage(f"the test {title!r} of OSU is not read: it is none of two ranks, of pairs, of all, or one-sided")


def _operation(name: str) -> str:
    """As MPI spells it."""
    name = name.removesuffix(" personalized exchange").replace("all-to-all", "alltoall").replace("-", "_")
    return {"broadcast": "bcast", "ialltoall": "alltoall"}.get(name, name)


def _case(kernel: str, table: Table, row: Row, told: dict[str, Value]) -> Case | None:
    """One row; None where its figure is 0.00. Raises Garbage where its columns contradict each other."""
    size = int(row.key) if is_whole(row.key) else None
    if size is not None:
        told["bytes"] = size
    elif row.key:
        told["case"] = row.key
    work, seconds = _figures(row, size)
    if not work and not seconds:
        return None
    return Case(kernel=kernel, params=told, work=work, seconds=seconds, residual=_check(row))


def _figures(row: Row, size: int | None) -> tuple[dict[str, float], tuple[float, ...]]:
    """The work and the seconds of a row."""
    value = {name: float(word) for name, word in row.cells.items() if name not in ("operation", "validation")}
    work: dict[str, float] = {}
    rate = value.get("bandwidth(mb/s)", value.get("mb/s"))
    if rate is not None:
        if rate and size:
            work = {"bytes": rate * _MB, "messages": value.get("messages/s", rate * _MB / size)}
            _agree(row, rate * _MB, work["messages"] * size)
    elif value.get("messages/s"):
        work = {"messages": value["messages/s"], "bytes": value["messages/s"] * (size or 0)}
    if work:
        work |= {_tail(name): word * _MB for name, word in value.items() if "tailbw" in name}
        return work, (1.0,)
    time = next((value[name] for name in ("avglatency(us)", "latency(us)", "purecomm.(us)") if name in value), None)
    if not time:
        return {}, ()
    low, high = value.get("minlatency(us)"), value.get("maxlatency(us)")
    if low is not None and high is not None:
        if not low - 0.011 <= time <= high + 0.011:
            raise Garbage(f"line {row.line}: the mean, {time} us, is not between {low} and {high}")
        work |= {"min_s": low * _US, "max_s": high * _US}
    work |= {_tail(name): word * _US for name, word in value.items() if "taillat" in name}
    if "overlap(%)" in value:
        if value["overlap(%)"] > 100.0:
            raise Garbage(f"line {row.line}: {value['overlap(%)']} % of a call cannot be hidden")
        work |= {"overlap": value["overlap(%)"] / 100, "overall_s": value.get("overall(us)", 0.0) * _US}
    if "millionops/s" in value:
        work["op"] = value["millionops/s"] * time  # in the seconds of this row: its rate is OSU's
    return {"messages": 1.0, **work}, (time * _US,)


def _tail(name: str) -> str:
    """``p99taillat(us)`` -> ``p99_s``."""
    return f"{name.partition('tail')[0]}_{'s' if 'lat' in name else 'bytes'}"


def _agree(row: Row, bytes_s: float, other: float) -> None:
    """Raises Garbage where MB/s and messages/s, both rounded to two decimals, say different things."""
    if abs(bytes_s - other) > 0.0051 * _MB + 0.0051 * other / max(1.0, bytes_s) + 1e-9 * other + other * 1e-6:
        raise Garbage(f"line {row.line}: {bytes_s / _MB:.2f} MB/s are not the messages beside them")


def _check(row: Row) -> Residual | None:
    word = row.cells.get("validation", "").lower()
    if not word:
        return None
    value = {"pass": 0.0, "-": None}.get(word, 1.0)
    if word == "-":
        return None
    return Residual(value=value, limit=0.0, kind="messages whose data OSU found wrong")


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Sizes that may be missing, and figures that are below what is printed."""
    found = []
    for table in tables(text):
        end = int(table.rows[-1].key) if is_whole(table.rows[-1].key) else _LAST
        if end < _LAST and not params.get("sizes"):
            why = f"its sizes end at {end} B, before OSU's own end: -m set that, or the log is cut"
            found.append(Notice(code="osu-ends-early", text=f"{table.title}: {why}"))
        zero = [row.key for row in table.rows if _figures(row, int(row.key) if is_whole(row.key) else None) == ({}, ())]
        if zero:
            why = f"{len(zero)} figures are 0.00, below what two decimals show: not measured"
            found.append(Notice(code="osu-below-resolution", text=f"{table.title}: {why}"))
    return tuple(found)


def _estimate_s(params: Params, host: Host) -> float:
    return 30.0


WORKLOAD = TABLE.workload(
    title="OSU micro-benchmarks: messages, collectives and one-sided operations of MPI",
    network=True,
    command=_command,
    parse=parse,
    notices=notices,
    resolve=_resolve,
    marks=("program",),
    estimate_s=_estimate_s,
)
