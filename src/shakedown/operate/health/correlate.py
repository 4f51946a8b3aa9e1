"""Do faults come with load? Faults and hours in each state of load, and an exact test of the one against the other. Pure.

If faults came without regard to load, then of n faults each would fall into a state with a probability of that state's share
of the watched time, so that the number in it is binomial. The test is of the one-sided question whether there are more, and
is exact for any number of faults, however small (Przyborowski and Wilenski, Biometrika 31, 1940, for two Poisson rates given
their sum). Several questions at once are corrected after Holm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ...records import Record
from .records import Exposure, Occasion


class Correlation(Record, frozen=True, kw_only=True):
    """One kind of fault against one kind of load."""

    fault: str  # "Xid 79"
    load: str  # "4 of 4 GPUs busy"
    inside: int  # faults in that state
    outside: int
    unknown: int  # faults at a time when the state was not known: not in the test
    inside_h: float
    outside_h: float
    p: float | None  # probability of so many or more inside by chance; None: no time watched in one of the two
    p_holm: float | None
    ratio: float | None  # rate inside over rate outside; None: not finite
    ratio_at_least: float | None  # its lower bound at 95 %
    text: str


def tail(n: int, k: int, share: float) -> float:
    """The probability that of ``n`` at least ``k`` fall into a part with this share."""
    return math.fsum(math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1))


def least_ratio(inside: int, outside: int, inside_h: float, outside_h: float, level: float = 0.05) -> float | None:
    """The lower bound of the ratio of two Poisson rates, by that of the binomial share (Clopper and Pearson)."""
    if inside == 0 or inside_h <= 0 or outside_h <= 0:
        return None
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(inside + outside, inside, middle) < level else (low, middle)
    return low / (1 - low) * outside_h / inside_h


def holm(probabilities: Sequence[float]) -> list[float]:
    """Corrected for asking several questions (Holm, Scand. J. Statist. 6, 1979)."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    found = [0.0] * len(probabilities)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, probabilities[index] * (len(probabilities) - rank)))
        found[index] = least
    return found


def questions(states: Iterable[str]) -> dict[str, tuple[str, Callable[[str], bool]]]:
    """What is asked of load, in words: the sign of states that can answer, and the question to one."""
    words = list(states)
    most = {found[1] for word in words if (found := re.search(r"gpus=\d+/(\d+)", word))}
    asked: dict[str, tuple[str, Callable[[str], bool]]] = {}
    if most:
        name = f"{(one := min(most))} of {one} GPUs busy" if len(most) == 1 else "all GPUs busy"
        asked[name] = ("gpus=", lambda word: re.search(r"gpus=(\d+)/\1\b", word) is not None)
    if any("cpu=" in word for word in words):
        asked["the CPUs busy"] = ("cpu=", lambda word: "cpu=high" in word)
    return asked


def correlate(hosts: Mapping[str, tuple[Sequence[Occasion], Exposure]]) -> tuple[Correlation, ...]:
    """All faults of one or several nodes against load, the least probable first."""
    hours: dict[str, float] = {}
    faults: dict[str, list[str]] = {}
    for occasions, exposure in hosts.values():
        for state, seconds in exposure.seconds.items():
            hours[state] = hours.get(state, 0.0) + seconds / 3600
        for one in occasions:
            name = f"Xid {one.code}" if one.kind == "xid" else one.kind
            faults.setdefault(name, []).append(one.load)
    asked = questions({*hours, *(state for states in faults.values() for state in states)})
    found = [
        _one(fault, load, sign, within, states, hours)
        for fault, states in sorted(faults.items())
        for load, (sign, within) in asked.items()
    ]
    tested = [index for index, one in enumerate(found) if one.p is not None]
    corrected = holm([found[index].p or 0.0 for index in tested])
    for index, value in zip(tested, corrected, strict=True):
        was = found[index]
        text = f"{was.text} (p = {value:.2g}{', corrected' if len(tested) > 1 else ''})"
        found[index] = msgspec.structs.replace(was, p_holm=value, text=text)
    return tuple(sorted(found, key=lambda one: (one.p is None, one.p_holm or 0.0, one.fault)))


def _one(
    fault: str, load: str, sign: str, within: Callable[[str], bool], states: Sequence[str], hours: Mapping[str, float]
) -> Correlation:
    known = [state for state in states if sign in state]
    inside = sum(within(state) for state in known)
    outside = len(known) - inside
    inside_h = math.fsum(value for state, value in hours.items() if sign in state and within(state))
    outside_h = math.fsum(value for state, value in hours.items() if sign in state and not within(state))
    testable = inside_h > 0 and outside_h > 0 and known
    p = tail(len(known), inside, inside_h / (inside_h + outside_h)) if testable else None
    ratio = inside / inside_h / (outside / outside_h) if testable and outside else None
    unknown = len(states) - len(known)
    text = (
        f"{fault} on {inside} of {len(known)} occasion{'' if len(known) == 1 else 's'} while {load} ({inside_h:.1f} h), "
        f"{outside} in {outside_h:.1f} h otherwise"
    )
    if unknown:
        text += f", {unknown} with the load not known"
    if not testable:
        text += ": no test, the node was not watched in both states"
    return Correlation(
        fault=fault,
        load=load,
        inside=inside,
        outside=outside,
        unknown=unknown,
        inside_h=inside_h,
        outside_h=outside_h,
        p=p,
        p_holm=None,
        ratio=ratio,
        ratio_at_least=least_ratio(inside, outside, inside_h, outside_h) if testable else None,
        text=text,
    )
