"""What run directories of our own programs bring to a forecast: runs to calibrate with, and ranges that were measured.

hpl, cases `hpl`                  rows: N, grid, rate, exactly as they were run
hpl, cases `ceiling`              the DGEMM rate of a rank at k = NB, all ranks at once
hpl, shares `solve rows panel`    the rates of these, by the work that the model counts for them
hpl, cases `hpl` with `host`      one system a host (verify mode): the spread of the speed of nodes
pingpong                          latency and bandwidth of a message, within a node and between nodes
hpl_probe                         what none of these brought, and bandwidths under load (probed.py)
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from ..errors import BadInput
from ..records import Case, Measurement, Record
from ..results.run_directory import RunDirectory
from . import probed
from .files import run_as
from .inputs import Config, Rates, netlib
from .model import arrays, evaluate
from .priors import Prior, known
from .setup import Row, RunAs, check_ranks, on_gpus

_LARGE_BYTES = 1 << 20


class Measured(Record, frozen=True, kw_only=True):
    """``run`` is how the largest run was made; ``memory_bytes`` is that of the smallest node; ``said`` names the runs of
    HPL that do not count, and why."""

    rows: tuple[Row, ...]
    run: RunAs
    priors: dict[str, Prior]
    memory_bytes: int | None = None
    said: tuple[str, ...] = ()


def from_runs(paths: Iterable[Path], *, ranks_per_node: int = 0) -> Measured:
    """Read run directories. ``ranks_per_node`` holds for runs that do not say on how many nodes they were made (0: not
    given). Raises BadInput where no run of ``hpl`` in them was whole, StoreFailed for unreadable ones."""
    measurements: list[Measurement] = []
    memory: list[int] = []
    for path in paths:
        opened = RunDirectory.open(path)
        measurements += opened.load().measurements
        for host in opened.machine().hosts:
            memory += [one for one in (host.memory.total_bytes, host.memory.limit_bytes) if one]
    return from_measurements(measurements, memory_bytes=min(memory, default=None), ranks_per_node=ranks_per_node)


def from_measurements(
    measurements: Sequence[Measurement], *, memory_bytes: int | None = None, ranks_per_node: int = 0
) -> Measured:
    """The same from measurements that were read; those that are not "ok" do not count. Raises BadInput."""
    whole = [one for one in measurements if one.state == "ok"]
    runs = [(case, one) for one in whole for case in one.cases if _is_run(case)]
    pairs = [(_row(case, one, ranks_per_node), one) for case, one in runs if not _on_gpus(case, one, ranks_per_node)]
    if not pairs:
        if runs:
            raise BadInput(
                "there is no run of hpl on processors: all of these were made on GPUs",
                where="run directories",
                hint='describe such a machine with --model FILE: counts = "gpus", its runs as [[measured]]',
            )
        raise BadInput(
            "there is no run of hpl that ended successfully",
            where="run directories",
            hint="measure one, two and four nodes with the workload hpl, or describe the machine with --model FILE",
        )
    pairs.sort(key=lambda pair: (pair[0].count, pair[0].n))
    largest, its = pairs[-1]
    assert largest.config is not None
    probes = probed.cases_of(whole)
    priors = {
        **probed.compute(probes, nb=largest.config.nb, threads=largest.config.threads),
        **_dgemm(pairs, largest.config.nb),
        **_spread(whole),
        **_messages(whole),
        **probed.network(probes),
    }
    if "dgemm" in priors:
        priors |= _shares(its, largest, priors["dgemm"])
    return Measured(
        rows=merged([row for row, _ in pairs]),
        run=run_as(largest.config),
        priors=priors,
        memory_bytes=memory_bytes,
        said=_not_counted(measurements, ranks_per_node),
    )


def _not_counted(measurements: Sequence[Measurement], ranks_per_node: int) -> tuple[str, ...]:
    """A sentence for the runs of HPL on GPUs, and one for those that did not end well: which, and why they do not count."""
    gpus, others = [], []
    for one in measurements:
        if one.workload not in _HPL:
            continue
        if one.state != "ok":
            others.append(f"{one.run} ({one.workload}: {one.state})")
        elif found := [case for case in one.cases if _is_run(case) and _on_gpus(case, one, ranks_per_node)]:
            sizes = ", ".join(dict.fromkeys(f"N {case.params['n']}" for case in found))
            gpus.append(f"{one.run} ({one.workload}, {sizes})")
    said = []
    if gpus:
        said.append(
            f"{_counted(gpus)} on GPUs and not counted: {_listed(gpus)}. The forecast is that of nodes of processors; for "
            'one of the GPUs describe them with --model FILE (counts = "gpus", the runs as [[measured]]).'
        )
    if others:
        said.append(f"{_counted(others)} not counted, for they did not end well: {_listed(others)}.")
    return tuple(said)


_HPL = ("hpl", "hpl_gpu", "xhpl")
_MOST_NAMED = 6


def _counted(names: Sequence[str]) -> str:
    return "1 run of HPL was" if len(names) == 1 else f"{len(names)} runs of HPL were"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def merged(rows: Sequence[Row]) -> tuple[Row, ...]:
    """One row for runs of one configuration, with their median rate: repeats do not weigh more than others."""
    groups: dict[tuple[int, Config | None], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.count, row.config), []).append(row)
    return tuple(
        msgspec.structs.replace(same[0], rate=statistics.median(row.rate or 0.0 for row in same))
        for same in groups.values()
    )


def _is_run(case: Case) -> bool:
    return case.kernel == "hpl" and "host" not in case.params and {"n", "nb", "p", "q"} <= set(case.params)


def _on_gpus(case: Case, one: Measurement, ranks_per_node: int) -> bool:
    """Whether a run was made on GPUs: the model of these rows is that of processors."""
    if one.workload == "hpl_gpu" or case.params.get("gpus"):
        return True
    rate = case.work["flop"] / statistics.median(case.seconds)
    return on_gpus(rate, nodes_of(case, one, ranks_per_node) or int(case.params["p"]) * int(case.params["q"]))


def _row(case: Case, one: Measurement, ranks_per_node: int) -> Row:
    """A run as a row. Raises BadInput for parameters that are none of HPL's, and where its nodes are not known."""
    nodes = nodes_of(case, one, ranks_per_node)
    params = {name: value for name, value in case.params.items() if name in Config.__struct_fields__}
    p, q = int(case.params["p"]), int(case.params["q"])
    if nodes is None:
        raise BadInput(
            f"this run of {one.workload} on a grid of {p} x {q} does not say on how many nodes it was made",
            where=f"run {one.run}",
            hint="say how many ranks ran on a node: --ranks-per-node 2 (or in the file of --model)",
        )
    try:
        config = msgspec.convert({**params, "ranks_per_node": math.ceil(p * q / nodes)}, Config, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"a case of hpl cannot be read: {error}", where=f"run {one.run}", hint="measure it again"
        ) from None
    if one.workload == "xhpl":  # a site's own HPL
        config = netlib(config)
    check_ranks(config.p * config.q, f"run {one.run}")
    rate = case.work["flop"] / statistics.median(case.seconds)
    return Row(count=nodes, n=config.n, p=p, q=q, rate=rate, where=f"run {one.run}", config=config)


