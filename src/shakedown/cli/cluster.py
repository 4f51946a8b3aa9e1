"""shakedown cluster: a rehearsal cluster on this machine: up, down, and everything that can go wrong in between."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, BadInput

if TYPE_CHECKING:
    from ..rehearsal_cluster import Link, RehearsalCluster, Status

app = typer.Typer(
    name="cluster",
    no_args_is_help=True,
    help="A real Slurm or Grid Engine on this machine, with nodes that can be broken: to rehearse an acceptance before the "
    "hardware comes.",
)
node = typer.Typer(name="node", no_args_is_help=True, help="Break and repair a node: kill, start, cut, repair, slow.")
daemon = typer.Typer(name="daemon", no_args_is_help=True, help="Stop, kill and start one daemon.")
app.add_typer(node)
app.add_typer(daemon)

Directory = Annotated[
    Path | None,
    typer.Option(
        help="The cluster's directory. Default: one for each user, below $XDG_RUNTIME_DIR or the temporary folder."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON on standard output.")]
Node = Annotated[str, typer.Argument(metavar="NODE", help="node1, node2 ...")]
Rate = Annotated[
    str | None, typer.Option(help="Rate of the link, each way: 1Gbit, 100Mbit. Default: what this host can.")
]
Delay = Annotated[str | None, typer.Option(help="Delay of the link, one way: 1ms. Between two nodes lie two links.")]
Loss = Annotated[str | None, typer.Option(help="Frames lost on the link, one way: 0.1% or 0.001.")]
Daemon = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="munged, mariadbd, slurmdbd, slurmctld, slurmd@node2, sge_qmaster, sge_execd@node2, sshd@node2.",
    ),
]


# -------------------------------------------------------------------------------------------------------------------- whole


@app.command("up")
def up(
    nodes: Annotated[int | None, typer.Option(help="How many nodes. Default: 4.")] = None,
    directory: Directory = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="slurm or gridengine; may be given twice. Default: slurm.")
    ] = None,
    cpus: Annotated[int | None, typer.Option(help="CPUs of a node, as configured in the engine. Default: 4.")] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of a node, on dummy devices. Default: 4.")] = None,
    gpu_type: Annotated[str | None, typer.Option(help="What kind. Default: h200.")] = None,
    rate: Rate = None,
    delay: Delay = None,
    loss: Loss = None,
    fence: Annotated[
        bool | None,
        typer.Option("--fence/--no-fence", help="Control groups hold jobs to their memory and devices. Default: no."),
    ] = None,
    silence: Annotated[
        int | None, typer.Option(help="Seconds of silence after which a node counts as lost. Default: 15.")
    ] = None,
    ssh: Annotated[
        bool | None,
        typer.Option("--ssh/--no-ssh", help="An ssh server on each node, with keys of its own. Default: no."),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="root, user (namespaces) or plain (none). Default: the fullest that this machine allows."),
    ] = None,
    json: Json = False,
) -> None:
    """Bring a cluster up. One that was there before and is down comes up again with its history, and with its settings
    where none are given."""
    from .. import rehearsal_cluster
    from ..rehearsal_cluster import needs

    asked: dict[str, Any] = {
        "nodes": nodes,
        "engines": tuple(dict.fromkeys(map(needs.engine, engine))) if engine else None,
        "cpus": cpus,
        "gpus": gpus,
        "gpu_type": gpu_type,
        "fence": fence,
        "silence_s": silence,
        "ssh": ssh,
        "layout": layout,
        "link": _link(rate, delay, loss),
    }
    given = {name: value for name, value in asked.items() if value is not None}
    lab = rehearsal_cluster.up(directory, say=terminal.say, **given)
    _show(lab.status(), json)
    where = f" --directory {directory}" if directory else ""
    look = "sinfo" if "slurm" in lab.settings.engines else "qhost"
    terminal.say(f"next: shakedown cluster exec{where} -- {look}      the end: shakedown cluster down{where}")


@app.command("down")
def down(
    directory: Directory = None,
    hard: Annotated[
        bool, typer.Option(help="At once, as a power failure: with --keep, daemons write nothing first.")
    ] = False,
    keep: Annotated[bool, typer.Option(help="Keep the directory, so that `up` continues with its history.")] = False,
    json: Json = False,
) -> None:
    """End a cluster, whatever state it is in: no process, mount, network or control group stays, and no file but with
    --keep."""
    from ..rehearsal_cluster import default_directory, stopping

    path = Path(directory).absolute() if directory else default_directory()
    stopping.down(path, hard=hard, keep=keep)
    if json:
        terminal.print_json({"directory": str(path), "kept": keep})
    else:
        terminal.say(f"down; kept: {path}" if keep else f"down; {path} is gone")


@app.command("status")
def status(directory: Directory = None, json: Json = False) -> None:
    """Nodes, states, daemons, links. Exit code 3 where something that should run does not."""
    from .. import rehearsal_cluster

    found = rehearsal_cluster.open_(directory).status()
    _show(found, json)
    whole = all(found.daemons.values()) and all(one.on and not one.link.cut for one in found.nodes)
    raise typer.Exit(MET if whole else COULD_NOT_MEASURE)


@app.command("restore")
def restore(directory: Directory = None, json: Json = False) -> None:
    """Make everything as it was after `up`: jobs cancelled, daemons and nodes started, links repaired, nodes resumed."""
    from .. import rehearsal_cluster

    lab = rehearsal_cluster.open_(directory)
    lab.restore()
    _show(lab.status(), json)


@app.command("exec", context_settings={"ignore_unknown_options": True})
def exec_(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")],
    directory: Directory = None,
    node: Annotated[str | None, typer.Option(help="On this node. Default: on the controller, ctl.")] = None,
    user: Annotated[str | None, typer.Option(help="As this user: alice, bob. Default: who made the cluster.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print exit code, output and errors as JSON.")] = False,
) -> None:
    """Run a command in the cluster; its exit code is this one's. At a terminal it has a terminal of its own, so a shell is
    a shell."""
    from .. import rehearsal_cluster
    from ..rehearsal_cluster import namespaces, shell

    lab = rehearsal_cluster.open_(directory)
    if json:
        done = lab.run(command, node, user=user, limit_s=86400)
        terminal.print_json({"code": done.code, "out": done.out, "err": done.err})
        raise typer.Exit(COULD_NOT_MEASURE if done.code is None else done.code & 0xFF)
    env = {**os.environ, "PATH": namespaces.search_path()}
    if lab.namespaced and sys.stdin.isatty() and sys.stdout.isatty():
        words = lab.argv(("setsid", "--ctty", "--wait", *command), node=node, user=user)
        raise typer.Exit(shell.attach(words, env))
    words = lab.argv(command, node=node, user=user)
    sys.stdout.flush()
    os.execvpe(words[0], words, env)


# -------------------------------------------------------------------------------------------------------------------- nodes


@node.command("kill")
def node_kill(name: Node, directory: Directory = None, json: Json = False) -> None:
    """Power failure: everything on the node ends at once."""
    _change(directory, json, lambda lab: lab.fail(name))


@node.command("start")
def node_start(name: Node, directory: Directory = None, json: Json = False) -> None:
    """Switch a node on and wait until the engines hear it."""
    _change(directory, json, lambda lab: lab.start(name))


@node.command("cut")
def node_cut(name: Node, directory: Directory = None, json: Json = False) -> None:
    """Take the node's link away."""
    _change(directory, json, lambda lab: lab.cut(name))


