"""Links between radios: the table, sorted by loss, and what usable links make of a network; as a page, CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...document import tables
from ...document.model import (
    Axis,
    Block,
    Column,
    Document,
    Drawing,
    Figures,
    Lines,
    Point,
    Region,
    Section,
    Series,
    Table,
)
from ...document.text import count, listed
from ...units import show
from .. import geodesics
from . import coverage, export, hillshade, map, network, stated

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ..scene import LinkBudget, Radio
    from .network import Connectivity
    from .stated import Made

    Floats = NDArray[np.floating]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

#: Links that a page lists, and links that a map draws: where there are more, the best few of each radio.
MOST_LISTED, MOST_DRAWN = 400, 2500
#: Points of the curve of losses.
CURVE = 160
#: Margins above the required SNR: at least so many dB, the line's colour and width. Dark on the map's light ground.
MARGINS = (
    (20.0, "#0b3f6f", 1.8, "20 dB or more"),
    (10.0, "#2f7fc1", 1.4, "10 to 20 dB"),
    (0.0, "#c2700a", 1.1, "below 10 dB"),
)
SPLITS, ALONE = "#c01622", "#8a1fa3"


class LinkTable(NamedTuple):
    """Known links in ascending order of loss; ``a`` and ``b`` are indices of radios, a < b."""

    a: Ints
    b: Ints
    loss_db: Floats
    snr_db: Floats
    usable: Bools
    possible: int  # pairs of radios
    unknown: int | None  # pairs without a loss; None where only those below a loss were asked for


def table(
    radios: Sequence[Radio], a: Ints, b: Ints, loss_db: Floats, budget: LinkBudget, unknown: int | None
) -> LinkTable:
    """The table of these links. Of equal losses the one of the lower indices is first."""
    import numpy as np

    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    place = a * len(radios) + b
    order = np.argsort(place) if (np.diff(place) < 0).any() else np.arange(len(place))
    order = order[np.argsort(loss_db[order], kind="stable")]
    a, b, loss_db = a[order], b[order], loss_db[order]
    possible = len(radios) * (len(radios) - 1) // 2
    snr = budget.snr_db(0.0) - loss_db.astype(np.float64)
    return LinkTable(a, b, loss_db, snr, loss_db <= budget.usable_loss_db, possible, unknown)


def distances_m(links: LinkTable, radios: Sequence[Radio], most: int | None = None) -> Floats:
    """The geodesics of the first ``most`` links, or of all."""
    import numpy as np

    latitude, longitude = (
        np.array([getattr(one.place, name) for one in radios], np.float64) for name in ("latitude_deg", "longitude_deg")
    )
    a, b = links.a[:most], links.b[:most]
    return geodesics.distance_m(latitude[a], longitude[a], latitude[b], longitude[b])


def connectivity(links: LinkTable, radios: int) -> Connectivity:
    """What the usable links make of the radios."""
    return network.connectivity(radios, links.a[links.usable], links.b[links.usable])


HEADINGS = ("radio a", "radio b", "distance", "loss, dB", "SNR, dB", "usable")


def rows(links: LinkTable, radios: Sequence[Radio], most: int) -> list[tuple[str, ...]]:
    """The first ``most`` links as words."""
    distance_m = distances_m(links, radios, most)
    return [
        (
            radios[links.a[at]].name,
            radios[links.b[at]].name,
            show(float(distance_m[at]), "m"),
            f"{links.loss_db[at]:.2f}",
            f"{links.snr_db[at]:.1f}",
            "yes" if links.usable[at] else "no",
        )
        for at in range(min(most, len(links.a)))
    ]


def write(path: Path, links: LinkTable, radios: Sequence[Radio]) -> None:
    """All links as CSV or Parquet, by the file's name. Raises StoreFailed."""
    import numpy as np

    named = {
        "at": np.arange(len(radios)),
        "id": np.array([one.id for one in radios]),
        "name": np.array([one.name for one in radios], dtype=object),
    }
    rows = {
        "at": np.arange(len(links.a)),
        "a": links.a,
        "b": links.b,
        "distance_m": distances_m(links, radios),
        "loss_db": links.loss_db,
        "snr_db": links.snr_db,
        "usable": links.usable,
    }
    query = (
        "select x.id id_a, y.id id_b, x.name name_a, y.name name_b, round(distance_m, 3) distance_m, "
        "round(loss_db::double, 4) loss_db, round(snr_db, 4) snr_db, usable "
        "from links join radios x on a = x.at join radios y on b = y.at order by links.at"
    )
    export.write(path, {"links": rows, "radios": named}, query)


