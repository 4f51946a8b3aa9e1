"""Burn-in: how the end of the time is told from the death of a device, and how the workload tells of both.

The workers here are scripts that behave as busy, ill and healthy machines do; the supervisor is the real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from shakedown.operate.burnin import journal, options, report, supervise
from shakedown.operate.burnin.records import BurninPlan, BurninReport, Device, Stage
from shakedown.operate.health.node_access import NodeAccess
from shakedown.records import Job, Run
from shakedown.results import outcome

DEVICES = tuple(Device(id=f"cpu:{cpu}", title=f"CPU {cpu}", cpus=(cpu,)) for cpu in (0, 1))
#: A worker's signs of life: it has begun, and has made a product.
SIGNS = """
say('{"event": "start", "program": "burnin", "schema": 1}')
say('{"event": "beat", "stage": "product", "products": 5, "flop": 1e9, "product_s": 0.5}')
"""
HEALTHY = (
    "signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))\n"
    + SIGNS
    + "time.sleep(max(0.0, end - time.time()))\nsys.exit(0)\n"
)
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def program(folder: Path, body: str, second: str = "") -> Path:
    """An executable that behaves as ``body`` says, for the second device as ``second`` says."""
    folder.mkdir(exist_ok=True)
    path = folder / "burnin"
    path.write_text(
        f"#!{sys.executable} -S\n"
        + textwrap.dedent("""\
            import os, signal, sys, time
            words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
            end = int(words["--start"]) * 1e-9 + float(words["--seconds"])
            def say(line): print(line, flush=True)
            """)
        + f"if words['--device'] == 'cpu:1':\n{textwrap.indent(second or body, '    ')}\n{body}\n"
    )
    path.chmod(0o755)
    return path


def burn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, second: str = "", **changes: object
) -> BurninReport:
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(program(tmp_path / "bin", body, second).parent))
    monkeypatch.setattr(supervise, "_GRACE_S", 3.0)
    monkeypatch.setattr(supervise, "_LATE_S", 3.0)
    fields: dict[str, object] = {
        "version": "1",
        "host": "n1",
        "devices": DEVICES,
        "seconds": 3.0,
        "stages": (Stage(work="product", seconds=60),),
        "memory_bytes": 1 << 30,
        **changes,
    }
    planned = BurninPlan(**fields)  # type: ignore[arg-type]
    journal.create(tmp_path / "b", planned)
    found = options.carry_out(tmp_path / "b", planned, NodeAccess(str(tmp_path)), lambda text: None)
    assert options.again(tmp_path / "b") == found
    return found


@pytest.mark.parametrize("deaf", ["", DEAF])
def test_who_still_fills_its_memory_when_the_time_ends_was_not_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf: str
) -> None:
    found = burn(tmp_path, monkeypatch, f"{deaf}time.sleep(60)\n")
    assert (found.judgement, found.exit_code, found.first) == ("not tested", 3, None)
    assert found.symptoms == () and {one.judgement for one in found.devices} == {"not tested"}
    assert all("had not begun when the time ended, still filling 1 GiB" in one.why for one in found.devices)
    assert "cpu:0, cpu:1: not tested: had not begun" in report.text(found)


def test_who_began_passes_beside_who_did_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = burn(tmp_path, monkeypatch, HEALTHY, f"{DEAF}time.sleep(60)\n")
    assert [one.judgement for one in found.devices] == ["passed", "not tested"]
    assert (found.judgement, found.exit_code) == ("not tested", 3)


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSEGV"])
def test_who_dies_before_it_begins_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    found = burn(tmp_path, monkeypatch, HEALTHY, f"os.kill(os.getpid(), signal.{number})\n")
    assert [one.judgement for one in found.devices] == ["passed", "failed"]
    assert found.exit_code == 1 and found.first is not None
    assert found.first.kind == "died" and f"died during waiting: ended by {number}" in found.first.what


def test_a_crash_while_it_is_asked_to_end_is_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = "signal.signal(signal.SIGTERM, lambda *a: os.kill(os.getpid(), signal.SIGSEGV))\ntime.sleep(60)\n"
    found = burn(tmp_path, monkeypatch, HEALTHY, crash)
    assert found.exit_code == 1 and found.first is not None and "SIGSEGV" in found.first.what


def test_who_works_and_does_not_end_has_not_failed_and_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = burn(tmp_path, monkeypatch, HEALTHY, f"{DEAF}{SIGNS}time.sleep(60)\n")
    assert [one.judgement for one in found.devices] == ["passed", "unfinished"]
    assert found.exit_code == 3 and found.devices[1].symptoms == {"slow-to-end": 1}
    assert "did not end within" in found.devices[1].why


def test_who_begins_late_is_told_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = "time.sleep(max(0.0, end - 6.0 - time.time()))\n" + HEALTHY
    found = burn(tmp_path, monkeypatch, HEALTHY, late, seconds=10.0)
    assert found.judgement == "passed" and found.devices[0].symptoms == {}
    assert found.devices[1].symptoms == {"late": 1}
    assert "less --memory" in next(one.action for one in found.symptoms)


# ------------------------------------------------------------------------------------------------- as part of a campaign


def measured(tmp_path: Path, body: str, second: str = "") -> tuple[str, str]:
    """State and reason of the workload's run with these workers."""
    environment = {
        **os.environ,
        "SHAKEDOWN_NATIVE": str(program(tmp_path / "bin", body, second).parent),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    words = ["--time", "1s", "--devices", "cpu", "--memory", "0"]
    argv = (sys.executable, "-m", "shakedown.operate.burnin", *words)
    begin = time.time_ns()
    ended = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, timeout=300)
    run = Run(id="r", workload="burnin", params={}, label="", estimate_s=1, limit_s=9)
    job = Job(run="r", repeat=1, argv=argv, begin_ns=begin, end_ns=time.time_ns(), exit_code=ended.returncode)
    found = outcome.measurement(run, job, ended.stdout, ended.stderr)
    return found.state, found.reason


def test_a_device_that_dies_before_its_first_product_is_a_failure_with_its_symptom(tmp_path: Path) -> None:
    state, reason = measured(tmp_path, "sys.stderr.write('Xid 79\\n')\nos.abort()\n")
    assert state == "failed" and "its worker died during waiting: ended by SIGABRT: Xid 79" in reason, reason
    assert "no result" not in reason


def test_who_could_not_begin_is_unavailable_with_its_reason(tmp_path: Path) -> None:
    state, reason = measured(tmp_path, "sys.stderr.write('no room\\n')\nsys.exit(3)\n")
    assert state == "unavailable" and "not tested" in reason and "no room" in reason
