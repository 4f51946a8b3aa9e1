"""How often what `shakedown trend` says is true, on simulated histories whose truth is known.

    python scripts/bench/trend_histories.py [--histories 200] [--years 2] [--seed 1] [--only PART] [--json]
    python scripts/bench/trend_histories.py --limits 200000     the limits of analysis/trend/limits.toml made again

A history has 50 to 365 runs a year at uneven times (weekends without, some days several, weeks missing), whose values
scatter by 0.5 %: normally, with Student's t of 3 degrees of freedom, in two modes, in steps of 0.5 %, or resembling the run
before (AR(1), 0.5) or those of the same day.

Detection: after 60 to 150 runs the level changes by 1 % up or down, and 8 runs follow. Found: a change is told of which
the run lies within 5 of the true one; delay: runs until it was told, of those found; held: the true run, and the true
size, within what is stated. False alarms: nothing changes for so many years; all that was told at any time, over the rate
that was chosen, and what is left of it at the end. Causes: 30 facts, of which 8 are numbers that differ in each run and 22
are words that change once to three times or go to and fro, one of them with the level. Apart: no other fact changes within
two runs of it; near: another does one or two runs away; together: another changes at the same run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option
from numpy.typing import NDArray

from shakedown.analysis.facts import Facts
from shakedown.analysis.trend import Histories, HistoryRun, Key, judged
from shakedown.records import Machine, Metric, TrendEvent, TrendSeries

Floats = NDArray[np.float64]
NOISES = ("normal", "heavy tails", "two modes", "in steps", "autocorrelated", "by day")
PARTS = ("detection", "false_alarms", "causes")
METRIC = Metric(name="triad", title="Triad", unit="B/s", better="higher", per="bytes/s", kernel="triad")
KEY = Key("node1", "stream", "triad", '{"threads":2}', b"")
SIGMA, SHIFT, AFTER = 0.005, 0.01, 8
DAY_NS = 86_400 * 10**9
BEGIN_NS = 1_700_000_000 * 10**9


def times(rng: np.random.Generator, runs: int, per_year: float) -> Floats:
    """Days since the beginning, uneven."""
    gaps = rng.exponential(365.25 / per_year, runs)
    gaps *= np.where(rng.random(runs) < 0.3, 0.1, 1.0)  # several on a day
    gaps += np.where(rng.random(runs) < 0.02, rng.uniform(5, 20, runs), 0.0)  # weeks missing
    days: Floats = np.cumsum(gaps * (runs * 365.25 / per_year) / gaps.sum())
    return days


def scatter(rng: np.random.Generator, noise: str, days: Floats) -> Floats:
    """Deviations of unit size."""
    n = len(days)
    normal = rng.standard_normal(n)
    if noise == "heavy tails":
        tails: Floats = rng.standard_t(3, n) / math.sqrt(3)
        return tails
    if noise == "two modes":
        modes: Floats = 0.4 * normal + np.where(rng.random(n) < 0.3, 1.4, -0.6)
        return modes
    if noise == "in steps":
        steps: Floats = np.round(normal)
        return steps
    if noise == "autocorrelated":
        for index in range(1, n):
            normal[index] = 0.5 * normal[index - 1] + math.sqrt(0.75) * normal[index]
        return normal
    if noise == "by day":
        of_day = rng.standard_normal(int(days[-1]) + 2)
        mixed: Floats = 0.8 * of_day[days.astype(int)] + 0.6 * normal
        return mixed
    return normal


class History(NamedTuple):
    runs: list[HistoryRun]
    change: int  # the first run of the new level; -1: none
    ratio: float


def history(
    rng: np.random.Generator, noise: str, before: int, after: int, known: list[Facts] | None = None, per_year: float = 0
) -> History:
    """With a change after ``before`` runs where ``after`` is not 0."""
    total = before + after
    days = times(rng, total, per_year or float(rng.uniform(50, 365)))
    ratio = 1 + SHIFT * float(rng.choice([-1, 1]))
    values = 1e11 * (1 + SIGMA * scatter(rng, noise, days))
    values[before:] *= ratio if after else 1.0
    machine = Machine(hosts=(), discovered_ns=0, version="1")
    runs = [
        HistoryRun(
            f"run-{index:04d}",
            BEGIN_NS + int(day * DAY_NS),
            {KEY: float(value)},
            {KEY.host: known[index] if known else {}},
            machine,
        )
        for index, (day, value) in enumerate(zip(days, values, strict=True))
    ]
    return History(runs, before if after else -1, ratio)


def told(one: History) -> tuple[TrendSeries, tuple[TrendEvent, ...]]:
    found = judged(Histories(one.runs, {(KEY.workload, KEY.metric): METRIC}, []))
    return found.series[0], found.events


# ----------------------------------------------------------------------------------------------------- detection, alarms


def detection(rng: np.random.Generator, noise: str, histories: int) -> dict[str, Any]:
    delays, place, size = [], [], []
    for _ in range(histories):
        one = history(rng, noise, int(rng.integers(60, 151)), AFTER)
        series, _ = told(one)
        index = {run.name: at for at, run in enumerate(one.runs)}
        for change in series.changes:
            at = [
                index[series.points[point].run] for point in (change.first, change.earliest, change.latest, change.told)
            ]
            if abs(at[0] - one.change) <= 5:
                delays.append(max(at[3] - one.change + 1, 0))
                place.append(at[1] <= one.change <= at[2] or series.by_day)
                size.append(change.low <= one.ratio <= change.high)
                break
    return {
        "noise": noise,
        "histories": histories,
        "found": len(delays) / histories,
        "delay_median": float(np.median(delays)) if delays else math.nan,
        "run_held": float(np.mean(place)) if place else math.nan,
        "size_held": float(np.mean(size)) if size else math.nan,
    }


def alarms(rng: np.random.Generator, noise: str, per_year: int, histories: int, years: int) -> dict[str, Any]:
    ever = standing = 0
    for _ in range(histories):
        series, _ = told(history(rng, noise, per_year * years, 0, per_year=per_year))
        ever += len(series.changes) + len(series.passed)
        standing += len(series.changes)
    return {
        "noise": noise,
        "runs_a_year": per_year,
        "years": histories * years,
        "told_over_rate": ever / histories / years,
        "left_over_rate": standing / histories / years,
    }


# ------------------------------------------------------------------------------------------------------------------ causes


def words(rng: np.random.Generator, total: int, places: list[int], to_and_fro: bool) -> list[str]:
    """A fact that changes at ``places``: to a new version each time, or between two states."""
    version, found = 0, []
    for index in range(total):
        version += index in places
        found.append(f"v{version % 2 if to_and_fro else version}")
    return found


def facts_about(rng: np.random.Generator, total: int, change: int, kind: str) -> list[Facts]:
    """30 facts, "cause" among them. ``kind``: apart, near or together."""
    columns: dict[str, list[Any]] = {f"weather {index}": rng.gamma(2, 1, total).tolist() for index in range(8)}
    free = [index for index in range(2, total) if abs(index - change) > 2]
    for index in range(21):
        places = rng.choice(free, int(rng.integers(1, 4)), replace=False).tolist()
        if index == 0 and kind == "near":
            places[0] = change + int(rng.choice([-2, -1, 1, 2]))
        if index == 0 and kind == "together":
            places = [change]
        columns[f"fact {index}"] = words(rng, total, places, to_and_fro=bool(index % 3 == 2))
    columns["cause"] = words(rng, total, [change], to_and_fro=False)
    return [{name: column[index] for name, column in columns.items()} for index in range(total)]


def causes(rng: np.random.Generator, kind: str, noise: str, histories: int) -> dict[str, Any]:
    seen = first = alone = not_apart = wrong = 0
    for _ in range(histories):
        before, after = int(rng.integers(60, 121)), int(rng.integers(AFTER, 31))
        one = history(rng, noise, before, after, facts_about(rng, before + after, before, kind))
        _, events = told(one)
        names = [run.name for run in one.runs]
        event = next((each for each in events if abs(names.index(each.run) - before) <= 5), None)
        if event is None:
            continue
        seen += 1
        top = [fact.fact for fact in event.causes[0].facts] if event.causes else []
        near = [fact.fact for cause in event.causes[: event.close] for fact in cause.facts]
        first += "cause" in top
        alone += event.verdict == "one" and near == ["cause"]
        not_apart += event.verdict == "not distinguished" and "cause" in near
        wrong += event.verdict == "one" and near != ["cause"]
    return {
        "other_facts": kind,
        "noise": noise,
        "changes_told": seen,
        "first": first / max(seen, 1),
        "it_alone_named": alone / max(seen, 1),
        "not_distinguished_said": not_apart / max(seen, 1),
        "another_alone_named": wrong / max(seen, 1),
    }


# ------------------------------------------------------------------------------------------------------------------ limits


def limits(series: int, rng: np.random.Generator) -> None:
    """Prints h(n) for each probability: passed by that share of the series which passed it at no fewer runs."""
    longest, batch = 256, 5_000
    most = np.empty((longest + 1, series), np.float32)
    for begin in range(0, series, batch):
        values = rng.random((min(batch, series - begin), longest))
        sums = np.zeros_like(values)
        for n in range(2, longest + 1):
            sums[:, : n - 1] += np.cumsum(np.sign(values[:, n - 1 : n] - values[:, : n - 1]), axis=1)
            k = np.arange(1, n)
            scaled = np.abs(sums[:, : n - 1]) / np.sqrt(k * (n - k) * (n + 1) / 3)
            most[n, begin : begin + batch] = scaled.max(axis=1)
    for one_in in (20, 35, 52, 100, 200, 365, 750, 1500, 3000, 9000):
        alive = np.ones(series, bool)
        row = []
        for n in range(4, longest + 1):
            left = np.sort(most[n][alive])
            if not len(left):
                break
            row.append(float(left[max(0, math.ceil(len(left) * (1 - 1 / one_in)) - 1)]))
            alive &= most[n] <= row[-1] + 1e-6
        print(f"one_in = {one_in}\nvalues = {[math.ceil(one * 1000) / 1000 for one in row]}")


def main() -> None:
    asked = common.arguments(
        __doc__,
        histories=Option(200, 1, "of each kind"),
        years=Option(2, 1, "without a change"),
        seed=Option(1),
        only=Option("", help="one part", choices=("", *PARTS)),
        limits=Option(0, help="make the limits again from so many series, and nothing else"),
    )
    rng = np.random.default_rng(asked.seed)
    if asked.limits:
        limits(asked.limits, rng)
        return
    often = (52,) if asked.tiny else (52, 150, 365)
    made = {
        "detection": lambda: [detection(rng, noise, asked.histories) for noise in NOISES],
        "false_alarms": lambda: [
            alarms(rng, noise, per_year, max(1, asked.histories // 2), asked.years)
            for noise in NOISES
            for per_year in often
        ],
        "causes": lambda: [
            causes(rng, kind, noise, asked.histories) for kind in ("apart", "near", "together") for noise in NOISES[:2]
        ],
    }
    tables = {}
    for name in PARTS:
        if asked.only in ("", name):
            rows = made[name]()
            formats = {field: ".3f" if isinstance(value, float) else "" for field, value in rows[0].items()}
            tables[name] = (rows, formats)
    common.show(asked, **tables)


if __name__ == "__main__":
    main()
