"""What `shakedown accept` prints: a plan, and how an acceptance stands. Nothing is cut off: long text goes on below."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from ..acceptance.baseline import Baseline
    from ..acceptance.plan import AcceptancePlan, Test
    from ..acceptance.results import Result

#: A last column narrower than this goes below its row.
_NARROW = 32
_MOST_COLUMNS = 140


def columns() -> int:
    """How wide the terminal is; a file gets 100."""
    return min(shutil.get_terminal_size((100, 24)).columns, _MOST_COLUMNS)


def folded(text: str, indent: int, width: int) -> list[str]:
    """Text as lines of at most ``width``, each behind ``indent`` blanks; no word is broken."""
    space = " " * indent
    return textwrap.wrap(
        text,
        max(width, indent + 20),
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Lines of a table whose last column is folded into what is left of ``width``; below its row where that is little."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings) - 1)]
    indent = sum(widths) + 2 * len(widths) + 2
    below = width - indent < _NARROW
    found = []
    for row in (headings, ["-" * size for size in (*widths, len(headings[-1]))], *rows):
        head = "  " + "  ".join(cell.ljust(size) for cell, size in zip(row[:-1], widths, strict=True))
        heading = row is headings or row[-1].startswith("--")
        if below and not heading and len(head) + 2 + len(row[-1]) > width:
            found += [head.rstrip(), *(folded(row[-1], 6, width) if row[-1] else [])]
            continue
        first, *more = [row[-1]] if below else folded(row[-1], indent, width)
        found += [f"{head}  {first.lstrip()}".rstrip(), *more]
    return found


def show_plan(found: AcceptancePlan) -> None:
    """Every requirement in its words, its tests with all of their criteria, and what is still awaited."""
    for line in plan_lines(found, columns()):
        print(line)


def plan_lines(found: AcceptancePlan, width: int) -> list[str]:
    """A plan as lines for a terminal of that width."""
    lines = [found.title, *(folded(found.document, 0, width) if found.document else [])]
    lines += folded(found.summary, 0, width) if found.summary else []
    lines += [f"signed by: {', '.join(found.signatories)}"] if found.signatories else []
    phase = ""
    for one in found.requirements:
        if one.phase != phase:
            phase = one.phase
            lines += ["", phase.upper()]
        page = f"  ({one.page})" if one.page else ""
        lines += ["", f"{one.clause}  {one.id}{page}", *folded(one.text, 4, width)]
        for test in found.tests_of(one):
            if test.requirements[0] == one.id:
                lines += _test_lines(test, width)
            else:
                lines.append(f"  * {test.id}: stands with {found.requirement(test.requirements[0]).clause}")
    return lines


def _test_lines(test: Test, width: int) -> list[str]:
    from ..acceptance import checking
    from ..acceptance import words as words_of

    words = [test.kind, words_of.often(test), *([f"by {test.by}"] if test.by else [])]
    words += [] if test.severity == "mandatory" else [test.severity]
    head = f"{test.id}: {test.title or test.id} ({', '.join(words)})"
    first, *more = folded(head, 4, width)
    lines = [f"  * {first.lstrip()}", *more]
    for one in words_of.criteria(test):
        first, *more = folded(one, 8, width)
        lines += [f"      - {first.lstrip()}", *more]
    if waiting := checking.waits(test):
        lines += folded(f"awaits {waiting}", 6, width)
    return lines


def show(result: Result) -> None:
    """Every requirement with its verdict and why, the tests that are open, and the verdict in a paragraph."""
    for line in result_lines(result, columns()):
        print(line)


def result_lines(result: Result, width: int) -> list[str]:
    """How an acceptance stands, as lines for a terminal of that width."""
    from ..acceptance import page

    rows = [
        (one.clause, one.id, one.state, page.short(page.why(one).replace("\n", "; "), 400))
        for one in result.requirements
    ]
    lines = [f"{result.system}: {result.title}", *table(("clause", "requirement", "verdict", "why"), rows, width)]
    left = [one for one in result.tests if one.state != "met"]
    if left:
        words = [(one.id, one.kind, one.state, str(len(one.attempts)), one.by or "-") for one in left]
        lines += ["", "Open", *table(("test", "kind", "state", "attempts", "by"), words, width)]
    lines.append("")
    for sentence in page.lead(result):
        lines += folded(sentence, 2, width)
    return lines


def plan_again(against: Path, keep: str, tests: Sequence[str] | None, own: str = "") -> tuple[str, Baseline]:
    """The text of the plan by which an acceptance is done again, and its figures; the text of a person's ``own`` plan, where
    there is one. Raises BadInput, Tampered."""
    from ..acceptance import again, checking, directory, earlier

    share = checking.quantity(keep, "1")
    original = directory.open_(against)
    baseline = earlier.of(original)
    if own:
        if tests or share != again.KEEP:
            raise BadInput(
                "a plan of your own says itself which tests there are and what they must reach",
                where="--test, --keep",
                hint=f"shakedown accept show --against {against} > mine.toml makes one from them",
            )
        return checking.load(own)[1], baseline
    return again.text(original, baseline, keep=share, tests=tests or ()), baseline


def pair(word: str, option: str) -> tuple[str, str]:
    """NAME=VALUE. Raises BadInput."""
    name, sign, value = word.partition("=")
    if not sign or not name:
        raise BadInput(f"{word!r} is not NAME=VALUE", where=option, hint="write it as name=value")
    return name, value


def named(by: str, reason: str) -> None:
    """Whoever decides something gives a name and a reason."""
    missing = [name for name, value in (("--by", by), ("--reason", reason)) if not value.strip()]
    if missing:
        raise BadInput("somebody must answer for it", hint=f"give {' and '.join(missing)}")
