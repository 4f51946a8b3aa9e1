"""The verdict in a paragraph: what was asked and reached, why not, whether it counts, the best values. All of it is pure."""

from __future__ import annotations

import collections
import re

from ..records import SCORED, Analysis, Finding, Plan, Verdict
from ..units import show
from . import advice, causes, published_comparison, values

MOST_CAUSES = 3  # named in a sentence; the table has all


def summarise(analysis: Analysis, plan: Plan) -> tuple[str, ...]:
    """The verdict in a paragraph, one sentence each: the limits first, then the values, the hosts that are slow, and
    what was not measured."""
    sentences = [f"{one.text}." for one in analysis.notices if one.code in (advice.NO_FIGURE, "imported")]
    states = collections.Counter(verdict.state for verdict in analysis.verdicts)
    if analysis.verdicts:
        parts = [
            f"{states[state]} {state}" for state in ("met", "not met", "undecided", "not measured") if states[state]
        ]
        sentences.append(f"Of {len(analysis.verdicts)} requirements: {', '.join(parts)}.")
        not_met = [verdict for verdict in analysis.verdicts if verdict.state == "not met"]
        for verdict in not_met[:3]:
            sentences += [f"Not met: {missed(verdict)}.", why(verdict)]
    sentences += _headline_sentences(analysis)
    sentences += [f"{one.text}." for one in analysis.notices if one.code == "slow-host"]
    bad = [one for one in analysis.outcomes if one.state not in SCORED]
    sentences += list(
        dict.fromkeys(
            f"{one.label} lacks devices: {one.reason}." for one in analysis.outcomes if one.state == "partial"
        )
    )
    if bad:
        named = ", ".join(f"{one.label} ({one.state})" for one in bad[:3])
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        total = len(analysis.outcomes)
        which = "The one run" if total == 1 else f"{len(bad)} of {total} runs"
        sentences.append(f"{which} {'has' if len(bad) == 1 else 'have'} no result: {named}{more}.")
    if analysis.not_begun:
        named = "; ".join(analysis.not_begun[:3])
        more = f"; and {len(analysis.not_begun) - 3} more" if len(analysis.not_begun) > 3 else ""
        sentences.append(f"Not begun: {named}{more} (`shakedown run --resume` continues).")
    if plan.skipped:
        sentences.append(f"Not possible here: {', '.join(sorted({one.what for one in plan.skipped}))}.")
    if not analysis.findings:
        sentences.append("Nothing was measured.")
    sentences += [counts for counts in (whether_it_counts(analysis),) if counts]
    return tuple(sentences)


_ASKED = re.compile(r"(?P<title>.*?): (?P<bound>at (?:least|most) .*?)(?: \(| \[| on |$)")


def missed(verdict: Verdict) -> str:
    """What was reached and what was asked, in one sentence without its full stop; the table has the rest."""
    found = _ASKED.match(verdict.requirement)
    if verdict.finding is None or verdict.finding.value is None or found is None:
        return f"{verdict.requirement} ({verdict.evidence})"
    reached = show(verdict.finding.value, verdict.finding.unit)
    where = f" on {verdict.finding.host}" if verdict.finding.host else ""
    return f"{found['title']} {reached}{where}{_of_peak(verdict.finding)}; {found['bound']} was required"


def asked(verdict: Verdict) -> str:
    """The requirement without what stands in brackets behind it."""
    found = _ASKED.match(verdict.requirement)
    return f"{found['title']}: {found['bound']}" if found else verdict.requirement


def why(verdict: Verdict) -> str:
    """The known causes of a requirement that is not met, in a sentence; that none is known, where none is."""
    if not verdict.causes:
        return "No cause is known: nothing disturbed its runs, and no setting that is known to slow it is wrong."
    several = "Likely causes" if len(verdict.causes) > 1 else "Likely cause"
    return f"{several}: {'; '.join(one.text for one in verdict.causes[:MOST_CAUSES])}."


def whether_it_counts(analysis: Analysis) -> str:
    """How many runs were disturbed, by what, and what that means for the figures; empty where none was."""
    touched = causes.disturbed(analysis.outcomes)
    if not touched:
        return ""
    what = causes.in_order(causes.disturbances(analysis.outcomes))
    named = "; ".join(one.text for one in what[:MOST_CAUSES])
    total = len(analysis.outcomes)
    which = "The one run" if total == 1 else f"{len(touched)} of {total} runs"
    were = "was" if len(touched) == 1 else "were"
    return f"{which} {were} disturbed: {named}. What they measured is what was left of the machine, not what it can do."


def _headline_sentences(analysis: Analysis) -> list[str]:
    """One sentence for each metric that its workload calls a headline (else its first), at its best, with its fraction."""
    metrics = {metric.name: metric for metric in analysis.metrics}
    best = published_comparison.headlines(analysis.findings, metrics)
    shown: dict[str, Finding] = {}
    workloads_with: set[str] = set()
    for metric in sorted(analysis.metrics, key=lambda one: not one.headline):
        mine = [one for (name, _), one in best.items() if name == metric.name]
        if not mine or metric.better == "none" or (mine[0].workload in workloads_with and not metric.headline):
            continue
        workloads_with.add(mine[0].workload)
        sign = 1 if metric.better == "lower" else -1
        shown[metric.name] = min(mine, key=lambda one: sign * (one.value or 0.0))
    sentences = []
    for metric in analysis.metrics:
        if one := shown.get(metric.name):
            sentences.append(
                f"{metric.title}: {show(one.value, one.unit)}{values.told(metric, one.params)}{_of_peak(one)}."
            )
    return sentences


def _of_peak(finding: Finding) -> str:
    """The fraction of the derived peak, at the measured clock where there is one. What was reached in the same run is no
    peak to be proud of: a machine at a seventh of its bandwidth has 100 % of that."""
    derived = [part for part in finding.fractions if part.kind != "measured"]
    if derived:
        most = max(derived, key=lambda part: part.value)
        clock = " at the measured clock" if "clock measured" in most.basis else ""
        return f", {most.fraction:.0%} of the {most.kind} peak{clock}"
    return ""
