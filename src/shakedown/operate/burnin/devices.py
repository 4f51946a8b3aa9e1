"""What there is to burn in: cores that this process may use, GPUs that the bus shows. Pure over what it is given."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ...errors import BadInput, Unavailable
from ...hosts.access import format_cpu_list, parse_cpu_list
from ..health.node_access import NodeAccess
from .records import Device

HELP = "auto (GPUs where there are any, else cores), cpu, gpu, all, or a list such as cpu:0-3,gpu:0"


def cores(senses: NodeAccess, usable: Sequence[int]) -> tuple[Device, ...]:
    """One device for each physical core, named by the first of its logical CPUs that may be used."""
    seen: dict[tuple[int, ...], list[int]] = {}
    for cpu in sorted(usable):
        word = senses.word(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings = parse_cpu_list(word) if word else (cpu,)
        except ValueError:
            siblings = (cpu,)
        seen.setdefault(tuple(siblings), []).append(cpu)
    return tuple(
        Device(
            id=f"cpu:{mine[0]}",
            title=f"core of CPU {format_cpu_list(siblings)}" if len(siblings) > 1 else f"CPU {mine[0]}",
            cpus=tuple(sorted({*siblings, *mine})),
        )
        for siblings, mine in seen.items()
    )


def gpus(senses: NodeAccess) -> tuple[Device, ...]:
    """One device for each NVIDIA GPU that its driver shows, in the driver's order; none where it shows none."""
    from ..health.checks import gpus as check
    from .monitor import has_gpus

    if not has_gpus(senses):
        return ()
    found, why = check.ask(senses)
    if found is None:
        raise Unavailable(
            f"the driver does not report its GPUs: {why}",
            where="gpu",
            hint="nvidia-smi must work; --devices cpu burns in the cores alone",
        )
    return tuple(
        Device(id=f"gpu:{one.index}", title=f"{one.name or 'GPU'} {one.pci}".strip(), pci=one.pci, index=one.index)
        for one in found
        if not one.lost
    )


def choose(words: str, senses: NodeAccess, usable: Sequence[int]) -> tuple[Device, ...]:
    """The devices that are asked for. Raises BadInput for one that is not there, Unavailable where there is none."""
    if words == "auto":
        return gpus(senses) or cores(senses, usable)
    if words == "all":
        return (*gpus(senses), *cores(senses, usable))
    chosen: dict[str, Device] = {}
    for kind, listed in _parts(words):
        known = gpus(senses) if kind == "gpu" else cores(senses, usable)
        if not known:
            raise Unavailable(f"no {kind} was found", where="--devices", hint="see `shakedown machine`")
        if not listed:
            chosen.update((one.id, one) for one in known)
            continue
        by_number = {cpu: one for one in known for cpu in (one.cpus or (one.index,))}
        for number in _numbers(listed):
            if number not in by_number:
                here = format_cpu_list([one for one in by_number if one is not None])
                raise BadInput(
                    f"there is no {kind}:{number} to use", where="--devices", hint=f"there are {kind}:{here}"
                )
            one = by_number[number]
            chosen[one.id] = one
    return tuple(chosen.values())


def _parts(words: str) -> list[tuple[str, str]]:
    """Kind and list of numbers: of ``cpu:0-3,7,gpu:0`` ("cpu", "0-3,7") and ("gpu", "0")."""
    parts: list[tuple[str, str]] = []
    for word in words.split(","):
        found = re.fullmatch(r"\s*(?:(cpu|gpu)(?::(\d+(?:-\d+)?))?|(\d+(?:-\d+)?))\s*", word)
        if found is None or (found[3] and (not parts or not parts[-1][1])):
            raise BadInput(f"{words!r} is not a valid list of devices", where="--devices", hint=HELP)
        if found[3]:
            parts[-1] = (parts[-1][0], f"{parts[-1][1]},{found[3]}")
        else:
            parts.append((found[1], found[2] or ""))
    return parts


def _numbers(listed: str) -> tuple[int, ...]:
    try:
        found = parse_cpu_list(listed)
    except ValueError:
        found = ()
    if not found or len(found) > 65536:
        raise BadInput(f"{listed!r} is not a list of numbers", where="--devices", hint=HELP)
    return found


def there(senses: NodeAccess, chosen: Sequence[Device]) -> dict[str, int]:
    """How many cores and GPUs the node has, whether or not this process may use them; a kind that nothing tells is left
    out."""
    from ..health.checks import gpus as check

    found: dict[str, int] = {}
    try:
        online = parse_cpu_list(senses.word("/sys/devices/system/cpu/online") or "")
    except (OSError, ValueError):
        online = ()
    used = {cpu for one in chosen for cpu in one.cpus[:1]}
    if online:
        found["core"] = len(cores(senses, sorted({*online, *used})))
    known = max(len(check.bus(senses)), sum(one.index is not None for one in chosen))
    return found | ({"GPU": known} if known else {})


def usable_cpus() -> tuple[int, ...]:
    """The logical CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))
