"""Taking a node out of use, and giving back only what we have taken. ``decide`` is pure; ``act`` asks the batch engine.

A node is drained once the same finding has been critical in k of the last n calls. A node that people, or another checker
(NHC, the site's own), have drained is theirs: neither renamed nor resumed. Ours is one whose reason begins with
``shakedown:`` and is, to the letter, the one that we have written: whoever adds a word to it has taken it over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ...errors import CannotMeasure, unknown
from ...hosts.access import LocalHost, Result
from .plan import Rules
from .records import Drained, Finding, HealthReport, KeptState, Verdict

PREFIX = "shakedown:"
#: A reason is shown in one line of sinfo; the report has the rest.
_LONGEST = 160


class Node(NamedTuple):
    """A node as the engine knows it."""

    known: bool
    drained: bool
    down: bool
    reason: str
    word: str  # the engine's own


class DrainStep(NamedTuple):
    """What to do, and why or why not."""

    action: Literal["drain", "resume", "nothing"]
    reason: str = ""  # of a drain
    why: str = ""


Run = Callable[[Sequence[str]], Result]


class Engine(NamedTuple):
    """How an engine is asked and told. Words of commands; nothing passes a shell."""

    show: Callable[[str], tuple[str, ...]]
    read: Callable[[Result], Node]
    drain: Callable[[str, str], tuple[str, ...]]
    resume: Callable[[str], tuple[str, ...]]


def confirmed(verdicts: Sequence[Verdict], rules: Rules) -> tuple[str, ...]:
    """The keys of findings that were critical in k of the last n calls, the last among them."""
    k, n = rules.counts
    recent = [{*one.critical, *(one.unknown if rules.unknown else ())} for one in verdicts[-n:]]
    if not recent:
        return ()
    often = (key for key in recent[-1] if sum(key in one for one in recent) >= k)
    return tuple(sorted(key for key in often if key.partition(":")[0] not in rules.ignore))


def healthy(verdicts: Sequence[Verdict], rules: Rules) -> bool:
    """Whether nothing was critical, and nothing unknown, in any of the last n calls, and there were so many."""
    _, n = rules.counts
    recent = verdicts[-n:]
    return len(recent) == n and not any(one.critical or one.unknown for one in recent)


def reason(findings: Sequence[Finding], keys: Sequence[str]) -> str:
    """The reason that is written, in one line: the first finding's words, and which others there are. It does not change
    with a value that does, so that a drain keeps its date."""
    shown = [one for one in findings if one.key in keys]
    words = "; ".join(dict.fromkeys(f"{one.check} {one.item}".strip() for one in shown)) or ", ".join(keys)
    text = " ".join(f"{PREFIX} {words}".replace("|", "/").split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def decide(
    node: Node,
    verdicts: Sequence[Verdict],
    rules: Rules,
    findings: Sequence[Finding],
    ours: Drained | None,
    resume: bool,
) -> DrainStep:
    """What to do with a node, by what the engine says of it, what the calls said, and what we have done before."""
    if not node.known:
        return DrainStep("nothing", why=f"the engine knows no such node ({node.word})")
    keys = confirmed(verdicts, rules)
    mine = ours is not None and node.drained and node.reason == ours.reason and node.reason.startswith(PREFIX)
    if node.drained and not mine:
        return DrainStep("nothing", why=f"is drained already, not by us: {node.reason or 'no reason'}")
    if keys:
        wanted = reason(findings, keys)
        if mine and ours is not None and ours.reason == wanted:
            return DrainStep("nothing", why="is drained by us already")
        if node.down:
            return DrainStep("nothing", why=f"is down: {node.word}")
        return DrainStep("drain", wanted, why=f"{len(keys)} critical, confirmed {rules.confirm}")
    if mine and resume:
        if healthy(verdicts, rules):
            return DrainStep("resume", why="was drained by us, and has been healthy in all of the last calls")
        return DrainStep("nothing", why="was drained by us; it has not yet been healthy often enough to be resumed")
    if mine:
        return DrainStep("nothing", why="is drained by us; it is resumed with --resume only")
    return DrainStep("nothing", why="there is nothing that is confirmed")


# ------------------------------------------------------------------------------------------------------------- engines


def _strange(said: Result) -> Node:
    """A node that the engine does not know, with what it said."""
    return Node(False, False, False, "", (said.err.strip().splitlines() or ["no answer"])[-1])


def _slurm_read(said: Result) -> Node:
    lines = [line for line in said.out.splitlines() if line.strip()]
    if not said.ok or not lines:
        return _strange(said)
    word, _, why = lines[0].partition("|")
    state = word.strip().lower()
    drained = state.startswith("drain")
    why = "" if why.strip() == "none" else why.strip()
    return Node(True, drained, state.startswith(("down", "fail", "error")), why, word.strip())


def _pbs_read(said: Result) -> Node:
    pairs = (line.partition("=") for line in said.out.splitlines())
    fields = {key.strip(): value.strip() for key, sign, value in pairs if sign}
    if not said.ok or "state" not in fields:
        return _strange(said)
    states = fields["state"].split(",")
    why = fields.get("comment", fields.get("note", ""))
    return Node(True, "offline" in states, "down" in states, why, fields["state"])


ENGINES: dict[str, Engine] = {
    "slurm": Engine(
        show=lambda name: ("sinfo", "-h", "-N", "-n", name, "-o", "%T|%E"),
        read=_slurm_read,
        drain=lambda name, why: ("scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={why}"),
        resume=lambda name: ("scontrol", "update", f"NodeName={name}", "State=RESUME"),
    ),
    "pbs": Engine(
        show=lambda name: ("pbsnodes", "-v", name),
        read=_pbs_read,
        drain=lambda name, why: ("pbsnodes", "-o", "-C", why, name),
        resume=lambda name: ("pbsnodes", "-r", "-C", "", name),
    ),
}


def act(
    engine: str,
    name: str,
    rules: Rules,
    report: HealthReport,
    kept: KeptState,
    *,
    resume: bool,
    run: Run = lambda argv: LocalHost().run(argv, limit_s=10.0),
) -> tuple[KeptState, DrainStep]:
    """Look at the node, decide, do it. Returns the state with what is ours now. Raises BadInput for an engine that is not
    known, CannotMeasure where it refuses."""
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    words = ENGINES[engine]
    node = words.read(run(words.show(name)))
    step = decide(node, kept.verdicts, rules, report.findings, kept.drained, resume)
    if step.action == "nothing":
        if kept.drained is not None and node.known and not (node.drained and node.reason == kept.drained.reason):
            kept = msgspec.structs.replace(kept, drained=None)  # somebody has resumed it, or made it theirs
        return kept, step
    # Between the look and the act a person may have drained it: look once more, as near to the act as can be.
    again = words.read(run(words.show(name)))
    if again != node:
        return kept, DrainStep("nothing", why="its state changed meanwhile; the next call decides")
    said = run(words.drain(name, step.reason) if step.action == "drain" else words.resume(name))
    if not said.ok:
        why = (said.err or said.out).strip().splitlines() or ["no answer"]
        hint = "run it as root or as an operator of the engine"
        raise CannotMeasure(f"{step.action} of {name} was refused: {why[-1]}", where=engine, hint=hint)
    ours = Drained(reason=step.reason, at_s=report.at_s) if step.action == "drain" else None
    return msgspec.structs.replace(kept, drained=ours), step