def sentences(links: LinkTable, parts: Connectivity, radios: Sequence[Radio], usable_db: float) -> Iterator[str]:
    """What the links come to, in words."""
    usable = int(links.usable.sum())
    yield (
        f"{usable:,} of {count(links.possible, 'link')} between {count(len(radios), 'radio')} "
        f"{'is' if links.possible == 1 or usable == 1 else 'are'} usable: a loss of "
        f"{usable_db:.1f} dB or less."
    )
    if links.unknown:
        without = count(links.unknown, "link has", "links have")
        yield f"{without} no loss: off the terrain, over a hole in it, or outside the model."
    if len(radios) < 2:
        return
    if len(parts.sizes) == 1:
        yield "The network is connected."
    else:
        yield f"The network is in {len(parts.sizes):,} parts; the largest has {count(int(parts.sizes[0]), 'radio')}."
    if parts.alone:
        names = [one.name for one, near in zip(radios, parts.neighbours, strict=True) if near == 0]
        yield f"Without a usable link: {listed(names)}."
    if parts.splits.any():
        names = [one.name for one, splits in zip(radios, parts.splits, strict=True) if splits]
        yield f"Without any one of these, its part falls apart: {listed(names)}."


# ---------------------------------------------------------------------------------------------------------------- page


def document(links: LinkTable, parts: Connectivity, radios: Sequence[Radio], made: Made, *, version: str) -> Document:
    """The page."""
    usable_db = made.budget.usable_loss_db
    curve = losses(links, usable_db)
    drawn = (network_map(links, parts, radios, made), *((curve,) if curve else ()))
    listed_rows = tuple(rows(links, radios, MOST_LISTED))
    kinds = ("text", "text", "number", "number", "number", "text")
    more = len(links.a) - len(listed_rows)
    link_table = Table(
        title="Links by loss",
        columns=tuple(Column(head, kind) for head, kind in zip(HEADINGS, kinds, strict=True)),  # type: ignore[arg-type]
        rows=listed_rows,
        caption=f"{count(more, 'further link')} of greater loss: in the CSV and Parquet files." if more > 0 else "",
        folded=len(listed_rows) > 40,
    )
    network_blocks: tuple[Block, ...] = (Figures(figures=drawn), radio_table(parts, radios))
    return Document(
        title=f"Links between {count(len(radios), 'radio')}",
        subtitle=f"{made.setting.frequency_mhz:g} MHz, usable up to a loss of {usable_db:.1f} dB",
        state="computed",
        counts=(),
        lead=tuple(sentences(links, parts, radios, usable_db)),
        sections=(
            Section(id="network", title="The network", blocks=network_blocks),
            Section(id="links", title="Links", blocks=(link_table,)),
            stated.section(made),
        ),
        footer=f"Made by Shakedown {version}.",
        rows_in="the CSV and Parquet files",
    )


def radio_table(parts: Connectivity, radios: Sequence[Radio]) -> Table:
    """Each radio with its neighbours and its part; those that would split it first."""
    order = sorted(range(len(radios)), key=lambda at: (not parts.splits[at], int(parts.neighbours[at]), radios[at].id))

    def role(at: int) -> str:
        return "splits its part" if parts.splits[at] else "alone" if parts.neighbours[at] == 0 else ""

    more = len(radios) - MOST_LISTED
    return tables.table(
        "Radios",
        order[:MOST_LISTED],
        (
            ("radio", "text", lambda at: radios[at].name),
            ("id", "number", lambda at: str(radios[at].id)),
            ("latitude", "number", lambda at: f"{radios[at].place.latitude_deg:.6f}"),
            ("longitude", "number", lambda at: f"{radios[at].place.longitude_deg:.6f}"),
            ("height, m", "number", lambda at: f"{radios[at].place.height_m:g}"),
            ("usable links", "number", lambda at: str(int(parts.neighbours[at]))),
            (
                "part",
                "text",
                lambda at: f"{int(parts.part[at]) + 1} of {len(parts.sizes)}" if len(parts.sizes) > 1 else "",
            ),
            ("role", "text", role),
        ),
        optional=("part", "role"),
        caption=f"{count(more, 'further radio')} with more usable links." if more > 0 else "",
        fold_from=40,
    )


def losses(links: LinkTable, usable_db: float) -> Lines | None:
    """The share of all pairs with at most a loss."""
    import numpy as np

    if len(links.a) < 3 or links.loss_db[-1] - links.loss_db[0] < 1e-3:
        return None
    picked = np.unique(np.linspace(0, len(links.a) - 1, CURVE).astype(int))
    points = tuple(
        Point(
            float(links.loss_db[at]),
            (at + 1) / links.possible,
            None,
            None,
            f"{100 * (at + 1) / links.possible:.3g} % of the pairs: {links.loss_db[at]:.1f} dB or less",
        )
        for at in picked.tolist()
    )
    low, high = float(links.loss_db[0]), float(links.loss_db[-1])
    step = 10.0 if high - low < 90 else 20.0
    ticks = {float(at): f"{at:g}" for at in np.arange(np.ceil(low / step) * step, high + 1e-9, step)}
    end = min(max(usable_db, low), high)
    share = float(links.usable.sum()) / links.possible
    return Lines(
        title="Pairs of radios by loss",
        caption=f"Usable up to {usable_db:.1f} dB: {100 * share:.3g} % of the pairs.",
        summary=f"from {low:.1f} to {high:.1f} dB; {100 * share:.3g} % of the pairs are usable",
        x=Axis(title="loss, dB", labels=ticks or {low: f"{low:.1f}"}, low=low, high=high),
        unit="%",
        y_title="share of pairs",
        series=(Series("share of pairs with at most this loss", points),),
        regions=(Region(name="usable", begin=low, end=end),) if end > low else (),
    )


