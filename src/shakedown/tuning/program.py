"""A request carried out by the ``hpl`` workload: the same parameters, command, launcher and judgement as any run.

Each run leaves its folder below ``runs/`` (what was started, its output, its measurement), as runs of a campaign do.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

import msgspec

from .. import workloads
from ..errors import ShakedownError
from ..hosts.access import HostAccess
from ..records import Case, Host, Machine, Measurement, Params, Run, Value
from ..results.run_directory import RunDirectory
from ..run import schedule, single
from ..schedulers import Allocation
from ..workloads.common import hpl
from .loop import Measure, TrialRequest, blank, failed
from .records import Request, Trial, Window
from .space import pair, words
from .windows import whole_seconds

SHARES = ("update", "panel", "solve", "rows", "messages", "wait", "other")
_OURS = ("layout", "grid", "binding")
#: Runs of these stages measure the DGEMM beside them; elsewhere that would only cost time.
_WITH_CEILING = ("calibrate", "final")
#: Systems that every host solves by itself, to compare hosts: enough for a steady rate, of a few seconds.
HOST_N = 8000


def parameters(request: Request, host: Host, hosts: int) -> Params:
    """The workload's parameters of a request, before they are resolved."""
    point = request.point
    p, q = pair(str(point["grid"]))
    ranks, threads = pair(str(point["layout"]))
    listed = ("bcast", "depth", "pfact", "rfact", "nbmin", "ndiv", "nb")
    made: Params = {name: str(value) if name in listed else value for name, value in point.items() if name not in _OURS}
    made |= {"n": str(request.n), "ranks": ranks, "threads": threads, "ceiling": request.stage in _WITH_CEILING}
    if hosts == 1:
        made |= {"p": str(p), "q": str(q)}
    if (cpus := binding(str(point.get("binding", "packed")), host, ranks, threads)) != "auto":
        made["cpus"] = cpus
    if request.kind == "windows":
        made |= {"windows": ",".join(f"{share:g}" for share in request.shares), "window_panels": request.panels}
    if request.kind == "hosts":
        made |= {"per_host": True, "n": str(min(request.n, HOST_N))}
    return made


def binding(word: str, host: Host, ranks: int, threads: int) -> str:
    """The CPUs that ranks take in order. "packed" is the program's own way; "spread" deals each rank's threads over the
    NUMA nodes."""
    if word != "spread":
        return "auto"
    usable = set(host.usable_cpus)
    first = {core.cpus[0] for core in host.cpu.cores if core.cpus}
    nodes = [[cpu for cpu in node.cpus if cpu in first and (not usable or cpu in usable)] for node in host.numa]
    dealt = [node[i] for i in range(max(map(len, nodes), default=0)) for node in nodes if i < len(node)]
    return ",".join(map(str, dealt[: ranks * threads])) if len(dealt) >= ranks * threads else "auto"


def resolved(request: Request, machine: Machine, hosts: int) -> Params:
    """The parameters as they are run. Raises BadInput and Unavailable for what cannot be."""
    workload = workloads.get("hpl")
    asked = parameters(request, machine.hosts[0], hosts)
    if hosts == 1 or request.kind == "hosts":
        found = workload.resolve(workloads.check_params(workload, asked, where="tune"), machine)[0]
        return {**found, "ranks": int(found["ranks"]) * hosts}
    # The workload checks one host's share of the system against that host; then come the others.
    share = max(1, int(request.n / hosts**0.5))
    found = workload.resolve(workloads.check_params(workload, {**asked, "n": str(share)}, where="tune"), machine)[0]
    p, q = pair(str(request.point["grid"]))
    return {**found, "n": str(request.n), "ranks": p * q, "p": str(p), "q": str(q)}


