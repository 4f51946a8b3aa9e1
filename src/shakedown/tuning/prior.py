"""What a run should take before it was run: the model of ``prediction`` with rates learnt from what was.

``Rates`` can come from three sources, each over the one before:

1. rules of thumb (below), from the derived peak of the cores;
2. the trials: the share of the thread-seconds that the update, the panel and the solve took, with their operations;
3. cases of kernel and network probes (``from_probes``), where such a program has run.

The model only ranks configurations that were not run yet; every measured one corrects it (surrogate.py), so a rate that
is off by half costs a few runs, not the result.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from ..launchers.mpirun import cores
from ..prediction import Config, Rates, seconds
from ..records import Case, Host, Value
from .history import Learn, Predict
from .records import Point, Trial
from .space import pair

#: DGEMM's rate by k over that at 384: one thread, OpenBLAS with AVX-512, m = n = 4000, measured.
CURVE = {32: 0.65, 64: 0.83, 96: 0.90, 128: 0.928, 192: 0.971, 256: 0.988, 384: 1.0, 512: 1.0, 1024: 0.99}
_THREAD_RATE = 2e10  # flop/s, where the peak is not known
_DGEMM_SHARE = 0.9  # of the derived peak
_PANEL, _TRSM = 0.25, 0.5  # of the DGEMM rate of a thread
_PANEL_SCALING = 0.6  # a panel on T threads is T to this power faster than on one
_TRSM_WAY = "recursive"  # the program's default
_LARGE_BYTES = 1 << 20  # of the messages that panels and rows are sent in
_ROWS = 1.5e8  # elements/s that one thread moves: 6 ns each
_COLUMN_S = 2e-6  # of each column of a panel: search and barriers
_ON_NODE = (1e-6, 5e9, 2e10)  # latency in s; B/s of one message and of all together
_OFF_NODE = {"infiniband": (2e-6, 1e10), "omnipath": (2e-6, 1e10), "ethernet": (2e-5, 1.1e9)}


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one thread in flop/s (``dgemm`` at k = 384), from which those of a rank follow."""

    dgemm: float
    panel: float
    trsm: float
    rows: float = _ROWS
    curve: tuple[tuple[int, float], ...] = tuple(CURVE.items())
    network: Mapping[str, float] = {}


def base(host: Host) -> Base:
    """Rules of thumb for a host."""
    peaks = [peak.value for peak in host.peaks if peak.name == "flops.fp64" and peak.scope == "node"]
    thread = _DGEMM_SHARE * max(peaks) / cores(host) if peaks else _THREAD_RATE
    return Base(dgemm=thread, panel=_PANEL * thread, trsm=_TRSM * thread, network=_network(host))


def _network(host: Host) -> dict[str, float]:
    """Of the fastest interface that is up; a rate that is not known is the kind's own guess."""
    latency_s, stream = _OFF_NODE["ethernet"]
    for one in host.networks:
        if one.kind in _OFF_NODE and one.state.lower() in ("up", "active"):
            found_s, guess = _OFF_NODE[one.kind]
            rate = 0.9 * one.rate_bit_s / 8 if one.rate_bit_s else guess
            if rate > stream:
                latency_s, stream = found_s, rate
    return {"latency_off_s": latency_s, "stream_off": stream, "node_off": stream}


def rates(found: Base, threads: int) -> Rates:
    """The rates of a rank of so many threads."""
    latency_s, stream, node = _ON_NODE
    made = Rates(
        dgemm=tuple((k, found.dgemm * share * threads) for k, share in found.curve),
        panel=found.panel * threads**_PANEL_SCALING,
        trsm=found.trsm * threads,
        rows=found.rows * threads,
        back=2e9 * threads,
        column_s=_COLUMN_S * (1 + threads**0.5),
        latency_on_s=latency_s,
        stream_on=stream,
        node_on=node,
    )
    return msgspec.structs.replace(made, **found.network)


def learn(found: Base, hosts: int) -> Learn:
    """What the model says after trials; ``found`` is what it says before."""

    def learnt(trials: Sequence[Trial]) -> Predict:
        mended = from_trials(found, trials)
        known: dict[tuple[object, ...], float] = {}

        def predict(point: Point, n: int) -> float:
            key = (
                n,
                *(point.get(name) for name in ("layout", "grid", "nb", "mapping", "depth", "bcast", "swap", "split")),
            )
            if key not in known:
                known[key] = seconds(config(point, n), rates(mended, pair(str(point["layout"]))[1])).time_s
            return known[key]

        return predict

    return learnt


