"""Logs that users have -> a run directory, as if they had been measured, and marked as what they are.

    files -> Log (text, host, time) -> runs/<hash of the text>/1/{job.json, stdout, measurement.json}

A log is judged by the workload's own parser and checks, as a run is; what only a run can tell (its exit code, what else the
machine did meanwhile, the machine itself) is not known and stays so. Host and time are those that the log states, else those
that are given. Every case has ``origin = "imported"`` among its parameters, so that it is never pooled with what was
measured, and every record says which file it is from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

import msgspec

from .. import __version__, workloads
from ..errors import BadInput, plain
from ..files import atomic, packed
from ..hosts.process import OUTPUT_LIMIT_BYTES
from ..programs import events
from ..records import IMPORTED, Absent, Cpu, Host, Job, Machine, Measurement, Memory, Notice, Params, Plan, Run
from . import run_directory
from .outcome import measurement

_EARLIEST = datetime.fromisoformat("1990-01-01T00:00:00+00:00")


class Log(NamedTuple):
    """One file: what it holds, where and when that was measured."""

    path: Path
    text: str
    host: str
    begin_ns: int
    end_ns: int
    stated: str  # what of host and time the log itself states, in words


def read(
    workload: workloads.Workload, paths: Sequence[Path], *, host: str, date: datetime | None, zone: tzinfo | None
) -> list[Log]:
    """The files, each with host and time. Raises BadInput naming the file for what it does not state and was not given."""
    logs = [_read(workload, path, host, date, zone) for path in paths]
    seen: dict[str, Path] = {}
    for log in logs:
        first = seen.setdefault(run_id(workload, log.text), log.path)
        if first is not log.path:
            raise BadInput(f"holds the same as {first}", where=str(log.path), hint="give each log once")
    return logs


def _read(workload: workloads.Workload, path: Path, host: str, date: datetime | None, zone: tzinfo | None) -> Log:
    text = packed.read_text(path, most_bytes=OUTPUT_LIMIT_BYTES)
    stated = workload.stated(text) if workload.stated else _of_events(text)
    begin, end = (_ns(time, zone, path) if time else None for time in (stated.begin, stated.end))
    words = [f"host {plain(stated.host)}"] * bool(stated.host) + ["its time"] * bool(begin or end)
    if date is not None:
        begin = end = _ns(date, zone, path)
    name = host or stated.host
    if not name or (begin is None and end is None):
        _require_output(workload, text, path)
    if not name:
        raise BadInput("does not say on which host it was measured", where=str(path), hint="give it: --host NAME")
    if begin is None and end is None:
        raise BadInput("does not say when it was measured", where=str(path), hint="give it: --date 2026-11-20T15:14")
    first, last = begin if begin is not None else end, end if end is not None else begin
    assert first is not None and last is not None
    if last < first:
        raise BadInput("ends before it begins, by its own times", where=str(path), hint="give the time: --date")
    return Log(path, text, name, first, last, " and ".join(words))


def _require_output(workload: workloads.Workload, text: str, path: Path) -> None:
    """Raises BadInput where it is no output of this program: nobody is asked for the host and the time of what is none."""
    if workload.parse is None:
        return
    try:
        workload.parse(text, _params(workload, text))
    except workloads.Garbage as error:
        raise BadInput(str(error), where=str(path), hint=_elsewhere(workload, text)) from None


def _ns(time: datetime, zone: tzinfo | None, path: Path) -> int:
    """Unix time in ns; a time without a zone is in ``zone``, else in this machine's. Raises BadInput for none of our era."""
    try:
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone) if zone else time.astimezone()
        seconds = time.timestamp()
    except (OverflowError, ValueError, OSError):
        seconds = 0.0
    if seconds < _EARLIEST.timestamp() or seconds >= 2**33:
        raise BadInput(f"the time {time} cannot be one of a measurement", where=str(path), hint="give it: --date")
    return round(seconds * 1e6) * 1000  # a datetime knows microseconds


def _of_events(text: str) -> workloads.Stated:
    """What a native program says at its start and its end."""
    host, times = "", []
    for line in text.splitlines():
        if '"unix_ns"' not in line or (event := events.parse_line(line)) is None:
            continue
        if event["event"] == "start" and isinstance(event.get("host"), str):
            host = event["host"]
        if event["event"] in ("start", "end") and isinstance(at := event.get("unix_ns"), int) and 0 < at < 2**63:
            times.append(datetime.fromtimestamp(at * 1e-9).astimezone())
    return workloads.Stated(host=host, begin=times[0] if times else None, end=times[-1] if times else None)


