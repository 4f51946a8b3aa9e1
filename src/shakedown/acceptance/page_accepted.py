"""What was accepted, the second page of the report: the machine, its software, what disturbed it, the plan."""

from __future__ import annotations

from ..document.model import Block, Column, Facts, Section, Table, Text
from ..document.text import count, day
from . import page_again
from .results import Result


def sentences(result: Result) -> list[str]:
    """What a signatory must know of how the evidence came about, in sentences for the first page."""
    told, words = result.accepted, []
    if told.rehearsal:
        words.append(f"This is a rehearsal: {told.rehearsal}.")
    if told.disturbed:
        words.append(f"{told.disturbed} of {count(told.runs, 'run')} were disturbed while they measured.")
    if result.amendments:
        words.append(f"The plan was amended {count(len(result.amendments), 'time')} after the acceptance began.")
    given_up = {one.folder: one for test in result.tests for one in test.given_up}
    if given_up:
        runs = sum(one.runs for one in given_up.values())
        words.append(f"{count(len(given_up), 'session')} with {count(runs, 'result')} were given up.")
    return [*page_again.sentences(result), *words]


def facts(result: Result) -> tuple[tuple[str, str, str], ...]:
    """What the hosts told: what, which, on which hosts; and in plain words where no run told of anything."""
    found = tuple((one.what, one.found, one.where) for one in result.accepted.facts)
    if result.accepted.runs:
        return found
    return (("Hosts", "not known: no run in the evidence describes its hosts", ""), *found)


def disturbance(result: Result) -> tuple[str, ...]:
    """What disturbed the runs, in sentences."""
    told = result.accepted
    if not told.runs:
        return ()
    if not told.disturbed:
        return (f"None of {count(told.runs, 'run')} was disturbed, as far as the hosts report.",)
    return (f"{told.disturbed} of {count(told.runs, 'run')} were disturbed:", *told.disturbances)


def amendments(result: Result) -> tuple[tuple[str, ...], ...]:
    """Every change of the plan: when, by whom, why, and what became otherwise."""
    return tuple(
        (day(one.time_ns), one.by, one.reason, "\n".join((*one.changed, *one.dropped)), one.plan_sha256)
        for one in result.amendments
    )


def agreement(result: Result, content_sha256: str) -> tuple[tuple[str, str], ...]:
    """System, parties, plan and the hashes, in pairs."""
    return (
        ("System", result.system),
        *((role.capitalize(), result.parties.get(role, "not named")) for role in result.signatories),
        *((role.capitalize(), who) for role, who in result.parties.items() if role not in result.signatories),
        ("Plan", f"{result.plan}: {result.title}"),
        *([("Document", result.document)] if result.document else []),
        ("SHA-256 of the plan", result.plan_sha256),
        ("Begun", day(result.begun_ns)),
        ("Last entry", day(result.until_ns)),
        ("Journal", f"{result.entries} entries; SHA-256 of the last: {result.head}"),
        ("SHA-256 of this report's content", content_sha256),
    )


def section(result: Result, content_sha256: str) -> Section:
    """The section of the documents that are read on a screen."""
    blocks: list[Block] = [Text(text=result.summary)] if result.summary else []
    if result.accepted.rehearsal:
        blocks.append(Text(text=f"Rehearsal: {result.accepted.rehearsal}."))
    columns = (Column("What"), Column("Found"), Column("On", "note"))
    blocks.append(Table(title="The machine and its software", columns=columns, rows=facts(result)))
    blocks += [Text(text=words) for words in disturbance(result)]
    if result.amendments:
        heads = (Column("When", "note"), Column("By"), Column("Why"), Column("What"), Column("SHA-256", "code"))
        blocks.append(Table(title="Amendments of the plan", columns=heads, rows=amendments(result)))
    blocks.append(Facts(title="Agreed", pairs=agreement(result, content_sha256)))
    return Section(id="what", title="What was accepted, and by which plan", short="Accepted", blocks=tuple(blocks))
