"""What a forwarder is told: directed links with their ratio of signal to noise, as changes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..mobility.tracks import Numbers, Positions, distance_m
from .scenario import Scenario, node_names

#: A link on the wire to the forwarder (native/radio_forwarder/links.hpp); an snr of NaN: out of range.
LINK = np.dtype([("from", "<u4"), ("to", "<u4"), ("snr_db", "<f4"), ("distance_m", "<f4")])
Links = NDArray[np.void]


#: Pairs of radios, from 0 on, and their losses in dB.
Changes = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], NDArray[np.floating[Any]]]


class Placed(Protocol):
    """What became of places."""

    @property
    def unknown(self) -> NDArray[np.int64]: ...


class LossEngine(Protocol):
    """What is asked of ``radio.engine.Engine``."""

    def place(self, latitude_deg: Numbers, longitude_deg: Numbers, height_m: Numbers) -> Placed: ...
    def move(
        self, index: NDArray[np.int64], latitude_deg: Numbers, longitude_deg: Numbers, height_m: Numbers
    ) -> Placed: ...
    def changes(self, above_db: float, below_db: float) -> Changes: ...


def fixed(scenario: Scenario) -> Links:
    """The links that the scenario gives."""
    ids = {name: index for index, name in enumerate(node_names(scenario), 1)}
    rows = []
    for link in scenario.links:
        first, second = ids[link.nodes[0]], ids[link.nodes[1]]
        back_db = link.loss_db if link.back_db is None else link.back_db
        rows.append((first, second, scenario.budget.snr_db(link.loss_db), link.distance_m))
        rows.append((second, first, scenario.budget.snr_db(back_db), link.distance_m))
    found = np.array(rows, LINK)
    found["snr_db"][found["snr_db"] < scenario.least_snr_db] = np.nan
    return found


def changed(
    scenario: Scenario,
    changes: Changes,
    positions: Positions,
) -> Links:
    """Both directions of pairs (counted from 0) whose loss changed. One without a loss, or with one that leaves too little
    signal, is out of range."""
    first, second, loss_db = changes
    one, other = first.astype(np.int64), second.astype(np.int64)
    snr_db = scenario.budget.snr_db(0.0) - loss_db.astype(np.float64)
    snr_db = np.where(snr_db >= scenario.least_snr_db, snr_db, np.nan)
    found = np.empty(2 * len(one), LINK)
    found["from"] = np.concatenate([one, other]) + 1
    found["to"] = np.concatenate([other, one]) + 1
    found["snr_db"] = np.tile(snr_db, 2)
    found["distance_m"] = np.tile(distance_m(positions, one, other), 2)
    return found


def moved(before: Positions, now: Positions) -> NDArray[np.int64]:
    """The radios, from 0, that are not where they were."""
    differ = [one != other for one, other in zip(before, now, strict=True)]
    return np.flatnonzero(np.logical_or.reduce(differ))