def run_id(workload: workloads.Workload, text: str) -> str:
    """Twelve hexadecimal digits of what a log holds."""
    return hashlib.blake2b(f"{workload.name}\n{text}".encode("utf-8", "replace"), digest_size=6).hexdigest()


def create(folder: Path, workload: workloads.Workload, logs: Sequence[Log]) -> list[Measurement]:
    """A new run directory of the logs, whole but for its report; the measurements in the order of the logs.

    Raises BadInput where no log holds a result, naming the first reason; StoreFailed.
    """
    records = [_record(workload, log) for log in logs]
    if not any(record.cases for _, record in records):
        raise BadInput(records[0][1].reason, where=str(logs[0].path), hint=_elsewhere(workload, logs[0].text))
    begin_ns = min(log.begin_ns for log in logs)
    number = f"{len(logs)} log{'s' * (len(logs) != 1)}"
    plan = Plan(
        campaign=f"imported-{workload.name}",
        title=f"{workload.title}: imported from {number}, not measured by shakedown",
        runs=tuple(run for run, _ in records),
    )
    hosts = tuple(_host(name) for name in sorted({log.host for log in logs}))
    machine = Machine(hosts=hosts, discovered_ns=begin_ns, version=__version__)
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA,
        campaign=plan.campaign,
        created_ns=begin_ns,
        version=__version__,
        host=logs[0].host,
        imported=True,
    )
    text = (
        f'name = "{plan.campaign}"\ntitle = "Imported logs of {workload.name}"\n[[run]]\nworkload = "{workload.name}"\n'
    )
    directory = run_directory.RunDirectory.create(
        folder, manifest=manifest, campaign_toml=text, machine=machine, plan=plan
    )
    for log, (run, record) in zip(logs, records, strict=True):
        kept = directory.begin(_job(run, log))
        atomic.write(kept / "stdout", log.text.encode())
        atomic.write(kept / "stderr", b"")
        directory.finish(_job(run, log), record)
    return [record for _, record in records]


def _job(run: Run, log: Log) -> Job:
    """What is known of it. It came to an end, or there would be no log; its own checks must show that it succeeded."""
    return Job(run=run.id, repeat=1, argv=(), host=log.host, begin_ns=log.begin_ns, end_ns=log.end_ns, exit_code=0)


def _params(workload: workloads.Workload, text: str) -> Params:
    """What a log states of the parameters that decide what its figures are of: the backend of a program on GPUs."""
    if "backend" not in workload.params:
        return {}
    started = (event for line in text.splitlines() if (event := events.parse_line(line)) and event["event"] == "start")
    argv = next(started, {}).get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    given = words[words.index("--backend") + 1 :] if "--backend" in words else []
    return {"backend": given[0] if given else workload.params["backend"].default}


def _record(workload: workloads.Workload, log: Log) -> tuple[Run, Measurement]:
    run = Run(
        id=run_id(workload, log.text),
        workload=workload.name,
        params=_params(workload, log.text),
        label=f"{log.path.name}, imported",
        estimate_s=0.0,
        limit_s=0.0,
    )
    found = measurement(run, _job(run, log), log.text.encode(), b"")
    mark = Notice(
        code="imported-log",
        text=f"imported from {plain(str(log.path))}"
        + (f", which states {log.stated}" if log.stated else ", which states neither host nor time")
        + "; its exit code and what else the machine did are not known",
        advice=f"shakedown run {workload.name} measures it here",
    )
    return run, msgspec.structs.replace(
        found,
        cases=tuple(msgspec.structs.replace(case, params={**case.params, **IMPORTED}) for case in found.cases),
        notices=(mark, *found.notices),
        provenance={
            **found.provenance,
            "imported": {"file": str(log.path), "sha256": hashlib.sha256(log.text.encode()).hexdigest()},
        },
    )


def _host(name: str) -> Host:
    """A host of which nothing is known but its name."""
    unknown = "unknown"
    return Host(
        name=name,
        cpu=Cpu(model=unknown, vendor=unknown, architecture=unknown, microarchitecture=unknown),
        memory=Memory(total_bytes=0),
        absent=(Absent(what="machine", why="what is here was imported from logs, which do not describe it"),),
    )


def _elsewhere(workload: workloads.Workload, text: str) -> str:
    """Whose output a text is, where another workload understands it."""
    others: Mapping[str, workloads.Workload] = {name: workloads.get(name) for name in workloads.names()}
    for name, other in others.items():
        if name != workload.name and other.parse is not None:
            try:
                other.parse(text, {})
            except workloads.Garbage:
                continue
            return f"it is an output of {name}: shakedown import {name} FILE"
    return "give the whole output of the program, as it printed it"
