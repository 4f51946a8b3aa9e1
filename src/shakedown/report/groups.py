"""Group tests: what the verdict says in words, with the next step.

``section(analysis)`` is all that a report calls; the others serve the command as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..document.model import Block, Column, Section, Table, Text
from ..document.text import count, listed, params_of
from ..records import Analysis
from ..units import show
from .pairs import MOST_NAMED, Named, amount, interval

if TYPE_CHECKING:
    from ..analysis.groups import GroupVerdict, SlowPart

_KINDS = {
    "gpu": ("GPU or rank", "GPUs or ranks"),  # several members of one host: which of the two, they do not say
    "node": ("node", ""),
    "link": ("link", ""),
    "switch": ("switch", "switches"),
    "uplink": ("uplink", ""),
    "path": ("path between two switches", "paths between two switches"),
    "rail": ("rail", ""),
}
_STEPS = {
    "gpu": "compare its clocks, temperature, power limit and link width with a GPU that is not slow (nvidia-smi -q), and "
    "run `shakedown run gpu_copy` on its host; of a rank without a GPU look where it runs (`shakedown placement`)",
    "node": "compare its adapter's speed, width and PCIe slot, its BIOS and clocks with a node that is not slow "
    "(`shakedown health`); then move its cable to another port: if the slowness moves, it is the port or the cable",
    "link": "look at what joins the two: NVLink errors and states (nvidia-smi nvlink -e, -s), the PCIe path (nvidia-smi "
    "topo -m), and `shakedown run gpu_copy` from one to the other; of two ranks without GPUs look where they run",
    "switch": "look at the switch itself: its temperature, its firmware, errors on all of its ports",
    "uplink": "look at the cables from that switch up: how many links are up, and their speed, width and error counters",
    "path": "trace the route between the two switches (ibtracert, traceroute) and look at the ports on it",
    "rail": "compare that network's adapters, switches and settings with those of another rail",
}


def section(analysis: Analysis) -> Section | None:
    """What the groups among the findings say of the parts of the fleet, or None where none were measured."""
    if not any("members" in one.params for one in analysis.findings):
        return None
    from ..analysis import groups

    blocks: list[Block] = []
    for tests in groups.from_findings(analysis.findings):
        blocks += _blocks(groups.verdict(tests))
    if not blocks:
        return None
    return Section(id="groups", title="Groups at the same time: who is slow", short="Groups", blocks=tuple(blocks))


def _blocks(verdict: GroupVerdict) -> list[Block]:
    blocks: list[Block] = [Text(text=f"{title(verdict)}: {summary(verdict)}")]
    if rows := tuple(named(verdict)):
        more = f"{len(rows) - MOST_NAMED:,} more: see shakedown groups." if len(rows) > MOST_NAMED else ""
        columns = (Column("Where", "code"), Column("State", "state"), Column("What was seen"), Column("What to do"))
        blocks.append(Table(title=f"Named in {title(verdict)}", columns=columns, rows=rows[:MOST_NAMED], caption=more))
    blocks += [Text(text=f"{one.text[:1].upper()}{one.text[1:]}. To do: {one.advice}.") for one in verdict.notices]
    return blocks


def title(verdict: GroupVerdict) -> str:
    """``Collective of one of several groups at once, alltoall, 1 MiB``."""
    said = {name: value for name, value in verdict.params.items() if name not in ("method", "oversubscribed")}
    return ", ".join(filter(None, (verdict.metric.title, params_of(said))))


def label(part: SlowPart) -> str:
    """``node n17``, ``uplink of leaf3``."""
    return {"uplink": f"uplink of {part.name}", "gpu": f"GPU or rank {part.name}"}.get(
        part.kind, f"{part.kind} {part.name}"
    )


def summary(verdict: GroupVerdict) -> str:
    """How much was measured, what is named, what could be judged, and what would have been found."""
    typical = "" if verdict.typical is None else f"; a typical one takes {show(verdict.typical, verdict.metric.unit)}"
    parts = [
        f"{count(verdict.tests, 'group')} of {verdict.group_size} in {count(verdict.rounds, 'round')} over "
        f"{count(verdict.places, 'place')}{typical}."
    ]
    if verdict.judged:
        parts.append(f"Judged: {listed([count(number, *_KINDS[kind]) for kind, number in verdict.judged.items()])}.")
    named = [
        count(len(group), word, "")
        for group, word in ((verdict.slow, "slow part"), (verdict.failed, "failed place"))
        if group
    ]
    if named:
        parts.append(f"{' and '.join(named)}.")
    else:
        parts.append("Undecided." if verdict.state == "undecided" else "None is slow.")
    if verdict.smallest is not None and verdict.sigma is not None:
        parts.append(
            f"Groups scatter by {show(verdict.sigma, '%', 2)}; a place {amount(verdict.smallest)} would have been "
            f"named in 9 of 10 cases. Of what is named at most {show(verdict.rate, '%', 2)} is wrong in the mean."
        )
    if verdict.params.get("oversubscribed"):
        parts.append("Ranks shared CPUs: the times are those of the scheduler and mean nothing.")
    return " ".join(parts)


def named(verdict: GroupVerdict) -> list[Named]:
    """All that is named with what was seen and the next step: what failed first, then the slowest."""
    what = verdict.metric.title[:1].lower() + verdict.metric.title[1:]
    failed = [
        Named(
            one.place,
            "failed",
            f"place {one.place}: {one.failed} of its {one.tried} groups failed ({one.why})",
            "look for an Xid in dmesg and at its NVLink errors, and drain its node"
            if verdict.metric.name.startswith("gpu_")
            else "check whether it is up and its port has a link, then measure it again",
        )
        for one in verdict.failed
    ]
    return [*failed, *(_slow(one, what) for one in verdict.slow)]


def _slow(part: SlowPart, what: str) -> Named:
    seen = (
        f"{label(part)}: {amount(part.effect.slower)} by {count(part.tests, 'group')} ({what}), 95 % interval "
        f"{interval(part.effect)}"
    )
    step = _STEPS[part.kind]
    if part.alternatives:
        shown = [*part.alternatives[:4], *(["others"] if len(part.alternatives) > 4 else [])]
        seen += f"; the same groups would be explained by {' or '.join(shown)}"
        step = "measure further rounds with groups that use one of them and not the other; then " + step
    return Named(label(part), "slow", seen, step)
