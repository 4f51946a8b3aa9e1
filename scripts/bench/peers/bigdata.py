"""Spark's sort as `shakedown run bigdata` does it beside the same by hand: spark-class, spark-submit, the same application.

Alike: the application (``functional_tests/spark/app.py``), rows, seed, partitions, cores, memory and Spark's settings, a
standalone master and one worker, its input flushed and dropped before the sort. By hand nothing is checked, nothing is
cleaned up by force, and the three parts start one after another. ``sort`` is the application's own time of the sort;
``whole`` is from the first start to the last end, without ours checking the rows, which nobody does by hand
(`bigdata.validate`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import common
from common import Option

from shakedown.errors import CannotMeasure
from shakedown.functional_tests.spark import app, cluster, files
from shakedown.functional_tests.spark.installation import Installation, find

from . import Figure, Group, Pass, Rates, Row

SORT, WHOLE = "sort", "whole"
FIGURES = {
    SORT: Figure("s", better="lower", goal="at most 3 % more"),
    WHOLE: Figure("s", better="lower", goal="at most 3 % more"),
}
_START_S = 300.0
_MEMORY_MIB = 2048


def ours(asked: argparse.Namespace) -> Rates:
    with tempfile.TemporaryDirectory(dir=Path(asked.directory).resolve()) as folder:
        words = ["bigdata", f"rows={asked.rows}", "kernels=sort", f"cores={asked.cores}", f"memory={_MEMORY_MIB}"]
        words += [f"partitions={2 * asked.cores}", f"directory={folder}", f"scratch={folder}", f"spark={asked.spark}"]
        words += ["limit=2h", "--no-report", "--directory", f"{folder}/run"]
        common.output([sys.executable, "-m", "shakedown", "run", *words])
        (path,) = Path(folder).glob("run/runs/*/1/measurement.json")
        found = json.loads(path.read_text())
    seconds = {case["kernel"]: case["seconds"][0] for case in found["cases"] if case["seconds"]}
    whole = (found["end_ns"] - found["begin_ns"]) * 1e-9 - seconds["validate"]
    return {"ours": {SORT: seconds["sort"], WHOLE: whole}}


def by_hand(asked: argparse.Namespace) -> Rates:
    with tempfile.TemporaryDirectory(dir=Path(asked.directory).resolve()) as name:
        folder = Path(name)
        spark = find(asked.spark, os.environ)
        settings = cluster.Settings(asked.cores, _MEMORY_MIB, "", 0, False, {})
        for below in ("conf", "local", "work", "tmp", "events"):
            (folder / below).mkdir()
        made = cluster.properties(settings, 1, "by hand", folder / "events")
        for file, text in cluster.config_files(made).items():
            (folder / "conf" / file).write_text(text)
        own = {"SCRATCH": name, "ADDRESS": "127.0.0.1"}
        env = {key: text.format(**own) for key, text in cluster.environment(spark).items()}
        begin = time.monotonic()
        seconds = _started(asked, folder, spark, {**os.environ, **env})
        return {"by hand": {SORT: seconds, WHOLE: time.monotonic() - begin}}


def _started(asked: argparse.Namespace, folder: Path, spark: Installation, env: Mapping[str, str]) -> float:
    """Master, worker, application, and their end; the seconds of the sort."""
    begun: list[subprocess.Popen[Any]] = []
    starts = spark.starts("spark-class")
    deploy = "org.apache.spark.deploy"
    try:
        words = [starts, f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        url = _shown(begun, words, folder / "master.log", env, "Starting Spark master at").rpartition(" at ")[2]
        words = [starts, f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
        words += ["--cores", str(asked.cores), "--memory", f"{_MEMORY_MIB}M", "--work-dir", str(folder / "work"), url]
        _shown(begun, words, folder / "worker.log", env, "Successfully registered with master")
        os.mkfifo(folder / "steps")
        words = [spark.starts("spark-submit"), "--master", url, app.__file__, "--from", str(folder / "steps")]
        with open(folder / "app.log", "wb") as log:
            child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, env=dict(env), text=True)
        begun.append(child)
        seconds = _steps(child, asked, folder)
        child.wait()
        return seconds
    finally:
        for one in reversed(begun):
            one.send_signal(signal.SIGTERM)
            one.wait()


def _shown(begun: list[subprocess.Popen[Any]], words: list[str], log: Path, env: Mapping[str, str], shows: str) -> str:
    """Start a part of the cluster; the line of its log that shows it at work. Raises CannotMeasure."""
    with open(log, "wb") as out:
        begun.append(subprocess.Popen(words, stdout=out, stderr=out, env=dict(env)))
    end = time.monotonic() + _START_S
    while time.monotonic() < end and begun[-1].poll() is None:
        found = [line for line in log.read_text("utf-8", "replace").splitlines() if shows in line]
        if found:
            return found[0].strip()
        time.sleep(0.05)
    raise CannotMeasure(f"{words[1]} did not start by hand", where=str(log))


def _steps(child: subprocess.Popen[str], asked: argparse.Namespace, folder: Path) -> float:
    """Rows made, flushed and dropped, sorted; the seconds of the sort."""
    assert child.stdout is not None
    parts, source, to = 2 * asked.cores, (folder / "in").as_uri(), (folder / "out").as_uri()
    _answer(child.stdout)
    with open(folder / "steps", "w") as steps:
        _tell(steps, do="generate", rows=asked.rows, seed=1, partitions=parts, to=source)
        _answer(child.stdout)
        for path in sorted((folder / "in").glob("part-*")):
            files.write_out(path, drop=True)
        _tell(steps, do="sort", partitions=parts, to=to, **{"from": source})
        done = _answer(child.stdout)
        for path in sorted((folder / "out").glob("part-*")):
            files.write_out(path, drop=False)
    for name in ("in", "out"):
        shutil.rmtree(folder / name)
    return (int(done["end_ns"]) - int(done["begin_ns"])) * 1e-9


def _tell(steps: IO[str], **words: Any) -> None:
    steps.write(json.dumps(words) + "\n")
    steps.flush()


def _answer(out: IO[str]) -> dict[str, Any]:
    for line in out:
        _, mark, text = line.partition(app.MARK)
        if mark:
            found: dict[str, Any] = json.loads(text)
            return found
    raise CannotMeasure("the application ended by hand, too early")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    needs = {"java": "sudo apt-get install openjdk-17-jre-headless"}
    if asked.spark == "auto":
        needs["import pyspark"] = "pip install pyspark"
    passes = [Pass("ours", partial(ours, asked), needs), Pass("by hand", partial(by_hand, asked), needs)]
    yield Group(f"{asked.rows:,} rows, {asked.cores} cores", FIGURES, passes, ["ours"])


ROW = Row(
    groups,
    rounds=6,
    options={
        "directory": Option(".", help="a folder on the file system to be measured"),
        "spark": Option("auto", help="the folder of a Spark"),
        "rows": Option(20_000_000, 20_000, "rows of 100 bytes"),
        "cores": Option(2, 1, "cores that work"),
    },
)
