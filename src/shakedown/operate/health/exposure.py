"""What the node was doing: a few words for its load, and for how long it has been watched in each. Pure.

A word such as ``gpus=4/4 cpu=high`` is the state at one call and holds until the next, or is not known where that is too
long ago. Exposure and faults are counted by this same rule, so that a test of one against the other is fair: looking at
the state after a fault instead would find GPUs idle because they are gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from .records import Exposure

#: For so long a state is taken to last without another call.
HOLD_S = 1800.0
#: A GPU is busy from this share of time with a kernel running, a node's CPUs from this load for each of them.
GPU_BUSY = 0.5
CPU_BUSY = 0.5


def word(load: Mapping[str, float]) -> str:
    """The state, from ``gpus``, ``gpus_busy``, ``cpus``, ``load_1min`` as checks give them; empty where none is known."""
    words = []
    if load.get("gpus"):
        words.append(f"gpus={load.get('gpus_busy', 0):.0f}/{load['gpus']:.0f}")
    if load.get("cpus"):
        words.append(f"cpu={'high' if load.get('load_1min', 0) >= CPU_BUSY * load['cpus'] else 'low'}")
    return " ".join(words)


def figures(load: Mapping[str, float]) -> str:
    """The same for a person; empty where none is known."""
    words = []
    if load.get("gpus"):
        words.append(f"{load.get('gpus_busy', 0):.0f} of {load['gpus']:.0f} GPUs busy")
    if "gpu_power_w" in load:
        words.append(f"GPUs at {load['gpu_power_w']:.0f} W")
    if load.get("cpus"):
        words.append(f"load {load.get('load_1min', 0):.1f} on {load['cpus']:.0f} CPUs")
    return ", ".join(words)


def at(exposure: Exposure, when_s: float, boot_s: float | None) -> str:
    """The state at a moment after the last call; empty where it is not known."""
    if not exposure.last or not 0 <= when_s - exposure.last_s <= HOLD_S:
        return ""
    return "" if boot_s is not None and exposure.last_s < boot_s else exposure.last


def advance(exposure: Exposure, now_s: float, state: str, boot_s: float | None, shown: str = "") -> Exposure:
    """The exposure after one more call, at which the node was in ``state``, in figures ``shown``."""
    seconds = dict(exposure.seconds)
    watched_s = min(now_s - exposure.last_s, HOLD_S)
    if exposure.last and watched_s > 0 and (boot_s is None or exposure.last_s >= boot_s):
        seconds[exposure.last] = seconds.get(exposure.last, 0.0) + watched_s
    return Exposure(since_s=exposure.since_s or now_s, seconds=seconds, last=state, last_s=now_s, figures=shown)
