"""The arithmetic of availability: known histories in closed form."""

from __future__ import annotations

import msgspec

from shakedown.operate.availability import contract as contracts
from shakedown.operate.availability import cumulative_downtime, evaluate
from shakedown.operate.availability.contract import WindowRule
from shakedown.operate.availability.history import Builder, Cause
from support.histories import BEGIN, DAY, Out, agreed, found, history, report


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
    before = cumulative_downtime.window(one.course, BEGIN + at - 1 - 30 * DAY, BEGIN + at - 1)
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
    assert cumulative_downtime.window(both.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 2
    twice = found([Out(0, 0, DAY, mask=1), Out(0, 0, DAY, mask=1, what="other")], window, length=DAY)
    assert cumulative_downtime.window(twice.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 4


def test_thirds_add_up_to_a_whole_exactly() -> None:
    window = agreed(window=WindowRule(length="1 d"), at_least="66.7 %")
    out = [Out(0, at * DAY // 3, (at + 1) * DAY // 3, mask=1 << at) for at in range(3)]
    one = found(out, window, length=DAY, nodes=1, gpus=3)
    assert cumulative_downtime.window(one.course, BEGIN, BEGIN + DAY).lost == DAY * 4 / 3
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


def test_a_healthy_node_counts_only_while_it_is_there() -> None:
    builder = Builder()
    builder.present("a", BEGIN, BEGIN + 10 * DAY, 4)
    builder.present("b", BEGIN + 5 * DAY, BEGIN + 10 * DAY, 8)
    builder.event("a", BEGIN, BEGIN + DAY, "down", Cause("x"))
    builder.seen = [(BEGIN, BEGIN + 10 * DAY)]
    one = evaluate.prepare(builder.history(), agreed(window=WindowRule(length="10 d")), BEGIN, BEGIN + 10 * DAY)
    window = cumulative_downtime.window(one.course, BEGIN, BEGIN + 10 * DAY)
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
    assert cumulative_downtime.first_met(one.sliding, window.target, blind_is_lost=True) == BEGIN + 365 * DAY
