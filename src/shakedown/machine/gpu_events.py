"""``python -m shakedown.machine.gpu_events``: the device query as native events, for the workload ``gpu_query``.

Nothing is timed: a case holds what the driver and the management library say, in SI units. What nobody tells is left out,
so that no run shows a zero for what is not known.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..errors import Unavailable
from ..hosts.access import LocalHost
from ..programs.emitter import Emitter, ProgramArguments, run
from .accelerators import lanes_of, multiprocessors
from .gpu_query import Queried, Query, query

#: What a case holds -> the fact that says it, and what that is multiplied by to be in SI units.
FACTS = {
    "clock": ("max_sm_mhz", 1e6),
    "memory_clock": ("max_memory_mhz", 1e6),
    "bus_width": ("memory_bus_bits", 1 / 8),
    "l2": ("l2_bytes", 1.0),
    "constant_memory": ("constant_memory_bytes", 1.0),
    "shared_memory_per_block": ("shared_memory_per_block_bytes", 1.0),
    "registers_per_block": ("registers_per_block", 1.0),
    "warp_size": ("warp_size", 1.0),
    "threads_per_block": ("threads_per_block", 1.0),
    "texture_alignment": ("texture_alignment_bytes", 1.0),
    "uncorrected": ("ecc_uncorrected_ever", 1.0),
    "uncorrected_now": ("ecc_uncorrected", 1.0),
}


def body(argv: Sequence[str], emit: Emitter) -> None:
    """Ask, and tell. Raises Unavailable where no GPU answers."""
    ProgramArguments("gpu_query", "what the drivers say of each GPU").parse_args(argv)
    emit.start({})
    tell(query(LocalHost()), emit)


def tell(found: Query, emit: Emitter) -> None:
    """A case for each GPU and one for all, and what is below par as notices. Raises Unavailable where no GPU answers."""
    if not found.gpus:
        reasons = "; ".join(f"{gap.what}: {gap.why}" for gap in found.absent)
        raise Unavailable(f"no GPU answers: {reasons}", hint="see `shakedown gpu`")
    emit.facts({"drivers": sorted({one.gpu.driver for one in found.gpus if one.gpu.driver})})
    for one in found.gpus:
        emit.case("device", params={"index": one.gpu.index, "device": one.gpu.name}, work=work_of(one))
        for finding in one.findings:
            if finding.state == "warn":
                emit.notice("gpu-below-par", f"{finding.name}: {finding.value}: {finding.effect}", finding.advice)
    emit.case("node", work={"devices": float(len(found.gpus))})
    for gap in found.absent:
        emit.notice("gpu-not-told", f"{gap.what}: {gap.why}")


def work_of(one: Queried) -> dict[str, float]:
    """What is known of a GPU, by the name that metrics give it, in SI units."""
    gpu = one.gpu
    work = {"below_par": float(sum(finding.state == "warn" for finding in one.findings))}
    if gpu.memory_bytes:
        work["memory"] = float(gpu.memory_bytes)
    count, lanes = multiprocessors(gpu), lanes_of(gpu)
    if count:
        work["multiprocessors"] = float(count)
    if lanes:
        work["cores_per_multiprocessor"] = float(lanes)
    if count and lanes:
        work["cores"] = float(count * lanes)
    for name, (fact, factor) in FACTS.items():
        value = gpu.facts.get(fact)
        if isinstance(value, int | float) and not isinstance(value, bool):
            work[name] = value * factor
    return work


if __name__ == "__main__":
    sys.exit(run("gpu_query", body))
