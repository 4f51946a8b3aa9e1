"""Demonstrations with the real thing: compilers that are right and wrong, MPI over nodes, OpenCL, engines, ssh."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown import programs
from shakedown.errors import Unavailable
from shakedown.hosts.access import LocalHost, Result
from shakedown.machine import mpi as flavours
from shakedown.programs import events
from shakedown.records import Software
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory
from support.machines import host
from support.ports import free_port
from support.shims import shim

pytestmark = [pytest.mark.system, pytest.mark.slow]

SYSTEM = "/usr/bin:/bin"
GCC = "gcc (Test) 12.2.0 Free Software Foundation"
C_ONLY = ("--suite", "gnu", "--languages", "c")


def started(
    name: str, folder: Path, *words: str, limit_s: float = 300, **env: str
) -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    """A demonstration in a folder of its own: how it ended, and what it printed."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", f"shakedown.functional_tests.{name}", *words],
        capture_output=True,
        cwd=folder,
        env={**os.environ, **env},
        timeout=limit_s,
        check=False,
    )
    return done, events.parse(done.stdout)


def work_of(found: events.Events, kernel: str) -> dict[str, float]:
    return next(case for case in found.cases if case.kernel == kernel).work


# -------------------------------------------------------------------------------------------------------- compilers


def demonstrate(folder: Path, *words: str, path: str = "") -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    return started("compilers", folder, *words, PATH=path or os.environ["PATH"])


@pytest.mark.needs("gcc")
def test_a_c_compiler_is_right(tmp_path: Path) -> None:
    done, found = demonstrate(tmp_path / "run", *C_ONLY, "--require", "")
    assert done.returncode == 0, done.stderr
    levels = {(case.params["program"], case.params["level"]) for case in found.cases if case.kernel == "program"}
    assert levels == {("numerics", "-O0"), ("numerics", "-O3"), ("openmp", "-O0"), ("openmp", "-O3")}
    suite = next(case for case in found.cases if case.kernel == "suite")
    assert suite.work["languages"] == 1
    assert not list((tmp_path / "run").iterdir()), "nothing is left behind"


@pytest.mark.needs("gcc")
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (('exec /usr/bin/gcc -ffast-math "$@"',), "compensated is"),
        (('case "$*" in *O3*) echo "internal compiler error" >&2; exit 4;; esac',), "cannot be had"),
        (('[ -n "$1" ] && exec /usr/bin/gcc -include math.h -Dsqrt=cbrt "$@"',), "roots is"),
    ],
)
def test_a_compiler_that_is_wrong_is_found(tmp_path: Path, lines: tuple[str, ...], words: str) -> None:
    shim(tmp_path / "bin", "gcc", GCC, *lines)
    done, found = demonstrate(tmp_path / "run", *C_ONLY, "--require", "", path=f"{tmp_path}/bin:{SYSTEM}")
    assert done.returncode == 1, done.stderr
    assert any(words in notice.text for notice in found.notices if notice.code == "compiler-wrong"), found.notices
    assert next(case for case in found.cases if case.kernel == "suite").work["languages"] == 0


@pytest.mark.needs("gcc")
def test_a_compiler_that_only_calls_itself_intel_is_found_by_its_macros(tmp_path: Path) -> None:
    # it takes Intel's words by dropping them
    drop = 'for a; do shift; case "$a" in -fp-model*|-no-ftz|-qopenmp) ;; *) set -- "$@" "$a";; esac; done'
    shim(tmp_path / "bin", "icx", "Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2", drop)
    words = ("--suite", "intel", "--languages", "c", "--require", "")
    done, found = demonstrate(tmp_path / "run", *words, path=f"{tmp_path}/bin:{SYSTEM}")
    assert done.returncode == 1
    assert any("macros say that it is gnu" in notice.text for notice in found.notices)


@pytest.mark.needs("gcc")
def test_a_feature_is_a_notice_unless_it_is_required(tmp_path: Path) -> None:
    shim(tmp_path / "bin", "gcc", GCC, 'case "$*" in *openmp*) echo "error: no libgomp" >&2; exit 1;; esac')
    path = f"{tmp_path}/bin:{SYSTEM}"
    done, found = demonstrate(tmp_path / "run", *C_ONLY, "--require", "", path=path)
    assert done.returncode == 0
    assert any(notice.code == "feature-absent" and "no libgomp" in notice.text for notice in found.notices)
    assert next(case for case in found.cases if case.kernel == "suite").work == {"languages": 1, "features": 0}
    done, found = demonstrate(tmp_path / "run", *C_ONLY, "--require", "openmp", path=path)
    assert done.returncode == 1


@pytest.mark.needs("gcc", "g++", "gfortran")
def test_a_whole_suite_is_right(tmp_path: Path) -> None:
    done, found = demonstrate(
        tmp_path / "run", "--suite", "gnu", "--require", "openmp,c++20,fortran2008,interoperability"
    )
    assert done.returncode == 0, (done.stderr, found.notices)
    assert work_of(found, "suite")["languages"] == 3
    assert {case.params["language"] for case in found.cases if case.kernel == "compile"} == {"c", "c++", "fortran"}


