"""Spark in a job: a cluster is started, sorts rows that are checked, writes and reads files, and nothing of it stays.

The cluster and its end are those of ``spark/``; what Spark is asked to do is ``spark/app.py``. Each step's seconds are those
of the application around it; what a file system still has to write then is written out at once and counted apart.
The event log stays in the run's folder (``events``) and is taken apart when all is done.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .. import schedulers
from ..errors import BadInput, CannotMeasure
from ..hosts import hostlist
from ..hosts.access import LocalHost
from ..launchers.mpirun import cores
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Host, Residual, Value
from ..units import show_bytes
from ..workloads import Garbage
from ..workloads.bigdata import TABLE, read_settings
from ..workloads.common import spark_log
from . import _modules, _work
from .mpi_bindings import read_host
from .spark import files as _files
from .spark import installation, rows, told
from .spark.application import Application
from .spark.cluster import Nodes, Settings, called_together, config_files, properties
from .spark.cluster import start as start_cluster
from .spark.node import PREFIX, marked
from .spark.rows import LINE_BYTES, ROW_BYTES, Checked

#: What an order that reads or writes data may take, beyond which the storage is taken to hang: a day.
_DATA_S = 86400.0
#: More than this of a file in memory, and reading it is no measurement of the storage.
_MOST_CACHED = 0.02
#: Beside data: checksums of Hadoop's file system, and what a file system needs for itself.
_ROOM = 1.08


class Bigdata(NamedTuple):
    """The words of the command line, with numbers in the place of words."""

    given: dict[str, Any]
    host: Host
    hosts: tuple[str, ...]
    settings: Settings
    kernels: tuple[str, ...]
    rows: int
    lines: int
    seed: int
    partitions: int

    @property
    def cores(self) -> int:
        return self.settings.cores * len(self.hosts)


def _asked(argv: Sequence[str]) -> Bigdata:
    words = ProgramArguments("bigdata", "Spark as a cluster in a job: rows sorted and checked, files written and read.")
    _work.add_options(words, TABLE)
    words.add_argument("--host", default="host.json", help="the file with what the harness knows of the hosts")
    given = vars(words.parse_args(argv))
    host = read_host(given["host"])
    hosts = hostlist.expand(host.name) if host.count > 1 else (host.name,)
    each = cores(host) if given["cores"] == "all" else _number(given, "cores")
    settings = Settings(
        cores=each,
        memory_mib=_number(given, "memory"),
        scratch="" if given["scratch"] == "auto" else str(given["scratch"]),
        port=_number(given, "port"),
        encrypt=bool(given["encrypt"]),
        more=read_settings(str(given["settings"])),
    )
    return Bigdata(
        given=given,
        host=host,
        hosts=hosts,
        settings=settings,
        kernels=_work.words(str(given["kernels"]), ("sort", "io"), "kernel of bigdata"),
        rows=_number(given, "rows"),
        lines=max(each * len(hosts), _number(given, "io_bytes") // LINE_BYTES),
        seed=_number(given, "seed"),
        partitions=_number(given, "partitions"),
    )


def _number(given: dict[str, Any], name: str) -> int:
    try:
        return int(given[name])
    except ValueError:
        raise BadInput(f"--{name.replace('_', '-')} is not a number: {given[name]!r}", hint="bigdata --help") from None


class Test:
    """A cluster that is up, and what is measured with it."""

    def __init__(self, asked: Bigdata, nodes: Nodes, data: Path, emit: Emitter) -> None:
        self.asked, self.nodes, self.data, self.emit = asked, nodes, data, emit
        self.params: dict[str, Value] = {
            "rows": asked.rows,
            "seed": asked.seed,
            "cores": asked.cores,
            "partitions": asked.partitions,
        }

    # ------------------------------------------------------------------------------------------------------ helpers

    def _files(self, name: str) -> list[str]:
        return [str(path) for path in sorted((self.data / name).glob("part-*"))]

    def _by_host(self, files: Sequence[str]) -> dict[str, list[str]]:
        """Files dealt to hosts in turn."""
        hosts = self.nodes.hosts
        return {host: list(files[place :: len(hosts)]) for place, host in enumerate(hosts)}

    def _write_out(self, name: str, *, drop: bool) -> tuple[float, float | None]:
        """Until all files are on their devices: seconds, and the share that is in memory afterwards (None: unknown). Every
        host drops what it has of each."""
        files = self._files(name)
        begin = time.monotonic()
        words = {host: {"files": some, "drop": False} for host, some in self._by_host(files).items()}
        self.nodes.ask(words, "write_out", _DATA_S)
        seconds = time.monotonic() - begin
        if not drop:
            return seconds, None
        found = self.nodes.ask(self.nodes.each({"files": files, "drop": True}), "write_out", _DATA_S)
        shares = [one["cached"] for one in found.values()]
        return seconds, None if None in shares else max(shares)

    def _check(self, name: str, kind: str) -> list[Checked]:
        words = {
            host: {"files": some, "kind": kind, "seed": self.asked.seed, "workers": self.asked.settings.cores}
            for host, some in self._by_host(self._files(name)).items()
        }
        found = self.nodes.ask(words, "check", _DATA_S)
        files = {path: one for host in found.values() for path, one in host["files"].items()}
        return [msgspec.convert(files[path], Checked) for path in sorted(files)]

    def _remove(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self.data / name, ignore_errors=True)

    def _url(self, name: str) -> str:
        return (self.data / name).as_uri()

    # ------------------------------------------------------------------------------------------------------- steps

    def sort(self, app: Application) -> None:
        """Rows made, sorted, and checked by a program that is not Spark's."""
        asked, emit = self.asked, self.emit
        size = asked.rows * ROW_BYTES
        work: dict[str, float] = {"bytes": size, "rows": asked.rows}
        with emit.phase("generate"):
            made = app.do("generate", rows=asked.rows, seed=asked.seed, partitions=asked.partitions, to=self._url("in"))
        self._case("generate", made, work)
        self._write_out("in", drop=True)  # the sort begins with its input on the device alone
        with emit.phase("measure", "sort"):
            done = app.do("sort", partitions=asked.partitions, **{"from": self._url("in"), "to": self._url("out")})
        flush_s, _ = self._write_out("out", drop=False)
        with emit.phase("verify"):
            begin = time.monotonic()
            verdict = rows.verdict(self._check("out", "sorted"), asked.rows, rows.sums(asked.rows, asked.seed))
            check_s = time.monotonic() - begin
        if verdict.total:
            emit.notice("bigdata-wrong", f"the sorted rows are wrong: {verdict.words()}", "do not use this Spark")
        check = Residual(value=verdict.total, limit=0, kind="rows out of order, changed, lost or twice, and checksum")
        self._case("sort", done, work, check)
        emit.case("durable", self.params, work, [_seconds(done) + flush_s])
        emit.case("validate", self.params, work, [check_s])
        self._remove("in", "out")

    def io(self, app: Application) -> None:
        """A file of each core, written until it is on its device, compared, and read by Spark from there."""
        asked, emit = self.asked, self.emit
        size = asked.lines * LINE_BYTES
        params: dict[str, Value] = {"bytes": size, "files": asked.cores, "cores": asked.cores}
        with emit.phase("measure", "write"):
            made = app.do("write", lines=asked.lines, files=asked.cores, seed=asked.seed, to=self._url("io"))
            flush_s, _ = self._write_out("io", drop=False)
        with emit.phase("verify"):
            files = self._check("io", "lines")
            wrong = sum(one.wrong for one in files) + abs(asked.lines - sum(one.rows for one in files))
        _, cached = self._write_out("io", drop=True)
        emit.case(
            "write",
            params,
            {"bytes": size},
            [_seconds(made) + flush_s],
            Residual(value=wrong, limit=0, kind="lines not as they were made, lost or twice"),
        )
        with emit.phase("measure", "read"):
            read = app.do("read", **{"from": self._url("io")})
        expected = {"lines": asked.lines, "signs": asked.lines * (LINE_BYTES - 1), "crc": sum(one.sum for one in files)}
        differs = sum(read[name] != value for name, value in expected.items())
        params["cache"] = (
            "dropped" if cached is not None and cached <= _MOST_CACHED else "unknown" if cached is None else "possible"
        )
        if params["cache"] == "possible":
            params["doubt"] = "page cache"
            text = f"{cached:.0%} of the files were still in memory when they were read"
            emit.notice("in-doubt", text, "more bytes (io_bytes) than the hosts have memory")
        check = Residual(
            value=differs, limit=0, kind="of lines, signs and checksum, those that differ from what was written"
        )
        emit.case("read", params, {"bytes": size}, [_seconds(read)], check)
        self._remove("io")

    def _case(self, kernel: str, done: dict[str, Any], work: dict[str, float], check: Residual | None = None) -> None:
        begin, end = int(done["begin_ns"]), int(done["end_ns"])
        self.emit.case(kernel, self.params, work, [_seconds(done)], check, begin_ns=begin, end_ns=end)


