"""What a plant's readings say over a window: PUE, ERE and their like, COP, balances. Every one is a ratio of integrals.

    PUE   = total / IT                  whole data centre       (ISO/IEC 30134-2, EN 50600-4-2; The Green Grid WP 49)
    pPUE  = total / IT                  a part of one           (The Green Grid 2011; PRACE D9.3.4, section 5.6.3)
    ERF   = reused / total              used outside            (ISO/IEC 30134-6)
    ERE   = (total - reused) / IT       = (1 - ERF) PUE         (The Green Grid WP 29); pERE for a part (LRZ)
    ERE_DC= (total - saved) / IT        waste heat that is turned into cold inside, counted as the electricity that it
                                        saved (LRZ): a metric of its own, since the saving already lowers the PUE
    ITUE  = IT / compute, TUE = total / compute                 (Patterson et al., ISC 2013)
    COP   = cold / drive                compression, thermal (ad- and absorption) or electric; pumps in or out is said

PUE is of a year; over anything shorter a value is interim and carries its period.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...errors import BadInput, CannotMeasure
from ...metering.trace import Trace
from ...records import Notice, Record
from ..uncertainty.quantity import Quantity, Term, power_law, quantity, total, unknown
from . import heat, plant_data, window
from .plant import CATEGORIES, Plant, flows, in_si
from .plant_file import AreaText, BalanceText, CopText, FlowText

YEAR_S = 365 * 86400.0
#: A window must be so many of the longest time constants, or what is stored and under way counts.
TIME_CONSTANTS = 5
MARGIN_NS = 3600 * 10**9


class Indicator(Record, frozen=True, kw_only=True):
    """One ratio of an area or a chiller over a window."""

    of: str  # the area or COP
    name: str  # PUE2, pPUE, pERE, ERE, ERE_DC, ERF, ITUE, TUE, COP
    title: str
    label: str  # "interim, over 15.0 d", or "annual"
    formula: str  # with the plant's names
    quantity: Quantity


class Balance(Record, frozen=True, kw_only=True):
    """What goes in less what comes out, is lost and is stored. ``closed``: zero lies within U; None: not known."""

    name: str
    residual: Quantity  # J
    into: Quantity
    out: Quantity
    stored: Quantity
    losses: Quantity
    closed: bool | None


class Window(Record, frozen=True, kw_only=True):
    """All that a window says."""

    begin_ns: int
    end_ns: int
    energies: tuple[Quantity, ...]  # J, one for each flow that is used
    indicators: tuple[Indicator, ...]
    balances: tuple[Balance, ...]
    notices: tuple[Notice, ...] = ()


class Data:
    """A plant with its readings."""

    def __init__(self, plant: Plant, traces: Mapping[str, Trace]) -> None:
        self.plant = plant
        self.traces = dict(traces)
        self.begin_ns, self.end_ns = _overlap({name: self.traces[name] for name in sensors_of(plant, used(plant))})

    @classmethod
    def of(cls, plant: Plant) -> Data:
        """With the readings of the files that it names. Raises BadInput, CannotMeasure."""
        return cls(plant, plant_data.read(plant))

    def energy(self, name: str, begin_ns: int, end_ns: int) -> Quantity:
        """The energy of a sensor or a loop over a window, in J."""
        ends = ((begin_ns - self.begin_ns) * 1e-9, (end_ns - self.begin_ns) * 1e-9)
        near = {one: self._near(one, begin_ns, end_ns) for one in sensors_of(self.plant, (name,))}
        if name in self.plant.loops:
            return heat.heat(self.plant.loops[name], self.plant, near, self.begin_ns, *ends)
        return heat.energy(near[name], self.plant.sensors[name], self.begin_ns, *ends)

    def _near(self, name: str, begin_ns: int, end_ns: int) -> Trace:
        """A sensor's readings in a window and an hour around it, with one more at either side."""
        stamps = self.traces[name].t_ns
        first = int(np.searchsorted(stamps, begin_ns - MARGIN_NS)) - 1
        last = int(np.searchsorted(stamps, end_ns + MARGIN_NS, side="right")) + 1
        return self.traces[name].take(slice(max(0, first), last))


