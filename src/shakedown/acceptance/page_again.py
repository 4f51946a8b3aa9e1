"""What an acceptance that is done again says beside the earlier one: figures, what was repeated, what differs."""

from __future__ import annotations

from ..document.model import Block, Column, Facts, Section, Table, Text
from ..document.text import count, day, ranges
from ..units import round_to, show
from .references import ratio
from .results import Before, Point, Result, Tested
from .verdict import WORST

_MOST = 200


def section(result: Result) -> Section | None:
    """The section; None where the acceptance repeats none."""
    before = result.before
    if before is None:
        return None
    blocks: list[Block] = [Facts(title="The acceptance that is repeated", pairs=about(before)), Text(text=RATIO)]
    heads = (
        Column("Test"),
        Column("Where"),
        Column("Then"),
        Column("Now"),
        Column("Now / then"),
        Column("Verdict", "state"),
    )
    rows = figures(result)
    caption = f"{len(rows) - _MOST:,} more: in the JSON file." if len(rows) > _MOST else ""
    blocks.append(Table(title="Figures then and now", columns=heads, rows=rows[:_MOST], caption=caption))
    columns = (Column("Test"), Column("Then", "state"), Column("Now", "state"), Column("What was asked", "note"))
    blocks.append(Table(title="What was done again", columns=columns, rows=tests(result, before)))
    if changed := facts(result, before):
        pair = (Column("What"), Column("Then"), Column("Now"))
        blocks.append(Table(title="What is otherwise in the machine and its software", columns=pair, rows=changed))
    return Section(
        id="again", title=f"Beside the acceptance of {day(before.until_ns)}", short="Then and now", blocks=tuple(blocks)
    )


RATIO = (
    "The intervals of the ratios reach from the far ends of both: where both have one, they hold 95 % at least. A value "
    "without an interval is of one sample; it stands as it is. A share counts as reached where "
    "it is reached at both ends of the figure then, and as missed where it is missed at both."
)


def about(before: Before) -> tuple[tuple[str, str], ...]:
    """Which acceptance it was, in pairs."""
    return (
        ("System", before.system),
        ("Plan", f"{before.plan}: {before.title}"),
        ("Verdict then", before.state),
        ("From, to", f"{day(before.begun_ns)}, {day(before.until_ns)}"),
        ("Directory", before.folder),
        ("SHA-256 of its plan", before.plan_sha256),
        ("SHA-256 of its journal's last entry", before.head),
        ("Made by", f"Shakedown {before.version}"),
    )


def compared(result: Result) -> list[tuple[Tested, Point]]:
    """What was held against a figure then, of each test's newest attempts; the lowest share first within a test."""
    found = []
    for test in result.tests:
        now = [one for one in test.attempts if one.round == len(test.rounds) + 1 and one.counts]
        newest = next((one for one in reversed(now) if any(point.then for point in one.points)), None)
        points = [point for point in newest.points if point.then and point.value is not None] if newest else []
        found += [(test, point) for point in sorted(points, key=lambda one: WORST.index(one.state))]
    return found


def figures(result: Result) -> tuple[tuple[str, str, str, str, str, str], ...]:
    """Each figure then and now, with the ratio and what it came to."""
    rows = []
    for test, point in compared(result):
        assert point.then is not None and point.value is not None
        then = point.then
        whose = f"\nof {ranges(then.hosts)}" if then.hosts else ""
        shares = ratio(point.value, point.low, point.high, then)
        share = "then 0" if shares is None else "{}\n[{}, {}]".format(*(round_to(part, 3) for part in shares))
        name = f"{test.title}\n{point.criterion.split(':')[0]}"
        was = f"{_value(then.value, then.low, then.high, point.unit)}{whose}"
        rows.append(
            (name, point.where, was, _value(point.value, point.low, point.high, point.unit), share, point.state)
        )
    return tuple(rows)


def _value(value: float, low: float | None, high: float | None, unit: str) -> str:
    ends = [show(one, unit) for one in (low, high) if one is not None and one != value]
    return show(value, unit) + (f"\n[{', '.join(ends)}]" if ends else "")


def tests(result: Result, before: Before) -> tuple[tuple[str, str, str, str], ...]:
    """Every test of either plan: what it came to then and now, and whether the same was asked."""
    now, then = {one.id: one for one in result.tests}, {one.id: one for one in before.tests}
    rows = []
    for name in dict.fromkeys((*then, *now)):
        was, is_ = then.get(name), now.get(name)
        title = is_.title if is_ else was.title if was else name
        asked = "not part of it then" if was is None else "not done again" if is_ is None else ""
        if was and is_:
            asked = "the same" if was.criteria == is_.criteria else "\n".join(is_.criteria)
        rows.append((title, was.state if was else "", is_.state if is_ else "", asked))
    return tuple(rows)


def facts(result: Result, before: Before) -> tuple[tuple[str, str, str], ...]:
    """What the hosts told otherwise then than now."""
    if not result.accepted.runs:
        return ()  # nothing was told yet
    then, now = ({one.what: one.found for one in found} for found in (before.facts, result.accepted.facts))
    return tuple(
        (name, then.get(name, "not reported"), now.get(name, "not reported"))
        for name in dict.fromkeys((*then, *now))
        if then.get(name) != now.get(name)
    )


def sentences(result: Result) -> list[str]:
    """What a signatory must know of it, for the first page."""
    if result.before is None:
        return []
    points = [point for _, point in compared(result)]
    reached = sum(point.state == "met" for point in points)
    when = f"the acceptance of {result.before.system} of {day(result.before.until_ns)}"
    left = [one for one in result.before.tests if one.id not in {test.id for test in result.tests}]
    words = [f"{count(len(points), 'figure')} compared with {when}: {reached} reach the share that is asked."]
    words += (
        [f"{count(len(left), 'test')} of then {'was' if len(left) == 1 else 'were'} not done again."] if left else []
    )
    return words
