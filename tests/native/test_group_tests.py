"""Group tests with real ranks of this host: stage after stage, and on from what is recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shakedown.analysis import groups
from shakedown.operate import group_tests
from shakedown.operate.group_tests import GroupPlan, session
from shakedown.run.observer import Lines
from shakedown.run.session import How
from support import natives


def test_stages_over_real_ranks(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs that this process may use")
    natives.path("collectives")
    plan = GroupPlan(ranks=5, size_bytes=64, samples=3, seconds=0.01, rounds=4, oversubscribe=True)
    said: list[str] = []
    group_tests.measure(tmp_path, plan, How(), Lines(said.append))
    opened = session.directories(tmp_path)
    assert 1 <= len(opened) <= 2, said
    ((tests, verdict),), damaged = group_tests.judge(opened, plan)
    assert not damaged and len(tests.places) == 5
    assert verdict.rounds in (2, 4) and verdict.tests == 2 * verdict.rounds and verdict.params["oversubscribed"] is True
    assert verdict.metric.name == "collectives.group.time" and groups.group_size(5) == verdict.group_size == 2
    group_tests.measure(tmp_path, plan, How(), Lines(said.append))
    assert len(session.directories(tmp_path)) == len(opened), "nothing is measured twice"


def test_stages_over_threads_that_stand_in_for_gpus(tmp_path: Path) -> None:
    natives.path("gpu_collectives")
    plan = GroupPlan(gpus=5, backend="host:5", size_bytes=4096, samples=3, rounds=14)
    said: list[str] = []
    group_tests.measure(tmp_path, plan, How(), Lines(said.append))
    opened = session.directories(tmp_path)
    ((tests, verdict),), damaged = group_tests.judge(opened, plan)
    assert not damaged and len(tests.places) == 5 and len(set(tests.hosts)) == 1, said
    assert {place.rpartition(":")[2] for place in tests.places} == set("01234")
    assert verdict.rounds >= 7 and verdict.tests == 2 * verdict.rounds and verdict.metric.kernel == "group"
    assert verdict.params["backend"] == "host:5", "nothing here is a figure of a GPU"
