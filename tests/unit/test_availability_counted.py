"""The arithmetic of availability beside a second-by-second count, whatever history is drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.operate.availability import cumulative_downtime, evaluate, utilisation
from shakedown.operate.availability.history import OPEN_S, WHOLE, Builder, Cause, complement, union
from shakedown.schedulers import JobRecord
from support.histories import BEGIN, GAPS, NODES, OUTS, SMALL, SPAN, WINDOW, Out, found, history, report

#: What a node of four processors weighs, in ten-thousandths of one: all that is lost or not seen is a whole number of these.
NODE = 4 * WHOLE
NEEDED = Fraction(4, 5)  # what SMALL asks for


def gone(outs: list[Out], n: int, t: int) -> int:
    """What is lost of a node in a second."""
    mine = [one for one in outs if one.n == n and one.begin <= t < one.end]
    mask = 0
    for one in mine:
        mask |= one.mask
    share = max((one.share for one in mine if not one.mask), default=0)
    return 4 * max(share, mask.bit_count() * WHOLE // 4)


def unseen(gaps: list[tuple[int, int, int]], n: int, t: int) -> bool:
    return any(node == n and low <= t < high for node, low, high in gaps)


def counted(outs: list[Out], gaps: list[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """Lost and not observed weight of each second, counted one by one, in ten-thousandths of a processor."""
    lost, blind = [], []
    for t in range(SPAN):
        out = [gone(outs, n, t) for n in range(NODES)]
        lost.append(sum(out))
        blind.append(sum(NODE - out[n] for n in range(NODES) if unseen(gaps, n, t)))
    return lost, blind


@settings(max_examples=150, deadline=None)
@given(OUTS, GAPS)
def test_every_window_is_what_counting_second_by_second_gives(
    outs: list[Out], gaps: list[tuple[int, int, int]]
) -> None:
    one = found(outs, SMALL, length=SPAN, nodes=NODES, gaps=tuple(gaps))
    lost, blind = counted(outs, gaps)
    ends = np.arange(WINDOW, SPAN + 1)
    for end in ends.tolist():
        window = cumulative_downtime.window(one.course, BEGIN + end - WINDOW, BEGIN + end)
        assert window.lost == pytest.approx(sum(lost[end - WINDOW : end]) / WHOLE, abs=1e-9)
        assert window.unobserved == pytest.approx(sum(blind[end - WINDOW : end]) / WHOLE, abs=1e-9)
        assert window.scheduled == NODES * 4 * WINDOW
    for blind_is_lost in (True, False):
        fits = [
            end
            for end in ends.tolist()
            if sum(lost[end - WINDOW : end]) + (sum(blind[end - WINDOW : end]) if blind_is_lost else 0)
            <= (1 - NEEDED) * NODES * NODE * WINDOW
        ]
        first = cumulative_downtime.first_met(one.sliding, NEEDED, blind_is_lost=blind_is_lost)
        assert first == (BEGIN + fits[0] if fits else None)
        every = cumulative_downtime.meets_always(one.sliding, NEEDED, blind_is_lost=blind_is_lost)
        assert every == (len(fits) == len(ends))


@settings(max_examples=80, deadline=None)
@given(
    OUTS,
    GAPS,
    st.lists(st.tuples(st.integers(-5, SPAN), st.integers(1, 40), st.integers(1, 8)), max_size=5),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(1, 5)]),
)
def test_the_first_window_in_use_that_meets_is_the_one_that_counting_finds(
    outs: list[Out], gaps: list[tuple[int, int, int]], spans: list[tuple[int, int, int]], at_least: Fraction
) -> None:
    from shakedown.schedulers import JobRecord

    jobs = [
        JobRecord(
            engine="slurm", id="1", state="done", cpus=n, begin_s=float(BEGIN + low), end_s=float(BEGIN + low + length)
        )
        for low, length, n in spans
    ]
    one = found(outs, SMALL, length=SPAN, nodes=NODES, gaps=tuple(gaps))
    use = utilisation.of_jobs(one.segments, one.edges, one.segments.weight, one.counts, jobs)
    lost, blind = counted(outs, gaps)
    held = [WHOLE * sum(n for low, length, n in spans if low <= t < low + length) for t in range(SPAN)]
    # What nobody saw of a node is not operational, a share of it that was lost there included.
    operational = [sum(NODE - gone(outs, n, t) for n in range(NODES) if not unseen(gaps, n, t)) for t in range(SPAN)]
    first = None
    for end in range(WINDOW, SPAN + 1):
        inside = slice(end - WINDOW, end)
        level = sum(lost[inside]) + sum(blind[inside]) <= (1 - NEEDED) * NODES * NODE * WINDOW
        if level and sum(held[inside]) >= at_least * sum(operational[inside]):
            first = BEGIN + end
            break
    assert utilisation.first_both(one.course, use, WINDOW, NEEDED, at_least, blind_is_lost=True) == first


def numbers(outs: list[Out], **more: object) -> tuple[object, ...]:
    """What a history says that must not hang on how it was written down."""
    told = report(outs, SMALL, length=SPAN, nodes=NODES, **more)
    failures = next(one for one in told.rates if one.name == "MTBF, node")
    mend = next(one for one in told.rates if one.name == "MTTR")
    made = found(outs, SMALL, length=SPAN, nodes=NODES).course
    windows = [cumulative_downtime.window(made, BEGIN + end - WINDOW, BEGIN + end) for end in range(WINDOW, SPAN + 1)]
    return told.verdict, told.certain_first_met_s, told.whole, windows, failures.events, mend.value_h, told.judged


@settings(max_examples=40, deadline=None)
@given(OUTS, st.data())
def test_splitting_reordering_and_repeating_records_change_nothing(outs: list[Out], data: st.DataObject) -> None:
    plain = numbers(outs)
    assert numbers(data.draw(st.permutations(outs))) == plain
    assert numbers([*outs, *outs]) == plain
    split = []
    for one in outs:
        at = data.draw(st.integers(one.begin, one.end))
        split += [part for part in (one._replace(end=at), one._replace(begin=at)) if part.end > part.begin]
    assert numbers(split) == plain
    overlapped = [*outs, *(one._replace(begin=(one.begin + one.end) // 2) for one in outs)]
    assert numbers([one for one in overlapped if one.end > one.begin]) == plain


def lost_by(one: evaluate.Evaluation) -> tuple[np.ndarray, np.ndarray]:
    return one.course.at, one.course.lost / one.course.parts


@settings(max_examples=40, deadline=None)
@given(OUTS)
def test_a_node_that_was_not_there_changes_nothing(outs: list[Out]) -> None:
    made = history(outs, length=SPAN, nodes=NODES)
    builder = Builder()
    for at in range(NODES):
        builder.present(f"node{at}", BEGIN, BEGIN + SPAN, 4, 4)
    builder.present("later", BEGIN + SPAN, OPEN_S, 128, 8)
    builder.present("before", BEGIN - 100, BEGIN, 64)
    for one in outs:
        builder.event(
            f"node{one.n}", BEGIN + one.begin, BEGIN + one.end, "down", Cause(one.what), share=one.share, mask=one.mask
        )
    builder.event("later", BEGIN, BEGIN + SPAN, "down", Cause("not delivered yet"))
    builder.event("before", BEGIN, OPEN_S, "down", Cause("thrown away"))
    builder.seen = [(BEGIN - 100, OPEN_S)]
    with_it = evaluate.prepare(builder.history(), SMALL, BEGIN, BEGIN + SPAN)
    without = evaluate.prepare(made, SMALL, BEGIN, BEGIN + SPAN)
    for a, b in zip(lost_by(with_it), lost_by(without), strict=True):
        assert a.tolist() == pytest.approx(b.tolist())
    assert len(with_it.outages) == len(without.outages)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_union_and_complement_part_a_stretch(spans: list[tuple[int, int]]) -> None:
    inside = set(itertools.chain.from_iterable(range(*one) for one in spans))
    whole = union(spans)
    assert set(itertools.chain.from_iterable(range(*one) for one in whole)) == inside
    rest = complement(whole, 0, 50)
    assert set(itertools.chain.from_iterable(range(*one) for one in rest)) == set(range(50)) - inside


def test_a_job_that_runs_has_not_used_what_is_to_come() -> None:
    """Observed for 10 of 40 days, asked of all 40: a job that runs on 4 CPUs since day 8 has used two days."""
    seen = history([], seen=((0, 10 * 86400),))
    running = JobRecord(
        engine="slurm", id="1", state="running", word="RUNNING", source="accounting", begin_s=BEGIN + 8 * 86400, cpus=4
    )
    told = evaluate.evaluate(seen, SMALL, BEGIN, BEGIN + 40 * 86400, records=(running,), jobs_source="t")[0]
    assert told.jobs is not None and told.jobs.used_h == 4 * 2 * 24


def test_rows_of_no_job_are_counted_and_named() -> None:
    seen = history([], seen=((0, 10 * 86400),))
    for unread, text in ((("|FAILED|1",), "1 row without"), (("|FAILED|1", "half"), "2 rows without")):
        told = evaluate.evaluate(seen, SMALL, BEGIN, BEGIN + 86400, records=(), jobs_source="t", jobs_unread=unread)[0]
        assert told.jobs is not None
        found = [one.text for one in told.jobs.notices if one.code == "jobs-unread"]
        assert len(found) == 1 and found[0].startswith(text) and "'|FAILED|1'" in found[0]
