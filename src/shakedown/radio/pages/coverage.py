"""Coverage: the loss from one place, or from the best of several, over an area; as a page, a picture and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...document.model import Block, Column, Document, Drawing, Figures, Section, Table
from ...document.palette import colour
from ...document.text import count
from . import bands, contours, export, hillshade, map, stated

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..scene import Radio
    from ..terrain import Terrain
    from .map import Extent
    from .stated import Made

    Degrees = NDArray[np.float64]
    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

#: Servers that have a colour of their own on the map; the others share one.
MOST_SERVERS = 8
_ORDER = ("series1", "series2", "series3", "series4", "series5", "series6", "series7", "series8")
_MISSING = "#8d949c"


def middles(low: float, high: float, count: int) -> Degrees:
    """Where the middles of so many cells between two ends are."""
    import numpy as np

    return np.asarray(low + (np.arange(count) + 0.5) * ((high - low) / count), np.float64)


class Coverage(NamedTuple):
    """The least loss in the middle of each cell of an area, row 0 in the north, and which radio gives it (-1: none)."""

    extent: Extent
    loss_db: Floats
    server: Ints

    def shares(self) -> Floats:
        """The share of the area that each row's points stand for: a parallel is the shorter the nearer it is to a pole."""
        import numpy as np

        rows, columns = self.loss_db.shape
        weights = np.cos(np.radians(middles(self.extent.north, self.extent.south, rows)))
        return np.asarray(weights / (weights.sum() * columns), np.float32)[:, None]

    def area_km2(self) -> float:
        return self.extent.metres_wide * self.extent.metres_high / 1e6


def best(extent: Extent, losses: Iterable[Floats]) -> Coverage:
    """The best of several radios at each point; of equal ones the first. ``losses``: of each radio, NaN: not known."""
    import numpy as np

    least: Floats | None = None
    for number, loss in enumerate(losses):
        if least is None:
            least = loss.copy()
            server = np.where(np.isnan(loss), -1, 0).astype(np.int64)
            continue
        with np.errstate(invalid="ignore"):
            better = (loss < least) | (np.isnan(least) & ~np.isnan(loss))
        least[better] = loss[better]
        server[better] = number
    if least is None:
        raise ValueError("no radio")
    return Coverage(extent, least, server)


class Sums(NamedTuple):
    """What a coverage comes to: shares of the area, 1 is all of it."""

    usable: float
    unknown: float
    by_server: tuple[float, ...]


def figures(found: Coverage, servers: int, usable_db: float) -> Sums:
    """Shares that are usable, not known, and usable from each server."""
    import numpy as np

    weight = np.broadcast_to(found.shares(), found.loss_db.shape)
    with np.errstate(invalid="ignore"):
        usable = found.loss_db <= usable_db
    by = np.bincount(found.server[usable], weight[usable], servers) if usable.any() else np.zeros(servers)
    return Sums(float(weight[usable].sum()), float(weight[np.isnan(found.loss_db)].sum()), tuple(by.tolist()))


# ---------------------------------------------------------------------------------------------------------------- maps


def loss_map(found: Coverage, made: Made, radios: Sequence[Radio], receiver_m: float) -> Drawing:
    """The loss in bands of colour where it is usable, over the ground, with the line of the usable loss."""
    import numpy as np

    usable_db = made.budget.usable_loss_db
    steps = bands.bands(found.loss_db, usable_db)
    at = steps.of(found.loss_db)
    covered = at < len(steps.edges)
    bright = shaded(made.terrain, found.extent, found.loss_db.shape)
    pixels = hillshade.tinted(bright, steps.pixels()[at], covered)
    unknown = np.isnan(found.loss_db)
    pixels[unknown] = (0.6 * pixels[unknown] + 0.4 * np.array([0x8D, 0x94, 0x9C])).astype(np.uint8)
    present = [k for k in range(len(steps.edges)) if (at == k).any()]
    keys = [(steps.names()[k], _laid(steps.colours[k]), "area") for k in present]
    keys.append(("loss too great to be used", "#dfe1e4", "area"))
    keys += [("loss not known", _MISSING, "area")] if unknown.any() else []
    keys.append((f"usable loss, {usable_db:.1f} dB", colour("ink"), "derived"))
    many = f"the best of {len(radios)} radios" if len(radios) > 1 else radios[0].name
    sums = figures(found, len(radios), usable_db)
    return map.drawing(
        found.extent,
        pixels,
        title=f"Loss from {many} to a receiver {receiver_m:g} m above ground",
        caption=f"{made.setting.frequency_mhz:g} MHz; {found.loss_db.shape[0]} x {found.loss_db.shape[1]} points.",
        summary=f"{100 * sums.usable:.1f} % of the area within the usable loss of {usable_db:.1f} dB",
        strokes=_limit(found, usable_db),
        spots=spots(radios),
        keys=keys,
    )