def _overlap(traces: Mapping[str, Trace]) -> tuple[int, int]:
    """From when until when all of these sensors have readings."""
    spans = {name: one.t_ns[one.ok] for name, one in traces.items()}
    for name, stamps in spans.items():
        if not len(stamps):
            raise CannotMeasure(f"the sensor {name} has no reading at all", hint="see its file and column")
    begin = max(spans, key=lambda name: int(spans[name][0]))
    end = min(spans, key=lambda name: int(spans[name][-1]))
    begin_ns, end_ns = int(spans[begin][0]), int(spans[end][-1])
    if begin_ns >= end_ns:
        raise CannotMeasure(
            f"{end} ends before {begin} begins: there is no time that all sensors share",
            hint="see the files' times and the plant's zone",
        )
    return begin_ns, end_ns


def evaluate(data: Data, begin_ns: int, end_ns: int) -> Window:
    """All areas, COPs and balances of a plant over a window. Raises BadInput for a window that is empty."""
    if end_ns <= begin_ns:
        raise BadInput("the window is empty", where="window", hint="its begin comes before its end")
    known = {name: data.energy(name, begin_ns, end_ns) for name in used(data.plant)}
    length_s = (end_ns - begin_ns) * 1e-9
    indicators = [
        *(one for area in data.plant.areas for one in _area(area, known, length_s)),
        *(_cop(cop, known, length_s) for cop in data.plant.cops),
    ]
    balances = [_balance(one, data, known, begin_ns, end_ns) for one in data.plant.balances]
    return Window(
        begin_ns=begin_ns,
        end_ns=end_ns,
        energies=tuple(known.values()),
        indicators=tuple(indicators),
        balances=tuple(balances),
        notices=tuple(_short(data, length_s)),
    )


def windows(data: Data, begin_ns: int, end_ns: int, length_s: float) -> list[Window]:
    """One window after the other; a rest at the end that is shorter is left out."""
    step = round(length_s * 1e9)
    if step <= 0:
        raise BadInput("a window of zero length", where="--window", hint="such as 1d or 6h")
    return [evaluate(data, at, at + step) for at in range(begin_ns, end_ns - step + 1, step)]


def sensors_of(plant: Plant, names: Sequence[str]) -> tuple[str, ...]:
    """The sensors that flows are made of, once each; all of them where there is no flow."""
    found: dict[str, None] = {}
    for name in names:
        loop = plant.loops.get(name)
        found |= dict.fromkeys((loop.flow, loop.warm, loop.cool, loop.flow_at) if loop else (name,))
    return tuple(found) or tuple(plant.sensors)


def used(plant: Plant) -> tuple[str, ...]:
    """Every flow that something is made of, once."""
    texts: list[tuple[FlowText, ...]] = []
    for area in plant.areas:
        texts += [area.it, area.infrastructure, area.total, area.reuse, area.saved, area.compute]
    for cop in plant.cops:
        texts += [cop.cold, cop.drive]
    for balance in plant.balances:
        texts += [balance.into, balance.out]
    return tuple(dict.fromkeys(one.of for text in texts for one in flows(text)))


# ---------------------------------------------------------------------------------------------------------- the ratios


def _sum(name: str, texts: Sequence[FlowText], known: Mapping[str, Quantity]) -> Quantity:
    return total(name, "J", [(one.factor, known[one.of]) for one in flows(tuple(texts))])


def _words(texts: Sequence[FlowText]) -> str:
    parts = [one.of if one.factor == 1 else f"{one.factor:g} {one.of}" for one in flows(tuple(texts))]
    return " + ".join(parts)


def _ratio(name: str, above: Quantity, below: Quantity) -> Quantity:
    return power_law(name, "1", 1.0, {above.name: (1, above), below.name: (-1, below)})


def label(length_s: float) -> str:
    """Annual, or interim with its period."""
    if abs(length_s / YEAR_S - 1) < 0.005:
        return "annual"
    days = length_s / 86400
    return f"interim, over {days:.1f} d" if days >= 1 else f"interim, over {length_s / 3600:.1f} h"


class _Made(NamedTuple):
    """A ratio before it is labelled."""

    name: str
    title: str
    formula: str
    quantity: Quantity


