"""Saying that a fault has been seen to: it is no longer in force, and still counts for how often it came. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...errors import BadInput
from .records import KeptState, Occasion

_CHECK = "kernellog"


def occasions(kept: KeptState) -> tuple[Occasion, ...]:
    """The faults that a state holds."""
    return tuple(msgspec.convert(kept.checks.get(_CHECK, {}).get("occasions", []), list[Occasion]))


def name(one: Occasion) -> str:
    """What a fault is called: ``GPU 0000:9b:00 Xid 79``, as its finding's item."""
    word = f"Xid {one.code}" if one.kind == "xid" else one.kind
    return f"{one.item} {word}".strip()


def clear(kept: KeptState, words: Sequence[str]) -> tuple[KeptState, tuple[str, ...]]:
    """Clear the faults whose name has one of these words in it (all with ``all``). Returns the state, and what was cleared.

    Raises BadInput where there is none such.
    """
    held = occasions(kept)
    wanted = [word.lower() for word in words if word.strip()]
    chosen = [
        one
        for one in held
        if not one.cleared and ("all" in wanted or any(word in name(one).lower() for word in wanted))
    ]
    if not chosen:
        there = sorted({name(one) for one in held if not one.cleared})
        raise BadInput(
            f"no fault in force is called {' or '.join(wanted) or 'so: no name was given'}",
            where="clear",
            hint=f"there are: {'; '.join(there)}" if there else "there is none: nothing needs clearing",
        )
    now = [msgspec.structs.replace(one, cleared=True) if one in chosen else one for one in held]
    section = {**kept.checks[_CHECK], "occasions": [msgspec.to_builtins(one) for one in now]}
    return (
        msgspec.structs.replace(kept, checks={**kept.checks, _CHECK: section}),
        tuple(sorted({name(one) for one in chosen})),
    )
