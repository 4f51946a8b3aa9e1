"""What `shakedown health` does, whichever way it was called: the verb (cli/health.py) or the quick entry (__main__.py)."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from ...errors import BadInput, ShakedownError
from ...records import Record
from . import calling, plan
from .calling import HealthOptions
from .records import Finding, HealthReport, KeptState, worst


class How(Record, frozen=True, kw_only=True):
    """How the report is shown, and what is done about it."""

    json: bool = False
    nagios: bool = False
    prometheus: str = ""  # a file; "-" for standard output
    ganglia: bool = False
    everything: bool = False
    drain: str = ""  # an engine
    resume: bool = False
    node: str = ""  # as the engine calls it


def main(asked: HealthOptions, how: How) -> int:
    """Check, show, act. The exit code: with ``nagios`` 0 to 3 as plugins have it, else the tool's own."""
    try:
        return _run(asked, how)
    except ShakedownError as error:
        if not how.nagios:
            raise
        from .nagios import plain

        print(f"SHAKEDOWN UNKNOWN - {plain(str(error))}")
        return 3


def _run(asked: HealthOptions, how: How) -> int:
    _check(asked, how)
    report = carry_out(asked, how)
    if how.prometheus:
        from . import prometheus

        if how.prometheus == "-":
            sys.stdout.write(prometheus.text(report))
        else:
            prometheus.write(how.prometheus, prometheus.text(report))
    if how.nagios:
        from . import nagios

        sys.stdout.write(nagios.text(report))
        return nagios.EXIT_CODES[report.severity]
    if how.ganglia:
        from . import ganglia

        sys.stdout.write(ganglia.text(report))
    elif how.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n")
    elif how.prometheus != "-":
        show(report, how.everything)
    return report.exit_code


def _check(asked: HealthOptions, how: How) -> None:
    if how.json + how.nagios + how.ganglia + (how.prometheus == "-") > 1:
        raise BadInput(
            "--json, --nagios, --ganglia and --prometheus - exclude each other", hint="all write to standard output"
        )
    if how.resume and not how.drain:
        raise BadInput("--resume needs --drain ENGINE", hint="as in --drain slurm --resume")
    if how.drain:
        from .drain import ENGINES

        if how.drain not in ENGINES:
            from ...errors import unknown

            raise unknown("engine", how.drain, ENGINES, where="--drain")
        if asked.checks or asked.state == "none" or asked.root:
            raise BadInput(
                "a drain needs a whole call of this machine, and the state of the earlier ones",
                where="--drain",
                hint="leave the names of checks, --state none and --root out",
            )


def carry_out(asked: HealthOptions, how: How) -> HealthReport:
    """One call, with what it does about a drain as a finding of its own. Raises ShakedownError."""
    done: list[Finding] = []

    def then(report: HealthReport, kept: KeptState, planned: plan.HealthPlan) -> KeptState:
        if not how.drain:
            return kept
        from . import drain

        name = how.node or os.environ.get("SLURMD_NODENAME") or report.host.partition(".")[0]
        try:
            kept, step = drain.act(how.drain, name, planned.drain, report, kept, resume=how.resume)
        except ShakedownError as error:
            done.append(Finding(check="drain", item=name, severity="UNKNOWN", what=error.what, action=error.hint))
            return kept
        word = {"drain": "was drained", "resume": "was resumed", "nothing": "left as it is"}[step.action]
        shown = f": {step.reason}" if step.reason else ""
        done.append(Finding(check="drain", item=name, what=f"{word}{shown} ({step.why})"))
        return kept

    report, _, why = calling.carry_out(asked, then)
    if why and how.drain:
        what = f"was left as it is: {why}"
        done.append(Finding(check="drain", severity="UNKNOWN", what=what, action="the next call decides"))
    elif why and asked.state != "none":
        print(f"shakedown: nothing was kept of this call: {why}", file=sys.stderr)
    findings = (*report.findings, *done)
    return msgspec.structs.replace(report, findings=findings, severity=worst(one.severity for one in findings))


def show_finding(severity: str, where: str, what: str, action: str) -> None:
    """One finding for a person, and what to do below it."""
    from ...document.terminal import print_sentence

    print_sentence(f"{where}: {what}", f"{severity:9} ", f"{'':10}")
    if action:
        print_sentence(action, f"{'':12}next: ", f"{'':18}")


def show(report: HealthReport, everything: bool) -> None:
    """For a person: what is wrong, or all of it, and a last line that says what was looked at."""
    from ...document.terminal import print_sentence, print_table

    order = ("CRITICAL", "WARNING", "UNKNOWN", "OK")
    rows: list[tuple[str, ...]] = [
        (one.severity, f"{one.check} {one.item}".strip(), one.what, one.action)
        for severity in order
        for one in report.findings
        if one.severity == severity and (everything or severity != "OK")
    ]
    for row in rows:
        show_finding(*row)
    if everything and report.absent:
        print_table(("not here", "why"), sorted(report.absent.items()))
    counts = [(sum(one.severity == severity for one in report.findings), severity) for severity in order]
    words = ", ".join(f"{number} {severity}" for number, severity in counts if number)
    parts = [words or "nothing of what was requested is here"]
    if report.absent and not everything:
        parts.append(f"not here: {', '.join(sorted(report.absent))}")
    if report.skipped:
        parts.append(f"left out by the plan: {', '.join(report.skipped)}")
    plan_word = f"plan {report.plan}" if report.plan else "no plan: `shakedown health learn` writes one"
    told = f"({'; '.join((*parts, f'{report.took_s * 1000:.0f} ms', plan_word))})"
    print_sentence(told, f"{report.host}: {report.severity} ", "  ")


def options(**given: Any) -> tuple[HealthOptions, How]:
    """The two records from the words of a call; None and empty are the defaults."""
    asked = {
        key: value for key, value in given.items() if key in HealthOptions.__struct_fields__ and value not in (None, "")
    }
    how = {key: value for key, value in given.items() if key in How.__struct_fields__ and value not in (None, "")}
    return HealthOptions(**asked), How(**how)