def _area(area: AreaText, known: Mapping[str, Quantity], length_s: float) -> list[Indicator]:
    parts = area.total or (*area.it, *area.infrastructure)
    it, whole = _sum("IT", area.it, known), _sum("total", parts, known)
    pue = _pue(area, parts, it, whole)
    made = [pue, *_reuse(area, parts, it, whole, known), *_inside(area, parts, it, whole, known)]
    how = (
        "the total and the IT are metered by themselves"
        if area.total
        else "IT and infrastructure are metered by themselves: the IT's meter cancels in part"
    )
    notes = _doubts(area, pue.quantity)
    return [
        Indicator(
            of=area.name,
            name=one.name,
            title=one.title,
            label=label(length_s),
            formula=one.formula,
            quantity=_with(one.quantity, how, notes),
        )
        for one in made
    ]


def _pue(area: AreaText, parts: Sequence[FlowText], it: Quantity, whole: Quantity) -> _Made:
    name = f"PUE{CATEGORIES.get(area.it_metered_at, '')}" if area.whole else "pPUE"
    title = "power usage effectiveness" if area.whole else "partial power usage effectiveness"
    return _Made(name, title, f"({_words(parts)}) / ({_words(area.it)})", _ratio(f"{area.name} {name}", whole, it))


def _reuse(
    area: AreaText, parts: Sequence[FlowText], it: Quantity, whole: Quantity, known: Mapping[str, Quantity]
) -> list[_Made]:
    """ERE, ERF and what is reused over the IT's energy, where something is used outside."""
    if not area.reuse:
        return []
    reused = _sum("reused", area.reuse, known)
    left = total("total less reused", "J", [(1.0, whole), (-1.0, reused)])
    name = "ERE" if area.whole else "pERE"
    title = "energy reuse effectiveness" if area.whole else "partial energy reuse effectiveness"
    below, used = f"({_words(area.it)})", f"({_words(area.reuse)})"
    return [
        _Made(name, title, f"({_words(parts)} - {used}) / {below}", _ratio(f"{area.name} {name}", left, it)),
        _Made("ERF", "energy reuse factor", f"{used} / ({_words(parts)})", _ratio(f"{area.name} ERF", reused, whole)),
        _Made("reuse/IT", "reused energy over IT energy", f"{used} / {below}", _ratio("reuse over IT", reused, it)),
    ]


def _inside(
    area: AreaText, parts: Sequence[FlowText], it: Quantity, whole: Quantity, known: Mapping[str, Quantity]
) -> list[_Made]:
    """What looks into the boundary: ERE_DC where heat is used inside, ITUE and TUE where the computing parts are metered."""
    made = []
    if area.saved:
        saved = _sum("saved", area.saved, known)
        left = total("total less saved", "J", [(1.0, whole), (-1.0, saved)])
        formula = f"({_words(parts)} - ({_words(area.saved)})) / ({_words(area.it)})"
        made.append(_Made("ERE_DC", "LRZ's variant, no ERE", formula, _ratio(f"{area.name} ERE_DC", left, it)))
    if area.compute:
        compute = _sum("compute", area.compute, known)
        below = f"({_words(area.compute)})"
        itue, tue = _ratio(f"{area.name} ITUE", it, compute), _ratio(f"{area.name} TUE", whole, compute)
        made.append(_Made("ITUE", "IT power usage effectiveness", f"({_words(area.it)}) / {below}", itue))
        made.append(_Made("TUE", "total power usage effectiveness", f"({_words(parts)}) / {below}", tue))
    return made


def _with(value: Quantity, how: str, notes: Sequence[Notice]) -> Quantity:
    notices = tuple(dict.fromkeys((*value.notices, *notes)))
    return msgspec.structs.replace(value, method=f"ratio of integrals; {how}", notices=notices)


def _doubts(area: AreaText, pue: Quantity) -> list[Notice]:
    notes = []
    if pue.interval is not None and pue.interval[1] < 1:
        text = f"the {'PUE' if area.whole else 'pPUE'} of {area.name} is below 1, which cannot be"
        notes.append(Notice(code="below-one", text=text, advice="see which meter counts less than the IT's"))
    if area.whole and not area.it_metered_at:
        text = f"where the IT of {area.name} is metered is not said: the PUE has no category"
        advice = f"it_metered_at = {' | '.join(repr(one) for one in CATEGORIES)}"
        notes.append(Notice(code="no-category", text=text, advice=advice))
    return notes


