"""The Lennard-Jones program beside LAMMPS: the same particles, potential, cutoff and step, on the same cores.

    python scripts/bench/lj.py [--program PATH] [--particles 64000] [--rounds 3] [--steps 300] [--lmp lmp] [--json]

Our program first brings a fluid to its temperature and writes it as a LAMMPS data file. LAMMPS reads it and prints the
temperature, potential energy and pressure before its first step, which must be ours (--tolerance). In each round both then
run in turn: ours in both precisions, LAMMPS with every suffix of --suffixes that it has and every skin of --skins, and its
best counts. LAMMPS runs one MPI rank a core (--ranks), with lists made anew whenever a particle has moved half the skin
(``neigh_modify every 1 delay 0 check yes``), the rule that misses no pair, which is ours too; the rule of its own benchmark
(every 20 steps, no check) misses some at this temperature. LAMMPS computes in double precision.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shakedown import programs
from shakedown.errors import Unavailable

CORES = len(os.sched_getaffinity(0))
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


def run(argv: list[str], **options: Any) -> str:
    """Standard output of a command; exits where it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} failed with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return str(done.stdout)


def ours(args: argparse.Namespace, *, precision: str, write: str = "") -> tuple[dict[str, float], dict[str, float]]:
    """precision -> particle steps per second (median), and the state at the end."""
    words = ["--particles", str(args.particles), "--cutoff", str(args.cutoff), "--density", str(args.density)]
    words += ["--threads", str(args.ranks), "--precision", precision, "--samples", str(args.samples)]
    words += ["--write", write] if write else []
    rates: dict[str, float] = {}
    state: dict[str, float] = {}
    for event in map(json.loads, run([args.program, *words]).splitlines()):
        if event["event"] == "case":
            rates[event["params"]["precision"]] = event["work"]["particle_steps"] / statistics.median(event["seconds"])
        if event["event"] == "facts":
            state.update(next((v for k, v in event["facts"].items() if k.startswith("fluid of ")), {}))
    return rates, state


def suffixes(args: argparse.Namespace) -> list[str]:
    """Those of --suffixes that this LAMMPS has a lj/cut for; "none" always."""
    known = run([args.lmp, "-h"])
    return [word for word in args.suffixes.split(",") if word == "none" or re.search(rf"\blj/cut/{word}\b", known)]


def lammps(args: argparse.Namespace, folder: str, suffix: str, skin: float) -> tuple[float, tuple[float, ...]]:
    """Particle steps per second, and what LAMMPS says of the state before the first step."""
    Path(folder, "in.lj").write_text(
        _INPUT.format(data=Path(folder, "data"), cutoff=args.cutoff, skin=skin, steps=args.steps)
    )
    words = ["mpirun", "-np", str(args.ranks), "--bind-to", "core", args.lmp, "-in", "in.lj", "-log", "none"]
    words += [] if suffix == "none" else ["-sf", suffix]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    text = run(words, cwd=folder, env={**os.environ, **root})
    loops = re.findall(r"Loop time of ([0-9.eE+-]+) on \d+ procs for (\d+) steps with (\d+) atoms", text)
    start = re.search(r"^AT START (\S+) (\S+) (\S+)", text, re.MULTILINE)
    if len(loops) != 2 or start is None or "Dangerous builds = 0" not in text:
        sys.exit(f"LAMMPS printed something else, or dangerous builds of its lists: {text[-1000:]}")
    seconds, steps, atoms = loops[1]
    return int(steps) * int(atoms) / float(seconds), tuple(map(float, start.groups()))


def same(args: argparse.Namespace, state: dict[str, float], theirs: tuple[float, ...]) -> float:
    """The largest relative difference of the two states; exits where it is above the tolerance."""
    worst = max(abs(state[name] - value) / abs(value) for name, value in zip(_NAMES, theirs, strict=True))
    if worst > args.tolerance:
        sys.exit(f"not the same fluid: ours {state}, LAMMPS {dict(zip(_NAMES, theirs, strict=True))}")
    return worst


def measure(args: argparse.Namespace, folder: str) -> dict[str, Any]:
    """All rounds, and how far the two states differ."""
    _, state = ours(args, precision="fp64", write=str(Path(folder, "data")))
    kinds = [(suffix, float(skin)) for suffix in suffixes(args) for skin in args.skins.split(",")]
    rounds, worst = [], 0.0
    for turn in range(args.rounds):
        theirs = {}
        mine = ours(args, precision="mixed,fp64")[0] if turn % 2 == 0 else {}
        for suffix, skin in kinds:
            rate, at_start = lammps(args, folder, suffix, skin)
            worst = max(worst, same(args, state, at_start))
            theirs[f"{suffix}, skin {skin:g}"] = rate
        mine = mine or ours(args, precision="mixed,fp64")[0]
        best = max(theirs, key=lambda name: theirs[name])
        rounds.append({"ours": mine, "lammps": theirs, "best": best})
        print(f"round {turn + 1} of {args.rounds}: LAMMPS best with {best}", file=sys.stderr, flush=True)
    return {"difference": worst, "rounds": rounds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="", help="the native program; empty: the one that is installed")
    parser.add_argument("--lmp", default="lmp", help="LAMMPS; Debian: apt-get install lammps")
    parser.add_argument("--particles", type=int, default=64000)
    parser.add_argument("--density", type=float, default=0.382)
    parser.add_argument("--cutoff", type=float, default=3.0)
    parser.add_argument("--ranks", type=int, default=CORES, help="of LAMMPS, and threads of ours")
    parser.add_argument("--steps", type=int, default=300, help="of LAMMPS in a run")
    parser.add_argument("--samples", type=int, default=10, help="of ours in a run")
    parser.add_argument("--suffixes", default="none,opt,omp,intel")
    parser.add_argument("--skins", default="0.3,0.5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=1e-9, help="relative, of temperature, energy and pressure")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        args.program = args.program or programs.path("lj")
    except Unavailable as error:
        sys.exit(f"{error.what}: {error.hint}")
    for needed in (args.lmp, "mpirun"):
        if shutil.which(needed) is None:
            sys.exit(f"{needed} is not there: on Debian, apt-get install lammps openmpi-bin")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(args, folder)
    for precision in ("mixed", "fp64"):
        pairs = [(entry["ours"][precision], entry["lammps"][entry["best"]]) for entry in found["rounds"]]
        ratios = [mine / theirs for mine, theirs in pairs]
        found[precision] = {"ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        found[precision]["ours_m_s"], found[precision]["lammps_m_s"] = (
            statistics.median(side) / 1e6 for side in zip(*pairs, strict=True)
        )
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print(f"the same fluid: temperature, potential energy and pressure differ by at most {found['difference']:.1e}")
    for precision in ("mixed", "fp64"):
        row = found[precision]
        print(
            f"{precision:5s} over LAMMPS {row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f}): "
            f"{row['ours_m_s']:.1f} against {row['lammps_m_s']:.1f} million particle steps/s"
        )


if __name__ == "__main__":
    main()