def nodes_of(case: Case, one: Measurement, ranks_per_node: int = 0) -> int | None:
    """Nodes that a run of HPL was made on; None where nothing tells.

    The distinct hosts among its ranks, where the program tells them (the fact ``grid``). A site's HPL tells none: of one
    that the harness started with so many ``ranks`` it is known over how many hosts these were laid, one host after the
    other, and the grid has the first P x Q of them. A log that was imported, and a script that starts its own ranks
    (``ranks = 0``), leave it open: there ``ranks_per_node`` says it, where it is given.
    """
    facts = one.provenance.get("facts")
    places = facts.get("grid") if isinstance(facts, dict) else None
    if isinstance(places, list):
        hosts = {place["host"] for place in places if isinstance(place, dict) and "host" in place}
        if hosts:
            return len(hosts)
    used = int(case.params["p"]) * int(case.params["q"])
    started, asked = one.params.get("ranks"), case.params.get("nodes", 1)
    if isinstance(started, int) and started >= used and isinstance(asked, int):
        return math.ceil(used / math.ceil(started / max(1, asked)))
    return math.ceil(used / ranks_per_node) if ranks_per_node else None


# ------------------------------------------------------------------------------------------------------ measured ranges


def _dgemm(pairs: Sequence[tuple[Row, Measurement]], nb: int) -> dict[str, Prior]:
    """From the fewest nodes, where the slowest of them matters least, and there from the largest run."""
    for row, one in sorted(pairs, key=lambda pair: (pair[0].count, -pair[0].n)):
        for case in one.cases:
            if case.kernel == "ceiling" and case.seconds and row.config and _belongs(case, row.config):
                if case.params.get("nb", nb) != nb:
                    continue
                rate = case.work["flop"] / statistics.median(case.seconds) / row.ranks
                return {"dgemm": known("dgemm", (rate,), 1.02, f"run {one.run}: DGEMM with k = NB, all ranks at once")}
    return {}


