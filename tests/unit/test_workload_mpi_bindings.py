"""MPI bindings: what a program printed is judged, where its ranks were is proven, and which MPI and wrapper are taken."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.functional_tests import mpi_bindings as bindings
from shakedown.programs import events
from shakedown.records import Host, Params, Software, Value
from shakedown.workloads import mpi_bindings as workload
from support.machines import OPEN_MPI, host, machine

WORKLOAD = workload.WORKLOAD
MPICH = Software(kind="mpi", name="MPICH", version="4.0.2", path="/opt/mpich/bin/mpirun", facts={"source": "site"})
WHEEL = Software(kind="mpi", name="Open MPI", version="5.0.8", path="/venv/bin/mpirun", facts={"source": "wheel"})
C = bindings.BINDINGS[0]


def printed(
    *, worlds: tuple[int, ...] = (4,), hosts: str = "node1 node1 node2 node2", **failed: int
) -> bindings.Printed:
    lines = [f"world {number}" for number in worlds]
    lines += [f"rank {rank} {name}" for rank, name in enumerate(hosts.split())]
    lines += [f"check {name} {failed.get(name, 0)}" for name in C.checks]
    lines += ["fact library Open MPI v4.1.4, x", "[node1:17] a warning of a library", *(["done"] * len(worlds))]
    return bindings.parse("\n".join(lines))


def test_a_program_that_is_right_everywhere_is_right() -> None:
    got = printed()
    assert bindings.judge(C, got, 4, ("node1", "node2")) == ()
    assert got.facts == {"library": "Open MPI v4.1.4, x"}
    assert bindings.judge(C, printed(hosts="node1.site.org " * 4), 4, ()) == ()
    assert bindings.judge(C, printed(hosts="node1.site.org " * 4), 4, ("node1",)) == ()


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (printed(worlds=(1, 1, 1, 1)), "4 worlds of 1 ranks were started, not one of 4"),
        (printed(worlds=(3,), hosts="node1 node1 node2"), "the world has 3 ranks, not 4"),
        (printed(worlds=()), "the world has no ranks, not 4"),
        (printed(hosts="node1 node1 node1 node1"), "no rank ran on node2"),
        (printed(hosts="node1 node1 node2 node3"), "ranks ran on node3"),
        (printed(hosts="node1 node1 node1 node2"), "not spread evenly: 3 on node1, 1 on node2"),
        (printed(hosts="node1 node2"), "the hosts of 2 of 4 ranks were reported"),
        (printed(put_get=2), "put_get failed on 2 of 4 ranks"),
        (bindings.parse("world 4\nrank 0 a"), "send_receive was not reached"),
    ],
)
def test_what_is_wrong_is_named(got: bindings.Printed, words: str) -> None:
    assert any(words in text for text in bindings.judge(C, got, 4, ("node1", "node2"))), got


def test_what_the_mpi_refuses_is_wrong_only_where_it_is_required() -> None:
    text = "world 4\n" + "".join(f"rank {rank} node1\n" for rank in range(4))
    text += "".join(f"check {name} 0\n" for name in C.checks if name not in ("put_get", "fetch_and_op"))
    text += "absent put_get MPI_ERR_WIN: invalid window\nabsent fetch_and_op MPI_ERR_WIN: invalid window\ndone\n"
    got = bindings.parse(text)
    assert bindings.judge(C, got, 4, ()) == () and bindings.judge(C, got, 4, (), ("file",)) == ()
    wrong = bindings.judge(C, got, 4, (), ("one-sided",))
    assert wrong[0] == "put_get was refused: MPI_ERR_WIN: invalid window" and len(wrong) == 2
    assert set(bindings.FEATURES.values()) == set(workload.TABLE.params["require"].items)
    with pytest.raises(BadInput):
        resolve(OPEN_MPI, require="onesided")


def test_a_program_that_was_cut_short_is_wrong() -> None:
    got = printed()._replace(done=0)
    assert bindings.judge(C, got, 4, ()) == ("the program did not come to its end",)


def resolve(*software: Software, **given: Value) -> tuple[Params, ...]:
    return WORKLOAD.resolve(workloads.check_params(WORKLOAD, given), machine(2, software=software))


def test_the_first_mpi_of_the_site_is_taken_or_all_or_one_by_name() -> None:
    assert [one["mpi"] for one in resolve(WHEEL, OPEN_MPI, MPICH)] == [OPEN_MPI.path]
    assert [one["mpi"] for one in resolve(WHEEL, OPEN_MPI, MPICH, mpi="all")] == [OPEN_MPI.path, MPICH.path, WHEEL.path]
    (named,) = resolve(OPEN_MPI, MPICH, mpi="MPICH", languages="c, fortran")
    assert (named["mpi"], named["label"], named["languages"]) == (MPICH.path, "MPICH 4.0.2", "c,fortran")
    assert resolve(mpi="MPICH", modules="mpich/4")[0]["mpi"] == "MPICH", "what a module brings is found later"


@pytest.mark.parametrize("given", [{"mpi": "MPICK"}, {"languages": "c,fortan"}, {"languages": ""}, {"ranks": 1}])
def test_what_is_not_known_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(OPEN_MPI, MPICH, **given)
    assert caught.value.hint


def test_without_an_mpi_it_is_unavailable() -> None:
    with pytest.raises(Unavailable) as caught:
        resolve()
    assert "libopenmpi-dev" in caught.value.hint


def test_the_host_travels_with_the_run() -> None:
    (params,) = resolve(OPEN_MPI)
    command = WORKLOAD.command(params, host(2, software=(OPEN_MPI,)))
    assert command.ranks == 0, "the demonstration starts each binding itself"
    assert msgspec.json.decode(command.files["host.json"], type=Host) == host(2, software=(OPEN_MPI,))


def test_wrappers_are_those_beside_the_launcher_with_its_suffix(tmp_path: Path) -> None:
    for name in ("mpicc", "mpicc.mpich", "mpifort.mpich", "mpiicx"):
        (tmp_path / name).touch(0o755)

    def of(name: str, launcher: str, language: str) -> str:
        mpi = Software(kind="mpi", name=name, path=str(tmp_path / launcher))
        return Path(bindings.wrapper(mpi, language)).name

    assert of("MPICH", "mpirun.mpich", "c") == "mpicc.mpich"
    assert of("MPICH", "mpirun.mpich", "fortran") == "mpifort.mpich"
    assert of("Open MPI", "mpirun", "c") == "mpicc"
    assert of("Intel MPI", "mpiexec.hydra", "c") == "mpiicx"
    with pytest.raises(Unavailable) as caught:
        of("Open MPI", "mpirun", "fortran")
    assert "mpifort, mpif90" in caught.value.what and caught.value.hint


def test_ranks_are_spread_evenly_over_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bindings.schedulers, "inside", lambda environment, door: None)
    alone = bindings.site_of(host(2), OPEN_MPI, "auto")
    assert (alone.ranks, alone.hosts, alone.host.software) == (2, (), (OPEN_MPI,))
    many = msgspec.structs.replace(host(8), name="node[1-4]", count=4)
    site = bindings.site_of(many, OPEN_MPI, "auto")
    assert (site.ranks, site.hosts) == (8, ("node1", "node2", "node3", "node4"))
    for ranks in ("6", "1"):
        with pytest.raises(BadInput) as caught:
            bindings.site_of(many, OPEN_MPI, ranks)
        assert "multiple of 4" in caught.value.hint


def test_the_recorded_runs_hold_what_they_prove(recordings: Path) -> None:
    found = events.parse((recordings / "demonstrations" / "mpi_bindings-openmpi-4.jsonl").read_bytes())
    names = [case.params["binding"] for case in found.cases if case.kernel == "binding"]
    assert names == [one.name for one in bindings.BINDINGS]
    for name in names:
        facts = found.provenance["facts"][name]
        assert facts["world_size"] == len(facts["hosts"]) == 2
