"""The arithmetic of availability: known histories in closed form, and a second-by-second count beside whatever is drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.operate.availability import contract as contracts
from shakedown.operate.availability import course, evaluate, incidents, rates, using
from shakedown.operate.availability.contract import Contract, ExcludeRule, WindowRule
from shakedown.operate.availability.history import OPEN_S, WHOLE, Builder, Cause, History, complement, union
from shakedown.operate.availability.words import kind_of, of_gridengine, of_slurm_number, of_slurm_word

DAY = 86400
BEGIN = 1_700_000_000


class Out(NamedTuple):
    """An outage of node ``n``: seconds after BEGIN, share in ten-thousandths, GPUs as bits."""

    n: int
    begin: int
    end: int
    share: int = WHOLE
    mask: int = 0
    what: str = "broken"


def agreed(**changed: object) -> Contract:
    plain = Contract(name="t", title="t", source="t", at_least="97 %", window=WindowRule(length="30 d"))
    return msgspec.structs.replace(plain, **changed)


def history(
    outages: list[Out],
    *,
    nodes: int = 4,
    cpus: int = 4,
    gpus: int = 4,
    length: int = 40 * DAY,
    seen: tuple[tuple[int, int], ...] | None = None,
    gaps: tuple[tuple[int, int, int], ...] = (),
    origin: int = BEGIN,
) -> History:
    builder = Builder()
    for at in range(nodes):
        builder.present(f"node{at}", origin, origin + length, cpus, gpus)
    for one in outages:
        builder.event(
            f"node{one.n}",
            origin + one.begin,
            origin + one.end if one.end < OPEN_S else OPEN_S,
            "down",
            Cause(one.what),
            share=one.share,
            mask=one.mask,
        )
    for node, low, high in gaps:
        builder.gap(f"node{node}", origin + low, origin + high)
    builder.seen = [(origin + low, origin + high) for low, high in (seen or ((0, length),))]
    return builder.history()


def found(outages: list[Out], contract: Contract, *, length: int = 40 * DAY, **more: object) -> evaluate.Found:
    return evaluate.prepare(history(outages, length=length, **more), contract, BEGIN, BEGIN + length)  # type: ignore[arg-type]


def report(outages: list[Out], contract: Contract, *, length: int = 40 * DAY, **more: object) -> evaluate.Report:
    made = history(outages, length=length, **more)  # type: ignore[arg-type]
    return evaluate.evaluate(made, contract, BEGIN, BEGIN + length, explained=True)[0]


# ------------------------------------------------------------------------------------------------------ closed forms


def test_a_history_without_outages_meets_when_the_first_window_ends() -> None:
    told = report([], agreed())
    assert told.verdict == "met"
    assert told.certain_first_met_s == BEGIN + 30 * DAY
    assert told.judged is not None and told.judged.level == 1.0
    assert told.judged.scheduled == 4 * 4 * 30 * DAY


def test_one_node_of_four_down_for_three_days_is_ninety_seven_and_a_half_percent() -> None:
    told = report([Out(0, 5 * DAY, 8 * DAY)], agreed())
    assert told.judged is not None
    assert told.judged.level == 0.975
    assert told.judged.lost == 3 * DAY * 4
    assert told.verdict == "met"


def test_the_level_at_the_limit_meets_and_one_second_more_does_not() -> None:
    # 3 % of four nodes and 30 days are 3.6 node-days.
    limit = 3 * DAY + 51840
    window = agreed(window=WindowRule(length="30 d", met="every"))
    assert report([Out(1, DAY, DAY + limit)], window, length=30 * DAY).verdict == "met"
    assert report([Out(1, DAY, DAY + limit + 1)], window, length=30 * DAY).verdict == "not met"


def test_the_window_meets_first_at_the_second_at_which_enough_of_an_outage_has_left_it() -> None:
    # 8 days of one node of four in the first window: 4.4 node-days too many, which leave it as the window slides on.
    told = report([Out(2, 0, 8 * DAY)], agreed())
    assert told.certain_first_met_s == BEGIN + 30 * DAY + round(4.4 * DAY)
    assert told.verdict == "met"
    at = told.certain_first_met_s - BEGIN
    one = found([Out(2, 0, 8 * DAY)], agreed())
    before = course.window(one.course, BEGIN + at - 1 - 30 * DAY, BEGIN + at - 1)
    assert before.level is not None and before.level < 0.97


def test_a_gpu_lost_of_four_is_a_quarter_of_a_node_or_a_whole_one_as_agreed() -> None:
    lost = [Out(0, DAY, 11 * DAY, mask=0b0100)]
    whole_of_it = WindowRule(length="30 d", met="every")
    share = report(lost, agreed(window=whole_of_it), length=30 * DAY)
    assert share.judged is not None and share.judged.lost == 10 * DAY * 4 / 4
    down = msgspec.structs.replace(agreed().down, partial="whole")
    whole = report(lost, agreed(down=down, window=whole_of_it), length=30 * DAY)
    assert whole.judged is not None and whole.judged.lost == 10 * DAY * 4
    none = report(lost, agreed(down=msgspec.structs.replace(down, partial="none")))
    assert none.judged is not None and none.judged.lost == 0


def test_two_gpus_out_at_once_are_a_half_and_the_same_gpu_told_twice_is_a_quarter() -> None:
    window = agreed(window=WindowRule(length="1 d"))
    both = found([Out(0, 0, DAY, mask=1), Out(0, 0, DAY, mask=2, what="other")], window, length=DAY)
    assert course.window(both.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 2
    twice = found([Out(0, 0, DAY, mask=1), Out(0, 0, DAY, mask=1, what="other")], window, length=DAY)
    assert course.window(twice.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 4


def test_thirds_add_up_to_a_whole_exactly() -> None:
    window = agreed(window=WindowRule(length="1 d"), at_least="66.7 %")
    out = [Out(0, at * DAY // 3, (at + 1) * DAY // 3, mask=1 << at) for at in range(3)]
    one = found(out, window, length=DAY, nodes=1, gpus=3)
    assert course.window(one.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 3
    assert one.segments.parts == 3


def test_what_nobody_saw_is_neither_up_nor_down_and_can_make_it_undecided() -> None:
    window = agreed(window=WindowRule(length="10 d"))
    gap = report([], window, length=10 * DAY, seen=((0, 2 * DAY), (3 * DAY, 10 * DAY)))
    assert gap.judged is not None
    assert (gap.judged.level, gap.judged.low, gap.judged.high) == (1.0, 0.9, 1.0)
    assert gap.verdict == "undecided" and gap.observed == 0.9
    enough = report([], window, length=10 * DAY, gaps=((0, 0, DAY),))
    assert enough.verdict == "met" and enough.judged is not None and enough.judged.low == 0.975
    bad = report([Out(1, 0, 2 * DAY)], window, length=10 * DAY, gaps=((0, 0, DAY),))
    assert bad.verdict == "not met"


def test_a_history_shorter_than_the_window_judges_nothing() -> None:
    told = report([], agreed(), length=29 * DAY)
    assert told.verdict == "undecided" and told.judged is None
    assert "29.00 days" in told.reasons[0]


def test_a_contract_that_begins_anew_waits_until_nothing_breaks_it() -> None:
    window = agreed(window=WindowRule(length="10 d", kind="restarting"))
    # 10 days of 4 nodes may lose 1.2 node-days: the outage breaks the first attempt 1.2 days after it began.
    told = report([Out(0, DAY, 4 * DAY)], window, length=20 * DAY)
    broke = BEGIN + DAY + round(1.2 * DAY) + 1
    assert told.attempts[0].end_s == broke and not told.attempts[0].met
    # The second one has 1.8 node-days of it before it: it breaks, too, and the third has 0.6 left.
    assert told.attempts[1].end_s == broke + round(1.2 * DAY) + 1
    assert told.attempts[2].met and told.verdict == "met"
    assert told.attempts[2].begin_s == told.attempts[1].end_s


def test_months_are_those_of_the_contracts_zone() -> None:
    # November 2023 in Chicago has an hour more: the clocks go back on the 5th.
    zone = "America/Chicago"
    low, high = (contracts.time_of(text, zone, "") for text in ("2023-11-01", "2024-01-01"))
    assert high - low == 61 * DAY + 3600
    window = agreed(window=WindowRule(kind="months", met="every"), zone=zone)
    builder = Builder()
    builder.present("n", low, high, 2)
    builder.event("n", low + DAY, low + 2 * DAY, "down", Cause("x"))
    builder.seen = [(low, high)]
    told, _ = evaluate.evaluate(builder.history(), window, low, high)
    november, december = told.months
    assert november.scheduled == 2 * (30 * DAY + 3600) and november.lost == 2 * DAY
    assert december.level == 1.0 and told.verdict == "not met"


def test_the_system_as_one_is_out_while_half_of_it_is() -> None:
    window = agreed(counting="system", window=WindowRule(length="10 d", met="every"))
    two = report([Out(0, DAY, 2 * DAY), Out(1, DAY + 3600, 2 * DAY)], window, length=10 * DAY)
    assert two.judged is not None and two.judged.lost == DAY - 3600
    one = report([Out(0, DAY, 2 * DAY)], window, length=10 * DAY)
    assert one.judged is not None and one.judged.lost == 0 and one.verdict == "met"


def test_full_use_is_judged_with_the_jobs_and_not_known_without() -> None:
    from shakedown.schedulers import JobRecord

    asked = agreed(utilisation=contracts.UseRule(at_least="90 %"))
    made = history([])
    span = (float(BEGIN), float(BEGIN + 40 * DAY))
    job = JobRecord(engine="slurm", id="1", state="running", cpus=15, begin_s=span[0], end_s=span[1], hosts=("node0",))

    def judged(*jobs: JobRecord) -> str:
        return evaluate.evaluate(made, asked, BEGIN, BEGIN + 40 * DAY, records=jobs)[0].verdict

    assert evaluate.evaluate(made, asked, BEGIN, BEGIN + 40 * DAY)[0].verdict == "undecided"
    assert judged(job) == "met"
    assert judged(msgspec.structs.replace(job, cpus=14)) == "not met"


def test_full_use_and_the_level_are_asked_of_one_window() -> None:
    from shakedown.schedulers import JobRecord

    asked = agreed(utilisation=contracts.UseRule(at_least="90 %"))
    # In use from the 10th day on: a window of 30 days holds 27 of them first at the end of day 37.
    job = JobRecord(engine="slurm", id="1", state="running", cpus=16, begin_s=float(BEGIN + 10 * DAY))
    told, _ = evaluate.evaluate(history([]), asked, BEGIN, BEGIN + 40 * DAY, records=[job])
    assert told.verdict == "met" and told.certain_first_met_s == BEGIN + 30 * DAY
    assert told.judged is not None and told.judged.end_s == BEGIN + 37 * DAY
    assert told.use is not None and told.use.value == 0.9
    # With two days of everything lost before that, no window is both.
    lost = [Out(n, 35 * DAY, 37 * DAY) for n in range(4)]
    told, _ = evaluate.evaluate(history(lost), asked, BEGIN, BEGIN + 40 * DAY, records=[job])
    assert told.verdict == "not met"


# --------------------------------------------------------------------------------------- second by second, whatever comes

SPAN, NODES, WINDOW = 60, 3, 20
OUTS = st.lists(
    st.builds(
        lambda n, a, b, share, mask: Out(n, min(a, b), max(a, b) + 1, share, mask),
        st.integers(0, NODES - 1),
        st.integers(-5, SPAN + 5),
        st.integers(-5, SPAN + 5),
        st.sampled_from([WHOLE, WHOLE, 2500, 5000]),
        st.sampled_from([0, 0, 0, 1, 2, 3, 15]),
    ),
    max_size=12,
)
GAPS = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, SPAN), st.integers(0, SPAN)).map(
        lambda one: (one[0], min(one[1:]), max(one[1:]))
    ),
    max_size=3,
)
SMALL = agreed(window=WindowRule(length="20 s"), at_least="80 %")


def counted(outs: list[Out], gaps: list[tuple[int, int, int]]) -> tuple[list[Fraction], list[Fraction]]:
    """Lost and not observed weight of each second, counted one by one."""
    lost, blind = [], []
    for t in range(SPAN):
        gone, unseen = Fraction(0), Fraction(0)
        for n in range(NODES):
            mine = [one for one in outs if one.n == n and one.begin <= t < one.end]
            mask = 0
            for one in mine:
                mask |= one.mask
            share = max([Fraction(one.share, WHOLE) for one in mine if not one.mask], default=Fraction(0))
            share = max(share, Fraction(bin(mask).count("1"), 4))
            gone += 4 * share
            if any(one[0] == n and one[1] <= t < one[2] for one in gaps):
                unseen += 4 * (1 - share)
        lost.append(gone)
        blind.append(unseen)
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
        window = course.window(one.course, BEGIN + end - WINDOW, BEGIN + end)
        assert window.lost == pytest.approx(float(sum(lost[end - WINDOW : end])), abs=1e-9)
        assert window.unobserved == pytest.approx(float(sum(blind[end - WINDOW : end])), abs=1e-9)
        assert window.scheduled == NODES * 4 * WINDOW
    for blind_is_lost in (True, False):
        fits = [
            end
            for end in ends.tolist()
            if sum(lost[end - WINDOW : end]) + (sum(blind[end - WINDOW : end]) if blind_is_lost else 0)
            <= Fraction(1, 5) * NODES * 4 * WINDOW
        ]
        first = course.first_met(one.sliding, Fraction(4, 5), blind_is_lost=blind_is_lost)
        assert first == (BEGIN + fits[0] if fits else None)
        every = course.meets_always(one.sliding, Fraction(4, 5), blind_is_lost=blind_is_lost)
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
    use = using.of_jobs(one.segments, one.edges, one.segments.weight, one.counts, jobs)
    lost, blind = counted(outs, gaps)
    held = [sum(n for low, length, n in spans if low <= t < low + length) for t in range(SPAN)]
    # What nobody saw of a node is not operational, a share of it that was lost there included.
    unseen = [sum(4 for n in range(NODES) if any(g == n and a <= t < b for g, a, b in gaps)) for t in range(SPAN)]
    operational = [NODES * 4 - unseen[t] - _lost_seen(outs, gaps, t) for t in range(SPAN)]
    first = None
    for end in range(WINDOW, SPAN + 1):
        inside = slice(end - WINDOW, end)
        level = sum(lost[inside]) + sum(blind[inside]) <= Fraction(1, 5) * NODES * 4 * WINDOW
        if level and sum(held[inside]) >= at_least * sum(operational[inside]):
            first = BEGIN + end
            break
    assert using.first_both(one.course, use, WINDOW, Fraction(4, 5), at_least, blind_is_lost=True) == first


def _lost_seen(outs: list[Out], gaps: list[tuple[int, int, int]], t: int) -> Fraction:
    """What is lost of nodes that somebody looked at."""
    blind = {n for n, a, b in gaps if a <= t < b}
    return counted([one for one in outs if one.n not in blind], [])[0][t]


def numbers(outs: list[Out], **more: object) -> tuple[object, ...]:
    """What a history says that must not hang on how it was written down."""
    told = report(outs, SMALL, length=SPAN, nodes=NODES, **more)
    failures = next(one for one in told.rates if one.name == "MTBF, node")
    mend = next(one for one in told.rates if one.name == "MTTR")
    made = found(outs, SMALL, length=SPAN, nodes=NODES).course
    windows = [course.window(made, BEGIN + end - WINDOW, BEGIN + end) for end in range(WINDOW, SPAN + 1)]
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


def lost_by(one: evaluate.Found) -> tuple[np.ndarray, np.ndarray]:
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


def test_a_healthy_node_counts_only_while_it_is_there() -> None:
    builder = Builder()
    builder.present("a", BEGIN, BEGIN + 10 * DAY, 4)
    builder.present("b", BEGIN + 5 * DAY, BEGIN + 10 * DAY, 8)
    builder.event("a", BEGIN, BEGIN + DAY, "down", Cause("x"))
    builder.seen = [(BEGIN, BEGIN + 10 * DAY)]
    one = evaluate.prepare(builder.history(), agreed(window=WindowRule(length="10 d")), BEGIN, BEGIN + 10 * DAY)
    window = course.window(one.course, BEGIN, BEGIN + 10 * DAY)
    assert (window.scheduled, window.lost) == (4 * 10 * DAY + 8 * 5 * DAY, 4 * DAY)


def test_the_time_zone_moves_months_and_words_but_no_hour() -> None:
    out = [Out(0, 5 * DAY, 9 * DAY), Out(1, 7 * DAY, 7 * DAY + 5)]
    utc = report(out, agreed())
    east = report(out, agreed(zone="Australia/Lord_Howe"))
    assert msgspec.structs.replace(east, zone="UTC", explained=None) == msgspec.structs.replace(utc, explained=None)


def test_integers_that_would_overflow_are_kept_exact() -> None:
    # 10^10 processors of one node, cut into 10 000 parts, for a year: above 2^63.
    builder = Builder()
    builder.present("huge", BEGIN, BEGIN + 365 * DAY, 10**10)
    builder.event("huge", BEGIN, BEGIN + DAY, "down", Cause("x"), share=1)
    builder.seen = [(BEGIN, BEGIN + 365 * DAY)]
    window = agreed(window=WindowRule(length="365 d"), at_least="99.99 %")
    one = evaluate.prepare(builder.history(), window, BEGIN, BEGIN + 365 * DAY)
    assert one.course.scheduled.dtype == object
    assert int(one.course.lost[-1]) == DAY * 10**10
    assert course.first_met(one.sliding, window.target, blind_is_lost=True) == BEGIN + 365 * DAY


# ------------------------------------------------------------------------------------------------ the lines, the ranking


@settings(max_examples=60, deadline=None)
@given(OUTS, GAPS)
def test_the_lines_of_the_arithmetic_add_up_to_the_window(outs: list[Out], gaps: list[tuple[int, int, int]]) -> None:
    told = report(outs, SMALL, length=SPAN, nodes=NODES, gaps=tuple(gaps))
    explained, window = told.explained, told.judged or told.whole
    assert explained is not None and window is not None

    def total(lines: tuple[evaluate.explain.Line, ...]) -> float:
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
    back = course.window(one.course, BEGIN, BEGIN + SPAN).lost - course.window(rest.course, BEGIN, BEGIN + SPAN).lost
    assert back == pytest.approx(cost.back[min(count, len(cost.back)) - 1])


# ------------------------------------------------------------------------------------------------------------ exclusions


def maintenance(announced_before: int | None, **rule: object) -> evaluate.Report:
    """Ten days of four nodes; two days of maintenance of all of them, one node of them was broken before."""
    builder = Builder()
    for at in range(4):
        builder.present(f"node{at}", BEGIN, BEGIN + 10 * DAY, 4)
        known = -1 if announced_before is None else BEGIN + 2 * DAY - announced_before
        builder.event(
            f"node{at}",
            BEGIN + 2 * DAY,
            BEGIN + 4 * DAY,
            "maintenance",
            Cause("firmware", "maintenance"),
            announced_s=known,
        )
    builder.event("node0", BEGIN + DAY, BEGIN + 3 * DAY, "down", Cause("DIMM"))
    builder.seen = [(BEGIN, BEGIN + 10 * DAY)]
    exclude = (ExcludeRule(name="maintenance", kinds=("maintenance",), **rule),)  # type: ignore[arg-type]
    window = WindowRule(length="10 d", met="every")
    return evaluate.evaluate(builder.history(), agreed(exclude=exclude, window=window), BEGIN, BEGIN + 10 * DAY)[0]


def test_announced_maintenance_leaves_both_sides_of_the_ratio() -> None:
    told = maintenance(7 * DAY, notice="7 d")
    assert told.judged is not None
    assert (told.judged.scheduled, told.judged.lost) == (4 * 4 * 8 * DAY, 4 * DAY)
    (line,) = told.exclusions
    assert (line.scheduled_h, line.forgiven_h, line.nodes) == (4 * 4 * 48, 4 * 4 * 48, "all 4 nodes")


def test_maintenance_as_up_stays_scheduled() -> None:
    told = maintenance(7 * DAY, notice="7 d", treat="as up")
    assert told.judged is not None and (told.judged.scheduled, told.judged.lost) == (4 * 4 * 10 * DAY, 4 * DAY)


@pytest.mark.parametrize("announced, why", [(None, "not recorded"), (7 * DAY - 1, "168.0 h before")])
def test_a_notice_that_is_short_or_unknown_excludes_nothing(announced: int | None, why: str) -> None:
    told = maintenance(announced, notice="7 d")
    assert told.judged is not None and told.judged.lost == 4 * 4 * 2 * DAY + 4 * DAY
    (line,) = told.exclusions
    assert why in line.refused and line.scheduled_h == 0


def test_only_so_many_hours_of_a_month_are_agreed_downtime() -> None:
    told = maintenance(7 * DAY, notice="7 d", most_per_month="12 h")
    assert told.judged is not None
    assert told.exclusions[0].scheduled_h == 4 * 4 * 12
    assert maintenance(7 * DAY, longest="1 d").exclusions[0].refused == "longer than 1 d"


def test_a_downtime_agreed_by_name_and_the_first_rule_takes_the_hours() -> None:
    low, high = ("2023-11-16T00:00:00Z", "2023-11-17T00:00:00Z")
    named = ExcludeRule(name="by name", nodes="node[0-1]", begin=low, end=high, why="agreed with the vendor")
    every = ExcludeRule(name="all of it", begin=low, end=high, why="network works")
    window = WindowRule(length="10 d", met="every")
    told = report([Out(0, 0, 10 * DAY)], agreed(exclude=(named, every), window=window), length=10 * DAY)
    first, second = told.exclusions
    assert (first.scheduled_h, first.forgiven_h) == (2 * 4 * 24, 4 * 24)
    assert (second.scheduled_h, second.forgiven_h) == (2 * 4 * 24, 0)
    assert told.judged is not None and told.judged.scheduled == 4 * 4 * 9 * DAY


# ------------------------------------------------------------------------------------------------------- rates and words


def test_rates_have_chi_square_intervals_and_no_failure_gives_a_bound() -> None:
    # NIST/SEMATECH e-Handbook 8.4.5.1: 2 failures in 1600 h; 90 % two-sided: 254 to 4503.
    two = rates.between("x", "x", 1600, 2, formula="", level=0.90)
    assert two.value_h == 800
    assert two.low_h == pytest.approx(254, abs=1) and two.high_h == pytest.approx(4503, abs=2)
    none = rates.between("x", "x", 1000, 0, formula="")
    assert none.value_h is None and none.high_h is None
    assert none.low_h == pytest.approx(1000 / -np.log(0.05), rel=1e-9)


def test_repairs_that_are_not_over_add_their_time_and_no_repair() -> None:
    seconds = np.array([3600, 7200, 36000])
    one = rates.to_mend(seconds, np.array([False, False, True]))
    assert one.value_h == pytest.approx((1 + 2 + 10) / 2) and one.censored == 1
    none = rates.to_mend(np.array([3600]), np.array([True]))
    assert none.value_h is None and none.low_h is not None


def test_shares_have_exact_intervals() -> None:
    assert rates.share(0, 10)[2] == pytest.approx(1 - 0.025 ** (1 / 10))
    assert rates.share(10, 10)[1] == pytest.approx(0.025 ** (1 / 10))
    value, low, high = rates.per(3, 1000)
    assert (value, low) == (0.003, pytest.approx(0.000619, abs=1e-6)) and high == pytest.approx(0.008767, abs=1e-6)


def test_a_node_that_kills_jobs_is_found_among_its_peers_and_chance_is_not() -> None:
    jobs = np.full(100, 200)
    failed = np.full(100, 4)
    assert rates.beyond_the_others(failed, jobs) == []
    failed[17] = 40
    ((at, expected, p),) = rates.beyond_the_others(failed, jobs)
    assert at == 17 and expected == pytest.approx(4) and p < 1e-6


@pytest.mark.parametrize(
    "number, state",
    [
        (1, "down"),
        (2049, "silent"),
        (514, "drained"),
        (515, "draining"),
        (2, "up"),
        (0, "unknown"),
        (6, "absent"),
        (1 | 1 << 15, "maintenance"),
        (4098, "powered down"),
        (4, "failed"),
        (1 | 1 << 20, "booting"),
    ],
)
def test_slurms_numbers(number: int, state: str) -> None:
    assert of_slurm_number(number) == state


@pytest.mark.parametrize(
    "word, state",
    [
        ("idle", "up"),
        ("IDLE+DRAIN", "drained"),
        ("MIXED+DRAIN", "draining"),
        ("down*", "silent"),
        ("idle*", "silent"),
        ("maint", "maintenance"),
        ("idle~", "powered down"),
        ("allocated", "up"),
        ("unk*", "unknown"),
        ("nonsense", "unknown"),
        ("DOWN$", "maintenance"),
        ("drained*", "drained"),
        ("reboot^", "booting"),
        ("mixed-", "up"),
    ],
)
def test_slurms_words(word: str, state: str) -> None:
    assert of_slurm_word(word) == state


def test_grid_engines_letters_and_reasons() -> None:
    assert [of_gridengine(one) for one in ("", "a", "d", "au", "E", "o")] == [
        "up",
        "up",
        "drained",
        "silent",
        "failed",
        "absent",
    ]
    assert kind_of("HC: gpu 2 fell off the bus") == "gpu"
    assert kind_of("Not responding") == "not responding"
    assert kind_of("bla") == "unknown"
    assert kind_of("bla", (("^bla", "weather"),)) == "weather"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_union_and_complement_part_a_stretch(spans: list[tuple[int, int]]) -> None:
    inside = set(itertools.chain.from_iterable(range(*one) for one in spans))
    whole = union(spans)
    assert set(itertools.chain.from_iterable(range(*one) for one in whole)) == inside
    rest = complement(whole, 0, 50)
    assert set(itertools.chain.from_iterable(range(*one) for one in rest)) == set(range(50)) - inside
