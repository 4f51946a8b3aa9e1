"""shakedown pairs: slow nodes and slow links from the pairs that run directories hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..analysis.pairs import PairVerdict, Settings
    from ..results.run_directory import RunDirectory


def command(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run directories with pairs of nodes (pingpong, pairs = all); 'latest' (the default) is the newest "
            "below ./runs. Several are taken as passes of one test."
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            help="Which node sits behind which switch: Slurm's topology.conf, or TOML with a table [switches]."
        ),
    ] = None,
    rate: Annotated[
        float,
        typer.Option(callback=common.not_negative, help="The false-discovery rate that nodes and links are named at."),
    ] = 0.01,
    node_floor: Annotated[
        str, typer.Option(help="A node that is slower by less is not named, however sure it is.")
    ] = "2 %",
    link_floor: Annotated[str, typer.Option(help="The same for a link.")] = "5 %",
    json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Name slow nodes and slow links apart, from pairs of nodes measured one pair per node at a time.

    Exit code 0: none is slow or dead; 1: some are; 3: damaged records; 4: too few pairs to decide.
    """
    import gc

    from ..analysis import pairs
    from ..analysis.pairs import topology as switches

    gc.disable()  # half a million records without cycles: looking for some takes a fifth of the time
    settings = settings_of(rate, node_floor, link_floor)
    opened = _opened(runs or [Path("latest")])
    behind = switches.read(topology) if topology else None
    found, damaged = pairs.from_directories(opened)
    for one in damaged:
        terminal.say(f"shakedown: {one.what}: {one.why}")
    if not found:
        raise _no_pairs(opened)
    verdicts = [pairs.verdict(one, settings, switches=behind) for one in found]
    if json:
        terminal.print_json({"verdicts": verdicts, "damaged": damaged})
    else:
        for verdict in verdicts:
            show(verdict)
    raise typer.Exit(common.exit_code({verdict.state for verdict in verdicts}, bool(damaged)))


def _no_pairs(opened: list[RunDirectory]) -> CannotMeasure:
    """That there are none; of runs that measured groups, what judges those."""
    from ..analysis import groups

    where = ", ".join(str(one.path) for one in opened)
    if groups.from_directories(opened)[0]:
        hint = f"it has groups, which have a command of their own: shakedown groups {opened[0].path} --recorded"
    else:
        hint = (
            'measure them: workload = "pingpong", params = { pairs = "all", rounds = "tournament" }, on several nodes'
        )
    return CannotMeasure("there is no pair of nodes in it", where=where, hint=hint)


def _opened(runs: list[Path]) -> list[RunDirectory]:
    from ..results.run_directory import RunDirectory

    return [RunDirectory.open(common.latest_run(Path("runs")) if str(run) == "latest" else run) for run in runs]


def settings_of(rate: float, node_floor: str, link_floor: str) -> Settings:
    """Raises BadInput."""
    from ..analysis.pairs import Settings

    common.check_rate(rate)
    return Settings(rate, common.share("--node-floor", node_floor), common.share("--link-floor", link_floor))


def show(verdict: PairVerdict) -> None:
    """One verdict for a person: the summary, each name with its next step, and the notices."""
    from ..report import pairs as _pairs

    print(f"\n{_pairs.title(verdict)}")
    print(f"  {_pairs.summary(verdict)}")
    previous = ""
    for one in _pairs.named(verdict):
        print(f"  {one.seen}")
        print(f"    next: {one.step}" if one.step != previous else "    next: the same")
        previous = one.step
    for notice in verdict.notices:
        print(f"  note: {notice.text}; {notice.advice}")
