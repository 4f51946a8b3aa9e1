"""The one writer and reader of run directories.

    RUN/
      manifest.json  campaign.toml  machine.json  plan.json     written once, before anything runs
      runs/<run id>/<repeat>/job.json  stdout  stderr           while it runs
                              measurement.json                  its presence means: this repeat is whole
      runs/<run id>/<repeat>@<host>/                            the same of each copy, where every host runs one
      hosts/<host>.json                                         what each host of an allocation is
      jobs/1, 2, ...                                            what was submitted, and what became of it
      measurements.parquet  report.html  ...                    made from the above, and made again at will

Files are written to a temporary name, flushed to the disk and renamed, so that a file that is there is whole: after a
kill, a power cut, on NFS and on Lustre. Nothing is changed once written, but for what can be made again.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from .. import strict, times
from ..errors import BadInput, ShakedownError, StoreFailed
from ..files.atomic import failed, read_record, write, write_record
from ..records import Absent, Host, HostNames, Job, Machine, Measurement, Name, Plan

_T = TypeVar("_T")

SCHEMA = 1

#: What may lie in a run directory before its plan is written: it was submitted, or its hosts were asked what they are.
PREPARED = ("campaign.toml", "jobs", "hosts", "meters.json", "allocation.json")


#: The name of a repeat's folder, before its host.
_REPEAT = re.compile(r"[0-9]{1,9}")


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which layout a run directory has, and who made it."""

    schema: int
    campaign: Name
    created_ns: int
    version: str
    host: HostNames
    imported: bool = False  # of logs that a user had: not measured by us


class Loaded(msgspec.Struct, kw_only=True):
    """What a run directory holds: whole measurements, and what is damaged (with what was recovered of it)."""

    measurements: list[Measurement]
    damaged: list[Absent]


