"""Spark in an allocation: a standalone cluster for the time of the run, rows sorted and checked, files written and read.

A master on the first host, a worker on each, with a secret of the run, ports that are free and scratch folders on the
hosts' own disks; all of it is ended and removed afterwards, also where the run is killed. Spark is a site's (SPARK_HOME,
PATH, ``modules``) or PyPI's pyspark; Java a site's or Debian's.

**sort** is what TeraSort does: rows of 100 bytes with keys of 10, each a function of its number and ``seed``, are made,
sorted by key over all partitions and written again. The rate is bytes over the seconds of the sort alone, which begins
with its input on the device (`bigdata.sort.rate`); with the time until its output is there, too, it is
`bigdata.sort.durable`. A program that is not Spark's reads the output: order within files and over their borders, every row
as the function has it, their number, and a checksum that does not know order. One row that is wrong and the run has no
result. Keys are of 64 printable signs, and the rest of a row follows from its number in hexadecimal digits: it can be
compressed to less than half, and Spark does so for the shuffle.

**io** is what TestDFSIO does: a file of each core, written by Spark until it is on its device, compared byte by byte,
dropped from memory and read by Spark. Files that stay in memory have ``doubt = page cache`` and are not ranked.

The event log is taken apart: stages with what they moved, spilled and spent on collection of garbage, shuffle, tasks
that held their stage back and why, executors that were lost. **Fractions**: beside what `storage` of the same run reached
in the same directory, and beside the bandwidth of messages between two hosts. Where data fit into memory a sort is mostly
Java's own work.

Sources: TeraGen, TeraSort, TeraValidate and TestDFSIO of Apache Hadoop's examples, whose rows and steps these are like.
They are not theirs: a figure of those stands beside ours as one of another program.
"""

from __future__ import annotations

import re

import msgspec

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

_MIB = 1 << 20
#: Master, worker and the application's JVM, beside an executor.
_OTHERS_MIB = 2048
_LEAST_MIB, _MOST_OF_A_CORE_MIB = 512, 4096
_PARTITION_BYTES = 128 * _MIB
_ROW_BYTES = 100
_FIRST_PORT = 1024
_SETTING = re.compile(r"spark\.[A-Za-z0-9_.-]{1,120}=[^\s,]{0,300}")


def read_settings(text: str) -> dict[str, str]:
    """Settings of Spark's as ``spark.a=1,spark.b=2``. Raises BadInput."""
    found = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        if not _SETTING.fullmatch(part):
            raise BadInput(
                f"bigdata.settings: {part[:80]!r} is not a setting of Spark's",
                hint="write spark.NAME=VALUE, separated by commas, without blanks",
            )
        name, _, value = part.partition("=")
        if name.startswith("spark.authenticate"):
            raise BadInput(
                f"bigdata.settings: {name} is set by the run itself", hint="every run has a secret of its own"
            )
        found[name] = value
    return found


def _memory_mib(params: Params, host: Host, each: int) -> int:
    """Of an executor: half of what is free, at most 4 GiB a core. Raises BadInput."""
    free = host.memory.room_bytes // _MIB
    if params["memory"] != "auto":
        asked = int(params["memory"])
        need = (asked + _OTHERS_MIB) * _MIB
        check_room("bigdata.memory", f"an executor of {asked} MiB and Spark's other parts", need, host, "ask for less")
        return asked
    chosen = min((free - _OTHERS_MIB) // 2, _MOST_OF_A_CORE_MIB * each)
    need = (_LEAST_MIB + _OTHERS_MIB) * _MIB
    check_room("bigdata.memory", "the smallest executor and Spark's other parts", need, host, "take a host with more")
    return max(_LEAST_MIB, int(chosen))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    read_settings(str(params["settings"]))
    kernels = TABLE.selection(params, "kernels")
    each = cores(host) if params["cores"] == "all" else int(params["cores"])
    if each > max(1, len(host.usable_cpus)):
        raise BadInput(
            f"bigdata.cores = {each}, but this process may use {len(host.usable_cpus)} CPUs",
            hint=f"at most cores = {len(host.usable_cpus)}",
        )
    if 0 < int(params["port"]) < _FIRST_PORT:
        raise BadInput(
            f"bigdata.port = {params['port']} is a port of the system, and Spark takes none of those",
            hint=f"port = {_FIRST_PORT} or higher, or 0 for any that is free",
        )
    size = int(params["rows"]) * _ROW_BYTES
    count = max(2 * each * host.count, -(-size // _PARTITION_BYTES))
    return (
        {
            **params,
            "kernels": ",".join(kernels),
            "cores": each,
            "memory": _memory_mib(params, host, each),
            "partitions": count if params["partitions"] == "auto" else int(params["partitions"]),
            "io_bytes": size if params["io_bytes"] == "auto" else int(params["io_bytes"]),
        },
    )


def _command(params: Params, host: Host) -> Command:
    return Command(
        argv=(*TABLE.argv(params), "--host", "host.json"),
        files={"host.json": msgspec.json.encode(host).decode()},
        starts_itself=True,
    )


def _estimate_s(params: Params, host: Host) -> float:
    """A minute for a cluster that comes and goes; 10 us a row and core, and storage of 100 MB/s."""
    all_cores, kernels = int(params["cores"]) * host.count, TABLE.selection(params, "kernels")
    found = 60.0
    if "sort" in kernels:
        found += int(params["rows"]) * (1e-5 / all_cores + 4e-6)
    return found + (2 * int(params["io_bytes"]) / 100e6 if "io" in kernels else 0.0)


def _label(params: Params) -> str:
    kernels = TABLE.selection(params, "kernels")
    parts = [f"{show_bytes(int(params['rows']) * _ROW_BYTES)} sorted"] if "sort" in kernels else []
    parts += [f"{show_bytes(int(params['io_bytes']))} written and read"] if "io" in kernels else []
    return f"Spark, {params['cores']} cores of each host: {', '.join(parts)}"


WORKLOAD = TABLE.workload(
    title="Spark in an allocation: a sort that is checked, files, its event log",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("directory",),
)
