"""Two hosts that are namespaces of this machine, with two networks of limited rate between them and a third one on which the
launcher talks: for tests of what goes by which network. Needs root."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown import programs
from shakedown.errors import Unavailable
from shakedown.machine.mpi import OPEN_MPI
from support.natives import LIMIT_S, Ended, here

RAILS = ("rail0", "rail1")
_LAUNCHER = "mgmt"


class TwoHosts(NamedTuple):
    """Host names -> the process whose namespaces they are, and the folder of the program that reaches the other one."""

    pids: Mapping[str, int]
    folder: Path

    def inside(self, host: str, *words: str) -> list[str]:
        cpu = str(_cpus()[list(self.pids).index(host)])  # one each, as two hosts have
        return ["taskset", "-c", cpu, "nsenter", "-t", str(self.pids[host]), "-n", "-u", "-m", "--", *words]

    def do(self, host: str, *words: str) -> None:
        subprocess.run(self.inside(host, *words), check=True, capture_output=True)

    def limit(self, rail: str, rate: str) -> None:
        """The rate of a network, both ways: a token bucket at both ends."""
        for host in self.pids:
            bucket = ("root", "tbf", "rate", rate, "burst", "32kb", "latency", "50ms")
            self.do(host, "tc", "qdisc", "replace", "dev", rail, *bucket)

    def run(self, name: str, *words: str, env: Mapping[str, str], each: int = 1) -> Ended:
        """A program on so many ranks of each host, by Open MPI with these variables."""
        mpi = next((one for one in here().software if one.name == OPEN_MPI and one.version.startswith("4.")), None)
        if mpi is None:
            pytest.skip("needs Open MPI 4 (sudo apt-get install openmpi-bin): its launcher reaches the other namespace")
        try:
            program = programs.path(name)
        except Unavailable as error:
            pytest.skip(f"needs {name}: {error.hint}")
        first = next(iter(self.pids))
        hosts = ",".join(f"{host}:{each}" for host in self.pids)
        mca = {"plm_rsh_agent": str(self.folder / "reach"), "oob_tcp_if_include": _LAUNCHER, "mpi_yield_when_idle": "1"}
        flags = [word for key, value in mca.items() for word in ("--mca", key, value)]
        carried = [word for key in env for word in ("-x", key)]
        argv = [
            mpi.path,
            "--allow-run-as-root",
            "-np",
            str(2 * each),
            "--host",
            hosts,
            "--bind-to",
            "none",
            *flags,
            *carried,
        ]
        done = subprocess.run(
            self.inside(first, *argv, program, *words),
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, **env},
        )
        return Ended(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def two_hosts(folder: Path, rate: str = "100mbit") -> Iterator[TwoHosts]:
    """They are there within the context, and nothing is left behind it."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "nsenter", "unshare"))):
        pytest.skip("needs root, iproute2 and util-linux: network namespaces with limited links")
    names = [f"sd{os.getpid()}{letter}" for letter in "ab"]
    sleepers = {name: _sleeper(name) for name in names}
    try:
        made = TwoHosts({name: one.pid for name, one in sleepers.items()}, folder)
        _reach(folder / "reach", made.pids)
        for number, link in enumerate((_LAUNCHER, *RAILS)):
            _lay(made, link, number)
        for rail in RAILS:
            made.limit(rail, rate)
        yield made
    finally:
        for one in sleepers.values():
            one.kill()
            one.wait()
            assert one.stdout is not None
            one.stdout.close()


def _cpus() -> tuple[int, int]:
    """The first and the last that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[-1]


def _sleeper(name: str) -> subprocess.Popen[bytes]:
    # The networks that /sys shows are those of the namespace in which it was mounted.
    body = f"hostname {name} && mount -t sysfs sysfs /sys && ip link set lo up && echo ready && exec sleep infinity"
    try:
        one = subprocess.Popen(("unshare", "--net", "--uts", "--mount", "sh", "-c", body), stdout=subprocess.PIPE)
    except OSError as error:
        pytest.skip(f"needs unshare: {error.strerror}")
    assert one.stdout is not None
    if one.stdout.readline() != b"ready\n":
        pytest.skip("needs network namespaces: this container makes none")
    return one


def _lay(made: TwoHosts, link: str, number: int) -> None:
    (a, b), pids = tuple(made.pids), made.pids
    made.do(a, "ip", "link", "add", link, "type", "veth", "peer", "name", link, "netns", str(pids[b]))
    for place, host in enumerate((a, b), 1):
        made.do(host, "ip", "addr", "add", f"10.213.{number}.{place}/24", "dev", link)
        made.do(host, "ip", "link", "set", link, "up")


def _reach(path: Path, pids: Mapping[str, int]) -> None:
    """What the launcher starts in place of ssh: HOST COMMAND..."""
    cases = "".join(
        f"  {shlex.quote(name)}) pid={pid} cpu={cpu} ;;\n"
        for (name, pid), cpu in zip(pids.items(), _cpus(), strict=True)
    )
    enter = 'exec taskset -c "$cpu" nsenter -t "$pid" -n -u -m -- sh -c "$*"'
    path.write_text(f"#!/bin/sh\ncase $1 in\n{cases}esac\nshift\n{enter}\n")
    path.chmod(0o755)
