"""A scene for the verbs of `shakedown radio`: radios placed in a running engine; and the files that the verbs write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ._radio import ENGINE, budget, given, ground_and_town, radios, setting

if TYPE_CHECKING:
    from ..document.model import Document, Drawing
    from ..radio.buildings import Town
    from ..radio.engine import Engine
    from ..radio.pages.map import Extent
    from ..radio.pages.stated import Made
    from ..radio.scene import Place, Radio, RadioSetting
    from ..radio.terrain import Terrain


def engine(said: dict[str, Any], terrain: Terrain, asked: RadioSetting, town: Town | None) -> Engine:
    """The engine over this terrain and town, to be used as a context. Raises BadInput and CannotMeasure."""
    from ..errors import unknown
    from ..radio.engine import Engine

    precision = said.get("precision", ENGINE["precision"].default)
    if precision not in ("fp32", "fp64"):
        raise unknown("precision", precision, ("fp32", "fp64"), where="--precision")
    return Engine(terrain, asked, buildings=town, threads=said.get("threads"), precision=precision)


# --------------------------------------------------------------------------------------------------------------- scenes


class Scene(NamedTuple):
    """Radios that are placed in an engine, and what a page says of how their losses are found."""

    radios: tuple[Radio, ...]
    made: Made
    engine: Engine

    def links(self, below_db: float | None) -> tuple[tuple[Any, Any, Any], int | None]:
        """The links with a loss (a, b, loss), and how many have none; with ``below_db`` those below it, and None."""
        import numpy as np

        if below_db is not None:
            return self.engine.links(below_db), None
        losses = self.engine.losses()
        a, b = np.triu_indices(len(self.radios), 1)
        known = ~np.isnan(losses)
        return (a[known], b[known], losses[known]), int((~known).sum())

    def coverage(self, place: Place, receiver_m: float, shape: tuple[int, int], extent: Extent) -> Any:
        """The losses from a place over an area, NaN: not known."""
        return self.engine.coverage(place, receiver_m, *shape, (extent.south, extent.west, extent.north, extent.east))


@contextmanager
def opened(ctx: typer.Context, instead: tuple[Radio, ...] | None = None) -> Iterator[Scene]:
    """What was given as a scene; ``instead``: these radios and no others. Raises BadInput, CannotMeasure."""
    import numpy as np

    from ..document.text import listed
    from ..radio.engine import Standing
    from ..radio.pages.stated import Made

    said = given(ctx)
    asked, usable = setting(said), budget(said)
    height, town = ground_and_town(said)
    here = instead or radios(said, height, town)
    with engine(said, height, asked, town) as running:
        columns = ("latitude_deg", "longitude_deg", "height_m")
        placed = running.place(*(np.array([getattr(one.place, name) for one in here]) for name in columns))
        left_out = [f"The model {asked.model} says: {one}." for one in running.engine_facts.get("warnings", ())]
        for standing in Standing:
            if standing != Standing.KNOWN and (at := np.flatnonzero(placed.standing == standing)).size:
                left_out.append(f"Without losses, {standing.words}: {listed(here[int(one)].name for one in at)}.")
        precision = said.get("precision", ENGINE["precision"].default)
        yield Scene(here, Made(asked, usable, height, precision, tuple(left_out), running.buildings), running)


# --------------------------------------------------------------------------------------------------------------- files


def check_names(paths: dict[str, Path | None], endings: dict[str, str]) -> None:
    """Raises BadInput where a file's name does not end as its option says, before anything is computed."""
    from ..errors import BadInput

    for option, path in paths.items():
        if path is not None and path.suffix.lower() not in (endings[option], f"{endings[option]}f"):
            raise BadInput(
                f"{path} does not end in {endings[option]}", where=option, hint=f"name it *{endings[option]}"
            )


def write_page(path: Path, document: Callable[[str], Document]) -> None:
    """A page as HTML. Raises StoreFailed."""
    from .. import __version__
    from ..document.terminal import say
    from ..files import atomic
    from ..report.formats import html

    atomic.write(path, html.render_document(document(__version__)))
    say(f"page: {path}")


def write_picture(path: Path, drawing: Drawing) -> None:
    """A drawing as PNG, with its legend. Raises StoreFailed."""
    import vl_convert

    from ..document import charts
    from ..document.terminal import say
    from ..files import atomic

    atomic.write(path, vl_convert.svg_to_png(charts.svg(drawing, standalone=True), scale=2))
    say(f"picture: {path}")
