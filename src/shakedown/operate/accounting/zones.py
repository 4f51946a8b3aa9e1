"""What a zone's clocks did, as few numbers that DuckDB can work with, and the local days, weeks and months of a window."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

from ... import times
from ...errors import BadInput


def unix_sql(local: str, zone: str, begin_s: int, end_s: int, *, later: bool = False) -> str:
    """SQL: Unix seconds of ``local`` (seconds of the clock face since 1970). A time that comes twice is its first, or
    ``later`` its second; one that never was (the clocks went forward) is read on the clock from before."""
    known = times.changes(zone, begin_s - 2 * times.DAY_S, end_s + 2 * times.DAY_S)
    first = known[0].before_s if known else times.offset_s(begin_s, zone)
    if not known:
        return f"({local} - {first})"
    cases, ahead = [], first
    for one in known:
        forward = one.after_s > one.before_s
        # Read by the earlier clock up to where its face stood at the change; the later reading begins an hour before.
        edge = one.at_s + (one.after_s if later or forward else one.before_s)
        cases.append(f"WHEN {local} < {edge} THEN {local} - {ahead}")
        ahead = one.after_s
    return f"(CASE {' '.join(cases)} ELSE {local} - {ahead} END)"


class Folds(NamedTuple):
    """Segments of the clock face, in its seconds since 1970: those that come twice, and those that never were."""

    twice: tuple[tuple[int, int], ...]
    skipped: tuple[tuple[int, int], ...]


def folds(zone: str, begin_s: int, end_s: int) -> Folds:
    """What the changes of a zone's clocks do to its face, within a stretch and two days around it."""
    known = times.changes(zone, begin_s - 2 * times.DAY_S, end_s + 2 * times.DAY_S)
    faces = [(one.at_s + one.before_s, one.at_s + one.after_s) for one in known]
    return Folds(
        tuple((after, before) for before, after in faces if after < before),
        tuple((before, after) for before, after in faces if before < after),
    )


# -------------------------------------------------------------------------------------------------------------- periods


class Period(NamedTuple):
    name: str
    begin_s: int
    end_s: int


def parse(text: str, zone: str, option: str) -> int:
    """A time of an option: a year, month or day (its first moment), ISO 8601 or Unix seconds; local times are the zone's.
    Raises BadInput."""
    times.checked_zone(zone, "--timezone")
    if re.fullmatch(r"\d{4}(-\d\d)?", text):
        text += "-01-01"[-3 if "-" in text else -6 :]
    return times.parse(text, zone, option) // 10**9


def periods(kind: str, begin_s: int, end_s: int, zone: str) -> tuple[Period, ...]:
    """The local days, weeks (from Monday; ISO 8601) or months that touch a window, cut at its edges. Raises BadInput."""
    day, found = times.day_of(begin_s, zone), []
    if kind == "week":
        day -= datetime.timedelta(days=day.weekday())
    elif kind == "month":
        day = day.replace(day=1)
    while (low := times.midnight(day, zone)) < end_s:
        if kind == "day":
            after, name = day + datetime.timedelta(days=1), day.isoformat()
        elif kind == "week":
            after = day + datetime.timedelta(days=7)
            name = "{}-W{:02d}".format(*day.isocalendar()[:2])
        else:
            after, name = times.next_month(day), day.strftime("%Y-%m")
        high = times.midnight(after, zone)
        if min(high, end_s) > max(low, begin_s):
            found.append(Period(name, max(low, begin_s), min(high, end_s)))
        day = after
        if len(found) > 20_000:
            raise BadInput(f"the window has more than 20,000 {kind}s", where="--by", hint="take week or month")
    return tuple(found)
