"""Values against their limits: the peaks derived from the hardware and those that a native program reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from ..machine.peaks import is_at_measured_clock
from ..records import Finding, Fraction, Limit, Metric, Notice, Params, Peak, Verdict
from ..units import show, show_apart, show_bytes
from . import collective_limits
from .sizes import BELOW_RULE
from .values import is_figure, is_headline, void

#: A measured value this far above a derived peak says that the peak's basis is wrong (a clock above base, mostly).
ABOVE_PEAK = 1.02


def limit_name(template: str, params: Params) -> str:
    """``{level}.bandwidth`` with the case's own level; empty where the case has none."""
    try:
        return template.format(**params)
    except KeyError:
        return ""


def measured_peaks(findings: Iterable[Finding], metrics: Mapping[str, Metric]) -> dict[str, list[Peak]]:
    """By host: the best value of every metric that measures a peak, for each number of threads apart.

    The scope is "core" for one thread and "node" for the most that were used.
    """
    best: dict[tuple[str, str, int], tuple[float, Finding]] = {}
    most: dict[tuple[str, str], int] = defaultdict(int)
    for one in findings:
        metric = metrics[one.metric]
        name = limit_name(metric.measures, one.params) if metric.measures else ""
        if not name or one.value is None or not is_figure(metric, one.params):
            continue
        threads = int(one.params.get("threads", 1))
        most[one.host, name] = max(most[one.host, name], threads)
        key = (one.host, name, threads)
        better = key not in best or (one.value > best[key][0]) == (metric.better != "lower")
        if better:
            best[key] = (one.value, one)
    peaks: dict[str, list[Peak]] = defaultdict(list)
    for (host, name, threads), (value, one) in sorted(best.items()):
        if threads not in (1, most[host, name]):
            continue
        scope = "core" if threads == 1 and most[host, name] > 1 else "node"
        peaks[host].append(
            Peak(
                name=name,
                scope=scope,
                value=value,
                unit=one.unit,
                kind="measured",
                basis=f"{metrics[one.metric].title}, {_circumstance(one.params)}median of {one.n_samples} samples",
                measured_by=one.metric,
            )
        )
    return peaks


def _circumstance(params: Params) -> str:
    """With how many threads, or messages of which size, a peak was measured."""
    if "threads" in params:
        return f"{params['threads']} thread{'s' * (params['threads'] != 1)}, "
    return f"{show_bytes(float(params['bytes']))}, " if "bytes" in params else ""


def fractions(
    finding: Finding, metric: Metric, peaks: Sequence[Peak], metrics: Mapping[str, Metric] | None = None
) -> tuple[Fraction, ...]:
    """The finding as a fraction of each limit that bounds it; never of a peak that its own samples are (``metrics``: all).

    With the threads of the case (on each of its ranks, where it has both) the limit is that many core peaks where there
    are any, and never more than the node's. What ran on GPUs is not bounded by the peak of the cores; what measures nothing
    of its metric has no limit.
    """
    name = limit_name(metric.limit, finding.params) if metric.limit else ""
    if name.startswith(collective_limits.PREFIX):
        return () if void(metric, finding.params) else collective_limits.fractions(finding, peaks)
    if not name or not finding.value or "gpus" in finding.params or void(metric, finding.params):
        return ()
    threads, ranks = finding.params.get("threads"), finding.params.get("ranks")
    if isinstance(threads, int) and isinstance(ranks, int):
        threads *= ranks
    found = []
    by_basis: dict[tuple[str, str], list[Peak]] = defaultdict(list)
    for peak in peaks:
        if peak.name == name and peak.unit == finding.unit and not _itself(metric, peak, metrics or {}):
            by_basis[peak.kind, _clock(peak.basis) if peak.kind == "derived" else ""].append(peak)
    for (kind, _), group in by_basis.items():
        scopes = {peak.scope: peak for peak in group}
        chosen = scopes.get("node") or next(iter(scopes.values()))
        value, basis = chosen.value, chosen.basis
        core = scopes.get("core")
        if core is not None and isinstance(threads, int) and core.value * threads < value:
            value, basis = core.value * threads, f"{threads} x {core.basis}" if threads > 1 else core.basis
        fraction = finding.value / value if finding.better != "lower" else value / finding.value
        found.append(Fraction(limit=name, kind=kind, value=value, fraction=fraction, basis=basis))
    return tuple(found)


def _itself(metric: Metric, peak: Peak, metrics: Mapping[str, Metric]) -> bool:
    """Whether a measured peak is the metric's own best value, or its samples counted otherwise (traffic, bandwidth)."""
    source = metrics.get(peak.measured_by)
    if source is None:
        return peak.measured_by == metric.name
    return source.kernel == metric.kernel and source.name.partition(".")[0] == metric.name.partition(".")[0]


def _clock(basis: str) -> str:
    """The part of a basis that tells derived peaks at different clocks apart."""
    return basis.rpartition(" x ")[2]


