"""One rank of a training run: joins the others, compiles a step, makes the steps that are checked, then the timed ones.

``job.json`` of the folder that is given says what to do. ``rank-N.json`` there says what was seen: ranks and devices as JAX
itself counts them, when each phase and each step began and ended, the losses, a fingerprint of the parameters; of the first
rank also the steps in float64 (``reference.py``), which it makes when the others have been released.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import model, reference
from .model import CHECKED, EPSILON, MOMENTUM, RATE, STACKED, Shape

#: How launchers tell a process its number: ours first.
NUMBERS = ("SHAKEDOWN_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
#: What this program refuses by itself stands behind it, in the last line of its errors.
REFUSED = "refused: "
#: Refused where GPUs were requested.
NO_GPU = "JAX sees processors alone"
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
#: The timed steps are made on so many batches, in turn.
_BATCHES = 8


class Phases:
    """When each part of the run was, on the clock that meters share."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, int]] = {}
        self._at = time.time_ns()

    def end(self, name: str) -> None:
        now = time.time_ns()
        self.found[name], self._at = (self._at, now), now


def number() -> int:
    """Which rank this is. Raises RuntimeError where no launcher said it."""
    for name in NUMBERS:
        if name in os.environ:
            return int(os.environ[name])
    raise RuntimeError(f"{REFUSED}the launcher does not say which rank this is ({', '.join(NUMBERS)})")


