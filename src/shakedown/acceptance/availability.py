"""The test of kind `availability`: a history of the machine, judged by a contract, in a report that is the evidence.

The contract is copied and sealed when the acceptance begins, so that nobody changes it afterwards; what files tell is copied
into the evidence of each attempt. `shakedown availability report` judges; here its verdict is put beside what the plan asks.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Container, Iterator
from pathlib import Path

import msgspec

from .. import strict
from ..document.text import day
from ..errors import COULD_NOT_MEASURE, BadInput, StoreFailed
from ..files import atomic
from ..operate.availability import contract as contracts
from ..operate.availability.records import AvailabilityReport
from ..results.outcome import last_line
from ..units import show
from .plan import AcceptancePlan, AvailabilityTest
from .results import Point

FOLDER, CONTRACT = "contracts", "contract.toml"
_ASKED = "slurm"  # asked live; every other source is a file


def contract_file(test: AvailabilityTest) -> str:
    """Where the copy of a test's contract lies, below the acceptance directory."""
    return f"{FOLDER}/{test.id}.toml"


def contract_text(word: str) -> str:
    """The text of a contract that is right. Raises BadInput."""
    contracts.load(word)
    path = Path(word) if word.endswith(".toml") or "/" in word else contracts.FOLDER / f"{word}.toml"
    return path.read_text(encoding="utf-8")


def keep_contracts(root: Path, plan: AcceptancePlan, but: Container[str] = ()) -> list[Path]:
    """Copy the contracts of a plan's tests; the files, for their seals. ``but``: tests whose copies stay as they are.
    Raises BadInput, StoreFailed."""
    kept = []
    for test in plan.tests:
        if isinstance(test, AvailabilityTest) and test.id not in but:
            path = root / contract_file(test)
            path.parent.mkdir(exist_ok=True)
            atomic.write(path, contract_text(test.contract))
            kept.append(path)
    return kept


def _source(number: int, source: str) -> str:
    """What a source is called in the evidence: its content is told by its beginning, and CSV by its name."""
    return source if source == _ASKED else f"source-{number}{Path(source).suffix}"


def command(test: AvailabilityTest) -> tuple[str, ...]:
    """What is started, in the folder of the evidence, where the contract and the sources were copied to."""
    words = [sys.executable, "-m", "shakedown", "availability", "report", "--json", "--explain"]
    words += ["--contract", CONTRACT]
    for number, source in enumerate(test.source, 1):
        words += ["--from", _source(number, source)]
    if test.jobs:
        words += ["--jobs", test.jobs if test.jobs == "none" else f"jobs{Path(test.jobs).suffix}"]
    for name in ("begin", "nodes", "zone"):
        words += [f"--{name}", getattr(test, name)] if getattr(test, name) else []
    return tuple(words)


def keep_sources(root: Path, test: AvailabilityTest, folder: Path) -> None:
    """Copy the contract and the files that are read into the evidence. Raises BadInput."""
    pairs = [(str(root / contract_file(test)), CONTRACT)]
    pairs += [(one, _source(number, one)) for number, one in enumerate(test.source, 1) if one != _ASKED]
    pairs += [(test.jobs, f"jobs{Path(test.jobs).suffix}")] if test.jobs not in ("", "none") else []
    for path, name in pairs:
        try:
            shutil.copyfile(path, folder / name)
        except OSError as error:
            raise BadInput(
                f"cannot be read: {error.strerror}", where=path, hint=f"the source of test {test.id!r}"
            ) from None


def points(test: AvailabilityTest, exit_code: int | None, timed_out: bool, folder: Path) -> tuple[Point, ...]:
    """The verdict of the report that the attempt left, with the judged window, its level and what was left out."""
    criterion = f"availability by the contract {test.contract}"
    try:
        told = msgspec.json.decode((folder / "stdout").read_bytes(), type=AvailabilityReport)
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(folder / "stdout")) from None
    except strict.UNREADABLE:
        why = f"it did not end within {test.time_limit}" if timed_out else _last(folder / "stderr")
        return (Point(criterion=criterion, found=why or f"exit code {exit_code}", state="not measured"),)
    if exit_code == COULD_NOT_MEASURE or not told.nodes:
        return (Point(criterion=criterion, found="no node was observed", state="not measured"),)
    judged = told.judged or told.whole
    return (
        Point(
            criterion=f"{told.title}: at least {show(told.target, '%', 4)}",
            found="; ".join(_words(told)),
            state=told.verdict,
            source=told.source,
            value=judged.level if judged else None,
            low=judged.low if judged else None,
            high=judged.high if judged else None,
            unit="%",
        ),
    )


def _last(path: Path) -> str:
    try:
        return last_line(path.read_bytes())
    except OSError:
        return ""


def _words(told: AvailabilityReport) -> Iterator[str]:
    """The reasons, then which window was judged, and how maintenance was taken."""
    yield from told.reasons
    if told.judged:
        yield f"judged window: {day(told.judged.begin_s * 10**9)} to {day(told.judged.end_s * 10**9)}"
    yield from _maintenance(told)


def _maintenance(told: AvailabilityReport) -> Iterator[str]:
    """What the contract left out and what it did not, with the hours: announced or not, a reader sees what it did."""
    applied = [one for one in told.exclusions if not one.refused]
    refused = [one for one in told.exclusions if one.refused]
    for rule in dict.fromkeys(one.rule for one in applied):
        mine = [one for one in applied if one.rule == rule]
        hours = sum(one.scheduled_h if one.treat == "not scheduled" else one.forgiven_h for one in mine)
        treat = "taken out of the scheduled time" if mine[0].treat == "not scheduled" else "counted as up"
        yield f"{rule}: {hours:,.1f} {'processor-' * (told.counting == 'processors')}hours {treat}"
    yield from (f"{one.rule} does not hold for {one.what or one.nodes}: {one.refused}" for one in refused[:3])
    lost = sum(one.lost_h for one in told.causes if one.scheduled)
    if lost > 0:
        yield f"{lost:,.1f} hours of scheduled maintenance in the whole history count as lost: the contract leaves them in"
    elif not told.exclusions:
        yield "no maintenance was left out"
