"""OpenFOAM, as a site has it: large eddies behind a backward-facing step, by pisoFoam.

The case is generated from a size and a seed: 680 n^3 uniform hexahedra, WALE's model, second order in time, GAMG for
the pressure, steps of the same Courant number (``common/backward_step.py``). Above ten million cells a coarser mesh is
made and refined on all ranks, since blockMesh and decomposePar are serial and take 1.6 kB a cell.

``openfoam.rate`` counts cells times steps, ``openfoam.time`` is the time of the time loop on the slowest rank by
OpenFOAM's own profiling (microseconds; ClockTime has whole seconds, ExecutionTime is processor time),
``openfoam.phase`` that of the solvers. ``openfoam.iteration`` is the time of the pressure's solver by iterations: their
number grows with the ranks, and the network is not to blame for that.

Checked are the flow through inlet and outlet (1e-6 of it), the kinetic energy (of known cases within 2e-6; of others
between that of a uniform flow in both channels, which no flow of these rates is below, and 6 % more, and 0.4 % with
each unit of time), the profile five heights behind the step, the solvers' residuals, and the ranks that OpenFOAM saw:
without ``-parallel`` every rank computes all of it and succeeds. A log of one's own case has whole seconds unless its
profiling is behind it; it is read as not verified.

Source: OpenFOAM's user guide, "Profiling", "Function objects"; Le, Moin, Kim, J Fluid Mech 330 (1997) 349.
"""

from __future__ import annotations

import re

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import application_log as log
from .common import backward_step
from .common.application import Complaint, Recipe, Step, command, resolved, workers
from .common.application_log import Part, Result
from .common.grid import near_cubic
from .common.memory import check_room
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

SIZES = {
    "smoke": {"n": 3, "steps": 10, "span": 1},
    "small": {"n": 8, "steps": 150, "span": 1},
    "medium": {"n": 23, "steps": 200, "span": 1},
    "large": {"n": 46, "steps": 600, "span": 1},
}
#: Fewer cells for a rank, and parts of the mesh may have none.
_LEAST_CELLS = 100
_CASE, _MAIN = "generated backward-facing step", "pisoFoam"
_SERIAL_CELLS = 10_000_000
#: Kinetic energy (twice, a unit of density) by (n, steps, span, seed), and the velocities of its profile.
KNOWN: dict[tuple[int, int, int, int], tuple[float, tuple[float, ...]]] = {
    (3, 10, 1, 1): (538.62104, (0.7284947, 0.8126465, 0.8157823, 0.8219372, 0.8311887, 0.8415554, 0.848851, 0.8525242)),
    (4, 40, 1, 1): (
        542.375415,
        (0.7969573, 0.8051211, 0.8096063, 0.8181967, 0.8309805, 0.8449911, 0.8544194, 0.8590003),
    ),
    (2, 100, 1, 1): (
        550.549548,
        (0.3095139, 0.6607979, 0.8824407, 0.876942, 0.8840136, 0.8932537, 0.9003876, 0.9030897),
    ),
}
_NEAR, _PROFILE, _FLOW = 2e-6, 1e-5, 1e-6
#: How much more energy a flow may have than a uniform one: at first, and with each unit of time, as its layers grow.
_MOST, _GROWS = 0.06, 0.004
#: The least energy a unit of span: both channels with a uniform flow of the inlet's rate, 10 x 5 + 20 x 6 (5/6)^2.
_UNIFORM = 10 * 5 + 20 * 6 * (5 / 6) ** 2


def _refinements(n: int) -> int:
    """How often a mesh is halved so that the serial one is small enough."""
    found = 0
    while 680 * n**3 > _SERIAL_CELLS and n % 2 == 0:
        n, found = n // 2, found + 1
    return found


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    found = resolved(params, machine, SIZES, "span", "openfoam")
    cells = 680 * int(found["n"]) ** 3 * int(found["span"])
    check_room("openfoam.n", f"{cells} cells", cells * 1600 + 2**28, machine.hosts[0], "a smaller n, or a smaller size")
    if cells < _LEAST_CELLS * int(found["ranks"]):
        what = f"openfoam.n = {found['n']}: {cells} cells are too few for {found['ranks']} ranks"
        raise BadInput(what, hint=f"at most {cells // _LEAST_CELLS} ranks, or a larger n, span or size")
    return (found,)


