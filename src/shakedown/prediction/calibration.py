"""Draws against measured runs: each draw fitted and weighed, the noise of a run, and what the model cannot explain.

Each draw fixes every input within its range and one way of running (mapping, broadcast) where several are possible. The
DGEMM rate of a rank is then set so that the draw fits the measured runs in the mean; what is left over, r_i = log(measured
/ modelled), weighs the draw by exp(-1/2 sum (r_i / noise)^2): importance weights for normal errors of the runs. r_i is
taken as it is, its mean included: where time goes to messages, no DGEMM rate makes up for a draw that is wrong. The noise
is at least what the best draw leaves over, and is taken larger until a tenth of the draws counts.

A model that misses its own runs is wrong about the machine, and no interval of its makes up for that: beyond three times
the stated noise the noise is widened and the reader is told which run to leave out; beyond a tenth of the rate there is
no forecast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..units import show
from ..workloads.common.hpl import flop
from . import model
from .model import SHARES, Run
from .priors import Array, Sample, machine
from .setup import Row, Setup, configs

QUANTILES = (0.1, 0.5, 0.9)
AGREES = 3.0  # times the stated noise: by so much a run may be missed
MISSED = 0.1  # of the rate: beyond it the model is another machine's
_FIT_STEPS = 4
_LEAST_EFFECTIVE = 0.1  # share of the draws
_DGEMM_EDGE = 0.01  # how sharply the range of the DGEMM rate ends, relative
_EDGE = 0.2  # of a range: draws that count lie in its outermost fifth
_MOST_ROWS_TRIED = 12
_CORE_RATE = 250e9  # flop/s: above what a core of any processor's vectors reaches (AVX-512 at 4 GHz: 128e9)


class Fit(NamedTuple):
    """For every draw: the DGEMM rate, the weight (their sum is 1), what it makes of each observed run (flop/s)."""

    dgemm: Array
    weights: Array
    fitted: list[Array]
    noise: float

    def medians(self) -> list[float]:
        """What the draws make of each observed run, flop/s."""
        return [float(quantiles(one, self.weights)[1]) for one in self.fitted]


def rate_of(row: Row) -> float:
    """The measured rate of a row that has one, flop/s."""
    assert row.rate is not None
    return row.rate


def calibrate(setup: Setup, observed: Sequence[Row], sample: Sample) -> tuple[Fit, tuple[str, ...]]:
    """The fit, and sentences on runs that are missed. Raises BadInput where the model misses them by a tenth and more."""
    fit = _fit(setup, observed, sample)
    misses = _misses(fit, observed)
    if max(map(abs, misses), default=0.0) <= AGREES * setup.error.noise:
        return fit, ()
    worst = max(range(len(misses)), key=lambda index: abs(misses[index]))
    what = f"the model misses the run on {_name(setup, observed[worst])} by {100 * misses[worst]:+.1f} %"
    without = _without(setup, observed, sample)
    if abs(misses[worst]) > max(MISSED, AGREES * setup.error.noise):
        raise BadInput(
            f"{what}: these runs are not of the machine that is described",
            hint=_mends(setup, observed, sample, fit, without),
        )
    noise = max(fit.noise, math.sqrt(sum(one**2 for one in misses) / len(misses)))
    said = (
        f"{_capital(what)}, and a run's noise was stated as {100 * setup.error.noise:.1f} %: it was taken as "
        f"{100 * noise:.1f} %.",
        *([f"{_capital(without)}."] if without else []),
    )
    return fit._replace(noise=noise), said


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _name(setup: Setup, row: Row) -> str:
    word = setup.counts if row.count != 1 else setup.counts[:-1]
    word = word.replace("gpu", "GPU")
    return f"{row.count} {word} at N = {row.n:,} ({row.p} x {row.q}, {show(row.rate, 'flop/s', 4)})"


def _misses(fit: Fit, observed: Sequence[Row]) -> list[float]:
    """Modelled over measured, less one."""
    return [rate / rate_of(row) - 1 for rate, row in zip(fit.medians(), observed, strict=True)]


def _without(setup: Setup, observed: Sequence[Row], sample: Sample) -> str:
    """Which single run to leave out for the others to agree; empty where there is none such."""
    if not 3 <= len(observed) <= _MOST_ROWS_TRIED:
        return ""
    found: list[tuple[float, Row]] = []
    for index, row in enumerate(observed):
        others = [*observed[:index], *observed[index + 1 :]]
        found.append((max(map(abs, _misses(_fit(setup, others, sample), others))), row))
    left, row = min(found, key=lambda pair: pair[0])
    if left > AGREES * setup.error.noise:
        return ""
    return (
        f"without the run on {_name(setup, row)} the others are met to {100 * left:.1f} %: measure it again, or leave it "
        f"out (--leave-out {row.count}@{row.n})"
    )


def _mends(setup: Setup, observed: Sequence[Row], sample: Sample, fit: Fit, without: str) -> str:
    """What would bring model and runs together, the likeliest first."""
    said = [without] if without else []
    threads = max(setup.run.threads, 1)
    if setup.counts == "nodes" and min(rate_of(row) / row.ranks / threads for row in observed) > _CORE_RATE:
        said.append('runs made on GPUs are described with counts = "gpus", one rank each')
    at_edge = []
    for name, prior in setup.priors.items():
        if name == "dgemm" or prior.low == prior.high:
            continue
        ranks = np.argsort(np.argsort(sample.inputs[name])) / len(fit.weights)
        place = float(np.sum(ranks * fit.weights))
        if not _EDGE < place < 1 - _EDGE:
            end, value = ("above", prior.high) if place > 0.5 else ("below", prior.low)
            at_edge.append(
                (min(place, 1 - place), f"input.{name} ({prior.title}) may lie {end} {show(value, prior.unit, 2)}")
            )
    said += [what for _, what in sorted(at_edge)[:3]]
    said.append("say what the machine is with --model FILE, or that its runs scatter so much: [error] noise")
    return "; ".join(said)


def _fit(setup: Setup, observed: Sequence[Row], sample: Sample) -> Fit:
    count = len(sample.normal)
    if not observed:
        return Fit(np.asarray(sample.inputs["dgemm"]), np.full(count, 1 / count), [], setup.error.noise)
    logs = np.log([rate_of(row) for row in observed])
    dgemm = np.full(count, np.mean([rate_of(row) / row.ranks for row in observed]) * 1.1)
    for step in range(_FIT_STEPS):
        fitted = [flop(row.n) / evaluate(setup, row, sample, dgemm).time_s for row in observed]
        left = logs[:, None] - np.log(fitted)
        if step < _FIT_STEPS - 1:
            dgemm = dgemm * np.exp(left.mean(axis=0))
    squares = (left**2).sum(axis=0)
    beyond = np.zeros(count)
    if "dgemm" in setup.priors:  # a range for it weighs as one more observation
        prior = setup.priors["dgemm"]
        beyond = np.maximum(np.maximum(np.log(dgemm / prior.high), np.log(prior.low / dgemm)), 0.0)
    least = math.sqrt(float(squares.min()) / max(len(observed) - 1, 1))  # what even the best draw leaves
    noise = max(setup.error.noise, least)
    while True:
        edge = max(_DGEMM_EDGE, noise)
        misfit = squares / noise**2 + (beyond / edge) ** 2
        weights = np.exp(-(misfit - misfit.min()) / 2)
        if effective(weights) >= count * _LEAST_EFFECTIVE:
            return Fit(dgemm, weights / weights.sum(), fitted, noise)
        noise *= 1.1


def effective(weights: Array) -> float:
    """(sum w)^2 / sum w^2: as many equal draws would tell as much."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def evaluate(setup: Setup, row: Row, sample: Sample, dgemm: Array) -> Run:
    """The model for every draw; each way of running has its share of the draws, in turn."""
    ways = configs(setup, row)
    if len(ways) == 1:
        return model.evaluate(ways[0], machine(sample.inputs, dgemm, setup.leaf_nodes))
    time_s = np.empty(len(dgemm))
    parts = {name: np.empty(len(dgemm)) for name in SHARES}
    for index, way in enumerate(ways):
        own = slice(index, None, len(ways))
        inputs = {name: value[own] for name, value in sample.inputs.items()}
        run = model.evaluate(way, machine(inputs, dgemm[own], setup.leaf_nodes))
        time_s[own] = run.time_s
        for name in SHARES:
            parts[name][own] = run.parts[name]
    return Run(time_s, parts)


def quantiles(values: Array, weights: Array) -> Array:
    """Weighted quantiles, linear between the draws' middles."""
    ranked = np.argsort(values)
    sums = np.cumsum(weights[ranked])
    return np.asarray(np.interp(QUANTILES, sums - weights[ranked] / 2, values[ranked]))