def server_map(found: Coverage, made: Made, radios: Sequence[Radio], sums: Sums) -> Drawing:
    """Which radio is the best one where its loss is usable."""
    import numpy as np

    ranked = sorted(range(len(radios)), key=lambda one: -sums.by_server[one])
    named = [one for one in ranked[:MOST_SERVERS] if sums.by_server[one] > 0]
    place = np.full(len(radios) + 1, len(named))
    place[named] = np.arange(len(named))
    hues = [colour(name) for name in _ORDER[: len(named)]] + [_MISSING]
    palette = np.array([[int(hue[at : at + 2], 16) for at in (1, 3, 5)] for hue in hues], np.uint8)
    with np.errstate(invalid="ignore"):
        covered = found.loss_db <= made.budget.usable_loss_db
    bright = shaded(made.terrain, found.extent, found.loss_db.shape)
    pixels = hillshade.tinted(bright, palette[place[found.server]], covered)
    keys = [
        (f"{radios[one].name}, {100 * sums.by_server[one]:.1f} %", _laid(hues[at]), "area")
        for at, one in enumerate(named)
    ]
    if len([share for share in sums.by_server if share > 0]) > len(named):
        keys.append(("another radio", _laid(_MISSING), "area"))
    return map.drawing(
        found.extent,
        pixels,
        title="The best server: whose loss is the least, where it is usable",
        caption="Shares are of the whole area.",
        summary=", ".join(f"{radios[one].name} {100 * sums.by_server[one]:.1f} %" for one in named) or "no usable loss",
        spots=spots(radios),
        keys=keys,
    )


def _laid(hue: str) -> str:
    """A colour as it looks on level ground under ``hillshade.tinted``; not one of the palette, which a page turns dark."""
    import numpy as np

    pixel = np.array([[[int(hue[at : at + 2], 16) for at in (1, 3, 5)]]], np.uint8)
    mixed = hillshade.tinted(np.full((1, 1), hillshade.LEVEL), pixel, np.ones((1, 1), bool))[0, 0]
    return "#" + "".join(f"{part:02x}" for part in mixed.tolist())


def shaded(terrain: Terrain, extent: Extent, shape: tuple[int, ...]) -> NDArray[np.floating]:
    """The ground's brightness at each of the points of a map."""
    import numpy as np

    latitudes = middles(extent.north, extent.south, shape[0])
    longitudes = middles(extent.west, extent.east, shape[1])
    heights = terrain.at(*np.meshgrid(latitudes, longitudes, indexing="ij"))
    return hillshade.shade(heights, extent.metres_high / shape[0], extent.metres_wide / shape[1])


def _limit(found: Coverage, usable_db: float) -> list[map.Stroke]:
    rows, columns = found.loss_db.shape
    extent = found.extent
    strokes = []
    for line in contours.lines(found.loss_db, usable_db):
        points = tuple(
            (
                extent.west + (at + 0.5) / columns * (extent.east - extent.west),
                extent.north - (row + 0.5) / rows * (extent.north - extent.south),
            )
            for row, at in line
        )
        if len(points) > 5:  # a speck of a few cells is seen by its colour
            strokes.append(map.Stroke(points, map.INK, 1.1))
    return strokes


