"""The shmem workload: what is refused, what words become, and what is started."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import shmem
from support.machines import BUILD, OPEN_MPI, host, machine
from support.workloads import installed, options

WORKLOAD = shmem.WORKLOAD
SITE = msgspec.structs.replace(OPEN_MPI, facts={**OPEN_MPI.facts, "source": "site"})
OTHER = msgspec.structs.replace(SITE, name="MPICH", version="4.0.2")


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build = {**BUILD, "openshmem": {"version": "1.4", "flavour": "Open MPI", "wrapper": "/usr/bin/oshc++"}}
    return installed(tmp_path, monkeypatch, "shmem", build=build)


def resolve_on(found: Machine, **given: Value) -> tuple[Params, ...]:
    return WORKLOAD.resolve(workloads.check_params(WORKLOAD, given), found)


def resolve(**given: Value) -> tuple[Params, ...]:
    return resolve_on(machine(4, software=(SITE,)), **given)


def test_each_operation_is_a_run_and_each_word_of_atomic_ones() -> None:
    runs = resolve()
    told = [(params["operations"], params["atomic_bytes"], params["ranks"]) for params in runs]
    assert told[:4] == [("put", "4,8", 2), ("get", "4,8", 2), ("fetch_add", "4", 2), ("fetch_add", "8", 2)]
    assert len(told) == 2 + 2 * len(shmem.ATOMIC) + len(shmem.OF_ALL)
    assert {pes for name, _, pes in told if name in shmem.OF_ALL} == {4}
    labels = [WORKLOAD.label(params) for params in runs if WORKLOAD.label]
    assert "shmem put, 8 B to 1 MiB" in labels and "shmem barrier, 4 PEs" in labels and len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"operations": "putt"}, "putt"),
        ({"operations": "put", "ranks": 3}, "between two PEs"),
        ({"operations": "barrier", "ranks": 9}, "each PE needs its own"),
        ({"operations": "sum", "sizes": "12"}, "64-bit words"),
        ({"atomic_bytes": "16"}, "16"),
        ({"operations": "barrier", "ranks": 1}, "ranks"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value], said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        resolve(**given)
    assert caught.value.hint


def test_between_hosts_there_must_be_two_and_no_operation_of_all() -> None:
    two = msgspec.structs.replace(host(1, software=(SITE,)), count=2)
    several = msgspec.structs.replace(machine(1), hosts=(two,))
    assert [params["ranks"] for params in resolve_on(several, operations="put,get", ranks="hosts")] == [2, 2]
    with pytest.raises(Unavailable, match="needs two, and there is one"):
        resolve(operations="put", ranks="hosts")
    with pytest.raises(BadInput, match="share no clock"):
        resolve_on(several, operations="barrier", ranks="hosts")


def test_a_launcher_of_another_library_is_refused() -> None:
    with pytest.raises(
        Unavailable, match=r"built with Open MPI's OpenSHMEM, and the site's first MPI is MPICH 4\.0\.2"
    ):
        resolve_on(machine(4, software=(OTHER, SITE)))
    with pytest.raises(Unavailable, match="no MPI of the site"):
        resolve_on(machine(4))


def test_without_the_program_what_would_bring_it_is_said(built: Path) -> None:
    (built / "shmem").unlink()
    (built / "build.json").write_bytes(
        msgspec.json.encode({"shmem_absent": "no OpenSHMEM 1.4: install libopenmpi-dev"})
    )
    with pytest.raises(Unavailable) as caught:
        resolve()
    assert "'shmem' was not built" in caught.value.what and "libopenmpi-dev" in caught.value.hint


def test_the_command_line_says_all_that_was_resolved(built: Path) -> None:
    (params,) = resolve(operations="compare_swap", atomic_bytes="4")
    command = WORKLOAD.command(params, host(4, software=(SITE,)))
    assert command.ranks == 2 and command.site_mpi and command.argv[0] == str(built / "shmem")
    told = options(command.argv)
    assert (told["--operations"], told["--atomic-bytes"], told["--world-size"]) == ("compare_swap", "4", "2")
    assert 0 < WORKLOAD.estimate_s(params, host(4)) < 60