# ----------------------------------------------------------------------------------------------------------------- map


def network_map(links: LinkTable, parts: Connectivity, radios: Sequence[Radio], made: Made) -> Drawing:
    """Radios on the ground with their usable links, coloured by the margin."""
    extent = extent_of(radios, made)
    width, high = map.size(extent)
    pixels = hillshade.grey(coverage.shaded(made.terrain, extent, (high, width)))
    drawn = drawn_links(links, len(radios))
    lengths_m = distances_m(links, radios, max(drawn, default=-1) + 1)
    strokes = [
        _stroke(links, radios, made.budget, at, float(lengths_m[at])) for at in drawn[::-1]
    ]  # the best ones lie above
    used = {one.colour for one in strokes}
    keys = [(f"SNR above the required one: {words}", hue, "derived") for _, hue, _, words in MARGINS if hue in used]
    keys += [("its loss would split its part", SPLITS, "ring")] if parts.splits.any() else []
    keys += [("without a usable link", ALONE, "ring")] if parts.alone else []
    shown = len(drawn)
    usable = int(links.usable.sum())
    return map.drawing(
        extent,
        pixels,
        title="Radios and their usable links",
        caption="" if shown == usable else f"Drawn are the best links of each radio, {shown:,} of {usable:,}.",
        summary=f"{usable:,} usable links between {len(radios):,} radios in {len(parts.sizes):,} parts",
        strokes=strokes,
        spots=_spots(radios, parts),
        keys=keys,
    )


def extent_of(radios: Sequence[Radio], made: Made) -> map.Extent:
    """Around the radios that are on the terrain (around all where none is), no longer one way than three times the other."""
    ground = made.terrain
    within = map.Extent(ground.south_deg, ground.west_deg, ground.north_deg, ground.east_deg)
    places = [(one.place.latitude_deg, one.place.longitude_deg) for one in radios]
    inside = [
        (lat, lon) for lat, lon in places if within.south <= lat <= within.north and within.west <= lon <= within.east
    ]
    latitudes, longitudes = zip(*(inside or places), strict=True)
    around = map.Extent(min(latitudes), min(longitudes), max(latitudes), max(longitudes))
    found = around.widened(0.06, within if inside else map.Extent(-90.0, -180.0, 90.0, 360.0))
    ratio = found.metres_wide / found.metres_high
    if 1 / 3 <= ratio <= 3:
        return found
    more_lon = (found.east - found.west) * (1 / (3 * ratio) - 1) / 2 if ratio < 1 else 0.0
    more_lat = (found.north - found.south) * (ratio / 3 - 1) / 2 if ratio > 1 else 0.0
    return map.Extent(
        max(-90.0, found.south - more_lat),
        found.west - more_lon,
        min(90.0, found.north + more_lat),
        found.east + more_lon,
    )


def drawn_links(links: LinkTable, radios: int) -> list[int]:
    """Which usable links a map draws, in ascending order of loss: all, or the best few of each radio."""
    usable = int(links.usable.sum())
    if usable <= MOST_DRAWN:
        return list(range(usable))  # sorted by loss: the usable ones come first
    each = max(1, MOST_DRAWN // radios)
    seen: dict[int, int] = {}
    drawn = []
    for at, (a, b) in enumerate(zip(links.a[:usable].tolist(), links.b[:usable].tolist(), strict=True)):
        if seen.get(a, 0) < each or seen.get(b, 0) < each:
            drawn.append(at)
            seen[a], seen[b] = seen.get(a, 0) + 1, seen.get(b, 0) + 1
    return drawn


def _stroke(links: LinkTable, radios: Sequence[Radio], budget: LinkBudget, at: int, length_m: float) -> map.Stroke:
    one, other = radios[int(links.a[at])], radios[int(links.b[at])]
    margin = float(links.snr_db[at]) - budget.required_snr_db
    _, hue, width, _ = next(row for row in MARGINS if margin >= row[0] or row[0] == 0.0)
    says = (
        f"{one.name} to {other.name}: {show(length_m, 'm')}, loss {links.loss_db[at]:.1f} dB, "
        f"SNR {links.snr_db[at]:.1f} dB"
    )
    ends = tuple((radio.place.longitude_deg, radio.place.latitude_deg) for radio in (one, other))
    return map.Stroke(ends, hue, width, says)


def _spots(radios: Sequence[Radio], parts: Connectivity) -> list[map.Spot]:
    found = []
    for spot, splits, near in zip(coverage.spots(radios), parts.splits, parts.neighbours, strict=True):
        says = f"{spot.says}; {count(int(near), 'usable link')}{', splits its part' if splits else ''}"
        ring = SPLITS if splits else ALONE if near == 0 else ""
        found.append(spot._replace(says=says, ring=ring, hollow=bool(near == 0)))
    return found
