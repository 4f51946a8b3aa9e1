"""The acceptance report as a Document: what every format says. HTML and markdown are those of report/."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ..document.model import Block, Column, Document, Facts, Section, Table, Text
from ..document.text import count, day, ranges
from . import page_accepted, page_again
from .results import Point, Required, Result, Tested, Tried

_MOST_POINTS = 40


def lead(result: Result) -> tuple[str, ...]:
    """The verdict in a paragraph: how many, and by their clauses those that keep it from met, with what keeps them."""
    numbers = result.counts()
    total = len(result.requirements)
    parts = [f"{number} {state}" for state, number in numbers.items()]
    words = [f"{count(total, 'requirement')}: {', '.join(parts)}."]
    words += page_accepted.sentences(result)
    words += [f"{title}: {_clauses(named)}." for title, named in open_groups(result)]
    for one in result.requirements:
        if one.waiver:
            words.append(f"Clause {one.clause} was waived by {one.waiver.by}.")
    if result.faults:
        words.append(
            f"{count(len(result.faults), 'file')} of the evidence {'is' if len(result.faults) == 1 else 'are'} not as "
            "sealed: verdicts that rest on them are undecided."
        )
    return tuple(words)


def open_groups(result: Result) -> list[tuple[str, list[Required]]]:
    """The requirements that are neither met nor waived, by what keeps them: the worst first."""
    tests = {one.id: one for one in result.tests}

    def kept_by(one: Required) -> str:
        if one.state != "not measured":
            return one.state.capitalize()
        mine = [tests[name] for name in one.tests if tests[name].state == "not measured"]
        if any(test.attempts for test in mine):
            return "Could not be measured"
        return (
            "Waiting for what is missing" if any(test.reason.startswith("awaits ") for test in mine) else "Not done yet"
        )

    order = ("Not met", "Undecided", "Could not be measured", "Waiting for what is missing", "Not done yet")
    groups: dict[str, list[Required]] = {title: [] for title in order}
    for one in result.requirements:
        if one.state not in ("met", "waived"):
            groups[kept_by(one)].append(one)
    return [(title, named) for title, named in groups.items() if named]


def _clauses(named: Sequence[Required], most: int = 12) -> str:
    """``clauses 3.3 (1), 3.3 (2) and 4 others``."""
    more = len(named) - most
    words = ", ".join(one.clause for one in named[:most]) + (f" and {more} others" if more > 0 else "")
    return f"clause{'s' * (len(named) > 1)} {words}"


def document(result: Result, content_sha256: str) -> Document:
    """The whole report."""
    tests = {one.id: one for one in result.tests}
    sections = [
        _summary(result),
        *filter(None, (page_again.section(result),)),
        page_accepted.section(result, content_sha256),
    ]
    if result.faults:
        sections.append(_faults(result))
    sections += [_requirement(one, tests) for one in result.requirements]
    sections.append(_evidence(result))
    return Document(
        title=f"Acceptance of {result.system}",
        subtitle=f"{result.title}; as of {day(result.until_ns)}",
        state=result.state,
        counts=tuple(result.counts().items()),
        lead=lead(result),
        sections=tuple(sections),
        footer=f"Content of this report: SHA-256 {content_sha256}. Journal: {result.entries} entries, the last "
        f"{result.head}. Made by Shakedown {result.version} from the evidence alone.",
        rows_in="report.json",
    )


def _summary(result: Result) -> Section:
    rows = tuple(
        (
            one.clause,
            f"{one.text}\n{one.severity}" if one.severity != "mandatory" else one.text,
            one.state,
            short(why(one)),
        )
        for one in result.requirements
    )
    columns = (Column("Clause", "note"), Column("Requirement"), Column("Verdict", "state"), Column("Why"))
    table = Table(title="Requirements", columns=columns, rows=rows)
    return Section(id="summary", title="Requirements and verdicts", short="Verdicts", blocks=(table,))


def why(one: Required) -> str:
    """Why a requirement stands as it does."""
    if one.waiver:
        return f"by {one.waiver.by}: {one.waiver.reason}\nits tests: {one.shown}"
    return one.reason


def short(words: str, most: int = 240) -> str:
    """Words that fit into a cell of a summary; all of them stand with the requirement."""
    if len(words) <= most:
        return words
    kept = words[: most - 4]
    return f"{kept.rsplit(' ', 1)[0].rstrip(' ,;:(')} ..."


def _faults(result: Result) -> Section:
    rows = tuple((one.path, one.what, one.clauses or "all") for one in result.faults)
    columns = (Column("File", "code"), Column("What was found"), Column("Concerns"))
    table = Table(title="Files that are not as the journal says", columns=columns, rows=rows)
    return Section(
        id="faults", title="Evidence that does not hold", short="Evidence that does not hold", blocks=(table,)
    )


def _requirement(one: Required, tests: dict[str, Tested]) -> Section:
    pairs = [("Verdict", one.state), ("Severity", one.severity)]
    if one.page:
        pairs.append(("In the document", one.page))
    if one.waiver:
        pairs += [
            ("Waived by", one.waiver.by),
            ("On", day(one.waiver.time_ns)),
            ("Because", one.waiver.reason),
            ("Its tests show", one.shown),
        ]
    blocks: list[Block] = [Text(text=one.text), Facts(pairs=tuple(pairs))]
    for name in one.tests:
        elsewhere = (
            f"{tests[name].title}: {tests[name].state}. This test is shown with the first requirement that it is for."
        )
        blocks += _test(tests[name]) if name in one.at_home else [Text(text=elsewhere)]
    slug = re.sub(r"[^a-z0-9]+", "-", one.id.lower()).strip("-")
    return Section(id=f"clause-{slug}", title=f"{one.clause} {one.id}", short=one.clause, blocks=tuple(blocks))


def reason_beside(test: Tested) -> str:
    """Why a test stands as it does, but for what its attempts say themselves."""
    return "" if test.attempts and test.reason.startswith("attempt ") else test.reason


def facts_of(test: Tested) -> tuple[tuple[str, str], ...]:
    """What a test is, in pairs."""
    pairs = [("How", test.how), ("How often", test.often), ("By whom", test.by or "not named")]
    if test.severity != "mandatory":
        pairs.append(("Severity", test.severity))
    if test.criteria:
        pairs.append(("Criteria" if len(test.criteria) > 1 else "Criterion", ";\n".join(test.criteria)))
    if test.note:
        pairs.append(("Note", test.note))
    return tuple(pairs)


def _test(test: Tested) -> list[Block]:
    pairs = (("Verdict", f"{test.state}: {test.reason}"), *facts_of(test))
    blocks: list[Block] = [Facts(title=f"{test.title}: {test.state}", pairs=pairs)]
    if test.steps:
        rows = tuple((str(number), step) for number, step in enumerate(test.steps, 1))
        blocks.append(Table(title="Steps", columns=(Column("Step", "note"), Column("What to do")), rows=rows))
    if test.attempts:
        seen = (Column("State", "state"), Column("What was seen"), Column("Evidence", "code"))
        columns = (Column("Attempt"), Column("When", "note"), Column("By"), *seen)
        attempts = tuple(attempt_row(one, test) for one in test.attempts)
        blocks.append(Table(title="Attempts", columns=columns, rows=attempts))
    blocks += [Text(text=words) for words in rounds_of(test)]
    for tried in test.attempts:
        if len(tried.points) > 1 or tried.observed or tried.attached or tried.circumstances:
            blocks += _details(tried)
    return blocks


def rounds_of(test: Tested) -> tuple[str, ...]:
    """Why a test was done anew, and which sessions that were to do it were given up."""
    return (
        *(f"Repeated on {day(one.time_ns)} by {one.by}: {one.reason}" for one in test.rounds),
        *(
            f"Given up on {day(one.time_ns)}: the session {one.folder}, with {count(one.runs, 'result')}, by {one.reason}"
            for one in test.given_up
        ),
    )


def attempt_row(one: Tried, test: Tested) -> tuple[str, str, str, str, str, str]:
    """One attempt as a row of a table."""
    name = f"{one.number}" + (f" ({one.subject})" if one.subject else "")
    if test.rounds:
        name += f", round {one.round}"
    who = one.by
    who += f"\nwitness: {one.witness}" if one.witness else ""
    met = sum(point.state == "met" for point in one.points)
    seen = one.reason or f"{met} of {len(one.points)} criteria met"
    if not one.reason and len(one.points) == 1:
        seen = f"{one.points[0].criterion}: {one.points[0].found}"
    if len(one.points) == 1 and one.points[0].check:
        seen += f"\nchecked: {one.points[0].check}"
    if one.failure:
        seen += f"\nClassified as {one.failure} by {one.classified_by}: {one.classified_why}"
        seen += "" if one.counts else " (set aside)"
    if one.disturbed:
        seen += f"\n{one.disturbed} of {count(one.runs, 'run')} disturbed: {one.disturbance}"
    return (name, day(one.end_ns), who, one.state, seen, "\n".join(one.folders or (one.folder,)))


def merged(points: Sequence[Point]) -> list[Point]:
    """The points, with those as one that say the same of several hosts: the same criterion, the same words, no number."""
    groups: dict[tuple[str, str, str, str], list[Point]] = {}
    for index, one in enumerate(points):
        own = "" if one.value is None and one.where else str(index)
        groups.setdefault((one.criterion, one.found, one.state, own), []).append(one)
    return [
        group[0] if len(group) == 1 else msgspec.structs.replace(group[0], where=ranges(one.where for one in group))
        for group in groups.values()
    ]


def worst_first(points: Sequence[Point], most: int = _MOST_POINTS) -> tuple[list[Point], str]:
    """The points that a reader must see, those that are not met first, and how many are left out."""
    order = {"not met": 0, "not measured": 1, "undecided": 2, "met": 3}
    ranked = sorted(merged(points), key=lambda one: order[one.state])
    rest = ranked[most:]
    met = sum(one.state == "met" for one in rest)
    return ranked[:most], f"{len(rest):,} more, {met:,} of them met: in the JSON file." if rest else ""


def place_of(point: Point, tried: Tried) -> str:
    """Where a point was found, but for what the attempt says itself."""
    return "" if point.where == tried.subject else point.where


def spread_of(point: Point) -> str:
    """From how much a value was made."""
    if not point.samples:
        return ""
    return f"{count(point.samples, 'sample')} of {count(point.runs, 'run')}"


def _filled(title: str, columns: tuple[Column, ...], rows: tuple[tuple[str, ...], ...], caption: str) -> Table:
    """A table without the columns in which nothing stands."""
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    return Table(
        title=title,
        columns=tuple(columns[index] for index in used),
        rows=tuple(tuple(row[index] for index in used) for row in rows),
        caption=caption,
    )


def _details(tried: Tried) -> list[Block]:
    shown, caption = worst_first(tried.points)
    blocks: list[Block] = []
    if len(tried.points) > 1:
        told = (Column("Criterion"), Column("Where"), Column("Found"), Column("From", "note"), Column("State", "state"))
        rows = tuple(
            (
                f"{one.criterion}\n{one.source}" if one.source else one.criterion,
                place_of(one, tried),
                f"{one.found}\nchecked: {one.check}" if one.check else one.found,
                spread_of(one),
                one.state,
            )
            for one in shown
        )
        blocks.append(_filled(f"Attempt {tried.number}: criteria", told, rows, caption))
    if tried.circumstances:
        blocks.append(Facts(title=f"Attempt {tried.number}: measured at", pairs=tried.circumstances))
    if tried.observed or tried.attached:
        pairs = (*tried.observed, *((f"Attached: {title}", path) for title, path in tried.attached))
        blocks.append(Facts(title=f"Attempt {tried.number}: observed", pairs=pairs))
    return blocks


def _evidence(result: Result) -> Section:
    files = [file for one in result.evidence for file in one.files]
    size = sum(one.bytes for one in files)
    tables = tuple(
        Table(
            title=one.owner,
            columns=(Column("File", "code"), Column("Bytes", "number"), Column("SHA-256", "code")),
            rows=tuple((file.path, f"{file.bytes:,}", file.sha256) for file in one.files),
            folded=len(one.files) > 4,
        )
        for one in result.evidence
    )
    words = Text(
        text=f"{count(len(files), 'file')}, {size:,} bytes, attempt by attempt. `shakedown accept verify` compares each "
        "with its checksum, and names what was changed, removed or added."
    )
    return Section(id="evidence", title="Annex: evidence", short="Evidence", blocks=(words, *tables))
