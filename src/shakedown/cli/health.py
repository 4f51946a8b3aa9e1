"""shakedown health: is this node well, now; what its faults have to do with load; what should be there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..document import terminal
from ..errors import MET, NOT_MET, BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..operate.health.records import KeptState


class _Group(TyperGroup):
    """``shakedown health`` and ``shakedown health gpus`` are ``shakedown health check ...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["check", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="health",
    cls=_Group,
    help="Is this node healthy, now? `shakedown health` checks it; docs/health.md describes the checks and the plan. "
    "Callers that run it often use the quick entry: python -m shakedown.operate.health.",
)

State = Annotated[
    str,
    typer.Option(
        help="The folder of what outlives a call; none: nothing is kept. Default: /var/lib/shakedown/health for root, "
        "~/.local/state/shakedown/health."
    ),
]
Host = Annotated[str, typer.Option(help="By this name the plan and the state are looked up. Default: this host's.")]
PlanFile = Annotated[
    str, typer.Option("--plan", help="The file of what should be there. Default: /etc/shakedown/health.toml.")
]


@app.command("check")
def check(
    checks: Annotated[list[str] | None, typer.Argument(help="Only these; see `shakedown health list`.")] = None,
    plan: PlanFile = "",
    state: State = "",
    host: Host = "",
    root: Annotated[str, typer.Option(help="Look at a recording below this folder.")] = "",
    limit: Annotated[
        float, typer.Option(callback=common.not_negative, help="Seconds after which a check counts as stuck.")
    ] = 4.0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    nagios: Annotated[
        bool, typer.Option("--nagios", help="As a plugin of Nagios or Icinga, with its exit codes 0 to 3.")
    ] = False,
    ganglia: Annotated[
        bool, typer.Option("--ganglia", help="Print gmetric's calls for Ganglia, one a line: pipe them into sh.")
    ] = False,
    prometheus: Annotated[
        str, typer.Option(metavar="FILE", help="Write this file for node_exporter's textfile collector; - prints.")
    ] = "",
    all_: Annotated[bool, typer.Option("--all", help="Also what is healthy.")] = False,
    drain: Annotated[
        str,
        typer.Option(metavar="ENGINE", help="Drain the node once what is critical is confirmed (k of n): slurm, pbs."),
    ] = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="With --drain: resume the node if this drained it, once it is healthy.")
    ] = False,
    node: Annotated[str, typer.Option(help="With --drain: the node's name in the engine.")] = "",
) -> None:
    """Check this node. Exit code 1 where something is critical, 3 where something could not be looked at."""
    from ..operate.health import command

    asked, how = command.options(
        checks=tuple(checks or ()),
        plan=plan,
        state=state,
        host=host,
        root=root,
        limit_s=limit,
        json=json,
        nagios=nagios,
        ganglia=ganglia,
        prometheus=prometheus,
        everything=all_,
        drain=drain,
        resume=resume,
        node=node,
    )
    raise typer.Exit(command.main(asked, how))


@app.command("learn")
def learn(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write this new file; default: print.")] = None,
    match: Annotated[list[str] | None, typer.Option(help="The hosts that it is for; may be repeated.")] = None,
    root: Annotated[str, typer.Option(help="Learn from a recording below this folder.")] = "",
    anyway: Annotated[bool, typer.Option(help="Also from a node with critical findings.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was learnt as JSON.")] = False,
) -> None:
    """Write a plan from this node as it is: read it, correct it, and install it on all nodes of its kind."""
    from ..operate.health import calling, plan

    report, _, _ = calling.carry_out(calling.HealthOptions(state="none", root=root, plan="none"))
    ill = [one for one in report.findings if one.severity == "CRITICAL"]
    if ill and not anyway:
        raise CannotMeasure(
            f"this node is not healthy: {ill[0].check} {ill[0].item}: {ill[0].what}",
            where=report.host,
            hint="learn from a healthy node; --anyway takes this one as it is",
        )
    if json:
        terminal.print_json(report.learnt)
        return
    names = match or [report.host.partition(".")[0]]
    heading = (
        f"Learnt from {report.host} by `shakedown health learn`. Every value is one that it had: read and correct it."
    )
    text = plan.write(report.learnt, names, heading)
    plan.parse(text, "what was learnt", report.host, calling.names())  # what cannot be read again is not given out
    if output is None:
        sys.stdout.write(text)
        return
    _write(output, text)
    terminal.say(f"written: {output}")


