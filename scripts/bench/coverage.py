"""How often the truth lies within the uncertainty that is stated for an energy, on loads that ramp at their marks.

    python scripts/bench/coverage.py [--loads 60] [--json] [--trace FILE,BEGIN,END ...]

Each load is that of an HPL run between idle stretches, drawn anew: fill, a rise of 0 to 20 s, a plateau with swings, a fall
over up to half of the run, the residual check. ``--trace`` takes recordings instead: text with one reading in W a second,
and the seconds at which its core phase begins and ends. Meters read every 1, 10, 20, 30 and 60 s, as averages, points and
counters (of 1 J and of 10 Wh), with marks that are right and marks rounded to the second, with every reading and with a
twentieth of them missing. A cell's figures: the share of phases whose truth lies within U, the median of U in percent of
the energy, the median of the greatest error that the readings themselves leave open (the bound, for whole averages), and
the rms error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option

from shakedown.energy import phase, simulate
from shakedown.energy.green500 import measured, rules, submission
from shakedown.energy.green500.stamps import Window
from shakedown.energy.simulate import Load, Truth
from shakedown.metering.meters import Channel, Status
from shakedown.metering.trace import Trace, trace

ORIGIN = 1_700_000_000 * 10**9
PERIODS_S = (1.0, 10.0, 20.0, 30.0, 60.0)
KINDS = ("averages", "points", "counter", "coarse counter")
SPOILT = ("whole", "marks off", "missing")


class Run(NamedTuple):
    """A load and when its core phase begins and ends, in s."""

    load: Load
    begin_s: float
    end_s: float


def hpl_like(rng: np.random.Generator) -> Run:
    """One run, in steps of 0.25 s; watts of a rack or two."""
    idle, full = rng.uniform(5e3, 40e3), rng.uniform(60e3, 150e3)
    seconds, rise, share = rng.uniform(200, 1200), rng.choice([0.0, rng.uniform(0, 20)]), rng.uniform(0.05, 0.5)
    begin = 400.0
    t = np.arange(0.0, begin + seconds + 400.0, 0.25)
    x = np.clip((t - begin) / seconds, 0, 1)
    fill = idle + (full - idle) * rng.uniform(0, 0.4)
    end_w = idle + (full - idle) * rng.uniform(0.05, 0.8)
    fall = np.clip((x - (1 - share)) / share, 0, 1) ** rng.uniform(1.0, 2.5)
    swing = full * rng.uniform(0, 0.02) * np.sign(np.sin(2 * np.pi * t / rng.uniform(2, 40)))
    power = full + swing + (end_w - full) * fall
    if rise:
        power = np.where(t < begin + rise, fill + (power - fill) * (t - begin) / rise, power)
    check = idle + (full - idle) * rng.uniform(0, 0.5)
    late = rng.uniform(0, 15)
    power = np.where(t < begin, np.where(t > begin - rng.uniform(5, 60), fill, idle), power)
    power = np.where(t >= begin + seconds, np.where(t < begin + seconds + late, check, idle), power)
    return Run(Load(t, power * (1 + rng.uniform(0, 0.01) * rng.standard_normal(len(t)))), begin, begin + seconds)


def recorded(text: str) -> Run:
    """A recording: FILE,BEGIN,END."""
    name, begin, end = text.rsplit(",", 2)
    watts = np.array(Path(name).read_text(encoding="utf-8").split(), float)
    t = np.arange(len(watts), dtype=float)
    # Idle as at its ends for as long as a slow meter needs.
    return Run(Load(np.concatenate([[-400.0], t]), np.concatenate([watts[:1], watts])), float(begin), float(end))


def read(run: Run, kind: str, period_s: float, spoilt: str, rng: np.random.Generator) -> Trace:
    counts = "counter" in kind
    step = {"counter": 1.0, "coarse counter": 36e3}.get(kind, 1.0)
    channel = Channel(
        id="pdu/energy" if counts else "pdu/power",
        title="",
        quantity="energy" if counts else "power",
        unit="J" if counts else "W",
        scope="counter" if counts else "point" if kind == "points" else "last",
        place="rack",
        refresh_s=period_s,
        window_s={"averages": period_s, "points": 0.0}.get(kind),
    )
    window = period_s if kind == "averages" else 0.0
    truth = Truth(period_s, window, resolution=step, phase_s=float(rng.uniform(0, period_s)))
    last = float(run.load.t_s[-1]) + 5 * period_s
    begin = max(float(run.load.t_s[0]), run.begin_s - 400) + period_s
    made = simulate.observe(run.load, truth, channel, begin, last, origin_ns=ORIGIN, seed=1)
    if spoilt != "missing":
        return made
    lost = rng.random(len(made)) < 0.05
    if rng.random() < 0.5:  # the rows themselves are missing
        return made.take(~lost)
    status = np.where(lost, np.uint8(Status.GAP), made.status)
    return trace(channel, made.t_ns, np.where(lost, np.nan, made.value), status=status)


class Seen(NamedTuple):
    cell: tuple[str, ...]
    error: float
    expanded: float
    bound: float


def of(run: Run, kind: str, period_s: float, spoilt: str, rng: np.random.Generator) -> Iterator[Seen]:
    made = read(run, kind, period_s, spoilt, rng)
    true = run.load.mean_w(run.begin_s, run.end_s)
    off = rng.uniform(-0.5, 0.5, 2) if spoilt == "marks off" else (0.0, 0.0)
    begin, end = (ORIGIN + round((at + by) * 1e9) for at, by in zip((run.begin_s, run.end_s), off, strict=True))
    u_s = 1 / math.sqrt(12) if spoilt == "marks off" else 0.0
    found = phase.energy_of(made, begin, end, window_u_s=u_s)
    joules, bound = true * (run.end_s - run.begin_s), _bound(run, period_s)
    cell = (kind, f"{period_s:g}", spoilt)
    if found.value is not None and found.expanded is not None:
        yield Seen(("energy of", *cell), found.value / joules - 1, found.expanded / joules, bound / joules)
    else:
        yield Seen(("energy of", *cell), math.nan, math.nan, bound / joules)
    window = Window(name="core", begin_ns=begin, end_ns=end, resolution_s=1.0 if u_s else 0.0, source="")
    total = checked(made, window)
    if total.value is not None and total.expanded is not None:
        yield Seen(("check", *cell), total.value / true - 1, total.expanded / true, bound / joules)
    else:
        yield Seen(("check", *cell), math.nan, math.nan, bound / joules)


def checked(made: Trace, window: Window) -> Any:
    """The mean power as ``energy check`` gives it, of a site with this one feed."""
    raw = {
        "title": "one rack", "traces": [],
        "sets": [{"name": "cpu", "nodes": 16, "names": ["n[01-16]"], "watts_per_node": 1.0}],
        "feeds": [{"name": "rack", "channel": made.channel.id, "of": "cpu", "nodes": ["n[01-16]"]}],
        "phases": {"core": {"begin_ns": window.begin_ns, "end_ns": window.end_ns}},
        "performance": {"rmax": "1 Tflop/s"},
    }  # fmt: skip
    site = submission.assemble(submission.describe(raw, "coverage"), {made.channel.id: made})
    counter = made.channel.quantity == "energy"
    return measured.power(site, window, rules.load(rules.DEFAULT), counter=counter).value


def _bound(run: Run, period_s: float) -> float:
    """What a perfect meter of averages leaves open, in J: at each mark a quarter of a period times how far the power moves
    within two periods about it."""
    out = 0.0
    for at in (run.begin_s, run.end_s):
        out += period_s / 4 * float(np.ptp(run.load.power_w(np.linspace(at - 2 * period_s, at + 2 * period_s, 101))))
    return out


def _anywhere(run: Run, period_s: float, rng: np.random.Generator) -> Run:
    """The load with marks drawn about its core phase, ten periods apart or more where it lasts so long."""
    low, high = run.begin_s - 30, run.end_s + 30
    least = min(10 * period_s, (high - low) / 2)
    begin = rng.uniform(low, high - least)
    return Run(run.load, begin, rng.uniform(begin + least, high))


def table(runs: Sequence[Run], shifts: int = 1, anywhere: bool = False) -> list[dict[str, Any]]:
    """One row a cell."""
    cells: dict[tuple[str, ...], list[Seen]] = {}
    for number, run in enumerate(runs):
        rng = np.random.default_rng([number, 7])
        for kind in KINDS:
            for period_s in PERIODS_S:
                for spoilt in SPOILT:
                    for _ in range(shifts):
                        for one in of(_anywhere(run, period_s, rng) if anywhere else run, kind, period_s, spoilt, rng):
                            cells.setdefault(one.cell, []).append(one)
    return [_row(cell, seen) for cell, seen in sorted(cells.items(), key=lambda item: (item[0][:2], item[0][3]))]


def _row(cell: tuple[str, ...], seen: Sequence[Seen]) -> dict[str, Any]:
    known = [one for one in seen if math.isfinite(one.error)]
    return {
        "by": cell[0],
        "kind": cell[1],
        "period_s": float(cell[2]),
        "spoilt": cell[3],
        "phases": len(seen),
        "refused": len(seen) - len(known),
        "within": sum(abs(one.error) <= one.expanded for one in known) / max(len(known), 1),
        "u_percent": 100 * float(np.median([one.expanded for one in known])) if known else math.nan,
        "bound_percent": 100 * float(np.median([one.bound for one in seen])),
        "rms_percent": 100 * math.sqrt(float(np.mean([one.error**2 for one in known]))) if known else math.nan,
    }


def main() -> None:
    asked = common.arguments(
        __doc__,
        loads=Option(60, 1, "runs that are drawn"),
        shifts=Option(1, help="phases of the meter against each run"),
        trace=Option((), help="FILE,BEGIN,END: a recording; may be given again"),
        anywhere=Option(False, help="phases that begin and end anywhere, not at the core's marks"),
    )
    drawn = (hpl_like(np.random.default_rng(seed)) for seed in range(asked.loads))
    rows = table([recorded(text) for text in asked.trace] or list(drawn), asked.shifts, asked.anywhere)
    formats = {"by": "", "kind": "", "period_s": "g", "spoilt": "", "within": ".1%", "u_percent": ".2f"}
    common.show(asked, cells=(rows, {**formats, "bound_percent": ".2f", "rms_percent": ".2f", "refused": ""}))
    if not asked.json:
        print(f"least of all cells: {min(row['within'] for row in rows):.1%}")


if __name__ == "__main__":
    main()
