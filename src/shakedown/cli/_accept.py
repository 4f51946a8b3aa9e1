"""What `shakedown accept` prints: a plan, and how an acceptance stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import common

if TYPE_CHECKING:
    from ..acceptance.plan import Plan
    from ..acceptance.results import Result


def show_plan(found: Plan) -> None:
    """Requirements, tests, and what is still awaited."""
    from ..acceptance import checking, judging

    print(f"{found.title}\n{found.document}".rstrip())
    requirements = [
        (one.clause, one.id, ", ".join(test.id for test in found.tests_of(one)), one.text[:60])
        for one in found.requirements
    ]
    common.print_table(("clause", "requirement", "tests", "text"), requirements, "Requirements")
    tests = [
        (test.id, test.kind, judging.often(test), test.severity, "; ".join(judging.criteria(test))[:70])
        for test in found.tests
    ]
    common.print_table(("test", "kind", "how often", "severity", "criteria"), tests, "Tests")
    waiting = [(test.id, checking.waits(test)) for test in found.tests if checking.waits(test)]
    if waiting:
        common.print_table(("test", "awaits"), waiting, "Not measured yet")


def show(result: Result) -> None:
    """Every requirement with its verdict, the tests that are open, and the verdict in a paragraph."""
    from ..acceptance import page

    rows = [(one.clause, one.id, one.state, page.why(one).replace("\n", "; ")[:100]) for one in result.requirements]
    common.print_table(("clause", "requirement", "verdict", "why"), rows, f"{result.system}: {result.title}")
    left = [one for one in result.tests if one.state != "met"]
    if left:
        common.print_table(
            ("test", "kind", "state", "done", "by"),
            [(one.id, one.kind, one.state, str(len(one.attempts)), one.by) for one in left],
            "Open",
        )
    print()
    for sentence in page.lead(result):
        print(f"  {sentence}")