def with_fractions(
    findings: Iterable[Finding], metrics: Mapping[str, Metric], peaks: Mapping[str, Sequence[Peak]]
) -> list[Finding]:
    """Every finding with its fractions, and a notice where it is above a derived peak."""
    done = []
    for one in findings:
        got = fractions(one, metrics[one.metric], peaks.get(one.host, ()), metrics)
        notices = one.notices
        above = [part for part in got if part.kind == "derived" and part.fraction > ABOVE_PEAK]
        if above and len(above) == sum(part.kind == "derived" for part in got):
            notices = (
                *notices,
                Notice(
                    code="above-peak",
                    text=f"above its derived peak ({above[0].fraction:.2f} of {show(above[0].value, one.unit)})",
                    advice=f"the peak's basis is too low here: {above[0].basis}",
                ),
            )
        done.append(msgspec.structs.replace(one, fractions=got, notices=notices) if got else one)
    return done


def verdicts(
    limits: Sequence[Limit],
    findings: Sequence[Finding],
    metrics: Mapping[str, Metric],
    peaks: Mapping[str, Sequence[Peak]],
    partial: Mapping[tuple[str, str], str] | None = None,
    to_come: Collection[str] = (),
) -> tuple[Verdict, ...]:
    """Each limit against the findings that it speaks of: met, not met, undecided where the interval straddles it.

    ``partial``: by workload and host, which devices gave no result and why. Of a limit that names no device it is not known
    then whether all would meet it. ``to_come``: the metrics of runs that were not begun; a limit that nothing was measured
    for is undecided where its run may be one of those.

    With several findings (sizes, thread counts) the best counts, of those that give the metric's figure (`Metric.only`); on
    several hosts each must meet it. ``peaks`` is by host, or by the folded list of a job's hosts.
    """
    found = []
    for limit in limits:
        of_metric = [one for one in findings if one.metric == limit.metric]
        spoken = [
            one for one in of_metric if all(one.params.get(name) == value for name, value in limit.params.items())
        ]
        names = sorted({one.host for one in spoken}) or [""]
        for host in names:
            metric = metrics[limit.metric]
            best, why = _counted(limit, metric, [one for one in spoken if one.host == host])
            if not spoken:
                why = _none_spoken(limit, of_metric)
            many = len(peaks) > 1 or len(names) > 1
            verdict = _verdict(limit, metric, host, best, peaks.get(host, ()), many, why)
            if verdict.state == "not measured" and limit.metric in to_come:
                verdict = msgspec.structs.replace(verdict, state="undecided", evidence="a run of it was not begun")
            missing = (partial or {}).get((best.workload, host), "") if best and "index" not in limit.params else ""
            if verdict.state == "met" and missing:
                evidence = f"{verdict.evidence} on the devices that gave a result; {missing}"
                verdict = msgspec.structs.replace(verdict, state="undecided", evidence=evidence)
            found.append(verdict)
    return tuple(found)


def _counted(limit: Limit, metric: Metric, findings: Sequence[Finding]) -> tuple[Finding | None, str]:
    """The finding that a limit is held against, and why it, or its absence, decides nothing; empty where it does.

    A case of a cache never stands where there is one of memory, unless the limit names its level.
    """
    measured = [one for one in findings if one.value is not None]
    real = [one for one in measured if not void(metric, one.params)]
    if measured and not real:
        best = _best(metric, measured)
        return best, void(metric, best.params)
    figures = [one for one in real if is_figure(metric, one.params, limit.params)]
    if real and not figures:
        return None, only_others(metric, real)
    if "level" not in limit.params:
        heads = [one for one in figures if is_headline(metric, one.params)]
        untold = [one for one in figures if not {"level", "bytes"} & one.params.keys()]
        if figures and not heads and not untold:
            return None, _no_memory(figures)
        figures = heads or untold
    return (_best(metric, figures), "") if figures else (None, "")


def _no_memory(figures: Sequence[Finding]) -> str:
    """That there are values, and none is one of memory."""
    below = next((notice for one in figures for notice in one.notices if notice.code == BELOW_RULE), None)
    if below is not None:
        return f"{below.text}; {below.advice}"
    levels = ", ".join(dict.fromkeys(str(one.params.get("level", "between two levels")) for one in figures))
    first = next((str(one.params["level"]) for one in figures if "level" in one.params), "l3")
    return (
        f"the limit is one of memory, and only {levels} was measured; to judge a cache, name its level in the limit: "
        f'params = {{ level = "{first}" }}'
    )


def _none_spoken(limit: Limit, of_metric: Sequence[Finding]) -> str:
    """Why no value is one that the limit speaks of, where there are others of its metric; empty where there is none."""
    wanted = {name: value for name, value in limit.params.items() if name != "level"}
    near = [one for one in of_metric if all(one.params.get(name) == value for name, value in wanted.items())]
    if "level" in limit.params and near:
        below = next((notice for one in near for notice in one.notices if notice.code == BELOW_RULE), None)
        if below is not None and limit.params["level"] == "memory":
            return f"{below.text}; {below.advice}"
    if of_metric:
        return f"no value was measured with {', '.join(f'{name} {value}' for name, value in limit.params.items())}"
    return ""


