"""What is handed in with a submission: series, summary, schematic, meters, losses, the evidence for every rule, checksums.

The same submission gives the same bytes: names are sorted, no clock is read, and the zip carries no times of its own.
"""

from __future__ import annotations

import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

from ... import __version__
from ...errors import BadInput, StoreFailed
from ...files import atomic
from ...metering.trace import Trace
from ...units import show
from ..uncertainty.quantity import Quantity, shares
from . import level_budget, measured
from .levels import Assessment, unmet
from .rules import Rules
from .submission import MeteredFeed, Submission

#: The series that Levels 2 and 3 ask for has so many equal averages in the core phase.
AVERAGES = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The earliest time that a zip file can hold; all entries have it.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def files(submission: Submission, found: Assessment, rules: Rules, description: str = "") -> dict[str, str]:
    """The bundle's files by name. ``description`` is the text of the site's TOML."""
    out = {
        "summary.txt": _summary(submission, found),
        "assessment.json": msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n",
        "evidence.txt": _evidence(found),
        "schematic.txt": schematic(submission),
        "meters.csv": _meters(submission),
        "losses.txt": _losses(submission, found),
        "subsystems.txt": _subsystems(submission, found),
        "series/total.csv": _series(submission, rules),
        "series/averages.csv": _averages(submission, rules),
    }
    if description:
        out["submission.toml"] = description
    for feed in submission.description.feeds:
        if feed.channel:
            name = "".join(c if c.isalnum() or c in "-_." else "_" for c in feed.name)
            if f"readings/{name}.csv" in out:
                name += "-" + hashlib.sha256(feed.name.encode()).hexdigest()[:8]
            out[f"readings/{name}.csv"] = _readings(submission.traces[feed.channel])
    sums = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(out.items()))
    return {**out, "SHA256SUMS": sums}


def write(path: Path, contents: dict[str, str]) -> None:
    """The files as a zip where ``path`` ends in .zip, else as a folder, which must be empty or new. Raises StoreFailed,
    BadInput."""
    if path.suffix == ".zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, text in sorted(contents.items()):
                entry = zipfile.ZipInfo(f"{path.stem}/{name}", _ZIP_TIME)
                entry.external_attr, entry.compress_type, entry.create_system = 0o644 << 16, zipfile.ZIP_DEFLATED, 3
                archive.writestr(entry, text.encode())
        atomic.write(path, buffer.getvalue())
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise BadInput("the folder is not empty", where=str(path), hint="name a new one, or a file ending in .zip")
        for name, text in contents.items():
            (path / name).parent.mkdir(exist_ok=True)
            atomic.write(path / name, text)
    except OSError as error:
        raise StoreFailed(f"cannot be written: {error.strerror}", where=str(path)) from None


def stamp(ns: int) -> str:
    """A Unix time in nanoseconds as ISO 8601 in UTC, exact."""
    seconds, rest = divmod(ns, 10**9)
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest:09d}Z"


def with_u(value: Quantity | None, unit: str = "") -> str:
    """A value with its 95 % uncertainty, for a person."""
    if value is None or value.value is None:
        why = "; ".join(one.text for one in value.notices) if value else ""
        return "not measured" + (f" ({why})" if why else "")
    text = show(value.value, unit or value.unit, 5)
    if value.expanded:
        text += f" +- {show(value.expanded, unit or value.unit, 2)} (95 %, {value.expanded / abs(value.value):.2%})"
    return text


def efficiency_told(found: Assessment) -> str:
    """The efficiency with its uncertainty, or why there is none."""
    if found.efficiency is None and found.doubt:
        return "none: the power does not stand for the system"
    return with_u(found.efficiency, "flop/s/W")


