"""multi_pair over two networks between two hosts: which of them carried it is counted; one that is slow, down or unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from shakedown.machine.mpi import OPEN_MPI
from shakedown.programs import events
from shakedown.records import Case
from shakedown.workloads.common import rails
from support.natives import Ended
from support.two_networks import RAILS, TwoHosts, two_hosts

SHORT = ("--placements", "hosts", "--kernels", "bandwidth", "--sizes", "65536", "--window", "4", "--samples", "4")
FAST_BYTES_S, SLOW_BYTES_S = 100e6 / 8, 20e6 / 8


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    with two_hosts(tmp_path_factory.mktemp("hosts")) as made:
        made.limit("rail1", "20mbit")
        yield made


def run(hosts: TwoHosts, rail: str, told: str = "", env: Mapping[str, str] | None = None) -> Ended:
    """By a network, which the MPI is told, or another that it is told."""
    chosen = tuple((told or rail).split("+"))
    words = ("--budget-s", "0.1", "--rails", ",".join(RAILS), "--rail", rail.replace("+", ","))
    return hosts.run("multi_pair", *SHORT, *words, env={**rails.environment(OPEN_MPI, chosen), **(env or {})})


def whole(ended: Ended) -> tuple[Case, dict[str, float], set[str]]:
    """The bandwidth, the share of each network, and the notices."""
    found = events.parse(ended.out)
    assert ended.code == 0 and found.ended, ended.err
    shares = {str(case.params["network"]): case.work["share"] for case in found.cases if case.kernel == "rail"}
    (bandwidth,) = (case for case in found.cases if case.kernel == "bandwidth")
    assert bandwidth.params["link"] == "network" and bandwidth.params["nodes"] == 2
    return bandwidth, shares, {one.code for one in found.notices}


@pytest.mark.parametrize(("rail", "most"), [("rail0", FAST_BYTES_S), ("rail1", SLOW_BYTES_S)])
def test_a_network_alone_carries_all_and_no_more_than_it_can(hosts: TwoHosts, rail: str, most: float) -> None:
    bandwidth, shares, _ = whole(run(hosts, rail))
    assert shares[rail] > 0.9
    assert all(bandwidth.work["bytes"] / seconds < 1.1 * most for seconds in bandwidth.seconds)


def test_both_together_carry_a_part_each(hosts: TwoHosts) -> None:
    bandwidth, shares, notices = whole(run(hosts, "rail0+rail1"))
    assert min(shares.values()) > 0.05 and sum(shares.values()) == pytest.approx(1)
    assert "network-not-used" not in notices
    assert all(bandwidth.work["bytes"] / seconds < 1.1 * (FAST_BYTES_S + SLOW_BYTES_S) for seconds in bandwidth.seconds)


def test_another_network_than_was_chosen_is_no_result(hosts: TwoHosts) -> None:
    ended = run(hosts, "rail1", told="rail0")
    assert ended.code == 1
    (text,) = [one.text for one in events.parse(ended.out).notices if one.code == "network-not-used"]
    assert "of the bytes went by another network than was chosen (rail0 carried" in text


def test_a_network_that_is_down_or_unknown_is_named_and_the_other_goes_on(hosts: TwoHosts) -> None:
    second = list(hosts.pids)[1]
    hosts.do(second, "ip", "link", "set", "rail1", "down")
    try:
        ended = run(hosts, "rail1")
        assert ended.code == 3 and not events.parse(ended.out).cases
        assert f'network rail1 of {second} is not up, but "down"' in ended.err
        assert whole(run(hosts, "rail0"))[1]["rail0"] > 0.9
    finally:
        hosts.do(second, "ip", "link", "set", "rail1", "up")
    words = ("--rails", "rail0,rail9", "--rail", "rail9")
    ended = hosts.run("multi_pair", *SHORT, *words, env=rails.environment(OPEN_MPI, ("rail9",)))
    assert ended.code == 3
    assert "has no network rail9; it has mgmt, rail0, rail1" in ended.err
