"""A plan's tests in words: what is done, how often, and what it is held against. Pure."""

from __future__ import annotations

import re

from ..units import show, si
from . import checking, hosts
from .plan import (
    ACCEPTANCE,
    AvailabilityTest,
    CommandTest,
    FieldEntry,
    LimitEntry,
    ManualTest,
    RunTest,
    Test,
    ValueEntry,
)

_DIGITS, _MOST_DIGITS = 4, 15


def in_unit(value: float, unit: str, digits: int = _DIGITS) -> str:
    """A value in SI for a person: percent where the plan writes percent."""
    return show(value, "%" if unit == "%" else si(unit or "1")[0], digits)


def beside_bounds(value: float, entry: ValueEntry | FieldEntry) -> str:
    """A value with as many digits as tell it from its bounds: 96.9996 % is never shown as the 97 % that it misses."""
    limits = [checking.quantity(one, entry.unit) for one in (entry.at_least, entry.at_most) if one is not None]
    digits = _DIGITS
    while digits < _MOST_DIGITS and any(
        one != value and in_unit(one, entry.unit, digits) == in_unit(value, entry.unit, digits) for one in limits
    ):
        digits += 1
    return in_unit(value, entry.unit, digits)


def bounds(entry: ValueEntry | FieldEntry) -> str:
    """``at least 97 % and at most 100 %``."""
    parts = []
    for word, given in (("at least", entry.at_least), ("at most", entry.at_most)):
        if given is not None:
            bare = not isinstance(given, str) or re.fullmatch(r"[+-]*[0-9.]*[0-9][0-9.]*", given.strip()) is not None
            unit = f" {entry.unit}" if bare and entry.unit not in ("", "1") else ""
            parts.append(f"{word} {given if isinstance(given, str) else format(given, 'g')}{unit}")
    return " and ".join(parts)


def asked_of(field: FieldEntry, test: ManualTest) -> str:
    """What an answer is held against: ``yes``, ``at most 0``, ``not before Begin of the halt``."""
    if field.after:
        title = next((one.title for one in test.fields if one.name == field.after), field.after)
        return f"not before {title}"
    return field.expect or bounds(field)


def how(test: Test) -> str:
    """What is done, in words."""
    match test:
        case RunTest():
            words = [f"{name} = {'(to be filled in)' if value == '' else value}" for name, value in test.params.items()]
            words += [f"{name} = {', '.join(map(str, values))}" for name, values in test.sweep.items()]
            nodes = test.nodes if isinstance(test.nodes, tuple) else (test.nodes,)
            place = {"each": " on each node", "all": " over all nodes"}
            over = "".join(place.get(str(one), f" over {one} nodes") for one in nodes)
            least = f", {text}" if (text := hosts.words(test)) else ""
            return f"run {test.workload}{over}" + (f" with {', '.join(words)}" if words else "") + least
        case CommandTest():
            return f"command {' '.join(test.command)}" if test.command else "a command of the site's own"
        case AvailabilityTest():
            source = ", ".join(test.source) or "(to be filled in)"
            since = f", since {test.begin}" if test.begin else ""
            return f"the history of {source}{since}, judged by the contract {test.contract}"
        case ManualTest():
            return "by hand, in the steps below, with a form" + (f"; {test.witness} watches" if test.witness else "")


def often(test: Test) -> str:
    """How often it must succeed, in words."""
    subjects = len(test.subjects) if isinstance(test, ManualTest) else 0
    words = "once" if test.times == 1 else f"{test.times} times"
    words += f" with each of {subjects} subjects" if subjects else ""
    each = [one.title for one in test.fields if one.distinct] if isinstance(test, ManualTest) else []
    words += f", each time another: {', '.join(each)}" if each else ""
    return f"{words} over {test.over}" if test.over else words


def criteria(test: Test) -> tuple[str, ...]:
    """What it is held against, in words."""
    match test:
        case RunTest():
            return tuple(limit_words(one) for one in test.limits)
        case CommandTest():
            return (
                f"ends with exit code {test.exit_code or 0} within {test.time_limit}",
                *(f"the output holds {one!r}" for one in test.expect),
                *(f"the output does not hold {one!r}" for one in test.refuse),
                *(f"{one.name}: {bounds(one)}" + (f" [{one.source}]" if one.source else "") for one in test.values),
            )
        case AvailabilityTest():
            return (f"met by the contract {test.contract}",)
        case ManualTest():
            seen = (f"watched by {test.witness}",) if test.witness else ()
            return (*seen, *(f"{one.title}: {asked_of(one, test)}" for one in test.fields if one.judged))


def limit_words(limit: LimitEntry) -> str:
    """A limit in words: ``stream.triad.bandwidth: at least 0.95 of fleet median``."""
    of = "the figure at the acceptance" if limit.of == ACCEPTANCE else limit.of or limit.of_metric
    parts = []
    for word, given in (("at least", limit.at_least), ("at most", limit.at_most)):
        if given is not None:
            bare = not isinstance(given, str)
            amount = show(float(given), "%" if of else "1", 4) if bare else str(given)
            parts.append(f"{word} {amount}" + (f" of {of}" if of else ""))
    where = ", ".join(f"{name} {value}" for name, value in limit.params.items())
    which = "" if limit.cases == "every" else ", the best case"
    source = f" [{limit.source}]" if limit.source else ""
    return f"{limit.metric}{f' ({where})' if where else ''}: {' and '.join(parts)}{which}{source}"
