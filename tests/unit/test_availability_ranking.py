"""What an availability is made of: the lines of its arithmetic, and the incidents that cost it most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.operate.availability import cumulative_downtime, evaluate, incidents
from shakedown.operate.availability.records import Line
from support.histories import BEGIN, DAY, GAPS, NODES, OUTS, SMALL, SPAN, Out, agreed, found, report


@settings(max_examples=60, deadline=None)
@given(OUTS, GAPS)
def test_the_lines_of_the_arithmetic_add_up_to_the_window(outs: list[Out], gaps: list[tuple[int, int, int]]) -> None:
    told = report(outs, SMALL, length=SPAN, nodes=NODES, gaps=tuple(gaps))
    explained, window = told.explained, told.judged or told.whole
    assert explained is not None and window is not None

    def total(lines: tuple[Line, ...]) -> float:
        return lines[-1].sum if lines else 0.0

    assert total(explained.scheduled) - total(explained.excluded) == window.scheduled
    assert total(explained.lost) == pytest.approx(window.lost)
    assert total(explained.unobserved) == pytest.approx(window.unobserved)


def test_what_would_have_met_it_is_the_fewest_of_the_costliest() -> None:
    rack = [Out(n, 3 * DAY, 4 * DAY, what="PDU") for n in range(4)]
    told = report(
        [*rack, Out(0, 10 * DAY, 12 * DAY, what="DIMM"), Out(1, 20 * DAY, 21 * DAY, what="disk")],
        agreed(),
        length=30 * DAY,
    )
    # 7 node-days lost, 3.6 allowed.
    gap = told.missing
    assert told.verdict == "not met" and gap is not None
    assert gap.short_h == pytest.approx((7 - 3.6) * 24 * 4)
    assert [one.what for one in gap.ranked] == ["PDU", "DIMM", "disk"]
    assert [one.would_meet for one in gap.ranked] == [True, False, False]
    assert gap.fewest == 1 and gap.ranked[0].count == 4 and gap.ranked[0].nodes == "node[0-3]"


def test_hours_that_two_incidents_share_come_back_only_with_both() -> None:
    out = [Out(0, 0, 6 * DAY, what="DIMM"), Out(0, DAY, 5 * DAY, what="power")]
    one = found(out, agreed(), length=30 * DAY)
    cost = incidents.costs(one.segments, one.outages, one.counts, BEGIN, BEGIN + 30 * DAY)
    assert len(one.outages) == 1  # one node was out once
    assert cost.charged.tolist() == [6 * DAY * 4]
    apart = [Out(0, 0, 6 * DAY, mask=1, what="gpu"), Out(0, DAY, 2 * DAY, what="power")]
    two = found(apart, agreed(), length=30 * DAY)
    cost = incidents.costs(two.segments, two.outages, two.counts, BEGIN, BEGIN + 30 * DAY)
    # While the node is off, its GPU's absence would bring nothing back; the power's would three quarters (as a bound: none).
    assert cost.charged.tolist() == [5 * DAY, DAY * 4]
    assert cost.alone.tolist() == [5 * DAY, 0]
    assert cost.back.tolist()[-1] == 9 * DAY


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(31, 60)).map(lambda one: Out(*one)), max_size=6
    ),
    st.integers(1, 3),
)
def test_the_absence_of_the_first_ranked_brings_back_what_is_said(outs: list[Out], count: int) -> None:
    outs = [one._replace(what=f"reason {at}") for at, one in enumerate(outs)]
    one = found(outs, SMALL, length=SPAN, nodes=NODES)
    cost = incidents.costs(one.segments, one.outages, one.counts, BEGIN, BEGIN + SPAN)
    if not len(cost.order):
        return
    gone = set(cost.order[:count].tolist())
    own = one.outages
    kept = [
        row for row in range(len(outs)) if own.of_record[row] < 0 or int(own.incident[own.of_record[row]]) not in gone
    ]
    rest = evaluate.prepare(one.history.only(np.array(kept, np.int64)), SMALL, BEGIN, BEGIN + SPAN)
    back = (
        cumulative_downtime.window(one.course, BEGIN, BEGIN + SPAN).lost
        - cumulative_downtime.window(rest.course, BEGIN, BEGIN + SPAN).lost
    )
    assert back == pytest.approx(cost.back[min(count, len(cost.back)) - 1])
