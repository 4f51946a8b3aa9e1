"""What is not known of a machine, as ranges with their sources, and draws from them.

A range is drawn from evenly, in the logarithm where it spans a factor. What was measured replaces a range by its value
and the precision of the measurement. Rates of the panel, the triangular solve and the back substitution are shares of
the DGEMM rate, so that one unknown speed scales them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..records import Record
from .model import Draws

Array = NDArray[np.float64]


class Prior(Record, frozen=True, kw_only=True):
    """An input that lies between ``low`` and ``high`` (equal: known). ``source`` says where the range comes from."""

    low: float
    high: float
    source: str
    scale: Literal["linear", "log"] = "log"
    title: str = ""
    unit: str = "1"
    measured: bool = False


def _read() -> tuple[dict[str, Prior], dict[str, Prior]]:
    raw = msgspec.toml.decode((files(__package__) / "priors.toml").read_bytes())
    gpus = {name: {**line, **raw["gpu"].get(name, {})} for name, line in raw["default"].items()}
    usual, of_gpus = (msgspec.convert(lines, dict[str, Prior]) for lines in (raw["default"], gpus))
    return usual, of_gpus


#: Every input with the range that it has where nothing better is known (priors.toml), on processors and where a rank is a
#: GPU. ``dgemm`` has none: it is calibrated or given.
DEFAULTS, GPU_DEFAULTS = _read()

#: What is said of ``dgemm``, whose range is calibrated or given.
DGEMM = Prior(low=0.0, high=0.0, source="", title="DGEMM of a rank", unit="flop/s")

_SHARES_OF_DGEMM = ("panel", "trsm", "back")


class Sample(Record, frozen=True, kw_only=True):
    """Draws of every input: arrays of shape (draws,). ``normal`` is a standard normal value for each draw."""

    inputs: dict[str, Any]
    normal: Any


def known(name: str, values: Sequence[float], factor: float, source: str) -> Prior:
    """From the least to the largest measured value, each known to a factor."""
    low, high = min(values) / factor, max(values) * factor
    usual = DEFAULTS.get(name, DGEMM)
    return msgspec.structs.replace(usual, low=low, high=high, source=source, measured=True)


def draw(priors: Mapping[str, Prior], count: int, seed: int) -> Sample:
    """``count`` draws, evenly spread over each range on its own (a Latin hypercube); the same for the same seed."""
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for name in sorted(priors):
        place = (generator.permutation(count) + generator.random(count)) / count
        inputs[name] = at(priors[name], place)
    place = (generator.permutation(count) + 0.5) / count
    return Sample(inputs=inputs, normal=_normal(place))


def at(prior: Prior, place: Array) -> Array:
    """The values at ``place`` (0 to 1) of the range."""
    if prior.low == prior.high:
        return np.full(np.shape(place), prior.low)
    if prior.scale == "log":
        return np.asarray(prior.low * (prior.high / prior.low) ** place)
    return np.asarray(prior.low + (prior.high - prior.low) * place)


def _normal(place: Array) -> Array:
    from statistics import NormalDist

    return np.array([NormalDist().inv_cdf(float(one)) for one in place])


def machine(inputs: Mapping[str, Any], dgemm: Array, leaf_nodes: int) -> Draws:
    """The model's inputs, a column each, where a rank's DGEMM runs at ``dgemm`` flop/s."""
    columns: dict[str, Any] = {name: np.asarray(value)[:, None] for name, value in inputs.items() if name != "dgemm"}
    rate = np.asarray(dgemm)[:, None]
    for name in _SHARES_OF_DGEMM:
        columns[name] = columns[name] * rate
    return Draws(**columns, dgemm=rate, leaf_nodes=leaf_nodes, slowest=None)
