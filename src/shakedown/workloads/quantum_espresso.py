"""Quantum ESPRESSO's pw.x, as a site has it: the electrons of a gold slab with water and methanol above it.

The input is generated from a size and a seed: an Au(111) slab of ``cells`` x ``rows`` rectangular surface cells (two
atoms a layer each) and ``layers`` layers, and above every second cell a molecule, water and methanol in turn, turned at
random; plane waves to 25 Ry, four k points, ultrasoft pseudopotentials of the local-density approximation as they ship
with Quantum ESPRESSO. It is of the kind that clusters are tested with (a gold surface under an organic layer), and its
seconds are comparable with those of the same input alone.

``quantum_espresso.time`` is PWSCF's WALL time, ``quantum_espresso.phase`` that of each of its timers, and
``quantum_espresso.iteration`` that of ``electrons`` by self-consistent iterations. Checked are the total energy against
that of known inputs (1.5e-6 Ry an atom when converged; 1e-5 of it after a fixed number of iterations, since wave
functions start at random and ranks differ by 1e-6), of other sizes against the sum over its atoms within 0.02 Ry an
atom; the estimated accuracy of the energy; and the number of ranks. "JOB DONE" is printed whether the energy converged
or not, and decides nothing.

Source: Quantum ESPRESSO's user guide (PWscf); Giannozzi et al., J Phys Condens Matter 29 (2017) 465901.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import application_log as log
from .common.application import Complaint, Recipe, Step, command, resolved, workers
from .common.application_log import Part, Result
from .common.memory import check_room
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

SIZES = {
    "smoke": {"cells": 1, "rows": 1, "layers": 2, "iterations": 0},
    "small": {"cells": 3, "rows": 3, "layers": 4, "iterations": 5},
    "medium": {"cells": 8, "rows": 7, "layers": 4, "iterations": 5},
    "large": {"cells": 16, "rows": 14, "layers": 4, "iterations": 5},
}
_CASE = "generated gold slab"
_MAIN = "scf"
_LATTICE = 4.06  # of gold, in angstrom
#: Between slab and molecules, between the molecules' layer and the next slab; angstrom.
_ABOVE, _VACUUM = 2.8, 8.0
_WATER = (("O", 0.0, 0.0, 0.0), ("H", 0.757, 0.586, 0.0), ("H", -0.757, 0.586, 0.0))
_METHANOL = (
    ("C", 0.0, 0.0, 0.0),
    ("O", 1.42, 0.0, 0.0),
    ("H", 1.74, 0.907, 0.0),
    ("H", -0.36, 1.03, 0.0),
    ("H", -0.36, -0.51, 0.89),
    ("H", -0.36, -0.51, -0.89),
)
_MASSES = {"Au": 196.97, "O": 16.0, "C": 12.011, "H": 1.008}
_PSEUDOPOTENTIALS = {
    "Au": "Au.pz-rrkjus_aewfc.UPF",
    "O": "O.pz-rrkjus.UPF",
    "C": "C.pz-rrkjus.UPF",
    "H": "H.pz-vbc.UPF",
}
_THRESHOLD = 1e-9  # of the estimated accuracy in Ry, where it is iterated until it is reached
#: Total energies in Ry by (cells, rows, layers, iterations, seed), measured over ranks: docs/applications.md.
KNOWN = {
    (1, 1, 2, 0, 1): -301.390105,
    (1, 1, 4, 5, 1): -568.77128,
    (1, 2, 2, 5, 1): -616.35036,
    (2, 2, 2, 5, 1): -1150.85240,
}
#: How far it may be off: converged, in Ry an atom (1, 2 and 8 ranks differ by 4e-7); after so many iterations, as a share.
_CONVERGED, _SHARE = 1.5e-6, 1e-5
#: Energy in Ry that each gold atom, water and methanol adds, from the known ones, what the two surfaces add to a gold atom,
#: times the layers, and how far others may be off, an atom.
_ADDS, _SURFACE = {"Au": -66.8453, "water": -34.139, "methanol": -47.709}, 0.0649
_COARSE = 0.02
_HEADER = """&CONTROL
  calculation = 'scf', prefix = 'slab', {pseudo}outdir = './out', disk_io = 'none'
