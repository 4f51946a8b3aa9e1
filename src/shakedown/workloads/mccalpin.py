"""John McCalpin's STREAM 5.10, as a site has compiled it: an adapter that runs it and reads what it prints.

STREAM prints the best rate of its repeats (not the median), in bytes that its source names: 16 a element for copy and
scale, 24 for add and triad. Its own check ("Solution Validates") decides whether there is a result. The best, mean and
worst times are kept as figures; the single times are not printed, so there are no samples and no interval. The unit is
that of the table's heading, and a rate that is not the kernel's bytes over the least time is refused.

Source: J. D. McCalpin, STREAM: Sustainable Memory Bandwidth in High Performance Computers, stream.c revision 5.10.
"""

from __future__ import annotations

import math
import re

from .. import units
from ..launchers import Command
from ..records import Case, Host, Notice, Params, Residual
from . import Garbage, Stated
from .common.printed import NUMBER, half_place
from .common.table import table_of

TABLE = table_of(__file__)

#: How many elements a kernel reads and writes for each of an array.
WORDS_MOVED = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
KERNELS = tuple(WORDS_MOVED)


def _command(params: Params, host: Host) -> Command:
    threads = str(params["threads"])
    env = {} if threads == "all" else {"OMP_NUM_THREADS": threads}
    return Command(argv=(str(params["program"]),), env={"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores", **env})


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The four kernels from STREAM's output. Raises Garbage."""
    sizes = re.findall(r"Array size = (\d{1,15})\b", text)
    if not sizes:
        raise Garbage("this is not output of STREAM: there is no line 'Array size = ...'")
    if len(sizes) > 1:
        raise Garbage(f"the text holds {len(sizes)} outputs of STREAM; give each in a file of its own")
    failed = "Failed Validation" in text
    if not failed and "Solution Validates" not in text:
        raise Garbage("the output ends before STREAM's own check ('Solution Validates')")
    check = Residual(value=1.0 if failed else 0.0, limit=0.0, kind="STREAM's own validation")
    word = re.search(r"uses (\d{1,2}) bytes per", text)
    element = int(word[1]) if word else 8
    threads = re.search(r"Number of Threads counted = (\d{1,9})\b", text)
    unit = _unit(text)
    cases = []
    for kernel in KERNELS:
        row = re.search(rf"^{kernel.capitalize()}:{4 * rf' +({NUMBER})'} *$", text, re.MULTILINE)
        if row is None:
            raise Garbage(f"there is no row '{kernel.capitalize()}:' with a rate and three times")
        rate = float(row[1]) * unit
        _agree(kernel, row, rate, WORDS_MOVED[kernel] * element * int(sizes[0]), unit)
        cases.append(
            Case(
                kernel=kernel,
                residual=check,
                params={
                    "threads": int(threads[1]) if threads else 1,
                    "bytes": int(sizes[0]) * element,
                    "level": "memory",
                },
                work={
                    "best_bytes_per_s": rate,
                    "mean_s": float(row[2]),
                    "min_s": float(row[3]),
                    "max_s": float(row[4]),
                },
            )
        )
    return tuple(cases)


def _unit(text: str) -> float:
    """What the heading of the table says that rates are in, as B/s. Raises Garbage where it names none that is known."""
    heading = re.search(r"^Function +(?:Best )?Rate +\(?(\S+?)\)? ", text, re.MULTILINE)
    if heading is None:
        raise Garbage("the table has no heading 'Function    Best Rate MB/s ...': the unit of its rates is not known")
    try:
        factor, unit = units.parse_quantity(f"1 {heading[1]}")
    except ValueError:
        factor, unit = 0.0, ""
    if unit != "B/s":
        raise Garbage(f"the table's rates are in {heading[1]!r}, which is not a rate of bytes")
    return factor


def _agree(kernel: str, row: re.Match[str], rate: float, moved: int, unit: float) -> None:
    """The rate is the kernel's bytes over the least time, each within half its last printed place. Raises Garbage."""
    least_s, half_s, half = float(row[3]), half_place(row[3]), half_place(row[1]) * unit
    high = moved / (least_s - half_s) if least_s > half_s else math.inf
    low = moved / (least_s + half_s) if least_s > 0 else math.inf
    if not (math.isfinite(rate) and low * (1 - 1e-6) <= rate + half and rate - half <= high * (1 + 1e-6)):
        raise Garbage(
            f"the rate of {kernel} ({row[1]}) is not its {moved} bytes over the least time ({row[3]} s): the unit in the "
            "heading is wrong, or this is not STREAM's count of bytes"
        )


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """STREAM's doubts: fewer threads than were asked for, kernels too short for its clock, a size too large to count."""
    found = []
    asked, got = (re.search(rf"Number of Threads {word} = (\d{{1,9}})\b", text) for word in ("requested", "counted"))
    if asked and got and int(got[1]) < int(asked[1]):
        found.append(
            Notice(
                code="stream-threads",
                text=f"STREAM requested {asked[1]} threads and counted {got[1]}",
                advice="look at OMP_THREAD_LIMIT, OMP_DYNAMIC and the CPUs that it may use",
            )
        )
    ticks = re.search(r"\(= (-?\d{1,15}) clock ticks\)", text)
    if ticks and int(ticks[1]) < 20:
        found.append(
            Notice(
                code="stream-clock",
                text=f"each kernel took about {ticks[1]} ticks of STREAM's clock, and it asks for 20: its times are coarse",
                advice="compile it with a larger STREAM_ARRAY_SIZE",
            )
        )
    return tuple(found)


WORKLOAD = TABLE.workload(
    title="STREAM 5.10 by McCalpin, as the site compiled it",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),  # neither host nor time
    estimate_s=lambda params, host: 20.0,
)
