"""What every aspect of the EE HPC WG's rules looks at, and how it tells what it saw and which rules fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ...records import Record
from .measured import Coverage, Total
from .rules import Level, Rules
from .soundness import Unsound
from .stamps import Window
from .submission import MeteredFeed, Submission


class Failure(Record, frozen=True, kw_only=True):
    """One rule that one level asks and the submission does not meet."""

    rule: str
    level: int
    text: str  # what was found, with its numbers
    needs: str  # what would meet it: follows "Level 2 needs"


class Case(NamedTuple):
    """A submission with everything worked out that the rules look at."""

    submission: Submission
    rules: Rules
    windows: Mapping[str, Window]
    feeds: tuple[MeteredFeed, ...]
    core: Total
    counter_core: Total | None
    run: Total | None
    idle: Total | None
    coverage: Mapping[tuple[str, str], Coverage]
    unsound: tuple[Unsound, ...] = ()

    def level(self, level: int) -> Level:
        return self.rules.levels[level - 1]

    def is_counter(self, feed: MeteredFeed) -> bool:
        return self.submission.traces[feed.channel].channel.quantity == "energy"


#: So many feeds that fail one rule are told one by one; of the others, how many.
TOLD = 3


class AspectFindings:
    """Collects what one aspect saw at one level. What is said of several feeds in the same words is said once."""

    def __init__(self, level: int) -> None:
        self.level = level
        self._evidence: dict[str, list[str]] = {}
        self._failed: dict[str, list[Failure]] = {}

    def saw(self, text: str, feed: str = "") -> None:
        """``feed``: whose it is; feeds that share the text are named before it."""
        self._evidence.setdefault(text, []).extend([feed] if feed else [])

    def fail(self, rule: str, text: str, needs: str) -> None:
        self._failed.setdefault(rule, []).append(Failure(rule=rule, level=self.level, text=text, needs=needs))

    def result(self) -> tuple[list[str], list[Failure]]:
        evidence = [f"{names_of(feeds)}: {text}" if feeds else text for text, feeds in self._evidence.items()]
        failed = []
        for found in self._failed.values():
            told, more = found[:TOLD], len(found) - TOLD
            if more > 0:
                told[-1] = msgspec.structs.replace(told[-1], text=f"{told[-1].text} (and {more} more like it)")
            failed += told
        return evidence, failed


def names_of(feeds: list[str]) -> str:
    return ", ".join(feeds[:TOLD]) + (f" and {len(feeds) - TOLD} more" if len(feeds) > TOLD else "")
