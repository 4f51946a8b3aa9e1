"""fio, the flexible I/O tester: an adapter that runs one job pattern and reads fio's JSON.

A job reads or writes for a given time or size; bandwidth is its bytes over its run time, operations likewise. Completion
latencies are fio's own mean and percentiles over all operations. One job is one sample: repeats of the run give the
interval. A job that fio says ended with an error, and one whose operations failed or were dropped (``continue_on_error``),
has no score. With ``direct`` the page cache is left out; without it a file smaller than memory may be read from there
(``cache``), and such a figure is in doubt, shown and not ranked. fio's sizes are in steps of 1024.

Source: fio's documentation, "JSON output"; ``bw_bytes`` = ``io_bytes`` / ``runtime``.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta

import msgspec

from .. import strict
from ..launchers import Command
from ..records import Case, Host, Notice, Params, Residual, Value
from . import Garbage, Stated
from .common import page_cache
from .common.printed import at
from .common.table import table_of

TABLE = table_of(__file__)


def _command(params: Params, host: Host) -> Command:
    argv = [
        "fio",
        "--output-format=json",
        "--name=shakedown",
        "--group_reporting",
        f"--rw={params['pattern']}",
        f"--bs={params['block']}",
        f"--size={params['size']}",
        f"--numjobs={params['jobs']}",
        f"--iodepth={params['depth']}",
        f"--ioengine={params['engine']}",
        f"--direct={int(bool(params['direct']))}",
        f"--directory={params['directory']}",
        "--unlink=1",
    ]
    if float(params["seconds"]) > 0:
        argv += ["--time_based", f"--runtime={params['seconds']}"]
    if "write" in str(params["pattern"]) or str(params["pattern"]).endswith("rw"):
        argv.append("--end_fsync=1")
    return Command(argv=tuple(argv))


class _Latency(msgspec.Struct, frozen=True):
    mean: float = 0.0
    percentile: dict[str, float] = {}


class _Done(msgspec.Struct, frozen=True):
    """What fio says of one direction."""

    io_bytes: float = 0.0
    total_ios: float = 0.0
    runtime: float = 0.0  # ms
    drop_ios: float = 0.0
    clat_ns: _Latency = _Latency()
    lat_ns: _Latency = _Latency()


class _Job(msgspec.Struct, frozen=True):
    jobname: str = ""
    error: int = 0
    total_err: float = 0.0  # with continue_on_error
    options: dict[str, str] = msgspec.field(name="job options", default_factory=dict)
    read: _Done = _Done()
    write: _Done = _Done()


class _Answer(msgspec.Struct, frozen=True):
    jobs: tuple[_Job, ...]
    options: dict[str, str] = msgspec.field(name="global options", default_factory=dict)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """One case for each direction that did something. Raises Garbage; a job with an error is garbage too."""
    found = re.search(r"^\{", text, re.MULTILINE)  # warnings may come first, and other words behind
    try:
        answer = msgspec.json.decode(text[found.start() : text.rfind("}") + 1] if found else "", type=_Answer)
    except strict.UNREADABLE as error:
        raise Garbage(f"this is not the JSON output of one run of fio ({error})") from None
    cases: list[Case] = []
    for job in answer.jobs:
        if job.error:
            raise Garbage(f"fio's job {job.jobname!r} ended with error {job.error}")
        given = {**answer.options, **job.options}
        for direction, done in (("read", job.read), ("write", job.write)):
            if done.io_bytes:
                cases.append(_case(direction, done, given, job, params))
    if not cases:
        raise Garbage("fio moved no bytes")
    return tuple(cases)


def _case(direction: str, done: _Done, given: dict[str, str], job: _Job, asked: Params) -> Case:
    if not all(0 < one < math.inf for one in (done.runtime, done.io_bytes)) or not 0 <= done.total_ios < math.inf:
        raise Garbage(f"fio's job {job.jobname!r} moved {done.io_bytes:g} bytes in {done.runtime:g} ms")
    latency = done.clat_ns if done.clat_ns.mean else done.lat_ns
    percentiles = done.clat_ns.percentile or done.lat_ns.percentile
    work = {"bytes": done.io_bytes, "op": done.total_ios}
    if 0 < latency.mean < math.inf:
        work["latency_mean_s"] = latency.mean * 1e-9
    if "99.000000" in percentiles:
        work["latency_p99_s"] = percentiles["99.000000"] * 1e-9
    lost = job.total_err + done.drop_ios
    params: dict[str, Value] = {
        "pattern": str(given.get("rw", direction)),
        "block": str(given.get("bs", "4k")),
        "depth": _whole(given, "iodepth"),
        "jobs": _whole(given, "numjobs"),
        "engine": str(given.get("ioengine", "psync")),
        "direct": str(given.get("direct", "0")) == "1",
    }
    # A job that goes on for a time moves its file again and again: no more than the file can be from the cache.
    data = min(done.io_bytes, _size(given) * int(params["jobs"]) or done.io_bytes)
    synced = direction == "write" and any(given.get(name, "0") != "0" for name in ("end_fsync", "fsync", "fdatasync"))
    moved = page_cache.Moved(
        direction, data, done.runtime * 1e-3 * data / done.io_bytes, 1, bool(params["direct"]), synced
    )
    params |= page_cache.verdict(moved, asked)
    check = Residual(value=lost, limit=0.0, kind="operations that failed or were dropped")
    return Case(kernel=direction, params=params, work=work, seconds=(done.runtime * 1e-3,), residual=check)


def _whole(given: dict[str, str], name: str) -> int:
    """An option that is a count; fio's default of all that are used here is 1."""
    word = given.get(name, "1")
    if not re.fullmatch(r"[1-9]\d{0,8}", word):
        raise Garbage(f"fio's option {name} = {word[:40]!r} is not a count")
    return int(word)


def _size(given: dict[str, str]) -> float:
    """The bytes of a job's file; 0 where the option is not a plain size (a share of the disk, a range)."""
    found = re.fullmatch(r"(\d{1,15})([kmgtp]?)i?b?", given.get("size", "").lower())
    return int(found[1]) * 1024.0 ** " kmgtp".index(found[2] or " ") if found else 0.0


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What is in doubt."""
    return page_cache.notices([(case.kernel, case.params) for case in parse(text, params)])


def stated(text: str) -> Stated:
    """fio's stamp is that of its output; its jobs began so long before as they ran. Only client mode names the host."""
    host = re.search(r'"hostname" : "([^"\n]{1,255})"', text)
    _, end = at(re.findall(r'^  "timestamp" : (\d{1,10}),$', text, re.MULTILINE))
    runtimes = [int(one) for one in re.findall(r'"runtime" : (\d{1,9}),', text)]
    begin = end - timedelta(milliseconds=max(runtimes)) if end and runtimes else None
    return Stated(host=host[1] if host else "", begin=begin, end=end)


WORKLOAD = TABLE.workload(
    title="fio: file-system bandwidth, operations and latency",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=lambda params, machine: (page_cache.resolved(params, machine),),
    marks=("size", "directory"),
    estimate_s=lambda params, host: max(5.0, float(params["seconds"]) + 2),
)
