"""What is not known of a machine, as ranges with their sources, and draws from them.

A range is drawn from evenly, in the logarithm where it spans a factor. What was measured replaces a range by its value
and the precision of the measurement. Rates of the panel, the triangular solve and the back substitution are shares of
the DGEMM rate, so that one unknown speed scales them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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


def known(value: float, source: str, *, title: str = "", unit: str = "1") -> Prior:
    """An input that is not a range."""
    return Prior(low=value, high=value, source=source, title=title, unit=unit)


_OWN = "measured with OpenBLAS on one AVX-512 machine (docs/forecast.md)"

#: Every input with the range that it has where nothing better is known. ``dgemm`` has none: it is calibrated or given.
DEFAULTS: dict[str, Prior] = {
    "panel": Prior(
        low=0.1, high=0.5, title="panel factorization, share of DGEMM", source=f"{_OWN}: dgetrf of 128 to 384 columns"
    ),
    "trsm": Prior(
        low=0.2,
        high=0.9,
        title="triangular solve, share of DGEMM",
        source=f"{_OWN}: 0.20 to 0.25; recursive: up to 0.9",
    ),
    "back": known(0.1, "bound by memory: 2 flop for each 8 bytes", title="back substitution, share of DGEMM"),
    "rows": Prior(
        low=1 / 12e-9, high=1 / 3e-9, unit="element/s", title="rows gathered in memory", source="a cache line or less"
    ),
    "column_s": known(0.0, "in the panel's rate", title="each column of a panel", unit="s"),
    "narrow": Prior(
        low=0.02,
        high=0.14,
        scale="linear",
        title="DGEMM's loss in pieces of NB columns",
        source=f"{_OWN}: 0.07 at 384 columns, 0.13 at 192; less where memory is fast for the cores",
    ),
    "latency_on_s": Prior(
        low=0.5e-6, high=5e-6, unit="s", title="latency within a node", source="MPI on shared memory"
    ),
    "latency_off_s": Prior(
        low=1e-6,
        high=12e-6,
        unit="s",
        title="latency between nodes",
        source="InfiniBand to Ethernet with kernel bypass",
    ),
    "stream_on": Prior(
        low=0.4e9, high=12e9, unit="B/s", title="bandwidth of a message within a node", source="a copy or two in memory"
    ),
    "node_on": Prior(
        low=10e9, high=200e9, unit="B/s", title="messages within a node together", source="a part of memory's bandwidth"
    ),
    "stream_off": Prior(
        low=0.3e9, high=24e9, unit="B/s", title="bandwidth of a message between nodes", source="any network"
    ),
    "node_off": Prior(low=0.3e9, high=48e9, unit="B/s", title="bandwidth of a node", source="any network"),
    "leaf_off": known(float("inf"), "no edge switch was described", title="bandwidth of an edge switch", unit="B/s"),
    "exchange": Prior(
        low=0.4,
        high=1.2,
        scale="linear",
        title="row exchange, times its data",
        source="both ways at once: 1; less where few of the rows are there in the first steps: 0.4 to 0.9 fit 28 grids of "
        "one cluster, up to 960 rows (Cornebize 2021)",
    ),
    "burst": Prior(
        low=0.0,
        high=0.25,
        scale="linear",
        title="process columns that exchange rows at once",
        source="more than a quarter of a node's columns in step would be slower than those grids were",
    ),
    "spread": Prior(
        low=0.003,
        high=0.03,
        title="spread of the speed of nodes",
        source="64 equal processors of one cluster: 3.3 % (Cornebize 2021); well kept ones below 1 %",
    ),
    "jitter": Prior(
        low=0.002,
        high=0.02,
        title="jitter of one iteration",
        source="DGEMM calls of that cluster: 2 % (Cornebize 2021); quiet nodes far less",
    ),
}


def _gpu(name: str, low: float, high: float, source: str) -> Prior:
    default = DEFAULTS[name]
    return Prior(low=low, high=high, source=source, scale=default.scale, title=default.title, unit=default.unit)


#: The same where a rank is a GPU: memory of 0.1 to 8 TB/s, links from PCIe to NVLink, panels on the host or on the GPU.
GPU_DEFAULTS: dict[str, Prior] = DEFAULTS | {
    one: _gpu(one, low, high, source)
    for one, low, high, source in (
        ("panel", 0.01, 0.5, "a few cores of the host, or the GPU itself"),
        ("trsm", 0.3, 1.0, "inverted and multiplied: nearly DGEMM"),
        ("rows", 0.1e9, 50e9, "through PCIe to the memory of a GPU of 3 TB/s, a cache line an element"),
        ("narrow", 0.0, 0.15, "products of few columns fill a GPU less well"),
        ("latency_on_s", 1e-6, 20e-6, "kernels started for each message"),
        ("latency_off_s", 1.5e-6, 30e-6, "the network, with kernels started for each message"),
        ("stream_on", 1e9, 450e9, "PCIe 2 to NVLink 4"),
        ("node_on", 5e9, 3600e9, "the same of eight GPUs together"),
        ("stream_off", 3e9, 50e9, "InfiniBand QDR to NDR"),
        ("node_off", 3e9, 400e9, "one adapter a node to one a GPU"),
    )
}
_SHARES_OF_DGEMM = ("panel", "trsm", "back")


class Sample(Record, frozen=True, kw_only=True):
    """Draws of every input: arrays of shape (draws,). ``normal`` is a standard normal value for each draw."""

    inputs: dict[str, Any]
    normal: Any


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