class RunDirectory:
    """One run directory, open."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls, path: Path, *, manifest: Manifest, campaign_toml: str, machine: Machine, plan: Plan
    ) -> RunDirectory:
        """Make a run directory that holds a plan and no measurement yet. Raises StoreFailed, BadInput."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(one.name not in PREPARED for one in path.iterdir()):
                raise BadInput(
                    "the folder is not empty",
                    where=str(path),
                    hint=f"choose another with --directory, or continue it: --resume {path}",
                )
            (path / "runs").mkdir(exist_ok=True)
        except OSError as error:
            raise failed(error, path, "create the run directory") from None
        write(path / "campaign.toml", campaign_toml)
        write_record(path / "machine.json", machine)
        write_record(path / "plan.json", plan)
        write_record(path / "manifest.json", manifest)  # last: its presence means that the directory is whole
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run directory. Raises StoreFailed for one that is none, or that was cut short before its plan."""
        if not path.is_dir():
            what = "is a file, not a run directory" if path.exists() else "there is no such run directory"
            raise StoreFailed(what, where=str(path), hint="give the folder that shakedown run made and named")
        if not (path / "manifest.json").exists():
            begun = (path / "runs").is_dir()
            raise StoreFailed(
                "the run directory was cut short before its plan was written; it contains no measurement"
                if begun
                else "this is not a run directory: it has no manifest.json",
                where=str(path),
                hint="remove it and start again with shakedown run"
                if begun
                else "give the folder that shakedown run named",
            )
        found = read_record(path / "manifest.json", Manifest)
        if found.schema != SCHEMA:
            raise StoreFailed(
                f"the run directory has layout {found.schema}, this program reads {SCHEMA}",
                where=str(path),
                hint=f"use shakedown {found.version} for it",
            )
        return cls(path)

    def manifest(self) -> Manifest:
        return read_record(self.path / "manifest.json", Manifest)

    def machine(self) -> Machine:
        """The machine of the plan, and hosts that joined since: a campaign that goes on in another allocation."""
        found = read_record(self.path / "machine.json", Machine)
        known = {host.name for host in found.hosts}
        joined = tuple(host for host in self.hosts() if host.name not in known)
        return msgspec.structs.replace(found, hosts=(*found.hosts, *joined)) if joined else found

    def hosts(self) -> list[Host]:
        """What the hosts of its allocations said of themselves, by name; empty where it ran on one host alone."""
        return hosts_in(self.path)

    def plan(self) -> Plan:
        return read_record(self.path / "plan.json", Plan)

    def folder(self, run: str, repeat: int, host: str = "") -> Path:
        """The folder of one repeat of one run; of the copy on a host, where every host runs one."""
        return self.path / "runs" / run / (f"{repeat}@{host}" if host else str(repeat))

    def folder_of(self, job: Job) -> Path:
        """The folder of a job."""
        return self.folder(job.run, job.repeat, job.host if job.beside else "")

    def folder_with(self, record: Measurement) -> Path:
        """The folder that holds a measurement."""
        beside = self.folder(record.run, record.repeat, record.host)
        return beside if beside.is_dir() else self.folder(record.run, record.repeat)

    def begin(self, job: Job) -> Path:
        """The empty folder of a repeat, with its job written into it. What an attempt cut short left is replaced."""
        folder = self.folder_of(job)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.iterdir():
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)  # records of witnesses would be counted with the new ones
                else:
                    left.unlink()
        except OSError as error:
            raise failed(error, folder, "create the folder of a run") from None
        write_record(folder / "job.json", job)
        return folder

    def finish(self, job: Job, measurement: Measurement) -> None:
        """Keep a measurement: from here on this repeat is whole. Raises StoreFailed."""
        folder = self.folder_of(job)
        write_record(folder / "job.json", job)
        write_record(folder / "measurement.json", measurement)

    def repeats(self) -> Iterator[tuple[str, int, Path]]:
        """Every repeat that was begun: run id, number, folder; sorted."""
        if not (self.path / "runs").is_dir():
            return  # archived: only what was packed is left
        try:
            for run in sorted(path for path in (self.path / "runs").iterdir() if path.is_dir()):
                found = [(*path.name.partition("@"), path) for path in run.iterdir()]
                numbered = [(int(number), host, path) for number, _, host, path in found if _REPEAT.fullmatch(number)]
                for number, _, path in sorted(numbered, key=lambda one: one[:2]):
                    yield run.name, number, path
        except OSError as error:
            raise failed(error, self.path / "runs", "read") from None

    def load(self) -> Loaded:
        """All whole measurements. One that is damaged is made again from the program's output beside it."""
        from .outcome import recover

        loaded = Loaded(measurements=[], damaged=[])
        plan: Plan | None = None
        for run, repeat, folder in self.repeats():
            path = folder / "measurement.json"
            if not path.exists():
                continue
            try:
                loaded.measurements.append(read_record(path, Measurement))
            except StoreFailed as error:
                plan = plan or self.plan()
                recovered = recover(plan, run, repeat, folder)
                outcome = "could not be recovered; measure it again with --resume after removing the file"
                if recovered is not None:
                    loaded.measurements.append(recovered)
                    outcome = f"{len(recovered.cases)} cases were recovered from the program's output"
                loaded.damaged.append(Absent(what=str(path), why=f"{error.what}; {outcome}"))
        return loaded

    def jobs_left(self) -> list[Job]:
        """The jobs of repeats that are not whole: cut short, or still under way."""
        jobs = []
        for _, _, folder in self.repeats():
            if not (folder / "measurement.json").exists():
                try:
                    jobs.append(read_record(folder / "job.json", Job))
                except ShakedownError:
                    continue  # cut short while the job was being written: nothing was started
        return jobs


def hosts_in(path: Path) -> list[Host]:
    """The hosts that left what they are in a folder's ``hosts``, by name; one that is damaged is left out."""
    found = []
    for file in sorted((path / "hosts").glob("*.json")):
        try:
            found.append(read_record(file, Host))
        except StoreFailed:
            continue  # cut short: it is asked again
    return found


def durations(parent: Path, most: int = 20) -> list[tuple[str, str, float, float]]:
    """(run id, workload, estimate, seconds) of runs that succeeded in the newest run directories beside a new one."""
    found: list[tuple[str, str, float, float]] = []
    try:
        folders = sorted(
            (path for path in parent.iterdir() if (path / "durations.json").exists()),
            key=lambda path: path.name,
            reverse=True,
        )[:most]
    except OSError:
        return found
    for folder in folders:
        try:
            found += msgspec.json.decode(
                (folder / "durations.json").read_bytes(), type=list[tuple[str, str, float, float]]
            )
        except (OSError, *strict.UNREADABLE):
            continue  # a cache that can be made again: an unreadable one teaches nothing
    return found


def new_name(campaign: str, now_ns: int, host: str = "") -> str:
    """A name that sorts by time: ``20261120-154501-quick-node7``; of this host unless told."""
    stamp = times.for_name(now_ns / 1e9)
    host = (host or socket.gethostname()).split(".")[0]
    return "-".join([stamp, campaign, host])
