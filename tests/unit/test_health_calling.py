"""A whole call: children that hang or die, what is kept, the plan, the words of the command."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from shakedown.cli import health as verb
from shakedown.errors import BadInput
from shakedown.operate.health import __main__ as quick
from shakedown.operate.health import calling, children, clearing, command, exposure, plan, state, wrapper
from shakedown.operate.health.calling import Asked
from shakedown.operate.health.children import Gone, Task
from shakedown.operate.health.records import Exposure, Kept, Occasion, Stuck


@pytest.fixture
def folder(tmp_path: Path) -> str:
    made = tmp_path / "state"
    made.mkdir(mode=0o755)
    return str(made)


@pytest.fixture
def thufir(recordings: Path) -> str:
    return str(recordings / "health/thufir-node")


# -------------------------------------------------------------------------------------------------------------- children


def test_children_answer_and_more_tasks_come_of_answers() -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        return f"{task.check}{task.part}".encode() * 50_000  # more than a pipe holds

    def more(task: Task, data: bytes) -> list[Task]:
        return [Task("a", "1"), Task("a", "2")] if task == Task("a") else []

    found = children.run([Task("a"), Task("b")], work, 10.0, more)
    assert {task: len(data) for task, data in found.items() if isinstance(data, bytes)} == {
        Task("a"): 50_000,
        Task("b"): 50_000,
        Task("a", "1"): 100_000,
        Task("a", "2"): 100_000,
    }


def test_a_child_that_reads_a_device_that_says_nothing_is_named_and_ended(tmp_path: Path) -> None:
    fifo = str(tmp_path / "device")
    os.mkfifo(fifo)

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "well":
            return b"yes"
        note(f"reading {fifo}")
        return Path(fifo).read_bytes()

    found = children.run([Task("stuck"), Task("well")], work, 0.5)
    assert found[Task("well")] == b"yes"
    gone = found[Task("stuck")]
    assert isinstance(gone, Gone) and gone.why == "no answer within 0.5 s" and gone.touched == f"reading {fifo}"
    assert gone.started == "" and not Path(f"/proc/{gone.pid}").exists()


def test_all_that_hang_do_not_keep_the_others_from_being_begun(tmp_path: Path) -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "stuck":
            time.sleep(60)
        return b"yes"

    tasks = [Task("stuck", str(n)) for n in range(2 * children.AT_ONCE)] + [Task("well", str(n)) for n in range(5)]
    found = children.run(tasks, work, 1.2)
    assert [found[task] for task in tasks if task.check == "well"] == [b"yes"] * 5


def zombies() -> set[int]:
    """The children of this process that have ended and were not waited for."""
    found = set()
    for word in filter(str.isdigit, os.listdir("/proc")):
        fields = children._stat(int(word))
        if fields and fields[0] == "Z" and fields[1] == str(os.getpid()):
            found.add(int(word))
    return found


def test_what_was_given_up_and_ends_later_leaves_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that no signal ends while the call lasts, as one that hangs in a driver, and one that is slow to end."""
    before = zombies()

    def never(pid: int, number: int) -> None:
        pass

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "stuck":
            time.sleep(600)
        return b"yes"

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", never)
        patched.setattr(os, "killpg", never)
        gone = children.run([Task("stuck"), Task("well")], work, 0.3)[Task("stuck")]
    assert isinstance(gone, Gone) and gone.started, "it is still there"
    os.kill(gone.pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while gone.pid not in zombies() and time.monotonic() < until:
        time.sleep(0.01)
    assert gone.pid in zombies(), "it has ended, and nobody has waited for it yet"
    assert children.run([Task("well")], work, 5.0) == {Task("well"): b"yes"}
    children.reap()
    assert zombies() <= before and not Path(f"/proc/{gone.pid}").exists()


def test_a_child_that_dies_is_told() -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        note("the driver's library")
        os.kill(os.getpid(), signal.SIGSEGV)
        return b""

    gone = children.run([Task("a")], work, 5.0)[Task("a")]
    assert isinstance(gone, Gone) and "without an answer" in gone.why and gone.touched == "the driver's library"


def test_whatever_a_child_starts_ends_with_it() -> None:
    reader, writer = os.pipe()

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        child = subprocess.Popen(["sleep", "600"])
        note(str(child.pid))
        time.sleep(600)
        return b""

    gone = children.run([Task("a")], work, 0.7)[Task("a")]
    os.close(reader)
    os.close(writer)
    assert isinstance(gone, Gone)
    pid = int(gone.touched)
    for _ in range(200):
        if children.started(pid) is None:
            return
        time.sleep(0.02)
    pytest.fail("what it started still runs")


def test_a_program_that_outlives_its_child_is_what_is_named() -> None:
    """As nvidia-smi does that hangs in the driver: here one that leaves the group's leader, which ends at once."""

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        subprocess.Popen(["sleep", "600"])
        os._exit(1)

    gone = children.run([Task("a")], work, 5.0)[Task("a")]
    assert isinstance(gone, Gone) and gone.started
    try:
        assert Path(f"/proc/{gone.pid}/comm").read_text() == "sleep\n"
    finally:
        os.kill(gone.pid, signal.SIGKILL)


def test_an_answer_that_breaks_off_is_none() -> None:
    code = """
import os
from shakedown.operate.health import children
write = os.write
def torn(descriptor, data):
    write(descriptor, data[:20])
    os._exit(0)
children.os.write = torn
print(children.run([children.Task("a")], lambda task, note: b"x" * 100, 5.0)[children.Task("a")].why)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "its child ended without an answer\n"


def test_our_output_ends_though_a_child_is_left_behind(tmp_path: Path) -> None:
    """Whoever reads what we print must see its end, though a child of ours cannot end: here, one that was not killed."""
    code = """
import os, sys, time
from shakedown.operate.health import children
children.os.kill = children.os.killpg = lambda pid, number: None
found = children.run([children.Task("a")], lambda task, note: time.sleep(30), 0.3)
print(found[children.Task("a")].pid, found[children.Task("a")].started != "")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    pid, left = done.stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    assert left == "True"


# ------------------------------------------------------------------------------------------------------ calls and states


def test_a_recorded_node_is_told_of_as_it_is(thufir: str) -> None:
    report, _, why = calling.carry_out(Asked(root=thufir, state="none", host="thufirg-0001"))
    wrong = {(one.check, one.item): one.severity for one in report.findings if one.severity != "OK"}
    assert wrong == {
        ("ecc", "CPU1_DIMM_C1 corrected"): "WARNING",
        ("gpus", "driver"): "UNKNOWN",
        ("infiniband", "mlx4_0:1 symbol_error"): "UNKNOWN",
        ("kernellog", "GPU 0000:11:00 Xid 79"): "CRITICAL",
        ("kernellog", "GPU 0000:11:00 gpu-lost"): "CRITICAL",
        ("mounts", "/panfs"): "CRITICAL",
        ("mounts", "/scratch"): "CRITICAL",
        ("mounts", "/scratch inodes"): "WARNING",
        ("thermal", "k10temp temp1"): "WARNING",
        ("thermal", "w83795g fan1"): "CRITICAL",
        ("thermal", "w83795g temp1"): "UNKNOWN",
    }
    assert set(report.absent) == {"daemons", "ethernet", "processes"}
    assert report.severity == "CRITICAL" and report.exit_code == 1 and why == "as asked"


def test_faults_are_kept_and_lines_do_not_count_twice(thufir: str, folder: str) -> None:
    asked = Asked(root=thufir, state=folder, host="n1", now_s=1_700_000_000.0)
    _, first, _ = calling.carry_out(asked)
    report, second, _ = calling.carry_out(msgspec.structs.replace(asked, now_s=1_700_000_060.0))
    assert clearing.occasions(first) == clearing.occasions(second) != ()
    assert "read, 0 new lines" in {one.what for one in report.findings}
    assert len(second.verdicts) == 2 and second.exposure.seconds == {"cpu=high": 60.0}
    assert any("Xid 79" in one.item for one in report.findings)


def test_a_fault_knows_what_the_node_was_doing(thufir: str, folder: str) -> None:
    now_s = 1_700_000_000.0  # the recorded GPU fell off the bus 14 400 s before
    busy = exposure.word({"gpus": 4, "gpus_busy": 4})
    before = exposure.advance(Exposure(), now_s - 14500, busy, None, "4 of 4 GPUs busy, GPUs at 900 W")
    state.write(f"{folder}/n1.json", Kept(host="n1", exposure=before))
    report, kept, _ = calling.carry_out(Asked(root=thufir, state=folder, host="n1", now_s=now_s))
    (xid,) = (one for one in clearing.occasions(kept) if one.kind == "xid")
    assert xid.load == "gpus=4/4"
    (found,) = (one for one in report.findings if one.item == "GPU 0000:11:00 Xid 79")
    assert found.what.endswith("the node: 4 of 4 GPUs busy, GPUs at 900 W, 100 s before")


def test_a_call_for_one_check_confirms_nothing(thufir: str, folder: str) -> None:
    calling.carry_out(Asked(root=thufir, state=folder, host="n1"))
    report, kept, _ = calling.carry_out(Asked(root=thufir, state=folder, host="n1", checks=("cpu",)))
    assert {one.check for one in report.findings} == {"cpu"} and len(kept.verdicts) == 1
    with pytest.raises(BadInput, match="unknown check 'cpus'"):
        calling.carry_out(Asked(checks=("cpus",), state="none"))


def test_a_state_that_is_damaged_is_told_and_mended(thufir: str, folder: str) -> None:
    Path(folder, "n1.json").write_text('{"schema": 1, "host"')
    asked = Asked(root=thufir, state=folder, host="n1", checks=("cpu",))
    report, _, _ = calling.carry_out(asked)
    assert ("state", "UNKNOWN") in {(one.check, one.severity) for one in report.findings} and report.exit_code == 3
    report, _, _ = calling.carry_out(asked)
    assert report.exit_code == 0


def test_a_state_that_hangs_is_told_and_left(thufir: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "read", lambda file: time.sleep(60))
    monkeypatch.setattr(calling, "STATE_LIMIT_S", 0.2)
    report, _, why = calling.carry_out(Asked(root=thufir, state=folder, host="n1", checks=("cpu",)))
    (one,) = (one for one in report.findings if one.check == "state")
    assert one.severity == "UNKNOWN" and "no answer within 0.2 s" in one.what and "cannot be read" in why
    assert list(Path(folder).iterdir()) == []


def test_another_call_at_work_keeps_the_state(thufir: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LOCK_S", 0.05)
    with open(f"{folder}/n1.json.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        report, _, why = calling.carry_out(Asked(root=thufir, state=folder, host="n1", checks=("cpu",)))
    assert report.findings and "another call" in why and not Path(folder, "n1.json").exists()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(BadInput, match="others may write"):
        calling.carry_out(Asked(state=str(tmp_path), checks=("cpu",)))


def test_what_hung_in_an_earlier_call_is_told_and_not_begun_again(thufir: str, folder: str) -> None:
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        started = children.started(sleeper.pid)
        assert started is not None
        held = [
            Stuck(check="cpu", pid=sleeper.pid, started=started, since_s=1.0, touched="reading /x", severity="UNKNOWN"),
            Stuck(check="load", pid=sleeper.pid, started="1", since_s=1.0),  # another process has the number now
        ]
        state.write(f"{folder}/n1.json", Kept(host="n1", stuck=tuple(held)))
        asked = Asked(root=thufir, state=folder, host="n1", checks=("cpu", "load"), now_s=61.0)
        report, kept, _ = calling.carry_out(asked)
        (cpu,) = (one for one in report.findings if one.check == "cpu")
        assert "hangs in the kernel for 60 s: reading /x" in cpu.what and str(sleeper.pid) in cpu.what
        assert cpu.severity == "UNKNOWN" and kept.stuck == (held[0],)
        assert [one.severity for one in report.findings if one.check == "load"] == ["OK"]
    finally:
        sleeper.kill()
        sleeper.wait()
    report, kept, _ = calling.carry_out(asked)
    assert {one.severity for one in report.findings} == {"OK"} and kept.stuck == ()


def test_a_device_that_hangs_is_told_within_the_limit(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sys/class/hwmon/hwmon0").mkdir(parents=True)
    os.mkfifo(root / "sys/class/hwmon/hwmon0/name")
    (root / "proc").mkdir()
    (root / "proc/loadavg").write_text("0 0 0 1/1 1\n")
    report, _, _ = calling.carry_out(Asked(root=str(root), state="none", checks=("thermal", "load"), limit_s=1.0))
    found = {one.check: one for one in report.findings}
    assert found["thermal"].severity == "UNKNOWN" and found["load"].severity == "OK"
    assert "while reading /sys/class/hwmon/hwmon0/name" in found["thermal"].what


# ------------------------------------------------------------------------------------------------------------------ plan

PLAN = """
schema = 1
[[hosts]]
skip = ["load"]
[hosts.cpu]
sockets = 2
cores = 24
[[hosts]]
match = ["thufirg-*", "gpu[01-16]"]
[hosts.cpu]
cores = 48
[hosts.drain]
confirm = "1/1"
[[hosts]]
match = "other"
[hosts.cpu]
sockets = 9
"""


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("*", "n1", True),
        ("thufirg-*", "thufirg-0001.arl.mil", True),
        ("gpu[01-16]", "gpu07", True),
        ("gpu[01-16]", "gpu7", False),
        ("n1,n2", "n2", True),
        ("n1", "n1.example.org", True),
        ("n1.example.org", "n1.example.org", True),
        ("n?", "n12", False),
    ],
)
def test_patterns_of_hosts(pattern: str, host: str, expected: bool) -> None:
    assert plan.matches(pattern, host) is expected


def test_a_later_table_holds_over_an_earlier_one() -> None:
    one = plan.parse(PLAN, "health.toml", "gpu03", calling.names())
    assert one.sections == {"cpu": {"sockets": 2, "cores": 48}} and one.skip == ("load",)
    assert one.drain.counts == (1, 1) and one.matched == ("*", "gpu[01-16]")
    assert plan.parse(PLAN, "health.toml", "login", calling.names()).drain.counts == (2, 3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "'schema' must be 1"),
        ("schema = 2", "'schema' must be 1"),
        ("schema = 1\nhost = []", "unknown key 'host'"),
        ("schema = 1\n[[hosts]]\nskip = ['gpuz']", "unknown check 'gpuz'"),
        ("schema = 1\n[[hosts]]\n[hosts.gpuz]", "unknown key 'gpuz'"),
        ("schema = 1\n[[hosts]]\nmatch = 3", "must be a list"),
        ("schema = 1\n[[hosts]]\n[hosts.drain]\nconfirm = '3/2'", "not of the form k/n"),
        ("schema = 1\n[[hosts]]\n[hosts.drain]\nconform = '1/2'", "unknown key 'conform'"),
        ("schema = 1\n[[hosts]\n", "is not TOML"),
    ],
)
def test_a_plan_that_is_wrong_is_refused(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        plan.parse(text, "health.toml", "n1", calling.names())


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("[hosts.cpu]\nsocket = 2", "unknown key 'socket'", "sockets"),
        ("[hosts.cpu]\nsockets = 'two'", "Expected `int \\| null`", "docs/health.md"),
        ("[hosts.memory]\ntotal = '256 gigs'", "unknown unit 'gigs'", "docs/health.md"),
        ("[hosts.mounts]\nmounts = [{ path = '/', free = 'much' }]", "does not begin with a number", "docs/health.md"),
    ],
)
def test_a_key_of_a_check_that_is_wrong_is_named(tmp_path: Path, thufir: str, words: str, what: str, hint: str) -> None:
    file = tmp_path / "health.toml"
    file.write_text(f"schema = 1\n[[hosts]]\n{words}\n")
    with pytest.raises(BadInput, match=what) as caught:
        calling.carry_out(Asked(plan=str(file), root=thufir, state="none"))
    assert hint in str(caught.value) and str(file) in str(caught.value)


