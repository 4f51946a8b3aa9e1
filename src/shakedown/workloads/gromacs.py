"""GROMACS, as a site has it: rigid water (SPC/E) with electrostatics by PME.

The input is generated from a size and a seed: a box of 512 molecules on a lattice, alternately turned and each tilted
at random, repeated ``boxes`` times; 1 fs steps at 300 K. All of force field and topology is written for this project
from SPC/E's published numbers. ``gromacs.rate`` counts atoms times steps by the wall time that GROMACS prints for the
run, without its start; ``gromacs.phase`` is the time of each row of its cycle accounting, ``gromacs.speed`` the
simulated over the real time.

Checked are the potential energy of the first step (in periodic copies of a box it is the same for each molecule,
whatever the size and the ranks: within 0.02 kJ/mol of that of known seeds, within 0.6 of the typical one), the drift of
the conserved energy (at most 0.05 kJ/mol an atom and ps), and the ranks that GROMACS saw. A log of one's own simulation
is judged by its drift and ranks alone.

Source: GROMACS manual, "Run control", "Conserved quantity"; Berendsen, Grigera, Straatsma, J Phys Chem 91 (1987) 6269
(SPC/E).
"""

from __future__ import annotations

import itertools
import math
import random
import re

from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import application_log as log
from .common.application import Complaint, Recipe, Step, command, resolved, workers
from .common.application_log import Result
from .common.grid import near_cubic
from .common.memory import check_room
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

SIZES = {
    "smoke": {"boxes": 1, "steps": 400},
    "small": {"boxes": 16, "steps": 5000},
    "medium": {"boxes": 512, "steps": 5000},
    "large": {"boxes": 16384, "steps": 5000},
}
_CASE, _MAIN = "generated water", "mdrun"
#: Molecules along an edge of the box, and its edge in nm for SPC/E's density at 300 K.
_EDGE, _NM = 8, 2.4864
_ATOMS = 3 * _EDGE**3
_TILT = 0.35
#: Potential energy of the first step in kJ/mol a molecule: by seed, and of any.
KNOWN = {1: -3.4233, 2: -3.555, 3: -3.154, 4: -3.349}
_TYPICAL = -3.37
#: How far it may be off in kJ/mol: of a known seed (one box and twelve differ by 0.012, ranks by 1e-5), of any.
_NEAR, _FAR = 0.02, 0.6
_DRIFT = 0.05
_MDP = """; shakedown: {boxes} {steps} {seed}
integrator = md
dt = 0.001
nsteps = {steps}
nstlog = {steps}
nstenergy = {steps}
nstcalcenergy = 100
nstlist = 20
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
fourierspacing = 0.12
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
ld-seed = {seed}
gen-vel = yes
gen-temp = 300
gen-seed = {seed}
"""
_TOPOLOGY = """[ defaults ]
1 2 yes 1.0 1.0
[ atomtypes ]
OW 8 15.9994 0.0 A 0.3165492 0.6501696
HW 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 -0.8476
2 HW 1 SOL HW1 1 0.4238
3 HW 1 SOL HW2 1 0.4238
[ settles ]
1 1 0.1 0.16330
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
SOL {molecules}
"""


def box(seed: int) -> str:
    """The coordinates of 512 molecules in GROMACS's form (nm)."""
    draw, lines, number = random.Random(seed), [], 0
    for place in range(_EDGE**3):
        x, y, z = place % _EDGE, place // _EDGE % _EDGE, place // _EDGE**2
        turn = math.pi * ((x + y + z) % 2) + _TILT * (2 * draw.random() - 1)
        lean = _TILT * (2 * draw.random() - 1)
        at = [(one + 0.5) * _NM / _EDGE for one in (x, y, z)]
        atoms = [("OW", 0.0, 0.0), ("HW1", 0.081649, 0.057736), ("HW2", -0.081649, 0.057736)]
        for name, along, up in atoms:
            number += 1
            where = (along * math.cos(turn) - up * math.sin(turn), along * math.sin(turn) + up * math.cos(turn))
            shift = (where[0], where[1] * math.cos(lean), where[1] * math.sin(lean))
            words = "".join(f"{one + more:9.4f}" for one, more in zip(at, shift, strict=True))
            lines.append(f"{place + 1:>5}{'SOL':<5}{name:>5}{number:>5}{words}")
    return "\n".join(("water", str(number), *lines, " ".join([f"{_NM:.5f}"] * 3), ""))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    found = resolved(params, machine, SIZES, "boxes", "gromacs")
    atoms = _ATOMS * int(found["boxes"])
    check_room("gromacs.boxes", f"{atoms} atoms", atoms * 1000 + 2**28, machine.hosts[0], "fewer boxes")
    return (found,)


