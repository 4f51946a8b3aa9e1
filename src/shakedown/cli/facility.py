"""shakedown facility: heat, PUE, ERE and COP of a plant from its sensors' files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..document import terminal
from ..errors import MET, NOT_MET, UNDECIDED, BadInput

if TYPE_CHECKING:
    from ..energy.facility.page import Facility, PageFigures
    from ..energy.facility.ratios import Data


class _Group(TyperGroup):
    """``shakedown facility PLANT.toml`` is ``shakedown facility of PLANT.toml``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["of", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="facility",
    cls=_Group,
    no_args_is_help=True,
    help="Heat, PUE, ERE and COP of a plant. `shakedown facility PLANT.toml` evaluates; the file is described in "
    "docs/facility.md.",
)


@app.command("of")
def evaluate(
    plant: Annotated[Path, typer.Argument(help="The description of the plant; sensors' files are beside it.")],
    begin: Annotated[
        str, typer.Option(help="Of the window: ISO 8601 or Unix seconds. Default: all sensors' begin.")
    ] = "",
    end: Annotated[str, typer.Option(help="Of the window. Default: the first sensor's end.")] = "",
    window: Annotated[str, typer.Option(help="Besides, one window of this length after the other: 1d, 6h.")] = "",
    html: Annotated[Path | None, typer.Option(help="Write the page with figures here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Evaluate a plant. Exit code 1 where a balance does not close, 4 where one could not be drawn."""
    from .. import times
    from ..energy.facility import plant as plants
    from ..energy.facility.ratios import Data

    described = plants.load(plant)
    data = Data.of(described)
    begin_ns = times.parse(begin, described.zone or "UTC", "--begin", data.begin_ns) if begin else data.begin_ns
    end_ns = times.parse(end, described.zone or "UTC", "--end", begin_ns) if end else data.end_ns
    found = _found(data, begin_ns, end_ns, window)
    if json:
        terminal.print_json(found)
    else:
        _print(found)
    if html:
        _write_page(html, data, found)
        terminal.say(f"page: {html}")
    closed = [one.closed for one in found.whole.balances]
    raise typer.Exit(NOT_MET if False in closed else UNDECIDED if None in closed else MET)


@app.command("example")
def example(
    directory: Annotated[Path, typer.Argument(help="A new folder for plant.toml and its sensors' files.")],
    seed: Annotated[int, typer.Option(help="Of weather, load and errors of the sensors.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print where it lies as JSON.")] = False,
) -> None:
    """Write a generated sensor history like CoolMUC's (PRACE D9.3.4, chapter 5), to try the rest with."""
    from ..energy.facility import coolmuc

    if directory.exists() and any(directory.iterdir() if directory.is_dir() else [directory]):
        raise BadInput("is there already", where=str(directory), hint="name a folder that is new or empty")
    coolmuc.write(directory, seed or coolmuc.SEED)
    if json:
        terminal.print_json({"directory": str(directory), "plant": str(directory / "plant.toml")})
        return
    terminal.say(f"written: {directory}\nnext: shakedown facility {directory / 'plant.toml'} --html page.html")


def _found(data: Data, begin_ns: int, end_ns: int, window: str) -> Facility:
    from ..energy.facility import ratios, trends
    from ..energy.facility.page import Facility, least_step_s, step_s
    from ..energy.facility.plant import in_si

    whole = ratios.evaluate(data, begin_ns, end_ns)
    step = step_s((end_ns - begin_ns) * 1e-9, least_step_s(data))
    parts = ratios.windows(data, begin_ns, end_ns, in_si(window, "s", "--window")) if window else []
    if window and not parts:
        raise BadInput(
            "the window is longer than the readings", where="--window", hint="take a shorter one, or leave it out"
        )
    return Facility(
        title=data.plant.title,
        note=data.plant.note,
        zone=data.plant.zone or "UTC",
        whole=whole,
        windows=tuple(parts),
        regressions=tuple(trends.regress(data, one, begin_ns, end_ns) for one in data.plant.regressions),
        cops=tuple(trends.cop_course(data, cop, begin_ns, end_ns, step) for cop in data.plant.cops),
    )


# ----------------------------------------------------------------------------------------------------------- what is shown


def _print(found: Facility) -> None:

    from .. import times
    from ..energy.facility import page
    from ..energy.facility.figures import number
    from ..energy.uncertainty.quantity import advice

    clock = found.zone
    print(f"{found.title}\n")
    for sentence in page.lead(found):
        print(f"  {sentence}")
    rows = [(one.of, one.name, number(one.quantity), one.label, one.formula) for one in found.whole.indicators]
    terminal.print_table(("of", "ratio", "value, U of 95 %", "is", "formula"), rows, "Ratios of integrals")
    flows = [
        (one.name, page.power(one, found.whole), "-" if one.seen is None else f"{one.seen:.1%}")
        for one in found.whole.energies
    ]
    terminal.print_table(("flow", "mean power", "seen"), flows, "Flows of energy")
    _print_balances(found)
    _print_slopes(found)
    if found.windows:
        names = [f"{one.of} {one.name}" for one in found.windows[0].indicators]
        print()
        print(f"{len(found.windows)} windows, each {found.windows[0].indicators[0].label if names else ''}")
        table = [
            [times.minute(one.begin_ns // 10**9, clock), *(number(other.quantity) for other in one.indicators)]
            for one in found.windows
        ]
        terminal.print_table([f"from ({clock})", *names], table)
    print()
    for one in found.whole.indicators:
        if words := advice(one.quantity):
            print(f"  {one.of} {one.name}: {words}")
    for note in page.notices(found):
        terminal.say(f"note: {note.text}{f'; {note.advice}' if note.advice else ''}")


def _print_balances(found: Facility) -> None:
    from ..energy.facility import page

    closed = {True: "yes", False: "NO", None: "not known"}
    rows = [
        (
            one.name,
            page.power(one.into, found.whole),
            page.power(one.out, found.whole),
            page.power(one.residual, found.whole),
            closed[one.closed],
        )
        for one in found.whole.balances
    ]
    if rows:
        terminal.print_table(("balance", "into", "out", "left over", "closes"), rows, "Balances, as mean power")


def _print_slopes(found: Facility) -> None:
    rows = []
    for one in found.regressions:
        share = rise = "-"
        if one.relative is not None and one.relative.value is not None:
            u = 100 * (one.relative.expanded or 0)
            share = f"{100 * one.relative.value:.3f} ± {u:.3f} %/K at {one.reference:g} degC"
        if one.rise is not None and one.rise.value is not None:
            rise = f"{100 * one.rise.value:+.2f} ± {100 * (one.rise.expanded or 0):.2f} % at {one.at:g} degC"
        slope = "not measured"
        if one.slope.value is not None:
            slope = f"{one.slope.value:.1f} ± {one.slope.expanded or 0:.1f} {one.slope.unit}"
        bends = ", ".join(f"{place:.1f} degC" for place in one.bends) or "none"
        rows.append((one.name, slope, share, rise, bends))
    if rows:
        terminal.print_table(("line", "slope", "relative", "rise", "bends"), rows, "Power over temperature")
    planes = [
        (slope.name, f"{slope.value or 0:+.4f} ± {slope.expanded or 0:.4f} 1/K")
        for one in found.cops
        if one.plane is not None
        for slope in one.plane.slopes
    ]
    if planes:
        terminal.print_table(("COP over temperature", "slope"), planes)


def _write_page(path: Path, data: Data, found: Facility) -> None:
    from .. import __version__
    from ..energy.facility import page
    from ..files import atomic
    from ..report.formats import html

    text = html.render_document(page.document(data, found, _drawn(data, found), version=__version__))
    atomic.write(path, text)


def _drawn(data: Data, found: Facility) -> PageFigures:
    """The courses and clouds of the page's figures."""
    import numpy as np

    from ..energy.facility import page, ratios, trends
    from ..energy.facility.plant import flows

    begin, end = found.whole.begin_ns, found.whole.end_ns
    length = (end - begin) * 1e-9
    step = page.step_s(length, page.least_step_s(data))
    clouds = []
    for one in data.plant.regressions:
        x, y = trends.points(data, one, begin, end)
        good = np.isfinite(x) & np.isfinite(y)
        clouds.append(tuple(zip(x[good].tolist(), y[good].tolist(), strict=True)))
    powers = tuple(
        (
            figure.title,
            tuple(
                (_title(data, one.of), page.course_points(trends.summed(data, (one,), begin, end, step)))
                for one in flows(figure.flows)
            ),
        )
        for figure in data.plant.figures
    )
    slow = page.step_s(length / 4, page.least_step_s(data))
    course = tuple(ratios.windows(data, begin, end, slow)) if length >= 2 * slow else ()
    return page.PageFigures(powers=powers, clouds=tuple(clouds), course=found.windows or course)


def _title(data: Data, name: str) -> str:
    return data.plant.loops[name].title if name in data.plant.loops else data.plant.sensors[name].title
