"""A whole call: what is kept, the plan, the words of the command."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from shakedown.cli import health as verb
from shakedown.errors import BadInput
from shakedown.operate.health import __main__ as quick
from shakedown.operate.health import calling, children, clearing, command, exposure, plan, state, wrapper
from shakedown.operate.health.calling import HealthOptions
from shakedown.operate.health.records import Exposure, KeptState, Occasion, Stuck


def options(**asked: Any) -> HealthOptions:
    """Where nothing hangs a long limit costs nothing, and no busy machine is taken for a check that hangs."""
    return HealthOptions(**{"limit_s": 300.0, **asked})


@pytest.fixture(autouse=True)
def _long_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "STATE_LIMIT_S", 300.0)
    monkeypatch.setattr(state, "LOCK_S", 300.0)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    made = tmp_path / "state"
    made.mkdir(mode=0o755)
    return str(made)


@pytest.fixture
def thufir(recordings: Path) -> str:
    return str(recordings / "health/thufir-node")


# ------------------------------------------------------------------------------------------------------ calls and states


def test_a_recorded_node_is_told_of_as_it_is(thufir: str) -> None:
    report, _, why = calling.carry_out(options(root=thufir, state="none", host="thufirg-0001"))
    wrong = {(one.check, one.item): one.severity for one in report.findings if one.severity != "OK"}
    # A new check says UNKNOWN of what the recording does not hold: that belongs here.
    assert wrong == {
        ("ecc", "CPU1_DIMM_C1 corrected"): "WARNING",
        ("gpus", "driver"): "UNKNOWN",
        ("infiniband", "mlx4_0:1 symbol_error"): "UNKNOWN",
        ("kerneltables", "files"): "UNKNOWN",  # the recording is older than the check, and does not hold them
        ("kerneltables", "tasks"): "UNKNOWN",
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
    asked = options(root=thufir, state=folder, host="n1", now_s=1_700_000_000.0)
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
    state.write(f"{folder}/n1.json", KeptState(host="n1", exposure=before))
    report, kept, _ = calling.carry_out(options(root=thufir, state=folder, host="n1", now_s=now_s))
    (xid,) = (one for one in clearing.occasions(kept) if one.kind == "xid")
    assert xid.load == "gpus=4/4"
    (found,) = (one for one in report.findings if one.item == "GPU 0000:11:00 Xid 79")
    assert found.what.endswith("the node: 4 of 4 GPUs busy, GPUs at 900 W, 100 s before")


def test_a_call_for_one_check_confirms_nothing(thufir: str, folder: str) -> None:
    calling.carry_out(options(root=thufir, state=folder, host="n1"))
    report, kept, _ = calling.carry_out(options(root=thufir, state=folder, host="n1", checks=("cpu",)))
    assert {one.check for one in report.findings} == {"cpu"} and len(kept.verdicts) == 1
    with pytest.raises(BadInput, match="unknown check 'cpus'"):
        calling.carry_out(options(checks=("cpus",), state="none"))


def test_a_state_that_is_damaged_is_told_and_mended(thufir: str, folder: str) -> None:
    Path(folder, "n1.json").write_text('{"schema": 1, "host"')
    asked = options(root=thufir, state=folder, host="n1", checks=("cpu",))
    report, _, _ = calling.carry_out(asked)
    assert ("state", "UNKNOWN") in {(one.check, one.severity) for one in report.findings} and report.exit_code == 3
    report, _, _ = calling.carry_out(asked)
    assert report.exit_code == 0


def test_a_state_that_hangs_is_told_and_left(thufir: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "read", lambda file: time.sleep(60))
    monkeypatch.setattr(calling, "STATE_LIMIT_S", 0.2)
    report, _, why = calling.carry_out(options(root=thufir, state=folder, host="n1", checks=("cpu",)))
    (one,) = (one for one in report.findings if one.check == "state")
    assert one.severity == "UNKNOWN" and "no answer within 0.2 s" in one.what and "cannot be read" in why
    assert list(Path(folder).iterdir()) == []


def test_another_call_at_work_keeps_the_state(thufir: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LOCK_S", 0.05)
    with open(f"{folder}/n1.json.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        report, _, why = calling.carry_out(options(root=thufir, state=folder, host="n1", checks=("cpu",)))
    assert report.findings and "another call" in why and not Path(folder, "n1.json").exists()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(BadInput, match="others may write"):
        calling.carry_out(options(state=str(tmp_path), checks=("cpu",)))


def test_what_hung_in_an_earlier_call_is_told_and_not_begun_again(thufir: str, folder: str) -> None:
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        started = children.started(sleeper.pid)
        assert started is not None
        held = [
            Stuck(check="cpu", pid=sleeper.pid, started=started, since_s=1.0, touched="reading /x", severity="UNKNOWN"),
            Stuck(check="load", pid=sleeper.pid, started="1", since_s=1.0),  # another process has the number now
        ]
        state.write(f"{folder}/n1.json", KeptState(host="n1", stuck=tuple(held)))
        asked = options(root=thufir, state=folder, host="n1", checks=("cpu", "load"), now_s=61.0)
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
    report, _, _ = calling.carry_out(options(root=str(root), state="none", checks=("thermal", "load"), limit_s=5.0))
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
        calling.carry_out(options(plan=str(file), root=thufir, state="none"))
    assert hint in str(caught.value) and str(file) in str(caught.value)


def test_a_plan_that_is_learnt_is_one_that_its_node_meets(tmp_path: Path, thufir: str) -> None:
    learnt, _, _ = calling.carry_out(options(root=thufir, state="none", host="n1"))
    text = plan.write(learnt.learnt, ["n*"], "a heading\nof two lines")
    file = tmp_path / "health.toml"
    file.write_text(text)
    again, _, _ = calling.carry_out(options(root=thufir, state="none", host="n1", plan=str(file)))
    worse = {one.key for one in again.findings if one.severity != "OK"} - {
        one.key for one in learnt.findings if one.severity != "OK"
    }
    assert worse == set() and "sockets = 2" in text and '[[hosts.infiniband.ports]]\nname = "mlx4_0:1"' in text
    (tmp_path / "health.toml").write_text(text.replace("sockets = 2", "sockets = 4"))
    worse_now, _, _ = calling.carry_out(options(root=thufir, state="none", host="n1", plan=str(file)))
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
    report = command.carry_out(options(state=folder, host="n1"), how)
    (drained,) = (one for one in report.findings if one.check == "drain")
    assert "the engine knows no such node" in drained.what
    kept = state.read(f"{folder}/n1.json")
    assert kept is not None and len(kept.verdicts) == 1


def test_faults_are_cleared_by_their_names(thufir: str, folder: str) -> None:
    asked = options(root=thufir, state=folder, host="n1")
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
    kept = KeptState(host="n", checks={"kernellog": {"occasions": [{"kind": "xid", "first_s": 1.0, "last_s": 2.0}]}})
    assert clearing.occasions(kept) == (Occasion(kind="xid", first_s=1.0, last_s=2.0),)
    file: Any = f"{folder}/n.json"
    state.write(file, kept)
    assert state.read(file) == kept and Path(file).stat().st_mode & 0o777 == 0o600