def measure(
    directory: RunDirectory,
    machine: Machine,
    door: HostAccess,
    *,
    hosts: int = 1,
    allocation: Allocation | None = None,
    advance: Callable[[float | None, str], None] = lambda fraction, text: None,
) -> Measure:
    """How requests are carried out below a folder. What fails is a trial with its reason."""

    def run(asked: TrialRequest) -> Trial:
        request = asked.request
        try:
            params = resolved(request, machine, hosts)
        except ShakedownError as error:
            return failed(asked, state="unavailable", reason=error.what, cost_s=0.0, begin_ns=door.now_ns())
        step = schedule.Step(
            Run(
                id=request.key.replace(",", "_"),
                workload="hpl",
                params=params,
                label=f"{request.stage}: {words(request.point)}",
                estimate_s=request.estimate_s,
                limit_s=asked.limit_s,
                nodes=hosts if allocation else 0,
            ),
            request.repeat,
        )
        return trial(asked, single.run_once(directory, step, machine, door, advance, allocation=allocation))

    return run


def trial(asked: TrialRequest, record: Measurement) -> Trial:
    """What a measurement says of its request."""
    request = asked.request
    made = msgspec.structs.replace(
        blank(asked),
        state=record.state,
        reason=record.reason,
        params=record.params,
        cost_s=(record.end_ns - record.begin_ns) * 1e-9,
        begin_ns=record.begin_ns,
        phases=_phases(record.cases),
        ceiling=_ceiling(record.cases),
        ran=next((case.params for case in record.cases if case.kernel in ("hpl", "window")), {}),
        disturbed=(record.disturbance.other_cpu_fraction or 0.0) + (record.disturbance.steal_fraction or 0.0),
        residual=next((case.residual for case in record.cases if case.residual is not None), None),
    )
    solved = [case for case in record.cases if case.kernel == "hpl" and case.seconds]
    if request.kind == "windows":
        windows = _windows(record.cases)
        if record.state == "ok" and windows:
            nb = int(request.point["nb"])
            return msgspec.structs.replace(made, windows=windows, seconds=whole_seconds(windows, request.n, nb))
    elif solved and record.state == "ok":
        samples = tuple(second for case in solved for second in case.seconds)
        each = _hosts(solved) if request.kind == "hosts" else {}
        return msgspec.structs.replace(made, samples=samples, seconds=statistics.median(samples), hosts=each)
    if record.state == "ok":
        return msgspec.structs.replace(
            made, state="garbage", reason="the output contains no time of the requested size"
        )
    return made


def _phases(cases: tuple[Case, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for case in cases:
        if case.kernel in SHARES and "value" in case.work:
            found.setdefault(case.kernel, case.work["value"])
    return found


def _ceiling(cases: tuple[Case, ...]) -> float | None:
    for case in cases:
        if case.kernel == "ceiling" and case.seconds and case.work.get("flop"):
            return case.work["flop"] / statistics.median(case.seconds)
    return None


def _windows(cases: tuple[Case, ...]) -> tuple[Window, ...]:
    return tuple(
        Window(
            order=int(case.params["order"]),
            panels=int(case.params["panels"]),
            seconds=statistics.median(case.seconds),
        )
        for case in cases
        if case.kernel == "window" and case.seconds and {"order", "panels"} <= set(case.params)
    )


def _hosts(cases: list[Case]) -> dict[str, float]:
    return {str(case.params["host"]): statistics.median(case.seconds) for case in cases if "host" in case.params}


def largest(
    machine: Machine, hosts: int, *, share: float, limit_s: float, nb: int, grid: tuple[int, int], threads: int
) -> int:
    """N by memory and time for all hosts together. Raises BadInput where not one block fits."""
    host = machine.hosts[0]
    n = hpl.largest_order(host, (nb,), *grid, threads, share=share, limit_s=0, where="tune: n")
    n = int(n * hosts**0.5) // nb * nb
    if limit_s:
        rate = hpl.rate_guess(n, threads, host) * hosts
        n = min(n, int((1.5 * rate * limit_s) ** (1 / 3)) // nb * nb)
    return max(nb, n)


def rounded(n: int, point: Mapping[str, Value]) -> int:
    """n down to whole blocks of the whole grid where that costs less than 1 % of n, else to whole blocks (Intel's rule)."""
    import math

    nb, (p, q) = int(point["nb"]), pair(str(point["grid"]))
    step = nb * math.lcm(p, q)
    if n % step < 0.01 * n:
        return n - n % step
    return n - n % nb if n > nb else n