def _summary(submission: Submission, found: Assessment) -> str:
    lines = [
        found.title,
        *([submission.description.site] if submission.description.site else []),
        "",
        f"Level {found.level} of {found.rules_title}" + (" (not released)" if found.draft else ""),
        *(f"  aspect {one.id} {one.title}: Level {one.level}" for one in found.aspects),
        "",
        f"Rmax                {show(found.rmax, 'flop/s', 5)}" + (f", N = {found.n}" if found.n else ""),
        *([f"The power does not stand for the system: {found.doubt}", ""] if found.doubt else []),
        f"power, core phase   {with_u(found.core)}" + (", which does not stand for the system" if found.doubt else ""),
        f"power, full run     {with_u(found.full_run)}",
        f"power, idle         {with_u(found.idle)}",
        f"efficiency          {efficiency_told(found)}",
        f"method              {found.core.method or '-'}",
        "",
        *(
            f"{window.name:<10} {stamp(window.begin_ns)} to {stamp(window.end_ns)} ({window.seconds:.3f} s, "
            f"stamps of {window.resolution_s:g} s, {window.source})"
            for window in submission.windows.values()
        ),
        "",
        "Nodes",
        *(
            f"  {one.name}: {one.measured_nodes} of {one.nodes} measured in {one.feeds} feeds, "
            f"{show(one.measured_w, 'W', 5)}; all: {show(one.total_w, 'W', 5)}"
            for one in found.sets
        ),
        *_selection(submission),
        "",
        "Uncertainty of the power of the core phase, by share of its variance",
        *(f"  {share:6.1%}  {term.name}: {show(term.u, 'W', 2)}. {term.text}" for term, share in shares(found.core)),
        "",
        *(f"note: {one.text}" for one in (*found.notices, *found.core.notices)),
        f"made by shakedown {__version__}",
    ]
    return "\n".join(lines) + "\n"


def _selection(submission: Submission) -> Iterator[str]:
    chosen = submission.description.selection
    if chosen is not None:
        seed = f", seed {chosen.seed}" if chosen.seed is not None else ""
        yield f"  chosen: {chosen.how}{seed}" + (f"; {chosen.method}" if chosen.method else "")


def _evidence(found: Assessment) -> str:
    lines = []
    for aspect in found.aspects:
        lines += [f"aspect {aspect.id}, {aspect.title}: Level {aspect.level}"]
        lines += [f"  {text}" for text in aspect.evidence]
        lines += [f"  {text}" for text in unmet(aspect)]
        if aspect.id == "0":
            lines += [f"  {one.feed} [{one.code}]: {one.reason}; {one.effect}" for one in found.unsound]
        lines.append("")
    return "\n".join(lines)


def schematic(submission: Submission) -> str:
    """The feeds as a tree in text, each with its meter and what it serves."""
    feeds = submission.description.feeds
    lines = ["supply"]

    def visit(parent: str, depth: int) -> None:
        for feed in feeds:
            if feed.within == parent:
                lines.append("  " * depth + "+- " + _told(submission, feed))
                visit(feed.name, depth + 1)

    visit("", 0)
    measured_names = {feed.of for feed in feeds} | {name for feed in feeds for name in feed.includes}
    for one in submission.description.subsystems:
        if one.name not in measured_names:
            lines.append(f"+- {one.name}: not metered, {one.state}")
    return "\n".join(lines) + "\n"


def _told(submission: Submission, feed: MeteredFeed) -> str:
    if not feed.channel:
        return f"{feed.name} (not metered)" + (f": {feed.note}" if feed.note else "")
    model = submission.meter(feed)
    where = "upstream" if submission.upstream(feed) else "downstream"
    serves = feed.of
    count = level_budget.nodes_of(feed)
    if count:
        serves += f", {count} nodes"
    serves += "".join(f", {name}" for name in feed.includes)
    parts = [f"[{(model.model or model.name) if model else feed.channel}, {where} of the conversion]"]
    if feed.same_as:
        parts.append(f"second meter on {feed.same_as}")
    return f"{feed.name} {' '.join(parts)}" + (f" -> {serves}" if serves else "")


