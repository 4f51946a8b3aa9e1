"""mdtest, as a site has installed it: an adapter that runs it under MPI and reads its summary.

All ranks make, look at, read and remove files and folders; a figure is mdtest's mean over its iterations, in operations
of all ranks a second, with the most and the least kept beside it. The names of the rows end in a colon up to 3.x and do
not in 4.x, and the heading has three forms; a summary of times (``-Z``) is passed over. A phase that was left out prints
0.000 and was not measured. So many operations in less than a second say little (looking at 400 files took 0.2 ms, and its
extremes were a factor of 60 apart): such a figure is in doubt, shown and not ranked. Without ``-y`` a file that was made
is not on the device yet; ``synced`` says which it was.

The number of operations is that of the line "2 tasks, 400 files"; of trees it is that of their folders, by ``-b`` and
``-z``. A log may hold several runs. An error that mdtest reports, of verification as well, leaves no score.

Source: mdtest(1) of IOR 4.0; outputs of mdtest 1.9 to 4.1.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from . import Garbage, Stated
from .common import page_cache, site_mpi
from .common.printed import NUMBER, times
from .common.table import table_of

TABLE = table_of(__file__)

#: A row's name -> the kernel.
_KERNELS = {
    "File creation": "create",
    "File stat": "stat",
    "File read": "read",
    "File rename": "rename",
    "File removal": "unlink",
    "Directory creation": "mkdir",
    "Directory stat": "stat_folder",
    "Directory rename": "rename_folder",
    "Directory removal": "rmdir",
    "Tree creation": "make_tree",
    "Tree removal": "remove_tree",
}
_BEGIN = re.compile(r"^-- started at ", re.MULTILINE)
_HEAD = re.compile(r"^SUMMARY(?P<what>[^\n:]{0,60}): ?\(of (?P<iterations>\d{1,9}) iterations\)", re.MULTILINE)
_ROW = re.compile(
    rf"^ *(?P<name>(?:File|Directory|Tree) [a-z]+) *:? +(?P<max>{NUMBER}|nan|inf|-nan) +(?P<min>{NUMBER}|nan|inf|-nan) +"
    rf"(?P<mean>{NUMBER}|nan|inf|-nan) +(?P<deviation>{NUMBER}|nan|inf|-nan)[ \t]*$",
    re.MULTILINE,
)
_VERIFIED = re.compile(r"verif\w*[^\n]{0,60}?\(?(-?\d{1,18}) errors?\b", re.IGNORECASE)
_ERROR = re.compile(
    r"^(?:V-\d+: )?(?:\w+ )?ERROR\b[^\n]{0,200}|^(?:V-\d+: )?FAIL(?:ED|URE)?\b[^\n]{0,200}", re.MULTILINE
)
_SHORT_S = 1.0


class Shape(NamedTuple):
    """What one run was asked for."""

    ranks: int
    nodes: int
    files: int  # of all ranks, in one iteration
    each: int  # of a rank
    kinds: str  # "files", "directories", "files/directories"
    write_bytes: int
    synced: bool
    own_folder: bool
    folders: int  # of the trees of all ranks, at most


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    site_mpi.need(host, "mdtest")
    return ({**params, "ranks": ranks},)


def _command(params: Params, host: Host) -> Command:
    argv = [
        *(str(params["program"]), "-n", str(params["files"]), "-i", str(params["repetitions"])),
        *("-d", f"{params['directory']}/shakedown-mdtest"),
        *("-w", str(params["file_size"]), "-e", str(params["file_size"])),
    ]
    argv += ["-u"] if params["layout"] == "folder a rank" else []
    argv += [] if params["folders"] else ["-F"]
    argv += ["-y"] if params["synced"] else []
    return Command(argv=(*argv, *str(params["arguments"]).split()), ranks=int(params["ranks"]), site_mpi=True)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each phase that was measured, of each run in the text. Raises Garbage."""
    cases = [case for run in _runs(text) for case in _of_run(run)]
    if not cases:
        raise Garbage("mdtest measured nothing: each of its rates is 0")
    return tuple(cases)


def _runs(text: str) -> Iterator[str]:
    """The runs of a text, each whole. Raises Garbage."""
    begins = [found.start() for found in _BEGIN.finditer(text)]
    if not begins or "mdtest-" not in text:
        raise Garbage(
            "this is not output of mdtest: there is no line '-- started at ...', or no 'mdtest-... was launched'"
        )
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        run = text[begin:end]
        if "\n-- finished at " not in run:
            raise Garbage("the output ends before mdtest said '-- finished at'")
        found = _VERIFIED.search(run)
        if found is None and (error := _ERROR.search(run)):
            raise Garbage(f"mdtest reports an error: {error[0]}")
        yield run


