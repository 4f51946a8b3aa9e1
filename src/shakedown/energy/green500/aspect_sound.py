"""Whether the readings can be right at all, before any rule is asked: a meter that measures nothing meets none."""

from __future__ import annotations

from .aspect_case import AspectFindings, Case, Failure, names_of
from .soundness import Unsound


def sound(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """0: every feed that counts has a trace that can be right (``soundness``); what is wrong with several is said once."""
    found = AspectFindings(level)
    if not case.unsound:
        found.saw(f"nothing is wrong with the readings of {len(case.feeds)} feeds, as far as they show")
    for text, feeds in told(case.unsound).items():
        code = next(one.code for one in case.unsound if one.feed == feeds[0])
        found.fail(f"0.{code}", f"{names_of(feeds)}: {text}", "readings that can be right of every feed that counts")
    return found.result()


def told(unsound: tuple[Unsound, ...]) -> dict[str, list[str]]:
    """What is wrong, each with the feeds of which it holds in the same words."""
    out: dict[str, list[str]] = {}
    for one in unsound:
        out.setdefault(f"{one.reason}; {one.effect}", []).append(one.feed)
    return out
