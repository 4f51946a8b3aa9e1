"""nccl-tests (and rccl-tests), as a site has built them: an adapter that runs one test and reads its table or its JSON.

Each size has a time, the bytes over it (algorithm bandwidth) and that times a factor of the operation and the number of
GPUs (bus bandwidth: all-reduce 2 (n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n; the rest 1), in GB/s of 10^9
bytes. Rates are computed from the sizes and the times, and a printed one that is not theirs is refused. Bus bandwidth is
what a ring sends over each GPU's links; a reduction in the switch sends less and so may show more than the links carry.
Beside it stand the limits that follow from the links of this machine, for each way in which it can be done, or for the one
that ran, where NCCL's log says it.

A time is the mean of back-to-back calls without an interval; with per-iteration times in JSON (``-I``) each is a sample.
Elements that the test counted as wrong leave no score; where it checked none (N/A) nothing is known of them. Several copies
of one rank, started in place of the ranks of one job, are refused. "Avg bus bandwidth", a mean over all sizes, is not read.

Source: NVIDIA nccl-tests, doc/PERFORMANCE.md; outputs of versions from 2019 to 2.19.
"""

from __future__ import annotations

import re

from ..errors import Unavailable
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from ..times import iso
from . import Garbage, Stated
from .common import nccl_output, site_mpi
from .common.nccl_output import Result, Test
from .common.passes import joined
from .common.printed import Span, agreed_s, span
from .common.table import table_of

TABLE = table_of(__file__)

_ALGORITHMS = {"ring": "Ring", "tree": "Tree", "nvls": "NVLS", "nvls_tree": "NVLSTree"}


def factor(operation: str, ranks: int) -> float | None:
    """Bus bandwidth over algorithm bandwidth of an operation on so many GPUs; None where it is not known (ibid.)."""
    if operation in ("broadcast", "reduce", "sendrecv"):
        return 1.0
    if ranks < 1:
        return None
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in nccl_output.OPERATIONS else None


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    if not host.gpus:
        raise Unavailable(
            "nccl-tests needs GPUs, and none was found", hint="shakedown machine says what was looked for"
        )
    ranks = int(params["ranks"])
    if ranks:
        site_mpi.need(host, "nccl-tests over ranks of MPI")
    gpus = len(host.gpus) if params["gpus"] == "all" else int(params["gpus"])
    return ({**params, "gpus": 1 if ranks and params["gpus"] == "all" else gpus},)