def _shares(one: Measurement, row: Row, dgemm: Prior) -> dict[str, Prior]:
    """Rates from the shares of the run's time: the work that the model counts, over the seconds that were spent."""
    assert row.config is not None and row.rate is not None
    shares = {case.kernel: case.work.get("value", 0.0) for case in one.cases if _belongs(case, row.config)}
    rate = math.sqrt(dgemm.low * dgemm.high)
    unit = arrays(Rates(dgemm=((row.config.nb, rate),), panel=rate, trsm=rate, rows=1.0), row.config.nb)
    model = evaluate(row.config, unit)
    time_s = _time_s(one, row.config)
    priors = {}
    for kernel, name, factor in (("panel", "panel", 1.5), ("solve", "trsm", 1.3), ("rows", "rows", 1.5)):
        spent = shares.get(kernel, 0.0) * time_s
        if spent > 0:
            source = f"run {one.run}: share of the time, {shares[kernel]:.1%}"
            priors[name] = known(name, (float(model.parts[kernel][0]) / spent,), factor, source)
    return priors


def _belongs(case: Case, config: Config) -> bool:
    """Whether a case speaks of the run of that configuration."""
    return all(
        case.params.get(name, value) == value for name, value in (("n", config.n), ("p", config.p), ("q", config.q))
    )


def _time_s(one: Measurement, config: Config) -> float:
    return statistics.median(
        second for case in one.cases if _is_run(case) and _belongs(case, config) for second in case.seconds
    )


def _spread(measurements: Sequence[Measurement]) -> dict[str, Prior]:
    """The relative standard deviation of the rates of hosts that solved a system each; four hosts at least."""
    rates: dict[str, list[float]] = {}
    for one in measurements:
        for case in one.cases:
            if case.kernel == "hpl" and "host" in case.params and case.seconds:
                host = str(case.params["host"])
                rates.setdefault(host, []).append(case.work["flop"] / statistics.median(case.seconds))
    if len(rates) < 4:
        return {}
    each = np.array([statistics.median(values) for values in rates.values()])
    spread = max(float(each.std(ddof=1) / each.mean()), 0.001)
    return {"spread": known("spread", (spread,), 1.4, f"{len(rates)} hosts, each with a system of its own")}


def _messages(measurements: Sequence[Measurement]) -> dict[str, Prior]:
    """Latency of the least and bandwidth of the largest messages, alone: half of it may be left under load."""
    found: dict[str, Prior] = {}
    cases = [case for one in measurements if one.workload == "pingpong" for case in one.cases if case.seconds]
    for where, same in (("on", True), ("off", False)):
        here = [case for case in cases if (case.params.get("host_a") == case.params.get("host_b")) == same]
        small = [case for case in here if case.kernel == "latency" and int(case.params.get("bytes", 0)) <= 8]
        large = [
            case for case in here if case.kernel == "bandwidth" and int(case.params.get("bytes", 0)) >= _LARGE_BYTES
        ]
        if small:
            value = statistics.median(statistics.median(case.seconds) / case.work["messages"] for case in small)
            name = f"latency_{where}_s"
            found[name] = known(name, (value,), 1.5, "pingpong, messages of 8 bytes at most")
        if large:
            value = statistics.median(case.work["bytes"] / statistics.median(case.seconds) for case in large)
            name = f"stream_{where}"
            source = "pingpong, messages of 1 MiB or more: all of it or half under load"
            found[name] = known(name, (value / 2, value), 1.0, source)
            if not same:
                source = "pingpong: a node carries one to four such messages at once"
                found["node_off"] = known("node_off", (value / 2, value * 4), 1.0, source)
    return found
