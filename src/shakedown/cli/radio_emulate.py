"""shakedown radio emulate: a network of emulated radios on this machine: up, look, enter, down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET

if TYPE_CHECKING:
    from ..radio.emulate import Lab, Scenario
    from ..radio.emulate.lab import Status

app = typer.Typer(
    name="emulate",
    no_args_is_help=True,
    help="A network of emulated radios: each node a network namespace with an interface radio0, frames between them by the "
    "path loss of the moment. Needs root, or --user where an ordinary user may make user namespaces.",
)
File = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A TOML file; docs/radio-emulation.md shows one.")]
Directory = Annotated[
    Path | None, typer.Option(help="The emulation's directory. Default: one for each user, in the temporary folder.")
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON on standard output.")]
User = Annotated[
    bool | None,
    typer.Option("--user/--root", help="Below a user namespace, or as root. Default: as root where this is root."),
]
Threads = Annotated[int, typer.Option(help="Threads that forward.", min=1, max=256)]
Host = Annotated[
    int | None,
    typer.Option(help="Which of the scenario's hosts this is, from 1 on. Default: the one with an address of it."),
]
Begin = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="When nodes begin to move, the same on all hosts: 2026-11-20T10:00:00Z or Unix seconds."
    ),
]
_ANY = {"ignore_unknown_options": True}


@app.command("up")
def up(
    scenario: File,
    directory: Directory = None,
    user: User = None,
    threads: Threads = 2,
    host: Host = None,
    begin: Begin = "",
    json: Json = False,
) -> None:
    """Bring an emulation up, or this host's part of it; it stays until `down`."""
    lab = _up(scenario, directory, user, threads, host, begin)
    _show(lab.status(), json)
    where = f" --directory {directory}" if directory else ""
    terminal.say(f"next: shakedown radio emulate exec{where} {lab.names[lab.share.first - 1]} -- ip addr show radio0")
    terminal.say(f"the end: shakedown radio emulate down{where}")


@app.command("run", context_settings=_ANY)
def run(
    scenario: File,
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="On this host; nodes by `exec`.")],
    directory: Directory = None,
    user: User = None,
    threads: Threads = 2,
    keep: Annotated[bool, typer.Option(help="Keep the directory with what was counted.")] = False,
) -> None:
    """Bring an emulation up, run a command on this host, bring it down. The command's exit code is this one's; it finds the
    directory in SHAKEDOWN_EMULATION."""
    from ..radio import emulate

    lab = _up(scenario, directory, user, threads)
    try:
        env = {**os.environ, "SHAKEDOWN_EMULATION": str(lab.directory)}
        try:
            code = subprocess.run(command, env=env, check=False).returncode
        except OSError as error:
            terminal.say(f"{command[0]}: {error.strerror}")
            code = 127
        _show(lab.status(), False)
    finally:
        emulate.down(lab.directory, keep=keep)
    raise typer.Exit(code if code >= 0 else 128 - code)


@app.command("status")
def status(directory: Directory = None, json: Json = False) -> None:
    """Nodes, links, what became of frames. Exit code 3 where it is down."""
    from ..radio import emulate

    found = emulate.open_(directory).status()
    _show(found, json)
    raise typer.Exit(MET if found.up else COULD_NOT_MEASURE)


@app.command("exec", context_settings=_ANY)
def exec_(
    node: Annotated[str, typer.Argument(metavar="NODE", help="node1, node2 ..., or a name of the scenario.")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")],
    directory: Directory = None,
) -> None:
    """Run a command on a node: in its network, among the processes of the nodes. Its exit code is this one's."""
    from ..radio import emulate

    words = emulate.open_(directory).argv(node, command)
    sys.stdout.flush()
    os.execvp(words[0], words)


@app.command("down")
def down(
    directory: Directory = None,
    hard: Annotated[bool, typer.Option(help="At once, as a power failure: the last counts are lost.")] = False,
    keep: Annotated[bool, typer.Option(help="Keep the directory with what was counted.")] = False,
    json: Json = False,
) -> None:
    """End an emulation, whatever state it is in: no process, namespace or file stays, but the directory with --keep."""
    from ..radio import emulate

    path = (directory or emulate.default_directory()).absolute()
    emulate.down(path, hard=hard, keep=keep)
    if json:
        terminal.print_json({"directory": str(path), "kept": keep})
        return
    terminal.say(f"down; kept: {path}" if keep else f"down; {path} is gone")


@app.command("report")
def report(
    directory: Directory = None,
    html: Annotated[
        Path | None, typer.Option(help="The page. Default: report.html in the emulation's directory.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the page of an emulation that is up, or that `down --keep` left: the network over time, frames, a map."""
    from ..radio import emulate

    write_report((directory or emulate.default_directory()).absolute(), html, json=json)


def write_report(directory: Path, html: Path | None = None, *, json: bool = False) -> None:
    """Raises BadInput, CannotMeasure and StoreFailed."""
    from ..radio.emulate import files, page
    from . import _radio_scene

    path = html or directory / files.REPORT
    _radio_scene.check_names({"--html": path}, {"--html": ".html"})
    kept = page.read(directory)
    said = list(page.sentences(kept))
    if json:
        terminal.print_json({"page": str(path), "sentences": said, "counts": kept.counts})
    else:
        for sentence in said:
            terminal.print_sentence(sentence)
    _radio_scene.write_page(path, lambda version: page.document(kept, version=version))


@app.command("emane-files")
def emane_files(
    scenario: File,
    output: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to: made where it is not there.")],
    device: Annotated[str, typer.Option(help="Interface of events and of frames over the air.")] = "lo",
    json: Json = False,
) -> None:
    """Write the scenario for EMANE: a platform and an NEM for each node, the radio's XML, and an event service."""
    from ..radio.emulate import emane_files as files
    from ..radio.emulate import read

    written = files.write(read(scenario), output, device)
    if json:
        terminal.print_json({"directory": str(output), "files": written})
        return
    terminal.say(f"{written} files in {output}; next: shakedown radio serve sends EMANE the losses")


def _up(
    scenario: Path, directory: Path | None, user: bool | None, threads: int, host: int | None = None, begin: str = ""
) -> Lab:
    from .. import times
    from ..radio import emulate

    asked: Scenario = emulate.read(scenario)
    at_s = times.unix_s(begin, "", "--begin") if begin else None
    return emulate.up(asked, directory, user=user, threads=threads, host=host, begin_unix_s=at_s, say=terminal.say)


def _show(found: Status, json: bool) -> None:
    if json:
        terminal.print_json(found)
        return
    print(
        f"{found.directory}: {'up' if found.up else 'down'}; {found.nodes} nodes, {found.links or 0} links, each way counted"
    )
    if not found.up:
        return
    if found.updates:
        print(f"updates: {found.updates}, the last {found.late_s:.3f} s behind its time")
    histogram = ("late_histogram", "late_median_s", "late_99_percent_s")
    rows = [(name, f"{count:,}") for name, count in found.counts.items() if name not in histogram]
    terminal.print_table(("frames", "count"), rows)
    median, most = (1e6 * float(found.counts[name]) for name in histogram[1:])
    print(f"written behind their time by {median:.0f} µs in the median, {most:.0f} µs at 99 %")
