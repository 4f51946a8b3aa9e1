"""shakedown gpu: the device query, everything that is known of each GPU, its peaks, and what of it is below par."""

from __future__ import annotations

from typing import Annotated

import typer

from ..document import terminal


def command(
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show everything that is known of each GPU, how fast it could be, and what of it is below par.

    Exit code 3 where there is no GPU, or none that answers.
    """
    from ..errors import Unavailable
    from ..hosts.access import LocalHost
    from ..machine.gpu_query import lines, query
    from ..workloads.common.gpu import without_kernels

    found = query(LocalHost())
    if json:
        terminal.print_json(found)
    elif found.gpus:
        print("\n".join(lines(found)))
    if any(one.gpu.vendor == "NVIDIA" for one in found.gpus) and (why := without_kernels()):
        terminal.note(f"shakedown: these GPUs cannot be measured: this build has no kernels for CUDA\n  next: {why}")
    if not found.gpus:
        reasons = "; ".join(f"{gap.what}: {gap.why}" for gap in found.absent)
        raise Unavailable(
            f"no GPU answers: {reasons}",
            hint="in a batch job ask for a GPU (--gres=gpu:1); else install the vendor's driver and look at dmesg",
        )
