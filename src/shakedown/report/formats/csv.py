"""CSV: every finding as one row, in SI units and in full precision; verdicts, runs and the rest in files beside it.

A value that was not measured is an empty cell with its reason among the notices. Parameters have a column each, named
``param.<name>``; fractions have ``fraction.<kind>`` and ``limit.<kind>``. A text that a spreadsheet would take for a
formula is led by an apostrophe. A matrix of very many pairs of nodes is in ``report_pairs.csv``, one row a pair.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ...document.text import kinds_of, ranked
from ...records import Analysis, Finding, Host, Notice, Outcome, PairMatrix, PublishedComparison, Verdict
from .. import ReportFormat

#: Columns whose names are those of the record's own fields.
_NAMED = ("workload", "metric", "host")
_PLAIN = ("value", "unit", "better", "low", "high", "n_samples", "n_runs", "outliers", "best")
_METRIC = ("name", "title", "unit", "better", "kernel", "per", "limit", "measures", "source")
_VERDICT = ("requirement", "state", "evidence")
_JUDGED = ("metric", "host", "value", "unit")
_RUN = ("run", "repeat", "workload", "label", "host", "state", "reason", "seconds", "log", "tail")
_DISTURBANCE = ("load_before", "load_after", "steal_fraction", "other_cpu_fraction", "throttle_events", "swap_pages")
_PAIR = ("workload", "metric", "params", "a", "b", "value", "unit", "relative_standard_uncertainty", "round")
#: Column -> what it shows of a published value beside one of ours.
_PUBLISHED: dict[str, Callable[[PublishedComparison], Any]] = {
    "metric": lambda one: one.metric,
    "unit": lambda one: one.unit,
    "host": lambda one: one.ours.host,
    "params": lambda one: _params(one.ours.params),
    "value": lambda one: one.ours.value,
    "low": lambda one: one.ours.low,
    "high": lambda one: one.ours.high,
    "system": lambda one: one.system,
    "system_name": lambda one: one.system_name,
    "year": lambda one: one.year,
    "published": lambda one: one.theirs,
    "published_half": lambda one: one.theirs_half,
    "published_params": lambda one: _params(one.theirs_params),
    "ratio": lambda one: one.ratio,
    "verdict": lambda one: one.verdict,
    "differences": lambda one: "; ".join(one.differences),
    "where": lambda one: one.where,
}


def _fields(record: object, names: Iterable[str]) -> list[Any]:
    return [getattr(record, name) for name in names]


def _text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    # The writer gives floats in full precision by itself.
    writer.writerows([_cell(cell) if type(cell) in (str, bool) else cell for cell in row] for row in rows)
    return out.getvalue()


def _line(cells: Iterable[Any]) -> str:
    return _text((), [cells])[1:].removesuffix("\n")  # behind the empty line of an empty header


def _cell(value: str | bool) -> str:
    """A text that begins like a formula is led by an apostrophe."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _notices(notices: Iterable[Notice]) -> str:
    return "; ".join(f"{one.code}: {one.text}" for one in notices)


def _findings(analysis: Analysis) -> str:
    params: dict[str, None] = {}
    kinds = dict.fromkeys(kinds_of(analysis.findings))
    for finding in analysis.findings:
        params.update(dict.fromkeys(finding.params))
    header = [*_NAMED, *(f"param.{name}" for name in params), *_PLAIN]
    for kind in kinds:
        name = kind.replace(" ", ".")
        header += [f"fraction.{name}", f"limit.{name}", f"limit_value.{name}"]
    return _text([*header, "notices", "runs"], (_row(one, params, kinds) for one in analysis.findings))


def _row(finding: Finding, params: Mapping[str, None], kinds: Mapping[str, None]) -> list[Any]:
    row = [*_fields(finding, _NAMED), *(finding.params.get(name) for name in params), *_fields(finding, _PLAIN)]
    shares = ranked(finding.fractions)
    for kind in kinds:
        one = shares.get(kind)
        row += [one.fraction, one.limit, one.value] if one else [None, None, None]
    return [*row, _notices(finding.notices), " ".join(finding.runs)]