/
&SYSTEM
  ibrav = 0, nat = {atoms}, ntyp = {kinds}, ecutwfc = 25.0, ecutrho = 200.0
  occupations = 'smearing', smearing = 'mv', degauss = 0.02, nosym = .true.
/
&ELECTRONS
  mixing_beta = 0.3, conv_thr = {threshold:g}, electron_maxstep = {most}
/
K_POINTS automatic
4 2 1 1 1 0
CELL_PARAMETERS angstrom
{x:.6f} 0.0 0.0
0.0 {y:.6f} 0.0
0.0 0.0 {z:.6f}
"""


def atoms(cells: int, rows: int, layers: int, seed: int) -> Iterator[tuple[str, float, float, float]]:
    """Every atom with its place in angstrom: the slab, then the molecules."""
    near = _LATTICE / math.sqrt(2)
    height = _LATTICE / math.sqrt(3)
    for layer in range(layers):
        shift = layer * near * math.sqrt(3) / 3
        for row in range(rows):
            for cell in range(cells):
                for x, y in ((0.0, 0.0), (near / 2, near * math.sqrt(3) / 2)):
                    yield "Au", cell * near + x, row * near * math.sqrt(3) + y + shift, layer * height
    top, draw = (layers - 1) * height + _ABOVE, random.Random(seed)
    for row in range(rows):
        for place in range(molecules(cells)):
            turn, cell = draw.random() * 2 * math.pi, 2 * place
            for name, x, y, z in _METHANOL if (row * molecules(cells) + place) % 2 else _WATER:
                yield (
                    name,
                    (cell + 0.5) * near + x * math.cos(turn) - z * math.sin(turn),
                    (row + 0.5) * near * math.sqrt(3) + x * math.sin(turn) + z * math.cos(turn),
                    top + y,
                )


def molecules(cells: int) -> int:
    """How many molecules lie above a row of cells: one above every second, so that they do not touch."""
    return max(1, cells // 2)


def slab(params: Params) -> str:
    """The input of pw.x."""
    cells, rows, layers = (int(params[name]) for name in ("cells", "rows", "layers"))
    found = list(atoms(cells, rows, layers, int(params["seed"])))
    kinds = [name for name in _MASSES if any(atom[0] == name for atom in found)]
    iterations = int(params["iterations"])
    near = _LATTICE / math.sqrt(2)
    head = _HEADER.format(
        pseudo="" if params["pseudo_dir"] == "auto" else f"pseudo_dir = '{params['pseudo_dir']}', ",
        atoms=len(found),
        kinds=len(kinds),
        threshold=1e-14 if iterations else _THRESHOLD,
        most=iterations or 100,
        x=cells * near,
        y=rows * near * math.sqrt(3),
        z=(layers - 1) * _LATTICE / math.sqrt(3) + _ABOVE + _VACUUM,
    )
    species = "".join(f"{name} {_MASSES[name]} {_PSEUDOPOTENTIALS[name]}\n" for name in kinds)
    places = "".join(f"{name} {x:.6f} {y:.6f} {z:.6f}\n" for name, x, y, z in found)
    numbers = " ".join(str(params[name]) for name in ("cells", "rows", "layers", "iterations", "seed"))
    return f"! shakedown: {numbers}\n{head}ATOMIC_SPECIES\n{species}ATOMIC_POSITIONS angstrom\n{places}"


def _count(cells: int, rows: int, layers: int) -> dict[str, int]:
    """How many of each the slab has."""
    many = molecules(cells) * rows
    return {"Au": 2 * cells * rows * layers, "water": (many + 1) // 2, "methanol": many // 2}


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    found = resolved(params, machine, SIZES, "rows", "quantum_espresso")
    ranks, pools = int(found["ranks"]), int(found["pools"])
    if ranks % pools:
        hint = f"a number of pools that divides {ranks}, at most 4"
        raise BadInput(f"quantum_espresso.pools = {pools} does not divide {ranks} ranks", hint=hint)
    if re.search(r"['\s]", str(found["pseudo_dir"])):
        raise BadInput(
            "has a space or a quote in it",
            where=f"quantum_espresso.pseudo_dir = {found['pseudo_dir']}",
            hint="link the folder to a path without them",
        )
    many = sum(n * {"Au": 1, "water": 3, "methanol": 6}[name] for name, n in _counts(found).items())
    check_room("quantum_espresso.cells", f"{many} atoms", int(4.2e5 * many**2) + 2**28, machine.hosts[0], "fewer cells")
    return (found,)


def _counts(params: Params) -> dict[str, int]:
    return _count(int(params["cells"]), int(params["rows"]), int(params["layers"]))


def _command(params: Params, host: Host) -> Command:
    iterations = int(params["iterations"])
    recipe = Recipe(
        application="quantum_espresso",
        programs={"pw": ("pw.x",), "cat": ("cat",)},
        files={"slab.in": slab(params)},
        install="sudo apt-get install quantum-espresso quantum-espresso-data",
        unset={"ESPRESSO_PSEUDO": "/usr/share/espresso/pseudo"},
        steps=(
            Step(name="input", argv=("cat", "slab.in")),
            Step(
                name=_MAIN,
                argv=("pw", "-nk", str(params["pools"]), "-in", "slab.in"),
                ranks=int(params["ranks"]),
                ends_with=(0, 2) if iterations else (0,),
                tells=("CRASH",),  # of several ranks those that are ended first may print nothing
            ),
        ),
        complaints=(
            Complaint(
                pattern=r"file (\S+\.(?:UPF|upf)) not found|readpp[^\n]*\n[^\n]*file (\S+)",
                what="there is no pseudopotential {1}{2}",
                hint="sudo apt-get install quantum-espresso-data, or give the folder that has it as pseudo_dir",
                absent=True,
            ),
            Complaint(
                pattern=r"convergence NOT achieved after +(\d+) iterations",
                what="the energy did not converge within {1} iterations",
                hint="look at the input and at the pseudopotentials: this slab converges in about 15",
            ),
            Complaint(
                pattern=r"Error in routine ([^\n:]*):?\n([^\n]*)",
                what="pw.x: {1}: {2}",
                hint="its output lies in the run's folder (stdout)",
            ),
            Complaint(
                pattern=r"from (\S+) : error # +(\d+)\n([^\n]*)",
                what="pw.x: {1} ({2}): {3}",
                hint="its output lies in the run's folder (stdout, CRASH)",
            ),
        ),
    )
    return command(recipe, params, host)


_TIMER = re.compile(r"^ +(\w+) +: +[^\n]*?CPU +([\d.dhms ]+?) WALL", re.MULTILINE)
_TIMERS = ("init_run", "electrons", "c_bands", "sum_band", "v_of_rho", "mix_rho", "h_psi", "cdiaghg", "fftw")
_INPUT = re.compile(r"^! shakedown: (\d{1,6}) (\d{1,6}) (\d{1,6}) (\d{1,6}) (\d{1,9})$", re.MULTILINE)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The calculation. Raises Garbage."""
    parts = log.parts(text, "quantum_espresso", _MAIN)
    part = parts[_MAIN]
    if "Program PWSCF" not in part.text:
        raise Garbage("this is not output of pw.x: there is no line 'Program PWSCF'")
    if "JOB DONE." not in part.text:
        raise Garbage("the output ends before pw.x said 'JOB DONE.'")
    timers = {name: log.seconds(took) for name, took in _TIMER.findall(part.text) if name in (*_TIMERS, "PWSCF")}
    if not {"PWSCF", "electrons"} <= timers.keys():
        raise Garbage("the output has no times of PWSCF and of electrons")
    total = timers.pop("PWSCF")
    iterations = len(re.findall(r"^ +iteration # *\d+ ", part.text, re.MULTILINE))
    many = int(_number(part, r"^ +number of atoms/cell += +(\d{1,9})$", "the number of atoms"))
    given = _INPUT.search(parts["input"].text) if "input" in parts else None
    told: Params = {"case": "own input"}
    if given:
        names = ("cells", "rows", "layers", "iterations", "seed")
        told = {"case": _CASE, **dict(zip(names, map(int, given.groups()), strict=True))}
    checks = _checks(part, told, many)
    told |= {"atoms": many}
    work = {"atom_iterations": float(many * iterations)}
    nodes = log.nodes_stated(part.text, r"^ +MPI processes distributed on +(\d{1,9}) nodes?$")
    result = Result(told, work, total, total, timers, _ranks(part), checks[0], checks[1:], nodes)
    cases = log.cases(part, result)
    each = Case(
        kernel="iterations",
        params=cases[0].params,
        work={"iterations": float(iterations)},
        seconds=(timers["electrons"],),
        residual=checks[0],
    )
    return (*cases, each)


