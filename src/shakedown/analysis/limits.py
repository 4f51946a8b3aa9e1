"""Values against their limits: the peaks derived from the hardware and those that a native program reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..records import Finding, Fraction, Limit, Metric, Notice, Params, Peak, Verdict
from ..units import show, show_bytes
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
            )
        )
    return peaks


def _circumstance(params: Params) -> str:
    """With how many threads, or messages of which size, a peak was measured."""
    if "threads" in params:
        return f"{params['threads']} thread{'s' * (params['threads'] != 1)}, "
    return f"{show_bytes(float(params['bytes']))}, " if "bytes" in params else ""


def fractions(finding: Finding, metric: Metric, peaks: Sequence[Peak]) -> tuple[Fraction, ...]:
    """The finding as a fraction of each limit that bounds it.

    With the threads of the case (on each of its ranks, where it has both) the limit is that many core peaks where there
    are any, and never more than the node's. What ran on GPUs is not bounded by the peak of the cores; what measures nothing
    of its metric has no limit.
    """
    name = limit_name(metric.limit, finding.params) if metric.limit else ""
    if not name or not finding.value or "gpus" in finding.params or void(metric, finding.params):
        return ()
    threads, ranks = finding.params.get("threads"), finding.params.get("ranks")
    if isinstance(threads, int) and isinstance(ranks, int):
        threads *= ranks
    found = []
    by_basis: dict[tuple[str, str], list[Peak]] = defaultdict(list)
    for peak in peaks:
        if peak.name == name and peak.unit == finding.unit:
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


def _clock(basis: str) -> str:
    """The part of a basis that tells derived peaks at different clocks apart."""
    return basis.rpartition(" x ")[2]


def with_fractions(
    findings: Iterable[Finding], metrics: Mapping[str, Metric], peaks: Mapping[str, Sequence[Peak]]
) -> list[Finding]:
    """Every finding with its fractions, and a notice where it is above a derived peak."""
    done = []
    for one in findings:
        got = fractions(one, metrics[one.metric], peaks.get(one.host, ()))
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
) -> tuple[Verdict, ...]:
    """Each limit against the findings that it speaks of: met, not met, undecided where the interval straddles it.

    ``partial``: by workload and host, which devices gave no result and why. Of a limit that names no device it is not known
    then whether all would meet it.

    With several findings (sizes, thread counts) the best counts, of those that give the metric's figure (`Metric.only`); on
    several hosts each must meet it. ``peaks`` is by host, or by the folded list of a job's hosts.
    """
    found = []
    for limit in limits:
        spoken = [
            one
            for one in findings
            if one.metric == limit.metric and all(one.params.get(name) == value for name, value in limit.params.items())
        ]
        names = sorted({one.host for one in spoken}) or [""]
        for host in names:
            metric = metrics[limit.metric]
            best, why = _counted(limit, metric, [one for one in spoken if one.host == host])
            many = len(peaks) > 1 or len(names) > 1
            verdict = _verdict(limit, metric, host, best, peaks.get(host, ()), many, why)
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
        figures = [one for one in figures if is_headline(metric, one.params)] or figures
    return (_best(metric, figures), "") if figures else (None, "")


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
        f"its figure is that of {name} {wanted}, and only {name} {', '.join(there)} was measured; a limit that is meant for "
        f'that names it: params = {{ {name} = "{there[0]}" }}'
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
            bound_text.append(f"{word} {show(given, metric.unit)}")
            continue
        peak = peak_meant(limit.of, peaks)
        bound_text.append(
            f"{word} {given:.0%} of {limit.of}" + (f" ({show(peak.value, peak.unit)}, {peak.kind})" if peak else "")
        )
        if peak is None:
            missing = f"the peak {limit.of} is not known on this machine"
        else:
            bounds.append((given * peak.value, is_least))
    requirement = f"{metric.title}: {' and '.join(bound_text)}" + (f" on {host}" if many and host else "")
    if limit.source:
        requirement += f" [{limit.source}]"
    if best is None or best.value is None:
        return Verdict(requirement=requirement, state="not measured", evidence=why or "no run of it ended well")
    if missing and not why:
        return Verdict(requirement=requirement, state="undecided", evidence=missing, finding=best)
    shown = show(best.value, best.unit)
    if best.low is not None and best.high is not None:
        shown += f" [{show(best.low, best.unit)}, {show(best.high, best.unit)}]"
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


def peak_meant(name: str, peaks: Sequence[Peak]) -> Peak | None:
    """The peak that a limit means: the node's, derived where it can be, else measured."""
    fitting = [peak for peak in peaks if peak.name == name]
    order = {"derived": 0, "stated": 1, "measured": 2}
    return min(fitting, key=lambda peak: (peak.scope != "node", order[peak.kind]), default=None)