@app.command("correlate")
def correlate(
    states: Annotated[
        list[Path] | None, typer.Argument(help="State files of one or several nodes; default: this node's.")
    ] = None,
    state: State = "",
    host: Host = "",
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Do faults come with load? Each kind of fault against the state of load that it came in, with an exact test."""
    from ..operate.health import clearing
    from ..operate.health.correlate import correlate as test

    held = {str(path): _read(path) for path in states or [_state_file(state, host)]}
    found = test({name: (clearing.occasions(one), one.exposure) for name, one in held.items()})
    if json:
        terminal.print_json(found)
        return
    watched_h = sum(sum(one.exposure.seconds.values()) for one in held.values()) / 3600
    for one in found:
        print(one.text)
        if one.p_holm is not None and one.p_holm < 0.05:
            bound = f", at least {one.ratio_at_least:.1f} times" if one.ratio_at_least else ""
            print(f"  more often then than otherwise{bound} (95 %)")
    if not found:
        print(f"no faults, or no load known, in {watched_h:.1f} h of {len(held)} node{'s' if len(held) > 1 else ''}")


@app.command("clear")
def clear(
    faults: Annotated[list[str], typer.Argument(help="Parts of the faults' names: 'xid 79', 0000:9b:00, or all.")],
    state: State = "",
    host: Host = "",
    json: Annotated[bool, typer.Option("--json", help="Print what was cleared as JSON.")] = False,
) -> None:
    """Say that faults of the kernel's log have been seen to: no longer in force, but still counted for recurrence."""
    from ..operate.health import clearing
    from ..operate.health import state as states

    file = _state_file(state, host)
    _read(file)  # what is not there cannot be locked either
    with states.locked(str(file), 6.0) as mine:
        if not mine:
            raise CannotMeasure("another call is at work", where=str(file), hint="try again")
        kept, cleared = clearing.clear(_read(file), faults)
        states.write(str(file), kept)
    if json:
        terminal.print_json(cleared)
    else:
        print("\n".join(f"cleared: {name}" for name in cleared))


@app.command("log")
def log(
    file: Annotated[Path, typer.Argument(help="A kernel log: dmesg, dmesg -T, journalctl -k, /dev/kmsg; - reads.")],
    json: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
) -> None:
    """What a recorded kernel log shows: each fault, what it means, the next action."""
    import time

    from .. import strict
    from ..operate.health import command, faults, kernellines

    text = sys.stdin.read() if str(file) == "-" else strict.read_text(file)
    now_s = time.time()
    lines = kernellines.text_log(text, now_s=now_s)
    if not lines:
        raise BadInput(
            "contains no line of a kernel log", where=str(file), hint="dmesg > FILE, or journalctl -k > FILE"
        )
    last = max((one.since_boot_us for one in lines), default=-1)
    if lines and all(one.at_s is None for one in lines) and last >= 0:
        terminal.say("the log has no date: its last line is taken as now")
        lines = kernellines.text_log(text, boot_s=now_s - last * 1e-6, now_s=now_s)
    end_s = max((one.at_s for one in lines if one.at_s is not None), default=now_s)
    told = (faults.recognise(line, "", "", end_s) for line in lines)
    findings = faults.judge(faults.gather((), (one for one in told if one), end_s), "", end_s)
    if json:
        terminal.print_json(findings)
    else:
        for one in findings:
            command.show_finding(one.severity, one.item, one.what, one.action)
        print(f"{len(lines)} line{'' if len(lines) == 1 else 's'}, {len(findings)} kinds of faults")
    raise typer.Exit(NOT_MET if any(one.severity == "CRITICAL" for one in findings) else MET)


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """The checks, and the keys that each has in a plan."""
    import msgspec

    from .. import plugins
    from ..operate.health import calling

    checks = [calling.check(name) for name in plugins.names(calling.FOLDER)]
    rows = [(one.name, one.title, [field.encode_name for field in msgspec.structs.fields(one.plan)]) for one in checks]
    if json:
        terminal.print_json([{"name": name, "title": title, "keys": keys} for name, title, keys in rows])
    else:
        terminal.print_table(("check", "about", "keys in a plan"), [(a, b, ", ".join(keys)) for a, b, keys in rows])


@app.command("wrapper")
def wrapper(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write this new file; default: print.")] = None,
    slurm_conf: Annotated[str, typer.Option(help="SLURM_CONF for the check, where it is not the default.")] = "",
    plan: PlanFile = "",
    state: State = "",
    drain: Annotated[bool, typer.Option(help="Let it drain the node.")] = True,
    resume: Annotated[bool, typer.Option(help="Let it give back what it has drained.")] = False,
    prometheus: Annotated[str, typer.Option(metavar="FILE", help="Let it write this file as well.")] = "",
) -> None:
    """The script for HealthCheckProgram in slurm.conf, which calls the quick entry with what slurmd does not give it."""
    from ..operate.health import wrapper as wrappers

    if resume and not drain:
        raise BadInput("--resume needs --drain", hint="leave --no-drain out")
    words = [*(("--plan", plan) if plan else ()), *(("--state", state) if state else ())]
    words += [*(("--drain", "slurm") if drain else ()), *(("--resume",) if resume else ())]
    words += ["--prometheus", prometheus] if prometheus else []
    text = wrappers.script(words, slurm_conf)
    if output is None:
        sys.stdout.write(text)
        return
    if why := wrappers.writable(str(output.absolute().parent)):
        raise BadInput(f"{why}: others may change what root would run", where=str(output), hint="name another folder")
    _write(output, text, executable=True)
    terminal.say(
        f"written: {output}\nnext: HealthCheckProgram={output.absolute()} and HealthCheckInterval=300 in slurm.conf"
    )


def _write(output: Path, text: str, *, executable: bool = False) -> None:
    """A new file. Raises BadInput, also where there is one."""
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
        if executable:
            output.chmod(0o755)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(output), hint="name a new file") from None


def _state_file(state: str, host: str) -> Path:
    import os

    from ..operate.health import state as states

    if state == "none":
        raise BadInput("there is no state to look at", where="--state", hint="name the folder of the earlier calls")
    return Path(states.path(state, host or os.uname().nodename))


def _read(path: Path) -> KeptState:
    from ..operate.health import state as states

    try:
        found = states.read(str(path))
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        raise BadInput(why, where=str(path), hint="name the state of a node: --state, --host") from None
    except ValueError as error:
        raise BadInput(str(error), where=str(path), hint="name the state of a node: --state, --host") from None
    if found is None:
        raise BadInput(
            "is not there", where=str(path), hint="`shakedown health` writes it; name it with --state, --host"
        )
    return found