def _params(params: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in params.items())


def _host_rows(host: Host) -> Iterable[tuple[Any, ...]]:
    """One host as rows of kind, name, value, unit, state and words."""
    yield host.name, "cpu", "model", host.cpu.model, "", "", host.cpu.microarchitecture
    yield host.name, "memory", "total", host.memory.total_bytes, "B", "", ""
    for peak in host.peaks:
        yield host.name, "peak", f"{peak.name} ({peak.scope})", peak.value, peak.unit, peak.kind, peak.basis
    for one in host.settings:
        yield host.name, "setting", one.name, one.value, "", one.state, f"{one.effect}; {one.advice}".rstrip("; ")
    for found in host.software:
        yield host.name, "software", f"{found.kind} {found.name}", found.version, "", "", found.path
    for gap in host.absent:
        yield host.name, "absent", gap.what, None, "", "not measured", gap.why


def _verdict_row(one: Verdict) -> list[Any]:
    judged = [*_fields(one.finding, _JUDGED), _params(one.finding.params)] if one.finding else [None] * 5
    return [*_fields(one, _VERDICT), *judged]


def _run_row(one: Outcome) -> list[Any]:
    provenance = msgspec.json.encode(one.provenance).decode()
    return [*_fields(one, _RUN), _notices(one.notices), *_fields(one.disturbance, _DISTURBANCE), provenance]


def _note_rows(analysis: Analysis) -> Iterable[Iterable[Any]]:
    yield from (
        (name, getattr(analysis, name), None) for name in ("name", "campaign", "title", "created_ns", "version")
    )
    yield from (("summary", text, None) for text in analysis.summary)
    yield from ((one.code, one.text, one.advice) for one in analysis.notices)
    yield from (("skipped", one.what, one.why) for one in analysis.skipped)
    yield from (("not-begun", label, None) for label in analysis.not_begun)


def _pairs(matrices: Iterable[PairMatrix]) -> str:
    """One row a pair. Half a million rows: what they share is written once, and joined."""
    parts = [_line(_PAIR) + "\n"]
    for one in matrices:
        head = _line((one.workload, one.metric.name, _params(one.params)))
        places = [_line((name,)) for name in one.places]
        unit = one.metric.unit
        columns = zip(one.a, one.b, one.values, one.spread, one.round, strict=True)
        parts.append(
            "".join(
                f"{head},{places[a]},{places[b]},{value!r},{unit},{'' if spread is None else repr(spread)},"
                f"{number if number >= 0 else ''}\n"
                for a, b, value, spread, number in columns
            )
        )
    return "".join(parts)


def _companions(analysis: Analysis) -> dict[str, str | bytes]:
    hosts = (row for host in analysis.machine.hosts for row in _host_rows(host))
    metrics = (_fields(one, _METRIC) for one in analysis.metrics)
    published = ([cell(one) for cell in _PUBLISHED.values()] for one in analysis.beside)
    runs = map(_run_row, analysis.outcomes)
    paired = {"report_pairs.csv": _pairs(analysis.pairs)} if analysis.pairs else {}
    return {
        **paired,
        "report_verdicts.csv": _text((*_VERDICT, *_JUDGED, "params"), map(_verdict_row, analysis.verdicts)),
        "report_published.csv": _text(_PUBLISHED, published),
        "report_runs.csv": _text((*_RUN, "notices", *_DISTURBANCE, "provenance"), runs),
        "report_metrics.csv": _text(_METRIC, metrics),
        "report_machine.csv": _text(("host", "kind", "name", "value", "unit", "state", "words"), hosts),
        "report_notes.csv": _text(("kind", "text", "advice"), _note_rows(analysis)),
    }


REPORT = ReportFormat(name="csv", suffix="csv", render=_findings, companions=_companions)
