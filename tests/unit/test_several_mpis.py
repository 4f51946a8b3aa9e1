"""Several MPIs on one machine: which are asked for, what each is started with, and in which order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import campaign, launchers, programs, workloads
from shakedown.campaign import plan
from shakedown.cli import _chosen
from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import ReplayHost
from shakedown.launchers import Command, _linked
from shakedown.machine import mpi
from shakedown.records import Run, Software
from shakedown.run import schedule
from support.machines import host, machine

OPEN_MPI = Software(
    kind="mpi",
    name=mpi.OPEN_MPI,
    version="4.1.4",
    path="/usr/bin/mpirun",
    facts={"source": "site", "mpicxx": "/usr/bin/mpicxx", "libraries": "/usr/lib/x86_64-linux-gnu"},
)
NEWER = Software(
    kind="mpi",
    name=mpi.OPEN_MPI,
    version="5.0.11",
    path="/opt/ompi5/bin/mpirun",
    facts={"source": "wheel", "libraries": "/opt/ompi5/lib"},
)
MPICH = Software(
    kind="mpi",
    name=mpi.MPICH,
    version="4.0.2",
    path="/usr/bin/mpirun.mpich",
    facts={"source": "site", "mpicxx": "/usr/bin/mpicxx.mpich", "libraries": "/usr/lib/x86_64-linux-gnu"},
)
INTEL = Software(
    kind="mpi",
    name=mpi.INTEL,
    version="2021.18.1",
    path="/opt/impi/bin/mpiexec.hydra",
    facts={"source": "wheel", "libraries": "/opt/impi/lib"},
)
ALL = (OPEN_MPI, MPICH, INTEL, NEWER)
MAIN = {"flavour": mpi.OPEN_MPI, "version": "4.1.4", "source": "site", "mpicxx": "/usr/bin/mpicxx", "folder": ""}
OTHER = {
    "flavour": mpi.MPICH,
    "version": "4.0.2",
    "source": "site",
    "mpicxx": "/usr/bin/mpicxx.mpich",
    "folder": "mpich",
}
BUILT: dict[str, Any] = {"mpi": MAIN, "mpi_builds": {"open_mpi": MAIN, "mpich": OTHER}}
BUILT_ONCE: dict[str, Any] = {"mpi": MAIN, "mpi_builds": {"open_mpi": MAIN}}


# ------------------------------------------------------------------------------------------------------- which, by what name


def test_mpis_are_called_by_flavour_and_version_and_two_alike_by_their_launchers() -> None:
    twin = msgspec.structs.replace(MPICH, path="/opt/mpich/bin/mpirun")
    assert list(mpi.labels((*ALL, twin))) == [
        "Open MPI 4.1.4",
        "MPICH 4.0.2",
        "Intel MPI 2021.18.1",
        "Open MPI 5.0.11",
        "MPICH 4.0.2 (/opt/mpich/bin/mpirun)",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["all"], ["Open MPI 4.1.4", "MPICH 4.0.2", "Intel MPI 2021.18.1", "Open MPI 5.0.11"]),
        (["mpich", "openmpi"], ["MPICH 4.0.2", "Open MPI 4.1.4", "Open MPI 5.0.11"]),
        (["open-mpi 5", "INTEL"], ["Open MPI 5.0.11", "Intel MPI 2021.18.1"]),
        (["MPICH 4.0.2", "all"], ["MPICH 4.0.2", "Open MPI 4.1.4", "Intel MPI 2021.18.1", "Open MPI 5.0.11"]),
    ],
)
def test_a_name_needs_no_case_and_no_blanks_and_each_comes_once(words: list[str], expected: list[str]) -> None:
    assert list(mpi.select(list(mpi.labels(ALL)), words)) == expected


@pytest.mark.parametrize("word", ["mvapich", "", "-", "openmpi3", "Open MPI 4.1.4 x"])
def test_a_name_that_fits_none_says_which_are_here(word: str) -> None:
    with pytest.raises(BadInput, match=r"(?s)no MPI.*here are: Open MPI 4\.1\.4, MPICH 4\.0\.2.*SHAKEDOWN_MPI_PATH"):
        mpi.select(list(mpi.labels(ALL)), [word])


@pytest.mark.parametrize(
    ("label", "said", "another"),
    [
        ("Open MPI 4.1.4", "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", False),
        ("Open MPI 4.1.4", "Open MPI v5.0.11, package: x", True),
        ("MPICH 4.0.2", "MPICH Version:\t4.0.2", False),
        ("MPICH 4.0.2 (/opt/mpich/bin/mpirun)", "MPICH Version:      4.0.2", False),
        ("Intel MPI 2021.18.1", "Intel(R) MPI Library 2021.18 for Linux* OS", False),
        ("Intel MPI 2021.18.1", "MPICH Version:\t4.0.2", True),
        ("MVAPICH2 2.3.7", "MVAPICH2 Version      :\t2.3.7", False),
        ("MVAPICH 3.0", "MVAPICH Version:\t3.0", False),
        ("Cray MPICH 8.1.28", "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)", False),
        ("Open MPI 4.1.4", "a library of somebody's own", False),  # nothing is known against it
    ],
)
def test_a_library_tells_whether_it_is_another(label: str, said: str, another: bool) -> None:
    assert mpi.is_another(label, said) is another


def test_launchers_in_further_folders_are_found_with_their_libraries(tmp_path: Path) -> None:
    """Where distributions keep several apart, and where the user says; a script finds the launcher of its own folder."""
    for name in (
        "opt/a/bin/mpirun",
        "opt/a/lib/libmpi.so.12",
        "usr/lib64/openmpi/bin/mpirun",
        "usr/lib64/openmpi/lib/libmpi.so.40",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    hydra = "HYDRA build details:\n    Version:                                 4.3.0\n"
    commands = {
        ("/opt/a/bin/mpirun", "--version"): hydra,
        ("/usr/lib64/openmpi/bin/mpirun", "--version"): "mpirun (Open MPI) 4.1.1\n",
    }
    door = ReplayHost(tmp_path, environment={"PATH": "/usr/bin", mpi.FURTHER: "/opt/a/bin"}, commands=commands)
    first, second = mpi.mpi(door)
    assert (first.name, first.version, first.facts["found"]) == (mpi.MPICH, "4.3.0", mpi.FURTHER)
    assert first.facts["libraries"] == "/opt/a/lib"
    assert (second.version, second.facts["found"]) == ("4.1.1", "folder")
    assert second.facts["libraries"] == "/usr/lib64/openmpi/lib"


# ------------------------------------------------------------------------------------------------ program, launcher, library


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs: pingpong for two interfaces, storage for one."""
    for name in ("pingpong", "storage", "mpich/pingpong"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    return tmp_path


def started(label: str, program: Path, build: dict[str, Any] = BUILT, ranks: int = 2) -> launchers.Started:
    seen = host(software=mpi.only(ALL, label))
    return launchers.wrap(Command(argv=(str(program),), ranks=ranks), seen, build=build, root=False, environment={})


def test_each_mpi_gets_the_program_of_its_interface_its_launcher_and_its_library(built: Path) -> None:
    argv, env = started("Open MPI 4.1.4", built / "pingpong")
    assert argv == ("/usr/bin/mpirun", "-np", "2", "--bind-to", "none", f"{built}/pingpong") and env == {}
    argv, env = started("MPICH 4.0.2", built / "pingpong")
    assert argv == ("/usr/bin/mpirun.mpich", "-n", "2", "-bind-to", "none", f"{built}/mpich/pingpong") and env == {}
    argv, env = started("Intel MPI 2021.18.1", built / "pingpong")
    assert argv == ("/opt/impi/bin/mpiexec.hydra", "-n", "2", f"{built}/mpich/pingpong")
    assert env["LD_LIBRARY_PATH"].split(":")[0] == "/opt/impi/lib" and env["I_MPI_PIN"] == "off"
    argv, env = started("Open MPI 5.0.11", built / "pingpong")
    assert argv[0] == "/opt/ompi5/bin/mpirun" and argv[-1] == f"{built}/pingpong"
    assert env["LD_LIBRARY_PATH"].split(":")[0] == "/opt/ompi5/lib"


def test_the_interface_of_the_standard_serves_an_mpi_that_has_it(built: Path) -> None:
    (built / "mpi_abi").mkdir()
    (built / "mpi_abi" / "pingpong").touch(mode=0o755)
    standard = {
        "flavour": "MPI ABI",
        "version": "1.0",
        "source": "wheel",
        "mpicxx": "/w/mpicxx_abi",
        "folder": "mpi_abi",
    }
    build = {"mpi": MAIN, "mpi_builds": {"open_mpi": MAIN, "mpi_abi": standard}}
    with pytest.raises(Unavailable, match="found: MPICH 4"):
        started("MPICH 4.0.2", built / "pingpong", build)
    has_it = msgspec.structs.replace(INTEL, facts={**INTEL.facts, "standard_abi": True, "asked": True})
    command = Command(argv=(str(built / "pingpong"),), ranks=2)
    argv, env = launchers.wrap(command, host(software=(has_it,)), build=build, root=False, environment={})
    assert argv[-1] == f"{built}/mpi_abi/pingpong" and env["LD_LIBRARY_PATH"].startswith("/opt/impi/lib")
    argv, _ = launchers.wrap(command, host(software=(has_it,)), build=BUILT, root=False, environment={})
    assert argv[-1] == f"{built}/mpich/pingpong", "its own interface first"


def test_one_rank_alone_is_of_the_mpi_that_was_asked_for_too(built: Path) -> None:
    argv, env = started("Intel MPI 2021.18.1", built / "pingpong", ranks=0)
    assert argv == (f"{built}/mpich/pingpong",) and env["LD_LIBRARY_PATH"].split(":")[0] == "/opt/impi/lib"


def test_without_being_asked_the_first_mpi_that_fits_is_taken_as_ever(built: Path) -> None:
    command = Command(argv=(str(built / "pingpong"),), ranks=2)
    argv, env = launchers.wrap(command, host(software=(MPICH, OPEN_MPI)), build=BUILT, root=False, environment={})
    assert argv[0] == "/usr/bin/mpirun" and env == {}
    argv, _ = launchers.wrap(command, host(software=(MPICH,)), build=BUILT, root=False, environment={})
    assert argv[0] == "/usr/bin/mpirun.mpich" and argv[-1] == f"{built}/mpich/pingpong", "what else some are built for"


@pytest.mark.parametrize(
    ("label", "program", "build", "message"),
    [
        (
            "MPICH 4.0.2",
            "pingpong",
            BUILT_ONCE,
            "built with Open MPI 4.1.4 of the site, which is not here.*MPICH 4.0.2",
        ),
        ("MPICH 4.0.2", "storage", BUILT, "storage is not built for MPICH"),
        ("Open MPI 5.0.11", "pingpong", {"mpi": {**MAIN, "source": "wheel", "version": "4"}}, "of the Python wheel"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(
    built: Path, label: str, program: str, build: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unavailable, match=message) as caught:
        started(label, built / program, build)
    assert caught.value.hint


def test_over_hosts_open_mpi_carries_the_library_path(built: Path) -> None:
    seen = host(4, software=mpi.only(ALL, "Open MPI 5.0.11"))
    command = Command(argv=(str(built / "pingpong"),), ranks=2)
    argv, _ = launchers.wrap(command, seen, hosts=("node1", "node2"), build=BUILT, root=False, environment={})
    assert ("-x", "LD_LIBRARY_PATH") in itertools.pairwise(argv)


def elf(path: Path, *names: str) -> Path:
    """A file that begins as an executable and has these names among its strings."""
    path.write_bytes(b"\x7fELF" + b"\0" * 60 + b"".join(b"\0" + name.encode() + b"\0" for name in names))
    path.chmod(0o755)
    return path


def test_a_program_of_the_site_is_refused_by_the_launcher_of_another_interface(tmp_path: Path) -> None:
    ours = elf(tmp_path / "a", "libmpi.so.40", "libc.so.6")
    theirs = elf(tmp_path / "b", "libmpi.so.12")
    debian = elf(tmp_path / "c", "libmpich.so.12")
    standard = elf(tmp_path / "s", "libmpi_abi.so.1")
    _linked.check(str(standard), msgspec.structs.replace(INTEL, facts={"standard_abi": True}))
    with pytest.raises(Unavailable, match="the interface of the MPI standard"):
        _linked.check(str(standard), OPEN_MPI)
    assert [_linked.interface(str(one)) for one in (ours, theirs, debian)] == ["open_mpi", "mpich", "mpich"]
    for nothing in (
        elf(tmp_path / "d", "libc.so.6"),
        elf(tmp_path / "e", "libmpi.so.40", "libmpi.so.12"),
        tmp_path / "no",
    ):
        assert _linked.interface(str(nothing)) == ""
    (tmp_path / "script").write_text("#!/bin/sh\n# libmpi.so.12\n")
    assert _linked.interface(str(tmp_path / "script")) == ""
    command = Command(argv=(str(theirs),), ranks=2, site_mpi=True)
    argv, _ = launchers.wrap(command, host(software=(MPICH, OPEN_MPI)), build={}, root=False, environment={})
    assert argv[0] == "/usr/bin/mpirun.mpich"
    with pytest.raises(Unavailable, match=r"is linked to the MPICH family .* is that of Open MPI 4.1.4: each rank"):
        launchers.wrap(command, host(software=(OPEN_MPI,)), build={}, root=False, environment={})
    asked = host(software=mpi.only(ALL, "Intel MPI 2021.18.1"))
    argv, env = launchers.wrap(command, asked, build={}, root=False, environment={})
    assert argv[0] == INTEL.path and env["LD_LIBRARY_PATH"].startswith("/opt/impi/lib"), (
        "a wheel's, where it is asked for"
    )


# --------------------------------------------------------------------------------------------------------- plan and schedule


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are built for two interfaces."""
    monkeypatch.setattr(programs, "build", lambda: BUILT)


def planned(text: str, software: Sequence[Software] = ALL) -> Any:
    return plan.make(
        campaign.parse(f'name = "c"\ntitle = "C"\n{text}', "c"), machine(4, software=tuple(software)), where="c"
    )


SWEPT = '[[run]]\nworkload = "pingpong"\nsweep = { ranks = [2, 4] }\n'


@pytest.mark.usefixtures("twice")
def test_each_mpi_is_a_run_of_its_own_beside_the_others_and_launched_six_times() -> None:
    made = planned(f'mpi = "mpich, intel"\n{SWEPT}')
    assert [(run.params["ranks"], run.mpi) for run in made.runs] == [
        (2, "MPICH 4.0.2"),
        (2, "Intel MPI 2021.18.1"),
        (4, "MPICH 4.0.2"),
        (4, "Intel MPI 2021.18.1"),
    ]
    assert len({run.id for run in made.runs}) == 4
    assert {(run.repeat_min, run.repeat_max) for run in made.runs} == {(6, 6)}
    assert all(run.label.endswith(run.mpi) for run in made.runs)
    assert not made.skipped


@pytest.mark.usefixtures("twice")
def test_a_run_without_an_mpi_keeps_its_id_and_one_with_it_is_another_run() -> None:
    (plain,) = planned('[[run]]\nworkload = "pingpong"\n').runs
    assert plain.mpi == "" and plain.id == plan.content_hash("pingpong", plain.params, "")
    assert planned('[[run]]\nworkload = "pingpong"\nmpi = "mpich"\n').runs[0].id != plain.id


@pytest.mark.usefixtures("twice")
def test_what_the_campaign_says_of_repeats_and_of_mpis_stands() -> None:
    made = planned('repeat = { min = 2, max = 3 }\nmpi = "all"\n[[run]]\nworkload = "pingpong"\nmpi = ["mpich"]\n')
    assert [(run.mpi, run.repeat_min, run.repeat_max) for run in made.runs] == [("MPICH 4.0.2", 2, 3)]
    (alone,) = made.skipped
    assert "MPICH 4.0.2 alone" in alone.why, "one MPI is compared with nothing, and that is said"


def test_an_mpi_without_programs_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "build", lambda: BUILT_ONCE)
    made = planned(f'mpi = "all"\n{SWEPT}')
    assert {run.mpi for run in made.runs} == {"Open MPI 4.1.4", "Open MPI 5.0.11"}
    assert any("found: MPICH 4.0.2" in one.why and "SHAKEDOWN_MPICXX" in one.why for one in made.skipped)
    with pytest.raises(Unavailable, match="found: Intel MPI"):
        planned('[[run]]\nworkload = "pingpong"\nmpi = "intel"\noptional = false\n')


@pytest.mark.usefixtures("twice")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[run]]\nworkload = "pingpong"\nmpi = "mvapich"\n', "no MPI 'mvapich' was found"),
        ('[[run]]\nworkload = "stream"\nmpi = "all"\n', "stream has no ranks"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        planned(text)
    assert caught.value.exit_code == 2 and caught.value.hint


@pytest.mark.parametrize(
    ("name", "settings", "asked", "message"),
    [
        ("stream", [], "all", "nothing of it has ranks"),
        ("pingpong", [], " , ", "names none"),
    ],
)
def test_the_option_refuses_what_cannot_be_meant(name: str, settings: list[str], asked: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        _chosen.campaign(name, settings, asked)


def test_the_option_is_a_line_of_the_campaign(tmp_path: Path) -> None:
    text, _ = _chosen.campaign("pingpong", ["ranks=2"], "openmpi, mpich")
    assert campaign.parse(text, "x").mpi == ("openmpi", "mpich")
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(BadInput, match="names its MPIs itself"):
        _chosen.campaign(str(own), [], "all")


def run(name: str, label: str, **params: Any) -> Run:
    return Run(
        id=name, workload="pingpong", params=params, label=name, estimate_s=1, limit_s=9, repeat_max=3, mpi=label
    )


def test_in_each_round_another_mpi_is_first() -> None:
    runs = [
        run("a", "A", ranks=2),
        run("b", "B", ranks=2),
        run("c", "C", ranks=2),
        run("x", "", ranks=2),
        run("d", "A", ranks=4),
    ]
    rounds = [[one.id for one in schedule.in_turn(runs, repeat)] for repeat in (1, 2, 3, 4)]
    assert rounds == [
        ["a", "b", "c", "x", "d"],
        ["b", "c", "a", "x", "d"],
        ["c", "a", "b", "x", "d"],
        ["a", "b", "c", "x", "d"],
    ]
    plain = [run("p", "", ranks=2), run("q", "", ranks=2)]
    assert [one.id for one in schedule.in_turn(plain, 2)] == ["p", "q"]


def test_every_workload_of_the_comparison_takes_ranks() -> None:
    for name in ("collectives", "pingpong", "multi_pair", "onesided", "hydro"):
        assert "ranks" in workloads.get(name).params
