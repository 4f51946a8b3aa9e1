"""A mean time to interrupt, from counted failures, from recorded outages, and of a job on some of the nodes."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from shakedown.checkpoint import mtti
from shakedown.checkpoint.mtti import Incidents
from shakedown.errors import BadInput

TABLE = """node,start,end,kind,what,note,share,gpus,announced,processors
node[1-20],,,present,,,,,,64
*,2026-10-01T00:00Z,2026-10-11T00:00Z,observed,,,,,,
node3,2026-10-02T10:00Z,2026-10-02T12:00Z,memory,DIMM,,,,,
node7,2026-10-04T10:00Z,2026-10-04T12:00Z,memory,DIMM,,,,,
node[9-12],2026-10-05T10:00Z,2026-10-05T12:00Z,power,PDU 7,,,,,
*,2026-10-08T06:00Z,2026-10-08T18:00Z,maintenance,firmware,,,,2026-09-01T00:00Z,
"""


def test_counted_failures_give_a_range_that_holds_the_truth() -> None:
    """Of many machines with this MTTI, about 90 % of the ranges hold it: drawn, not from the formula."""
    rng = np.random.default_rng(3)
    for true_h, hours in ((10.0, 30.0), (10.0, 200.0)):
        known = [mtti.of_failures(int(n), hours) for n in rng.poisson(hours / true_h, 1000)]
        held = np.mean([one.low_s <= 3600 * true_h <= one.high_s for one in known])
        assert 0.85 < held < 0.97
        assert all(one.low_s <= one.mtti_s <= one.high_s for one in known)


def test_no_failure_is_a_bound_and_says_so() -> None:
    known = mtti.of_failures(0, 72.0)
    assert known.mtti_s == pytest.approx(3600 * 72 / -math.log(0.05))  # X/3.0
    assert known.low_s == known.mtti_s < known.high_s
    assert "none seen in 72 h" in known.basis and "95 %" in known.basis


@pytest.mark.parametrize(("events", "hours"), [(-1, 10.0), (3, 0.0), (3, -1.0), (3, math.inf), (3, math.nan)])
def test_counts_that_cannot_be_are_refused(events: int, hours: float) -> None:
    with pytest.raises(BadInput):
        mtti.of_failures(events, hours)


def test_an_mtti_that_was_only_given_is_known_to_a_factor_of_two() -> None:
    known = mtti.stated(100.0)
    assert (known.low_s, known.high_s) == (50.0, 200.0)
    with pytest.raises(BadInput):
        mtti.stated(0.0)


@pytest.mark.parametrize(("size", "job", "machine"), [(1, 1, 5), (2, 2, 6), (3, 4, 9), (5, 4, 8), (1, 8, 8), (4, 7, 9)])
def test_the_chance_to_be_struck_is_counted(size: int, job: int, machine: int) -> None:
    """All ways to lay a job on the machine, one by one."""
    ways = list(itertools.combinations(range(machine), job))
    struck = sum(any(node < size for node in way) for way in ways)
    assert mtti.touched(size, job, machine) == pytest.approx(struck / len(ways))


def test_recorded_outages_count_once_an_incident_and_planned_ones_not(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text(TABLE)
    found = mtti.recorded([str(path)])
    assert sorted(found.sizes) == [1, 1, 4] and found.nodes == 20
    assert found.hours == pytest.approx(240, abs=12.01)  # less the maintenance, where the contract takes it out
    whole = mtti.of_incidents(found, 20)
    assert whole.mtti_s == pytest.approx(3600 * found.hours / 3.5)
    half = mtti.of_incidents(found, 10)
    chances = [0.5, 0.5, 1 - (10 * 9 * 8 * 7) / (20 * 19 * 18 * 17)]
    assert half.mtti_s == pytest.approx(whole.mtti_s * 3 / sum(chances))
    assert half.high_s / half.low_s == pytest.approx(whole.high_s / whole.low_s)
    assert mtti.of_incidents(found, 40).mtti_s == pytest.approx(whole.mtti_s / 2)


def test_recorded_outages_share_out_by_how_many_nodes_they_took() -> None:
    shares = mtti.shares(Incidents(240.0, 20, (1, 1, 4)), 20, tolerated=2)
    assert shares == pytest.approx((0, 2.5 / 4.5, 0.5 / 4.5, 1.5 / 4.5))
    assert sum(mtti.shares(Incidents(240.0, 20, ()), 3, tolerated=2)) == pytest.approx(1)
