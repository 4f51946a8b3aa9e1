"""The page of an emulation that is up or was kept: the network over time, what became of frames, a map at its last update.

It is made from the emulation's directory alone; the map's losses are found again, as the scenario has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
import numpy as np

from ...document import axes, tables
from ...document.model import Alert, Axis, Block, Document, Drawing, Figures, Lines, Point, Section, Series, Text
from ...document.text import count
from ...errors import UNREADABLE
from ...units import show
from ..mobility.tracks import at
from ..pages import links as link_pages
from ..pages import stated
from ..scene import Place, Radio
from . import files, scenario
from .files import Description

if TYPE_CHECKING:
    from ..pages.stated import Made

#: What the forwarder counts (native/radio_forwarder/counts.hpp), in its order, with what it means.
FATES = {
    "delivered": "written to the receiver's interface",
    "by_chance": "lost by the probability of reception",
    "out_of_range": "to a node that was not a neighbour then",
    "no_node": "to an address that no node has",
    "queue": "more waited at the transmitter than its queue holds",
    "collision": "overlapped another transmission at the receiver",
    "tap_full": "the receiver's interface took no more, or was down",
    "too_late": "would have been written later than the channel's latest_ms: the forwarder did not keep up",
    "no_buffer": "more on the air than the forwarder holds",
    "malformed": "shorter than a header, or of no host of this emulation",
}
_PARTED = {"pairs", "parts", "largest"}
#: Points of a curve at most: more are thinned out.
MOST_POINTS = 400


class Kept(NamedTuple):
    """What a directory holds of an emulation."""

    description: Description
    updates: tuple[Mapping[str, float], ...]
    counts: Mapping[str, float]  # at its end; empty where it did not end in order
    damaged: int  # lines that cannot be read: of a crash, or written to as they are read


def read(directory: Path) -> Kept:
    """Raises BadInput where no emulation is or was there."""
    description = files.load(directory)
    updates, torn = _lines(directory / files.UPDATES, dict[str, float])
    whole: list[Mapping[str, float]] = []
    for one in updates:
        behind = one.get("time_s", -1.0) > (whole[-1]["time_s"] if whole else -1.0)
        if behind and one.keys() >= _UPDATE and all(-MOST < number < MOST for number in one.values()):
            whole.append(one)
    events, torn_events = _lines(directory / files.EVENTS, _Event)
    counts = next((one.facts.counts for one in reversed(events) if one.facts.counts is not None), None)
    damaged = torn + torn_events + len(updates) - len(whole)
    return Kept(description, tuple(whole), counts.numbers() if counts else {}, damaged)


#: What each line of an update has, and what no number of one reaches.
MOST = 1e15
_UPDATE = {"time_s", "late_s", "skipped", "moved", "links"}


class _Counts(msgspec.Struct, frozen=True):
    """What the forwarder says at its end; of a later version there may be more."""

    frames: int
    delivered: int
    late_median_s: float
    late_99_percent_s: float
    by_chance: int = 0
    out_of_range: int = 0
    no_node: int = 0
    queue: int = 0
    collision: int = 0
    tap_full: int = 0
    too_late: int = 0
    no_buffer: int = 0
    malformed: int = 0

    def numbers(self) -> dict[str, float]:
        return msgspec.structs.asdict(self)


class _Facts(msgspec.Struct, frozen=True):
    counts: _Counts | None = None


class _Event(msgspec.Struct, frozen=True):
    facts: _Facts = _Facts()


_T = TypeVar("_T")


def _lines(path: Path, kind: type[_T]) -> tuple[list[_T], int]:
    """The lines of a file that are of a kind, and how many are not."""
    try:
        data = path.read_bytes()
    except OSError:
        return [], 0
    found, damaged = [], 0
    for line in data.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=kind))
        except UNREADABLE:
            damaged += 1
    return found, damaged


def document(kept: Kept, *, version: str) -> Document:
    """The page. Raises BadInput where the scenario's ground is gone, CannotMeasure where the engine cannot run."""
    asked = kept.description.scenario
    sections = [Section(id="frames", title="Frames", blocks=tuple(_frames(kept)))]
    if drawn := tuple(figures(kept.updates)):
        sections.insert(0, Section(id="network", title="The network over time", blocks=(Figures(figures=drawn),)))
    if kept.updates:
        drawing, made = _map(kept)
        block = Figures(figures=(drawing,))
        sections += [Section(id="map", title="The map", blocks=(block,)), stated.section(made)]
    seconds = kept.updates[-1]["time_s"] if kept.updates else 0.0
    return Document(
        title=f"Emulation of {count(asked.nodes, 'radio')}",
        subtitle=f"{asked.channel.modulation}, {show(asked.channel.rate_bit_s, 'bit/s')}"
        + (f", {seconds:g} s of movement" if asked.moves and seconds else ""),
        state="computed",
        counts=(),
        lead=tuple(sentences(kept)),
        sections=tuple(sections),
        footer=f"Made by Shakedown {version}.",
    )