def _cop(cop: CopText, known: Mapping[str, Quantity], length_s: float) -> Indicator:
    cold, drive = _sum("cold", cop.cold, known), _sum("drive", cop.drive, known)
    notes = []
    if cop.cycle and length_s < TIME_CONSTANTS * in_si(cop.cycle, "s", cop.name):
        text = f"the window is less than {TIME_CONSTANTS} cycles of {cop.name} ({cop.cycle}): the cycle's phase counts"
        notes.append(Notice(code="window-short", text=text, advice="take a longer window"))
    return Indicator(
        of=cop.name,
        name="COP",
        title=f"coefficient of performance, {cop.kind}; {cop.includes}",
        label=label(length_s),
        formula=f"({_words(cop.cold)}) / ({_words(cop.drive)})",
        quantity=_with(_ratio(f"{cop.name} COP", cold, drive), "cold over drive", notes),
    )


# ------------------------------------------------------------------------------------------------------------ balances


def _balance(one: BalanceText, data: Data, known: Mapping[str, Quantity], begin_ns: int, end_ns: int) -> Balance:
    """into - out - losses - stored, which is zero where nothing was forgotten and no sensor is wrong."""
    length_s = (end_ns - begin_ns) * 1e-9
    into, out = _sum("into", one.into, known), _sum("out", one.out, known)
    losses = quantity("losses", "J", 0.0, [])
    if one.losses:
        power, u = (in_si(text, "W", one.name) for text in (one.losses.power, one.losses.u))
        term = Term(name=f"losses of {one.name}", u=u * length_s, text=one.losses.why or "as the plant file states")
        losses = quantity("losses", "J", power * length_s, [term])
    stored = _stored(one, data, begin_ns, end_ns)
    residual = total(f"residual of {one.name}", "J", [(1.0, into), (-1.0, out), (-1.0, losses), (-1.0, stored)])
    closed = None
    if residual.value is not None and residual.expanded is not None:
        closed = abs(residual.value) <= residual.expanded
    return Balance(name=one.name, residual=residual, into=into, out=out, stored=stored, losses=losses, closed=closed)


def _stored(one: BalanceText, data: Data, begin_ns: int, end_ns: int) -> Quantity:
    """The sum of C x (theta at the end - theta at the begin); not known where a temperature is not."""
    parts = []
    for store in one.stored:
        sensor = data.plant.sensors[store.sensor]
        capacity, relative = in_si(store.capacity, "J/K", one.name), in_si(store.u, "1", one.name)
        found = window.series(data.traces[store.sensor], sensor, data.begin_ns)
        ends = np.array([begin_ns - data.begin_ns, end_ns - data.begin_ns]) * 1e-9
        near = np.clip(ends, found.t_s[0], found.t_s[-1])
        risen = float(np.diff(window.at(found, near))[0])
        if not np.isfinite(risen) or np.max(np.abs(near - ends)) > found.gap_s:
            text = f"{store.sensor} has no reading at an end of the window"
            parts.append(unknown(store.sensor, "J", Notice(code="not-seen", text=text, advice="move the window")))
            continue
        good = found.value[np.isfinite(found.value)]
        noise = float(np.median(np.abs(np.diff(good)))) if len(good) > 1 else 0.0
        u = math.hypot(relative * capacity * risen, math.sqrt(2) * noise * capacity)
        term = Term(name=f"storage at {store.sensor}", u=u, text=f"{store.capacity} +- {store.u}, {risen:+.2f} K")
        parts.append(quantity(store.sensor, "J", capacity * risen, [term]))
    return total("stored", "J", [(1.0, part) for part in parts])


def _short(data: Data, length_s: float) -> list[Notice]:
    """Where the window is too short for what is under way in pipes and sensors."""
    notes = []
    for loop in data.plant.loops.values():
        names = {loop.flow, loop.warm, loop.cool}
        slow = max(data.plant.sensors[name].lag_s for name in names)
        if loop.volume_m3:
            flow = data.traces[loop.flow]
            usual = float(np.median(flow.value[flow.ok]))
            slow = max(slow, loop.volume_m3 / usual if usual > 0 else math.inf)
        if length_s < TIME_CONSTANTS * slow:
            text = (
                f"the window of {length_s:.0f} s is less than {TIME_CONSTANTS} times what loop {loop.name} needs to answer "
                f"({slow:.0f} s): heat that is stored or under way counts"
            )
            notes.append(Notice(code="window-short", text=text, advice="take a longer window"))
    return notes