def _command(params: Params, host: Host) -> Command:
    argv = [str(params["program"]), "-b", str(params["from"]), "-e", str(params["to"]), "-f", "2"]
    argv += ["-g", str(params["gpus"]), "-n", str(params["iterations"]), "-w", str(params["warmup"])]
    argv += ["-c", "1" if params["check"] else "0"]
    env = {"NCCL_ALGO": _ALGORITHMS[str(params["algorithm"])]} if params["algorithm"] != "auto" else {}
    if params["algorithm_shown"]:
        env |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,TUNING"}
    ranks = int(params["ranks"])
    return Command(argv=(*argv, *str(params["arguments"]).split()), env=env, ranks=ranks, site_mpi=bool(ranks))


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each size and each of out of place and in place. Raises Garbage."""
    cases = [
        case
        for test in nccl_output.tests(text)
        for result in test.results
        if (case := _case(test, result, params)) is not None
    ]
    if not cases:
        raise Garbage("nccl-tests measured nothing: no size has a time")
    return joined(cases)


def _case(test: Test, result: Result, params: Params) -> Case | None:
    operation = test.operation or _named(str(params.get("program", ""))) or _implied(test)
    if not result.bytes or not result.time_us or float(result.time_us) <= 0:
        return None
    times = result.times_us or (float(result.time_us),)
    scale = factor(operation, test.ranks)
    told: dict[str, Value] = {
        "operation": operation or "not stated",
        "bytes": result.bytes,
        "gpus": test.ranks,
        "in_place": result.in_place,
        "type": result.type,
        "application": "nccl-tests",
    }
    told |= {"nodes": test.nodes} if test.nodes else {}
    told |= {"version": test.version} if test.version else {}
    algorithm = test.algorithms.get(result.bytes, "")
    if not algorithm and params.get("algorithm", "auto") != "auto":
        algorithm = str(params["algorithm"])
    told |= {"algorithm": algorithm} if algorithm else {}
    _agree(result, scale, operation)
    bus = result.bytes * scale if scale is not None else float(result.bus_gb_s) * 1e9 * float(result.time_us) * 1e-6
    return Case(
        kernel="collective",
        params=told,
        work={"bytes": float(result.bytes), **({"bus_bytes": bus} if bus else {}), "op": 1.0},
        seconds=tuple(time * 1e-6 for time in times),
        residual=_check(test, result, params),
    )


def _agree(result: Result, scale: float | None, operation: str) -> None:
    """Raises Garbage where the printed rates are not those of the size and the time."""
    if operation not in nccl_output.OPERATIONS:
        return
    size, time = Span(result.bytes, result.bytes), span(result.time_us, 1e-6)
    if agreed_s(size, time, span(result.algorithm_gb_s, 1e9)) is None:
        raise Garbage(f"{result.bytes} B in {result.time_us} us are not {result.algorithm_gb_s} GB/s")
    if scale is None:
        return
    bus, algorithm = span(result.bus_gb_s), span(result.algorithm_gb_s, scale)
    if bus.low > algorithm.high * (1 + 1e-6) or bus.high < algorithm.low * (1 - 1e-6):
        raise Garbage(
            f"a bus bandwidth of {result.bus_gb_s} GB/s is not {scale:.4g} times {result.algorithm_gb_s} GB/s, as it is for "
            f"{operation}"
        )


def _check(test: Test, result: Result, params: Params) -> Residual | None:
    asked = int(params.get("ranks", 0) or 0) * int(params.get("gpus", 0) or 0) if params.get("ranks") else 0
    if asked > test.ranks:
        kind = "GPUs that the test did not see: its ranks ran alone (an nccl-tests built without MPI?)"
        return Residual(value=float(asked - test.ranks), limit=0.0, kind=kind)
    if result.wrong is None:
        return None
    wrong = max(result.wrong, float(test.out_of_bounds))
    return Residual(value=wrong, limit=0.0, kind="elements that nccl-tests found wrong")


def _named(program: str) -> str:
    """The operation of a test's program: ``all_reduce`` of ``./build/all_reduce_perf``."""
    found = re.search(r"(\w+)_perf", program.rpartition("/")[2])
    return found[1] if found and found[1] in nccl_output.OPERATIONS else ""


def _implied(test: Test) -> str:
    """The operation of a log that does not name it, where its reduction and its factor leave one; else nothing."""
    rows = [row for row in test.results if row.bytes and float(row.algorithm_gb_s) > 1]
    if not rows or test.ranks < 3:
        return ""
    best = max(rows, key=lambda row: float(row.algorithm_gb_s))
    ratio, n = float(best.bus_gb_s) / float(best.algorithm_gb_s), test.ranks
    reduces = best.redop not in ("", "none")
    for name, scale in (("all_reduce", 2 * (n - 1) / n), ("reduce_scatter", (n - 1) / n), ("reduce", 1.0)):
        if reduces and abs(ratio / scale - 1) < 0.02:
            return name
    return ""


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What was not checked, and ways that are slower than a site expects."""
    found = []
    tests = nccl_output.tests(text)
    if all(result.wrong is None for test in tests for result in test.results):
        found.append(
            Notice(
                code="nccl-unchecked",
                text="nccl-tests ran without checking its data (#wrong N/A): whether it is right is not known",
                advice="run it with -c 1, as shakedown does",
            )
        )
    if re.search(r"NCCL INFO .{0,80}via NET/Socket", text):
        found.append(
            Notice(
                code="nccl-sockets",
                text="NCCL went through TCP sockets (NET/Socket), not through an InfiniBand, RoCE or EFA plugin",
                advice="look for NET/IB or NET/OFI in NCCL_DEBUG=INFO; NCCL_IB_DISABLE, drivers and the plugin's library",
            )
        )
    return tuple(found)


def stated(text: str) -> Stated:
    """The host of rank 0, and where the output is JSON the times, without a zone."""
    try:
        test = nccl_output.tests(text)[0]
    except Garbage:
        return Stated()
    return Stated(host=test.host, begin=iso(test.begin), end=iso(test.end))


def _estimate_s(params: Params, host: Host) -> float:
    return 30.0 + 0.5 * (int(params["iterations"]) + int(params["warmup"]))


WORKLOAD = TABLE.workload(
    title="nccl-tests: collectives of NCCL or RCCL between GPUs",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("program",),
    estimate_s=_estimate_s,
)