def sentences(kept: Kept) -> Iterator[str]:
    """What it came to, in words."""
    updates, counts = kept.updates, kept.counts or (kept.updates[-1] if kept.updates else {})
    if parted := [one for one in updates if one.keys() >= _PARTED]:
        whole = sum(one["parts"] == 1 for one in parted) / len(parted)
        least = min(one["largest"] for one in parted)
        yield (
            f"All nodes were one network in {100 * whole:.3g} % of {count(len(parted), 'update')}; the largest part never "
            f"had fewer than {count(int(least), 'node')}."
        )
    if updates:
        worst = max(one["late_s"] for one in updates)
        skipped = int(sum(one["skipped"] for one in updates))
        yield f"Updates came at most {worst:.3f} s behind their time, and {skipped:,} were left out."
    if "frames" in counts and "delivered" in counts:
        reached = f"receivers got {int(counts['delivered']):,}: a broadcast reaches all in range"
        yield f"{int(counts['frames']):,} frames were sent, and {reached}."
    if not kept.counts:
        yield "It has not ended in order yet: the counts of its end are not here."
    if kept.damaged:
        yield f"{count(kept.damaged, 'line')} of its files cannot be read and were left out."


def _frames(kept: Kept) -> Iterator[Block]:
    counts = kept.counts or (kept.updates[-1] if kept.updates else {})
    if not counts:
        yield Text(text="Nothing was counted.")
        return
    if late := int(counts.get("too_late", 0)):
        limit = kept.description.scenario.channel.latest_ms
        yield Alert(
            text=f"{count(late, 'frame')} came more than {limit:g} ms too late and were lost: the forwarder did not keep "
            "up. More processors, fewer nodes, or a lower load."
        )
    of = sum(int(counts.get(name, 0)) for name in FATES)
    yield tables.table(
        "What became of frames, at each receiver",
        [(name, int(counts.get(name, 0))) for name in FATES],
        (
            ("fate", "text", lambda row: row[0].replace("_", " ")),
            ("frames", "number", lambda row: f"{row[1]:,}"),
            ("share, %", "number", lambda row: f"{100 * row[1] / of:.3g}" if of else ""),
            ("meaning", "text", lambda row: FATES[row[0]]),
        ),
        caption=f"Written behind their time by {1e6 * counts['late_median_s']:.0f} µs in the median, "
        f"{1e6 * counts['late_99_percent_s']:.0f} µs at 99 %."
        if "late_median_s" in counts
        else "",
    )


def figures(updates: Sequence[Mapping[str, float]]) -> Iterator[Lines]:
    parted = [one for one in updates if one.keys() >= _PARTED]
    if len(parted) > 1:
        yield _over_time("Pairs of nodes in range", "pairs", parted, {"pairs in range": "pairs"})
        names = {"parts of the network": "parts", "nodes of the largest": "largest"}
        yield _over_time("Parts of the network", "parts, nodes", parted, names)
    rates = [_rates(one, other) for one, other in itertools.pairwise(updates) if "frames" in one]
    if len(rates) > 1:
        lost = {name.replace("_", " "): name for name in FATES if name != "delivered" and any(r[name] for r in rates)}
        names = {"sent": "frames", "delivered": "delivered", **lost}
        yield _over_time("Frames a second", "frames/s", rates, names)


def _rates(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    span_s = max(now["time_s"] - before["time_s"], 1e-9)
    names = ("frames", *FATES)
    return {"time_s": now["time_s"]} | {name: (now.get(name, 0) - before.get(name, 0)) / span_s for name in names}


def _over_time(title: str, y_title: str, rows: Sequence[Mapping[str, float]], names: Mapping[str, str]) -> Lines:
    picked = [rows[at] for at in np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))]
    low, high = picked[0]["time_s"], picked[-1]["time_s"]
    step = axes.step_of((high - low) / 6)
    ticks = {float(tick): f"{tick:g}" for tick in np.arange(np.ceil(low / step) * step, high + step * 1e-9, step)}
    series = tuple(
        Series(
            shown,
            tuple(
                Point(one["time_s"], one[name], None, None, f"{one['time_s']:g} s: {one[name]:,.6g} {shown}")
                for one in picked
            ),
        )
        for shown, name in names.items()
    )
    ends = ", ".join(f"{shown} {picked[0][name]:,.4g} to {picked[-1][name]:,.4g}" for shown, name in names.items())
    return Lines(
        title=title,
        caption="",
        summary=f"from {low:g} to {high:g} s: {ends}",
        x=Axis(title="time, s", labels=ticks or {low: f"{low:g}"}, low=low, high=high),
        unit="1",
        y_title=y_title,
        series=series,
    )


def _map(kept: Kept) -> tuple[Drawing, Made]:
    """Where nodes were at the last update, with the pairs that were in range, and how their losses were found."""
    from ..engine import Engine

    asked = kept.description.scenario
    ground, town = scenario.ground(asked), scenario.town(asked)
    where = at(scenario.ways(asked, ground), kept.updates[-1]["time_s"])
    columns = zip(scenario.node_names(asked), *(one.tolist() for one in where), strict=True)
    radios = tuple(
        Radio(id=at, name=name, place=Place(latitude_deg=latitude, longitude_deg=longitude, height_m=height))
        for at, (name, latitude, longitude, height) in enumerate(columns, 1)
    )
    # In range is what the forwarder is told of: the least signal that any frame comes with.
    budget = msgspec.structs.replace(asked.budget, required_snr_db=asked.least_snr_db)
    with Engine(ground, asked.radio, buildings=town, precision="fp32") as engine:
        engine.place(*where)
        found = engine.links(budget.usable_loss_db)
        made = stated.Made(asked.radio, budget, ground, "fp32", (), engine.buildings)
    first, second, loss_db = found
    table = link_pages.table(radios, first.astype(np.int64), second.astype(np.int64), loss_db, budget, None)
    parts = link_pages.connectivity(table, len(radios))
    return link_pages.network_map(table, parts, radios, made), made
