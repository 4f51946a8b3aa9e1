"""What recorded words mean: states of nodes in the words of Slurm, Grid Engine and our watch, and reasons as kinds of cause.

Slurm keeps a node's state as a number: the lowest four bits are the base state, the others flags (slurm/slurm.h of 20.11 to
24.05, NODE_STATE_*). The accounting database holds the number, `sinfo` prints words with marks behind them: `*` not
responding, `$` in a maintenance reservation, `~` and `%` powered down, `#` powering up, `@` and `^` rebooting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, get_args

State = Literal[
    "up",
    "down",
    "silent",  # does not answer the engine, or our heartbeat
    "drained",
    "draining",  # drained, but jobs still run on it
    "failed",
    "booting",
    "maintenance",
    "reserved",
    "powered down",  # by a power-saving engine: it would come if it were asked for
    "unknown",  # not observed
    "absent",  # not a node at that time
]
STATES: tuple[State, ...] = get_args(State)

# slurm/slurm.h: enum node_states and the flags above it.
_BASE = ("unknown", "down", "idle", "allocated", "error", "mixed", "future")
_DRAIN, _NO_RESPOND, _POWERED_DOWN, _FAIL, _POWERING_UP, _MAINT, _REBOOT_ISSUED = (
    1 << bit for bit in (9, 11, 12, 13, 14, 15, 20)
)


@cache
def of_slurm_number(number: int) -> State:
    """A raw state of Slurm's accounting (StateRaw) as ours."""
    base = _BASE[number & 0xF] if number & 0xF < len(_BASE) else "unknown"
    if base == "future":
        return "absent"
    if number & _MAINT:
        return "maintenance"
    if number & (_REBOOT_ISSUED | _POWERING_UP):
        return "booting"
    if base == "down":
        return "silent" if number & _NO_RESPOND else "down"
    if base == "error" or number & _FAIL:
        return "failed"
    if number & _DRAIN:
        return "draining" if base in ("allocated", "mixed") else "drained"
    if number & _NO_RESPOND:
        return "silent"
    if number & _POWERED_DOWN:
        return "powered down"
    if base == "unknown":
        return "unknown"
    return "up"


#: Our states -> the words of sinfo.
_SINFO: dict[State, str] = {
    "up": "idle allocated alloc mixed mix completing comp planned plnd reboot_requested blocked perfctrs npc",
    "down": "down inval",
    "failed": "error fail",
    "drained": "drained drain",
    "draining": "draining drng failing failg",
    "maintenance": "maint",
    "reserved": "reserved resv",
    "booting": "reboot rebooting boot reboot_issued powering_up pow_up",
    "powered down": "powered_down powering_down power_down pow_dn",
    "absent": "future futr",
    "unknown": "unknown unk",
    "silent": "no_respond",
}
_WORDS = {word: state for state, words in _SINFO.items() for word in words.split()}


@cache
def of_slurm_word(word: str) -> State:
    """A word of sinfo (%T, %t, StateLong) or several joined by `+` (``IDLE+DRAIN``) as ours; "unknown" for a word that is
    not known: nobody can say that such a node was up."""
    plain = word.strip().lower().rstrip("*~#!%$@^-+")
    marks = word.strip()[len(plain) :]
    parts = [_WORDS.get(part, "unknown") for part in plain.split("+")]
    busy = {"allocated", "alloc", "mixed", "mix", "completing"} & set(plain.split("+"))
    state: State = parts[0]
    for worse in (
        "absent",
        "maintenance",
        "down",
        "failed",
        "drained",
        "booting",
        "silent",
        "powered down",
        "reserved",
    ):
        if worse in parts:
            state = worse
            break
    if state == "drained" and busy:
        state = "draining"
    if "$" in marks:
        return "maintenance"
    if "*" in marks and state in ("up", "reserved", "down", "silent"):
        return "silent"
    if ("^" in marks or "@" in marks) and state in ("up", "down"):
        return "booting"
    if "~" in marks or "%" in marks:
        return "powered down" if state in ("up", "reserved") else state
    return "booting" if "#" in marks and state == "up" else state


def of_gridengine(letters: str) -> State:
    """A queue instance's state letters (qstat(1), -f) as ours: u unknown to the qmaster, E error, d/D disabled,
    o orphaned, C and S suspended by a calendar or a subordinate, a load alarm, s suspended."""
    if "u" in letters:
        return "silent"
    if "E" in letters:
        return "failed"
    if "d" in letters or "D" in letters:
        return "drained"
    return "absent" if "o" in letters else "up"


#: Reasons -> kinds of cause, the first that matches. What people and daemons write; a contract's own go before.
_CAUSES: tuple[tuple[str, str], ...] = (
    (r"\b(maint(enance)?|upgrad\w*|planned|scheduled)\b", "maintenance"),
    (r"\b(power|psu|pdu|ups|breaker|blackout|utility)\b", "power"),
    (r"\b(cool\w*|therm\w*|temp\w*|overheat\w*|chiller|leak)\b", "cooling"),
    (r"gpus?\b|gres/gpu|\bxid\b|nvlink|nvidia|cuda|fell off the bus|fallen off the bus", "gpu"),
    (r"\b(dimm|memory|realmemory|ecc|edac|mce|mc[ae])\b", "memory"),
    (r"\b(cpus?|socket|processor|board|motherboard|bmc|ipmi|hardware|hw)\b", "hardware"),
    (r"\b(ib|infiniband|hca|opa|ethernet|nic|link|network|switch|fabric)\b", "network"),
    (r"\b(mount\w*|lustre|gpfs|nfs|beegfs|panasas|disk|ssd|nvme|file ?system|tmpdisk|scratch)\b", "storage"),
    (
        r"prolog|epilog|kill task failed|unexpectedly rebooted|slurmd|batch job complete|software|driver|kernel",
        "software",
    ),
    (r"not responding|no response|unreachable|does not answer", "not responding"),
)


def kind_of(reason: str, own: Sequence[tuple[str, str]] = ()) -> str:
    """The kind of cause that a reason tells of; "unknown" where it tells of none that is known."""
    for pattern, kind in (*own, *_CAUSES):
        if re.search(pattern, reason, re.IGNORECASE):
            return kind
    return "unknown"
