"""The Lennard-Jones program beside LAMMPS: the same particles, potential, cutoff and step, on the same cores.

Our program first brings a fluid to its temperature and writes it as a LAMMPS data file. LAMMPS reads it and prints the
temperature, potential energy and pressure before its first step, which must be ours (--tolerance). In each round both then
run in turn: ours in both precisions, LAMMPS with every suffix of --suffixes that it has and every skin of --skins, and its
best counts. LAMMPS runs one MPI rank a core (--ranks), with lists made anew whenever a particle has moved half the skin
(`neigh_modify every 1 delay 0 check yes`), the rule that misses no pair, which is ours too; the rule of its own benchmark
(every 20 steps, no check) misses some at this temperature. LAMMPS computes in double precision.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import common
from common import Option

from shakedown.errors import CannotMeasure

from . import Figure, Group, Pass, Rates, Row, program

_INPUT = """units lj
atom_style atomic
read_data {data}
pair_style lj/cut {cutoff}
pair_coeff 1 1 1.0 1.0 {cutoff}
neighbor {skin} bin
neigh_modify every 1 delay 0 check yes
timestep 0.005
fix 1 all nve
thermo_style custom step temp pe press etotal
thermo_modify norm yes
thermo {steps}
run 0
print "AT START $(temp:%.15g) $(pe:%.15g) $(press:%.15g)"
run {steps}
"""
_NAMES = ("temperature", "potential_each", "pressure")
PRECISIONS = ("mixed", "fp64")
DIFFERENCE = "largest relative difference of temperature, energy and pressure"


def run(asked: argparse.Namespace, precision: str, write: str = "") -> tuple[dict[str, float], dict[str, float]]:
    """precision -> particle steps per second (median), and the state at the end."""
    words = ["--particles", str(asked.particles), "--cutoff", str(asked.cutoff), "--density", str(asked.density)]
    words += ["--threads", str(asked.ranks), "--precision", precision, "--samples", str(asked.samples)]
    rates: dict[str, float] = {}
    state: dict[str, float] = {}
    for event in common.events([program(asked, "lj"), *words, *(["--write", write] if write else [])]):
        if event["event"] == "case":
            rates[event["params"]["precision"]] = event["work"]["particle_steps"] / statistics.median(event["seconds"])
        if event["event"] == "facts":
            state.update(next((v for k, v in event["facts"].items() if k.startswith("fluid of ")), {}))
    return rates, state


def suffixes(asked: argparse.Namespace) -> list[str]:
    """Those of --suffixes that this LAMMPS has a lj/cut for; "none" always."""
    known = common.output([asked.lmp, "-h"])
    return [word for word in asked.suffixes if word == "none" or re.search(rf"\blj/cut/{word}\b", known)]


def lammps(asked: argparse.Namespace, folder: str, state: dict[str, float], suffix: str, skin: float) -> Rates:
    """Its rate, beside either precision of ours. Raises Wrong where its fluid before the first step is not ours."""
    words = _INPUT.format(data=Path(folder, "data"), cutoff=asked.cutoff, skin=skin, steps=asked.steps)
    Path(folder, "in.lj").write_text(words)
    argv = ["mpirun", "-np", str(asked.ranks), "--bind-to", "core", asked.lmp, "-in", "in.lj", "-log", "none"]
    argv += [] if suffix == "none" else ["-sf", suffix]
    text = common.output(argv, cwd=folder, env={"OMP_NUM_THREADS": "1"})
    loops = re.findall(r"Loop time of ([0-9.eE+-]+) on \d+ procs for (\d+) steps with (\d+) atoms", text)
    start = re.search(r"^AT START (\S+) (\S+) (\S+)", text, re.MULTILINE)
    if len(loops) != 2 or start is None or "Dangerous builds = 0" not in text:
        raise CannotMeasure(f"LAMMPS printed something else, or dangerous builds of its lists: {text[-1000:]}")
    theirs = dict(zip(_NAMES, map(float, start.groups()), strict=True))
    worst = max(abs(state[name] - value) / abs(value) for name, value in theirs.items())
    if worst > asked.tolerance:
        raise common.Wrong(f"not the same fluid: ours {state}, LAMMPS {theirs}")
    seconds, steps, atoms = loops[1]
    rate = int(steps) * int(atoms) / float(seconds)
    return {f"LAMMPS: {suffix}, skin {skin:g}": {**dict.fromkeys(PRECISIONS, rate), DIFFERENCE: worst}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    needs = {asked.lmp: "sudo apt-get install lammps", "mpirun": "sudo apt-get install openmpi-bin"}
    figures = dict.fromkeys(PRECISIONS, Figure("million particle steps/s", 1e-6))
    figures[DIFFERENCE] = Figure("", better="")
    mine = Pass("lj", lambda: {"lj": run(asked, ",".join(PRECISIONS))[0]})
    if not shutil.which(asked.lmp):  # nothing to ask for its suffixes: the engine says what is absent
        yield Group("Lennard-Jones", figures, [mine, Pass("LAMMPS", dict, needs)], ["lj"])
        return
    with tempfile.TemporaryDirectory() as folder:
        _, state = run(asked, "fp64", str(Path(folder, "data")))
        passes = [
            Pass(f"LAMMPS, {suffix}, skin {skin:g}", partial(lammps, asked, folder, state, suffix, skin), needs)
            for suffix, skin in product(suffixes(asked), asked.skins)
        ]
        yield Group(f"{asked.particles} particles", figures, [mine, *passes], ["lj"])


ROW = Row(
    groups,
    rounds=3,
    options={
        "lmp": Option("lmp", help="LAMMPS; Debian: apt-get install lammps"),
        "particles": Option(64000, 2000),
        "density": Option(0.382),
        "cutoff": Option(3.0),
        "ranks": Option(common.CORES, 1, "of LAMMPS, and threads of ours"),
        "steps": Option(300, 5, "of LAMMPS in a run"),
        "samples": Option(10, 1, "of ours in a run"),
        "suffixes": Option(["none", "opt", "omp", "intel"], ["none"]),
        "skins": Option([0.3, 0.5], [0.3]),
        "tolerance": Option(1e-9, help="relative, of temperature, energy and pressure"),
    },
)
