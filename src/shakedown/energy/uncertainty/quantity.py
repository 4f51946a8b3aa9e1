"""A value with its uncertainty budget, by the GUM (JCGM 100:2008). One home of how terms combine.

Every term is a standard uncertainty in the value's own unit. Terms that several quantities share (one meter's gain, one
clock) carry the same ``common`` name: in a sum they add with their signs, in a ratio they cancel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from ...records import Notice
from ...records import Quantity as Quantity
from ...records import Term as Term

LEVEL = 0.95


def quantity(
    name: str,
    unit: str,
    value: float,
    terms: Sequence[Term],
    *,
    method: str = "",
    seen: float | None = None,
    notices: Sequence[Notice] = (),
) -> Quantity:
    """A value with the terms combined: u^2 = sum of u_i^2, those of one ``common`` name added before they are squared
    (JCGM 100, equations 10 and 16 with r = 1); k is Student's for the effective degrees of freedom (G.2b)."""
    merged = _merged(terms)
    u = math.sqrt(math.fsum(term.u**2 for term in merged))
    weights = math.fsum(term.u**4 / term.dof for term in merged if term.dof and term.u)
    dof = u**4 / weights if weights > 0 and u > 0 else None
    return Quantity(
        name=name,
        unit=unit,
        value=value,
        u=u,
        k=coverage_factor(dof),
        dof=dof,
        terms=tuple(sorted(merged, key=lambda term: -abs(term.u))),
        method=method,
        seen=seen,
        notices=tuple(notices),
    )


def unknown(name: str, unit: str, notice: Notice, *more: Notice) -> Quantity:
    """No value, and why."""
    return Quantity(name=name, unit=unit, value=None, notices=(notice, *more))


#: So many notices of one kind are told; of the others, how many.
TOLD = 3


def gathered(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """Notices in their order, of those with one code the first few and how many more there are."""
    by_code: dict[str, list[Notice]] = {}
    for one in dict.fromkeys(notices):
        by_code.setdefault(one.code, []).append(one)
    out: list[Notice] = []
    for same in by_code.values():
        out += same[:TOLD]
        if len(same) > TOLD:
            out[-1] = msgspec.structs.replace(out[-1], text=f"{out[-1].text} (and {len(same) - TOLD} more like it)")
    return tuple(out)


def coverage_factor(dof: float | None, level: float = LEVEL) -> float:
    """Student's t for a two-sided interval; 1.96 for infinitely many degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    tail = 0.5 + level / 2
    return float(ndtri(tail) if dof is None else stdtrit(max(dof, 1.0), tail))


def _merged(terms: Sequence[Term]) -> list[Term]:
    kept: list[Term] = []
    shared: dict[str, Term] = {}
    for term in terms:
        if not term.common:
            kept.append(term)
        elif term.common in shared:
            known = shared[term.common]
            shared[term.common] = msgspec.structs.replace(known, u=known.u + term.u)
        else:
            shared[term.common] = term
    return [*kept, *shared.values()]


def shares(value: Quantity) -> list[tuple[Term, float]]:
    """Each term with its share of the variance, the largest first."""
    total = math.fsum(term.u**2 for term in value.terms)
    return [(term, term.u**2 / total if total else 0.0) for term in value.terms]


def advice(value: Quantity) -> str:
    """The sentence that says what to improve; empty where there is no uncertainty."""
    ranked = shares(value)
    if not ranked or not value.u:
        return ""
    term, share = ranked[0]
    without = math.sqrt(max(0.0, 1 - share))
    words = (
        f"{term.name} makes {share:.0%} of the variance; without it the uncertainty would be {without:.0%} of today's"
    )
    return f"{words}. {term.remedy[:1].upper()}{term.remedy[1:]}." if term.remedy else f"{words}."


def scaled(value: Quantity, factor: float, *, name: str = "", unit: str = "") -> Quantity:
    """The quantity times an exact number."""
    if value.value is None or value.u is None:
        return msgspec.structs.replace(value, name=name or value.name, unit=unit or value.unit)
    return msgspec.structs.replace(
        value,
        name=name or value.name,
        unit=unit or value.unit,
        value=value.value * factor,
        u=value.u * abs(factor),
        terms=tuple(msgspec.structs.replace(term, u=term.u * factor) for term in value.terms),
    )


def total(name: str, unit: str, parts: Sequence[tuple[float, Quantity]]) -> Quantity:
    """The sum of exact factors times quantities; common terms add with their signs. A part that is not known makes the
    whole not known."""
    missing = [part for _, part in parts if part.value is None]
    if missing:
        why = "; ".join(notice.text for part in missing for notice in part.notices) or "not known"
        return unknown(
            name, unit, Notice(code="part-missing", text=f"{', '.join(part.name for part in missing)}: {why}")
        )
    terms = [
        msgspec.structs.replace(term, u=term.u * factor, name=term.name if term.common else f"{term.name}, {part.name}")
        for factor, part in parts
        for term in part.terms
    ]
    value = math.fsum(factor * (part.value or 0.0) for factor, part in parts)
    notices = dict.fromkeys(notice for _, part in parts for notice in part.notices)
    return quantity(name, unit, value, terms, notices=tuple(notices))


def power_law(name: str, unit: str, factor: float, parts: Mapping[str, tuple[float, Quantity]]) -> Quantity:
    """factor x the product of quantities to exact powers: E / F, E T^w, heat over power. ``parts``: name -> (power,
    quantity). To first order (JCGM 100, equation 12), with common terms added before they are squared: the gain of one
    meter cancels in a ratio of two of its readings."""
    value = factor
    for exponent, part in parts.values():
        if part.value is None:
            return unknown(
                name, unit, *(part.notices or (Notice(code="part-missing", text=f"{part.name} is not known"),))
            )
        if part.value == 0:
            return unknown(name, unit, Notice(code="zero", text=f"{part.name} is zero"))
        value *= part.value**exponent
    terms = [
        msgspec.structs.replace(
            term,
            u=value * exponent * term.u / part.value,
            name=term.name if term.common else f"{term.name}, {part.name}",
        )
        for exponent, part in parts.values()
        for term in part.terms
        if part.value
    ]
    notices = dict.fromkeys(notice for _, part in parts.values() for notice in part.notices)
    return quantity(name, unit, value, terms, notices=tuple(notices))
