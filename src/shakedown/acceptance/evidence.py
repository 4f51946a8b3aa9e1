"""Which file is whose evidence: attempt by attempt, what sessions share, what was given up, and every plan. Pure."""

from __future__ import annotations

from . import amending, directory
from .directory import Acceptance
from .journal import Abandoned, Amended, Attempt, Begun, Entry, Sealed, Session
from .results import Amendment, Evidence


def folders(entry: Attempt) -> tuple[str, ...]:
    """Where an attempt's own evidence lies: its runs in a session's folder, or the folder of its own."""
    return tuple(f"{entry.folder}/runs/{run}" for run in entry.runs) or (entry.folder,)


def by_attempt(acceptance: Acceptance) -> tuple[Evidence, ...]:
    """All files that were sealed, in the order of the journal, under whose they are."""
    tests = {one.folder: one.tests for one in acceptance.entries if isinstance(one, Session)}
    return tuple(
        Evidence(owner=_owner(acceptance, one, tests), files=one.files)
        for one in acceptance.entries
        if isinstance(one, (Begun, Amended, Attempt, Sealed, Abandoned)) and one.files
    )


def _owner(acceptance: Acceptance, entry: Entry, tests: dict[str, tuple[str, ...]]) -> str:
    match entry:
        case Attempt():
            number = directory.number_of(acceptance.entries, entry)
            about = f" ({entry.subject})" if entry.subject else ""
            gone = "" if any(one.id == entry.test for one in acceptance.plan.tests) else ", no longer in the plan"
            return f"{entry.test}, attempt {number}{about}{gone}"
        case Sealed():
            return f"{entry.folder}: shared by {', '.join(tests.get(entry.folder, ()))}"
        case Abandoned():
            return f"{entry.folder}: given up ({', '.join(tests.get(entry.folder, ()))})"
        case Amended():
            return f"the plan as amended by {entry.by}, and the one before it"
    return "contracts that the plan refers to"


def amendments(acceptance: Acceptance) -> tuple[Amendment, ...]:
    """Every change of the plan, with what became otherwise and the tests that it took out."""
    found = []
    entries = [one for one in acceptance.entries if isinstance(one, Amended)]
    for entry, (_, before), (_, after) in zip(entries, acceptance.plans, acceptance.plans[1:], strict=False):
        kept = {one.id for one in after.tests}
        gone = [one.id for one in before.tests if one.id not in kept]
        found.append(
            Amendment(
                by=entry.by,
                reason=entry.reason,
                time_ns=entry.time_ns,
                plan_sha256=entry.plan_sha256,
                replaced_sha256=entry.replaced_sha256,
                changed=amending.changes(before, after),
                dropped=tuple(f"{name}: {_attempts(acceptance, entry, name)}" for name in gone),
            )
        )
    return tuple(found)


def _attempts(acceptance: Acceptance, until: Amended, test: str) -> str:
    mine = [one for one in acceptance.entries if isinstance(one, Attempt) and one.test == test]
    places = [place for one in mine if one.number < until.number for place in folders(one)]
    return f"attempts in {', '.join(places)}" if places else "never done"
