"""Which fact about the runs explains a change: each is a model of the values, and their likelihoods are laid side by side.

Of the runs from the change before to the change after, a word (a version, a setting) gives each of its values a level of its
own, a number (load, temperature) a straight line. Against them stand a change at any run whose cause is not recorded, and no
change at all. The misfit is the sum of squared residuals in deviations of a run, each at most CLIP of them, which is twice
the negative logarithm of the likelihood; each parameter beyond the first costs log(n) of it, for n runs (Schwarz,
"Estimating the dimension of a model", Annals of Statistics 6, 1978, 461-464), and the run of an unrecorded change one of n
places. A fact that went the same way or back at another time, and the level did not, misfits there too.

What changed at the same runs has the same likelihood, whatever it is: such facts are said together. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...records import FactChange, TrendCause, Value
from ..facts import BOOT, Facts, in_words
from .chart import Floats

#: Residuals count as at most so many deviations.
CLIP = 6.0
#: Of likelihoods of which one is less than so many times the other none is surely the better.
TOLD_APART = 10.0
#: A fact is named where it is so many times as likely as something that is not recorded.
NAMED_FROM = 2.0
#: Runs on each side by which a change of the same fact at another time is judged, and what it may weigh.
_NEAR, _MOST = 8, 20.0
#: Causes that are listed.
_LISTED = 5


class Explained(NamedTuple):
    causes: tuple[TrendCause, ...]
    close: int  # of the first, those that cannot be told apart from the first
    unknown_share: float


class _Model(NamedTuple):
    pattern: tuple[object, ...]  # the same where facts changed at the same runs
    cost: float
    change: FactChange


def explain(values: Floats, known: Sequence[Facts], begin: int, first: int, end: int, wider: float = 1.0) -> Explained:
    """``values``: of all runs in deviations of one; ``known``: the facts of each. The change lies before the run ``first``,
    and no other from ``begin`` to ``end``. ``wider``: of how much less weight a run is that resembles its neighbours."""
    models = []
    for fact in dict.fromkeys(name for one in known for name in one):
        column = filled([one.get(fact) for one in known])
        made = _of_fact(fact, column, values, begin, first, end)
        if made is not None:
            models.append(made)
    unknown = _unknown(values[begin:end])
    least = min([unknown, *(one.cost for one in models)])
    groups: dict[tuple[object, ...], list[_Model]] = {}
    for one in models:
        groups.setdefault(one.pattern, []).append(one)
    weights = {
        pattern: math.exp(-(min(one.cost for one in group) - least) / 2 / wider**2) for pattern, group in groups.items()
    }
    rest = math.exp(-(unknown - least) / 2 / wider**2)
    total = rest + sum(weights.values())
    order = sorted(weights, key=lambda pattern: -weights[pattern])
    top = weights[order[0]] if order else 0.0
    close = sum(weights[one] * TOLD_APART > top for one in order) if top > NAMED_FROM * rest else 0
    causes = tuple(TrendCause(facts=_together(groups[one]), share=weights[one] / total) for one in order)
    return Explained(causes[: max(_LISTED, close)], close, rest / total)


def filled(column: Sequence[Value | None]) -> list[Value | None]:
    """A fact that was not recorded is what it was before, or, before it was ever recorded, what it was then."""
    found: list[Value | None] = []
    for value in column:
        found.append(value if value is not None else found[-1] if found else None)
    ahead = next((value for value in found if value is not None), None)
    return [ahead if value is None else value for value in found]


def _together(models: Sequence[_Model]) -> tuple[FactChange, ...]:
    """The facts of one pattern; that a host was started anew is said where nothing else was."""
    others = [one.change for one in models if one.change.fact != BOOT]
    return tuple(others or [one.change for one in models])


def _unknown(values: Floats) -> float:
    """The misfit of a change at the best place, whatever the cause."""
    n = len(values)
    costs = [_misfit(values[:at]) + _misfit(values[at:]) for at in range(1, n)]
    return min([_misfit(values), *(cost + 3 * math.log(n) for cost in costs)])


def _misfit(values: Floats) -> float:
    """About their median."""
    left = np.clip(values - np.median(values), -CLIP, CLIP) if len(values) else values
    return float(left @ left)


def _of_fact(fact: str, column: list[Value | None], values: Floats, begin: int, first: int, end: int) -> _Model | None:
    """None for a fact that did not change, or that changed only in what it has nothing to say of."""
    inside, window = column[begin:end], values[begin:end]
    n = len(window)
    if len(set(inside)) < 2:
        return None
    if any(isinstance(value, float) for value in inside):
        return _of_number(fact, np.array([float(value or 0) for value in inside]), window, first - begin)
    before, after = _common(inside[: first - begin]), _common(inside[first - begin :])
    if before == after:
        return None
    names: dict[Value | None, int] = {}
    labels = np.array([names.setdefault(value, len(names)) for value in inside])
    cost = sum(_misfit(window[labels == label]) for label in range(len(names))) + (len(names) - 1) * math.log(n)
    step = float(np.median(window[labels == names[after]]) - np.median(window[labels == names[before]]))
    again = without = 0
    for at in range(1, len(column)):
        pair = (column[at - 1], column[at])
        if begin < at < end or pair not in ((before, after), (after, before)):
            continue
        weight = _elsewhere(values, at, step if pair == (before, after) else -step)
        cost += weight
        again += weight < -1
        without += weight > 1
    told = FactChange(fact=fact, before=in_words(before), after=in_words(after), again=again, without=without)
    return _Model((tuple(labels.tolist()), again, without), cost, told)


def _of_number(fact: str, numbers: Floats, window: Floats, first: int) -> _Model | None:
    centred = numbers - numbers.mean()
    power = float(centred @ centred)
    if power <= 0:
        return None
    level = np.clip(window, np.median(window) - 2 * CLIP, np.median(window) + 2 * CLIP)
    slope = float(centred @ (level - level.mean())) / power
    cost = _misfit(window - slope * centred) + math.log(len(window))
    told = FactChange(
        fact=fact, before=in_words(float(np.median(numbers[:first]))), after=in_words(float(np.median(numbers[first:])))
    )
    return None if told.before == told.after else _Model((fact,), cost, told)


def _common(values: Sequence[Value | None]) -> Value | None:
    """What it was most often; of those that it was equally often the last."""
    return max(reversed(values), key=list(values).count)


def _elsewhere(values: Floats, at: int, step: float) -> float:
    """How much worse the runs about ``at`` fit with this step than without one."""
    before, after = values[max(0, at - _NEAR) : at], values[at : at + _NEAR]
    if len(before) < 2 or len(after) < 2:
        return 0.0
    middle = np.median(before)
    with_step = np.clip(after - middle - step, -CLIP, CLIP)
    without = np.clip(after - middle, -CLIP, CLIP)
    return float(np.clip(with_step @ with_step - without @ without, -_MOST, _MOST))
