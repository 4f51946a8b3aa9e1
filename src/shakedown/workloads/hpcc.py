"""HPC Challenge (hpcc), as a site has installed it: an adapter that writes its input, runs it and reads its summary.

One program gives HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT and ping-pong, each alone on one rank ("Single"), on all
ranks at once ("Star") and across all ranks ("MPI"). Each figure is printed once, so there is no interval within a run:
repeats of the run give one. What the parts check of their results is read, and a part that failed has no score: HPL's,
PTRANS', DGEMM's and FFT's residuals against the threshold of the input (16), STREAM's validation, the share of wrong
updates in RandomAccess (1 %), ranks with an error in any of them, and ``Success`` in the summary, which hpcc sets to 0
where any part failed on any rank. Ping-pong and rings are not checked by the program.

Source: HPC Challenge 1.5, README and hpccoutf.txt's summary section.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import hpl_dat, site_mpi
from .common.hpl import grid
from .common.hpl_dat import HplDat
from .common.printed import at
from .common.table import table_of

TABLE = table_of(__file__)

#: Of scaled residuals, in the input that is written; a text that states its own is held against that.
THRESHOLD = 16.0

_STREAMS = ("Copy", "Scale", "Add", "Triad")
#: What a figure's key in the summary ends in, and its unit in SI; STREAM's are GB/s and end in their kernel.
_UNITS = {"Tflops": 1e12, "Gflops": 1e9, "GBs": 1e9, "GBytes": 1e9, "GUPs": 1e9, "usec": 1e-6}
_UNITS |= dict.fromkeys(_STREAMS, 1e9)

#: What hpccinf.txt has behind the lines of an HPL.dat.
_PTRANS = """separator, ignored
1            Number of additional problem sizes for PTRANS
{n}          values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = len(host.usable_cpus) if params["ranks"] == "all" else int(params["ranks"])
    memory = host.memory.room_bytes
    n = int(params["n"])
    if 8 * n * n > 0.8 * memory:
        raise BadInput(
            f"hpcc's matrix of N = {n} takes {8 * n * n / 2**30:.1f} GiB, more than 80 % of the "
            f"{memory / 2**30:.1f} GiB that are free",
            hint=f"at most n = {math.isqrt(int(0.1 * memory))}",
        )
    site_mpi.need(host, "hpcc")
    return ({**params, "ranks": ranks},)


def _command(params: Params, host: Host) -> Command:
    n, nb, ranks = (int(params[name]) for name in ("n", "nb", "ranks"))
    dat = HplDat(n=(n,), nb=(nb,), grids=(grid(ranks),), threshold=THRESHOLD, device=8)
    return Command(
        argv=(str(params["program"]),),
        ranks=ranks,
        files={"hpccinf.txt": hpl_dat.text(dat) + _PTRANS.format(n=n)},
        output="hpccoutf.txt",
        site_mpi=True,
    )


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The figures of the summary section, each with the check of its part. Raises Garbage."""
    found = re.findall(r"^Begin of Summary section\.$(.*?)^End of Summary section\.$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise Garbage("there is no whole summary section ('Begin of Summary section.' to 'End of Summary section.')")
    if len(found) > 1:
        raise Garbage(f"the text holds the summaries of {len(found)} runs; give each in a file of its own")
    lines = dict(line.split("=", 1) for line in found[0].split() if "=" in line)
    keys = [metric.kernel for metric in TABLE.metrics]
    values = {key: _number(lines, key) * _UNITS[key.rpartition("_")[2]] for key in keys}
    base: Params = {name: _whole(lines, key) for name, key in _WHERE}
    checks = _checks(text, lines)
    if _whole(lines, "Success") != 1 and all(check.passed for check in checks.values()):
        whole = Residual(value=1.0, limit=0.0, kind="hpcc's verdict on the whole run (Success=0)")
        checks = dict.fromkeys(values, whole)
    return tuple(
        Case(kernel=key, params=base, work={"value": value}, residual=checks.get(key))
        for key, value in values.items()
        if value > 0  # a part that was left out prints 0 or -1: it was not measured
    )


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Which parts hpcc left out, and what it said of them."""
    left = re.findall(r"^(\w+?)(?:_GBs|_GUPs|_Gflops|_Tflops|_Copy|_Triad)=(?:0|-1)(?:\.0*)?$", text, re.MULTILINE)
    if not left:
        return ()
    said = re.search(r"^Failed to allocate.*$", text, re.MULTILINE)
    return (
        Notice(
            code="hpcc-part-left-out",
            text=f"hpcc measured nothing of {', '.join(dict.fromkeys(left))}" + (f": {said[0]}" if said else ""),
            advice="look into hpccoutf.txt; a smaller n takes less memory",
        ),
    )


def stated(text: str) -> Stated:
    """The host of rank 0, and hpcc's stamps in seconds since 1970."""
    host = re.search(r"^Hostname: '([^'\n]{1,255})'", text, re.MULTILINE)
    begin, end = at(re.findall(r"^Current time \((\d{1,10})\) is ", text, re.MULTILINE))
    return Stated(host=host[1] if host else "", begin=begin, end=end)


#: Parameters of the cases, and where in the summary they stand.
_WHERE = (("ranks", "CommWorldProcs"), ("n", "HPL_N"), ("nb", "HPL_NB"))


