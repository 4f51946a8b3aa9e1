"""Warnings with the step that mends them: what disturbed a run, and what weakens a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import workloads
from ..records import Disturbance, Finding, Metric, Notice
from .values import void

STEAL = 0.01  # of all CPU time, taken by the hypervisor
OTHER = 0.05  # of all CPU time, used by other processes
LOAD_PER_CPU = 0.25  # before the run began
FEW_SAMPLES = 5
WIDE = 0.05  # half the interval over the value


def disturbed(what: Disturbance, cpus: int) -> Iterator[Notice]:
    """What else the machine did while a run was under way, with advice."""
    quiet = what.other_cpu_fraction is not None and what.other_cpu_fraction <= OTHER
    # the load average still holds our own run before this one: it counts only where something else really ran
    if what.load_before is not None and what.load_before > LOAD_PER_CPU * max(cpus, 1) and not quiet:
        yield Notice(
            code="load",
            text=f"the load average was {what.load_before:.2f} before the run",
            advice="end other work, or ask the scheduler for the whole node",
        )
    if what.steal_fraction is not None and what.steal_fraction > STEAL:
        yield Notice(
            code="steal",
            text=f"the hypervisor took {what.steal_fraction:.1%} of the CPU time",
            advice="measure on the bare machine, or with dedicated cores",
        )
    if what.other_cpu_fraction is not None and what.other_cpu_fraction > OTHER:
        yield Notice(
            code="other-work",
            text=f"other processes used {what.other_cpu_fraction:.1%} of the CPU time",
            advice="end them; look with: top -b -n1 | head -20",
        )
    if what.throttle_events:
        yield Notice(
            code="throttling",
            text=f"{what.throttle_events} thermal throttling events",
            advice="check cooling and fans; repeat when the machine is cool",
        )
    if what.swap_pages:
        yield Notice(
            code="swap",
            text=f"{what.swap_pages} pages were swapped",
            advice="use smaller arrays, or switch swap off",
        )


#: The notice of a value that is no figure of what its metric measures.
NO_FIGURE = "no-figure"


def stands_in(finding: Finding, metric: Metric) -> tuple[Notice, ...]:
    """That a value measures nothing of its metric, and why."""
    why = void(metric, finding.params)
    if not why:
        return ()
    advice = "it decides nothing: run it again as it is meant to count"
    return (Notice(code=NO_FIGURE, text=why, advice=advice),)


def stand_ins(findings: Sequence[Finding]) -> tuple[Notice, ...]:
    """One notice for each reason for which values measure nothing of their metrics, with the workloads that gave them."""
    names: dict[Notice, dict[str, None]] = {}
    for finding in findings:
        for notice in finding.notices:
            if notice.code == NO_FIGURE:
                names.setdefault(notice, {})[finding.workload] = None
    return tuple(
        Notice(code=NO_FIGURE, text=f"{', '.join(of)}: {notice.text}", advice=notice.advice)
        for notice, of in names.items()
    )


def _more_samples(workload: str) -> str:
    """How to ask this workload for more: not every one has a parameter for it."""
    params = workloads.get(workload).params if workload in workloads.names() else {}
    if "samples" in params:
        return "ask for more: params = { samples = 20 } or repeat = { min = 5 }"
    return "ask for more: repeat = { min = 5, max = 5 }"


def weak(finding: Finding) -> Iterator[Notice]:
    """What makes a value less sure than it looks."""
    if finding.value is None:
        return
    if 0 < finding.n_samples < FEW_SAMPLES and finding.n_runs < FEW_SAMPLES:  # 0: computed, as a bound is
        yield Notice(
            code="few-samples",
            text=f"only {finding.n_samples} sample{'s' * (finding.n_samples != 1)}",
            advice=_more_samples(finding.workload),
        )
    if finding.low is not None and finding.high is not None and finding.value:
        width = (finding.high - finding.low) / 2 / abs(finding.value)
        if width > WIDE:
            yield Notice(
                code="wide",
                text=f"give or take {width:.0%}",
                advice="repeat it on a quiet machine; pin the clock and the processes",
            )


def common(groups: Sequence[tuple[Notice, ...]]) -> tuple[Notice, ...]:
    """The notices of many runs, by code in the words of the first run that has it, with how many runs they touch."""
    first: dict[str, list[Notice]] = {}
    count: dict[str, int] = {}
    for group in groups:
        by_code: dict[str, list[Notice]] = {}
        for one in group:
            by_code.setdefault(one.code, []).append(one)
        for code, notices in by_code.items():
            first.setdefault(code, notices)
            count[code] = count.get(code, 0) + 1
    return tuple(
        one
        if count[code] == 1
        else Notice(code=code, text=f"{one.text}; {count[code]} of {len(groups)} runs", advice=one.advice)
        for code, notices in first.items()
        for one in notices
    )
