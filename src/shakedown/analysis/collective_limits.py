"""A collective's bus bandwidth against what this machine's links allow, for the algorithm that ran. Pure.

Where the program does not say how it was done, an all-reduce has two limits, a ring's and that of a reduction in the switch;
the one that can have been comes first. What went through the host's memory although NVLink is there stands beside what the
links would allow, and what PCI Express does. The formulas stand in machine/gpu_collectives.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..machine import gpu_collectives
from ..machine.accelerators import NVLINK_PAYLOAD
from ..records import Finding, Fraction, Peak

#: Limits with this in front are those of collectives.
PREFIX = "gpu.collective."
#: What NCCL calls its algorithms -> the limits that bound them.
_BOUNDED = {"ring": ("ring",), "tree": ("tree",), "nvls": ("in_switch",), "nvls_tree": ("in_switch",)}
_UNTOLD = ("ring", "in_switch")
#: Above a ring's limit by more than this it was no ring.
_ABOVE = 1.02


def fractions(finding: Finding, peaks: Sequence[Peak]) -> tuple[Fraction, ...]:
    """The finding as a fraction of each limit that may bound it."""
    gpus, nodes = finding.params.get("gpus"), finding.params.get("nodes", 1)
    operation, told = str(finding.params.get("operation", "")), str(finding.params.get("algorithm", ""))
    if not isinstance(gpus, int) or not isinstance(nodes, int) or not finding.value:
        return ()
    ways = _BOUNDED.get(told, () if told else _UNTOLD)
    if operation != "all_reduce":
        ways = ("ring",)  # a switch spares nothing of what each GPU must send or receive
    if nodes == 1 and _past_the_links(str(finding.params.get("transport", "")), peaks):
        ways = (*ways, gpu_collectives.BY_HOST)
    found = []
    for way in ways:
        most = gpu_collectives.bound(operation, way, gpus, nodes, peaks)
        if most is not None:
            share = finding.value / most.value
            found.append(Fraction(limit=PREFIX + way, kind="derived", value=most.value, fraction=share, basis=most.by))
    if len(found) > 1 and found[0].fraction > _ABOVE:
        found.reverse()
    return tuple(found)


def _past_the_links(transport: str, peaks: Sequence[Peak]) -> bool:
    """Whether ranks of one node were joined through the host, where NVLink is there."""
    by_host = any(kind in transport.split("+") for kind in ("SHM", "NET"))
    return by_host and any(peak.name == NVLINK_PAYLOAD for peak in peaks)
