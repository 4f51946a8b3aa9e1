"""Training of a small language model in JAX: a decoder as GPT-2's, on tokens generated from a size and a seed.

A step is the loss of a batch, its gradient and an update with momentum (0.9), in one compiled function; the batch is spread
evenly over all devices, whose gradients JAX adds. A rank is a process: one for each host takes all of its devices, more
share them; they find each other by ``jax.distributed`` (on processors by gloo). Each step is timed from its call until its
results are there; importing, joining, compiling and the first steps are phases of their own.

``training.rate`` counts tokens of a batch by the time of a step. ``training.flops`` counts, as Narayanan et al. do, the
matrix products of forward and backward without recomputation: ``72 B s l h^2 (1 + s/(6 h) + V/(12 l h))`` for B sequences
of s tokens, l layers of width h and V kinds of tokens; the masked half of the attention is computed, and counted.

Checked are the losses of two steps and the change of each group of parameters by them, beside the same steps in numpy with
float64, written apart: those start with the parameters of the timed ones, with the compiled step of the timed ones, on a
batch whose halves hold one sequence each, so that a rank that trained without the others is found out. Besides: that JAX
itself saw all ranks that were started, that all ranks end with the same parameters bit by bit, and that the loss falls.
The limits are ten times the largest difference that was seen over sizes, seeds and 1 to 8 ranks.

Source: Narayanan et al., Efficient large-scale language model training on GPU clusters, SC21 (section 5.1); Radford et al.,
Language models are unsupervised multitask learners, 2019 (the model); JAX's documentation, "Multi-process programming".
"""

from __future__ import annotations

import msgspec

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from .common import site_mpi
from .common.application import check_ranks, sized, workers
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

#: A head of the attention has this width.
HEAD = 64
SIZES = {
    "smoke": {"layers": 2, "width": 128, "sequence": 64, "vocabulary": 512, "batch": 8, "steps": 20},
    "small": {"layers": 4, "width": 256, "sequence": 128, "vocabulary": 1024, "batch": 16, "steps": 60},
    "medium": {"layers": 12, "width": 768, "sequence": 512, "vocabulary": 8192, "batch": 64, "steps": 20},
    "large": {"layers": 24, "width": 1024, "sequence": 1024, "vocabulary": 32768, "batch": 1024, "steps": 5},
}
#: What a step of the reference and of JAX do in a second on a core, for an estimate.
_CORE_FLOPS = 1e10


def flop_of_step(layers: int, width: int, sequence: int, vocabulary: int, batch: int) -> float:
    """Operations of the matrix products of a step, forward and twice that backward."""
    within = 1 + sequence / (6 * width) + vocabulary / (12 * layers * width)
    return 72.0 * batch * sequence * layers * width**2 * within


def parameters(layers: int, width: int, sequence: int, vocabulary: int) -> int:
    """How many numbers are learned: four matrices and two normalisations a layer, two embeddings, a last normalisation."""
    return layers * (12 * width**2 + 4 * width) + (vocabulary + sequence + 2) * width


def _bytes_of_host(params: Params, ranks: int) -> int:
    """What the ranks of a host keep: parameters, momenta and gradients, twice; what the way back needs of their share of the
    batch; and of one rank the reference."""
    layers, width, sequence, vocabulary, batch = (
        int(params[name]) for name in ("layers", "width", "sequence", "vocabulary", "batch")
    )
    learned = parameters(layers, width, sequence, vocabulary)
    heads = width // HEAD
    kept = layers * sequence * (20 * width + 2 * heads * sequence) + 3 * sequence * vocabulary
    share = -(-batch * ranks // int(params["ranks"]))
    return ranks * (24 * learned + 2**28) + 4 * share * kept + 8 * (4 * learned + 2 * kept)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    words = {"auto": host.count, "all": cores(host) * host.count}
    ranks = words.get(str(params["ranks"])) or int(params["ranks"])
    check_ranks("training", ranks, host)
    found = {**sized(params, SIZES, ranks, "batch"), "ranks": ranks}
    if int(found["width"]) % HEAD:
        raise BadInput(
            f"training.width = {found['width']} is not a multiple of {HEAD}, the width of a head of the attention",
            hint=f"width = {max(1, int(found['width']) // HEAD) * HEAD}",
        )
    if int(found["batch"]) % ranks:
        raise BadInput(
            f"training.batch = {found['batch']} sequences cannot be spread evenly over {ranks} ranks",
            hint=f"batch = {-(-int(found['batch']) // ranks) * ranks}, or ranks that divide it",
        )
    if ranks < host.count:
        raise BadInput(f"training.ranks = {ranks}, on {host.count} hosts", hint="one rank for each host at least")
    if host.count > 1:
        site_mpi.need(host, "training on several hosts")
    if found["device"] != "gpu" and not host.gpus:
        need = _bytes_of_host(found, -(-ranks // host.count))
        what = f"a batch of {found['batch']} on {ranks} ranks"
        check_room("training.batch", what, need, host, "a smaller size or batch, or more hosts")
    return (found,)


def _command(params: Params, host: Host) -> Command:
    return Command(
        argv=(*TABLE.argv(params), "--host", "host.json"),
        files={"host.json": msgspec.json.encode(host).decode()},
        starts_itself=True,
    )


def _estimate_s(params: Params, host: Host) -> float:
    """Starting and compiling, the steps, and the reference, which one rank makes of two sequences."""
    layers, width, sequence, vocabulary = (int(params[name]) for name in ("layers", "width", "sequence", "vocabulary"))
    ranks = int(params["ranks"])
    speed = _CORE_FLOPS * (cores(host) * host.count if ranks == host.count else workers(host, ranks))
    sequence_flop = flop_of_step(layers, width, sequence, vocabulary, 1)
    steps = (int(params["steps"]) + 3) * int(params["batch"]) * sequence_flop / speed
    return 15.0 + 5.0 * ranks / host.count + steps + 4 * sequence_flop / _CORE_FLOPS


def _label(params: Params) -> str:
    learned = parameters(*(int(params[name]) for name in ("layers", "width", "sequence", "vocabulary")))
    return f"training, {learned / 1e6:.3g} million parameters, batch {params['batch']}, {params['ranks']} ranks"


WORKLOAD = TABLE.workload(
    title="Training of a language model in JAX",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
