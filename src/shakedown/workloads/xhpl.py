"""A site's own HPL, as it is installed: an adapter that writes HPL.dat, runs the program and reads what it prints.

The result lines (``WR11C2R4 ...``) and the residual lines are those of netlib HPL 2.3, which Intel's, NVIDIA's, AMD's Zen
HPL and rocHPL print too; which one it was is read from the text and kept as ``implementation``. A line gives N, Time and
Gflops; the seconds are the middle of those that Time and (2/3 N^3 + 3/2 N^2) / Gflops both allow, each within half its
last printed place, and a line whose three numbers do not agree is refused. Each line is one case. A residual above its
threshold, or the word FAILED, gives no score; where the threshold was 0 or less nothing was checked, and the case says "not
verified". What ran on GPUs says on how many, and is not laid over the peak of the processor's cores.

``dat`` names an HPL.dat of the site's that is used unchanged; otherwise one is written from the other parameters, with the
same choice of N as ``hpl``. The program is started by the site's mpirun; with ``ranks = 0`` it is started as it is (a
script that starts its own ranks). ``arguments`` are words behind it: NVIDIA's hpl.sh wants ``--dat HPL.dat``.

Formats: netlib HPL 2.3 (testing/ptest/HPL_pdtest.c) and a log of it; logs of AMD's Zen HPL, of Intel's xhpl (oneMKL's
Distribution for LINPACK) and of NVIDIA's HPL 1.0 and 25.02. Of rocHPL no log was at hand: its lines follow its source
(src/HPL_pdtest.cpp).
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from . import Garbage, Stated
from .common import hpl, hpl_dat, lists
from .common import printed as _printed
from .common.hpl_dat import BCASTS, FACTS, HplDat
from .common.table import table_of

TABLE = table_of(__file__)

_RESULT = re.compile(
    rf"^(?P<variant>W\S+) +(?P<n>\d{{1,12}}) +(?P<nb>\d{{1,9}}) +(?P<p>\d{{1,9}}) +(?P<q>\d{{1,9}}) +"
    rf"(?P<time>{_printed.NUMBER}) +(?P<gflops>{_printed.NUMBER})(?: *\( *(?P<each>{_printed.NUMBER}) *\))?\s*$",
    re.MULTILINE,
)
#: One for each result since HPL 2.0; HPL 1.0 prints three, each with other norms below.
_RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo */ *\( *eps *\*[^=\n]*= *(\S+) +\.+ *(PASSED|FAILED)", re.MULTILINE)
_VARIANT = re.compile(r"W([RC])(\d)(\d)([LCR])(\d{1,9})([LCR])(\d{1,9})")
_LETTERS = {"L": "left", "C": "crout", "R": "right"}
#: What only one implementation prints, the first that is found decides.
_SIGNS = (
    ("nvidia", re.compile(r"HPL-NVIDIA|Gflops +\( *per GPU\)")),
    ("rochpl", re.compile(r"rocHPL|^Final Score: |^p {6}: ", re.MULTILINE)),
    ("amd-zen", re.compile(r"BCAST +: +HybBcast|Column=\d+ +Fraction= *[\d.]+% +Gflops=")),
    (
        "intel",
        re.compile(
            r"Column=\d+ +Fraction=[\d.]+ +Kernel=|Intel\(R\) Xeon Phi|HPL Efficiency by CPU Cycle|^NB {7}: ",
            re.MULTILINE,
        ),
    ),
)
_MOST_GPUS = 10**7
_OF_GPUS = re.compile(r"GPU_COLS:")


class _Line(NamedTuple):
    """One result line, understood."""

    params: Params
    seconds: float
    end: int  # where it ends in the text


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """Every result line with its residual. Raises Garbage."""
    if "T/V " not in text:
        raise Garbage("this is not output of HPL: there is no table 'T/V  N  NB  P  Q  Time  Gflops'")
    if "End of Tests." not in text:
        raise Garbage("the output ends before HPL said 'End of Tests.'")
    kind = implementation(text)
    lines = [_line(found, kind, text) for found in _RESULT.finditer(text)]
    skipped = _counted(text, _SKIPPED)
    if not lines:
        why = f": {skipped} tests were skipped because of illegal input values" if skipped else ""
        raise Garbage(f"HPL's table has no result{why}")
    finished = _counted(text, _FINISHED)
    if finished is not None and finished - (skipped or 0) != len(lines):
        raise Garbage(f"there are {len(lines)} result lines, and HPL counted {finished - (skipped or 0)} tests")
    cases = []
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        check = _check(text, line.end, following.end if following else len(text))
        threads = params.get("threads")
        told: Params = {**line.params, **({"threads": threads} if isinstance(threads, int) else {})}
        if check is None:
            told["check"] = "not verified"
        cases.append(
            Case(
                kernel="hpl",
                params=told,
                work={"flop": hpl.flop(int(line.params["n"]))},
                seconds=(line.seconds,),
                residual=check,
            )
        )
    failed = _counted(text, _FAILED) or 0
    if failed > sum(case.residual is not None and not case.residual.passed for case in cases):
        raise Garbage(f"HPL counted {failed} tests that failed their residual check, and the lines show fewer")
    return tuple(cases)


_FINISHED = re.compile(r"^Finished +(\d{1,9}) +tests? with the following results", re.MULTILINE)
_SKIPPED = re.compile(r"(\d{1,9}) +tests? skipped because of illegal input values")
_FAILED = re.compile(r"(\d{1,9}) +tests? completed and failed residual checks")


def stated(text: str) -> Stated:
    """The times around HPL's solver, without a zone; in their place the stamps that NVIDIA's prints. No host."""
    begin, end = _printed.times(
        re.findall(r"^HPL_pdgesv\(\) (?:start|end) time +([^\n]{10,40})$", text, re.MULTILINE), "%a %b %d %H:%M:%S %Y"
    )
    if begin is None:
        stamps = re.findall(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})$", text, re.MULTILINE)
        begin, end = _printed.times(stamps, "%Y-%m-%d %H:%M:%S.%f")
    return Stated(begin=begin, end=end)


def _counted(text: str, what: re.Pattern[str]) -> int | None:
    """A count at HPL's end, over all ends of a text; None where it states none."""
    found = what.findall(text)
    return sum(map(int, found)) if found else None


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What HPL left out, and its own warnings."""
    found = []
    if skipped := _counted(text, _SKIPPED):
        found.append(
            Notice(
                code="hpl-tests-skipped",
                text=f"HPL skipped {skipped} tests because of illegal input values",
                advice="look for HPL ERROR and HPL WARNING in its output, and correct HPL.dat",
            )
        )
    for said in dict.fromkeys(re.findall(r"^HPL (?:WARNING|ERROR)[^\n]*\n?[^\n]*", text, re.MULTILINE)[:8]):
        found.append(Notice(code="hpl-warning", text=" ".join(said.split())[:300]))
    return tuple(found)


def implementation(text: str) -> str:
    """Whose HPL printed a text: netlib (or one that prints no more than it), intel, nvidia, amd-zen or rochpl."""
    return next((name for name, sign in _SIGNS if sign.search(text)), "netlib")


def _line(found: re.Match[str], kind: str, text: str) -> _Line:
    n, nb, p, q = (int(found[name]) for name in ("n", "nb", "p", "q"))
    told: Params = {
        "n": n,
        "nb": nb,
        "p": p,
        "q": q,
        "ranks": p * q,
        "implementation": kind,
        **_variant(found["variant"]),
    }
    gflops = float(found["gflops"])
    if found["each"] and 0 < float(found["each"]) <= gflops < _MOST_GPUS * float(found["each"]):
        told["gpus"] = round(gflops / float(found["each"]))
    elif kind == "rochpl" or (kind == "nvidia" and _OF_GPUS.search(text)):
        told["gpus"] = p * q  # one GPU a rank
    return _Line(told, _seconds(found[0], n, found["time"], found["gflops"]), found.end())


def _variant(code: str) -> Params:
    """``WR11C2R4``: mapping, depth, broadcast, RFACT, NDIV, PFACT and NBMIN; a code of another form is kept as it is."""
    found = _VARIANT.fullmatch(code)
    if found is None or int(found[3]) >= len(BCASTS):
        return {"mapping": {"R": "row", "C": "column"}.get(code[1:2], ""), "variant": code}
    told: dict[str, Value] = {
        "mapping": "row" if found[1] == "R" else "column",
        "depth": int(found[2]),
        "bcast": BCASTS[int(found[3])],
        "rfact": _LETTERS[found[4]],
        "ndiv": int(found[5]),
        "pfact": _LETTERS[found[6]],
        "nbmin": int(found[7]),
    }
    return told


def _seconds(line: str, n: int, time: str, gflops: str) -> float:
    """The middle of the times that both numbers of a line allow, each within half its last place.

    Raises Garbage where they allow none."""
    seconds, rate = _printed.span(time), _printed.span(gflops, 1e9)
    if not (float(time) > 0 and rate.low > 0 and math.isfinite(rate.high)):
        raise Garbage(f"a result without a time or a rate: {line.strip()!r}")
    found = _printed.agreed_s(_printed.Span(hpl.flop(n), hpl.flop(n)), seconds, rate)
    if found is None:
        raise Garbage(f"N, Time and Gflops do not agree (2/3 N^3 + 3/2 N^2 operations): {line.strip()!r}")
    return found


def _check(text: str, begin: int, end: int) -> Residual | None:
    """The residual between two result lines; None where HPL was told to check nothing."""
    stated = re.search(rf"scaled residuals are less than +({_printed.NUMBER})", text)
    limit = float(stated[1]) if stated else 16.0
    found = _RESIDUAL.findall(text, begin, end)
    if not found:
        if "without checking" in text or limit <= 0:
            return None
        raise Garbage("a result has no residual line behind it ('||Ax-b||_oo/(eps*...')")
    checks = [_residual(value, word, limit) for value, word in found]
    return next((check for check in checks if not check.passed), max(checks, key=lambda one: one.value or 0.0))


def _residual(printed: str, word: str, limit: float) -> Residual:
    """A printed residual: it passes where both the number and the word say so."""
    try:
        value = float(printed)
    except ValueError:
        value = math.nan
    passed = word == "PASSED" and value <= limit  # false for NaN
    known = value if math.isfinite(value) and (passed or value > limit) else None
    return Residual(value=known, limit=limit, kind="HPL scaled residual")


# --------------------------------------------------------------------------------------------------------------- start


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    text = _text(str(params["dat"])) if params["dat"] else ""
    dat = hpl_dat.read(text, where=str(params["dat"])) if text else None
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    if dat and params["ranks"] == "all":
        ranks = dat.ranks
    if ranks and not any(one.kind == "mpi" for one in host.software):
        raise Unavailable(
            "a site's HPL needs the MPI that it was built with; no mpirun was found",
            hint="load the site's MPI module, install openmpi-bin, or give ranks = 0 for a program that starts its own",
        )
    threads = max(1, cores(host) // max(1, ranks)) if params["threads"] == "auto" else int(params["threads"])
    dat = dat or _written(params, host, ranks, threads)
    if ranks and dat.ranks > ranks:
        raise BadInput(
            f"xhpl: a grid of the HPL.dat needs {dat.ranks} ranks, and {ranks} are requested",
            hint=f"ranks = {dat.ranks}",
        )
    if dat.device == hpl_dat.STDERR:
        raise BadInput("sends the result to standard error (device 7)", where=str(params["dat"]), hint="make it 6 or 8")
    return ({**params, "ranks": ranks, "threads": threads, "dat_text": text or hpl_dat.text(dat)},)


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=path, hint="give the path of an HPL.dat") from None


def _written(params: Params, host: Host, ranks: int, threads: int) -> HplDat:
    """What the HPL.dat says that is written from the parameters."""
    if not ranks and "auto" in (params["p"], params["q"]):
        raise BadInput("xhpl.ranks = 0 leaves the grid open", hint="give p and q, or the site's HPL.dat as dat")
    shapes = hpl.grids(params, ranks, "xhpl")
    nbs = (hpl.block(host),) if params["nb"] == "auto" else lists.whole(params["nb"], "xhpl.nb")
    orders = hpl.orders(params, host, nbs, shapes, max(1, ranks) * threads, where="xhpl")
    return HplDat(
        n=orders,
        nb=nbs,
        grids=shapes,
        mapping=str(params["mapping"]),
        threshold=float(params["threshold"]),
        pfact=lists.known_words(params["pfact"], FACTS, "xhpl.pfact"),
        rfact=lists.known_words(params["rfact"], FACTS, "xhpl.rfact"),
        nbmin=lists.whole(params["nbmin"], "xhpl.nbmin"),
        ndiv=lists.whole(params["ndiv"], "xhpl.ndiv", low=2),
        bcast=lists.known_words(params["bcast"], BCASTS, "xhpl.bcast"),
        depth=lists.whole(params["depth"], "xhpl.depth", low=0),
        swap=str(params["swap"]),
        swap_threshold=int(params["swap_threshold"]),
    )


def _command(params: Params, host: Host) -> Command:
    dat = hpl_dat.read(str(params["dat_text"]))
    threads = str(params["threads"])
    return Command(
        argv=(str(params["program"]), *str(params["arguments"]).split()),
        env=dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), threads),
        ranks=int(params["ranks"]),
        files={"HPL.dat": str(params["dat_text"])},
        output="" if dat.device in (hpl_dat.STDOUT, hpl_dat.STDERR) else dat.output,
        site_mpi=True,
    )


def _estimate_s(params: Params, host: Host) -> float:
    """Every combination of the HPL.dat once, at the rate that is guessed for this machine."""
    dat = hpl_dat.read(str(params["dat_text"]))
    threads = min(cores(host), max(1, int(params["ranks"])) * int(params["threads"]))
    systems = len(dat.nb) * len(dat.grids) * dat.combinations
    return 1.0 + systems * sum(1.2 * hpl.run_s(n, threads, host) for n in dat.n)


def _label(params: Params) -> str:
    dat = hpl_dat.read(str(params["dat_text"]))
    many = len(dat.nb) * len(dat.grids) * len(dat.n) * dat.combinations
    shape = f"N {','.join(map(str, dat.n))}, {' and '.join(f'{p} x {q}' for p, q in dat.grids)}"
    return f"{params['program']} {shape}" + (f", {many} systems" if many > 1 else "")


WORKLOAD = TABLE.workload(
    title="High-Performance Linpack, as the site installed it",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    estimate_s=_estimate_s,
    label=_label,
)
