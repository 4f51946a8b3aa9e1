"""Relays: what goes between them and the harness, and that nothing on the way makes the harness wait or believe wrongly."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import launchers
from shakedown.campaign import parse, plan
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.launchers import srun, ssh
from shakedown.records import Machine, Run
from shakedown.results import run_directory
from shakedown.run.multihost import agent, client, fanout
from shakedown.schedulers import Allocation
from support.machines import OPEN_MPI, host

HOSTS = ("node1", "node2")
ALLOCATION = Allocation(engine="test", job="1", hosts=HOSTS)

Words = Callable[[tuple[str, ...]], tuple[str, ...]]


class Reach:
    """In the place of ``launchers.reach``: every host is this machine, but for those that are given words of their own."""

    def __init__(self, **instead: tuple[str, ...]) -> None:
        self.instead, self.fed, self.asked = instead, True, list[tuple[str, ...]]()

    def __call__(
        self, argv: Words, first: object, allocation: object, hosts: tuple[str, ...]
    ) -> list[launchers.Reached]:
        self.asked.append(tuple(hosts))
        by = launchers.Launcher(
            name="t", title="t", order=1, refusal=lambda s: "", start=lambda s: ((), {}), fed=self.fed
        )
        return [launchers.Reached((name,), self.instead.get(name) or argv((name,)), {}, by) for name in hosts]


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reach]:
    found = Reach()
    monkeypatch.setattr(launchers, "reach", found)
    yield found
    client.close()


def directory(path: Path, params: str) -> tuple[run_directory.RunDirectory, Run]:
    found = Machine(hosts=tuple(host(name=name) for name in HOSTS), discovered_ns=1, version="test")
    text = f'name = "t"\ntitle = "t"\n[[run]]\nworkload = "empty"\nnodes = "each"\nparams = {{ {params} }}\n'
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="t", created_ns=1, version="test", host="node1"
    )
    made = plan.make(parse(text, "t.toml"), found)
    opened = run_directory.RunDirectory.create(path, manifest=manifest, campaign_toml=text, machine=found, plan=made)
    fanout.remember(path, ALLOCATION)
    (path / "hosts").mkdir()
    return opened, made.runs[0]


def silent(fraction: float | None, text: str) -> None:
    pass


def held(path: Path) -> client.AgentClient:
    return client.held(path, host(name="node1"), ALLOCATION)


# ------------------------------------------------------------------------------------------------------------- the lines


@given(st.binary().filter(lambda text: b"\n" not in text and agent.MARK.encode() not in text))
def test_an_answer_is_found_behind_whatever_a_host_prints(noise: bytes) -> None:
    answer = agent.Answer(host="node1", kind="failed", number=3, text='said "no"\nand more')
    (line,) = (one for one in (noise + agent.line_of(answer)).split(b"\n") if agent.answer_in(one))
    assert agent.answer_in(line) == answer
    assert agent.answer_in(noise + line) == answer and agent.order_in(line) is None
    assert agent.answer_in(noise) is None and agent.answer_in(line[:-2]) is None


def test_a_seal_is_of_what_the_harness_wrote_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fanout.remember(tmp_path, ALLOCATION)
    first = agent.seal(tmp_path)
    monkeypatch.setattr(agent, "_SEEN_S", 0.0)
    assert agent._sees(tmp_path, first) == ""
    fanout.remember(tmp_path, Allocation(engine="test", job="2", hosts=HOSTS))
    assert "has another" in agent._sees(tmp_path, first)
    assert "does not see" in agent._sees(tmp_path / "none", first) and "that they share" in agent._sees(
        tmp_path / "none", first
    )


# ------------------------------------------------------------------------------------------------- what becomes of an order


def test_relays_stay_and_do_what_they_are_told(tmp_path: Path, reach: Reach) -> None:
    opened, run = directory(tmp_path / "run", "seconds = 0.0")
    team = held(opened.path)
    for repeat in ("1", "2", "3"):
        told = team.do(("run", run.id, repeat), HOSTS, 30, 1, silent)
        assert told == {name: client.Outcome("done") for name in HOSTS}
    assert reach.asked == [HOSTS], "started once"
    assert len(opened.load().measurements) == 6
    assert held(opened.path) is team
    told = team.do(("dance",), ("node1",), 30, 1, silent)
    assert told["node1"].state == "failed" and "was given dance" in told["node1"].text
    pids = [line.child.pid for line in team._lines]
    client.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_launcher_that_passes_nothing_on_starts_a_relay_for_each_order(tmp_path: Path, reach: Reach) -> None:
    reach.fed = False
    opened, run = directory(tmp_path / "run", "seconds = 0.0")
    for repeat in ("1", "2"):
        assert {one.state for one in held(opened.path).do(("run", run.id, repeat), HOSTS, 30, 1, silent).values()} == {
            "done"
        }
    assert reach.asked == [HOSTS] * 4, "asked once for which launcher, once with the order"
    assert len(opened.load().measurements) == 4


@pytest.mark.timing
def test_a_relay_that_dies_is_noticed_at_once_and_started_again(tmp_path: Path, reach: Reach) -> None:
    opened, run = directory(tmp_path / "run", "seconds = 30.0")
    team = held(opened.path)
    victim: list[int] = []

    def kill(fraction: float | None, text: str) -> None:
        if team._lines and len(list(opened.path.glob("runs/*/1@*/job.json"))) == 2:
            lines = {name: line.child for line in team._lines for name in line.hosts}
            if not victim:
                victim.append(lines["node2"].pid)
                os.kill(victim[0], signal.SIGKILL)
                _stop(team, "node1")

    begun = time.monotonic()
    told = team.do(("run", run.id, "1"), HOSTS, 60, 1, kill)
    assert time.monotonic() - begun < 25
    assert told["node2"] == client.Outcome("lost", "its agent has ended by signal 9")
    assert told["node1"] == client.Outcome("failed", "stopped")
    reach.asked.clear()
    assert team.do(("machine",), HOSTS, 30, 1, silent)["node2"].state == "done"
    assert reach.asked == [("node2",)], "the other one is still there"


def _stop(team: client.AgentClient, name: str) -> None:
    for line in team._lines:
        line.tell(agent.AgentCommand(number=0, words=("stop",), hosts=(name,)))


@pytest.mark.timing
def test_ctrl_c_ends_what_runs_everywhere(tmp_path: Path, reach: Reach) -> None:
    opened, run = directory(tmp_path / "run", "seconds = 30.0")
    team = held(opened.path)

    def interrupt(fraction: float | None, text: str) -> None:
        if len(list(opened.path.glob("runs/*/1@*/stdout"))) == 2:
            raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        team.do(("run", run.id, "1"), HOSTS, 60, 1, interrupt)
    assert time.monotonic() - begun < 25 and not team._lines
    marks = [f"runs/{run.id}/1@{name}".encode() for name in HOSTS]
    assert not [pid for pid in _pids() if any(mark in _cwd(pid) for mark in marks)], "no program is left behind"


def _pids() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _cwd(pid: str) -> bytes:
    try:
        return os.fsencode(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return b""


def test_what_does_not_answer_is_given_up_by_name(
    tmp_path: Path, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login that hangs, and a relay of another version."""
    monkeypatch.setenv("SHAKEDOWN_START_S", "0.3")
    other = agent.line_of(agent.Answer(host="node1", kind="ready", version="0.0.0")).decode()
    reach.instead = {"node2": ("sh", "-c", "echo Welcome; sleep 60"), "node1": ("printf", "%s", other)}
    opened, _ = directory(tmp_path / "run", "seconds = 0.0")
    told = held(opened.path).do(("machine",), HOSTS, 30, 1, silent)
    assert told["node2"] == client.Outcome("lost", "does not answer within 0.3 s (it said: Welcome)")
    assert told["node1"].state == "lost" and "has shakedown 0.0.0, and here is" in told["node1"].text
    with pytest.raises(CannotMeasure, match=r"1 of 2 hosts do not answer:\n  node2 does not answer within 0\.3 s"):
        fanout.machines(opened.path, host(name="node1"), ALLOCATION)
    monkeypatch.setenv("SHAKEDOWN_START_S", "soon")
    with pytest.raises(BadInput, match="SHAKEDOWN_START_S"):
        client.start_limit_s()