def test_a_plan_that_is_learnt_is_one_that_its_node_meets(tmp_path: Path, thufir: str) -> None:
    learnt, _, _ = calling.carry_out(Asked(root=thufir, state="none", host="n1"))
    text = plan.write(learnt.learnt, ["n*"], "a heading\nof two lines")
    file = tmp_path / "health.toml"
    file.write_text(text)
    again, _, _ = calling.carry_out(Asked(root=thufir, state="none", host="n1", plan=str(file)))
    worse = {one.key for one in again.findings if one.severity != "OK"} - {
        one.key for one in learnt.findings if one.severity != "OK"
    }
    assert worse == set() and "sockets = 2" in text and '[[hosts.infiniband.ports]]\nname = "mlx4_0:1"' in text
    (tmp_path / "health.toml").write_text(text.replace("sockets = 2", "sockets = 4"))
    worse_now, _, _ = calling.carry_out(Asked(root=thufir, state="none", host="n1", plan=str(file)))
    assert "cpu:sockets" in {one.key for one in worse_now.findings if one.severity == "CRITICAL"}


def test_any_text_goes_through_a_plan() -> None:
    value = {"a b": {'q"\\\n\x7f\u2028': ["ä", 1, 2.5, True], "table": [{"x": 1}, {"x": {"y": "z"}}]}}
    assert tomllib.loads(plan.write(value, ["*", "n'"], "a")) == {
        "schema": 1,
        "hosts": [{"match": ["*", "n'"], **value}],
    }


