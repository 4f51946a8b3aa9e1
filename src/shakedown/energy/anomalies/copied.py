"""Traces that are copies of each other: two names for one meter, or a collector that answers for one feed with another's.

What two traces share by chance is told from what they cannot: the changes from reading to reading of one carry some bits
each (the collision entropy of what follows on what, -log2 sum p_i^2), so sequences long enough to carry ``BITS`` do not come
twice. Two traces that have most of these sequences in common are one. Meters that are too coarse to carry the bits are not
judged. Stamps do not matter: a copy may be read at other times, or with another zero of its counter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ...metering.trace import Floats, Ints, Trace

#: Sequences that carry so many bits do not come twice by chance in any archive.
BITS = 48.0
#: Two traces are one if so much of their sequences is common.
COMMON = 0.5
#: Changes that are looked at, of each trace, and the fewest that tell.
MOST, FEWEST = 4000, 6
_BASE = np.uint64(0x9E3779B97F4A7C15)


def pairs(traces: Mapping[str, Trace]) -> Iterator[tuple[str, str]]:
    """Names of traces that share most of their changes, the earlier one first; each later one once."""
    for quantity in ("power", "energy"):
        changes = {
            name: found
            for name, one in traces.items()
            if one.channel.quantity == quantity and (found := _changes(one)) is not None
        }
        yield from _shared(changes)


def _changes(trace: Trace) -> Ints | None:
    """What a trace changes by from value to value, in steps of about a millionth of its usual change (a power of two: a
    copy that is read at other times has the same); None where it is too short to tell."""
    value: Floats = trace.value[: MOST * 4]
    value = value[np.concatenate([[True], np.diff(value) != 0])] if len(value) else value
    change = np.diff(value)[:MOST]
    if len(change) < FEWEST:
        return None
    step = 2.0 ** round(math.log2(1e-6 * float(np.median(np.abs(change)))))
    return np.round(change / step).astype(np.int64)


def telling_length(changes: Ints) -> float:
    """How many changes in a row carry the bits; infinite where they carry none. The chance that two alike follow on one
    value, n_ab (n_ab - 1) / (n_a (n_a - 1)) summed over what follows: a power that holds still carries none, however
    long. A value that came once tells nothing of what follows: the chance of any two alike is taken, at least 1/n."""
    _, state = np.unique(changes, return_inverse=True)
    size, count = int(state.max()) + 1, len(changes)
    seen = np.bincount(state[:-1], minlength=size)
    codes, follows = np.unique(state[:-1] * size + state[1:], return_counts=True)
    alike = np.bincount(codes // size, weights=follows * (follows - 1.0), minlength=size)
    each = np.bincount(state, minlength=size)
    any_two = max(float(np.sum(each * (each - 1.0))) / (count * (count - 1.0)), 1 / count)
    chance = np.where(seen > 1, alike / np.maximum(seen * (seen - 1.0), 1), any_two)
    entropy = -math.log2(max(float(np.sum(chance * seen)) / (count - 1), 1 / count))
    return math.ceil(BITS / entropy) if entropy > 0.05 else math.inf


def _shared(changes: Mapping[str, Ints]) -> Iterator[tuple[str, str]]:
    lengths = {name: telling_length(one) for name, one in changes.items()}
    able = [name for name, one in changes.items() if lengths[name] <= len(one)]
    if len(able) < 2:
        return
    for length in sorted({int(lengths[name]) for name in able}):
        names = [name for name in able if int(lengths[name]) <= length <= len(changes[name])]
        fresh = {name for name in names if int(lengths[name]) == length}
        if len(names) < 2:
            continue
        grams = [np.unique(_hashes(changes[name], length)) for name in names]
        counts = np.array([len(one) for one in grams])
        owner = np.repeat(np.arange(len(names)), counts)
        joined = np.concatenate(grams)
        order = np.lexsort((owner, joined))
        joined, owner = joined[order], owner[order]
        same = joined[1:] == joined[:-1]
        coded, common = np.unique(owner[:-1][same] * len(names) + owner[1:][same], return_counts=True)
        seen: set[int] = set()
        for code, count in zip(coded.tolist(), common.tolist(), strict=True):
            first, second = divmod(code, len(names))
            if count < COMMON * min(counts[first], counts[second]) or second in seen:
                continue
            if names[first] in fresh or names[second] in fresh:
                seen.add(second)
                yield names[first], names[second]


def _hashes(changes: Ints, length: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """One number for each sequence of so many changes in a row."""
    words = changes.astype(np.uint64)
    count = len(words) - length + 1
    out = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for at in range(length):
            out = out * _BASE + (words[at : at + count] ^ (words[at : at + count] >> np.uint64(29))) + np.uint64(1)
    return out