def _command(params: Params, host: Host) -> Command:
    ranks, n, time_steps, span = (int(params[name]) for name in ("ranks", "n", "steps", "span"))
    fine = _refinements(n)
    parts = near_cubic(ranks, 3)
    parallel = ("-parallel",) if ranks > 1 else ()
    refine = [
        Step(name=f"refine{one + 1}", argv=("refineMesh", "-all", "-overwrite", *parallel), ranks=ranks)
        for one in range(fine)
    ]
    steps = (
        Step(name="input", argv=("cat", "system/controlDict")),
        Step(name="mesh", argv=("blockMesh",)),
        *([Step(name="decompose", argv=("decomposePar",))] if ranks > 1 else []),
        *refine,
        Step(
            name=_MAIN,
            argv=(_MAIN, *parallel),
            ranks=ranks,
            shows=("*/uniform/profiling", "processor*/*/uniform/profiling", "postProcessing/profile/0/U"),
        ),
    )
    recipe = Recipe(
        application="openfoam",
        programs={name: (name,) for name in dict.fromkeys((_MAIN, *(step.argv[0] for step in steps)))},
        install="sudo apt-get install openfoam",
        files=backward_step.files(n, time_steps, span, fine, parts, int(params["seed"])),
        unset={"WM_PROJECT_DIR": "/usr/share/openfoam"},
        steps=steps,
        complaints=_COMPLAINTS,
    )
    return command(recipe, params, host)


_COMPLAINTS = (
    Complaint(
        pattern=r"Could not find mandatory etc entry",
        what="OpenFOAM does not find its folder etc",
        hint="load its module, source its bashrc, or set WM_PROJECT_DIR",
    ),
    Complaint(
        pattern=r"number of processor directories = (\d+) is not equal to the number of processors = (\d+)",
        what="the mesh was parted for {1} ranks, and {2} were started",
        hint="the launcher started another number: see what it prints",
    ),
    Complaint(
        pattern=r"FOAM FATAL (?:IO )?ERROR[^\n]*\n((?:[^\n]*\n){0,2}[^\n]*\w[^\n]*)",
        what="OpenFOAM: {1}",
        hint="its output lies in the run's folder (stdout, stderr)",
    ),
)

