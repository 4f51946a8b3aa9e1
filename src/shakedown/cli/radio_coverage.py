"""shakedown radio coverage: the loss from one place, or from the best of several, over an area."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput, CannotMeasure
from . import _radio_scene

if TYPE_CHECKING:
    from ..radio.pages.coverage import Coverage, Sums
    from ..radio.pages.map import Extent
    from ..radio.scene import Radio

#: Radios whose losses over the whole area are found, unless more are named.
MOST = 200


def command(
    ctx: typer.Context,
    of: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="RADIO", help="By its name or id; may be given again. Default: all radios."),
    ] = None,
    at: Annotated[
        str, typer.Option(metavar="LAT,LON[,HEIGHT]", help="From this place (degrees, m above ground) alone.")
    ] = "",
    receiver_m: Annotated[float, typer.Option(help="Height of the receiver above ground, in m.")] = 1.5,
    bounds: Annotated[
        str, typer.Option(metavar="S,W,N,E", help="The area, in degrees. Default: all of the terrain.")
    ] = "",
    pixels: Annotated[int, typer.Option(min=2, max=4000, help="Points along the longer side of the area.")] = 400,
    html: Annotated[Path | None, typer.Option(help="Write the page with the map here.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the map alone here, as a picture.")] = None,
    geotiff: Annotated[Path | None, typer.Option(help="Write the losses here, for a GIS.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the loss, SNR and server of all points here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what it comes to as JSON.")] = False,
) -> None:
    """A map of the loss from one place, or from the best of several radios, over an area.

    Exit code 3 where no point has a loss.
    """
    from ..radio.pages import coverage as pages

    _radio_scene.check_names(
        {"--csv": csv, "--png": png, "--geotiff": geotiff}, {"--csv": ".csv", "--png": ".png", "--geotiff": ".tif"}
    )
    if not (math.isfinite(receiver_m) and receiver_m > 0):
        raise BadInput(f"{receiver_m:g} m above ground", where="--receiver-m", hint="give a number above 0")
    place = _place(at) if at else None
    with _radio_scene.opened(ctx, place) as scene:
        servers = _servers(of or [], scene.radios)
        extent = _extent(bounds, scene)
        shape = _shape(extent, pixels)
        found = pages.best(extent, (scene.coverage(one.place, receiver_m, shape, extent) for one in servers))
    sums = pages.figures(found, len(servers), scene.made.budget.usable_loss_db)
    if html:
        _radio_scene.write_page(
            html, lambda version: pages.document(found, scene.made, servers, receiver_m, version=version)
        )
    if png:
        _radio_scene.write_picture(png, pages.loss_map(found, scene.made, servers, receiver_m))
    _write_points(found, scene, servers, geotiff, csv)
    _print(found, sums, scene, servers, json)
    if sums.unknown > 0.999999:
        raise CannotMeasure("no point of the area has a loss", hint="look at where the radios stand on the terrain")


def _place(text: str) -> tuple[Radio, ...]:
    """A radio of its own. Raises BadInput."""
    from ..radio.scene import Place, Radio

    numbers = _numbers(text, "--at", "LAT,LON or LAT,LON,HEIGHT", (2, 3))
    place = Place(latitude_deg=numbers[0], longitude_deg=numbers[1], height_m=numbers[2] if len(numbers) > 2 else 2.0)
    return (Radio(id=1, name="the transmitter", place=place),)


def _numbers(text: str, option: str, form: str, counts: tuple[int, ...]) -> list[float]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts or not all(map(math.isfinite, numbers)):
        raise BadInput(f"{text!r} is not {form}", where=option, hint=f"give {form}, in degrees (heights in m)")
    return numbers


def _servers(words: list[str], radios: tuple[Radio, ...]) -> tuple[Radio, ...]:
    from ..radio import radios as reading

    if words:
        return tuple(radios[at] for at in dict.fromkeys(reading.find(radios, word) for word in words))
    if len(radios) > MOST:
        raise BadInput(
            f"{len(radios):,} radios, and each takes a map", where="--from", hint=f"name some, or give at most {MOST}"
        )
    return radios


def _extent(text: str, scene: _radio_scene.Scene) -> Extent:
    """The area: what was given, within the terrain. Raises BadInput."""
    from ..radio.pages.map import Extent

    ground = scene.made.terrain
    whole = Extent(ground.south_deg, ground.west_deg, ground.north_deg, ground.east_deg)
    if not text:
        return whole
    south, west, north, east = _numbers(text, "--bounds", "SOUTH,WEST,NORTH,EAST", (4,))
    if not (-90 <= south < north <= 90 and west < east <= west + 360):
        raise BadInput(f"{text!r} is not an area", where="--bounds", hint="give SOUTH,WEST,NORTH,EAST in degrees")
    if north < whole.south or south > whole.north or east < whole.west or west > whole.east:
        here = f"{whole.south:.4f},{whole.west:.4f},{whole.north:.4f},{whole.east:.4f}"
        raise BadInput("lies off the terrain", where="--bounds", hint=f"the terrain is {here}")
    return Extent(south, west, north, east)


def _shape(extent: Extent, pixels: int) -> tuple[int, int]:
    """Rows and columns, of points that are about as far apart both ways."""
    ratio = extent.metres_high / extent.metres_wide
    rows, columns = (pixels, pixels / ratio) if ratio > 1 else (pixels * ratio, pixels)
    return max(2, round(rows)), max(2, round(columns))


def _write_points(
    found: Coverage, scene: _radio_scene.Scene, servers: tuple[Radio, ...], geotiff: Path | None, csv: Path | None
) -> None:
    from ..radio.pages import coverage as pages
    from ..radio.pages import export

    if geotiff:
        export.geotiff(geotiff, found.loss_db, found.extent)
        terminal.say(f"map: {geotiff}")
    if csv:
        pages.write(csv, found, scene.made, servers)
        terminal.say(f"points: {csv}")


def _print(found: Coverage, sums: Sums, scene: _radio_scene.Scene, servers: tuple[Radio, ...], json: bool) -> None:
    from ..radio.pages import coverage as pages

    shares = {one.name: share for one, share in zip(servers, sums.by_server, strict=True)}
    if json:
        terminal.print_json(
            {
                "bounds_deg": list(found.extent),
                "rows": found.loss_db.shape[0],
                "columns": found.loss_db.shape[1],
                "area_km2": found.area_km2(),
                "usable_loss_db": scene.made.budget.usable_loss_db,
                "usable_share": sums.usable,
                "unknown_share": sums.unknown,
                "servers": [
                    {"id": one.id, "name": one.name, "share": share}
                    for one, share in zip(servers, sums.by_server, strict=True)
                ],
            }
        )
        return
    for sentence in (*pages.sentences(found, sums, scene.made), *scene.made.left_out):
        terminal.print_sentence(sentence)
    if len(servers) > 1:
        ranked = sorted(servers, key=lambda one: -shares[one.name])
        rows = [(one.name, f"{one.place.height_m:g} m", f"{100 * shares[one.name]:.1f} %") for one in ranked[:40]]
        terminal.print_table(("radio", "above ground", "best server on"), rows, "Servers")