# --------------------------------------------------------------------------------------------------------------- command


def test_the_quick_entry_and_the_verb_take_the_same_words() -> None:
    check = typer.main.get_command(verb.app).commands["check"]  # type: ignore[attr-defined]
    theirs = {word for one in check.params for word in one.opts if word.startswith("--")} | {"--help"}
    ours = {word for one in quick.parser()._actions for word in one.option_strings if word.startswith("--")}
    assert ours - {"--version"} == theirs


def test_what_follows_health_is_a_check_unless_it_is_another_verb() -> None:
    commands = set(typer.main.get_command(verb.app).commands)  # type: ignore[attr-defined]
    assert set(quick.VERBS) == commands - {"check"}
    assert quick.check_words([]) == [] and quick.check_words(["gpus", "--json"]) == ["gpus", "--json"]
    assert quick.check_words(["check", "--all"]) == ["--all"] and quick.check_words(["--nagios"]) == ["--nagios"]
    assert quick.check_words(["learn"]) is None and quick.check_words(["gpus", "--help"]) is None


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = quick.main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_exit_codes_and_outputs(capsys: pytest.CaptureFixture[str], thufir: str, tmp_path: Path) -> None:
    common = ("--root", thufir, "--state", "none")
    code, out, _ = run(capsys, *common)
    assert code == 1 and "next: " in out and "OK " not in out
    code, out, _ = run(capsys, *common, "--nagios")
    assert code == 2 and out.startswith("SHAKEDOWN CRITICAL - ")
    code, out, _ = run(capsys, *common, "--json", "--prometheus", str(tmp_path / "x.prom"))
    assert code == 1 and json.loads(out)["severity"] == "CRITICAL" and (tmp_path / "x.prom").read_text()
    code, out, _ = run(capsys, *common, "gpus")
    assert code == 3
    code, out, _ = run(capsys, *common, "cpu", "--all")
    assert code == 0 and "logical CPUs online: 24" in out