def keep_to_share(place: int, many: int, threads: int) -> int:
    """Keep this process to its share of the host's processors, ``threads`` of them where that is given; how many."""
    usable = sorted(os.sched_getaffinity(0))
    each = threads or max(1, len(usable) // many)
    own = {usable[(place * each + one) % len(usable)] for one in range(each)}
    os.sched_setaffinity(0, own)
    return len(own)


def _norm(jnp: Any, x: Any, gain: Any, bias: Any) -> Any:
    x32 = x.astype(jnp.float32)
    centred = x32 - x32.mean(-1, keepdims=True)
    scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return (scaled * (1 + gain) + bias).astype(x.dtype)


def _step(jax: Any, shape: Shape, kind: Any) -> Any:
    """The step as JAX sees it: parameters, momenta and a batch -> both after the step, and the loss before it."""
    jnp, width, heads = jax.numpy, shape.width, shape.heads
    mask = jnp.tril(jnp.ones((shape.sequence, shape.sequence), dtype=bool))

    def layer(h: Any, own: Any) -> tuple[Any, None]:
        rows, length = h.shape[:2]
        seen = _norm(jnp, h, own["gain1"], own["bias1"]) @ own["qkv"].astype(kind)
        q, k, v = (one.reshape(rows, length, heads, width // heads) for one in jnp.split(seen, 3, axis=-1))
        scores = jnp.einsum("rqhc,rkhc->rhqk", q, k).astype(jnp.float32) / (width // heads) ** 0.5
        share = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1).astype(kind)
        mixed = jnp.einsum("rhqk,rkhc->rqhc", share, v).reshape(rows, length, width)
        h = h + mixed @ own["merge"].astype(kind)
        seen = _norm(jnp, h, own["gain2"], own["bias2"]) @ own["up"].astype(kind)
        return h + jax.nn.gelu(seen, approximate=True) @ own["down"].astype(kind), None

    def loss_of(held: Any, rows: Any) -> Any:
        inputs, wanted = rows[:, :-1], rows[:, 1:]
        h = (held["embed"][inputs] + held["place"]).astype(kind)
        h, _ = jax.lax.scan(layer, h, {name: held[name] for name in STACKED})
        seen = _norm(jnp, h, held["gain"], held["bias"])
        logits = (seen @ held["embed"].astype(kind).T).astype(jnp.float32)
        right = jnp.take_along_axis(logits, wanted[..., None], axis=-1)[..., 0]
        return (jax.scipy.special.logsumexp(logits, axis=-1) - right).mean()

    def step(held: Any, moved: Any, rows: Any) -> tuple[Any, Any, Any]:
        loss, slopes = jax.value_and_grad(loss_of)(held, rows)
        moved = {name: MOMENTUM * moved[name] + slopes[name] for name in held}
        return {name: held[name] - RATE * moved[name] for name in held}, moved, loss

    return step


class Trainer:
    """A compiled step on all devices of all ranks, the batch spread over them and the parameters on each."""

    def __init__(self, jax: Any, job: dict[str, Any], shape: Shape, phases: Phases) -> None:
        self.jax, self.shape = jax, shape
        devices = jax.devices()
        if shape.batch % len(devices):
            raise RuntimeError(
                f"{REFUSED}a batch of {shape.batch} sequences cannot be spread evenly over {len(devices)} devices"
            )
        mesh = jax.sharding.Mesh(np.array(devices), ("data",))
        self._spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
        self._alike = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self.start = model.initial(shape)
        held, moved = self.fresh()
        rows = self.on_devices(model.tokens(shape, 0))
        kind = jax.numpy.bfloat16 if job["precision"] == "bfloat16" else jax.numpy.float32
        alike = dict.fromkeys(held, self._alike)
        step = jax.jit(_step(jax, shape, kind), donate_argnums=(0, 1), out_shardings=(alike, alike, self._alike))
        phases.end("data")
        with jax.default_matmul_precision("highest" if job["precision"] == "float32" else "default"):
            self.step = step.lower(held, moved, rows).compile()
        phases.end("compile")

    def on_devices(self, rows: Any) -> Any:
        return self.jax.make_array_from_callback(rows.shape, self._spread, lambda place: rows[place])

    def fresh(self) -> tuple[Any, Any]:
        """The parameters before the first step, and momenta of nothing."""

        def put(value: Any) -> Any:
            return self.jax.make_array_from_callback(value.shape, self._alike, lambda place: value[place])

        return (
            {name: put(value) for name, value in self.start.items()},
            {name: put(np.zeros_like(value)) for name, value in self.start.items()},
        )

    def here(self, held: Any) -> dict[str, Any]:
        """The parameters as this rank has them."""
        return {name: np.asarray(value.addressable_data(0)) for name, value in held.items()}


def _checked(run: Trainer, rows: Any) -> tuple[list[float], dict[str, Any]]:
    held, moved = run.fresh()
    losses = []
    for _ in range(CHECKED):
        held, moved, loss = run.step(held, moved, run.on_devices(rows))
        losses.append(float(loss))
    return losses, run.here(held)


def _timed(run: Trainer, steps: int) -> tuple[list[tuple[int, int, float]], list[float], dict[str, Any]]:
    """Each step with its begin, its end and its seconds; the losses; the parameters after the last."""
    held, moved = run.fresh()
    batches = [run.on_devices(model.tokens(run.shape, step)) for step in range(min(steps, _BATCHES))]
    run.jax.block_until_ready((held, moved, batches))
    times, losses = [], []
    for step in range(steps):
        begin_ns, begin = time.time_ns(), time.perf_counter()
        held, moved, loss = run.step(held, moved, batches[step % len(batches)])
        run.jax.block_until_ready((held, moved, loss))
        seconds = time.perf_counter() - begin
        times.append((begin_ns, time.time_ns(), seconds))
        losses.append(loss)
    return times, [float(one) for one in losses], run.here(held)


def _fingerprint(held: dict[str, Any]) -> str:
    found = hashlib.sha256()
    for name in sorted(held):
        found.update(np.ascontiguousarray(held[name]).tobytes())
    return found.hexdigest()[:16]


def _joined(job: dict[str, Any], rank: int, phases: Phases) -> Any:
    """JAX with the other ranks."""
    import jax

    phases.end("import")
    if job["device"] == "cpu":
        jax.config.update("jax_platforms", "cpu")
    if job["ranks"] > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        place, many = job["places"][rank]
        gpus = int(job["gpus"]) // many
        own = {"local_device_ids": list(range(place * gpus, (place + 1) * gpus))} if gpus else {}
        jax.distributed.initialize(job["coordinator"], job["ranks"], rank, **own)
    if job["device"] == "gpu" and jax.devices()[0].platform == "cpu":
        raise RuntimeError(f"{REFUSED}{NO_GPU}")
    phases.end("join")
    return jax


def train(job: dict[str, Any], rank: int, folder: Path) -> None:
    """All of it; what was seen is left in the folder."""
    phases = Phases()
    shape = Shape(*(int(job[name]) for name in Shape._fields))
    place, many = job["places"][rank]
    threads = keep_to_share(place, many, int(job["threads"]))
    jax = _joined(job, rank, phases)
    run = Trainer(jax, job, shape, phases)
    rows, two, shares = model.checked_tokens(shape)
    losses, after = _checked(run, rows)
    phases.end("check")
    times, course, last = _timed(run, int(job["steps"]))
    phases.end("measure")
    found: dict[str, Any] = {
        "rank": rank,
        "ranks": jax.process_count(),
        "devices": jax.device_count(),
        "platform": jax.devices()[0].platform,
        "kind": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "threads": threads,
        "fingerprint": _fingerprint(last),
    }
    if job["ranks"] > 1:
        jax.distributed.shutdown()  # waits for all: the others need not wait for what follows
    phases.end("leave")
    if rank == 0:
        right, theirs = reference.steps(run.start, shape, two, shares, CHECKED)
        found["reference"] = {
            "losses": losses,
            "expected": right,
            "updates": reference.update_error(run.start, after, theirs),
        }
        found |= {"times": times, "losses": course}
        phases.end("reference")
    found["phases"] = phases.found
    path = folder / f"rank-{rank}.json"
    path.with_suffix(".part").write_text(json.dumps(found))
    path.with_suffix(".part").replace(path)


def main(folder: Path) -> int:
    """Train as ``job.json`` says; the exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)  # whoever started it takes it along
    job = json.loads((folder / "job.json").read_text())
    try:
        train(job, number(), folder)
    except RuntimeError as error:
        if REFUSED not in str(error):
            raise
        print(error, file=sys.stderr)
        return 3
    return 0