def _rows(header: list[str], rows: Iterator[list[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _meters(submission: Submission) -> str:
    def rows() -> Iterator[list[str]]:
        for feed in submission.description.feeds:
            if not feed.channel:
                continue
            model, stated = submission.meter(feed), submission.accuracy(feed)
            channel = submission.traces[feed.channel].channel
            yield [
                feed.name,
                feed.of,
                (model.model or model.name) if model else channel.device,
                feed.device,
                channel.quantity,
                "" if stated is None else f"{stated.reading:g}",
                "" if stated is None else f"{stated.full_scale:g}",
                "" if stated is None else stated.kind,
                "" if stated is None else stated.source,
                model.standard if model else "",
                model.calibrated if model else "",
                feed.channel,
            ]

    header = ["feed", "serves", "meter", "device", "quantity", "accuracy_of_reading", "accuracy_of_full_scale"]
    return _rows([*header, "accuracy_kind", "accuracy_source", "standard", "calibrated", "channel"], rows())


def _losses(submission: Submission, found: Assessment) -> str:
    lines = ["Conversion losses: power upstream = power at the meter / efficiency at the load of one supply.", ""]
    below = [one for one in submission.description.feeds if one.channel and not submission.upstream(one)]
    if not below:
        lines.append("All meters sit upstream of the conversion: nothing is adjusted.")
    for model in submission.description.losses:
        lines.append(f"{model.name}: {model.kind}, u(efficiency) = {model.u:g}; {model.source or 'no source is given'}")
        lines += [f"  {load:10.4g} W  {share:.4f}" for load, share in model.efficiency]
    for feed in below:
        watts = found.feeds.get(feed.name)
        if watts is not None:
            lines.append(f"{feed.name}: {show(watts, 'W', 5)} upstream, by {feed.loss or 'no model: not adjusted'}")
    return "\n".join(lines) + "\n"


def _subsystems(submission: Submission, found: Assessment) -> str:
    lines = []
    for one in submission.description.subsystems:
        watts = found.subsystems.get(one.name)
        lines.append(
            f"{one.name} ({one.kind}): {one.state}" + (f", {show(watts, 'W', 5)}" if watts is not None else "")
        )
        if one.state == "estimated":
            lines.append(f"  upper bound from {one.basis} power: {one.formula or 'no formula'}")
            lines.append(f"  specification: {one.specification or 'none'}")
        if one.note:
            lines.append(f"  {one.note}")
    lines += [
        f"{one.what}: the site took off {show(one.watts, 'W', 4)}; it is in all figures here"
        for one in submission.description.subtracted
    ]
    return "\n".join(lines) + "\n" if lines else "No subsystem beside the compute nodes is described.\n"


def _series(submission: Submission, rules: Rules) -> str:
    """The sum of all measured feeds, not extrapolated and at the meters, at each instant of the slowest meter."""
    window = measured.window_of(submission, "full run" if "full run" in submission.windows else "core", rules)
    feeds = measured.counted(submission)
    if window is None or not feeds:
        return _rows(["begin_utc", "end_utc", "total_w"], iter(()))
    found = measured.series(submission, feeds, window)

    def rows() -> Iterator[list[str]]:
        for i in range(len(found.begin_ns)):
            watts = [f"{value:.6g}" for value in found.w[:, i]]
            yield [stamp(int(found.begin_ns[i])), stamp(int(found.end_ns[i])), f"{np.sum(found.w[:, i]):.8g}", *watts]

    return _rows(["begin_utc", "end_utc", "total_w", *(f"{one.name}_w" for one in feeds)], rows())


def _averages(submission: Submission, rules: Rules) -> str:
    """Equal averages over the full run, ten of them in the core phase."""
    core = measured.window_of(submission, "core", rules)
    run = measured.window_of(submission, "full run", rules) or core
    if core is None or run is None:
        return _rows(["begin_utc", "end_utc", "total_w", "phase"], iter(()))

    def rows() -> Iterator[list[str]]:
        for begin, end, watts in measured.equal_averages(submission, core, run, AVERAGES):
            inside = core.begin_ns <= begin and end <= core.end_ns
            yield [stamp(begin), stamp(end), f"{watts:.8g}", "core" if inside else "full run"]

    return _rows(["begin_utc", "end_utc", "total_w", "phase"], rows())


def _readings(trace: Trace) -> str:
    """Every reading as it was, failed ones with their state and without a value."""
    from ...metering.meters import Status

    def rows() -> Iterator[list[str]]:
        for t, value, status in zip(trace.t_ns, trace.value, trace.status, strict=True):
            good = int(status) == Status.OK and np.isfinite(value)
            yield [stamp(int(t)), repr(float(value)) if good else "", Status(int(status)).name.lower()]

    unit = trace.channel.unit
    return _rows(["utc", f"{trace.channel.quantity}_{unit}", "status"], rows())
