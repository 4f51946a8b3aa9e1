"""NEURON, as a site has it: a network of cells with dendrites that excite and inhibit each other, as in an olfactory bulb.

The network is generated from a size and a seed by a script of ours (below, written for this project): for each mitral
cell with soma, primary dendrite, tuft and two lateral dendrites come fifteen granule cells; each granule cell meets
four mitral cells in reciprocal synapses, and every tuft hears its own random train of spikes. All membranes are Hodgkin
and Huxley's, built into NEURON, so that no compiler is needed. All random numbers hang on the cell and the seed alone
(Random123), so that the spikes are the same over any number of ranks: bit by bit.

``neuron.time`` is the time of ``psolve`` between two barriers on the slowest rank, without imports and building;
``neuron.rate`` counts compartments times steps. Checked are the rates of the spikes of both kinds of cells (against
those of known networks, within 15 % and what chance does to few cells), the number of spikes where the network is a
known one, with ``reference`` the spikes against those of one rank (equal, bit by bit), and the number of ranks that
NEURON saw: its wheel loads the MPI of the system, and under another launcher every rank simulates everything, each says
one rank, and all succeed.

Source: Hines, Carnevale, Neural Comput 9 (1997) 1179; Migliore et al., J Comput Neurosci 21 (2006) 119; NEURON's
ParallelContext.
"""

from __future__ import annotations

