"""The multicast workload: what is refused, what words become, what is started, and what its cases say."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.launchers import wrap
from shakedown.programs import events
from shakedown.records import Job, Machine, Params, Run, Value
from shakedown.results import outcome
from shakedown.workloads import multicast
from support.machines import OPEN_MPI, host, machine, over_hosts
from support.workloads import installed, options, params_of

WORKLOAD = multicast.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "multicast")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), given)


def hosts(count: int) -> Machine:
    return over_hosts(count, software=(OPEN_MPI,))


def test_one_rank_a_host_and_groups_that_double() -> None:
    params = resolve(hosts(11))
    assert params["ranks"] == 11 and multicast.sizes(params) == (2, 4, 8, 11)
    assert multicast.sizes(resolve(hosts(8))) == (2, 4, 8)
    assert multicast.sizes(resolve(hosts(2))) == (2,)


@pytest.mark.parametrize(("cores", "ranks"), [(1, 2), (2, 2), (3, 3), (4, 4), (96, 4)])
def test_on_one_host_a_few_ranks(cores: int, ranks: int) -> None:
    assert resolve(machine(cores, software=(OPEN_MPI,)))["ranks"] == ranks


@pytest.mark.parametrize(
    "given",
    [
        {"ranks": 1},
        {"ranks": "all"},
        {"sizes": "1"},
        {"sizes": "2,5"},
        {"sizes": "two"},
        {"sizes": ""},
        {"pattern": "one-to-one"},
        {"pattern": ""},
        {"family": "ipv5"},
        {"kernels": "latencies"},
        {"payload": 47},
        {"payload": 65508},
        {"rate": -1.0},
        {"seconds": 0.0},
        {"ttl": 256},
        {"groups": 0},
        {"port": 65536},
        {"wait": "poll"},
        {"latency": "both"},
        {"interface": "10.0.0.0/33"},
        {"interface": "10.0.0.0/24", "family": "ipv6"},
        {"interface": "fd77::/64", "family": "ipv4,ipv6"},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_without_mpi_it_says_what_to_install() -> None:
    with pytest.raises(Unavailable) as caught:
        resolve(machine(4))
    assert caught.value.hint


def test_the_command_line_says_all_that_was_resolved(built: Path) -> None:
    params = resolve(
        ranks=3, family="ipv6", pattern="many-to-many", interface="fd77::/64", rate=2500.0, group="ff15::7", port=7000
    )
    here = host(4, software=(OPEN_MPI,))
    command = WORKLOAD.command(params, here)
    said = options(command.argv)
    assert command.ranks == 3 and command.argv[0] == str(built / "multicast")
    assert said["--sizes"] == "2,3" and said["--families"] == "ipv6" and said["--patterns"] == "many-to-many"
    assert float(said["--rate"]) == 2500 and said["--interface"] == "fd77::/64"
    assert said["--group"] == "ff15::7" and said["--port"] == "7000"
    assert "--group" not in WORKLOAD.command(resolve(), here).argv
    argv, _ = wrap(command, here, root=False)
    assert argv[0] == OPEN_MPI.path


def test_the_estimate_grows_with_what_is_asked_for() -> None:
    here = host(4)
    default = WORKLOAD.estimate_s(resolve(), here)
    assert 5 < default < 200
    assert WORKLOAD.estimate_s(resolve(kernels="rate"), here) < default
    assert WORKLOAD.estimate_s(resolve(family="ipv4,ipv6"), here) > 1.8 * default
    assert WORKLOAD.estimate_s(resolve(hosts(64)), here) > 2 * default


def test_the_label_names_patterns_families_and_groups() -> None:
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve(family="ipv4,ipv6")) == (
        "multicast one-to-many, many-to-many, IPv4 and IPv6, 2 to 4 ranks, 1024 B packets"
    )


@pytest.mark.parametrize("name", ["one-host", "4-hosts-loss"])
def test_cases_agree_with_their_own_words(name: str, recordings: Path) -> None:
    found = events.parse((recordings / "native" / f"multicast-{name}.jsonl").read_bytes())
    facts = found.provenance["facts"]
    assert facts["world_size"] == len(facts["ranks"]) == len(facts["networks"][0]["by_rank"])
    for case in found.cases:
        assert case.params["receivers"] == int(case.params["ranks"]) - 1
        if case.kernel == "reach":
            ranks = int(case.params["ranks"])
            assert case.work["pairs"] == (
                ranks * (ranks - 1) if case.params["pattern"] == "many-to-many" else ranks - 1
            )
        if case.kernel == "loss":
            lost, of = case.work["lost"], case.work["expected"]
            assert case.work["loss"] == pytest.approx(lost / of)
            parts = sum(case.work[f"loss_{part}"] for part in ("receivers", "senders", "network"))
            assert parts == pytest.approx(case.work["loss"]), "every loss has a place"
            assert case.work["loss"] <= case.work["loss_worst"] or lost == 0
        if case.kernel in ("rate", "lossless"):
            assert case.seconds and case.residual is not None and case.residual.passed


def test_a_pair_between_which_nothing_passes_makes_the_run_wrong(recordings: Path) -> None:
    text = (recordings / "native" / "multicast-unheard.jsonl").read_bytes()
    run = Run(id="r", workload="multicast", params=resolve(), label="", estimate_s=1, limit_s=9)
    job = Job(run="r", repeat=1, argv=("multicast",), begin_ns=1, end_ns=2, exit_code=1)
    found = outcome.measurement(run, job, text, b"")
    assert found.state == "wrong" and "between which nothing passed" in found.reason
    assert any(one.code == "multicast-unheard" and "node3 (rank 2)" in one.text for one in found.notices)
    assert all(case.kernel == "reach" for case in found.cases), "nothing is measured where nothing passes"
