"""shakedown tune hpl: find the fastest configuration within a budget; the same folder goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, BadInput, Interrupted
from . import common

if TYPE_CHECKING:
    from ..tuning.records import Result
    from ..tuning.session import Opened

app = typer.Typer(name="tune", no_args_is_help=True, help="Find the fastest configuration of a benchmark by measuring.")


@app.callback()
def _root() -> None:
    """Keeps the benchmark's name in the command: shakedown tune hpl."""


_Minutes = Annotated[
    float, typer.Option(callback=common.not_negative, help="Minutes that all calls in this folder together may take.")
]
_Order = Annotated[str, typer.Option("--n", help="The order N, or auto: by --memory-share and --time-limit-s.")]
_Share = Annotated[float, typer.Option(callback=common.not_negative, help="For --n auto: of the free memory.")]
_Limit = Annotated[
    float, typer.Option(callback=common.not_negative, help="For --n auto: of one solution in seconds; 0: no limit.")
]
_Nodes = Annotated[
    str,
    typer.Option(
        help="Hosts separated by commas, or how many of this allocation. Default: this host, or the allocation."
    ),
]
_Fix = Annotated[
    list[str] | None,
    typer.Option(help="NAME=VALUE or NAME=VALUE,VALUE: search only these, such as nb=192 or ranks=1,2."),
]
_Space = Annotated[Path | None, typer.Option(help="A TOML file with the values to search: nb = [128, 192] a line.")]
_Library = Annotated[str, typer.Option(help="BLAS: auto, all, a name, or paths, separated by commas.")]
_Windows = Annotated[
    str,
    typer.Option(
        help="Parts of a run at these shares of N (1,0.7,0.4,0.15); none: whole runs; auto: where those are long."
    ),
]
_Panels = Annotated[int, typer.Option(help="Panels of a window at NB 192; other NB take as many columns. 0: 3 % of N.")]
_Probes = Annotated[
    Path | None, typer.Option(help="What a probe of kernels and network printed: the model's rates come from it.")
]


@app.command("hpl")
def command(
    directory: Annotated[
        Path | None,
        typer.Argument(help="The folder for everything; an existing one is continued. Default: a new one in ./runs."),
    ] = None,
    budget_min: _Minutes = 30.0,
    n: _Order = "auto",
    memory_share: _Share = 0.8,
    time_limit_s: _Limit = 0.0,
    nodes: _Nodes = "",
    fix: _Fix = None,
    space: _Space = None,
    library: _Library = "auto",
    windows: _Windows = "auto",
    window_panels: _Panels = 0,
    probes: _Probes = None,
    seed: Annotated[int, typer.Option(help="Of the order of runs.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Tune HPL on this machine: measure, choose, explain; HPL.dat and the command line at the end."""
    from ..tuning import session

    asked = session.TuneOptions(
        n=n,
        memory_share=memory_share,
        time_limit_s=time_limit_s,
        nodes=nodes,
        fix=tuple(fix or ()),
        space=space,
        library=library,
        windows=windows,
        window_panels=window_panels,
        seed=seed,
        probes=probes,
    )
    if not budget_min > 0:
        raise BadInput(f"--budget-min {budget_min:g} leaves no time", hint="give minutes above zero")
    opened = session.open_folder(directory, asked)
    try:
        result = _tuned(opened, budget_s=60 * budget_min)
    finally:
        opened.journal.close()
    _show(result, opened.folder, json=json)
    raise typer.Exit(MET if result.chosen else COULD_NOT_MEASURE)


def _tuned(opened: Opened, *, budget_s: float) -> Result:
    """Search in the folder, and say how it goes on. Raises Interrupted."""
    from ..tuning import session

    terminal.say(f"tuning HPL, N = {opened.setup.n:,} ({opened.setup.n_reason}), into {opened.folder}")
    for notice in opened.journal.notices:
        terminal.say(f"  note: {notice.text}")
    try:
        return session.run(opened, budget_s=budget_s, progress=Told(session.told(opened)))
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped; every run that ended was kept", hint=f"shakedown tune hpl {opened.folder}"
        ) from None


def _show(result: Result, folder: Path, *, json: bool) -> None:
    from ..tuning import explain

    if json:
        terminal.print_json(result)
    else:
        print(explain.text(result))
    terminal.say(f"report: {folder / 'report.html'}")


class Told:
    """Implements tuning.loop.Progress: a line a run on standard error, with the time that is left."""

    def __init__(self, axes: tuple[str, ...]) -> None:
        self._axes = axes

    def begin(self, asked: object, number: int, left_s: float | None) -> None:
        self._number, self._left_s = number, left_s

    def end(self, trial: object) -> None:
        from ..tuning.records import Trial
        from ..tuning.space import words
        from ..units import show, show_seconds
        from ..workloads.common.hpl import flop

        assert isinstance(trial, Trial)
        left = "" if self._left_s is None else f", {show_seconds(max(0.0, self._left_s - trial.cost_s))} left"
        what = show(flop(trial.n) / trial.seconds, "flop/s") if trial.seconds else f"{trial.state}: {trial.reason}"
        took = f"({show_seconds(trial.cost_s)}{left})"
        terminal.say(f"  {self._number:>3} {trial.stage:<10} {what:<14} {words(trial.point, self._axes)} {took}")