def test_a_mistake_is_told_in_the_way_of_the_caller(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--plan", "/no/such", "--nagios")[:2] == (
        3,
        "SHAKEDOWN UNKNOWN - /no/such: cannot be read: No such file or directory next: give the path of a file that can "
        "be read\n",
    )
    code, out, err = run(capsys, "--plan", "/no/such")
    assert code == 2 and out == "" and "next:" in err
    for words in (("--resume",), ("--nagios", "--json"), ("--drain", "slurm", "gpus"), ("--drain", "lsf")):
        assert run(capsys, *words)[0] in (2, 3)


def test_a_drain_that_fails_is_told_and_the_rest_is_kept(
    folder: str, monkeypatch: pytest.MonkeyPatch, thufir: str
) -> None:
    monkeypatch.setenv("PATH", "")  # no engine here
    how = command.How(drain="slurm", node="n1")
    monkeypatch.setattr(calling, "names", lambda: ("uptime",))
    report = command.carry_out(Asked(state=folder, host="n1"), how)
    (drained,) = (one for one in report.findings if one.check == "drain")
    assert "the engine knows no such node" in drained.what
    kept = state.read(f"{folder}/n1.json")
    assert kept is not None and len(kept.verdicts) == 1


def test_faults_are_cleared_by_their_names(thufir: str, folder: str) -> None:
    asked = Asked(root=thufir, state=folder, host="n1")
    _, kept, _ = calling.carry_out(asked)
    with pytest.raises(BadInput, match="no fault in force is called xid 48") as caught:
        clearing.clear(kept, ["xid 48"])
    assert "GPU 0000:11:00 Xid 79" in str(caught.value)
    cleared, names = clearing.clear(kept, ["0000:11:00"])
    assert names == ("GPU 0000:11:00 Xid 79", "GPU 0000:11:00 gpu-lost")
    state.write(f"{folder}/n1.json", cleared)
    report, _, _ = calling.carry_out(asked)
    assert not any("0000:11:00" in one.item for one in report.findings)


