"""What a contract leaves out of an availability: maintenance, its notice and its hours."""

from __future__ import annotations

import pytest

from shakedown.operate.availability import evaluate
from shakedown.operate.availability.contract import ExcludeRule, WindowRule
from shakedown.operate.availability.history import Builder, Cause
from shakedown.operate.availability.records import AvailabilityReport
from support.histories import BEGIN, DAY, Out, agreed, report


def maintenance(announced_before: int | None, **rule: object) -> AvailabilityReport:
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
