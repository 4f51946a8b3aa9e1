"""The verbs of `shakedown health`, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shakedown.cli.health import app
from shakedown.errors import BadInput, CannotMeasure, ShakedownError
from shakedown.operate.health import calling, plan, state
from shakedown.operate.health.records import Exposure, KeptState, Occasion


@pytest.fixture
def thufir(recordings: Path) -> str:
    return str(recordings / "health/thufir-node")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir(mode=0o755)
    return made


def call(*words: str) -> Result:
    """What a call prints, with its exit code; raises what the entry point would show."""
    done = CliRunner().invoke(app, list(words))
    if isinstance(done.exception, ShakedownError):
        raise done.exception
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_check_is_what_is_done_without_a_verb(thufir: str) -> None:
    for words in ((), ("check",)):
        done = call(*words, "--root", thufir, "--state", "none", "--json")
        assert done.exit_code == 1 and json.loads(done.stdout)["severity"] == "CRITICAL"
    done = call("cpu", "--root", thufir, "--state", "none", "--all")
    assert done.exit_code == 0 and "sockets: 2" in done.stdout


def test_a_plan_is_learnt_from_a_node_that_is_well(thufir: str, tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="not healthy"):
        call("learn", "--root", thufir)
    file = tmp_path / "health.toml"
    done = call("learn", "--root", thufir, "--anyway", "--match", "thufirg-*", "-o", str(file))
    assert done.exit_code == 0 and done.stdout == ""
    learnt = plan.parse(file.read_text(), str(file), "thufirg-0001", calling.names())
    assert learnt.sections["cpu"] == {"sockets": 2, "cores": 24, "cpus": 24}
    with pytest.raises(BadInput, match="cannot be written"):
        call("learn", "--root", thufir, "--anyway", "-o", str(file))
    assert json.loads(call("learn", "--root", thufir, "--anyway", "--json").stdout)["cpu"]["sockets"] == 2


def test_a_recorded_log_is_explained(recordings: Path, tmp_path: Path) -> None:
    done = call("log", str(recordings / "health/dmesg-with-xid-119.log"))
    assert done.exit_code == 1 and "GPU 0000:9b:00 Xid 119" in done.stdout and "next: drain" in done.stdout
    told = json.loads(call("log", "--json", str(recordings / "health/dmesg-with-xid-119.log")).stdout)
    assert [one["severity"] for one in told if "Xid" in one["item"]] == ["CRITICAL"]
    quiet = tmp_path / "dmesg"
    quiet.write_text("[    1.000000] Linux version 6.1\n")
    done = call("log", str(quiet))
    assert done.exit_code == 0 and "1 line, 0 kinds" in done.stdout
    with pytest.raises(BadInput, match="cannot be read"):
        call("log", str(tmp_path / "none"))


def faults(folder: Path, host: str, *states: str) -> None:
    busy, idle = "gpus=4/4 cpu=low", "gpus=0/4 cpu=low"
    told = [
        {"kind": "xid", "code": 79, "item": "GPU 0000:11:00", "first_s": 9.0 * n, "last_s": 9.0 * n, "load": one}
        for n, one in enumerate(states)
    ]
    kept = KeptState(
        host=host,
        checks={"kernellog": {"occasions": told}},
        exposure=Exposure(since_s=1.0, seconds={busy: 36000.0, idle: 144000.0}),
    )
    state.write(str(folder / f"{host}.json"), kept)


def test_faults_are_laid_beside_load_over_one_node_and_several(folder: Path) -> None:
    faults(folder, "n1", *["gpus=4/4 cpu=low"] * 3)
    faults(folder, "n2", "gpus=0/4 cpu=low")
    done = call("correlate", "--state", str(folder), "--host", "n1")
    assert (
        "Xid 79 on 3 of 3 occasions while 4 of 4 GPUs busy (10.0 h), 0 in 40.0 h otherwise (p = 0.008)" in done.stdout
    )
    assert "more often then than otherwise" in done.stdout
    both = json.loads(call("correlate", str(folder / "n1.json"), str(folder / "n2.json"), "--json").stdout)
    assert [(one["inside"], one["outside"], one["inside_h"]) for one in both if "GPUs" in one["load"]] == [(3, 1, 20.0)]
    with pytest.raises(BadInput, match="is not there"):
        call("correlate", "--state", str(folder), "--host", "n3")


def test_a_fault_that_was_seen_to_is_cleared(folder: Path) -> None:
    faults(folder, "n1", "gpus=4/4 cpu=low")
    done = call("clear", "xid 79", "--state", str(folder), "--host", "n1")
    assert done.stdout == "cleared: GPU 0000:11:00 Xid 79\n"
    kept = state.read(str(folder / "n1.json"))
    assert kept is not None and kept.checks["kernellog"]["occasions"][0]["cleared"] is True
    with pytest.raises(BadInput, match="no fault in force"):
        call("clear", "all", "--state", str(folder), "--host", "n1")
    with pytest.raises(BadInput, match="no state"):
        call("clear", "all", "--state", "none")
    assert Occasion(**kept.checks["kernellog"]["occasions"][0]).cleared


def test_the_checks_are_listed_with_the_keys_of_a_plan() -> None:
    told = {one["name"]: one["keys"] for one in json.loads(call("list", "--json").stdout)}
    assert set(told) == set(calling.names()) and "pcie_width" in told["gpus"]
    assert "pcie_width" in call("list").stdout


def test_the_wrapper_is_written_where_only_root_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.operate.health.wrapper.writable", lambda path: "")
    file = tmp_path / "healthcheck"
    call("wrapper", "-o", str(file), "--plan", "/etc/h.toml", "--resume", "--prometheus", "/x.prom")
    assert file.stat().st_mode & 0o777 == 0o755
    assert "--plan /etc/h.toml --drain slurm --resume --prometheus /x.prom" in file.read_text()
    assert "--drain" not in call("wrapper", "--no-drain").stdout
    with pytest.raises(BadInput, match="--resume needs --drain"):
        call("wrapper", "--no-drain", "--resume")
    monkeypatch.undo()
    tmp_path.chmod(0o777)
    with pytest.raises(BadInput, match="others may change"):
        call("wrapper", "-o", str(tmp_path / "another"))
