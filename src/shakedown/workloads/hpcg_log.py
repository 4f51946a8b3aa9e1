"""A site's own HPCG, as its file says: ``HPCG-Benchmark_3.1_....txt``, or the ``.yaml`` of 3.0, read by ``shakedown
import``.

Both forms hold the same keys, one with ``A::B=value`` on a line, the other with indented ``B: value`` below ``A:``. The
rating is that of the final summary, which must be the one among the rates ("Total with convergence and optimization
phase overhead"), and those must be the operations over the times, each within half its last printed place: a file whose
numbers do not agree is refused. One that says INVALID, or one of whose tests (spectral convergence, symmetry,
iterations, reproducibility) did not pass, has no score. A time below 1,800 s is reported: the list takes such a run by its
short path only. Reference loops that were timed are reported, too.

Formats: HPCG 3.0 and 3.1, src/ReportResults.cpp, and a file of each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ..errors import Unavailable
from ..launchers import Command
from ..records import Case, Host, Notice, Params, Residual
from . import Garbage
from .common.printed import NUMBER, span
from .common.table import table_of

TABLE = table_of(__file__)

#: What the list wants of the timed part.
OFFICIAL_S = 1800.0

_FINAL = "Final Summary"
_RATING = "HPCG result is VALID with a GFLOP/s rating of"
_RATED = "Total with convergence and optimization phase overhead"
_TESTS = (
    "Spectral Convergence Tests",
    "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon",
    "Iteration Count Information",
    "Reproducibility Information",
)
#: Parameters of the cases, and where they stand.
_WHERE = (
    ("ranks", "Machine Summary::Distributed Processes"),
    ("threads", "Machine Summary::Threads per processes"),
    ("nx", "Local Domain Dimensions::nx"),
    ("ny", "Local Domain Dimensions::ny"),
    ("nz", "Local Domain Dimensions::nz"),
)
_PARTS = ("DDOT", "WAXPBY", "SpMV", "MG")


def entries(text: str) -> dict[str, str]:
    """Every key with those above it, ``A::B``, and its value. Raises Garbage where a key stands there twice with two values:
    two runs in one file."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        if "=" in line and ("::" in line or not line.startswith(" ")) and ": " not in line.partition("=")[0]:
            key, _, value = line.strip().partition("=")
        else:
            key, colon, value = line.partition(":")
            indent, key = len(key) - len(key.lstrip()), key.strip().strip("_# ").strip()
            if not colon:
                continue
            above = [one for one in above if one[0] < indent]
            path = "::".join([*(name for _, name in above), key])
            if not value.strip():
                above.append((indent, key))
            key = path
        value = value.strip()
        if "Coarse Grids" not in key and value and found.get(key, value) != value:
            raise Garbage(
                f"{key!r} stands there twice, as {found[key][:40]!r} and as {value[:40]!r}: give each run in its file"
            )
        found[key] = value
    return found


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The rating and the parts, each with the file's own tests. Raises Garbage."""
    found = entries(text)
    version = re.search(r"^(?:.* )?version[=:] ?V?(\d{1,3}\.\d{1,3})\s*$", text, re.MULTILINE)
    invalid = any(
        key.startswith(f"{_FINAL}::HPCG result is") and "INVALID" in key + value for key, value in found.items()
    )
    rating = found.get(f"{_FINAL}::{_RATING}")
    if version is None or (rating is None and not invalid):
        raise Garbage("this is not a whole file of HPCG: there is no version, or no final summary with a rating")
    base: Params = {name: _whole(found, key) for name, key in _WHERE}
    base |= {"version": version[1]}
    check = _check(found, invalid)
    values = {f"Raw {part}": f"GFLOP/s Summary::Raw {part}" for part in (*_PARTS, "Total")}
    cases = {kernel: _number(found, key) for kernel, key in values.items()}
    _agree(found)
    if rating is not None:
        cases = {"rating": _number(found, f"{_FINAL}::{_RATING}"), **cases}
        if found.get(f"GFLOP/s Summary::{_RATED}", "") != rating:
            raise Garbage(f"the rating is {rating[:40]} in the final summary and another, or none, among the rates")
    return tuple(
        Case(kernel=kernel, params=base, work={"value": value * 1e9}, residual=check) for kernel, value in cases.items()
    )


def _check(found: Mapping[str, str], invalid: bool) -> Residual:
    """How many of the file's verdicts are not good."""
    verdicts = {name: found.get(f"{name}::Result", "") for name in _TESTS}
    if missing := [name for name, verdict in verdicts.items() if not verdict]:
        raise Garbage(f"the file has no result of {missing[0]!r}")
    bad = [name.partition(" |")[0] for name, verdict in verdicts.items() if verdict != "PASSED"]
    bad += ["the final summary, which says INVALID"] if invalid else []
    kind = f"HPCG's tests that failed: {', '.join(bad)}" if bad else "HPCG's tests that failed"
    return Residual(value=float(len(bad)), limit=0.0, kind=kind)


def _agree(found: Mapping[str, str]) -> None:
    """Raises Garbage where a rate is not its operations over its time."""
    for part in (*(f"Raw {part}" for part in _PARTS), "Total"):
        total = part == "Total"
        keys = (
            f"Floating Point Operations Summary::{part}",
            f"Benchmark Time Summary::{part.removeprefix('Raw ')}",
            f"GFLOP/s Summary::{'Raw Total' if total else part}",
        )
        for key in keys:
            _number(found, key)
        work, seconds, rate = span(found[keys[0]]), span(found[keys[1]]), span(found[keys[2]], 1e9)
        # Operations are printed to six digits: a part in a million of room for what was rounded before it was divided.
        if work.low > rate.high * seconds.high * (1 + 1e-6) or work.high < rate.low * seconds.low * (1 - 1e-6):
            raise Garbage(f"{keys[2]!r} is not the operations over the time that the file states")


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """A run that is too short for the list, and reference loops that were timed."""
    found = entries(text)
    told = []
    seconds = _number(found, "Benchmark Time Summary::Total")
    if seconds < OFFICIAL_S:
        told.append(
            Notice(
                code="hpcg-short",
                text=f"the sets of this HPCG took {seconds:g} s of the 1800 that its list asks for",
                advice="a measurement all the same; its rating is not one for the list",
            )
        )
    slow = [one[1] for key in found if (one := re.search(r"Reference version of (\w{1,40}) used", key))]
    if slow:
        told.append(
            Notice(
                code="hpcg-reference",
                text=f"HPCG was timed with its reference version of {', '.join(slow)}",
                advice="an optimised version says more of the machine",
            )
        )
    return tuple(told)


def _number(found: Mapping[str, str], key: str) -> float:
    """A number of the file, above zero. Raises Garbage where there is none."""
    text = found.get(key, "")
    value = float(text) if re.fullmatch(NUMBER, text) else math.nan
    if not (math.isfinite(value) and value > 0):
        raise Garbage(f"the file has no number above zero for {key!r}")
    return value


def _whole(found: Mapping[str, str], key: str) -> int:
    value = _number(found, key)
    if not value.is_integer() or value > 2**53:
        raise Garbage(f"the file's {key!r} is not a whole number: {found[key][:40]}")
    return int(value)


def _command(params: Params, host: Host) -> Command:
    raise Unavailable(
        "hpcg_log reads the file of a site's own HPCG and starts nothing",
        hint="shakedown import hpcg_log FILE; shakedown run hpcg measures with our own program",
    )


WORKLOAD = TABLE.workload(
    title="HPCG (the file of a site's own)",
    command=_command,
    estimate_s=lambda params, host: 1.0,
    parse=parse,
    notices=notices,
)
