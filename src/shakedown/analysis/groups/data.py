"""What was measured over groups, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...records import Metric, Params
from ..table import Floats, Ints


class GroupTests(NamedTuple):
    """One metric at one set of common parameters. A test is one group's series of samples; its members come one a row of
    ``test`` and ``member``."""

    metric: Metric
    params: Params
    places: tuple[str, ...]
    hosts: tuple[str, ...]  # of each place: the same, but where a place is a GPU or one rank of several
    test: Ints
    member: Ints
    values: Floats  # per test, of the metric; NaN where it failed
    round: Ints  # per test: groups of one round measured at the same time; -1 where nothing is known
    rail: Ints  # per test: which of ``rails`` it used, -1 where that was not given
    rails: tuple[str, ...] = ()
    why: tuple[str, ...] = ()  # per test: why it failed, empty where it did not; empty for all: none did

    @property
    def sizes(self) -> Ints:
        """Members of each test."""
        return np.bincount(self.test, minlength=len(self.values))


class Topology(NamedTuple):
    """``parent``: what each host or switch hangs on. Empty: nothing is known."""

    parent: Mapping[str, str] = {}

    def above(self, host: str) -> list[str]:
        """The switches from a host up; none where it is not named."""
        found: list[str] = []
        at = host
        while at in self.parent and self.parent[at] not in found:
            at = self.parent[at]
            found.append(at)
        return found
