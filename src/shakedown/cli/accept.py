"""shakedown accept: an acceptance plan, its tests, its evidence and its report to be signed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput
from . import _accept, _batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..acceptance.plan import Test

app = typer.Typer(
    name="accept",
    no_args_is_help=True,
    help="Accept a system by a plan: requirement, test, evidence with checksums, verdict, a report to be signed. "
    "docs/acceptance.md describes the plan and the directory.",
)

_Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The acceptance directory.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON on standard output.")]
_By = Annotated[str, typer.Option("--by", help="Who says so, by name.")]
_Reason = Annotated[str, typer.Option(help="Why.")]
_Again = Annotated[
    bool,
    typer.Option(
        "--again", help="Repeat a decided test; what was found before stays in the record. Needs --by and --reason."
    ),
]


_Against = Annotated[
    Path | None, typer.Option(metavar="DIR", help="An earlier acceptance, with whose figures this one is compared.")
]
_Keep = Annotated[str, typer.Option(help="With --against: the share of each figure that must still be reached.")]
_Tests = Annotated[
    list[str] | None, typer.Option(help="With --against: this test alone; may be repeated. Default: all.")
]


@app.command("check")
def check(
    plan: Annotated[str, typer.Argument(help="A shipped plan or a TOML file. Without one: what is shipped.")] = "",
    json: _Json = False,
) -> None:
    """Check a plan: its requirements and tests, and everything that is wrong with it. Nothing is run."""
    from ..acceptance import checking
    from ..acceptance import plan as plans

    if not plan:
        if json:
            terminal.print_json(plans.names())
        else:
            rows = [(name, checking.load(name)[0].title) for name in plans.names()]
            terminal.print_table(("plan", "title"), rows)
        return
    found, _ = checking.load(plan)
    if json:
        terminal.print_json(found)
        return
    _accept.show_plan(found)


@app.command("show")
def show(
    plan: Annotated[str, typer.Argument(help="A shipped plan, or a file.")] = "",
    against: _Against = None,
    keep: _Keep = "90 %",
    test: _Tests = None,
) -> None:
    """Print a plan's text, to make one's own from: shakedown accept show thufir > mine.toml. With --against the plan of an
    acceptance done again."""
    from ..acceptance import plan as plans

    if against is None:
        if not plan:
            raise BadInput("no plan is named", hint="shakedown accept show PLAN, or --against DIR")
        print(plans.text_of(plan)[0], end="")
        return
    if plan:
        raise BadInput("the plan follows from --against", where="PLAN", hint="name one of both")
    print(_accept.plan_again(against, keep, test)[0], end="")


@app.command("begin")
def begin(
    directory: Annotated[Path, typer.Option(help="The new acceptance directory.")],
    system: Annotated[str, typer.Option(help="What is accepted: the system's name.")],
    plan: Annotated[
        str, typer.Argument(help="A shipped plan or a TOML file. With --against: by default that acceptance's own.")
    ] = "",
    party: Annotated[
        list[str] | None, typer.Option(help="ROLE=WHO, such as buyer='ARL, J. Doe'; may be repeated.")
    ] = None,
    against: _Against = None,
    keep: _Keep = "90 %",
    test: _Tests = None,
    json: _Json = False,
) -> None:
    """Begin an acceptance: a directory with the plan, its checksum and the journal. With --against it repeats an earlier
    one, whose figures are sealed in it."""
    from ..acceptance import directory as directories

    parties = dict(_accept.pair(word, "--party") for word in party or ())
    text, baseline = "", None
    if against is not None:
        text, baseline = _accept.plan_again(against, keep, test, own=plan)
    elif not plan or test:
        raise BadInput(
            "only an acceptance that is repeated gives the plan and its tests",
            hint="name a plan, or the earlier acceptance: --against DIR",
        )
    name = plan or f"the plan of {against}"
    acceptance = directories.begin(
        directory, name, system=system, parties=parties, now_ns=time.time_ns(), text=text, baseline=baseline
    )
    if json:
        terminal.print_json(acceptance.begun)
    terminal.say(f"begun: {directory}\n  next: shakedown accept run {directory}")


@app.command("run", cls=_batch.Command)
def run(
    ctx: typer.Context,
    directory: _Directory,
    test: Annotated[
        list[str] | None, typer.Option(help="Only this test; may be repeated. Default: all that are not done.")
    ] = None,
    again: _Again = False,
    by: _By = "",
    reason: _Reason = "",
    json: _Json = False,
) -> None:
    """Do what needs no person: all runs as one campaign, here or in one job, then the commands. Goes on where it stopped."""
    from ..acceptance import deciding, running
    from ..acceptance import directory as directories
    from ..hosts.access import LocalHost
    from ..run.batch import submission
    from ._observer import Terminal

    how = _batch.how(ctx, back=f"shakedown accept run {directory}")
    directories.refuse_if_others_write(directory)
    acceptance = directories.open_(directory)
    if how.batch:
        submission.reachable(how.batch, LocalHost())  # before anything of it stands in the journal
    wanted = [acceptance.plan.test(name) for name in test or ()] or list(acceptance.plan.tests)
    before = directories.open_session(acceptance.entries)
    if before:
        outside = running.is_outside(acceptance.plan.tests, before.tests)
        if not running.run_session(directory, (), running.outside_of(how) if outside else how, Terminal()):
            _come_back(directory, how.detach)
    if again:
        deciding.refuse_people(acceptance, wanted)
        _anew(directory, wanted if test else [], by, reason)
    runs, commands = deciding.due(directories.open_(directory), wanted, named=bool(test) and not before)
    for group, way in running.groups(runs, how):
        if not running.run_session(directory, group, way, Terminal()):
            _come_back(directory, how.detach)
    begun = [running.run_times(directory, one, times, terminal.say) for one, times in commands]
    if not runs and not commands:
        terminal.say("nothing is left to run: shakedown accept status shows what is open")
    _finish(directory, json=json, tests=wanted, whole=all(begun))


def _come_back(directory: Path, left_alone: bool) -> None:
    terminal.say(f"  next: shakedown accept run {directory}   (continues it)")
    raise typer.Exit(UNDECIDED if left_alone else COULD_NOT_MEASURE)


@app.command("record")
def record(
    directory: _Directory,
    test: Annotated[str, typer.Argument(help="A manual test of the plan.")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="FIELD=VALUE; may be repeated.")] = None,
    attach: Annotated[list[str] | None, typer.Option(help="A file, or NAME=FILE; may be repeated.")] = None,
    subject: Annotated[str, typer.Option(help="What it was done with, where the plan names several.")] = "",
    by: _By = "",
    witness: Annotated[str, typer.Option(help="Who watched.")] = "",
    remark: Annotated[str, typer.Option(help="Anything else.")] = "",
    again: _Again = False,
    reason: _Reason = "",
    json: _Json = False,
) -> None:
    """Record a manual test: its form, filled in at a terminal or given by --set, and what is attached."""
    from ..acceptance import deciding, running
    from ..acceptance import directory as directories
    from ..acceptance.plan import ManualTest

    acceptance = directories.open_(directory)
    asked = acceptance.plan.test(test)
    if not isinstance(asked, ManualTest):
        raise BadInput(
            f"test {test!r} is a {asked.kind}, not manual",
            where=acceptance.plan.clauses(asked),
            hint=f"shakedown accept run {directory} --test {test}",
        )
    given = dict(_accept.pair(word, "--set") for word in set_ or ())
    files = list(attach or ())
    if sys.stdin.isatty() and sys.stderr.isatty():
        from ..acceptance.prompts import ask

        subject, by, witness = ask(asked, given, files, subject=subject, by=by, witness=witness)
    if not by.strip():
        raise BadInput("who did it is not given", where=f"test {test!r}", hint="--by NAME")
    form, attached = running.filled(asked, given, files, subject=subject, by=by, witness=witness, remark=remark)
    if again:
        _anew(directory, [asked], by, reason)
        acceptance = directories.open_(directory)
    deciding.refuse_if_decided(acceptance, asked, form)
    running.record(directory, asked, form, attached)
    _finish(directory, json=json, tests=[asked])


@app.command("waive")
def waive(
    directory: _Directory,
    requirement: Annotated[str, typer.Argument(help="A requirement's id or clause.")],
    by: _By = "",
    reason: _Reason = "",
    withdraw: Annotated[bool, typer.Option(help="Take an earlier waiver back.")] = False,
    json: _Json = False,
) -> None:
    """Waive a requirement by name: what its tests show stays in the report, beside who answers for it and why."""
    from ..acceptance import directory as directories
    from ..acceptance.journal import Waived

    _accept.named(by, reason)
    with directories.writing(directory) as (acceptance, book):
        found = acceptance.plan.requirement(requirement)
        book.append(Waived(requirement=found.id, by=by, reason=reason, withdrawn=withdraw), time.time_ns())
    _finish(directory, json=json, done=True)


@app.command("classify")
def classify(
    directory: _Directory,
    test: Annotated[str, typer.Argument(help="The test whose attempt failed.")],
    as_: Annotated[str, typer.Option("--as", help="Whose failure it was: system, application, user or test-bug.")],
    attempt: Annotated[int, typer.Option(help="Which attempt, from 1. Default: the last that is not met.")] = 0,
    by: _By = "",
    reason: _Reason = "",
    json: _Json = False,
) -> None:
    """Classify a failure: those of users and of the test itself are set aside, those of the system and of applications
    count until the test is done again."""
    from ..acceptance import deciding

    _accept.named(by, reason)
    deciding.classify(directory, test, as_, attempt, by=by, reason=reason)
    _finish(directory, json=json, done=True)


@app.command("abandon")
def abandon(directory: _Directory, by: _By = "", reason: _Reason = "", json: _Json = False) -> None:
    """Give up a session of runs that cannot be continued: its files stay, and count for nothing."""
    from ..acceptance import running

    _accept.named(by, reason)
    running.abandon(directory, f"{by}: {reason}")
    _finish(directory, json=json, done=True)


@app.command("amend")
def amend(
    directory: _Directory,
    plan: Annotated[str, typer.Argument(help="The plan as it is from now on: a TOML file, or a shipped plan.")],
    by: _By = "",
    reason: _Reason = "",
    json: _Json = False,
) -> None:
    """Change the plan of a begun acceptance: evidence of tests that stay as they are stays, the others start again."""
    from ..acceptance import amending

    _accept.named(by, reason)
    done = amending.amend(directory, plan, by=by, reason=reason)
    terminal.say(f"the plan is now {done.plan}; tests that start again: {', '.join(done.tests) or 'none'}")
    _finish(directory, json=json, done=True)


@app.command("status")
def status(directory: _Directory, json: _Json = False) -> None:
    """How every requirement stands, recomputed from the evidence, and what is left to do."""
    _finish(directory, json=json)


@app.command("verify")
def verify(
    directory: _Directory,
    head: Annotated[
        str, typer.Option(help="The hash of the journal's entry that a signed report names: it must still be there.")
    ] = "",
    json: _Json = False,
) -> None:
    """Compare every file with its checksum, and the journal with itself. Exit code 1 where anything was changed."""
    from ..acceptance import directory as directories
    from ..acceptance import sealing
    from ..acceptance.journal import Tampered

    acceptance = directories.open_(directory)
    if head and head not in acceptance.read.hashes:
        raise Tampered(
            f"no entry of the journal has the hash {head}",
            where=str(directory),
            hint="entries that the report rests on were changed or removed: restore the directory from a copy",
        )
    faults = sealing.verify(directory, acceptance.read, acceptance.plan)
    if json:
        terminal.print_json(faults)
    for one in faults:
        terminal.say(f"shakedown: {one}")
    if not faults and not json:
        number = len(sealing.listed(acceptance.entries))
        print(f"{number} files and {len(acceptance.entries)} entries of the journal are as they were sealed")
    raise typer.Exit(NOT_MET if faults else MET)


@app.command("report")
def report(
    directory: _Directory,
    formats: Annotated[str, typer.Option("--format", help="html, pdf, md, json, separated by commas.")] = (
        "html,pdf,md,json"
    ),
    json: _Json = False,
) -> None:
    """Judge everything again from the evidence, and write the report: HTML to read, PDF to sign."""
    from ..acceptance import directory as directories
    from ..acceptance import evaluating, reporting

    wanted = [word.strip() for word in formats.split(",") if word.strip()]
    result, paths = reporting.write(directories.open_(directory), wanted)
    if json:
        terminal.print_json(result)
    else:
        _accept.show(result)
    for path in paths:
        terminal.say(f"report: {path}")
    raise typer.Exit(evaluating.exit_code(result))


# -------------------------------------------------------------------------------------------------------------- helpers


def _anew(directory: Path, tests: list[Test], by: str, reason: str) -> None:
    from ..acceptance import deciding

    if not tests:
        raise BadInput("--again needs a test", hint="name it: --test ID")
    _accept.named(by, reason)
    deciding.begin_anew(directory, tests, by=by, reason=reason)


def _finish(
    directory: Path, *, json: bool, tests: Sequence[Test] | None = None, done: bool = False, whole: bool = True
) -> None:
    """Show how everything stands, and end with the exit code that says it: of ``tests``, where it was about them; 0 where
    something was to be written down and ``done``; 3 where not all was begun and nothing is worse."""
    from ..acceptance import directory as directories
    from ..acceptance import evaluating

    acceptance = directories.open_(directory)
    result = evaluating.evaluate(acceptance)
    if json:
        terminal.print_json(result)
    elif done:
        terminal.say(f"written into the journal\n  next: shakedown accept status {directory}")
    elif tests is not None and len(tests) == 1:
        found = next(one for one in result.tests if one.id == tests[0].id)
        print(f"{found.title}: {found.state}: {found.reason}")
    else:
        _accept.show(result)
    if tests is None and not done and (session := directories.open_session(acceptance.entries)):
        terminal.say(
            f"under way in {session.folder}: {', '.join(session.tests)}\n"
            f"  next: shakedown accept run {directory}   (continues it)"
        )
    for fault in result.faults:
        terminal.say(f"shakedown: {fault}")
    if result.faults:
        raise typer.Exit(NOT_MET)
    if done:
        raise typer.Exit(MET)
    if tests is None:
        raise typer.Exit(evaluating.exit_code(result))
    mine = {test.id for test in tests if test.kind != "manual" or len(tests) == 1}
    code = evaluating.test_code(one for one in result.tests if one.id in mine)
    raise typer.Exit(code if whole or code == NOT_MET else COULD_NOT_MEASURE)
