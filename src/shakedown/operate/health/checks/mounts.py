"""File systems: mounted as planned, answering, writable by use, neither full nor out of inodes, not turned read-only.

What is mounted is not yet there: each one is asked (statvfs), and written to where the plan says so. Those behind a server
or a daemon have a child each, so that one that hangs is named and the others are still told of. That one of them is full
is seen by every node at once, and is no reason to drain any: it is a warning unless the plan sets ``full``.
"""

from __future__ import annotations

import errno
from typing import Any

from ....records import Record
from ....strict import NotNegative
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import at_least, at_most, check_bytes, unknown, wrong
from ._mountinfo import PSEUDO, Mount, parse, worth

_FULL = 0.98
_FEW_FILES = 0.02
_ACTION = "see why: mount, findmnt, the kernel's log; mount it again"


class Entry(Record, frozen=True, kw_only=True):
    """One planned mount."""

    path: str
    type: str | None = None  # as /proc/mounts names it; "nfs" is also nfs4
    source: str | None = None
    read_only: bool = False
    write: bool = False  # try it: write a small file, flush it, read it back, take it away
    full: float | None = None  # critical above this share of use
    free: str | None = None  # critical below this: "10 GiB"

    def __post_init__(self) -> None:
        check_bytes(self.free)


class MountsConfig(Record, frozen=True, kw_only=True):
    mounts: tuple[Entry, ...] = ()
    others: bool = True  # also look at what is mounted but not planned
    warning: NotNegative = 0.95  # of fill


def run(look: CheckContext) -> Outcome:
    text = look.senses.text("/proc/self/mountinfo")
    if text is None:
        return Outcome(findings=(unknown("mounts", "/proc/self/mountinfo is not there"),))
    mounted = parse(text)
    planned = {one.path.rstrip("/") or "/": one for one in look.plan.mounts}
    if look.part:
        mount = mounted.get(look.part)
        if mount is None:  # gone since the first look
            return Outcome(findings=(_missing(look.part),))
        return _use(look, mount, planned.get(look.part))
    findings: list[Finding] = []
    metrics: list[Metric] = []
    more: list[str] = []
    chosen = {path: mounted.get(path) for path in planned}
    if look.plan.others:
        devices = {one.device for one in chosen.values() if one}
        chosen |= {one.point: one for one in worth(mounted) if one.point not in chosen and one.device not in devices}
    for path, mount in chosen.items():
        if mount is None:
            findings.append(_missing(path))
        elif mount.remote:
            more.append(path)
        else:
            one = _use(look, mount, planned.get(path))
            findings += one.findings
            metrics += one.metrics
    learnt = {"mounts": [_learnt(one) for one in worth(mounted) if one.kind not in PSEUDO]}
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), more=tuple(more), learnt=learnt)


def _learnt(one: Mount) -> dict[str, Any]:
    found: dict[str, Any] = {"path": one.point, "type": one.kind}
    if one.remote:
        found["source"] = one.source
    if one.read_only:
        found["read_only"] = True
    return found


def _missing(path: str) -> Finding:
    action = f"mount {path}; see the file server and the network if that fails"
    return wrong("mounts", path, "is not mounted", action, limit="mounted (plan)")


def _use(look: CheckContext, mount: Mount, entry: Entry | None) -> Outcome:
    """Ask one file system; may hang."""
    path = mount.point
    findings = _as_planned(mount, entry)
    try:
        space = look.senses.space(path)
    except OSError as error:
        return Outcome(findings=(*findings, _fails(path, error, "does not answer")))
    if entry and entry.write:
        try:
            look.senses.write_through(path, "write")
        except (OSError, ValueError) as error:
            return Outcome(findings=(*findings, _fails(path, error, "cannot be written to")))
        findings.append(Finding(check="mounts", item=f"{path} write", what="was written to and read back"))
    metrics: list[Metric] = []
    if space.total_bytes:
        used = space.used_ratio
        words, warn = "Share of a file system in use, as df shows it.", f"{look.plan.warning:g}"
        metrics.append(Metric("filesystem_used_ratio", used, {"mount": path}, words, warn=warn, least=0.0, most=1.0))
        findings.append(_fill(look.plan, mount, entry, used))
        if entry and entry.free:
            from ....units import parse_bytes

            action, limit, item = f"free space on {path}", parse_bytes(entry.free), f"{path} free"
            findings.append(at_least("mounts", "free", space.free_bytes, None, limit, action, item=item, unit="B"))
    if space.files:
        left = space.free_files / space.files
        action = f"find what makes so many files on {path}"
        critical = None if mount.remote else _FEW_FILES / 4
        one = at_least("mounts", "inodes left", left, _FEW_FILES, critical, action, item=f"{path} inodes", unit="%")
        findings += [one] if one.severity != "OK" else []
    return Outcome(findings=tuple(findings), metrics=tuple(metrics))


def _fill(plan: MountsConfig, mount: Mount, entry: Entry | None, used: float) -> Finding:
    critical = entry.full if entry and entry.full is not None else None if mount.remote else _FULL
    if mount.read_only and (entry is None or entry.read_only):
        critical = None  # an image that is full by nature
    warning = None if mount.read_only else plan.warning
    action = f"free space on {mount.point}"
    return at_most("mounts", "in use", used, warning, critical, action, item=mount.point, unit="%")


def _fails(path: str, error: OSError | ValueError, what: str) -> Finding:
    """An error of the file system itself is its fault; one of our rights is ours."""
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    number = error.errno if isinstance(error, OSError) else None
    ours = number in (errno.EACCES, errno.EPERM, errno.ENOSYS)
    action = "run the check as root" if ours else f"umount -f -l {path} and mount it again; see its server"
    return wrong("mounts", path, f"{what}: {reason}", action, severity="UNKNOWN" if ours else "CRITICAL")


def _as_planned(mount: Mount, entry: Entry | None) -> list[Finding]:
    found: list[Finding] = []
    other: list[tuple[str, str]] = []  # what it is, and what the plan says
    if mount.turned_read_only and not (entry and entry.read_only):
        action = "drain; read the kernel's log, then check the file system from a rescue system"
        found.append(
            wrong("mounts", mount.point, "the kernel has made it read-only after an error", action, limit="rw")
        )
    elif entry and mount.read_only != entry.read_only:
        how = "read-only" if mount.read_only else "for writing"
        other.append((f"is mounted {how}", "read-only" if entry.read_only else "rw"))
    if entry and entry.type and mount.kind != entry.type and {mount.kind, entry.type} != {"nfs", "nfs4"}:
        other.append((f"is of type {mount.kind}, not {entry.type}", entry.type))
    if entry and entry.source and mount.source != entry.source:
        other.append((f"is {mount.source}, not {entry.source}", entry.source))
    return [*found, *(wrong("mounts", mount.point, what, _ACTION, limit=f"{limit} (plan)") for what, limit in other)]


CHECK = Check(name="mounts", title="File systems", plan=MountsConfig, run=run, stuck="CRITICAL")
