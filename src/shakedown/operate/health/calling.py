"""One call, whole: plan and state in, a child for each check, findings out, state kept. ``carry_out`` is the entry."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...errors import BadInput, ShakedownError, unknown
from ...records import Record
from . import children, exposure, growth, plan, state, thresholds
from .children import Gone, Task
from .node_access import NodeAccess, Replay
from .records import Check, CheckContext, Finding, HealthReport, KeptState, Metric, Outcome, Stuck, Verdict, worst

FOLDER = "operate.health.checks"
#: By then all that answers has answered; the goal is that a stuck one is reported within 5 s.
LIMIT_S = 4.0
#: Nearly every check needs them: imported once, before the children are made.
_SHARED = (growth, thresholds)
#: The state and the plan lie on a local disk; they too may hang.
_STATE = "state"
STATE_LIMIT_S = 1.0


class HealthOptions(Record, frozen=True, kw_only=True):
    """What one call is asked to do."""

    checks: tuple[str, ...] = ()  # empty: all
    plan: str = ""  # a file, or "none"; empty: the first of plan.PLACES that is there
    state: str = ""  # a folder; empty: state.folder's; "none": nothing is kept
    host: str = ""
    root: str = ""  # replay what lies below
    now_s: float | None = None
    limit_s: float = LIMIT_S


class Answer(Record, frozen=True, kw_only=True):
    """What comes out of a child."""

    outcome: Outcome | None = None
    why: str = ""  # it could not look
    bad: tuple[str, str, str] | None = None  # the plan is wrong: what, where, hint


def names() -> tuple[str, ...]:
    """Our checks, sorted, by looking into the folder: asking for other distributions' takes longer than the checks."""
    folder = os.path.join(os.path.dirname(__file__), "checks")
    files = (one[:-3] for one in os.listdir(folder) if one.endswith(".py"))
    return tuple(sorted(one for one in files if not one.startswith("_")))


def check(name: str) -> Check:
    """One check by its name; of another distribution where it is none of ours. Raises BadInput."""
    if name in names():
        found = importlib.import_module(f"{__package__}.checks.{name}").CHECK
    else:
        from ... import plugins

        found = plugins.load(FOLDER, "CHECK", name)
    assert isinstance(found, Check)
    return found


def carry_out(
    asked: HealthOptions,
    then: Callable[[HealthReport, KeptState, plan.HealthPlan], KeptState] = lambda report, kept, planned: kept,
) -> tuple[HealthReport, KeptState, str]:
    """Look, judge, act by ``then`` where the state is ours alone, keep. Returns the report, the state, and a word on why
    nothing was kept (empty where it was).

    Raises BadInput for a plan or a name of a check that is wrong, CannotMeasure where the state cannot be kept.
    """
    if asked.root and not any(os.path.isdir(os.path.join(asked.root, name)) for name in ("proc", "sys")):
        raise BadInput(
            "contains no recording of a node: neither proc nor sys",
            where=asked.root,
            hint="name the folder that holds them; scripts/record-machine makes one",
        )
    begun = time.monotonic()
    now_s = time.time() if asked.now_s is None else asked.now_s
    host = asked.host or os.uname().nodename
    senses = _senses(asked)
    planned = _plan(asked, host)
    around = _Around(asked, _chosen(asked, planned), planned, senses, host, now_s, begun)
    if asked.state == "none":
        return (*_call(around, KeptState(host=host), []), "as asked")
    file = state.path(asked.state, host)
    state.prepare(os.path.dirname(file))
    before, trouble, readable = _before(file, host)
    if not readable:
        return (*_call(around, before, trouble), "the state cannot be read")
    with state.locked(file) as mine:
        if mine and not trouble:  # another call may have finished meanwhile; the file has just answered
            with contextlib.suppress(OSError, ValueError):
                before = state.read(file) or before
        report, kept = _call(around, before, trouble)
        if mine:
            kept = then(report, kept, planned)
            state.write(file, kept)
    return report, kept, "" if mine else "another call is at work, or the state is not ours to write"


class _Around(NamedTuple):
    """What one call is about."""

    asked: HealthOptions
    chosen: Sequence[str]
    planned: plan.HealthPlan
    senses: NodeAccess
    host: str
    now_s: float
    begun: float


def _senses(asked: HealthOptions, note: Any = None) -> NodeAccess:
    made = (Replay if asked.root else NodeAccess)(asked.root)
    if note is not None:
        made.note = note
    return made


