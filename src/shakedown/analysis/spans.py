"""Whether a case's times agree: the samples' seconds, by a monotonic clock, and when they were, by the clock that meters
share. Pure, imports nothing heavy.

Energy is taken from the span and divided by the samples: a span that is not theirs makes any efficiency. Samples follow
one another; what runs side by side is one sample.
"""

from __future__ import annotations

from ..records import Case
from ..units import show_seconds

#: The clocks may differ so: Unix time is slewed by at most 0.05 % (adjtimex), and stepped now and then by milliseconds.
RELATIVE, ABSOLUTE_S = 0.01, 0.01


def disagreement(case: Case) -> str:
    """What is wrong with a case's span, in words; empty where nothing is, or where it states none."""
    if case.begin_ns is None or case.end_ns is None or not case.seconds:
        return ""
    problem = _too_short(case.begin_ns, case.end_ns, sum(case.seconds))
    if problem or not case.spans:
        return problem
    if len(case.spans) != len(case.seconds):
        return f"{len(case.seconds)} samples, and the spans of {len(case.spans)}"
    if any(later[0] < earlier[1] for earlier, later in zip(case.spans, case.spans[1:], strict=False)):
        return "the spans of its samples overlap"
    if (case.begin_ns, case.end_ns) != (case.spans[0][0], case.spans[-1][1]):
        return "its span is not that of its samples"
    return next(filter(None, (_too_short(*span, s) for span, s in zip(case.spans, case.seconds, strict=True))), "")


def _too_short(begin_ns: int, end_ns: int, seconds: float) -> str:
    length_s = (end_ns - begin_ns) * 1e-9
    if seconds <= length_s * (1 + RELATIVE) + ABSOLUTE_S:
        return ""
    return f"its samples took {show_seconds(seconds)} and its span is {show_seconds(length_s)}"