def _command(params: Params, host: Host) -> Command:
    boxes, threads = int(params["boxes"]), str(params["threads"])
    shape = tuple(str(one) for one in near_cubic(boxes, 3))
    recipe = Recipe(
        application="gromacs",
        programs={"gmx": ("gmx_mpi", "gmx_mpi_d"), "cat": ("cat",)},
        files={
            "box.gro": box(int(params["seed"])),
            "topol.top": _TOPOLOGY.format(molecules=_EDGE**3 * boxes),
            "run.mdp": _MDP.format(**params),
        },
        install="sudo apt-get install gromacs-openmpi",
        steps=(
            Step(name="input", argv=("cat", "run.mdp")),
            Step(name="genconf", argv=("gmx", "genconf", "-f", "box.gro", "-nbox", *shape, "-o", "conf.gro")),
            Step(
                name="grompp",
                argv=("gmx", "grompp", "-f", "run.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "run.tpr"),
            ),
            Step(
                name=_MAIN,
                argv=("gmx", "mdrun", "-deffnm", "run", "-ntomp", threads, "-nb", "cpu", "-pin", "off"),
                ranks=int(params["ranks"]),
                shows=("run.log",),
            ),
        ),
        complaints=(
            Complaint(
                pattern=r"There is no domain decomposition for (\d+) ranks",
                what="the box cannot be parted for {1} ranks",
                hint="take fewer ranks, one with small factors, or more boxes",
            ),
            Complaint(
                pattern=r"Fatal error:\n([^\n]*)",
                what="GROMACS: {1}",
                hint="its output lies in the run's folder (stderr, run.log)",
            ),
        ),
    )
    return command(recipe, params, host)


_INPUT = re.compile(r"^; shakedown: (\d{1,9}) (\d{1,9}) (\d{1,9})$", re.MULTILINE)
#: A row of the cycle accounting: name, ranks, threads, count, wall seconds, cycles, percent.
_ROW = re.compile(
    rf"^ (\w[\w .,+/&()-]*?) {{2,}}(?:\d+ +\d+ +)?(?:\d+ +)?({NUMBER}) +{NUMBER} +{NUMBER}$", re.MULTILINE
)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The simulation. Raises Garbage."""
    parts = log.parts(text, "gromacs", _MAIN)
    part = parts[_MAIN]
    whole = part.files.get("run.log", part.text)
    if "GROMACS" not in whole or "Finished mdrun on rank 0" not in whole:
        raise Garbage("the log ends before GROMACS said 'Finished mdrun', or is not its log")
    wall = log.one_number(whole, rf"^ +Time: +{NUMBER} +({NUMBER})", "the log does not give 'Wall t (s)'")
    speed = log.one_number(whole, rf"^Performance: +({NUMBER})", "the log does not give 'Performance:'")
    atoms = int(log.one_number(whole, r"^There are: (\d{1,12}) Atoms$", "the log does not give the number of atoms"))
    steps = int(log.one_number(whole, r"^ +nsteps += (\d{1,15})$", "the log does not give nsteps"))
    step_ps = log.one_number(whole, rf"^ +dt += ({NUMBER})$", "the log does not give dt")
    simulated = (steps + 1) * step_ps * 1e-12
    if abs(speed * wall / 86400 / (simulated * 1e9) - 1) > 0.02 if wall > 1 and simulated else False:
        raise Garbage(f"{speed} ns/day do not agree with {wall} s for {steps} steps of {step_ps} ps")
    given = _INPUT.search(parts["input"].text) if "input" in parts else None
    told: Params = {"case": "own input", "steps": steps}
    checks = [_drift(whole)]
    if given:
        told = {"case": _CASE, "boxes": int(given[1]), "steps": int(given[2]), "seed": int(given[3])}
        if atoms != _ATOMS * int(given[1]) or steps != int(given[2]):
            raise Garbage("the simulation is not of the input that was generated")
        checks.insert(0, _first(whole, int(given[3]), atoms))
    start = whole.rfind("R E A L   C Y C L E")
    rows = {name: float(took) for name, took in _ROW.findall(whole, max(start, 0))} if start >= 0 else {}
    phases = {name: took for name, took in rows.items() if name not in ("Total", "Breakdown of PME mesh computation")}
    work = {"atom_steps": float(atoms) * steps, "simulated_s": simulated}
    told |= {"atoms": atoms}
    nodes = log.nodes_stated(whole, r"^Running on (\d{1,9}) nodes? with total ")
    result = Result(told, work, wall, wall, phases, _ranks(whole), checks[0], checks[1:], nodes)
    return log.cases(part, result)


def _first(whole: str, seed: int, atoms: int) -> Residual:
    """The potential energy of the first step, a molecule, against what is known."""
    value = _table(whole, "Potential") / (atoms / 3)
    known = KNOWN.get(seed, _TYPICAL)
    kind = f"difference of the first potential energy ({value:.4f}) from {known:g}, in kJ/mol a molecule"
    return Residual(value=abs(value - known), limit=_NEAR if seed in KNOWN else _FAR, kind=kind)


def _table(whole: str, name: str) -> float:
    """A value of the first table of energies: columns of 15 characters, headings above numbers."""
    found = re.search(r"^   Energies \(kJ/mol\)\n((?:[^\n]+\n)+)", whole, re.MULTILINE)
    lines = found[1].splitlines() if found else []
    for head, row in itertools.pairwise(lines):
        names = [head[at : at + 15].strip() for at in range(0, len(head), 15)]
        if name in names:
            at = 15 * names.index(name)
            try:
                value = float(row[at : at + 15])
            except ValueError:
                break
            if math.isfinite(value):
                return value
    raise Garbage(f"the log has no energy {name!r} of the first step")


def _drift(whole: str) -> Residual:
    found = re.findall(r"^ *Conserved energy drift: (\S+) kJ/mol/ps per atom$", whole, re.MULTILINE)
    try:
        value: float | None = abs(float(found[-1])) if found else None
    except ValueError:
        value = None
    return Residual(value=value, limit=_DRIFT, kind="drift of the conserved energy in kJ/mol an atom and ps")


def _ranks(whole: str) -> tuple[int, ...]:
    """Those of the log; each copy of a run writes one of its own."""
    return tuple(int(one) for one in re.findall(r"^Using (\d{1,9}) MPI (?:process|thread)", whole, re.MULTILINE))


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """GROMACS's own notes about its speed."""
    part = log.parts(text, "gromacs", _MAIN)[_MAIN]
    whole = part.files.get("run.log", part.text)
    said = [" ".join(one.split())[:300] for one in re.findall(r"^NOTE: ((?:[^\n]+\n)+)", whole, re.MULTILINE)[:4]]
    return tuple(Notice(code="gromacs-note", text=one) for one in dict.fromkeys(said))


def _estimate_s(params: Params, host: Host) -> float:
    """Half a million atom steps a second of a rank, and what preparing takes."""
    atoms = _ATOMS * int(params["boxes"])
    return (
        5.0
        + atoms * 2e-5
        + atoms * int(params["steps"]) / (5e5 * workers(host, int(params["ranks"])) * int(params["threads"]))
    )


WORKLOAD = TABLE.workload(
    title="GROMACS, as the site installed it: water",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
