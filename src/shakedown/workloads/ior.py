"""IOR, as a site has installed it: an adapter that runs it under MPI and reads its text, its JSON or its CSV.

Every rank writes and reads blocks of one shared file or of a file of its own. A figure is a pass: the bytes that all
ranks moved over the time from the first open to the last close, which IOR prints beside its rate; a pass whose rate is
not its bytes over its time is refused, and of rounded numbers the middle of what they allow is taken. IOR counts in MiB
of 2^20 bytes. Where the clock ended a pass (``-D``) the bytes are the rate times the time, and IOR's latency, which then
divides by the wrong size, is left out.

With ``check`` IOR compares what it reads (``-R``, ``-W``); errors that it counts leave no score. A read of what the same
node wrote may come from its page cache: ``cache`` says what is known of it (O_DIRECT, more data than memory, another
node's data), and a figure in doubt is shown and not ranked.

Source: IOR 4.0 user documentation, "Options" and "Tutorial"; outputs of IOR 2.10 to 4.1.
"""

from __future__ import annotations

import math
import re

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from ..units import show_bytes
from . import Garbage, Stated
from .common import page_cache, site_mpi
from .common.ior_output import Row, Test, tests
from .common.passes import joined
from .common.printed import Span, agreed_s, span, times
from .common.table import table_of

TABLE = table_of(__file__)

_MIB = 2**20
_APIS = {"posix": "POSIX", "mpiio": "MPIIO", "hdf5": "HDF5"}


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    block, size = int(params["block"]), int(params["size"])
    if size % block:
        raise BadInput(f"ior.size = {size} is not a multiple of ior.block = {block}", hint="powers of two fit")
    if params["direct"] and params["api"] != "posix":
        raise BadInput("ior.direct is of the POSIX interface alone", hint="api = 'posix', or direct = false")
    site_mpi.need(host, "IOR")
    return (page_cache.resolved({**params, "ranks": ranks}, machine),)


def _command(params: Params, host: Host) -> Command:
    argv = [
        *(str(params["program"]), "-a", _APIS[str(params["api"])], "-w", "-r", "-C", "-i", str(params["repetitions"])),
        *("-t", str(params["block"]), "-b", str(params["size"]), "-s", str(params["segments"])),
        *("-o", f"{params['directory']}/shakedown-ior"),
    ]
    argv += ["-F"] if params["layout"] == "file a rank" else []
    argv += ["-e"] if params["synced"] else []
    argv += ["-z"] if params["random"] else []
    argv += ["-W", "-R"] if params["check"] else []
    argv += ["--posix.odirect"] if params["direct"] else []
    return Command(argv=(*argv, *str(params["arguments"]).split()), ranks=int(params["ranks"]), site_mpi=True)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each pass of writing or reading. Raises Garbage."""
    found = tests(text)
    cases = joined(_case(test, row, params) for test in found for row in test.rows)
    if not cases:
        raise Garbage("IOR neither wrote nor read: its table has no row of that")
    return cases


def _case(test: Test, row: Row, params: Params) -> Case:
    """One pass. Raises Garbage where its bytes, its time and its rate do not agree."""
    moved, seconds = _moved(test, row)
    told: dict[str, Value] = {
        "application": "ior",
        "api": test.api,
        "access": test.access,
        "block": test.block,
        "size": test.size,
        "ranks": test.ranks,
    }
    told |= {"segments": test.segments} if test.segments > 1 else {}
    told |= {"nodes": test.nodes} if test.nodes else {}
    told |= {"stonewalled": True} if test.stonewalled else {}
    synced = test.synced and row.direction == "write"
    told |= page_cache.verdict(
        page_cache.Moved(row.direction, moved, seconds, max(1, test.nodes), test.direct, synced, test.elsewhere), params
    )
    work = {"bytes": moved, "op": moved / test.block}
    work |= {f"{name}_s": float(word) for name, word in (("open", row.open_s), ("close", row.close_s)) if word}
    if row.latency_s and not test.stonewalled:
        work["latency_s"] = float(row.latency_s)
    check = Residual(value=test.errors, limit=0.0, kind="errors that IOR found in its data") if test.checked else None
    return Case(kernel=row.direction, params=told, work=work, seconds=(seconds,), residual=check)


def _moved(test: Test, row: Row) -> tuple[float, float]:
    """The bytes and the seconds of a pass."""
    if not row.total_s:
        raise Garbage("a row of IOR has no total time")
    if not row.bandwidth:
        row = row._replace(
            bandwidth=f"{test.size * test.ranks * test.segments / _MIB / max(float(row.total_s), 1e-9):.3e}"
        )
    rate, seconds = span(row.bandwidth, _MIB), span(row.total_s)
    if not (rate.low > 0 and seconds.high > 0 and math.isfinite(rate.high) and math.isfinite(seconds.high)):
        raise Garbage(f"a row of IOR without a rate or a time: {row.bandwidth} MiB/s in {row.total_s} s")
    whole = test.size * test.ranks
    expected = row.moved_bytes or whole * test.segments
    if not test.segments_known:  # of a CSV file the nearest number of segments, at least one
        expected = max(1, round(float(row.bandwidth) * _MIB * float(row.total_s) / whole)) * whole
    found = agreed_s(Span(expected, expected), seconds, rate)
    if found is not None:
        return float(expected), found
    if test.stonewalled or not test.segments_known:
        return float(row.bandwidth) * _MIB * float(row.total_s), float(row.total_s)
    raise Garbage(
        f"a row of IOR says {row.bandwidth} MiB/s in {row.total_s} s, which is not the {show_bytes(expected)} of its sizes"
    )


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """IOR's warnings, and what is in doubt."""
    found = [
        Notice(code="ior-warning", text=line[:300])
        for line in dict.fromkeys(re.findall(r"^(?:ior )?WARNING: [^\n]*", text, re.MULTILINE)[:8])
    ]
    return (*found, *page_cache.notices([(case.kernel, case.params) for case in parse(text, params)]))


def stated(text: str) -> Stated:
    """The host of rank 0 and the times, without a zone."""
    host = re.search(r'^\s*"?Machine"?\s*: *"?\w+ ([^\s",]{1,255})', text, re.MULTILINE)
    found = re.findall(
        r'^\s*"?(?:Began|Run began|Finished|Run finished)"?\s*: *"?(\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4})',
        text,
        re.MULTILINE,
    )
    begin, end = times(found, "%a %b %d %H:%M:%S %Y")
    return Stated(host=host[1] if host else "", begin=begin, end=end)


def _estimate_s(params: Params, host: Host) -> float:
    """Written and read at 200 MB/s, twice where it is checked."""
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    moved = ranks * int(params["size"]) * int(params["segments"]) * int(params["repetitions"])
    return 5.0 + (4 if params["check"] else 2) * moved / 200e6


WORKLOAD = TABLE.workload(
    title="IOR: a parallel file system under many ranks",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("directory",),
    estimate_s=_estimate_s,
)