def _number(part: Part, pattern: str, what: str) -> float:
    return log.one_number(part.text, pattern, f"the output does not give {what}")


def _checks(part: Part, told: Params, many: int) -> list[Residual]:
    """Of the energy, and of the accuracy that pw.x estimates for it."""
    mark = "!" if re.search(r"^! +total energy", part.text, re.MULTILINE) else " "
    energy = _number(part, rf"^{mark} +total energy += +({NUMBER}) Ry", "the total energy")
    accuracy = [float(one) for one in re.findall(rf"estimated scf accuracy +< +({NUMBER}) Ry", part.text)]
    if not accuracy:
        raise Garbage("the output does not give the estimated scf accuracy")
    converged = "convergence has been achieved" in part.text
    limit = float(_number(part, rf"^ +scf convergence threshold += +({NUMBER})", "the convergence threshold"))
    if told["case"] != _CASE or not told["iterations"]:
        found = [Residual(value=accuracy[-1] if converged else None, limit=limit, kind="estimated accuracy in Ry")]
    else:
        found = [
            Residual(value=accuracy[-1] / accuracy[0], limit=1.0, kind="estimated accuracy over that at the start")
        ]
    if told["case"] != _CASE:
        return found
    key = tuple(int(told[name]) for name in ("cells", "rows", "layers", "iterations", "seed"))
    known = KNOWN.get(key)  # type: ignore[arg-type]
    if known is not None:
        limit = _SHARE * abs(known) / many if told["iterations"] else _CONVERGED
        kind = f"difference of the total energy from {known:.8f} Ry, in Ry an atom"
        return [Residual(value=abs(energy - known) / many, limit=limit, kind=kind), *found]
    amounts = _count(key[0], key[1], key[2])
    sum_ry = sum(_ADDS[name] * n for name, n in amounts.items()) + _SURFACE / key[2] * amounts["Au"]
    kind = "difference of the total energy from the sum over its atoms, in Ry an atom"
    return [Residual(value=abs(energy - sum_ry) / many, limit=_COARSE, kind=kind), *found]


def _ranks(part: Part) -> tuple[int, ...]:
    found = re.findall(
        r"^ +(?:Parallel version [^\n]*running on +(\d{1,9}) processors|Serial version)", part.text, re.M
    )
    return tuple(int(one or 1) for one in found)


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Time that the log does not account for."""
    part = log.parts(text, "quantum_espresso", _MAIN)[_MAIN]
    timers = dict(_TIMER.findall(part.text))
    return log.outside(part, log.seconds(timers.get("PWSCF", "0s")))


def _estimate_s(params: Params, host: Host) -> float:
    """20 s for the smallest on a core; five iterations of 48 atoms 60 s, and more by the power 2.5."""
    many = sum(n * {"Au": 1, "water": 3, "methanol": 6}[name] for name, n in _counts(params).items())
    found: float = 15.0 + 60.0 * (many / 48) ** 2.5 * (int(params["iterations"]) or 15) / 5 / workers(
        host, int(params["ranks"])
    )
    return found


WORKLOAD = TABLE.workload(
    title="Quantum ESPRESSO (pw.x), as the site installed it: a gold slab",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
