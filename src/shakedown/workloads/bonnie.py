"""bonnie++ 1.96 to 2.00: an adapter that runs it in a folder and reads its line of CSV.

bonnie++ writes files through putc, in blocks and over, reads them through getc and in blocks, seeks, and makes, looks at
and deletes small files in order and at random. Its K is 1024 bytes. What took less than half a second it prints as
``+++++`` and what was left out as nothing: neither was measured, and neither becomes a figure. The text table rounds, and
for small files it disagrees with the CSV (4096/s beside 322/s of the same run): only the CSV is read. A rate is a work
over a time, the file's size and the number of files over it; bonnie++ prints no times. Its latencies are the longest of
all operations. It checks what it reads only by the reads succeeding, so that no case has a check.

Closing a file, bonnie++ calls fsync within the time, so that writing is that of the device; reading is not unless the
file is larger than the page cache. bonnie++ therefore wants one of twice the memory; ``memory`` false (``-r 0``) lets it
be smaller, and the figures are then in doubt.

Source: bon_csv2html(1) of bonnie++ 2.00a, "FORMAT"; bonnie++(8); README-2.00 ("when closing files ... fsync").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Value
from ..units import show_bytes
from . import Garbage, Stated
from .common import page_cache
from .common.passes import joined
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

_KIB, _MIB = 1024, 2**20
_VERSIONS = ("1.96", "1.97", "1.98")
#: Of a line: how many words stand before the rates of files and behind their latencies, counted from the right.
_BEHIND = 5 + 12 + 12
_BULK = ("putc", "write", "rewrite", "getc", "read", "seek")
_SMALL = tuple(f"{order}{action}" for order in ("", "random_") for action in ("create", "stat", "unlink"))
_SIZES = {"": _MIB, "K": _KIB, "M": _MIB, "G": 2**30, "T": 2**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class Line(NamedTuple):
    """One line of CSV, each word where it belongs whatever the version."""

    name: str
    concurrency: int
    size: str
    chunk: str
    bulk: tuple[str, ...]
    files: tuple[str, ...]  # number, max size, min size, directories, chunk
    small: tuple[str, ...]
    latencies: tuple[str, ...]


def _command(params: Params, host: Host) -> Command:
    files = f"{params['files']}:{params['file_size']}" if params["file_size"] else str(params["files"])
    argv = [
        str(params["program"]),
        *("-q", "-d", str(params["directory"])),
        *("-s", f"{max(1, int(params['size']) // _MIB) if int(params['size']) else 0}:{params['block']}"),
        *("-n", files, "-m", re.sub(r"[^\w.-]", "-", host.name)[:60] or "host"),
        *("-c", str(params["threads"]), "-x", str(params["repetitions"])),
    ]
    argv += [] if params["memory"] else ["-r", "0"]
    # Bytes one at a time are not what O_DIRECT takes: bonnie++ would end with "disk full?".
    argv += ["-f"] if params["direct"] or not params["characters"] else []
    argv += ["-D"] if params["direct"] else []
    argv += ["-b"] if params["synced"] else []
    argv += ["-u", str(params["user"])] if params["user"] else []
    return Command(argv=tuple(argv))


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    memory = machine.hosts[0].memory.total_bytes
    size = 2 * memory if params["size"] == "auto" else int(params["size"])
    if params["memory"] and 0 < size < 2 * memory:
        raise BadInput(
            f"bonnie.size = {size}: bonnie++ refuses a file that is not twice the memory ({show_bytes(memory)})",
            hint="size = 'auto', or memory = false, and the figures are in doubt",
        )
    return (page_cache.resolved({**params, "size": -(-size // _MIB) * _MIB}, machine),)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The cases of each line of CSV. Raises Garbage."""
    cases: list[Case] = []
    for line in _lines(text):
        cases += _bulk(line, params)
        cases += _small(line)
    if not cases:
        raise Garbage("bonnie++ measured nothing: everything was left out, or took less than half a second ('+++++')")
    return joined(cases)


def _lines(text: str) -> list[Line]:
    """The lines of CSV in a text, tables and progress beside them passed over. Raises Garbage."""
    found = []
    for row in text.splitlines():
        words = row.strip().split(",")
        if words[0] in _VERSIONS and len(words) > 2:
            found.append(_line(words))
        elif re.match(r"\d\.\d\d?\w*,\d\.", row):
            raise Garbage(f"bonnie++'s CSV of format {words[0][:8]!r} is not known (known: {', '.join(_VERSIONS)})")
    if not found:
        raise Garbage("there is no line of bonnie++'s CSV ('1.98,2.00a,NAME,...'); its text table alone is not exact")
    return found


