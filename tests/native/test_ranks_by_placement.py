"""Operations and pairs by what their ranks share, over two hosts that are namespaces of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shakedown.machine.mpi import OPEN_MPI
from shakedown.programs import events
from shakedown.workloads import multi_pair
from shakedown.workloads.common import rails
from support.natives import run_ranks
from support.two_networks import TwoHosts, two_hosts

# Both ranks of a host are on its one processor, which others want, too: who waits gives way, and a case may take minutes.
SHORT = ("--sizes", "64,4096", "--samples", "4", "--budget-s", "0.1", "--allow-oversubscribe", "--silent-s", "280")
ENV = {**rails.environment(OPEN_MPI, ("rail0",)), "OMPI_MCA_mpi_yield_when_idle": "1"}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    with two_hosts(tmp_path_factory.mktemp("hosts"), "1gbit") as made:
        yield made


def test_an_operation_is_measured_on_each_set_of_ranks_that_share_something(hosts: TwoHosts) -> None:
    words = (
        "--operations",
        "alltoall,bcast",
        "--placements",
        "cache,socket,hosts",
        "--no-mock-ups",
        "--no-point-to-point",
    )
    ended = hosts.run("collectives", *SHORT, *words, env=ENV, each=2)
    found = events.parse(ended.out)
    assert ended.code == 0 and found.ended, ended.err
    cases = [case for case in found.cases if case.kernel in ("alltoall", "bcast")]
    # Both ranks of a host are on its one CPU, which is one cache; no group shares a socket and no cache.
    placed = {(case.params["placement"], case.params["ranks"], case.params["nodes"]) for case in cases}
    assert placed == {("cache", 2, 1), ("hosts", 4, 2)} and len(cases) == 8
    assert all(case.residual is not None and case.residual.passed for case in cases)
    assert [one.code for one in found.notices if one.code == "placement-left-out"] == ["placement-left-out"]


def test_a_pair_inside_a_node_stands_over_one_outside_it(hosts: TwoHosts) -> None:
    words = (
        "--kernels",
        "latency,bandwidth",
        "--placements",
        "cache,hosts",
        "--pairs",
        "1",
        "--window",
        "4",
        "--sample-us",
        "1",
    )
    ended = hosts.run("multi_pair", *SHORT, *words, env=ENV, each=2)
    found = events.parse(ended.out)
    assert ended.code == 0 and found.ended, ended.err
    assert multi_pair.WORKLOAD.totals is not None
    ratios, said = multi_pair.WORKLOAD.totals(found.cases)
    assert not said
    told = {(case.kernel, case.params["case"], case.params["bytes"], case.params["inside"]) for case in ratios}
    assert told == {
        (kernel, words, size, "cache")
        for kernel, words in (
            ("latency_ratio", "outside a node over inside it"),
            ("bandwidth_ratio", "inside a node over outside it"),
        )
        for size in (64, 4096)
    }
    assert all(case.work["ratio"] > 0 and not case.seconds for case in ratios)


def test_without_two_hosts_there_is_no_ratio_and_the_set_of_all_is_measured_once() -> None:
    words = ("--operations", "bcast", "--placements", "cache,hosts", "--no-mock-ups", "--no-point-to-point")
    code, found, err = run_ranks("collectives", 2, *SHORT, *words).told()
    assert code == 0, err
    assert {case.params["ranks"] for case in found.cases if case.kernel == "bcast"} == {2}
    assert "hosts" not in {case.params["placement"] for case in found.cases if case.kernel == "bcast"}
    assert any(one.code == "placement-left-out" and one.text.endswith(": hosts") for one in found.notices)