def _plan(asked: HealthOptions, host: str) -> plan.HealthPlan:
    file = asked.plan or next((one for one in plan.PLACES if os.path.exists(one)), "")
    if not file or file == "none":
        return plan.HealthPlan()
    from ... import strict

    text = strict.read_text(Path(file))
    try:
        return plan.parse(text, file, host, names())
    except BadInput:  # it may name checks of other distributions, which takes long to ask
        from ... import plugins

        if set(plugins.names(FOLDER)) == set(names()):
            raise
        return plan.parse(text, file, host, plugins.names(FOLDER))


def _chosen(asked: HealthOptions, planned: plan.HealthPlan) -> tuple[str, ...]:
    known = dict.fromkeys((*names(), *planned.sections))
    for name in asked.checks:
        if name not in known:
            raise unknown("check", name, known)
    return tuple(asked.checks or (one for one in known if one not in planned.skip))


def _before(file: str, host: str) -> tuple[KeptState, list[Finding], bool]:
    """What the last call kept, read by a child that may hang; what is wrong with it; and whether it may be written."""

    def work(task: Task, note: Any) -> bytes:
        note(f"reading {file}")
        try:
            return b"=" + msgspec.msgpack.encode(state.read(file) or KeptState(host=host))
        except (OSError, ValueError) as error:
            return b"!" + str(error).encode()

    found = children.run([Task(_STATE)], work, STATE_LIMIT_S)[Task(_STATE)]
    if isinstance(found, bytes) and found[:1] == b"=":
        return msgspec.msgpack.decode(found[1:], type=KeptState), [], True
    why = f"cannot be read: {found.why}" if isinstance(found, Gone) else found[1:].decode()
    what = f"{file} {why}; this call starts from the beginning, and what was counted is lost"
    action = f"see what is wrong with {file}, or name another folder with --state"
    trouble = Finding(check=_STATE, severity="UNKNOWN", what=what, action=action)
    return KeptState(host=host), [trouble], not isinstance(found, Gone)


def _call(around: _Around, before: KeptState, trouble: list[Finding]) -> tuple[HealthReport, KeptState]:
    asked, planned, now_s = around.asked, around.planned, around.now_s
    boot = around.senses.word("/proc/sys/kernel/random/boot_id") or ""
    # Those of earlier calls that are still there: the same process, by its pid and its start.
    still = tuple(one for one in before.stuck if children.started(one.pid) == one.started)
    blocked = {Task(one.check, one.part) for one in still}

    def work(task: Task, note: Any) -> bytes:
        return msgspec.msgpack.encode(_look(task, note, asked, planned, before, boot, now_s))

    def more(task: Task, data: bytes) -> Iterable[Task]:
        outcome = msgspec.msgpack.decode(data, type=Answer).outcome
        wanted = [Task(task.check, part) for part in outcome.more] if outcome else []
        return [one for one in wanted if one not in blocked]

    tasks = [Task(name) for name in around.chosen if Task(name) not in blocked]
    left_s = max(1.0, asked.limit_s - (time.monotonic() - around.begun))
    outcomes, findings, gone = _sorted(children.run(tasks, work, left_s, more), now_s)
    stuck = (*still, *gone)
    findings = [*trouble, *findings, *(_stuck_finding(one, now_s) for one in stuck)]
    kept = _keep(around, before, outcomes, stuck, findings, boot)
    took_s = time.monotonic() - around.begun
    metrics = [one for outcome in outcomes.values() for one in outcome.metrics]
    report = HealthReport(
        host=around.host,
        at_s=now_s,
        took_s=took_s,
        boot=boot,
        severity=worst(one.severity for one in findings),
        findings=tuple(findings),
        metrics=(*metrics, *_own_metrics(findings, took_s)),
        absent={task.check: one.absent for task, one in outcomes.items() if one.absent},
        skipped=() if asked.checks else planned.skip,
        stuck=stuck,
        plan=planned.file,
        learnt={task.check: one.learnt for task, one in outcomes.items() if one.learnt},
    )
    return report, kept


