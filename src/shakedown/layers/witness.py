"""What the witnesses on both sides of a layer saw, and whether the program was where it was to be.

The kinds say what must differ (``Kind.changes``): of each rank's inner witness those namespaces must be others than those
of every outer witness under the same kernel. Under ``native`` and ``control`` nothing may differ. Of a command of the
site's only that much is known that something must: a namespace, the root of the file system, the kernel, the control
group or its limits, the CPUs, the priority, the policy of memory, the filter of system calls. One that changes nothing of
these cannot be proven, and its run is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from ..errors import UNREADABLE
from ..records import Record
from .asked import Asked, kind
from .model import NAMESPACES
from .start import FOLDER

_Inode = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Cpu = Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]
_Word = Annotated[str, msgspec.Meta(max_length=65536)]
#: Bytes of a record, at most: a larger file is none.
_MOST_BYTES = 1 << 20


class Seen(Record, frozen=True, kw_only=True):
    """What one witness saw of where it was (native/witness/README.md)."""

    schema: Literal[1]
    side: Literal["outside", "inside"]
    host: _Word
    kernel: _Word
    boot_id: _Word = ""
    pid: int
    uid: int
    namespaces: dict[str, _Inode]
    root: _Word  # device and number of "/"
    cgroup: _Word = ""
    cpu_quota: Annotated[float, msgspec.Meta(gt=0)] | None = None  # CPUs' worth of time
    memory_max_bytes: _Inode | None = None
    mask: tuple[_Cpu, ...] = ()
    virtual: bool | None = None  # the processor says that it is a hypervisor's
    nice: int = 0
    policy: int = 0  # of the scheduler
    memory_policy: int = -1  # -1: not known
    seccomp: int = -1
    no_new_privileges: int = -1


class Witnessed(NamedTuple):
    """What the witnesses of one run left."""

    records: tuple[Seen, ...] = ()
    wrong: str = ""  # with the first that cannot be read
    ranks: int | None = None  # that were started; 0: without MPI; None: not known


#: What is compared besides namespaces and root, and what it is called.
_OTHERS = {
    "boot_id": "kernel",
    "cgroup": "control group",
    "cpu_quota": "limit on CPU time",
    "memory_max_bytes": "limit on memory",
    "mask": "CPUs",
    "virtual": "hypervisor",
    "nice": "priority",
    "policy": "scheduling policy",
    "memory_policy": "policy of memory",
    "seccomp": "filter of system calls",
    "uid": "user",
}


def decode(data: bytes) -> Seen:
    """A record. Raises ValueError."""
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{len(data)} bytes are too many for a witness")
    found = msgspec.json.decode(data, type=Seen)
    if strange := sorted(found.namespaces.keys() - set(NAMESPACES)):
        raise ValueError(f"{strange[0][:40]!r} is not a kind of namespace")
    return found


def read(folder: Path, ranks: int | None = None) -> Witnessed:
    """The records in a run's folder."""
    found, wrong = [], ""
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            found.append(decode(path.read_bytes()))
        except (OSError, *UNREADABLE) as error:
            wrong = wrong or f"{path.name} cannot be read: {str(error)[:200]}"
    return Witnessed(tuple(found), wrong, ranks)


def refusal(asked: Asked, found: Witnessed) -> str:
    """Why this run was not under the layer that was asked for; empty where the witnesses prove that it was."""
    if found.wrong:
        return f"what the witness left cannot be read: {found.wrong}"
    outside = [one for one in found.records if one.side == "outside"]
    inside = [one for one in found.records if one.side == "inside"]
    if not outside:
        return "the witness outside left no record, so that the program was not started"
    if not inside:
        return f"{asked.label} did not start the program: the witness inside left no record"
    wanted = (len(inside) if asked.whole_job else len(outside)) if found.ranks is None else max(1, found.ranks)
    if len(inside) != wanted:
        return f"of {wanted} ranks {len(inside)} left the record of a witness inside"
    for one in inside:
        if why := _not_under(asked, one, outside, alone=asked.whole_job or found.ranks == 0):
            return why
    return ""


def _not_under(asked: Asked, inside: Seen, outside: Sequence[Seen], *, alone: bool) -> str:
    """Why this witness was not under the layer."""
    same_kernel = [one for one in outside if one.boot_id == inside.boot_id]
    if not asked.kind:
        if differing(inside, same_kernel or outside):  # numbers of namespaces mean nothing under another kernel
            return ""
        looked = ", ".join(("namespaces", "root", *_OTHERS.values()))
        return f"the witness behind {asked.label} saw nothing that differs from outside ({looked})"
    if not same_kernel:
        return f"the witness inside runs under another kernel, which {asked.label} cannot bring about"
    layer = kind(asked.kind)
    changes = (*layer.changes, *(layer.alone if alone else ()))
    differs = differing(inside, same_kernel)
    if not changes:
        moved = [one for one in differs if one in (*NAMESPACES, "root")]
        return f"requested {asked.label}, and the witness inside saw another {' and '.join(moved)}" if moved else ""
    if unseen := [one for one in changes if one != "root" and not inside.namespaces.get(one)]:
        return f"the witness inside could not see its {' and '.join(unseen)} namespace"
    if left := [one for one in changes if one not in differs]:
        what = " and ".join("file system" if one == "root" else f"{one} namespace" for one in left)
        return f"requested {asked.label}, and the witness inside saw the same {what} as outside"
    return ""


def differing(inside: Seen, outside: Sequence[Seen]) -> tuple[str, ...]:
    """What no outer witness saw as it is inside: namespaces by their kind, ``root``, and the others by name."""
    found = [
        name
        for name in NAMESPACES
        if inside.namespaces.get(name)
        and all(inside.namespaces[name] != one.namespaces.get(name) for one in outside)
        and all(one.namespaces.get(name) for one in outside)
    ]
    if all(inside.root != one.root for one in outside):
        found.append("root")
    known = [
        words
        for field, words in _OTHERS.items()
        if all(getattr(inside, field) != getattr(one, field) for one in outside)
    ]
    return (*found, *known)


#: What is kept of the inner witness.
_KEPT = ("kernel", "virtual", "cpu_quota", "memory_max_bytes", "nice", "seccomp")


def provenance(asked: Asked, found: Witnessed) -> dict[str, Any]:
    """What is kept of it beside the result."""
    outside = [one for one in found.records if one.side == "outside"]
    inside = next((one for one in found.records if one.side == "inside"), None)
    if inside is None or not outside:
        return {"label": asked.label}
    return {
        "label": asked.label,
        "command": list(asked.command),
        "differs": list(differing(inside, outside)),
        **{name: value for name in _KEPT if (value := getattr(inside, name)) is not None},
    }
