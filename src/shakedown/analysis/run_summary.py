"""What a run came to, in one small file beside its report: one read tells a page over many runs all that it shows of it.

The file is made from the analysis, as the report is, and made again at will. It is of no use where anything was begun in the
run directory after it was written; a directory without one is analysed instead, which takes a thousand times as long.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import msgspec

from ..errors import UNREADABLE, StoreFailed
from ..files import atomic
from ..records import Analysis, Finding, Metric, RunSummary, RunTrouble, SummarySeries
from ..results.run_directory import RunDirectory
from . import circumstances, several, table, values

FILE = "summary.json"
SCHEMA = 1
#: Warnings and troubles of one run that are kept: the report has all.
_MOST_TOLD = 40
#: Characters of one of them.
_MOST_TEXT = 400


class RawSummary(RunSummary, frozen=True, kw_only=True):
    """A summary whose series are still JSON: they are the same bytes in each run of a host, and decoded once."""

    series: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]


def of_analysis(analysis: Analysis, *, imported: bool = False) -> RunSummary:
    """The summary of one run. Pure."""
    metrics = {metric.name: metric for metric in analysis.metrics}
    setting = circumstances.setting_of(analysis)
    kept = [one for one in analysis.findings if _followed(one, metrics[one.metric])]
    states: dict[str, int] = {}
    for verdict in analysis.verdicts:
        states[verdict.state] = states.get(verdict.state, 0) + 1
    return RunSummary(
        schema=SCHEMA,
        campaign=analysis.campaign,
        title=analysis.title,
        created_ns=analysis.created_ns,
        looked_ns=analysis.machine.discovered_ns,
        version=analysis.version,
        imported=imported,
        hosts=tuple(host.name for host in analysis.machine.hosts),
        series=tuple(
            SummarySeries(
                one.host,
                one.workload,
                one.metric,
                table.key(one.params),
                circumstances.key(circumstances.of_finding(one, metrics[one.metric], setting)).decode(),
            )
            for one in kept
        ),
        values=tuple(one.value or 0.0 for one in kept),
        low=tuple(one.low for one in kept),
        high=tuple(one.high for one in kept),
        requirements=states,
        troubles=_troubles(analysis)[:_MOST_TOLD],
        warnings=tuple(_cut(one.text) for one in analysis.notices[:_MOST_TOLD]),
    )


def _followed(one: Finding, metric: Metric) -> bool:
    """Whether a value has a place in a history of its host: a positive one that says something of its own, and no pair."""
    of_pair = any(name.endswith(("_a", "_b")) for name in one.params)
    number = one.value is not None and math.isfinite(one.value) and one.value > 0
    return number and not of_pair and not values.is_share(metric) and not values.void(metric, one.params)


def _troubles(analysis: Analysis) -> tuple[RunTrouble, ...]:
    found = [
        RunTrouble(
            host=one.finding.host if one.finding else "",
            state=one.state,
            what=_cut(one.requirement),
            why=_cut(one.evidence),
        )
        for one in analysis.verdicts
        if one.state == "not met"
    ]
    ended = [one for one in analysis.outcomes if one.state not in ("ok", "interrupted")]
    found += [
        RunTrouble(host=one.host, state=one.state, what=_cut(one.label), why=_cut(one.reason or one.tail))
        for one in ended
    ]
    return tuple(found)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}\N{HORIZONTAL ELLIPSIS}"


def encoded(summary: RunSummary) -> bytes:
    return msgspec.json.encode(summary)


def write(directory: RunDirectory, analysis: Analysis) -> None:
    """Leave the summary in the run directory. Raises StoreFailed."""
    imported = directory.manifest().imported
    atomic.write(directory.path / FILE, encoded(of_analysis(analysis, imported=imported)), flush=False)


def made(directory: RunDirectory) -> RunSummary:
    """The summary of a directory from its measurements. Raises ShakedownError where these cannot be read."""
    analysis, _ = several.analyse_many([directory])
    found = of_analysis(analysis, imported=directory.manifest().imported)
    return msgspec.structs.replace(found, looked_ns=directory.machine().discovered_ns)


def read(path: Path) -> tuple[RawSummary, bytes] | None:
    """The summary in a run directory with its bytes; None where there is none that holds."""
    file = f"{path}/{FILE}"
    try:
        if os.stat(file).st_mtime_ns < begun_ns(path):
            return None
        data = Path(file).read_bytes()
    except OSError:
        return None
    found = decoded(data)
    return None if found is None else (found, data)


def decoded(data: bytes) -> RawSummary | None:
    """A summary from its file; None for another layout, or for what is none."""
    try:
        found = msgspec.json.decode(data, type=RawSummary)
    except UNREADABLE:
        return None
    alike = len(found.values) == len(found.low) == len(found.high)
    return found if found.schema == SCHEMA and alike else None


def begun_ns(path: Path) -> int:
    """When the newest repeat of a run directory was begun, by the folders; 0 where they were archived."""
    newest = 0
    try:
        with os.scandir(f"{path}/runs") as folders:
            newest = max((one.stat(follow_symlinks=False).st_mtime_ns for one in folders), default=0)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(path)) from None
    return newest
