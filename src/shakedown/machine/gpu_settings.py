"""What of a GPU is below par, and what to do about it. Pure.

Each finding is a Setting of the host, so that `shakedown machine` shows it among what is set wrongly. A fact that the
driver does not tell gives no finding: absence is neither good nor bad here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records import Gpu, Setting
from .settings_common import setting

#: Bits of nvmlDeviceGetCurrentClocksThrottleReasons (nvmlClocksEventReasons), in words. The first four slow a GPU for a
#: fault or for the room's sake, the others by choice.
SLOWED = {0x08: "hardware slowdown", 0x20: "too hot (driver)", 0x40: "too hot (hardware)", 0x80: "power brake"}
HELD = {0x02: "application clocks", 0x04: "power limit", 0x10: "sync boost", 0x100: "display clocks"}
IDLE = 0x01


def reasons(bits: int) -> str:
    """Why a clock is not the highest, in words; "idle" or empty where nothing holds it."""
    words = [word for bit, word in (SLOWED | HELD).items() if bits & bit]
    return ", ".join(words) or ("idle" if bits & IDLE else "")


def gpu_settings(gpus: Sequence[Gpu]) -> tuple[Setting, ...]:
    """What is below par, of all GPUs; the same finding on several is one with their numbers."""
    found: dict[tuple[str, str | None, str, str, str], list[int]] = {}
    for gpu in gpus:
        for one in _of(gpu):
            found.setdefault((one.name, one.value, one.state, one.effect, one.advice), []).append(gpu.index)
    return tuple(
        setting(f"GPU {', '.join(map(str, indices))} {name}", value, state, effect, advice)  # type: ignore[arg-type]
        for (name, value, state, effect, advice), indices in found.items()
    )


def _of(gpu: Gpu) -> Iterator[Setting]:
    yield from _pcie(gpu)
    yield from _modes(gpu)
    yield from _power(gpu)
    yield from _memory(gpu)
    up, there = _real(gpu, "nvlinks"), _real(gpu, "nvlinks_all")
    if up is not None and there and up < there:
        yield setting(
            "NVLink",
            f"{up:g} of {there:g} links up",
            "warn",
            "copies between GPUs are slower by the links that are down",
            "nvidia-smi nvlink -s; systems with NVSwitch need nvidia-fabricmanager running",
        )


def _real(gpu: Gpu, name: str) -> float | None:
    value = gpu.facts.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _pcie(gpu: Gpu) -> Iterator[Setting]:
    width, most = _real(gpu, "pcie_width"), _real(gpu, "pcie_width_max")
    if width and most and width < most:
        yield setting(
            "PCIe width",
            f"x{width:g} of x{most:g}",
            "warn",
            f"copies to and from the host reach {width / most:.2g} of what the GPU can",
            "reseat the GPU or its riser; check whether the slot is wired for so many lanes",
        )
    generation, highest = _real(gpu, "pcie_generation"), _real(gpu, "pcie_generation_max")
    if generation and highest and generation < highest:
        resting = gpu.facts.get("busy", 0) == 0
        yield setting(
            "PCIe generation",
            f"{generation:g} of {highest:g}",
            "info" if resting else "warn",
            f"copies run at generation {generation:g}"
            + ("; a link falls back while the GPU rests" if resting else " while the GPU works"),
            "look again under load (shakedown run gpu)"
            if resting
            else "see the firmware's setting of the slot, the riser and the kernel's log for link training",
        )


def _modes(gpu: Gpu) -> Iterator[Setting]:
    facts = gpu.facts
    if facts.get("persistence") is False:
        yield setting(
            "persistence",
            "off",
            "warn",
            "the driver is unloaded when no program uses the GPU: seconds at each start, and ECC counts and limits are lost",
            "start nvidia-persistenced (or nvidia-smi -pm 1)",
        )
    if facts.get("mig") is True:
        yield setting(
            "MIG",
            "on",
            "info",
            "the GPU is cut into slices: peaks are those of the whole, figures those of a slice",
            "nvidia-smi -mig 0 when the node is empty, to measure the whole",
        )
    mode = facts.get("compute_mode")
    if mode == "prohibited":
        yield setting("compute mode", mode, "warn", "no program can use the GPU", f"nvidia-smi -i {gpu.index} -c 0")
    elif isinstance(mode, str) and mode != "default":
        yield setting("compute mode", mode, "info", "one program at a time: a second is refused while the first runs")
    processes = _real(gpu, "processes")
    if processes:
        yield setting(
            "in use",
            f"{processes:g} process{'es' * (processes != 1)}",
            "info",
            "other work shares the GPU: measurements are not the GPU's",
            "see nvidia-smi; measure when the node is empty",
        )


def _power(gpu: Gpu) -> Iterator[Setting]:
    limit, usual = _real(gpu, "power_limit_w"), _real(gpu, "power_default_w")
    if limit and usual and limit < usual:
        yield setting(
            "power limit",
            f"{limit:g} W of {usual:g} W",
            "warn",
            "under full load the clock falls to what the limit allows",
            f"nvidia-smi -i {gpu.index} -pl {usual:g}, unless the limit is meant",
        )
    bits = int(_real(gpu, "slowed_bits") or 0)
    if words := ", ".join(word for bit, word in SLOWED.items() if bits & bit):
        yield setting(
            "slowed",
            words,
            "warn",
            "the clock is held down now",
            "see cooling and power supply; nvidia-smi -q -d PERFORMANCE",
        )
    clock, most = _real(gpu, "application_sm_mhz"), _real(gpu, "max_sm_mhz")
    # Boards ship with application clocks below the highest, which only hold where the driver says that they do.
    if clock and most and clock < most and bits & 0x02:
        yield setting(
            "application clock",
            f"{clock:g} of {most:g} MHz",
            "info",
            "the clock is kept at the application clock",
            f"nvidia-smi -i {gpu.index} -rac gives the default back",
        )


def _memory(gpu: Gpu) -> Iterator[Setting]:
    facts = gpu.facts
    if facts.get("ecc") is False:
        yield setting(
            "ECC",
            "off",
            "warn",
            "errors of the memory stay unseen: results cannot be relied on",
            f"nvidia-smi -i {gpu.index} -e 1, then a reset when the node is empty",
        )
    if "ecc" in facts and facts.get("ecc_pending", facts["ecc"]) != facts["ecc"]:
        yield setting(
            "ECC", "changes at the next reset", "info", "what is configured is not in force yet", "reset the GPU"
        )
    errors = _real(gpu, "ecc_uncorrected")
    if errors:
        yield setting(
            "ECC errors",
            f"{errors:g} uncorrected since the driver's start",
            "warn",
            "data was lost",
            "drain the node; reset the GPU; replace it where they come back (NVIDIA GPU memory error management)",
        )
    if facts.get("remap_pending") is True:
        yield setting("row remapping", "pending", "warn", "bad rows are still in use", "drain the node; reset the GPU")
    if facts.get("remap_failed") is True:
        yield setting("row remapping", "failed", "warn", "bad rows can no longer be replaced", "replace the GPU")
