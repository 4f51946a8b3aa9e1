"""What layers cost: a table for each metric, what it rests on, and what documents published of virtual machines.

``section`` is what a report shows, ``document`` the page of the command; ``tables``, ``sentences`` and ``basis`` serve the
terminal as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import __version__, published
from ..analysis.overheads import PUBLISHED as FACTORS
from ..analysis.overheads import worst
from ..document.model import Block, Column, Document, Dots, Figures, Point, Section, Table, Text
from ..document.text import count, listed, params_of
from ..machine.virtualisation import is_virtual
from ..records import Machine, Overhead, Params
from ..units import round_to, show

#: Rows of a metric that a page shows, and factors that a figure does.
MOST_ROWS, MOST_DOTS = 60, 16
#: Within which share a layer counts as equivalent to native, where nothing else is said.
EQUIVALENCE = 0.02
#: The layer under which nothing differs from native.
CONTROL = "control"
HEADINGS = ("case", "under", "native", "under it", "factor", "95 %", "pairs", "so")
PUBLISHED = "What documents published of virtual machines, unranked: other machines and another layer"
PUBLISHED_HEADINGS = ("system", "what", "factor", "in the document", "where", "note")


class OverheadTable(NamedTuple):
    """The cases of one metric."""

    title: str
    rows: list[tuple[str, ...]]
    summary: str


def tables(found: Sequence[Overhead], equivalence: float = EQUIVALENCE) -> list[OverheadTable]:
    """A table for each metric, its rows in the order of the cases."""
    groups: dict[tuple[str, str], list[Overhead]] = {}
    for one in found:
        groups.setdefault((one.workload, one.metric), []).append(one)
    made = []
    for group in groups.values():
        common = _common(group)
        shared = params_of({name: common[name] for name in group[0].params if name in common})
        hosts = {one.host for one in group}
        rows = [_row(one, common, several=len(hosts) > 1, equivalence=equivalence) for one in group]
        title = f"{group[0].title}{f' ({shared})' if shared else ''}"
        made.append(OverheadTable(title, rows, _summary(group, equivalence)))
    return made


def _common(group: Sequence[Overhead]) -> Params:
    """The parameters that all have alike."""
    return dict(set.intersection(*({*one.params.items()} for one in group)))


def _row(one: Overhead, common: Params, *, several: bool, equivalence: float) -> tuple[str, ...]:
    words = params_of({name: each for name, each in one.params.items() if name not in common})
    place = ", ".join(filter(None, (words, one.host if several else "")))
    return (
        place or "-",
        one.under,
        show(one.native, one.unit),
        show(one.value, one.unit),
        round_to(one.factor, 4),
        interval(one),
        str(one.pairs),
        verdict(one, equivalence),
    )


def interval(one: Overhead) -> str:
    """``[0.998, 1.012]``, with its level where the pairs are too few for 95 %."""
    sure = f" at {one.level:.0%}" if one.side == "too few pairs" else ""
    return f"[{round_to(one.low, 4)}, {round_to(one.high, 4)}]{sure}" if one.pairs > 1 else "-"


def verdict(one: Overhead, equivalence: float = EQUIVALENCE) -> str:
    """What may be said: only what the interval allows. ``costs 3.1 %``, ``not distinguished; equivalent within 2 %``."""
    if one.side == "too few pairs":
        return "too few pairs"
    words = {
        "above": f"costs {_percent(one.factor - 1)}",
        "below": f"gains {_percent(1 - one.factor)}",
        "not told apart": "not distinguished",
    }[one.side]
    if is_equivalent(one, equivalence):
        return f"{words}; equivalent within {_percent(equivalence)}"
    if one.side == "not told apart" and one.within is not None:
        return f"{words}; up to {_percent(one.high - 1)} may be hidden"
    return words


def is_equivalent(one: Overhead, equivalence: float) -> bool:
    """Whether the whole interval lies within that share of 1."""
    return one.within is not None and one.within <= equivalence


def _percent(share: float) -> str:
    percent = max(share, 0.0) * 100
    return f"{percent:.2g} %" if percent < 10 else f"{percent:,.0f} %"


def _summary(group: Sequence[Overhead], equivalence: float) -> str:
    """``bubblewrap: costs something in 0 of 4 cases, gains in 0, equivalent to native within 2 % in 3.``"""
    lines = []
    for under in dict.fromkeys(one.under for one in group):
        of = [one for one in group if one.under == under]
        sides = [one.side for one in of]
        if set(sides) == {"too few pairs"}:
            lines.append(f"{under}: too few pairs to decide.")
            continue
        lines.append(
            f"{under}: costs something in {sides.count('above')} of {count(len(of), 'case')}, gains in "
            f"{sides.count('below')}, equivalent to native within {_percent(equivalence)} in "
            f"{sum(is_equivalent(one, equivalence) for one in of)}."
        )
    return " ".join(lines)


def sentences(found: Sequence[Overhead], equivalence: float = EQUIVALENCE) -> list[str]:
    """A sentence for each layer and metric: of its worst case."""
    made = []
    for (under, _), one in worst(found).items():
        alike = [each for each in found if (each.under, each.metric) == (under, one.metric)]
        common = _common(alike)
        words = params_of({name: each for name, each in one.params.items() if name not in common})
        where = f"in the worst case, {words}" if len(alike) > 1 else ""
        made.append(
            f"{one.title} under {under}: factor {round_to(one.factor, 4)} {interval(one)}"
            f"{f' ({where})' if where else ''}: {verdict(one, equivalence)}."
        )
    return made


def doubts(found: Sequence[Overhead]) -> list[str]:
    """What speaks against the verdicts: a control that differs from native, of which nothing differs."""
    wrong = [one for one in found if one.under == CONTROL and one.side in ("above", "below")]
    if not wrong:
        return []
    shown = listed((f"{one.title} {verdict(one)}" for one in wrong), 3)
    return [
        f"Native beside native differs too ({shown}): something else changes with the turns here, or it is chance, which is "
        "to be expected in one case of twenty. Costs and gains as small as that are not the layer's; repeat it on a quiet "
        "machine, with more pairs."
    ]


def basis(machine: Machine) -> list[str]:
    """On what it rests: what native is here."""
    said = []
    for host in machine.hosts[:1]:
        layers = host.virtualisation
        if is_virtual(layers):
            said.append(
                f"This host is itself a virtual machine ({layers}): native means inside it. A factor is what a layer adds "
                "on top of that; what the virtual machine costs beside the bare hardware is in both sides of each pair and "
                "cannot be seen from here."
            )
        elif layers:
            said.append(f"Shakedown itself runs in a container here ({layers}): native means inside that.")
        else:
            said.append("Nothing here shows a hypervisor or a container: native is the host as it is.")
    said.append(
        "Where each program was is what a witness saw that started inside the layer and became the program; a launch "
        "without that proof has no result."
    )
    return said


NOTE = (
    "A factor is the median over pairs of launches, one right after the other in alternating order: a time over the "
    "native one, a native rate over the rate. Its interval holds with 95 %, whatever the distribution, and each by itself: "
    "of twenty cases without any overhead one may look as if there were."
)


def section(found: Sequence[Overhead], machine: Machine, equivalence: float = EQUIVALENCE) -> Section | None:
    """The part of a report; None where nothing was measured in pairs."""
    if not found:
        return None
    blocks: list[Block] = [Text(text=text) for text in (" ".join(basis(machine)), *doubts(found))]
    for number, one in enumerate(tables(found, equivalence)):
        left = len(one.rows) - MOST_ROWS
        notes = (*((NOTE,) if number == 0 else ()), *((f"{left} more rows are in report.json",) if left > 0 else ()))
        numbers = ("native", "under it", "factor", "95 %", "pairs")
        columns = tuple(Column(heading, "number" if heading in numbers else "text") for heading in HEADINGS)
        blocks.append(
            Table(title=one.title, columns=columns, rows=tuple(one.rows[:MOST_ROWS]), caption=one.summary, notes=notes)
        )
    blocks.append(Figures(figures=(figure(found),)))
    rows = published_rows()
    blocks.append(
        Table(
            title=PUBLISHED,
            columns=tuple(Column(heading) for heading in PUBLISHED_HEADINGS),
            rows=tuple(rows),
            caption="The layer is KVM with SR-IOV; one run a point, and no interval.",
        )
    )
    return Section(id="overheads", title="Native beside layers", short="Layers", blocks=tuple(blocks))


def figure(found: Sequence[Overhead]) -> Dots:
    """The overheads (factors less 1) of the worst cases with their intervals."""
    chosen = sorted(worst(found).values(), key=lambda one: -one.factor)[:MOST_DOTS]
    names = tuple(f"{one.title}, {one.under}" for one in chosen)
    rows = tuple(
        Point(
            at, one.factor - 1, one.low - 1, one.high - 1, f"{name}: factor {round_to(one.factor, 4)} {interval(one)}"
        )
        for at, (name, one) in enumerate(zip(names, chosen, strict=True))
    )
    return Dots(
        title="Native beside layers",
        caption="of each metric the case with the largest factor, less 1; 0 is native",
        summary=f"{names[0]}: {round_to(chosen[0].factor, 3)}",
        unit="1",
        y_title="factor less 1",
        rows=rows,
        names=names,
    )


def published_rows() -> list[tuple[str, ...]]:
    """What documents published, as factors."""
    rows: list[tuple[str, ...]] = []
    for system in published.systems():
        titles = {metric.name: metric.title for metric in (*published.metrics().values(), *system.metric_defs)}
        for one in system.values:
            if one.metric in FACTORS:
                bound = "at most " if one.note.startswith("at most") else ""
                rows.append(
                    (
                        f"{system.name} ({system.year})",
                        f"{titles.get(one.metric, one.metric)}, {params_of(one.params)}",
                        bound + round_to(FACTORS[one.metric] + one.value, 3),
                        f"{one.printed} {one.printed_unit}".removesuffix(" 1"),
                        one.where,
                        one.note,
                    )
                )
    return rows


def _state(found: Sequence[Overhead]) -> str:
    if not found:
        return "not measured"
    return "undecided" if any(one.side == "too few pairs" for one in found) else "measured"


def document(found: Sequence[Overhead], machine: Machine, equivalence: float, title: str) -> Document:
    """The page of the command."""
    made = section(found, machine, equivalence)
    return Document(
        title="Native beside layers",
        subtitle=title,
        state=_state(found),
        counts=(),
        lead=tuple(sentences(found, equivalence)),
        sections=(made,) if made else (),
        footer=f"Made by Shakedown {__version__}.",
    )
