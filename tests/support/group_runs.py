"""Run directories as group tests leave them, from simulated fleets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shakedown.analysis.groups import GroupTests
from shakedown.files import atomic
from shakedown.records import Case, Measurement, Params, Plan, Residual, State
from shakedown.results import run_directory as store
from support.machines import machine

MANIFEST = store.Manifest(schema=store.SCHEMA, campaign="groups", created_ns=1, version="test", host="n1")


def cases(tests: GroupTests, **more: str | int | bool) -> list[Case]:
    """What collectives prints of such groups."""
    found = []
    for test, value in enumerate(tests.values.tolist()):
        members = [tests.places[place] for place in tests.member[tests.test == test].tolist()]
        params: Params = {"operation": "alltoall", "method": "library", "bytes": 2**20, "round": int(tests.round[test])}
        params |= {"members": ",".join(members), "ranks": len(members), **more}
        failed = np.isnan(value)
        found.append(
            Case(
                kernel="group",
                params=params,
                work={"bytes": 2.0**20},
                seconds=() if failed else (value * 0.99, value, value * 1.5),
                residual=Residual(value=3.0 if failed else 0.0, limit=0.0, kind="wrong words"),
            )
        )
    return found


def run_directory(
    path: Path, found: Sequence[Case], *, state: State = "ok", workload: str = "collectives"
) -> store.RunDirectory:
    plan = Plan(campaign="groups", title="T", runs=())
    made = store.RunDirectory.create(path, manifest=MANIFEST, campaign_toml="", machine=machine(), plan=plan)
    record = Measurement(
        run="r1",
        repeat=1,
        workload=workload,
        params={},
        host="n1",
        state=state,
        cases=tuple(found),
        begin_ns=1,
        end_ns=2,
    )
    made.folder("r1", 1).mkdir(parents=True)
    atomic.write_record(made.folder("r1", 1) / "measurement.json", record)
    return made