def _seconds(done: dict[str, Any]) -> float:
    return (int(done["end_ns"]) - int(done["begin_ns"])) * 1e-9


@contextlib.contextmanager
def _data_folder(directory: str) -> Iterator[Path]:
    """A folder of the test below that directory, removed at the end. Raises CannotMeasure."""
    above = Path(directory).expanduser().resolve()
    try:
        _work.refuse_shared(above)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above))
    except OSError as error:
        raise CannotMeasure(
            f"no folder can be made here: {error.strerror}", where=str(above), hint="name another one (directory=)"
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_room(asked: Bigdata, data: Path, begun: dict[str, dict[str, Any]]) -> None:
    """Raises CannotMeasure where data or scratch would not fit."""
    sorts, io = "sort" in asked.kernels, "io" in asked.kernels
    size = asked.rows * ROW_BYTES if sorts else 0
    needs = {
        f"{asked.hosts[0]}:{data.parent}": (
            max(2 * size, asked.lines * LINE_BYTES if io else 0),
            shutil.disk_usage(data).free,
        )
    }
    for host, one in begun.items():
        # What is shuffled, and once more where it is spilled before.
        needs[f"{host}:{Path(one['scratch']).parent}"] = (2 * size // len(begun), int(one["free_bytes"]))
    for place, (need, free) in needs.items():
        if need * _ROOM > free:
            raise CannotMeasure(
                f"{show_bytes(int(need * _ROOM))} are needed, and {show_bytes(free)} are free",
                where=place,
                hint="fewer rows (rows=, io_bytes=), or another folder (directory=, scratch=)",
            )


def _begin(asked: Bigdata, nodes: Nodes, data: Path, emit: Emitter) -> dict[str, dict[str, Any]]:
    """Scratch folders and settings on every host; what each has. Raises CannotMeasure."""
    events = Path("events").resolve()
    events.mkdir(exist_ok=True)
    settings = properties(asked.settings, len(nodes.hosts), nodes.place.secret, events)
    (data / "token").write_text(nodes.place.token)
    words = {"scratch": asked.settings.scratch, "files": config_files(settings), "shared": str(data)}
    begun = nodes.ask(nodes.each(words), "begin")
    for host, one in begun.items():
        if one["sees"]:
            raise CannotMeasure(
                f"{host} does not see the folder of this test ({one['sees']})",
                where=str(data.parent),
                hint="all hosts must share it (directory=): a parallel file system, NFS",
            )
        for folder in one["removed"]:
            emit.notice("bigdata-removed", f"{folder} on {host}, left by a job that was killed, was removed")
        if one["kind"] in (*_files.IN_MEMORY, *_files.SHARED):
            text = f"the scratch folder of {host}, {Path(one['scratch']).parent}, is on {one['kind']}"
            emit.notice("bigdata-scratch", text, "name a folder on a disk of the host itself (scratch=)")
    _check_room(asked, data, begun)
    return begun


def _measure(asked: Bigdata, found: installation.Installation, emit: Emitter) -> dict[str, str]:
    """All of it; the hosts by their addresses."""
    allocation = schedulers.inside(os.environ, LocalHost()) if len(asked.hosts) > 1 else None
    with _data_folder(str(asked.given["directory"])) as data:
        begin = time.monotonic()
        with called_together(asked.host, allocation, asked.hosts, data) as nodes:
            first = _first(nodes)
            begun = _begin(asked, nodes, data, emit)
            app = Application(nodes, found, begun[first])
            try:
                url = start_cluster(nodes, first, found, asked.settings)
                app.tell(master=url, address=begun[first]["address"])
                app.wait()
                test = Test(asked, nodes, data, emit)
                emit.case("up", {"cores": asked.cores}, seconds=[time.monotonic() - begin])
                if "sort" in asked.kernels:
                    test.sort(app)
                if "io" in asked.kernels:
                    test.io(app)
                app.stop()
            except CannotMeasure as error:
                raise told.explained(error, nodes) from None
            finally:
                app.kill()
            end = time.monotonic()
    told.happened(nodes, emit)
    left = len(marked(nodes.place.token)) + sum(Path(one["scratch"]).exists() for one in begun.values()) + data.exists()
    check = Residual(value=left, limit=0, kind="processes and folders left behind on this host")
    emit.case("down", {"cores": asked.cores}, seconds=[time.monotonic() - end], residual=check)
    return {address: host for host, address in nodes.addresses.items()}


def _first(nodes: Nodes) -> str:
    """The node of this host: master and application are there."""
    own = os.uname().nodename
    return own if own in nodes.links else nodes.hosts[0]


def body(argv: Sequence[str], emit: Emitter) -> None:
    """Find Spark, carry all out, take its log apart."""
    asked = _asked(argv)
    _modules.load([one for one in str(asked.given["modules"]).split(",") if one])
    found = installation.find(str(asked.given["spark"]), os.environ)
    _work.end_with_parent()
    emit.start(
        {
            "spark": found.version,
            "spark_home": str(found.home),
            "java": found.java,
            "hosts": list(asked.hosts),
            "cores_of_each": asked.settings.cores,
            "memory_mib_of_each": asked.settings.memory_mib,
            "settings": dict(asked.settings.more),
        }
    )
    with _work.ended_by_signals():
        names = _measure(asked, found, emit)
        try:
            with open(_log_of(Path("events")), "rb") as file:
                log = spark_log.read(file)
        except (OSError, Garbage) as error:
            emit.notice("bigdata-log", f"the event log cannot be taken apart: {error}", "the times above stand")
            return
        told.stages(log, names, asked.cores, emit)


def _log_of(folder: Path) -> Path:
    """The one event log in a folder. Raises OSError."""
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    if len(found) != 1:
        raise OSError(f"there are {len(found)} event logs in {folder}")
    return found[0]


if __name__ == "__main__":
    sys.exit(run("bigdata", body))