def spots(radios: Sequence[Radio]) -> list[map.Spot]:
    """Radios as a map shows them."""
    return [
        map.Spot(
            one.place.longitude_deg,
            one.place.latitude_deg,
            one.name,
            f"{one.name} (id {one.id}), {one.place.height_m:g} m above ground",
        )
        for one in radios
    ]


# ---------------------------------------------------------------------------------------------------------------- page


def document(found: Coverage, made: Made, radios: Sequence[Radio], receiver_m: float, *, version: str) -> Document:
    """The page."""
    sums = figures(found, len(radios), made.budget.usable_loss_db)
    blocks: list[Block] = [Figures(figures=(loss_map(found, made, radios, receiver_m),))]
    if len(radios) > 1:
        blocks.append(Figures(figures=(server_map(found, made, radios, sums),)))
    ranked = sorted(range(len(radios)), key=lambda one: -sums.by_server[one])
    rows = tuple(
        (
            radios[one].name,
            str(radios[one].id),
            f"{radios[one].place.latitude_deg:.6f}",
            f"{radios[one].place.longitude_deg:.6f}",
            f"{radios[one].place.height_m:g}",
            f"{100 * sums.by_server[one]:.2f}",
        )
        for one in ranked
    )
    heads = ("radio", "id", "latitude", "longitude", "height, m", "best server on, %")
    columns = tuple(Column(head, "text" if at == 0 else "number") for at, head in enumerate(heads))
    table = Table(title="Radios", columns=columns, rows=rows, folded=len(rows) > 40)
    return Document(
        title=f"Coverage of {radios[0].name}" if len(radios) == 1 else f"Coverage of {count(len(radios), 'radio')}",
        subtitle=f"{made.setting.frequency_mhz:g} MHz, {found.extent.metres_wide / 1000:.1f} km x "
        f"{found.extent.metres_high / 1000:.1f} km, a receiver {receiver_m:g} m above ground",
        state="computed",
        counts=(),
        lead=tuple(sentences(found, sums, made)),
        sections=(
            Section(id="map", title="The map", short="Map", blocks=tuple(blocks)),
            Section(id="radios", title="Radios", blocks=(table,)),
            stated.section(made),
        ),
        footer=f"Made by Shakedown {version}.",
        rows_in="the CSV file" if len(rows) > 40 else "",
    )


def sentences(found: Coverage, sums: Sums, made: Made) -> Iterator[str]:
    """What a coverage comes to, in words."""
    usable_db, area_km2 = made.budget.usable_loss_db, found.area_km2()
    yield (
        f"{100 * sums.usable:.1f} % of the area ({sums.usable * area_km2:,.4g} of {area_km2:,.4g} km²) has a loss of "
        f"{usable_db:.1f} dB or less, which the link budget can use."
    )
    if sums.unknown > 0:
        within = f"in one of the {count(len(made.town.buildings), 'building')}, " if made.town else ""
        yield (
            f"For {100 * sums.unknown:.2g} % no loss is known: off the terrain, over a hole in it, {within}or outside the "
            "model."
        )


def write(path: Path, found: Coverage, made: Made, radios: Sequence[Radio]) -> None:
    """All points as CSV or Parquet, by the file's name: place, loss, SNR, best server. Raises StoreFailed."""
    import numpy as np

    rows, columns = found.loss_db.shape
    latitudes = middles(found.extent.north, found.extent.south, rows)
    longitudes = middles(found.extent.west, found.extent.east, columns)
    ids = np.array([*(one.id for one in radios), 0])
    table = {
        "place": np.arange(rows * columns),
        "latitude_deg": np.repeat(latitudes, columns),
        "longitude_deg": np.tile(longitudes, rows),
        "loss_db": found.loss_db.ravel(),
        "server": ids[found.server.ravel()],
    }
    query = (
        "select round(latitude_deg, 7) latitude_deg, round(longitude_deg, 7) longitude_deg, "
        "case when isnan(loss_db) then null else round(loss_db::double, 4) end loss_db, "
        f"round({made.budget.snr_db(0.0)!r} - loss_db, 4) snr_db, nullif(server, 0) server from points order by place"
    )
    export.write(path, {"points": table}, query)