def _number(lines: Mapping[str, str], key: str) -> float:
    """A number of the summary. Raises Garbage where there is none."""
    try:
        value = float(lines[key])
    except (KeyError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise Garbage(f"the summary has no number {key!r}")
    return value


def _whole(lines: Mapping[str, str], key: str) -> int:
    value = _number(lines, key)
    if not value.is_integer():
        raise Garbage(f"the summary's {key!r} is not a whole number: {lines[key]}")
    return int(value)


def _checks(text: str, lines: Mapping[str, str]) -> dict[str, Residual]:
    """The check of each figure: what its part prints of it, in the section or in the summary. The sources are those of
    hpcc 1.5: DGEMM's and FFT's residuals are held against the threshold of the input, as HPL's and PTRANS' are."""
    stated = re.search(r"scaled residuals are less than +(\S+)", text)
    limit = (
        float(stated[1]) if stated and re.fullmatch(r"\d+(\.\d*)?(e[+-]?\d{1,3})?", stated[1], re.ASCII) else THRESHOLD
    )
    found = {
        "HPL_Tflops": _hpl_check(text, lines, limit),
        "PTRANS_GBs": _ptrans_check(text, lines, limit),
        "MPIRandomAccess_GUPs": Residual(
            value=_number(lines, "MPIRandomAccess_ErrorsFraction"), limit=0.01, kind="fraction of wrong updates"
        ),
        "MPIFFT_Gflops": _fft_check(lines, limit),
    }
    for way in ("Star", "Single"):
        found[f"{way}DGEMM_Gflops"] = _section_check(text, f"{way}DGEMM", limit)
        validated = _section_check(text, f"{way}STREAM", limit)
        found |= {f"{way}STREAM_{kernel}": validated for kernel in _STREAMS}
    return {key: check for key, check in found.items() if check is not None}


def _hpl_check(text: str, lines: Mapping[str, str], limit: float) -> Residual | None:
    """The worst residual that HPL printed; from the norms in the summary where its section is missing."""
    kind = "HPL residual"
    printed = re.findall(r"\|\|Ax-b\|\|_oo */ *\( *eps *\*[^=\n]*= *(\S+) +\.+ *(PASSED|FAILED)", text)
    if printed:
        values = [_float(value) for value, _ in printed]
        failed = any(word == "FAILED" for _, word in printed)
        worst = math.nan if any(map(math.isnan, values)) else max(values)
        return Residual(
            value=None if math.isnan(worst) or (failed and worst <= limit) else worst, limit=limit, kind=kind
        )
    if _number(lines, "HPL_Tflops") <= 0:
        return None
    eps, rest, a, x, b, n = (
        _number(lines, f"HPL_{name}") for name in ("eps", "RnormI", "AnormI", "XnormI", "BnormI", "N")
    )
    scale = eps * (a * x + b) * n
    return Residual(value=rest / scale if scale > 0 else None, limit=limit, kind=kind)


def _ptrans_check(text: str, lines: Mapping[str, str], limit: float) -> Residual | None:
    """Tests that PTRANS counted as failed, else its residual."""
    section = _section(text, "PTRANS")
    failed = re.findall(r"(\d+) tests? completed and failed residual checks", section)
    count = max(sum(int(one[:9]) for one in failed), len(re.findall(r"^(?:WALL|CPU) .*FAILED", section, re.MULTILINE)))
    if count:
        return Residual(value=float(count), limit=0.0, kind="PTRANS tests that failed their residual check")
    if _number(lines, "PTRANS_GBs") <= 0:
        return None
    return Residual(value=_number(lines, "PTRANS_residual"), limit=limit, kind="PTRANS residual")


def _fft_check(lines: Mapping[str, str], limit: float) -> Residual | None:
    """max |x - x0| / ln(n) / eps, as hpcc's mpifft.c judges the transform there and back."""
    if _number(lines, "MPIFFT_Gflops") <= 0:
        return None
    error, n, eps = (_number(lines, key) for key in ("MPIFFT_maxErr", "MPIFFT_N", "HPL_eps"))
    known = n > 1 and error >= 0 and eps > 0
    return Residual(value=error / math.log(n) / eps if known else None, limit=limit, kind="FFT residual")


def _section_check(text: str, name: str, limit: float) -> Residual | None:
    """What a section says of its results: ranks with an error, a validation that failed, a residual."""
    section = _section(text, name)
    counts = re.findall(r"^Node\(s\) with error (\d{1,9})\b", section, re.MULTILINE)
    ranks = Residual(value=float(sum(map(int, counts))), limit=0.0, kind=f"ranks with an error in {name}")
    if not ranks.passed:
        return ranks
    if "Failed Validation" in section:
        return Residual(value=1.0, limit=0.0, kind=f"{name}'s own validation")
    if "Solution Validates" in section:
        return Residual(value=0.0, limit=0.0, kind=f"{name}'s own validation")
    printed = [_float(value) for value in re.findall(r"^Scaled residual: *(\S+)", section, re.MULTILINE)]
    if printed:
        worst = math.nan if any(map(math.isnan, printed)) else max(printed)
        return Residual(value=None if math.isnan(worst) else worst, limit=limit, kind=f"{name}'s scaled residual")
    return ranks if counts else None


def _section(text: str, name: str) -> str:
    return text.partition(f"Begin of {name} section.")[2].partition(f"End of {name} section.")[0]


def _float(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


WORKLOAD = TABLE.workload(
    title="HPC Challenge, as the site installed it",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    estimate_s=lambda params, host: 10 + 2e-10 * float(params["n"]) ** 3,
)
