"""The kernel's log: Xid and other faults, each with what it means and one next action (kernel.toml, xid.toml).

Read from /dev/kmsg, else from dmesg, else from the journal. A cursor by the machine's start and the record's number is
kept, so no line counts twice; a fault stays in force until its rule or `shakedown health clear` ends it, so that an old
line neither keeps a node drained for ever nor is forgotten by the next call.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ....records import Record
from ....units import leading_number
from .. import exposure, faults, kernellines
from ..kernellines import Cursor, Line
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Occasion, Outcome
from ..thresholds import unknown


class KernellogConfig(Record, frozen=True, kw_only=True):
    ignore: tuple[str, ...] = ()  # kinds of faults (kernel.toml) or "xid 13" that are not shown


def boot_time_s(senses: NodeAccess, now_s: float) -> float | None:
    """When the machine was started, by its clock of now; None where the kernel does not say."""
    up_s = leading_number(senses.word("/proc/uptime") or "", most=now_s)
    return None if up_s is None or up_s < 0 else now_s - up_s


def run(look: CheckContext) -> Outcome:
    boot_s = boot_time_s(look.senses, look.now_s)
    lines, why = read(look.senses, boot_s)
    if lines is None:
        action = "run the check as root, or join the group adm or systemd-journal"
        return Outcome(findings=(unknown("kernellog", f"the kernel's log cannot be read: {why}", action=action),))
    same = look.kept.get("boot") == look.boot and bool(look.boot)
    cursor = Cursor(*look.kept["cursor"]) if same and "cursor" in look.kept else Cursor()
    new, after = kernellines.news(lines, cursor)
    found = [one for line in new if (one := _fault(line, look, boot_s)) is not None]
    before = msgspec.convert(look.kept.get("occasions", []), list[Occasion])
    occasions = faults.gather(before, found, look.now_s)
    findings = tuple(
        one for one in faults.judge(occasions, look.boot, look.now_s) if not _ignored(one, look.plan.ignore)
    )
    kept: dict[str, Any] = {
        "boot": look.boot,
        "cursor": list(after),
        "occasions": [msgspec.to_builtins(one) for one in occasions],
    }
    what = f"read, {len(new)} new line{'' if len(new) == 1 else 's'}"
    read_all = Finding(check="kernellog", what=what, value=len(new))
    return Outcome(findings=(read_all, *findings), metrics=faults.metrics(occasions), kept=kept)


def _fault(line: Line, look: CheckContext, boot_s: float | None) -> Occasion | None:
    found = faults.recognise(line, look.boot, "", look.now_s)
    if found is None:
        return None
    load = exposure.at(look.exposure, found.first_s, boot_s)
    age_s = found.first_s - look.exposure.last_s
    figures = f"{look.exposure.figures}, {age_s:.0f} s before" if load else ""
    return msgspec.structs.replace(found, load=load, figures=figures)


def _ignored(one: Finding, ignore: tuple[str, ...]) -> bool:
    words = one.item.lower()
    return any(words == word or words.endswith(f" {word}") for word in map(str.lower, ignore))


def read(senses: NodeAccess, boot_s: float | None) -> tuple[list[Line] | None, str]:
    """All lines that are still held, or None and why not."""
    reasons = []
    try:
        records = senses.kernel_log()
        if records is not None:
            return kernellines.kmsg(records, boot_s), ""
        reasons.append("/dev/kmsg is not there")
    except OSError as error:
        reasons.append(f"/dev/kmsg: {error.strerror}")
    for argv in (("dmesg", "-r"), ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "json")):
        if senses.which(argv[0]):
            said = senses.run(argv, limit_s=3.0)
            if said.ok and said.out.strip():
                return kernellines.text_log(said.out, boot_s), ""
            reasons.append(f"{argv[0]}: {(said.err.strip().splitlines() or ['says nothing'])[-1]}")
    return None, "; ".join(reasons)


CHECK = Check(name="kernellog", title="Faults in the kernel's log", plan=KernellogConfig, run=run)