def _look(
    task: Task, note: Any, asked: HealthOptions, planned: plan.HealthPlan, before: KeptState, boot: str, now_s: float
) -> Answer:
    """In the child: load the check, look. Never raises."""
    try:
        note("loading the check")
        one = check(task.check)
        section = one.plan()
        if given := planned.sections.get(task.check):
            from ... import strict  # imported with the plan already

            section = strict.convert(given, one.plan, f"{planned.file}: {task.check}", hint="see docs/health.md")
        look = CheckContext(
            senses=_senses(asked, note),
            plan=section,
            kept=before.checks.get(task.check, {}),
            now_s=now_s,
            boot=boot,
            part=task.part,
            exposure=before.exposure,
        )
        return Answer(outcome=one.run(look))
    except BadInput as error:
        return Answer(bad=(error.what, error.where, error.hint))
    except ShakedownError as error:
        return Answer(why=str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return Answer(why=f"{where}{error.strerror or error}")
    except Exception as error:  # a fault of the check: told, and the other checks still answer
        return Answer(why=f"the check itself failed: {type(error).__name__}: {error}")


def _sorted(answers: dict[Task, bytes | Gone], now_s: float) -> tuple[dict[Task, Outcome], list[Finding], list[Stuck]]:
    """Outcomes, findings, and children that were left behind. Raises BadInput where the plan is wrong."""
    outcomes: dict[Task, Outcome] = {}
    findings: list[Finding] = []
    gone: list[Stuck] = []
    for task, data in sorted(answers.items()):
        if isinstance(data, Gone):
            severity = check(task.check).stuck
            if data.started:
                gone.append(
                    Stuck(
                        check=task.check,
                        part=task.part,
                        pid=data.pid,
                        started=data.started,
                        since_s=now_s,
                        touched=data.touched,
                        severity=severity,
                    )
                )
            else:
                severity = severity if data.why.startswith("no answer") else "UNKNOWN"
                what = f"{data.why}{f' while {data.touched}' if data.touched else ''}"
                action = _hang_action(task.check)
                findings.append(thresholds.wrong(task.check, task.part, what, action, severity=severity))
            continue
        answer = msgspec.msgpack.decode(data, type=Answer)
        if answer.bad is not None:
            raise BadInput(answer.bad[0], where=answer.bad[1], hint=answer.bad[2])
        if answer.outcome is None:
            action = "run the check as root" if "ermission" in answer.why else "see docs/health.md for what it reads"
            findings.append(thresholds.unknown(task.check, answer.why, item=task.part, action=action))
            continue
        outcomes[task] = answer.outcome
        findings += answer.outcome.findings
    return outcomes, findings, gone


def _stuck_finding(one: Stuck, now_s: float) -> Finding:
    where = children.held_at(one.pid)
    age_s = now_s - one.since_s
    since = f"for {age_s:.0f} s" if age_s >= 1 else "now"
    return Finding(
        check=one.check,
        item=one.part,
        severity=one.severity,
        what=f"hangs in the kernel {since}: {one.touched or 'at its start'} (process {one.pid}, which cannot be killed"
        f"{f'; it waits in {where}' if where else ''})",
        value=round(age_s),
        unit="s",
        action=_hang_action(one.check),
    )


def _hang_action(name: str) -> str:
    return {
        "mounts": "drain; umount -f -l that mount; see its server and the network",
        "gpus": "drain; the driver hangs: restart the node",
    }.get(name, "see the kernel's log for what hangs; restart the node if it stays")


def _keep(
    around: _Around,
    before: KeptState,
    outcomes: dict[Task, Outcome],
    stuck: tuple[Stuck, ...],
    findings: Sequence[Finding],
    boot: str,
) -> KeptState:
    """The state after this call. A call for some checks says nothing of load and confirms nothing."""
    kept = {task.check: one.kept for task, one in outcomes.items() if one.kept is not None and not task.part}
    load = {key: value for one in outcomes.values() for key, value in one.load.items()}
    watched, verdicts = before.exposure, before.verdicts
    if not around.asked.checks:
        up = around.senses.word("/proc/uptime")
        boot_s = around.now_s - float(up.split()[0]) if up else None
        watched = exposure.advance(watched, around.now_s, exposure.word(load), boot_s, exposure.figures(load))
        verdict = Verdict(
            at_s=around.now_s,
            critical=tuple(sorted({one.key for one in findings if one.severity == "CRITICAL"})),
            unknown=tuple(sorted({one.key for one in findings if one.severity == "UNKNOWN"})),
        )
        verdicts = (*verdicts, verdict)[-100:]
    return msgspec.structs.replace(
        before,
        host=around.host,
        boot=boot,
        last_s=around.now_s,
        checks={**before.checks, **kept},
        stuck=stuck,
        exposure=watched,
        verdicts=verdicts,
    )


def _own_metrics(findings: Sequence[Finding], took_s: float) -> tuple[Metric, ...]:
    words = "Findings of the health check by severity."
    counts = [
        Metric("findings", sum(one.severity == severity for one in findings), {"severity": severity.lower()}, words)
        for severity in ("OK", "WARNING", "CRITICAL", "UNKNOWN")
    ]
    return (*counts, Metric("duration_seconds", took_s, help="Of the health check.", unit="s"))