def _line(words: list[str]) -> Line:
    """The parts of a line, from both ends: 1.98 has two words more (seeks, seekers), and 1.96 drops one of a test that was
    left out. Raises Garbage for another number of words, and for a last one that has been cut."""
    before = 7 + 2 * (words[0] == "1.98")
    bulk = words[before : len(words) - _BEHIND]
    if len(bulk) not in (12, 11) or (len(bulk) == 11 and any(bulk)):
        raise Garbage(f"a line of bonnie++'s CSV has {len(words)} words; whole ones have {before + 12 + _BEHIND}")
    latencies = tuple(words[-12:])
    if not all(re.fullmatch(r"(\d{1,12}(us|ms|s))?", one) for one in latencies):
        raise Garbage(f"the latencies of bonnie++'s line are not times: {','.join(latencies)[:120]!r}")
    files, small = words[-_BEHIND:-24], words[-24:-12]
    rates = (*(bulk[::2] if len(bulk) == 12 else [""] * 6), *small[::2])
    if [bool(one) for one in rates] != [bool(one) for one in latencies]:
        raise Garbage("a line of bonnie++'s CSV has rates without latencies, or latencies without rates: it was cut")
    count = _whole(words[3], "concurrency")
    return Line(words[2], count, words[5], words[6], tuple(bulk[::2]), tuple(files), tuple(small[::2]), latencies)


def _bulk(line: Line, params: Params) -> list[Case]:
    """Writing, reading and seeking. A rate in K/s, of 1024 bytes; seeks in /s."""
    if not any(line.bulk):
        return []
    size = re.fullmatch(r"(\d{1,9})([KMGT]?)(?::.*)?", line.size)
    if size is None:
        raise Garbage(f"bonnie++'s line does not say how large its file was: {line.size[:40]!r}")
    total = float(int(size[1]) * _SIZES[size[2]])
    block = _whole(line.chunk, "chunk size") if line.chunk else 8192
    told: dict[str, Value] = {"application": "bonnie++", "threads": line.concurrency, "size": int(total)}
    cases = []
    for kernel, word, latency in zip(_BULK, line.bulk, line.latencies[:6], strict=False):
        rate = _rate(word)
        if rate is None:
            continue
        if kernel == "seek":
            # How many it sought it does not print: one, and the time of one.
            cases.append(_case(kernel, told, {"op": 1.0}, 1 / rate, latency))
            continue
        seconds = total / (rate * _KIB)
        direction = "read" if kernel in ("read", "getc") else "write"
        direct = bool(params.get("direct", False)) and kernel not in ("putc", "getc")
        moved = page_cache.Moved(direction, total, seconds, direct=direct, synced=direction == "write")
        of_kernel: dict[str, Value] = {**told, "block": 1 if kernel in ("putc", "getc") else block}
        of_kernel |= page_cache.verdict(moved, params)
        cases.append(_case(kernel, of_kernel, {"bytes": total}, seconds, latency))
    return cases


def _small(line: Line) -> list[Case]:
    """Small files made, looked at and removed; the number counts 1024 of them."""
    if not any(line.small):
        return []
    files = _whole(line.files[0], "number of files") * 1024
    told: dict[str, Value] = {"application": "bonnie++", "threads": line.concurrency, "files": files}
    if line.files[1]:
        told["file_size"] = line.files[1][:20]
    cases = []
    for kernel, word, latency in zip(_SMALL, line.small, line.latencies[6:], strict=True):
        rate = _rate(word)
        if rate is not None:
            cases.append(_case(kernel, told, {"op": float(files)}, files / rate, latency))
    return cases


def _case(kernel: str, told: Params, work: dict[str, float], seconds: float, latency: str) -> Case:
    longest = re.fullmatch(r"(\d{1,12})(us|ms|s)", latency)
    if longest:
        work = {**work, "latency_max_s": int(longest[1]) * _SECONDS[longest[2]]}
    return Case(kernel=kernel, params=told, work=work, seconds=(seconds,))


def _rate(word: str) -> float | None:
    """A rate; None for what was not measured: nothing, or ``+++++``. Raises Garbage."""
    if not word or set(word) == {"+"}:
        return None
    if not re.fullmatch(NUMBER, word) or not 0 < float(word) < 1e15:
        raise Garbage(f"a rate of bonnie++'s line is not a number: {word[:40]!r}")
    return float(word)


def _whole(word: str, what: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", word):
        raise Garbage(f"the {what} of bonnie++'s line is not a count: {word[:40]!r}")
    return int(word)


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What took less than half a second, and what may be of the page cache."""
    lines = _lines(text)
    short = {
        kernel: None
        for line in lines
        for kernel, word in zip((*_BULK, *_SMALL), (*line.bulk, *line.small), strict=False)
        if word.startswith("+")
    }
    found = page_cache.notices([(case.kernel, case.params) for case in parse(text, params)])
    if short:
        said = f"bonnie++ measured nothing of {', '.join(short)}: each took less than half a second"
        found += (Notice(code="bonnie-part-left-out", text=said, advice="a larger size, or more files"),)
    return found


def stated(text: str) -> Stated:
    """The machine's name as it was given. The seed is near the time of the start, and not that time."""
    found = re.search(r"^1\.9[678],[^,\n]*,([^,\n]{1,255}),", text, re.MULTILINE)
    return Stated(host=found[1] if found else "")


def _estimate_s(params: Params, host: Host) -> float:
    """Five times the file at 200 MB/s, what putc and getc take, and a thousand files a second six times."""
    size = 0 if params["size"] == "auto" else int(params["size"])
    return 10.0 + int(params["repetitions"]) * (5 * size / 200e6 + 6 * 1.024 * int(params["files"]))


WORKLOAD = TABLE.workload(
    title="bonnie++: a file system with one large file and many small ones",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    marks=("directory",),
    estimate_s=_estimate_s,
)