@pytest.mark.needs("gcc")
def test_compiling_in_a_folder_that_anybody_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    done, _ = demonstrate(tmp_path / "open", *C_ONLY)
    assert done.returncode == 3 and b"chmod o-w" in done.stderr


# -------------------------------------------------------------------------------------------------------- over nodes


CAMPAIGN = """
name = "demonstrations"
title = "On every node"

[[run]]
workload = "compilers"
params = { suite = "gnu", languages = "c", require = "" }
nodes = "each"
"""


@pytest.mark.needs("gcc")
def test_compilers_are_right_on_each_node(lab: RehearsalCluster) -> None:
    file, path = lab.shared / "demonstrations.toml", lab.shared / "demonstrations"
    file.write_text(CAMPAIGN)
    words = ("run", str(file), "--on", "slurm", "--nodes", "4", "--directory", str(path))
    asked = lab.run([sys.executable, "-m", "shakedown", *words], limit_s=600)
    found = RunDirectory.open(path).load().measurements
    assert asked.code == 0, (asked.err, [(one.host, one.reason) for one in found])
    assert sorted((one.host, one.state) for one in found) == [(f"node{n}", "ok") for n in range(1, 5)]


def over_nodes(lab: RehearsalCluster, software: Software, *words: str, **env: str) -> tuple[Result, events.Events]:
    """The bindings of an MPI in an allocation of all nodes, started by srun."""
    folder = lab.shared / f"mpi-{time.monotonic_ns()}"
    folder.mkdir()
    four = msgspec.structs.replace(host(8, software=(software,)), name="node[1-4]", count=4)
    (folder / "host.json").write_bytes(msgspec.json.encode(four))
    program = (sys.executable, "-m", "shakedown.functional_tests.mpi_bindings", "--host", "host.json")
    argv = ["salloc", "--quiet", "-N4", "--exclusive", *program, "--mpi", software.name, "--launcher", "srun", *words]
    done = lab.run(argv, cwd=folder, limit_s=600, env=env)
    return done, events.parse(done.out.encode())


@pytest.mark.needs("mpicc", "mpifort")
def test_bindings_are_right_over_all_nodes(lab: RehearsalCluster) -> None:
    open_mpi = next((one for one in flavours.mpi(LocalHost()) if one.name == flavours.OPEN_MPI), None)
    if open_mpi is None or open_mpi.facts["source"] == "wheel":
        pytest.skip("needs Open MPI: sudo apt-get install openmpi-bin libopenmpi-dev")
    done, found = over_nodes(lab, open_mpi, "--require", "file")
    assert done.code == 0, (done.err, found.notices)
    names = [case.params["binding"] for case in found.cases if case.kernel == "binding"]
    assert names == ["c", "c++", "mpif.h", "use mpi", "use mpi_f08"]
    facts = found.provenance["facts"]
    for name in names:
        assert facts[name]["world_size"] == 8
        assert sorted(facts[name]["hosts"]) == sorted([*lab.nodes] * 2)
    assert work_of(found, "mpi") == {"languages": 3, "bindings": 5}
    done, found = over_nodes(lab, open_mpi, "--languages", "c", "--require", "one-sided", OMPI_MCA_osc="sm")
    assert done.code == 1, "shared memory alone does not reach another host"
    assert any("put_get was refused" in notice.text for notice in found.notices)


# ----------------------------------------------------------------------------------------------------------- engines


def batch(lab: RehearsalCluster, *words: str, limit_s: float = 900) -> tuple[Result, events.Events]:
    folder = lab.shared / f"batch-{time.monotonic_ns()}"
    folder.mkdir()
    done = lab.run([sys.executable, "-m", "shakedown.functional_tests.batch", *words], cwd=folder, limit_s=limit_s)
    assert not list(folder.iterdir()), "nothing is left behind"
    return done, events.parse(done.out.encode())


def test_slurm_handles_every_kind_of_job(lab: RehearsalCluster) -> None:
    done, found = batch(lab, "--engine=slurm", "--jobs=50", "--samples=3")
    assert done.code == 0, (done.err, found.notices)
    assert work_of(found, "jobs") == {"kinds": 8}
    times = next(case.seconds for case in found.cases if case.kernel == "latency")
    assert len(times) == 3 and min(times) > 0
    assert not lab.run(["squeue", "-h", "-t", "PENDING,RUNNING"]).out.strip()


def test_grid_engine_handles_every_kind_of_job(gridengine_lab: RehearsalCluster) -> None:
    kinds = "submit,fail,array,dependency,gres,cancel,hold"  # the limit is tried on Slurm: it takes a minute
    done, found = batch(gridengine_lab, f"--kinds={kinds}", "--gres=gpu:1", "--jobs=20", "--samples=3")
    assert done.code == 0, (done.err, found.notices)
    assert found.provenance["facts"]["engine"] == "gridengine"
    assert work_of(found, "jobs") == {"kinds": 7}