def test_the_wrapper_names_everything_in_full_and_refuses_what_others_may_change(tmp_path: Path) -> None:
    text = wrapper.script(["--drain", "slurm", "--plan", "/a b'c"], "/etc/slurm conf", package="/usr/lib")
    done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
    assert "PATH=/usr/sbin" in text and "SLURM_CONF='/etc/slurm conf'" in text and " -I -c " in text
    shown = text.replace(sys.executable, "printf").replace(" -I -c ", " '%s|' ")
    words = subprocess.run(
        ["sh", "-c", shown], env={"SLURMD_NODENAME": "n1"}, capture_output=True, text=True, check=True
    )
    assert words.stdout.split("|")[1:] == ["--drain", "slurm", "--plan", "/a b'c", "--node", "n1", ""]
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    with pytest.raises(BadInput, match="others may change what root would run"):
        wrapper.script([], package=str(open_folder))


def test_a_plain_call_loads_nothing_heavy() -> None:
    code = (
        "import sys; from shakedown.operate.health import __main__ as m; "
        "m.main(['--state', 'none', '--plan', 'none', '--nagios']); print('\\n', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("\n")[-2].split())
    assert not {"numpy", "typer", "duckdb", "tomllib", "subprocess", "importlib.metadata", "pydantic"} & loaded


def test_occasions_of_a_state_are_read(folder: str) -> None:
    kept = Kept(host="n", checks={"kernellog": {"occasions": [{"kind": "xid", "first_s": 1.0, "last_s": 2.0}]}})
    assert clearing.occasions(kept) == (Occasion(kind="xid", first_s=1.0, last_s=2.0),)
    file: Any = f"{folder}/n.json"
    state.write(file, kept)
    assert state.read(file) == kept and Path(file).stat().st_mode & 0o777 == 0o600
