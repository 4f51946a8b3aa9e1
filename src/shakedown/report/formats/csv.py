"""CSV: every finding as one row, in SI units and in full precision; verdicts, runs and the rest in files beside it.

A value that was not measured is an empty cell with its reason among the notices. Parameters have a column each, named
``param.<name>``; fractions have ``fraction.<kind>`` and ``limit.<kind>``. A text that a spreadsheet would take for a
formula is led by an apostrophe. A matrix of very many pairs of nodes is in ``report_pairs.csv``, one row a pair.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ...document.text import kinds_of, ranked
from ...records import Analysis, Finding, Host, Notice, PairMatrix
from .. import ReportFormat

_PLAIN = (
    "workload",
    "metric",
    "host",
    "value",
    "unit",
    "better",
    "low",
    "high",
    "n_samples",
    "n_runs",
    "outliers",
    "best",
)


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
    header = [*_PLAIN[:3], *(f"param.{name}" for name in params), *_PLAIN[3:]]
    for kind in kinds:
        name = kind.replace(" ", ".")
        header += [f"fraction.{name}", f"limit.{name}", f"limit_value.{name}"]
    return _text([*header, "notices", "runs"], (_row(one, params, kinds) for one in analysis.findings))


def _row(finding: Finding, params: Mapping[str, None], kinds: Mapping[str, None]) -> list[Any]:
    row: list[Any] = [
        finding.workload,
        finding.metric,
        finding.host,
        *(finding.params.get(name) for name in params),
        finding.value,
        finding.unit,
        finding.better,
        finding.low,
        finding.high,
        finding.n_samples,
        finding.n_runs,
        finding.outliers,
        finding.best,
    ]
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


def _verdict_rows(analysis: Analysis) -> Iterable[Iterable[Any]]:
    for one in analysis.verdicts:
        finding = one.finding
        value = (finding.metric, finding.host, finding.value, finding.unit, _params(finding.params)) if finding else ()
        yield (one.requirement, one.state, one.evidence, *(value or (None,) * 5))


def _published_rows(analysis: Analysis) -> Iterable[Iterable[Any]]:
    for one in analysis.beside:
        ours = one.ours
        yield (
            one.metric,
            one.unit,
            ours.host,
            _params(ours.params),
            ours.value,
            ours.low,
            ours.high,
            one.system,
            one.system_name,
            one.year,
            one.theirs,
            one.theirs_half,
            _params(one.theirs_params),
            one.ratio,
            one.verdict,
            "; ".join(one.differences),
            one.where,
        )


def _run_rows(analysis: Analysis) -> Iterable[Iterable[Any]]:
    for one in analysis.outcomes:
        seen, provenance = one.disturbance, msgspec.json.encode(one.provenance).decode()
        yield (
            one.run,
            one.repeat,
            one.workload,
            one.label,
            one.host,
            one.state,
            one.reason,
            one.seconds,
            one.log,
            one.tail,
            _notices(one.notices),
            seen.load_before,
            seen.load_after,
            seen.steal_fraction,
            seen.other_cpu_fraction,
            seen.throttle_events,
            seen.swap_pages,
            provenance,
        )


def _note_rows(analysis: Analysis) -> Iterable[Iterable[Any]]:
    for name, value in (
        ("name", analysis.name),
        ("campaign", analysis.campaign),
        ("title", analysis.title),
        ("created_ns", analysis.created_ns),
        ("version", analysis.version),
    ):
        yield name, value, None
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


_METRIC = ("name", "title", "unit", "better", "kernel", "per", "limit", "measures", "source")
_VERDICT = ("requirement", "state", "evidence", "metric", "host", "value", "unit", "params")
_PUBLISHED = (
    "metric",
    "unit",
    "host",
    "params",
    "value",
    "low",
    "high",
    "system",
    "system_name",
    "year",
    "published",
    "published_half",
    "published_params",
    "ratio",
    "verdict",
    "differences",
    "where",
)
_PAIR = ("workload", "metric", "params", "a", "b", "value", "unit", "relative_standard_uncertainty", "round")
_RUN = (
    "run",
    "repeat",
    "workload",
    "label",
    "host",
    "state",
    "reason",
    "seconds",
    "log",
    "tail",
    "notices",
    "load_before",
    "load_after",
    "steal_fraction",
    "other_cpu_fraction",
    "throttle_events",
    "swap_pages",
    "provenance",
)


def _companions(analysis: Analysis) -> dict[str, str | bytes]:
    hosts = (row for host in analysis.machine.hosts for row in _host_rows(host))
    metrics = ([getattr(one, name) for name in _METRIC] for one in analysis.metrics)
    paired = {"report_pairs.csv": _pairs(analysis.pairs)} if analysis.pairs else {}
    return {
        **paired,
        "report_verdicts.csv": _text(_VERDICT, _verdict_rows(analysis)),
        "report_published.csv": _text(_PUBLISHED, _published_rows(analysis)),
        "report_runs.csv": _text(_RUN, _run_rows(analysis)),
        "report_metrics.csv": _text(_METRIC, metrics),
        "report_machine.csv": _text(("host", "kind", "name", "value", "unit", "state", "words"), hosts),
        "report_notes.csv": _text(("kind", "text", "advice"), _note_rows(analysis)),
    }


REPORT = ReportFormat(name="csv", suffix="csv", render=_findings, companions=_companions)
