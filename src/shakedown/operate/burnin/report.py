"""A verdict for a person, and as the native events that a campaign reads. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import times
from ...records import Residual
from ...units import show, show_bytes, show_seconds
from .records import BurninReport, DeviceVerdict, Figures, Symptom

if TYPE_CHECKING:
    from ...programs.emitter import Emitter

#: Of the symptoms so many are shown after the first; all of them stand in the journal.
_SHOWN = 10
_UNITS = {"temperature_c": "degC", "power_w": "W", "clock_hz": "Hz"}


def text(report: BurninReport) -> str:
    """The whole verdict, legible without colour."""
    covered = f" ({report.covered})" if report.covered else ""
    lines = [f"burn-in of {report.host}: {report.judgement.upper()}{covered}"]
    if report.drill:
        lines.append("  A DRILL: faults were made on purpose, so this is not a verdict on the machine")
    sessions = f"{report.sessions} session{'s' if report.sessions != 1 else ''}"
    lines.append(
        f"  {show_seconds(report.burnt_s)} of {show_seconds(report.asked_s)} in {sessions}, "
        f"{_clock(report.begun_s)} to {_clock(report.ended_s)}; "
        + ("still running" if report.judgement == "running" else f"ended by: {report.why}")
    )
    if report.judgement == "passed in part":
        lines.append(
            "  what was burnt in passed; the rest of the node was not tested, so this is not a pass for the node"
        )
    if report.first is not None:
        lines += ["", "first symptom", *_symptom(report.first, everything=True)]
    others = [one for one in report.symptoms if one != report.first]
    if others:
        lines += ["", f"{'further symptoms' if report.first else 'symptoms, none of them critical'}"]
        for one in others[:_SHOWN]:
            lines += _symptom(one, everything=False)
        if len(others) > _SHOWN:
            lines.append(f"  and {len(others) - _SHOWN} more in the journal")
    lines += ["", *_table([_ROW, *(_row(one) for one in report.devices)])]
    lines += [f"{_names(names)}: {why}" for why, names in _whys(report).items()]
    if report.node or report.node_symptoms:
        counts = ", ".join(f"{kind} {count}" for kind, count in report.node_symptoms.items())
        lines += ["", f"node: {'; '.join(filter(None, (counts, _figures(report.node))))}"]
    lines += [f"note: {one}" for one in report.notes]
    return "\n".join(lines) + "\n"


def _clock(at_s: float) -> str:
    return times.utc(at_s) if at_s else "-"


def _symptom(one: Symptom, *, everything: bool) -> list[str]:
    stage = f", during {one.stage}" if one.stage else ""
    lines = [
        f"  {_clock(one.at_s)}, {show_seconds(one.since_start_s)} after the start, {one.device}{stage}: {one.severity}",
        f"    {one.what}",
    ]
    if everything:
        if one.action:
            lines.append(f"    next: {one.action}")
        shared: dict[str, list[str]] = {}  # a node of a hundred cores that all did the same is one line
        for name, what in one.doing.items():
            shared.setdefault(what, []).append(name)
        lines += [f"    then: {_names(names)}: {what}" for what, names in shared.items()]
    return lines


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _whys(report: BurninReport) -> dict[str, list[str]]:
    """Why devices without a critical symptom did not come to a pass: the words, and whose they are."""
    found: dict[str, list[str]] = {}
    for one in report.devices:
        if one.why and one.judgement in ("unfinished", "not tested"):
            found.setdefault(f"{one.judgement}: {one.why}", []).append(one.device)
    return found


def in_brief(report: BurninReport) -> str:
    """What kept it from a pass, in one line; empty where nothing did."""
    if report.judgement == "failed":
        if report.first is None:  # faults that were counted though none was told
            ill = [one.device for one in report.devices if one.judgement == "failed"]
            return f"failed: {_names(ill)}: wrong results"
        one = report.first
        return f"failed; first {one.device}, {show_seconds(one.since_start_s)} after the start: {one.what}"
    if report.judgement == "passed":
        return ""
    if report.judgement == "passed in part":
        return f"passed in part: {report.covered}"
    ill = [one.device for one in report.devices if one.judgement == report.judgement]
    why = next((one.why for one in report.devices if one.judgement == report.judgement and one.why), "")
    burnt = f"after {show_seconds(report.burnt_s)} of {show_seconds(report.asked_s)}; ended by: {report.why}"
    return f"{report.judgement}: {_names(ill)}" + (f": {why}; {burnt}" if why else f", {burnt}")


_ROW = ("device", "verdict", "state", "products", "rate", "slowest", "memory", "symptoms", "readings")


def _row(one: DeviceVerdict) -> tuple[str, ...]:
    symptoms = ", ".join(f"{kind} {count}" for kind, count in one.symptoms.items()) or "none"
    return (
        one.device,
        one.judgement,
        one.state,
        str(one.done.products),
        show(one.rate_flops, "flop/s"),
        show(one.slowest_flops, "flop/s"),
        show_bytes(one.done.memory_bytes) if one.done.memory_bytes else "-",
        symptoms,
        _figures(one.figures) or "-",
    )


def _figures(figures: Figures) -> str:
    words = []
    for name, one in figures.items():
        unit = _UNITS.get(name.rpartition(" ")[2], "")
        title = name.rpartition(" ")[0]
        low, high = (show(value, unit) if unit == "Hz" else f"{value:.0f} {unit}" for value in (one.low, one.high))
        words.append(f"{title} {low if low == high else f'{low} to {high}'}".strip())
    return ", ".join(words)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def emit(report: BurninReport, out: Emitter) -> None:
    """One case for each device and kind of work: what it did, and whether it had a critical symptom: none is allowed.

    A device that failed before it did anything has no case, nor has a symptom of the node: the exit code tells of both.
    """
    for one in report.devices:
        failed = 1.0 if one.judgement == "failed" else 0.0
        said = f" ({one.first.what})" if one.first is not None else ""
        done = one.done
        kinds = (
            ("burnin_product", {"flop": done.flop, "products": float(done.products)}, done.product_s),
            ("burnin_memory", {"bytes_moved": done.memory_bytes, "passes": float(done.passes)}, done.memory_s),
        )
        for kernel, work, seconds in kinds:
            if seconds > 0:
                out.case(
                    kernel,
                    params={"device": one.device},
                    work=work,
                    seconds=[seconds],
                    residual=Residual(value=failed, limit=0, kind=f"devices with a critical symptom{said}"),
                    begin_ns=round(report.begun_s * 1e9),
                    end_ns=round(report.ended_s * 1e9),
                )
    warnings = [one for one in report.symptoms if one.severity == "warning"]
    if report.first is not None:
        _notice(out, "burnin-first-symptom", report.first)
    elif warnings:
        _notice(out, "burnin-warning", warnings[0])
    if report.judgement == "passed in part":
        what = f"{report.covered} were burnt in: not a pass for the node"
        out.notice("burnin-part", what, "give the job the whole node, and devices = all")
    if report.drill:
        out.notice("burnin-drill", "faults were made on purpose: this is not a verdict on the machine")


def _notice(out: Emitter, code: str, one: Symptom) -> None:
    out.notice(code, f"{one.device} after {show_seconds(one.since_start_s)}: {one.what}", one.action)