def config(point: Point, n: int) -> Config:
    """The model's configuration for a point; what the program chooses by itself ("auto") is the model's default."""
    p, q = pair(str(point["grid"]))
    ranks, threads = pair(str(point["layout"]))
    made: dict[str, Value] = {
        "n": n,
        "nb": int(point["nb"]),
        "p": p,
        "q": q,
        "ranks_per_node": ranks,
        "threads": threads,
    }
    for name in ("mapping", "depth", "bcast", "swap", "split", "segment_bytes"):
        if point.get(name, "auto") != "auto":
            made[name] = point[name]
    return msgspec.convert(made, Config, strict=False)


def from_trials(found: Base, trials: Sequence[Trial]) -> Base:
    """``found`` with the rates that whole runs show: operations of a phase over its thread-seconds; medians."""
    dgemm: list[float] = []
    panel: list[float] = []
    trsm: list[float] = []
    curve = dict(found.curve)
    for trial in trials:
        if not (trial.ok and trial.kind == "whole" and trial.seconds and trial.phases):
            continue
        p, q = pair(str(trial.point["grid"]))
        nb, n = int(trial.point["nb"]), trial.n
        thread_s = trial.seconds * p * q * pair(str(trial.point["layout"]))[1]
        for work, name, into in (
            (2 / 3 * n**3 / _at(curve, nb), "update", dgemm),
            (nb * n**2 / 2, "panel", panel),
            (nb * p * n**2 / 2, "solve", trsm),  # every process row solves the same triangle for its columns
        ):
            if trial.phases.get(name, 0.0) > 0:
                into.append(work / (trial.phases[name] * thread_s))
    return msgspec.structs.replace(
        found,
        dgemm=statistics.median(dgemm) if dgemm else found.dgemm,
        panel=statistics.median(panel) if panel else found.panel,
        trsm=statistics.median(trsm) if trsm else found.trsm,
    )


def _at(curve: Mapping[int, float], k: int) -> float:
    nearest = min(curve, key=lambda one: abs(one - k))
    return curve[nearest]


def _threads(case: Case) -> float:
    return float(case.params.get("threads", 1))


def from_probes(found: Base, cases: Sequence[Case]) -> Base:
    """``found`` with the rates that probes measured.

    ``probe.gemm`` (params ``k``, ``threads``; work ``flop``), ``probe.solve`` (``trsm``, ``threads``; ``flop``),
    ``probe.panel`` (``threads``; ``flop``), ``probe.rows`` (``threads``; ``elements``), ``probe.ring`` (``scope`` on or off,
    ``contended`` 0 or 1, ``senders`` of a host; ``bytes`` that a rank sends), ``probe.latency`` (``messages``). Of several
    cases the median counts; threads share the rate evenly, but a panel's as ``rates`` takes it.
    """

    def each(kernel: str, work: str, **wanted: object) -> list[tuple[Case, float]]:
        return [
            (case, case.work[work] / statistics.median(case.seconds) / _threads(case))
            for case in cases
            if case.kernel == kernel and case.seconds and work in case.work
            if all(case.params.get(name) == value for name, value in wanted.items())
        ]

    changes: dict[str, object] = {}
    by_k: dict[int, list[float]] = {}
    for case, rate in each("probe.gemm", "flop"):
        if "k" in case.params:
            by_k.setdefault(int(case.params["k"]), []).append(rate)
    if by_k:
        best = max(statistics.median(values) for values in by_k.values())
        changes["dgemm"] = best
        changes["curve"] = tuple((k, statistics.median(values) / best) for k, values in sorted(by_k.items()))
    for name, found_rates in (
        (
            "trsm",
            [rate for case, rate in each("probe.solve", "flop") if case.params.get("trsm", _TRSM_WAY) == _TRSM_WAY],
        ),
        ("panel", [rate * _threads(case) ** (1 - _PANEL_SCALING) for case, rate in each("probe.panel", "flop")]),
        ("rows", [rate for _, rate in each("probe.rows", "elements")]),
    ):
        if found_rates:
            changes[name] = statistics.median(found_rates)
    network = dict(found.network)
    for scope in ("on", "off"):
        for name, contended in ((f"stream_{scope}", 0), (f"node_{scope}", 1)):
            large = [
                rate * int(case.params.get("senders", 1))
                for case, rate in each("probe.ring", "bytes", scope=scope, contended=contended)
                if int(case.params.get("bytes", _LARGE_BYTES)) >= _LARGE_BYTES
            ]
            if large:
                network[name] = statistics.median(large)
        if times := [1 / rate for _, rate in each("probe.latency", "messages", scope=scope)]:
            network[f"latency_{scope}_s"] = statistics.median(times)
    return msgspec.structs.replace(found, **changes, network=network)