_INPUT = re.compile(r"^// shakedown: (\d{1,6}) (\d{1,9}) (\d{1,9}) (\d{1,9}) ([\d.]{1,12})$", re.MULTILINE)
_TRIGGER = re.compile(rf'description +"([^"\n]*)";\s*calls +\d+;\s*totalTime +({NUMBER});', re.MULTILINE)
_PRESSURE = re.compile(
    rf"Solving for p, Initial residual = \S+, Final residual = ({NUMBER}), No Iterations (\d{{1,9}})"
)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The time loop. Raises Garbage."""
    parts = log.parts(text, "openfoam", _MAIN)
    part = parts[_MAIN]
    if "ExecutionTime = " not in part.text:
        raise Garbage("this is not output of an OpenFOAM solver: no step has a line 'ExecutionTime = ...'")
    if not re.search(r"^(?:End|Finalising parallel run)$", part.text, re.MULTILINE):
        raise Garbage("the output ends before OpenFOAM said 'End'")
    given = _INPUT.search(parts["input"].text) if "input" in parts else None
    solved = _PRESSURE.findall(part.text)
    steps = len(re.findall(r"^Time = ", part.text, re.MULTILINE))
    iterations = sum(int(many) for _, many in solved)
    if given is None:
        took = _clock(part)
        told: Params = {"case": "own case", "steps": steps, "check": "not verified"}
        return log.cases(
            part, Result(told, {"steps": float(steps)}, took, took, {}, _ranks(part), None, (), _nodes(part))
        )
    n, asked, span, seed = (int(one) for one in given.groups()[:4])
    if steps != asked:
        raise Garbage(f"the output has {steps} steps of {asked}")
    phases, total = _profile(part)
    cells = 680 * n**3 * span
    told = {"case": _CASE, "n": n, "steps": steps, "span": span, "seed": seed, "cells": cells}
    checks = _checks(part, (n, steps, span, seed), float(given[5]), solved)
    main = phases["time loop"]
    work = {"cell_steps": float(cells * steps), "steps": float(steps)}
    cases = log.cases(part, Result(told, work, main, total, phases, _ranks(part), checks[0], checks[1:]))
    each = Case(
        kernel="iterations",
        params=cases[0].params,
        work={"iterations": float(iterations)},
        seconds=(phases["solver of p"],),
        residual=checks[0],
    )
    return (*cases, *((each,) if iterations else ()))


def _nodes(part: Part) -> int:
    """The hosts that a solver lists with the ranks of each, of all of its runs in the log; 0 where it lists none."""
    listed = re.findall(
        r"^Hosts +:\s{1,3}\((\s{1,9}(?:\(\S{1,255} \d{1,9}\)\s{1,9}){1,99999})\)", part.text, re.MULTILINE
    )
    counts = {len(set(re.findall(r"\((\S+) \d+\)", one))) for one in listed}
    return counts.pop() if len(counts) == 1 else 0


def _clock(part: Part) -> float:
    """The time of a log without profiling, in whole seconds: none where that says too little."""
    found = re.findall(r"^ExecutionTime = \S+ s +ClockTime = (\d{1,9}) s$", part.text, re.MULTILINE)
    if not found or int(found[-1]) < 100:
        raise Garbage(
            "the clock of this log has whole seconds and it is shorter than 100 of them: "
            "put 'profiling { active true; }' into system/controlDict"
        )
    return float(found[-1])


def _profile(part: Part) -> tuple[dict[str, float], float]:
    """Of each phase the time on the slowest rank, and that of the whole program. Raises Garbage."""
    found = [dict(_TRIGGER.findall(text)) for name, text in part.files.items() if name.endswith("/uniform/profiling")]
    if not found or any("application::main" not in one for one in found):
        raise Garbage("OpenFOAM left no profiling of its time loop")
    phases: dict[str, float] = {}
    for one in found:
        for name, took in one.items():
            known = "time loop" if name.startswith("time.run()") else _PHASES.get(name, "")
            if known:
                phases[known] = max(phases.get(known, 0.0), float(took))
    if not {"time loop", "solver of p"} <= phases.keys():
        raise Garbage("OpenFOAM's profiling has no time loop")
    return phases, max(float(one["application::main"]) for one in found)


_PHASES = {"fvMatrix::solve.p": "solver of p", "fvMatrix::solve.U": "solver of U"}


def _checks(part: Part, key: tuple[int, int, int, int], speed: float, solved: list[tuple[str, str]]) -> list[Residual]:
    """Energy, flow, profile, residuals."""
    energy, into, out = (
        log.one_number(part.text, pattern, f"OpenFOAM did not give {what} at the end")
        for pattern, what in (
            (rf"of magSqr\(U\) = ({NUMBER})", "the kinetic energy"),
            (rf"sum\(inlet\) of phi = ({NUMBER})", "the flow through the inlet"),
            (rf"sum\(outlet\) of phi = ({NUMBER})", "the flow through the outlet"),
        )
    )
    known = KNOWN.get(key)
    profile = _velocities(part)
    if known is not None:
        found = [log.deviation(energy, known[0], _NEAR, f"deviation of the kinetic energy from {known[0]:.6f}")]
        apart = max((abs(a - b) for a, b in zip(profile, known[1], strict=True)), default=None)
        found.append(Residual(value=apart, limit=_PROFILE, kind="difference from the known profile of the velocity"))
    else:
        over = energy / (_UNIFORM * 4 * key[2] * speed**2) - 1
        kind = "excess of the kinetic energy over that of uniform flow"
        found = [Residual(value=over if over >= 0 else None, limit=_MOST + _GROWS * key[1] * 0.3 / key[0], kind=kind)]
        free = [one for one, y in zip(profile, backward_step.PROFILE_Y, strict=True) if y > 1.5]
        apart = max(abs(one / speed - 5 / 6) for one in free)
        found.append(Residual(value=apart, limit=0.15, kind="difference of the velocity above the step from 5/6"))
    asked = 20.0 * key[2] * speed
    flow = max(abs(into + out), abs(out - asked)) / asked
    found.append(Residual(value=flow, limit=_FLOW, kind="share of the flow that is lost between inlet and outlet"))
    worst = max((float(one) for one, _ in solved), default=None)
    found.append(Residual(value=worst, limit=1e-6, kind="residual of the pressure that was left"))
    return found


def _velocities(part: Part) -> tuple[float, ...]:
    """The velocities along the channel at the heights of the profile. Raises Garbage."""
    text = part.files.get("postProcessing/profile/0/U", "")
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = tuple(float(one) for one in re.findall(rf"\(({NUMBER}) {NUMBER} {NUMBER}\)", rows[-1])) if rows else ()
    if len(found) != len(backward_step.PROFILE_Y):
        raise Garbage("OpenFOAM did not give the profile of the velocity")
    return found


def _ranks(part: Part) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"^nProcs : (\d{1,9})$", part.text, re.MULTILINE)))


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Time that the profiling does not account for."""
    part = log.parts(text, "openfoam", _MAIN)[_MAIN]
    return log.outside(part, _profile(part)[1]) if part.wall_s is not None else ()


def _estimate_s(params: Params, host: Host) -> float:
    """4 us a cell and step of a rank, 20 us a cell for mesh and parting."""
    cells = 680 * int(params["n"]) ** 3 * int(params["span"])
    return 5.0 + 2e-5 * cells + 4e-6 * cells * int(params["steps"]) / workers(host, int(params["ranks"]))


WORKLOAD = TABLE.workload(
    title="OpenFOAM, as the site installed it: large eddies behind a step",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
