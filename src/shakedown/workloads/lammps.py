"""LAMMPS, the molecular dynamics program that a site has installed: an adapter that runs an input and reads its log.

Each ``run`` of the input is a case: its work is atoms times steps, its seconds are the loop time that LAMMPS prints, which
leaves out reading the input and building the system. A loop time that does not agree with the steps per second of the line
"Performance:" is refused. Minimisations and runs of no steps give no figure. LAMMPS does not say whether a result is
right, so it is judged by its own thermodynamic output: a value that is not finite fails, and so does a total energy that
changes by more than ``energy_change`` of itself from the first line of a run to its last.

``melt`` is LAMMPS's benchmark bench/in.lj with a size and a number of steps of one's own: a Lennard-Jones fluid of density
0.8442 with a cutoff of 2.5, at constant energy. An ``input`` of the site's is read in its own folder, where its data
files lie. Ranks lie under the site's mpirun.

Source: LAMMPS manual, "Screen and logfile output"; bench/in.lj of its distribution.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common.application import check_ranks
from .common.memory import check_room
from .common.printed import NUMBER, half_place
from .common.table import table_of

TABLE = table_of(__file__)

MELT = "melt"
#: What LAMMPS keeps of an atom of the melt: 0.49 kB with its neighbours, as its line "Per MPI rank memory allocation" says.
_ATOM_BYTES = 490
_INPUT = """print "shakedown: input melt"
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 {cells} 0 {cells} 0 {cells}
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 1.44 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    delay 0 every 20 check no
fix             1 all nve
run             {steps}
"""
_LOOP = re.compile(
    rf"^Loop time of ({NUMBER}) on (\d{{1,9}}) procs for (\d{{1,15}}) steps with (\d{{1,15}}) atoms", re.MULTILINE
)
_SPEED = re.compile(
    rf"^Performance: [^\n]*?({NUMBER}) timesteps/s[^\n]*\n[^\n]* CPU use with (\d{{1,9}}) MPI tasks x (no|\d{{1,9}}) OpenMP",
    re.MULTILINE,
)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    path = str(params["input"])
    if path != MELT and not Path(path).is_file():
        raise BadInput("is not a file", where=f"lammps.input = {path}", hint=f"give an input script, or {MELT}")
    if re.search(r"\s", path):
        raise BadInput("has a space in it, which LAMMPS takes for the end of a word", where=f"lammps.input = {path}")
    ranks = cores(machine.hosts[0]) if params["ranks"] == "all" else int(params["ranks"])
    check_ranks("lammps", ranks, machine.hosts[0])
    if path == MELT:
        atoms = 4 * int(params["cells"]) ** 3
        what = f"{atoms} atoms of the melt"
        check_room("lammps.cells", what, atoms * _ATOM_BYTES, machine.hosts[0], "fewer cells, or more hosts")
    melt = {"input": path if path == MELT else str(Path(path).resolve())}
    return ({**params, **melt, "ranks": ranks},)


def _command(params: Params, host: Host) -> Command:
    path = Path(str(params["input"]))
    text = (
        _INPUT.format(**params)
        if str(path) == MELT
        else f'print "shakedown: input {path.name}"\nshell cd {path.parent}\ninclude {path.name}\n'
    )
    options = ("-in", "in.shakedown", "-log", "none", *str(params["arguments"]).split())
    return Command(
        argv=(str(params["program"]), *options),
        env={"OMP_NUM_THREADS": str(params["threads"])},
        ranks=int(params["ranks"]),
        files={"in.shakedown": text},
        site_mpi=True,
    )


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each run of some steps. Raises Garbage."""
    if not text.lstrip().startswith("LAMMPS ("):
        raise Garbage("this is not output of LAMMPS: its first line is not 'LAMMPS (date)'")
    if "\nTotal wall time: " not in text:
        raise Garbage("the output ends before LAMMPS said 'Total wall time: ...'")
    named, gpus = (
        re.search(r"^shakedown: input (\S+)$", text, re.MULTILINE),
        re.search(r"up to (\d{1,3}) GPU\(s\)", text),
    )
    told: Params = {"input": named[1] if named else "not stated", **({"gpus": int(gpus[1])} if gpus else {})}
    limit = params.get("energy_change", "auto")  # a log that was imported has no parameters
    limit = (0.01 if told["input"] == MELT else math.inf) if limit == "auto" else float(limit)
    loops = list(_LOOP.finditer(text))
    cases = []
    for loop, before, after in zip(loops, [None, *loops], [*loops[1:], None], strict=False):
        speed = _SPEED.search(text, loop.end(), after.start() if after else len(text))
        if speed is not None:
            check = _check(text[before.end() if before else 0 : loop.start()], limit)
            cases.append(_case(loop, speed, told, check))
    if not cases:
        raise Garbage("no run has a line 'Loop time of ...' followed by 'Performance: ... timesteps/s'")
    return tuple(cases)


