"""Programs under real layers: each is proven, what lies is refused, what is absent or fails leaves the rest alone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shakedown import programs
from shakedown.results.run_directory import RunDirectory
from support import natives
from support.command import shakedown

#: A workload of a few milliseconds.
CHEAP = ("latency", "sizes=16KiB", "loads=4096", "samples=3")


@pytest.fixture(autouse=True)
def allowed() -> None:
    natives.path("witness")
    done = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--mount", "true"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"this container allows no namespaces of its own: {done.stderr.strip()}")


def image(folder: Path) -> Path:
    """An image for Charliecloud: the libraries that the programs are linked to, and empty folders."""
    for name in ("usr/bin", "usr/lib", "etc", "proc", "sys", "dev", "tmp", "home", "root", "var", "run", "mnt"):
        (folder / name).mkdir(parents=True)
    for link in ("lib", "lib64", "bin"):
        (folder / "usr" / link).mkdir(exist_ok=True)
        (folder / link).symlink_to(f"usr/{link}")
    for program in ("witness", "latency"):
        linked = subprocess.run(["ldd", natives.path(program)], capture_output=True, text=True, check=True).stdout
        for library in map(Path, re.findall(r"(/\S+) \(0x", linked)):
            place = folder / library.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(library.read_bytes())
            place.chmod(0o755)
    for shown in (str(programs.folder().resolve()),):
        if not shown.startswith("/tmp/"):
            (folder / shown.lstrip("/")).mkdir(parents=True)
    return folder


def states(where: Path) -> dict[str, str]:
    """The state and reason of each run, by the layer; of native launches by the layer beside which they are."""
    directory = RunDirectory.open(where)
    names = {run.id: run.under if run.under != "native" else f"native, {run.pair}" for run in directory.plan().runs}
    return {names[one.run]: f"{one.state} {one.reason}".strip() for one in directory.load().measurements}


def measured(where: Path, *words: str, code: int = 0) -> dict[str, str]:
    done = shakedown("run", *words, "--directory", where, "--format", "json")
    assert done.returncode == code, done.stdout + done.stderr
    return states(where)


@pytest.mark.needs("unshare", "bwrap")
def test_layers_are_entered_and_their_witnesses_say_so(tmp_path: Path) -> None:
    where = tmp_path / "run"
    found = measured(where, *CHEAP, "repeat=1", "--under", "native,control,namespaces,bubblewrap,low=nice -n 5")
    assert len(found) == 8 and set(found.values()) == {"ok"}, found
    for one in RunDirectory.open(where).load().measurements:
        seen: dict[str, Any] = one.provenance["under"]
        differs = {
            "native": set(),
            "control": set(),
            "namespaces": {"user", "mnt", "pid"},
            "bubblewrap": {"user", "mnt", "pid"},
            "low": {"priority"},
        }
        assert differs[seen["label"]] <= set(seen["differs"]), seen
        assert bool(seen["differs"]) == bool(differs[seen["label"]]), seen
        assert all(case.params["under"] == seen["label"] for case in one.cases)


@pytest.mark.needs("unshare")
def test_what_did_not_enter_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    """A wrapper that does nothing, one that fails, one that starts something else, and one that is not here."""
    empty = tmp_path / "nothing"
    empty.write_text("#!/bin/sh\nexit 0\n")
    empty.chmod(0o755)
    layers = [
        "native,control",
        "same=env A=1",
        "broken=sh -c 'echo no such container >&2; exit 125'",
        f"empty={empty}",
        "gone=/no/such",
    ]
    words = [word for layer in layers for word in ("--under", layer)]
    found = measured(tmp_path / "run", *CHEAP, "repeat=1", *words, code=3)
    assert found["control"] == "ok" and found["native, control"] == "ok"
    assert found["same=env A=1"].startswith("failed the witness behind same saw nothing that differs")
    broken = next(state for name, state in found.items() if name.startswith("broken="))
    assert "no such container" in broken and "broken did not start the program" in broken
    assert "empty did not start the program" in found[f"empty={empty}"]
    assert not any(name.startswith("gone=") for name in found), "not here: said in the plan"
    skipped = RunDirectory.open(tmp_path / "run").plan().skipped
    assert [one.what for one in skipped] == ["latency under gone"]


@pytest.mark.needs("ch-run")
def test_a_container_of_an_image(tmp_path: Path) -> None:
    layer = f"charliecloud:{image(tmp_path / 'image')}"
    found = measured(tmp_path / "run", *CHEAP, "repeat=1", "--under", layer)
    assert found == {layer: "ok"}
    (one,) = RunDirectory.open(tmp_path / "run").load().measurements
    assert {"user", "mnt", "root"} <= set(one.provenance["under"]["differs"])


@pytest.mark.needs("mpirun", "unshare")
@pytest.mark.parametrize("layer", ["namespaces", "namespaces@job"])
def test_ranks_meet_under_a_layer(layer: str, tmp_path: Path) -> None:
    words = ("pingpong", "ranks=2", "sizes=8,1048576", "samples=3", "repeat=1")
    where = tmp_path / "run"
    done = shakedown("run", *words, "--under", layer, "--directory", where, "--format", "json")
    if "needs an MPI" in done.stderr or "without MPI" in done.stderr:
        pytest.skip("needs programs with MPI: sudo apt-get install libopenmpi-dev, then scripts/setup")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in where.glob("runs/*/1/witness/*.json")]
    sides = [one["side"] for one in records]
    assert sides.count("inside") == 2 and sides.count("outside") == (1 if layer.endswith("@job") else 2)
    inside = {one["namespaces"]["user"] for one in records if one["side"] == "inside"}
    assert len(inside) == (1 if layer.endswith("@job") else 2), "around the job they share them"


@pytest.mark.needs("unshare")
def test_the_verb_measures_in_pairs_and_reads_its_run_again(tmp_path: Path) -> None:
    where, written = tmp_path / "run", tmp_path / "page.html"
    words = ("overhead", *CHEAP, "--under", "namespaces", "--pairs", "6", "--directory", where, "--json", "-o", written)
    done = shakedown(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads(done.stdout)
    assert [(one["under"], one["pairs"]) for one in made["overheads"]] == [("control", 6), ("namespaces", 6)]
    assert all(one["low"] <= one["factor"] <= one["high"] for one in made["overheads"]) and not made["failed"]
    assert len(made["published"]) == 6 and "Native beside layers" in written.read_text()
    begun = {run.id: run for run in RunDirectory.open(where).plan().runs}
    order = sorted(RunDirectory.open(where).load().measurements, key=lambda one: one.begin_ns)
    kinds = [begun[one.run].under for one in order if begun[one.run].pair == "namespaces"]
    assert kinds == ["native", "namespaces", "namespaces", "native"] * 3, "pair by pair, in alternating order"
    again = shakedown("overhead", where)
    assert again.returncode == 0 and "namespaces" in again.stdout and "at most 1.32" in again.stdout
    few = shakedown("overhead", *CHEAP, "--under", "control", "--pairs", "2", "--directory", tmp_path / "few")
    assert few.returncode == 4 and "too few pairs" in few.stdout
    assert shakedown("overhead", tmp_path / "few").returncode == 4