def _of_run(run: str) -> Iterator[Case]:
    shape = _shape(run)
    heads = list(_HEAD.finditer(run))
    if not heads:
        raise Garbage("there is no summary of mdtest ('SUMMARY rate: (of ... iterations)')")
    wrong = _VERIFIED.findall(run)
    check = None
    if wrong:
        value = None if any(int(one) < 0 for one in wrong) else float(sum(map(int, wrong)))
        check = Residual(value=value, limit=0.0, kind="errors that mdtest found in its files")
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        if "time" in head["what"]:
            continue
        rows = list(_ROW.finditer(run, head.end(), after.start() if after else len(run)))
        if not rows:
            raise Garbage("the summary of mdtest has no row of an operation with four rates")
        for row in rows:
            case = _case(row, shape, int(head["iterations"]), check)
            if case is not None:
                yield case


def _case(row: re.Match[str], shape: Shape, iterations: int, check: Residual | None) -> Case | None:
    """A row; None for a phase that was left out. Raises Garbage for rates that contradict one another."""
    kernel = _KERNELS.get(row["name"])
    if kernel is None:
        return None
    most, least, mean = (float(row[name]) for name in ("max", "min", "mean"))
    if most == 0 and mean == 0:
        return None
    tiny = 1e-6 * most + 0.001
    if not 0 <= least <= mean + tiny <= most + 2 * tiny < 1e15 or mean <= 0:
        raise Garbage(f"the rates of mdtest's row do not agree (max, min, mean): {row[0].strip()[:120]!r}")
    told: dict[str, Value] = {"application": "mdtest", "ranks": shape.ranks, "files": shape.each}
    told |= {"nodes": shape.nodes, "layout": "folder a rank" if shape.own_folder else "shared folder"}
    told |= {"synced": shape.synced, "iterations": iterations}
    told |= {"file_size": shape.write_bytes} if shape.write_bytes else {}
    work = {"max_op_per_s": most, "min_op_per_s": least}
    if kernel.endswith("_tree"):
        if shape.folders / mean < _SHORT_S:
            told[page_cache.DOUBT] = page_cache.TOO_SHORT
        return Case(kernel=kernel, params=told, work={**work, "op_per_s": mean}, residual=check)
    seconds = shape.files / mean
    if seconds < _SHORT_S:
        told[page_cache.DOUBT] = page_cache.TOO_SHORT
    return Case(kernel=kernel, params=told, work={**work, "op": float(shape.files)}, seconds=(seconds,), residual=check)


def _shape(run: str) -> Shape:
    """Ranks, nodes and files of a run. Raises Garbage where they are not said."""
    launched = re.search(r"mdtest-\S+ was launched with (\d{1,9}) total task\(s\) on (\d{1,9}) node", run)
    counted = re.search(r"^(\d{1,9}) tasks?, (\d{1,15}) (files/directories|files|directories)", run, re.MULTILINE)
    if launched is None or counted is None or not int(counted[2]) or not int(counted[1]):
        raise Garbage("mdtest's output does not say its tasks and files ('2 tasks, 400 files')")
    line = re.search(r"^Command line used: *([^\n]*)", run, re.MULTILINE)
    words = _words(line[1] if line else "")
    size = words[words.index("-w") + 1] if "-w" in words[:-1] else "0"
    return Shape(
        ranks=int(counted[1]),
        nodes=max(1, int(launched[2])),
        files=int(counted[2]),
        each=max(1, int(counted[2]) // int(counted[1])),
        kinds=counted[3],
        write_bytes=int(size) if re.fullmatch(r"\d{1,15}", size) else 0,
        synced="-y" in words,
        own_folder="-u" in words,
        folders=_folders(words) * (int(counted[1]) if "-u" in words else 1),
    )


def _folders(words: list[str]) -> int:
    """How many folders a tree has: ``-b`` below each (1 unless it is given), ``-z`` levels deep (0)."""
    given = {name: words[words.index(name) + 1] for name in ("-b", "-z") if name in words[:-1]}
    branch, depth = (
        int(word) if re.fullmatch(r"\d{1,4}", word) else 0 for word in (given.get("-b", "1"), given.get("-z", "0"))
    )
    return sum(branch**level for level in range(min(depth, 30) + 1))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is not closed
        return [word.strip("'\"") for word in line.split()]


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What is in doubt, and mdtest's warnings."""
    found = [
        Notice(code="mdtest-warning", text=line[:300])
        for line in dict.fromkeys(re.findall(r"^WARNING: [^\n]*", text, re.MULTILINE)[:8])
    ]
    return (*found, *page_cache.notices([(case.kernel, case.params) for case in parse(text, params)]))


def stated(text: str) -> Stated:
    """The times of the first and the last run, without a zone. No host."""
    begin, end = times(
        re.findall(r"^-- (?:started|finished) at (\d\d/\d\d/\d{4} [\d:]{8})", text, re.MULTILINE), "%m/%d/%Y %H:%M:%S"
    )
    return Stated(begin=begin, end=end)


def _estimate_s(params: Params, host: Host) -> float:
    """Each file or folder five times at 2,000 a second of all ranks."""
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    return 5.0 + 5 * (2 if params["folders"] else 1) * ranks * int(params["files"]) * int(params["repetitions"]) / 2000


WORKLOAD = TABLE.workload(
    title="mdtest: files and folders under many ranks",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("directory",),
    estimate_s=_estimate_s,
)
