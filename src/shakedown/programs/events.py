"""What a native program prints (native/README.md) -> cases, phases and notices. Pure."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from .. import strict
from ..errors import plain
from ..records import Case, Notice, Phase


class Events(msgspec.Struct, frozen=True, kw_only=True):
    """A program's output, understood. ``ended`` is false where it was cut short."""

    cases: tuple[Case, ...] = ()
    phases: tuple[Phase, ...] = ()
    notices: tuple[Notice, ...] = ()
    provenance: dict[str, Any] = {}
    started: bool = False
    ended: bool = False
    ok: bool = True  # what the program says at its end: false where a check failed
    garbage: str = ""  # the first line that is no event, with its number


def parse_line(line: bytes | str) -> dict[str, Any] | None:
    """One event, or None for a line that is none."""
    try:
        event = msgspec.json.decode(line)
    except strict.UNREADABLE:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def parse(text: bytes) -> Events:
    """All events of a program's standard output. A line that is not an event is garbage, and the rest still counts."""
    cases: list[Case] = []
    phases: list[Phase] = []
    notices: list[Notice] = []
    open_phases: dict[tuple[str, str], int] = {}
    provenance: dict[str, Any] = {}
    started = ended = False
    ok = True
    garbage = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        event = parse_line(line)
        try:
            match event["event"] if event else "":
                case "start" if event:
                    started = True
                    provenance = {key: value for key, value in event.items() if key != "event"}
                case "case" if event:
                    cases.append(_case(event))
                case "phase" if event:
                    key = (event["name"], event.get("label", ""))
                    if event["edge"] == "begin":
                        open_phases[key] = event["unix_ns"]
                    elif key in open_phases:
                        span = {"begin_ns": open_phases.pop(key), "end_ns": event["unix_ns"]}
                        phases.append(msgspec.convert({"name": " ".join(filter(None, key)), **span}, Phase))
                case "notice" if event:
                    told = {"code": event["code"], "text": event["text"], "advice": event.get("advice", "")}
                    found = msgspec.convert(told, Notice)
                    notices.append(Notice(code=found.code, text=plain(found.text), advice=plain(found.advice)))
                case "facts" if event:
                    provenance["facts"] = {**provenance.get("facts", {}), **event["facts"]}
                case "end" if event:
                    ended = True
                    ok = event.get("ok") is not False
                    provenance["max_rss_bytes"] = event.get("max_rss_bytes")
                case "progress":
                    pass
                case _:
                    raise KeyError("event")
        except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
            if not garbage:
                shown = plain(line[:120].decode("utf-8", "replace"))
                garbage = f"line {number} is not an event ({type(error).__name__}: {error}): {shown}"
    return Events(
        cases=tuple(cases),
        phases=tuple(phases),
        notices=tuple(dict.fromkeys(notices)),
        provenance=provenance,
        started=started,
        ended=ended,
        ok=ok,
        garbage=garbage,
    )


def _case(event: dict[str, Any]) -> Case:
    check = event.get("residual")
    case = msgspec.convert(
        {
            "kernel": event["kernel"],
            "params": event.get("params", {}),
            "work": event.get("work", {}),
            "seconds": event["seconds"],
            "residual": None
            if check is None
            else {"value": check["value"], "limit": check["limit"], "kind": check.get("kind", "")},
            "begin_ns": event.get("begin_ns"),
            "end_ns": event.get("end_ns"),
            "spans": event.get("spans", ()),
        },
        Case,
        strict=True,
    )
    if not all(0 <= second < math.inf and (second > 0 or not case.work) for second in case.seconds):
        raise ValueError("work that took no time")
    return case
