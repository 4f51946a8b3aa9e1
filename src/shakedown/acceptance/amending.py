"""A plan changed after its acceptance began: by name, with a reason, sealed in the journal.

Evidence of tests that stay as they are stays. A test is otherwise where anything but its words is: what it had shown before
stays in the record, judged by the plan that was in force then, and counts no more. Plans are never overwritten.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import msgspec

from ..errors import BadInput
from ..files import atomic
from . import availability, baseline, checking, directory, sealing
from .journal import Amended
from .plan import AcceptancePlan, Test

_WORDS = ("title", "note", "by")  # of a test: how it is spoken of, not what it is


def amend(root: Path, name: str, *, by: str, reason: str) -> Amended:
    """Put another plan in force. Raises BadInput where nothing is otherwise, or a session is under way."""
    directory.refuse_if_others_write(root)
    plan, text = checking.load(name)
    with directory.writing(root) as (acceptance, book):
        session = directory.open_session(acceptance.entries)
        if session:
            raise BadInput(
                f"{session.folder} is under way, by the plan as it is",
                where=str(root),
                hint=f"shakedown accept run {root} continues it; shakedown accept abandon {root} gives it up",
            )
        baseline.refuse_without_earlier(plan, acceptance.baseline)
        before = acceptance.plan
        if not changes(before, plan):
            raise BadInput("this is the plan as it is", where=name, hint="change what was agreed, then amend")
        file = f"plan-{len(acceptance.plans) + 1}.toml"
        atomic.write(root / file, text)
        (root / file).chmod((root / file).stat().st_mode & ~0o022)
        current = acceptance.amendments[-1].plan if acceptance.amendments else sealing.PLAN
        replaced = root / current
        added = availability.keep_contracts(root, plan, but=touched_not(before, plan))
        written = book.append(
            Amended(
                by=by,
                reason=reason,
                plan=file,
                plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
                replaced_sha256=hashlib.sha256(replaced.read_bytes()).hexdigest(),
                plan_source=Path(name).name,
                tests=touched(before, plan),
                files=sealing.seal(root, (replaced, root / file, *added)),
            ),
            time.time_ns(),
        )
    assert isinstance(written, Amended)
    return written


def is_otherwise(before: Test, after: Test) -> bool:
    """Whether anything but the words of a test is otherwise."""
    same = dict.fromkeys(_WORDS, "")
    return bool(msgspec.structs.replace(before, **same) != msgspec.structs.replace(after, **same))


def touched(before: AcceptancePlan, after: AcceptancePlan) -> tuple[str, ...]:
    """The tests of the old plan that are otherwise in the new one, or no longer in it."""
    new = {one.id: one for one in after.tests}
    return tuple(one.id for one in before.tests if one.id not in new or is_otherwise(one, new[one.id]))


def touched_not(before: AcceptancePlan, after: AcceptancePlan) -> frozenset[str]:
    """The tests that both plans have alike: what was copied for them stays."""
    changed = set(touched(before, after))
    return frozenset(one.id for one in before.tests if one.id not in changed)


def changes(before: AcceptancePlan, after: AcceptancePlan) -> tuple[str, ...]:
    """What became otherwise, in words; empty where both plans say the same."""
    old, new = {one.id: one for one in before.tests}, {one.id: one for one in after.tests}
    words = [f"test {name} removed" for name in old if name not in new]
    words += [f"test {name} added" for name in new if name not in old]
    for name in old:
        if name in new and old[name] != new[name]:
            words.append(f"test {name}: {_how(old[name], new[name])}")
    was, now = ({one.id: one for one in plan.requirements} for plan in (before, after))
    words += [f"requirement {name} ({was[name].clause}) removed" for name in was if name not in now]
    words += [f"requirement {name} ({now[name].clause}) added" for name in now if name not in was]
    words += [
        f"requirement {name} ({was[name].clause}) reworded" for name in was if name in now and was[name] != now[name]
    ]
    rest = ("name", "title", "document", "summary", "signatories")
    words += [f"{name} changed" for name in rest if getattr(before, name) != getattr(after, name)]
    return tuple(words)


def _how(before: Test, after: Test) -> str:
    """``command, awaits``: the keys that are otherwise; those that are only words are called so."""
    if type(before) is not type(after):
        return f"kind {before.kind} is now {after.kind}"
    if checking.waits(before) and not checking.waits(after):
        return "what it waited for was filled in"
    fields = msgspec.structs.fields(type(before))
    names = [one.encode_name for one in fields if getattr(before, one.name) != getattr(after, one.name)]
    return ", ".join(names) if is_otherwise(before, after) else f"reworded ({', '.join(names)})"
