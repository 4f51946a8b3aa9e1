"""Spark for real: a cluster in a run, its sort and files checked, its log taken apart, nothing left. One run: each costs
a minute of a processor; what is killed in the middle is tried without Spark (tests/unit/test_workload_bigdata.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from shakedown.functional_tests.spark import node
from shakedown.hosts import process
from support.command import shakedown


@pytest.mark.slow
@pytest.mark.needs("java")
def test_a_cluster_comes_sorts_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # a Java that compiles less: half the time
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs pyspark: pip install pyspark")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ("rows=20000", "io_bytes=1000000", "cores=1", "memory=512", f"scratch={scratch}", "limit=1h")
    run = tmp_path / "run"
    done = shakedown("run", "bigdata", *words, "--directory", run, "--format", "json", limit_s=3600)
    assert done.returncode == 0, done.stderr
    findings = json.loads((run / "report.json").read_text())["findings"]
    found = {one["metric"]: one["value"] for one in findings}
    assert found["bigdata.sort.rate"] > 0 and found["bigdata.write.rate"] > 0 and found["bigdata.shuffle.write"] > 0
    (path,) = run.glob("runs/*/1/measurement.json")
    cases = json.loads(path.read_text())["cases"]
    checks = {one["kernel"]: one["residual"]["value"] for one in cases if one.get("residual")}
    assert checks == {"sort": 0, "write": 0, "read": 0, "down": 0}
    assert list(scratch.iterdir()) == [] and not list(path.parent.glob(f"{node.PREFIX}*"))
    mark = f"{scratch}".encode()
    assert not [pid for pid in process.pids() if mark in process.facts_of(pid, "environ")]
    apart = shakedown("bigdata", "--log", run)
    assert apart.returncode == 0 and "sort" in apart.stdout, apart.stderr