def test_a_host_that_never_comes_is_given_up(tmp_path: Path, reach: Reach) -> None:
    reach.instead = {"node2": ("sh", "-c", "echo 'ssh: connect to host node2 port 22: No route to host'; exit 255")}
    opened, run = directory(tmp_path / "run", "seconds = 0.0")
    team = held(opened.path)
    told = [team.do(("run", run.id, str(repeat)), HOSTS, 30, 1, silent) for repeat in range(1, 6)]
    assert [one["node1"].state for one in told] == ["done"] * 5
    assert [one["node2"].state for one in told] == ["lost"] * 5 and "is not reached by ssh" in told[0]["node2"].text
    assert reach.asked == [HOSTS, ("node2",), ("node2",)] and "given up after 3 tries" in told[4]["node2"].text


def test_a_relay_that_never_says_what_became_of_it_is_a_timeout(
    tmp_path: Path, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_LATE_S", 0.2)
    monkeypatch.setattr(client, "_END_S", 0.2)
    ready = agent.line_of(agent.Answer(host="node2", kind="ready", version=client.__version__)).decode()
    reach.instead = {"node2": ("sh", "-c", f"printf '%s' '{ready}'; exec sleep 60")}
    opened, run = directory(tmp_path / "run", "seconds = 0.0")
    told = held(opened.path).do(("run", run.id, "1"), ("node2",), 0.1, 1, silent)
    assert told == {"node2": client.Outcome("timeout", "no answer within 0.1 s")}


# ------------------------------------------------------------------------------------------------------ why there is none


@pytest.mark.parametrize(
    ("code", "said", "what", "hint"),
    [
        (255, "Host key verification failed.", "its host key is not known here", "ssh node7 once"),
        (255, "root@node7: Permission denied (publickey,password).", "does not let this user in", "ssh-copy-id node7"),
        (255, "ssh: connect to host node7 port 22: No route to host", "is not reached by ssh", "is it up"),
        (255, "Connection timed out during banner exchange", "is not reached by ssh", "is it up"),
        (255, "ssh: Could not resolve hostname node7: Name or service not known", "its name is not", "getent hosts"),
        (127, f"env: ‘{sys.executable}’: No such file or directory", "has no shakedown", "under the same path"),
        (
            1,
            f"{sys.executable}: No module named shakedown",
            "has no shakedown",
            "on a file system that all hosts share",
        ),
    ],
)
def test_each_cause_has_its_remedy(code: int, said: str, what: str, hint: str) -> None:
    text = client.why("node7", code, ["Welcome", said, ""])
    assert text.startswith(what) and said in text and hint in text.partition("next: ")[2]


def test_noise_is_no_cause() -> None:
    said = ["bash: line 3: module: command not found", "ls: /x: Permission denied"]
    assert client.why("node7", 137, said) == "its agent has ended with code 137 (ls: /x: Permission denied)"
    assert client.why("node7", 255, ["Connection timed out"], begun=True).startswith(
        "its agent has ended with code 255"
    )
    assert client.why("node7", -9, []) == "its agent has ended by signal 9"


def test_srun_says_whose_task_has_ended() -> None:
    fallen = launchers.get("srun").fallen
    assert fallen("srun: error: node2: task 1: Killed") == ("node2",)
    assert fallen("srun: error: node[1-3]: tasks 0-2: Exited with exit code 3") == ("node1", "node2", "node3")
    assert fallen("srun: error: node[1: task 1: Killed") == () and fallen("node2: task 1: Killed") == ()
    assert srun.LAUNCHER.fed and not launchers.get("mpirun").fed


# -------------------------------------------------------------------------------------------------------------- the way


def argv(names: tuple[str, ...]) -> tuple[str, ...]:
    return ("/opt/py thon", "-m", "relay", ",".join(names), "it's $HOME; `rm`")


NAMED = Allocation(engine="", job="", hosts=("node1", "node2", "node3"))


def test_hosts_by_name_are_reached_by_ssh_one_by_one_and_the_own_one_directly() -> None:
    found = launchers.reach(argv, host(name="node1"), NAMED, NAMED.hosts, environment={"PYTHONPATH": "/a b"}, build={})
    assert [(one.hosts, one.launcher.name) for one in found] == [
        (("node1",), "local"),
        (("node2",), "ssh"),
        (("node3",), "ssh"),
    ]
    words = found[1].argv
    assert {"BatchMode=yes", "ConnectTimeout=10"} <= set(words) and words[-3:-1] == ("--", "node2")
    assert words[-1] == ("exec env 'PYTHONPATH=/a b' '/opt/py thon' -m relay node2 'it'\"'\"'s $HOME; `rm`'"), (
        "every word arrives as it is, whatever the login shell"
    )


def test_another_way_to_hosts_is_started_as_ssh_is() -> None:
    (found,) = launchers.reach(
        argv, host(name="node1"), NAMED, ("node2",), environment={"SHAKEDOWN_RSH": "/opt/rsh -q"}, build={}
    )
    assert found.argv[:3] == ("/opt/rsh", "-q", "node2")


def test_a_name_that_ssh_would_take_for_an_option_is_refused() -> None:
    for name in ("-oProxyCommand=x", "a b", "", "a;b", "$(x)"):
        with pytest.raises(BadInput, match="is not a valid host name"):
            ssh.check_name(name)
    assert ssh.check_name("node-1.cluster.example") and ssh.check_name("fd77::b") and ssh.check_name("10.0.0.7")


def test_an_engine_starts_what_runs_in_its_allocations() -> None:
    slurm = Allocation(engine="slurm", job="7", hosts=NAMED.hosts)
    (one,) = launchers.reach(argv, host(name="node1"), slurm, slurm.hosts, environment={}, build={})
    assert one.argv[0] == "srun" and "--input=all" in one.argv and one.launcher.fed
    pe = Allocation(engine="gridengine", job="7", hosts=NAMED.hosts)
    with pytest.raises(Unavailable, match="a batch engine starts what runs in its allocations"):
        launchers.reach(argv, host(name="node1"), pe, pe.hosts, environment={}, build={})
    (one,) = launchers.reach(argv, host(name="node1", software=(OPEN_MPI,)), pe, pe.hosts, environment={}, build={})
    assert one.launcher.name == "mpirun" and not one.launcher.fed


def test_what_a_launcher_told_the_relay_is_not_told_to_programs() -> None:
    own = (
        "SLURM_STEP_ID",
        "SLURM_STEPID",
        "SLURM_PROCID",
        "PMIX_RANK",
        "PMI_FD",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_MCA_ess",
    )
    users = ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "OMPI_MCA_btl", "OMPI_ALLOW_RUN_AS_ROOT", "PATH", "OMP_NUM_THREADS")
    assert all(agent._OWN.match(name) for name in own) and not any(agent._OWN.match(name) for name in users)
