"""The few ways in which a value is held against a limit. Pure; a value that is not known is UNKNOWN, never OK."""

from __future__ import annotations

from functools import partial
from typing import Literal

from .records import Finding, Severity

Value = int | float | str


def equal(
    check: str,
    name: str,
    value: Value | None,
    wanted: Value | None,
    action: str,
    *,
    item: str = "",
    severity: Severity = "CRITICAL",
    why: str = "",
) -> Finding:
    """``value`` as planned; without a plan it is told and not judged."""
    if value is None:
        return unknown(check, f"{name}: {why or 'the kernel does not say'}", item=item)
    if wanted is None or value == wanted:
        return Finding(
            check=check, item=item, what=f"{name}: {value}", value=value, limit="" if wanted is None else str(wanted)
        )
    what = f"{name}: {value} instead of {wanted}"
    return wrong(check, item, what, action, severity=severity, value=value, limit=f"{wanted} (plan)")


def at_most(
    check: str,
    name: str,
    value: float | None,
    warning: float | None,
    critical: float | None,
    action: str,
    *,
    item: str = "",
    unit: str = "",
    sign: Literal[1, -1] = 1,
) -> Finding:
    """``value`` above ``critical`` or ``warning``; None is no such limit. With the ``sign`` -1: below it."""
    if value is None:
        return unknown(check, f"{name}: the kernel does not say", item=item)
    limits: tuple[tuple[Severity, float | None], ...] = (("CRITICAL", critical), ("WARNING", warning))
    for severity, limit in limits:
        if limit is not None and sign * (value - limit) > 0:
            held = shown(limit, unit)
            what = f"{name}: {shown(value, unit)}, {'above' if sign > 0 else 'below'} {held}"
            return wrong(check, item, what, action, severity=severity, value=value, unit=unit, limit=held)
    nearest = warning if warning is not None else critical
    limit_word = "" if nearest is None else shown(nearest, unit)
    return Finding(
        check=check, item=item, what=f"{name}: {shown(value, unit)}", value=value, unit=unit, limit=limit_word
    )


#: ``value`` below ``critical`` or ``warning``; called as ``at_most`` is.
at_least = partial(at_most, sign=-1)


def wrong(
    check: str,
    item: str,
    what: str,
    action: str,
    *,
    severity: Severity = "CRITICAL",
    value: Value | None = None,
    unit: str = "",
    limit: str = "",
) -> Finding:
    """Something that is not as it should be, and the one next step."""
    return Finding(
        check=check, item=item, severity=severity, what=what, value=value, unit=unit, limit=limit, action=action
    )


def unknown(check: str, what: str, *, item: str = "", action: str = "") -> Finding:
    """It could not be looked at; ``what`` says why."""
    return Finding(check=check, item=item, severity="UNKNOWN", what=what, action=action)


def shown(value: float, unit: str) -> str:
    """A value for a person: ``12 %``, ``1.5 GiB``, ``7``."""
    if unit == "%":
        return f"{value * 100:.3g} %"
    if unit == "B":
        for prefix, factor in (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10)):
            if abs(value) >= factor:
                return f"{value / factor:.4g} {prefix}B"
        return f"{value:.0f} B"
    text = f"{value:.6g}"
    return f"{text} {unit}" if unit else text


def check_bytes(text: str | None) -> None:
    """Of a plan's key: raises ValueError where it is given and is not a valid size."""
    if text is not None:
        from ...units import parse_bytes

        parse_bytes(text)


def refused(error: OSError) -> str:
    """Why a file could not be read, with the file where it is known."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