def _best(metric: Metric, findings: Sequence[Finding]) -> Finding:
    return (min if metric.better == "lower" else max)(findings, key=lambda one: one.value or 0.0)


def only_others(metric: Metric, real: Sequence[Finding]) -> str:
    """That there are values, and none is the metric's figure."""
    name, wanted = next(
        (name, one.value)
        for name, one in metric.only.items()
        if all(other.params.get(name, one.value) != one.value for other in real)
    )
    there = list(dict.fromkeys(str(one.params[name]) for one in real))
    return (
        f"the limit is judged by cases with {name} {wanted}, and only {name} {', '.join(there)} was measured; to judge "
        f'that, name it in the limit: params = {{ {name} = "{there[0]}" }}'
    )


def _verdict(
    limit: Limit, metric: Metric, host: str, best: Finding | None, peaks: Sequence[Peak], many: bool, why: str = ""
) -> Verdict:
    """``why``: the reason for which the finding, or its absence, decides nothing."""
    bound_text = []
    bounds: list[tuple[float, bool]] = []  # value in SI, whether it is a lower bound
    missing = ""
    for given, is_least in ((limit.at_least, True), (limit.at_most, False)):
        if given is None:
            continue
        word = "at least" if is_least else "at most"
        if not limit.of:
            bounds.append((given, is_least))
            against = [best.value] if best is not None and best.value is not None else []
            bound_text.append(f"{word} {_apart(given, metric.unit, against)}")
            continue
        peak = peak_meant(limit.of, peaks)
        bound_text.append(f"{word} {100 * given:g} % of {limit.of}" + (_which(peak, peaks) if peak else ""))
        if peak is None:
            missing = f"the peak {limit.of} is not known on this machine"
        elif peak.kind == "measured":
            missing = only_measured(limit.of)
        else:
            bounds.append((given * peak.value, is_least))
    requirement = f"{metric.title}: {' and '.join(bound_text)}" + (f" on {host}" if many and host else "")
    if limit.source:
        requirement += f" [{limit.source}]"
    if best is None or best.value is None:
        return Verdict(requirement=requirement, state="not measured", evidence=why or "no run of it ended successfully")
    shown = _apart(best.value, best.unit, [bound for bound, _ in bounds])
    if missing and not why:
        evidence = f"measured {shown}, but {missing}"
        return Verdict(requirement=requirement, state="undecided", evidence=evidence, finding=best)
    if best.low is not None and best.high is not None:
        ends = (_apart(end, best.unit, [bound for bound, _ in bounds]) for end in (best.low, best.high))
        shown += f" [{', '.join(ends)}]"
    if why:
        return Verdict(requirement=requirement, state="undecided", evidence=f"measured {shown}, {why}", finding=best)
    low, high = (best.value if end is None else end for end in (best.low, best.high))
    sure = all(low >= bound if is_least else high <= bound for bound, is_least in bounds)
    broken = any(high < bound if is_least else low > bound for bound, is_least in bounds)
    return Verdict(
        requirement=requirement,
        state="met" if sure else "not met" if broken else "undecided",
        evidence=f"measured {shown}",
        finding=best,
    )


def only_measured(peak: str) -> str:
    """Why a limit of a peak that was only measured decides nothing."""
    return (
        f"the theoretical {peak} of this machine is not known, and a measurement is not judged by itself: give the limit as "
        "a value with its unit"
    )


def _apart(value: float, unit: str, others: Sequence[float]) -> str:
    """The value with as many digits as tell it from the others: a bound from what is held against it."""
    return max((show_apart(value, other, unit)[0] for other in others), key=len, default=show(value, unit))


def _which(meant: Peak, peaks: Sequence[Peak]) -> str:
    """Which peak is meant, and why not another of the name that is known: `` (272 Gflop/s, derived; ...)``."""
    words = f"{show(meant.value, meant.unit)}, {meant.kind}"
    others = [peak for peak in peaks if (peak.name, peak.scope) == (meant.name, meant.scope) and peak is not meant]
    for other in others:
        value = show(other.value, other.unit)
        if other.kind == "measured" and meant.kind != "measured":
            words += f"; not the {value} that was measured here: a measurement is not judged by itself"
        elif is_at_measured_clock(other.basis) and not is_at_measured_clock(meant.basis):
            words += f" at the base clock; it would be {value} at the clock that was measured"
    if meant.kind == "measured":
        words = f"known only as measured here: {show(meant.value, meant.unit)}"
    return f" ({words})"


def peak_meant(name: str, peaks: Sequence[Peak]) -> Peak | None:
    """The peak that a limit means: the node's, derived where it can be, else measured."""
    fitting = [peak for peak in peaks if peak.name == name]
    order = {"derived": 0, "stated": 1, "measured": 2}
    return min(fitting, key=lambda peak: (peak.scope != "node", order[peak.kind]), default=None)