def test_where_no_node_is_free_it_is_given_up_with_the_reason(lab: RehearsalCluster) -> None:
    held = lab.run(["sbatch", "--parsable", "-N4", "--exclusive", "--wrap=sleep 900"])
    assert held.ok, held.err
    done, found = batch(lab, "--kinds=submit", "--jobs=0", "--samples=0", "--wait=6")
    assert done.code == 3 and not found.cases
    assert "had not ended after 6 s: it is queued" in done.err and "next:" in done.err
    assert lab.run(["squeue", "-h", "-o", "%A", "-t", "PENDING,RUNNING"]).out.split() == [held.out.strip()]


# ------------------------------------------------------------------------------------------------------------ OpenCL


def test_pocl_computes_right_on_two_devices(tmp_path: Path) -> None:
    try:
        program = programs.path("opencl")
    except Unavailable as error:
        pytest.skip(f"needs the program: {error}")
    if not list(Path("/etc/OpenCL/vendors").glob("pocl*.icd")):
        pytest.skip("needs PoCL: sudo apt-get install pocl-opencl-icd")
    words = (program, "--bodies", "1024", "--elements", "100000", "--samples", "3", "--together", "0.2")
    env = {**os.environ, "POCL_DEVICES": "basic pthread", "POCL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, env=env, timeout=300, check=False)
    found = events.parse(done.stdout)
    assert done.returncode == 0, (done.stderr, found.notices)
    assert work_of(found, "devices") == {"devices": 2}
    assert {case.params["pattern"] for case in found.cases if case.kernel == "nbody"} == {"alone", "together"}


# --------------------------------------------------------------------------------------------------------------- ssh


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Path]:
    """A server of ssh on this host, with keys of its own; its client configuration, in which it is called ``far``."""
    server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if server is None or shutil.which("ssh-keygen") is None:
        pytest.skip("needs sshd: sudo apt-get install openssh-server")
    port = free_port()
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "mine"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_bytes((folder / "mine.pub").read_bytes())
    key = (folder / "host.pub").read_text().split()[:2]
    (folder / "known").write_text(f"[127.0.0.1]:{port} {' '.join(key)}\n")
    (folder / "server").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\nPermitRootLogin prohibit-password\n"
        "Subsystem sftp internal-sftp\n"
    )
    (folder / "client").write_text(
        f"Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {folder}/mine\n IdentitiesOnly yes\n"
        f" UserKnownHostsFile {folder}/known\n GlobalKnownHostsFile /dev/null\n"
    )
    words = [server, "-D", "-e", "-f", str(folder / "server")]
    if os.geteuid() == 0:  # it wants a folder of the system's, which it gets in a mount namespace of its own
        run = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"'
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", run, "sh", *words]
    with open(folder / "log", "wb") as log:
        child = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if child.poll() is not None:
                pytest.skip(f"sshd does not start here: {(folder / 'log').read_text()[-200:]}")
            time.sleep(0.05)
        yield folder / "client"
    finally:
        child.terminate()
        child.wait(300)


def exchange(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    return started("exchange", folder, "--large", "3000000", "--samples", "2", *words)


@pytest.mark.needs("ssh", "rsync", "sftp")
def test_files_go_over_ssh_and_back_by_every_tool(far: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    words = ("--target", f"far:{tmp_path}/there", "--tools", "rsync,scp,sftp", "--ssh-config", str(far))
    done, found = exchange(tmp_path / "here", *words)
    assert done.returncode == 0, (done.stderr, found.notices)
    assert work_of(found, "exchange") == {"tools": 3}
    assert found.provenance["facts"]["sums"] is True
    large = {(case.params["tool"], case.params["direction"]) for case in found.cases if case.kernel == "large"}
    assert large == {(tool, way) for tool in ("rsync", "scp", "sftp") for way in ("out", "back")}
    assert not list((tmp_path / "there").iterdir()) and not list((tmp_path / "here").iterdir()), "both sides are clean"


@pytest.mark.needs("ssh")
def test_a_host_that_wants_a_password_is_unavailable(far: Path, tmp_path: Path) -> None:
    (far.parent / "authorized").write_text("")
    words = ("--target", f"far:{tmp_path}", "--ssh-config", str(far))
    done, _ = exchange(tmp_path / "here", *words)
    assert done.returncode == 3
    assert b"without a password" in done.stderr and b"BatchMode=yes" in done.stderr


@pytest.mark.needs("ssh")
def test_a_host_whose_key_is_not_known_is_not_trusted(far: Path, tmp_path: Path) -> None:
    (far.parent / "known").write_text("")
    done, _ = exchange(tmp_path / "here", "--target", f"far:{tmp_path}", "--ssh-config", str(far))
    assert done.returncode == 3 and b"Host key verification failed" in done.stderr