import re

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
    "smoke": {"cells": 336, "steps": 8000, "segments": 1},
    "small": {"cells": 336, "steps": 200000, "segments": 1},
    "medium": {"cells": 10496, "steps": 40000, "segments": 10},
    "large": {"cells": 167936, "steps": 40000, "segments": 20},
}
_CASE = "generated network"
_MAIN, _REFERENCE = "network", "reference"
#: Cells to a mitral cell, itself among them.
_GROUP = 16
_NETWORK = '''"""Mitral and granule cells. Written for Shakedown; every random number hangs on a cell and the seed."""
import argparse
import hashlib
import time

BEGAN = time.perf_counter()
from neuron import h  # noqa: E402

words = argparse.ArgumentParser()
for name in ("cells", "steps", "segments", "seed"):
    words.add_argument("--" + name, type=int, required=True)
words.add_argument("--mpi", action="store_true")
asked = words.parse_args()
if asked.mpi:
    h.nrnmpi_init()
pc = h.ParallelContext()
rank, ranks = int(pc.id()), int(pc.nhost())
if rank == 0:
    print("network: %d ranks" % ranks, flush=True)
MITRAL = asked.cells // 16
GRANULE = 15 * MITRAL
DT = 0.025
h.celsius = 16


def section(length, diameter, segments, parent=None):
    made = h.Section()
    made.L, made.diam, made.nseg = length, diameter, segments
    made.insert("hh")
    if parent is not None:
        made.connect(parent(1))
    return made


def draws(gid, stream):
    found = h.Random()
    found.Random123(gid, stream, asked.seed)
    found.uniform(0, 1)
    return found


def fires(gid, soma):
    pc.set_gid2node(gid, rank)
    found = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    found.threshold = 0
    pc.cell(gid, found)
    kept.append(found)


def hears(gid, synapse, weight, delay):
    found = pc.gid_connect(gid, synapse)
    found.weight[0], found.delay = weight, delay
    kept.append(found)


kept, cells, compartments = [], {}, 0
for gid in range(rank, MITRAL + GRANULE, ranks):
    if gid < MITRAL:
        soma = section(25, 20, 1)
        primary = section(300, 3, 5 * asked.segments, soma)
        tuft = section(200, 1.5, 3 * asked.segments, primary)
        laterals = [section(500, 2, 21 * asked.segments, soma) for _ in range(2)]
        parts = [soma, primary, tuft] + laterals
        synapse = h.ExpSyn(tuft(0.5))
        synapse.tau = 2
        train = h.NetStim()
        train.interval, train.number, train.start, train.noise = 25, 1e9, 1, 1
        train.noiseFromRandom123(gid, 1, asked.seed)
        heard = h.NetCon(train, synapse)
        heard.weight[0], heard.delay = 0.02, 1
        kept += [synapse, train, heard]
    else:
        soma = section(8, 8, 1)
        laterals = [section(150, 1, 5 * asked.segments, soma)]
        parts = [soma] + laterals
    cells[gid] = (parts, laterals)
    compartments += sum(part.nseg for part in parts)
    fires(gid, soma)
for granule in range(GRANULE):
    gid = MITRAL + granule
    draw = draws(gid, 2)
    for _ in range(4):
        mitral, branch, place = int(draw.repick() * MITRAL), int(draw.repick() * 2), draw.repick()
        if gid in cells:
            synapse = h.ExpSyn(cells[gid][1][0](0.5))
            synapse.tau = 3
            hears(mitral, synapse, 0.0012, 2)
            kept.append(synapse)
        if mitral in cells:
            synapse = h.Exp2Syn(cells[mitral][1][branch](place))
            synapse.tau1, synapse.tau2, synapse.e = 0.5, 8, -80
            hears(gid, synapse, 0.003, 2)
            kept.append(synapse)
times, gids = h.Vector(), h.Vector()
pc.spike_record(-1, times, gids)
h.dt = DT
pc.set_maxstep(10)
h.finitialize(-65)
pc.barrier()
built = time.perf_counter()
pc.psolve(asked.steps * DT)
pc.barrier()
solved = time.perf_counter()
useful, waited = pc.step_time(), pc.wait_time()
found = list(zip((round(one, 6) for one in times), (int(one) for one in gids)))
everyone = pc.py_gather((found, compartments, built - BEGAN, solved - built, useful, waited), 0)
if rank == 0:
    spikes = sorted(one for each in everyone for one in each[0])
    text = "".join("%.6f,%d;" % one for one in spikes)
    print("network: %d mitral and %d granule cells, %d compartments, %d steps, %d segments, seed %d" % (
        MITRAL, GRANULE, sum(each[1] for each in everyone), asked.steps, asked.segments, asked.seed))
    print("network: spikes %d, of mitral cells %d, sha256 %s" % (
        len(spikes), sum(gid < MITRAL for _, gid in spikes), hashlib.sha256(text.encode()).hexdigest()[:16]))
    for name, place in (("build", 2), ("psolve", 3), ("step", 4), ("wait", 5)):
        values = [each[place] for each in everyone]
        print("network: %s %.6f s on the slowest rank, %.6f s on the mean" % (name, max(values), sum(values) / ranks))
    print("network: total %.6f s" % (time.perf_counter() - BEGAN), flush=True)
pc.barrier()
if asked.mpi:
    h.quit()
'''
#: Spikes of all and of mitral cells, and their fingerprint, by (cells, steps, segments, seed).
KNOWN: dict[tuple[int, int, int, int], tuple[int, int, str]] = {(336, 8000, 1, 1): (5428, 153, "ab783ae35fc01533")}
#: Spikes a second of one cell, mitral and granule, over nine networks; and how far others may be off: so much, and so much
#: over the square root of the number of mitral cells, whose trains are random.
_RATES, _BAND, _SPREAD = (35.0, 83.0), 0.15, 1.0
_DT_S = 25e-6


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    found = resolved(params, machine, SIZES, "cells", "neuron")
    cells = int(found["cells"])
    if cells % _GROUP:
        what = f"neuron.cells = {cells} is not a multiple of {_GROUP}: fifteen granule cells come with each mitral one"
        raise BadInput(what, hint=f"cells = {cells // _GROUP * _GROUP or _GROUP}")
    many = cells // _GROUP * (1 + 50 * int(found["segments"]) + 15 * (1 + 5 * int(found["segments"])))
    check_room("neuron.cells", f"{many} compartments", many * 1500 + 2**28, machine.hosts[0], "fewer cells or segments")
    return (found,)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    words = tuple(word for name in ("cells", "steps", "segments", "seed") for word in (f"--{name}", str(params[name])))
    reference = params["reference"] == "yes" or (
        params["reference"] == "auto" and params["size"] == "smoke" and ranks > 1
    )
    alone = Step(name=_REFERENCE, argv=("python", "network.py", *words))
    recipe = Recipe(
        application="neuron",
        programs={"python": ("python3",)},
        files={"network.py": _NETWORK},
        install="pip install neuron, and name its Python: program=PATH/bin/python",
        steps=(
            Step(name=_MAIN, argv=("python", "network.py", *words, *(["--mpi"] if ranks > 1 else [])), ranks=ranks),
            *([alone] if reference else []),
        ),
        complaints=(
            Complaint(
                pattern=r"No module named '?neuron",
                what="this Python has no NEURON",
                hint="pip install neuron, and name its Python (program=PATH/bin/python); "
                "or: sudo apt-get install python3-neuron",
                absent=True,
            ),
            Complaint(
                pattern=r"[Cc]ould not dynamically load libmpi|Could not load libnrnmpi[^\n]*",
                what="NEURON finds no library of an MPI",
                hint="set MPI_LIB_NRN_PATH to the libmpi.so of the launcher that is used",
                absent=True,
            ),
        ),
    )
    return command(recipe, params, host)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The simulation. Raises Garbage."""
    parts = log.parts(text, "neuron", _MAIN)
    part = parts[_MAIN]
    total, solve, build = (
        _number(part, rf"^network: {name} ({NUMBER}) s", name) for name in ("total", "psolve", "build")
    )
    mitral, granule, compartments, steps, segments, seed = _model(part)
    spikes = _spikes(part)
    told: Params = {"case": _CASE, "cells": mitral + granule, "steps": steps, "segments": segments, "seed": seed}
    checks = _rates(spikes, mitral, granule, steps * _DT_S)
    known = KNOWN.get((mitral + granule, steps, segments, seed))
    if known is not None:
        checks.append(log.deviation(spikes[0], known[0], 0.01, f"deviation of the spikes from {known[0]}"))
    if _REFERENCE in parts:
        same = _spikes(parts[_REFERENCE]) == spikes
        checks.append(
            Residual(value=0.0 if same else 1.0, limit=0.0, kind="trains of spikes that differ from one rank's")
        )
    result = Result(
        told,
        {"compartment_steps": float(compartments * steps)},
        solve,
        total,
        {"build": build, "psolve": solve},
        _ranks(part),
        checks[0],
        checks[1:],
    )
    return log.cases(part, result)


def _number(part: Part, pattern: str, what: str) -> float:
    return log.one_number(part.text, pattern, f"the output does not give the time of {what}")


def _model(part: Part) -> tuple[int, ...]:
    pattern = (
        r"^network: (\d+) mitral and (\d+) granule cells, (\d+) compartments, (\d+) steps, (\d+) segments, seed (\d+)$"
    )
    found = re.search(pattern.replace(r"\d+", r"\d{1,12}"), part.text, re.MULTILINE)
    if found is None:
        raise Garbage("the output does not say which network was simulated")
    numbers = tuple(map(int, found.groups()))
    if not all(numbers[:5]):
        raise Garbage("the network has no cells, no steps or no segments")
    return numbers


def _spikes(part: Part) -> tuple[int, int, str]:
    pattern = r"^network: spikes (\d{1,12}), of mitral cells (\d{1,12}), sha256 ([0-9a-f]{16})$"
    found = re.search(pattern, part.text, re.MULTILINE)
    if found is None:
        raise Garbage("the output does not give the number of spikes")
    return int(found[1]), int(found[2]), found[3]


def _rates(spikes: tuple[int, int, str], mitral: int, granule: int, seconds: float) -> list[Residual]:
    """Both rates against those of known networks; shorter ones than 50 ms have none."""
    if seconds < 0.05:
        raise Garbage(f"{seconds * 1e3:g} ms are too short for a rate of spikes: take 2,000 steps or more")
    band = _BAND + _SPREAD / mitral**0.5
    each = (spikes[1] / mitral / seconds, (spikes[0] - spikes[1]) / granule / seconds)
    return [
        log.deviation(rate, known, band, f"deviation of the rate of {name} cells ({rate:.1f} Hz) from {known:g} Hz")
        for rate, known, name in zip(each, _RATES, ("mitral", "granule"), strict=True)
    ]


def _ranks(part: Part) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"^network: (\d{1,9}) ranks$", part.text, re.MULTILINE)))


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Spikes that are not bit by bit those of our recording, time that the log does not account for."""
    part = log.parts(text, "neuron", _MAIN)[_MAIN]
    mitral, granule, _, steps, segments, seed = _model(part)
    known = KNOWN.get((mitral + granule, steps, segments, seed))
    found = list(log.outside(part, _number(part, rf"^network: total ({NUMBER}) s", "the whole")))
    if known is not None and _spikes(part) != known:
        text = "the spikes are not those of other machines bit by bit: its mathematical library may round otherwise"
        found.append(Notice(code="neuron-other-spikes", text=text, advice="compare with one rank here: reference=yes"))
    return tuple(found)


def _estimate_s(params: Params, host: Host) -> float:
    """130 ns a compartment and step on a core; the reference on one rank besides."""
    segments = int(params["segments"])
    many = int(params["cells"]) // _GROUP * (1 + 50 * segments + 15 * (1 + 5 * segments))
    return 3.0 + 1.3e-7 * many * int(params["steps"]) / workers(host, int(params["ranks"]))


WORKLOAD = TABLE.workload(
    title="NEURON, as the site installed it: a network of cells",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