def _case(loop: re.Match[str], speed: re.Match[str], told: Params, check: Residual) -> Case:
    """One run. Raises Garbage where the seconds of its loop are not those of its steps a second."""
    seconds, steps, atoms = float(loop[1]), int(loop[3]), int(loop[4])
    rate, half, half_s = float(speed[1]), half_place(speed[1]), half_place(loop[1])
    if not (
        seconds > half_s and steps / (seconds + half_s) <= rate + half and rate - half <= steps / (seconds - half_s)
    ):
        raise Garbage(f"the loop time of {loop[1]} s for {steps} steps does not agree with {speed[1]} steps per second")
    return Case(
        kernel="run",
        params={
            **told,
            "n": atoms,
            "steps": steps,
            "ranks": int(speed[2]),
            "threads": int(speed[3].replace("no", "1")),
        },
        work={"atom_steps": float(atoms * steps), "steps": float(steps)},
        seconds=(seconds,),
        residual=check,
    )


def _check(text: str, limit: float) -> Residual:
    """Whether the thermodynamic output before a loop's end is of numbers, and by how much its total energy changed."""
    found = re.search(r"^ *Step .*\n((?: *-?\d.*\n|WARNING.*\n)+)", text, re.MULTILINE)
    if found is None:
        raise Garbage("a run has no thermodynamic output with a column Step, by which it would be checked")
    head = found[0].split("\n", 1)[0].split()
    rows = [line.split() for line in found[1].splitlines() if not line.startswith("WARNING")]
    try:
        table = [[float(word) for word in row] for row in rows]
    except ValueError:
        raise Garbage("a line of the thermodynamic output is not of numbers") from None
    if any(len(row) != len(head) for row in table):
        raise Garbage("a line of the thermodynamic output has not as many numbers as there are columns")
    if not all(math.isfinite(value) for row in table for value in row):
        return Residual(value=None, limit=0.0, kind="thermodynamic values that are not finite")
    if limit == math.inf:
        return Residual(value=0.0, limit=0.0, kind="thermodynamic values that are not finite")
    if "TotEng" not in head:
        raise Garbage("the thermodynamic output has no column TotEng, by which its energy would be checked")
    first, last = (row[head.index("TotEng")] for row in (table[0], table[-1]))
    return Residual(value=abs(last / first - 1) if first else None, limit=limit, kind="change of the total energy")


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """LAMMPS's warnings, and neighbour lists that were rebuilt too late: forces were missed."""
    found = [
        Notice(code="lammps-warning", text=line[:300])
        for line in dict.fromkeys(re.findall(r"^WARNING: [^\n]*", text, re.MULTILINE)[:8])
    ]
    late = sum(map(int, re.findall(r"^Dangerous builds = (\d{1,15})$", text, re.MULTILINE)))
    if late:
        advice = "rebuild them more often (neigh_modify) or with a larger skin (neighbor)"
        text = f"{late} neighbour lists were rebuilt too late, so that forces may be missing"
        found.append(Notice(code="lammps-dangerous-builds", text=text, advice=advice))
    return tuple(found)


def _estimate_s(params: Params, host: Host) -> float:
    """A million atom steps a second for each rank; a minute for a site's input, of which nothing is known."""
    atoms = 4 * int(params["cells"]) ** 3
    return 2.0 + atoms * int(params["steps"]) / (1e6 * int(params["ranks"])) if params["input"] == MELT else 60.0


WORKLOAD = TABLE.workload(
    title="LAMMPS, as the site installed it",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),  # neither host nor time
    resolve=_resolve,
    estimate_s=_estimate_s,
)
