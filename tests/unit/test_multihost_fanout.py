"""Runs over several hosts: where they go, what a job over all sees, copies side by side, and the proof that it was so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import campaign, launchers, workloads
from shakedown.campaign import plan
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.machine.span import span
from shakedown.records import Absent, Job, Machine, Peak, Plan
from shakedown.results import run_directory
from shakedown.results.outcome import alone
from shakedown.run import loop, schedule
from shakedown.run.multihost import agent, client, fanout
from shakedown.schedulers import Allocation
from support.machines import OPEN_MPI, host

PEAKS = (
    Peak(name="flops.fp64", scope="core", value=1e10, unit="flop/s", kind="derived", basis="1 core"),
    Peak(name="flops.fp64", scope="node", value=2e10, unit="flop/s", kind="derived", basis="2 cores"),
    Peak(name="core_to_core.latency", scope="node", value=1e-7, unit="s", kind="measured", basis="probe"),
)


def machine(count: int, **details: object) -> Machine:
    hosts = tuple(host(name=f"node{i + 1}", peaks=PEAKS, **details) for i in range(count))  # type: ignore[arg-type]
    return Machine(hosts=hosts, discovered_ns=1, version="test")


def made(machine: Machine, text: str) -> Plan:
    return plan.make(campaign.parse(f'name = "t"\ntitle = "t"\n{text}', "t.toml"), machine)


# --------------------------------------------------------------------------------------------------------------- span


def test_hosts_as_one_have_the_cores_of_all_and_the_memory_of_the_least() -> None:
    small = host(name="b", memory_bytes=8 * 2**30, peaks=PEAKS)
    one = span([host(name="a", peaks=PEAKS), small], "a,b")
    assert (one.count, len(one.cpu.cores), one.usable_cpus, len(one.numa)) == (2, 4, (0, 1, 2, 3), 2)
    assert one.memory.total_bytes == 2 * 8 * 2**30
    assert {core.numa_node for core in one.cpu.cores} == {0, 1}
    node = next(peak for peak in one.peaks if peak.scope == "node")
    assert node.value == 4e10 and node.basis == "2 hosts x 2 cores"
    assert all(peak.unit != "s" for peak in one.peaks), "a latency does not add up over hosts"


def test_one_host_as_one_is_itself() -> None:
    assert span([host(name="a", peaks=PEAKS)], "a") == host(name="a", peaks=PEAKS)


def test_hosts_that_differ_say_so_in_the_basis() -> None:
    slow = tuple(msgspec.structs.replace(peak, value=peak.value / 2) for peak in PEAKS)
    one = span([host(name="a", peaks=PEAKS), host(name="b", peaks=slow)], "a,b")
    values = {peak.scope: peak for peak in one.peaks}
    assert values["node"].value == 3e10 and "sum over 2 hosts" in values["node"].basis
    assert values["core"].value == 0.5e10, "a core of a job is the slowest host's"


def test_what_only_some_hosts_have_is_not_the_jobs() -> None:
    assert span([host(software=(OPEN_MPI,)), host(name="b")], "x").software == ()


# --------------------------------------------------------------------------------------------------------------- plan


def test_where_runs_go() -> None:
    found = made(
        machine(4), '[[run]]\nworkload = "empty"\nnodes = [1, 2, 4, "all"]\n[[run]]\nworkload = "empty"\nnodes = "each"'
    )
    assert [(run.nodes, run.each) for run in found.runs] == [(1, False), (2, False), (4, False), (0, True)]
    assert len({run.id for run in found.runs}) == 4
    assert [run.label.split(" ", 1)[1] for run in found.runs] == [
        "over 1 host",
        "over 2 hosts",
        "over 4 hosts",
        "on each host",
    ]


def test_a_run_that_asks_nothing_has_the_id_it_always_had() -> None:
    entry = '[[run]]\nworkload = "empty"'
    params = workloads.check_params(workloads.get("empty"), {})
    assert (
        made(machine(4), entry).runs[0].id
        == made(machine(1), entry).runs[0].id
        == plan.content_hash("empty", params, "")
    )


def test_more_hosts_than_there_are_is_skipped_with_the_way_to_get_them() -> None:
    found = made(machine(2), '[[run]]\nworkload = "empty"\n[[run]]\nworkload = "empty"\nnodes = 4')
    assert len(found.runs) == 1
    assert "over 4 hosts was requested, and there are 2" in found.skipped[0].why and "--nodes 4" in found.skipped[0].why


def test_of_a_list_what_is_possible_is_done() -> None:
    found = made(machine(2), '[[run]]\nworkload = "empty"\nnodes = [1, 2, 4]')
    assert [run.nodes for run in found.runs] == [1, 2]
    assert [one.what for one in found.skipped] == ["empty"]
    with pytest.raises(Unavailable, match="over 4 hosts"):
        made(machine(2), '[[run]]\nworkload = "empty"\nnodes = [1, 2, 4]\noptional = false')


@pytest.mark.parametrize("word", ['"every"', "0", '["each", 2]', "[0]"])
def test_words_that_are_no_place_are_refused(word: str) -> None:
    with pytest.raises(BadInput, match="neither a number of hosts nor 'each' or 'all'"):
        made(machine(2), f'[[run]]\nworkload = "empty"\nnodes = {word}')


# ------------------------------------------------------------------------------------------------------ which host, proof


@pytest.mark.parametrize(
    ("hosts", "environment", "name", "found"),
    [
        (("n1", "n2"), {"SLURMD_NODENAME": "n2"}, "other", "n2"),
        (("n1", "n2"), {}, "n1.cluster.example", "n1"),
        (("n1.cluster.example", "n2.cluster.example"), {}, "n2", "n2.cluster.example"),
    ],
)
def test_which_host_this_is(hosts: tuple[str, ...], environment: dict[str, str], name: str, found: str) -> None:
    assert agent.me(hosts, environment, name) == found


def test_a_host_that_is_not_of_the_allocation_is_said() -> None:
    with pytest.raises(CannotMeasure, match="login, is none of the allocation's: n1, n2"):
        agent.me(("n1", "n2"), {}, "login")


def job(*hosts: str) -> Job:
    return Job(run="r", repeat=1, argv=(), hosts=hosts)


def test_a_job_must_have_seen_its_ranks_and_its_hosts() -> None:
    both = {"world_size": 4, "hosts": ["n1", "n2.cluster.example"]}
    assert alone(job("n1", "n2"), both, 4) == ""
    assert "saw 1 on 1 (n1)" in alone(job("n1", "n2"), {"world_size": 1, "hosts": ["n1"]}, 4)
    assert "saw 4 on 1" in alone(job("n1", "n2"), {"ranks": 4, "hosts": ["n1"]}, 4)
    assert "saw 2 on 2" in alone(job("n1", "n2"), {"ranks": [{}, {}], "hosts": ["n1", "n2"]}, 4)
    assert "does not say" in alone(job("n1", "n2"), {"isa": "avx2"}, 4)
    assert alone(job(), {"world_size": 1}, 4) == "", "a job on one host is not asked"


# --------------------------------------------------------------------------------------------------------- side by side


def directory(path: Path, found: Machine, text: str) -> run_directory.RunDirectory:
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="t", created_ns=1, version="test", host="node1"
    )
    return run_directory.RunDirectory.create(
        path, manifest=manifest, campaign_toml=text, machine=found, plan=made(found, text)
    )


def on_each(monkeypatch: pytest.MonkeyPatch, *, deaf: str = "") -> list[tuple[str, ...]]:
    """What reaches every host ends up on this machine; on ``deaf`` there is no relay. Returns who was reached, and when."""
    asked: list[tuple[str, ...]] = []

    def reach(argv: Callable[[tuple[str, ...]], tuple[str, ...]], *given: Any) -> list[launchers.Reached]:
        asked.append(tuple(given[2]))
        ssh = launchers.get("ssh")
        return [launchers.Reached((name,), ("true",) if name == deaf else argv((name,)), {}, ssh) for name in asked[-1]]

    monkeypatch.setattr(launchers, "reach", reach)
    return asked


@pytest.fixture(autouse=True)
def no_relays_stay() -> Iterator[None]:
    yield
    client.close()


def test_copies_run_on_every_host_and_each_leaves_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = on_each(monkeypatch)
    found = machine(3)
    opened = directory(
        tmp_path / "run", found, '[[run]]\nworkload = "empty"\nnodes = "each"\nrepeat = { min = 2, max = 2 }'
    )
    allocation = Allocation(engine="test", job="1", hosts=("node1", "node2", "node3"))
    records = loop.execute(opened, opened.plan(), found, LocalHost(), allocation=allocation)
    assert [(one.host, one.repeat, one.state) for one in records] == [
        (name, repeat, "ok") for repeat in (1, 2) for name in allocation.hosts
    ]
    assert asked == [allocation.hosts], "relays are started once"
    run = opened.plan().runs[0]
    assert (opened.path / "runs" / run.id / "1@node2" / "measurement.json").exists()
    assert {(one.host, one.repeat) for one in opened.load().measurements} == {(one.host, one.repeat) for one in records}


def test_a_host_that_does_not_answer_has_no_result_and_the_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_each(monkeypatch, deaf="node2")
    found = machine(2)
    opened = directory(tmp_path / "run", found, '[[run]]\nworkload = "empty"\nnodes = "each"')
    allocation = Allocation(engine="test", job="1", hosts=("node1", "node2"))
    records = loop.execute(opened, opened.plan(), found, LocalHost(), allocation=allocation)
    assert {one.host: one.state for one in records} == {"node1": "ok", "node2": "failed"}
    assert "node2 left no result" in next(one.reason for one in records if one.host == "node2")


def test_another_allocation_goes_on_with_the_hosts_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = on_each(monkeypatch)
    found = machine(3)
    opened = directory(tmp_path / "run", found, '[[run]]\nworkload = "empty"\nnodes = "each"')
    loop.execute(
        opened, opened.plan(), found, LocalHost(), allocation=Allocation(engine="t", job="1", hosts=("node1", "node2"))
    )
    loop.execute(
        opened, opened.plan(), found, LocalHost(), allocation=Allocation(engine="t", job="2", hosts=("node2", "node3"))
    )
    assert asked == [("node1", "node2"), ("node3",)]


def test_hosts_tell_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_each(monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "")
    allocation = Allocation(engine="test", job="1", hosts=("node1",))
    (found,) = fanout.machines(tmp_path, host(name="node1.cluster.example"), allocation)
    assert found.name == "node1"
    assert [one.name for one in run_directory.hosts_in(tmp_path)] == ["node1"]


def test_time_of_copies_counts_once() -> None:
    from shakedown.records import Measurement

    def record(name: str, end_s: float) -> Measurement:
        return Measurement(
            run="r", repeat=1, workload="empty", params={}, host=name, state="ok", begin_ns=0, end_ns=int(end_s * 1e9)
        )

    assert schedule.spent([record("a", 2), record("b", 3)]) == 3


def test_a_reason_that_several_workloads_share_stands_once() -> None:
    lacks = [
        Absent(what="gpu_copy", why="gpu_copy needs an NVIDIA GPU"),
        Absent(what="pingpong", why="no MPI"),
        Absent(what="gpu_lj", why="gpu_lj needs an NVIDIA GPU"),
        Absent(what="gpu_copy", why="gpu_copy needs an NVIDIA GPU"),
    ]
    assert plan.by_reason(lacks) == [("gpu_copy, gpu_lj", "needs an NVIDIA GPU"), ("pingpong", "no MPI")]