@node.command("repair")
@node.command("mend", hidden=True)  # the name of 0.1.0
def node_repair(name: Node, directory: Directory = None, json: Json = False) -> None:
    """Give the link back, as it was after `up`."""
    _change(directory, json, lambda lab: lab.mend(name))


@node.command("slow")
def node_slow(
    name: Node,
    rate: Rate = None,
    delay: Delay = None,
    loss: Loss = None,
    directory: Directory = None,
    json: Json = False,
) -> None:
    """Shape the node's link, in both directions; `repair` undoes it."""
    link = _link(rate, delay, loss)
    if link is None:
        raise BadInput("no change of the link was given", hint="--rate 100Mbit, --delay 5ms, --loss 1%")

    def slow(lab: RehearsalCluster) -> None:
        method = lab.slow(name, rate_bit_s=link.rate_bit_s, delay_s=link.delay_s, loss=link.loss)
        terminal.say(f"{name}: {_words(link, method)}")

    _change(directory, json, slow)


# ------------------------------------------------------------------------------------------------------------------ daemons


@daemon.command("stop")
def daemon_stop(name: Daemon, directory: Directory = None, json: Json = False) -> None:
    """Ask a daemon to end, and wait until it has."""
    _change(directory, json, lambda lab: lab.daemon(name, "stop"))


@daemon.command("kill")
def daemon_kill(name: Daemon, directory: Directory = None, json: Json = False) -> None:
    """End a daemon at once."""
    _change(directory, json, lambda lab: lab.daemon(name, "kill"))


@daemon.command("start")
def daemon_start(name: Daemon, directory: Directory = None, json: Json = False) -> None:
    """Start a daemon and wait until it answers."""
    _change(directory, json, lambda lab: lab.daemon(name, "start"))


# -------------------------------------------------------------------------------------------------------------------- shared


def _change(directory: Path | None, json: bool, act: Callable[[RehearsalCluster], object]) -> None:
    from .. import rehearsal_cluster

    lab = rehearsal_cluster.open_(directory)
    act(lab)
    if json:
        terminal.print_json(lab.status())


def _link(rate: str | None, delay: str | None, loss: str | None) -> Link | None:
    from ..rehearsal_cluster import Link, settings

    if rate is None and delay is None and loss is None:
        return None
    return Link(
        rate_bit_s=settings.parse_rate(rate) if rate else None,
        delay_s=settings.parse_delay(delay) if delay else 0.0,
        loss=settings.parse_loss(loss) if loss else 0.0,
    )


def _show(status: Status, json: bool) -> None:
    if json:
        terminal.print_json(status)
        return
    versions = ", ".join(status.versions.values()) or ", ".join(status.engines)
    print(f"{status.directory}: {'up' if status.up else 'down'}; {versions}; users {', '.join(status.users)}")
    print(f"layout {status.layout}" + (f": {status.layout_reason}" if status.layout_reason else ""))
    terminal.print_table(
        ("node", "power", "state", "reason", "IPv4", "IPv6", "link"),
        [
            (
                one.name,
                "on" if one.on else "off",
                one.state or "not reported",
                one.reason,
                one.address4,
                one.address6,
                _words(one.link, one.method),
            )
            for one in status.nodes
        ],
    )
    terminal.print_table(
        ("daemon", "process"), [(name, str(pid) if pid else "not running") for name, pid in status.daemons.items()]
    )


def _words(link: Link, method: str) -> str:
    from ..units import show

    parts = [
        "cut" if link.cut else "",
        show(link.rate_bit_s, "bit/s") if link.rate_bit_s else "",
        f"delay {show(link.delay_s, 's')}" if link.delay_s else "",
        f"loss {show(link.loss, '%')}" if link.loss else "",
        f"by {method}" if link.shaped else "",
    ]
    return ", ".join(filter(None, parts)) or "up"
