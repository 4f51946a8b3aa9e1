"""The report as a PDF to be signed, typeset by typst from ``report.typ`` and the report's data.

All text goes to typst as data, never as markup. Only the fonts that typst carries are used, and no time is written into
the file: the same report gives the same bytes on every machine.
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from ..document.text import day, without_controls
from ..errors import CannotMeasure
from . import page, page_accepted, page_again
from .results import Required, Result, Tested, Tried

_MOST_POINTS = 25


def render(result: Result, content_sha256: str) -> bytes:
    """The PDF. Raises CannotMeasure where typst is not installed or refuses."""
    try:
        import typst
    except ImportError:
        raise CannotMeasure(
            "the PDF needs typst, which is not installed", hint="pip install typst, or leave pdf out of --format"
        ) from None
    template = resources.files("shakedown.acceptance").joinpath("report.typ").read_bytes()
    with tempfile.TemporaryDirectory(prefix="shakedown-") as name:
        folder = Path(name)
        (folder / "report.typ").write_bytes(template)
        (folder / "report.json").write_bytes(msgspec.json.encode(_clean(data(result, content_sha256))))
        try:
            made = typst.compile(
                folder / "report.typ", root=folder, ignore_system_fonts=True, timestamp=0, format="pdf"
            )
        except typst.TypstError as error:
            raise CannotMeasure(
                f"typst could not set the report: {error}", hint="use the HTML report, and report this to the authors"
            ) from None
    assert isinstance(made, bytes)
    return made


def _clean(value: Any) -> Any:
    """The same without control characters, which a command may have printed."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, dict):
        return {name: _clean(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    return value


def data(result: Result, content_sha256: str) -> dict[str, Any]:
    """What the template shows, all of it as words."""
    tests = {one.id: one for one in result.tests}
    home = {name: one.clause for one in result.requirements for name in one.at_home}
    roles = [*result.signatories, *(role for role in result.parties if role not in result.signatories)]
    return {
        "system": result.system,
        "title": result.title,
        "document": result.document,
        "summary": result.summary,
        "plan": result.plan,
        "plan_sha256": result.plan_sha256,
        "content_sha256": content_sha256,
        "head": result.head,
        "entries": result.entries,
        "version": result.version,
        "begun": day(result.begun_ns),
        "until": day(result.until_ns),
        "state": result.state,
        "counts": [[state, number] for state, number in result.counts().items()],
        "lead": list(page.lead(result)),
        "open": [
            [title, [[one.clause, one.text, page.short(one.reason, 200)] for one in named]]
            for title, named in page.open_groups(result)
        ],
        "waived": [
            [one.clause, one.waiver.by, one.waiver.reason] for one in result.requirements if one.waiver is not None
        ],
        "parties": [[role.capitalize(), result.parties.get(role, "")] for role in roles],
        "requirements": [_requirement(one, tests, home) for one in result.requirements],
        "faults": [[one.path, one.what, one.clauses or "all"] for one in result.faults],
        "files": sum(len(one.files) for one in result.evidence),
        "evidence": [
            [one.owner, [[file.path, f"{file.bytes:,}", file.sha256] for file in one.files]] for one in result.evidence
        ],
        "rehearsal": result.accepted.rehearsal,
        "accepted": [list(row) for row in page_accepted.facts(result)],
        "disturbance": list(page_accepted.disturbance(result)),
        "amendments": [list(row) for row in page_accepted.amendments(result)],
        "again": _again(result),
        "notes": page_accepted.sentences(result),
    }


def _again(result: Result) -> dict[str, Any]:
    """What stands beside the acceptance that is repeated; empty where none is."""
    if result.before is None:
        return {}
    rows = page_again.figures(result)
    return {
        "when": day(result.before.until_ns),
        "about": [list(pair) for pair in page_again.about(result.before)],
        "figures": [[cell.split("\n") for cell in row] for row in rows[:_MOST_POINTS]],
        "rest": f"{len(rows) - _MOST_POINTS:,} more: in the JSON file." if len(rows) > _MOST_POINTS else "",
        "how": page_again.RATIO,
        "tests": [list(row[:3]) for row in page_again.tests(result, result.before)],
        "facts": [list(row) for row in page_again.facts(result, result.before)],
    }


def _requirement(one: Required, tests: dict[str, Tested], home: dict[str, str]) -> dict[str, Any]:
    return {
        "id": one.id,
        "clause": one.clause,
        "text": one.text,
        "page": one.page,
        "phase": one.phase,
        "severity": one.severity,
        "state": one.state,
        "shown": one.shown,
        "reason": page.short(one.reason),
        "waiver": [one.waiver.by, day(one.waiver.time_ns), one.waiver.reason] if one.waiver else None,
        "tests": [_test(tests[name]) for name in one.at_home],
        "elsewhere": [
            [tests[name].title, tests[name].state, home[name]] for name in one.tests if name not in one.at_home
        ],
    }


def _test(test: Tested) -> dict[str, Any]:
    return {
        "title": test.title,
        "state": test.state,
        "reason": page.reason_beside(test),
        "steps": list(test.steps),
        "facts": [list(pair) for pair in page.facts_of(test) if not pair[0].startswith("Criteri")],
        "criteria": list(test.criteria),
        "attempts": [_attempt(one, test) for one in test.attempts],
        "rounds": list(page.rounds_of(test)),
    }


def _attempt(tried: Tried, test: Tested) -> dict[str, Any]:
    name, when, who, state, seen, folder = page.attempt_row(tried, test)
    shown, rest = page.worst_first(tried.points, _MOST_POINTS)
    return {
        "name": name,
        "when": when,
        "who": who.replace("\n", ", "),
        "state": state,
        "seen": seen.split("\n"),
        "folders": folder.split("\n"),
        "circumstances": [list(pair) for pair in tried.circumstances],
        "points": [
            [one.criterion, page.place_of(one, tried), one.found, page.spread_of(one), one.state] for one in shown
        ],
        "rest": rest,
        "observed": [list(pair) for pair in tried.observed],
        "attached": [list(pair) for pair in tried.attached],
    }
