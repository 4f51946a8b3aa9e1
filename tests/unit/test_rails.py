"""Networks of a node: which there are, what an MPI is told of them, and each alone beside all together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.analysis import rails as judging
from shakedown.errors import BadInput, Unavailable
from shakedown.machine.mpi import CRAY, INTEL, MPICH, MVAPICH, MVAPICH2, OPEN_MPI
from shakedown.machine.span import span
from shakedown.records import Finding, Host, Machine, Network, Value
from shakedown.workloads import multi_pair
from shakedown.workloads.common import rails
from support.machines import OPEN_MPI as SOFTWARE
from support.machines import host, machine
from support.workloads import installed, options

WORKLOAD = multi_pair.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "multi_pair")


def network(name: str, kind: str = "ethernet", state: str = "up") -> Network:
    return Network(name=name, kind=kind, state=state)


def with_networks(*networks: Network, count: int = 2) -> Host:
    return msgspec.structs.replace(host(4, software=(SOFTWARE,)), networks=networks, count=count)


ETHERNET = (network("lo", "loopback"), network("eth0"), network("eth1"), network("eth2", state="down"))
PORTS = (network("mlx5_0:1", "infiniband", "active"), network("mlx5_1:1", "infiniband", "active"))


def test_the_networks_that_are_up_are_ports_of_adapters_where_there_are_some() -> None:
    assert rails.found(with_networks(*ETHERNET)) == ("eth0", "eth1")
    assert rails.found(with_networks(*ETHERNET, *PORTS)) == ("mlx5_0:1", "mlx5_1:1")
    down = msgspec.structs.replace(PORTS[1], state="down")
    assert rails.found(with_networks(PORTS[0], down)) == ("mlx5_0:1",)


@pytest.mark.parametrize("text", ["eth0,mlx5_0:1", "eth0+eth1", "../eth0"])
def test_names_that_cannot_be_compared_are_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        rails.named(text, with_networks(*ETHERNET), "multi_pair.rails")
    assert caught.value.hint


def test_of_one_network_there_is_nothing_to_compare() -> None:
    with pytest.raises(Unavailable, match="has one network that is up: eth0"):
        rails.named("auto", with_networks(network("eth0")), "multi_pair.rails")
    with pytest.raises(Unavailable, match="has no network that is up"):
        rails.named("auto", with_networks(), "multi_pair.rails")


def test_of_several_hosts_those_count_that_all_have_by_one_name_and_in_one_state() -> None:
    def named_host(name: str, *networks: Network) -> Host:
        return msgspec.structs.replace(with_networks(*networks, count=1), name=name)

    first = named_host("n1", *ETHERNET)
    whole = span((first, named_host("n2", *ETHERNET)), "n[1-2]")
    assert rails.named("auto", whole, "w") == ("eth0", "eth1")
    three = (*ETHERNET[:3], network("eth3"))
    down = named_host("n2", *ETHERNET[:2], network("eth1", state="down"), network("eth3"))
    assert rails.named("auto", span((named_host("n1", *three), down), "n[1-2]"), "w") == ("eth0", "eth3"), (
        "the rest goes on"
    )
    others = named_host("n2", network("eth0"), network("ens3"))
    with pytest.raises(
        Unavailable, match="has one network that is up: eth0; eth1 is up on the first host, and n2 has none"
    ):
        rails.named("auto", span((first, others), "n[1-2]"), "w")
    with pytest.raises(Unavailable, match="eth1 is up on the first host, and down on n2"):
        rails.named("auto", span((first, down), "n[1-2]"), "w")


@pytest.mark.parametrize("mpi", [OPEN_MPI, MPICH, INTEL, MVAPICH, MVAPICH2, CRAY])
@pytest.mark.parametrize("names", [("eth0",), ("eth0", "eth1"), ("mlx5_0:1",), ("mlx5_0:1", "mlx5_1:1"), ("hfi1_0:1",)])
def test_every_mpi_is_told_all_names_and_no_other(mpi: str, names: tuple[str, ...]) -> None:
    told = rails.environment(mpi, names)
    text = " ".join(told.values())
    for name in names:
        device = name.partition(":")[0]
        assert device in text or device.rpartition("_")[2] in text.split(), (mpi, told)
    assert "eth1" not in text or "eth1" in names
    assert all(isinstance(value, str) for value in told.values())


def resolve(found: Host, **given: Value) -> list[tuple[str, str]]:
    made = Machine(hosts=(found,), discovered_ns=1, version="t")
    params = {name: param.default for name, param in WORKLOAD.params.items()} | given
    return [(str(one["rails"]), str(one["rail"])) for one in WORKLOAD.resolve(params, made)]


def test_each_network_is_a_run_of_its_own_and_all_together_the_last() -> None:
    two = with_networks(*ETHERNET)
    assert resolve(two, ranks="hosts", rails="auto") == [
        ("eth0,eth1", "eth0"), ("eth0,eth1", "eth1"), ("eth0,eth1", "eth0+eth1"),
    ]  # fmt: skip
    assert resolve(two, ranks="hosts", rails="eth0,eth1", rail="eth1") == [("eth0,eth1", "eth1")]
    assert resolve(two, ranks="hosts") == [("", "")]
    with pytest.raises(Unavailable, match="networks between hosts, and there is one host"):
        resolve(with_networks(*ETHERNET, count=1), rails="eth0,eth1")


def test_the_program_counts_all_networks_and_the_mpi_is_told_of_one() -> None:
    here = machine(4, software=(SOFTWARE,)).hosts[0]
    params = {name: param.default for name, param in WORKLOAD.params.items()}
    params |= {"ranks": 2, "rails": "eth0,eth1", "rail": "eth1"}
    command = WORKLOAD.command(params, here)
    told = options(list(command.argv))
    assert (told["--rails"], told["--rail"]) == ("eth0,eth1", "eth1")
    assert command.env["OMPI_MCA_btl_tcp_if_include"] == "eth1"
    assert WORKLOAD.label and WORKLOAD.label(params).endswith(", by eth1")
    assert "--rail" not in WORKLOAD.command({**params, "rail": "", "rails": ""}, here).argv


def finding(rail: str, value: float, spread: float = 0.01, **params: Value) -> Finding:
    return Finding(
        metric="multi_pair.bandwidth",
        unit="B/s",
        better="higher",
        workload="multi_pair",
        params={"bytes": 2**20, **({"rail": rail} if rail else {}), **params},
        host="n[1-2]",
        value=value,
        low=value * (1 - spread),
        high=value * (1 + spread),
    )


def test_together_stands_beside_the_sum_and_a_slow_network_is_named() -> None:
    whole = [finding("a", 1e9), finding("b", 5e8), finding("a+b", 9e8), finding("", 1e9), finding("a", 7.0, bytes=8)]
    a, b, both, bare, small = judging.judged(whole)
    assert (a, bare, small) == (whole[0], whole[3], whole[4]), "the fastest, one without networks, one alone"
    assert [one.code for one in b.notices] == [judging.SLOW]
    assert "network b alone reaches 50 % of a" in b.notices[0].text
    (fraction,) = both.fractions
    assert fraction.value == 1.5e9 and fraction.fraction == pytest.approx(0.6) and fraction.kind == "measured"
    assert [one.code for one in both.notices] == [judging.TOGETHER_SLOWER]
    assert "a+b together carry 90 % of what a does alone" in both.notices[0].text


def test_what_scatter_explains_is_not_named_and_a_sum_without_a_part_is_none() -> None:
    a, b, both = judging.judged([finding("a", 1e9, 0.2), finding("b", 8.5e8, 0.2), finding("a+b", 1.8e9)])
    assert not a.notices and not b.notices and not both.notices and both.fractions[0].fraction < 1
    _, alone = judging.judged([finding("a", 1e9), finding("a+b", 9e8)])
    assert not alone.fractions and not alone.notices, "b was not measured: it is down"
