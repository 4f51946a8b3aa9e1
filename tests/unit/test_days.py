"""One host on several days: nothing is pooled across days that nobody asked to pool."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.analysis import build, days, several
from shakedown.files import atomic
from shakedown.records import Analysis, Case, Measurement, Plan, Run
from shakedown.results import run_directory
from support.machines import machine

DAY_NS = 86_400 * 10**9
T0 = 1_780_000_000 * 10**9  # 2026-05-28
FIRST, SECOND = "node1 (2026-05-28)", "node1 (2026-05-30)"


def directory(path: Path, seconds: float, created_ns: int, host: str = "node1") -> run_directory.RunDirectory:
    """A run directory with DGEMM of 1e12 operations in so many seconds, three times."""
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="c", created_ns=created_ns, version="1", host=host
    )
    run = Run(id="r1", workload="gemm", params={}, label="dgemm", estimate_s=1, limit_s=9)
    here = machine(2)
    here = msgspec.structs.replace(here, hosts=(msgspec.structs.replace(here.hosts[0], name=host),))
    plan = Plan(campaign="c", title="C", runs=(run,))
    made = run_directory.RunDirectory.create(path, manifest=manifest, campaign_toml="", machine=here, plan=plan)
    case = Case(kernel="dgemm", params={"n": 4096, "threads": 2}, work={"flop": 1e12}, seconds=(seconds,) * 3)
    record = Measurement(
        run="r1", repeat=1, workload="gemm", params={}, host=host, state="ok", cases=(case,), begin_ns=1, end_ns=2
    )
    folder = made.folder("r1", 1)
    folder.mkdir(parents=True)
    atomic.write_record(folder / "measurement.json", record)
    return made


def rates(analysis: Analysis) -> dict[str, float | None]:
    return {one.host: one.value for one in analysis.findings if one.metric == "gemm.dgemm.rate"}


@pytest.mark.parametrize("packed", [False, True])
def test_two_days_of_one_host_stand_apart(tmp_path: Path, packed: bool) -> None:
    made = [directory(tmp_path / "a", 10, T0), directory(tmp_path / "b", 20, T0 + 2 * DAY_NS)]
    for one in made if packed else ():
        build.pack(one, build.read(one))
    analysis, _ = several.analyse_many(made)
    assert rates(analysis) == {FIRST: 1e11, SECOND: 5e10}
    assert {one.host for one in analysis.outcomes} == {FIRST, SECOND} == {one.name for one in analysis.machine.hosts}
    (notice,) = [one for one in analysis.notices if one.code == "days"]
    assert "2026-05-28, 2026-05-30" in notice.text and "--pool-days" in notice.advice
    assert analysis.title == "C on 1 host"
    assert all(one.fractions == () or one.fractions[0].fraction for one in analysis.findings)


def test_days_are_pooled_where_it_is_asked_for(tmp_path: Path) -> None:
    made = [directory(tmp_path / "a", 10, T0), directory(tmp_path / "b", 20, T0 + 2 * DAY_NS)]
    analysis, _ = several.analyse_many(made, pool_days=True)
    assert rates(analysis) == {"node1": 7.5e10} and not [one for one in analysis.notices if one.code == "days"]


def test_one_day_and_other_hosts_are_as_they_were(tmp_path: Path) -> None:
    same = [directory(tmp_path / "a", 10, T0), directory(tmp_path / "b", 20, T0 + 60 * 10**9)]
    assert rates(several.analyse_many(same)[0]) == {"node1": 7.5e10}
    other = [same[0], directory(tmp_path / "c", 20, T0 + 2 * DAY_NS, host="node2")]
    assert rates(several.analyse_many(other)[0]) == {"node1": 1e11, "node2": 5e10}


def test_a_job_over_hosts_keeps_its_hosts_of_that_day() -> None:
    name = days.labelled("node[1-2]", "2026-05-28", {"node2"})
    assert name == "node[1-2] (2026-05-28)"
    assert days.members(name) == ["node1 (2026-05-28)", "node2 (2026-05-28)"]
    assert days.labelled("node3", "2026-05-28", {"node2"}) == "node3"
