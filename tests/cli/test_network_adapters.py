"""The adapters of message benchmarks with real programs: a server on this host, the client started, read and judged."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import shakedown
from support.ports import free_port
from support.waiting import until

RECORDINGS = Path(__file__).parent.parent / "recordings"


def run(tmp_path: Path, workload: str, params: str) -> tuple[int, dict[str, float], str]:
    """The exit code, each metric's last value, and what was said."""
    (tmp_path / "mine.toml").write_text(
        f'name = "m"\ntitle = "M"\n[[run]]\nworkload = "{workload}"\nparams = {params}\noptional = false\n'
    )
    done = shakedown("run", tmp_path / "mine.toml", "--directory", tmp_path / "run", "--format", "json", limit_s=300)
    report = tmp_path / "run" / "report.json"
    findings = json.loads(report.read_text()).get("findings", []) if report.exists() else []
    return done.returncode, {one["metric"]: one["value"] for one in findings}, done.stdout + done.stderr


@contextlib.contextmanager
def server(*argv: str, port: int) -> Iterator[None]:
    """A program that listens on a port, ended by its id."""
    env = {**os.environ, "UCX_TLS": "posix,self,tcp", "UCX_NET_DEVICES": "lo"}
    child = subprocess.Popen(
        argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        until(lambda: _listens(port))
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _listens(port: int) -> bool:
    """Without connecting: a server of one test would take that for its client."""
    wanted = f":{port:04X} "
    tables = (Path(name).read_text().splitlines()[1:] for name in ("/proc/net/tcp", "/proc/net/tcp6"))
    return any(wanted in line and line.split()[3] == "0A" for lines in tables for line in lines)


@pytest.mark.needs("iperf3")
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_iperf3_over_loopback_is_run_and_read(tmp_path: Path, protocol: str) -> None:
    port = free_port()
    with server("iperf3", "-s", "-1", "-p", str(port), "-B", "127.0.0.1", port=port):
        params = f'{{ server = "127.0.0.1", port = {port}, seconds = 1, protocol = "{protocol}", rate = 20000000 }}'
        code, found, said = run(tmp_path, "iperf3", params)
    assert code == 0, said
    if protocol == "tcp":
        assert found["iperf3.tcp.bandwidth"] > 1e6 and found["iperf3.tcp.retransmits"] >= 0
    else:
        assert 0 <= found["iperf3.udp.loss"] <= 1 and found["iperf3.udp.bandwidth"] < 5e6


@pytest.mark.needs("iperf3")
def test_iperf3_without_its_server_says_so(tmp_path: Path) -> None:
    code, found, said = run(tmp_path, "iperf3", f'{{ server = "127.0.0.1", port = {free_port()}, seconds = 1 }}')
    assert code == 3 and not found and "Connection refused" in said


@pytest.mark.needs("ucx_perftest")
def test_ucx_perftest_is_run_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_TLS", "posix,self,tcp")
    monkeypatch.setenv("UCX_NET_DEVICES", "lo")
    port = free_port()
    with server("ucx_perftest", "-p", str(port), port=port):
        params = f'{{ server = "127.0.0.1", port = {port}, test = "tag_lat", size = 64, iterations = 2000 }}'
        code, found, said = run(tmp_path, "ucx_perftest", params)
    assert code == 0, said
    assert 0 < found["ucx_perftest.latency_median"] < 1


@pytest.mark.needs("mpirun")
@pytest.mark.parametrize(
    ("workload", "recording", "option", "metric"),
    [
        ("osu", "osu/latency-5.8-infiniband.txt", "-i 100", "pingpong.latency"),
        ("imb", "imb/mpi1-2021.11-two-ranks.txt", "PingPong -npmin 2 -iter 100", "pingpong.latency"),
    ],
)
def test_a_sites_program_under_mpi_is_run_and_read(
    tmp_path: Path, workload: str, recording: str, option: str, metric: str
) -> None:
    """Its first rank prints what the program does."""
    fake = tmp_path / "program"
    text = RECORDINGS / recording
    fake.write_text(
        f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0\n'
        f'case "$*" in *"{option}"*) cat {text} ;; *) exit 9 ;; esac\n'
    )
    fake.chmod(0o755)
    code, found, said = run(tmp_path, workload, f'{{ program = "{fake}", ranks = 2, iterations = 100 }}')
    assert code == 0 and found[metric] > 0, said


@pytest.mark.needs("mpirun")
def test_copies_of_one_rank_have_no_score(tmp_path: Path) -> None:
    """Each rank prints as if it were alone: the launcher is not that of the program's MPI."""
    fake = tmp_path / "program"
    text = (RECORDINGS / "imb/copies-of-one-rank-2021.11.txt").read_text().partition("Finalize\n")
    (tmp_path / "one.txt").write_text(text[0] + text[1])  # so short that it is written at once
    fake.write_text(f"#!/bin/sh\ncat {tmp_path}/one.txt\n")
    fake.chmod(0o755)
    code, found, said = run(tmp_path, "imb", f'{{ program = "{fake}", benchmarks = "Allreduce", ranks = 2 }}')
    assert code != 0 and not found and "copies of" in said
