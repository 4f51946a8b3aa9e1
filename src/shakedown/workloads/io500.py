"""IO500, as a site has built it: an adapter that runs it with the site's INI file and reads what it prints.

Twelve phases count: IOR with large aligned pieces (easy) and with 47008 bytes of each rank in turn in one file (hard),
written and read; mdtest with empty files in a folder for each rank (easy) and of 3901 bytes in one folder (hard), made,
looked at, read, removed; and find over all. A rate of bytes is in GiB/s of 2^30 bytes, also where an older version prints
"GB/s". The score is the square root of the product of two geometric means, that of the four rates of bytes in GiB/s and
that of the eight of operations in thousands a second; a phase of 0 is left out of its mean, and not counted as 0 (until
ISC'20 it was, and there was no score then). It is computed again from the phases, and a printed score that they do not
give leaves no score.

What IO500 marks INVALID, a phase or the run, is shown with that mark and never ranked, and so is what it does not mark
though a phase of writing took less than 300 s: IO500 asks for that, of the student competition for 30 s.

Source: IO500, README, "Example output"; the list's rules; outputs of ISC'20 to SC'25.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual, Value
from . import Garbage, Stated
from .common import page_cache, site_mpi
from .common.io500_score import BANDWIDTH, GIB, KILO, METADATA, WRITES_S, computed
from .common.printed import NUMBER, Span, span, times
from .common.table import table_of

TABLE = table_of(__file__)

#: Beyond what the rounding of the phases allows, as a fraction: nothing but arithmetic of doubles.
_SCORE_LIMIT = 1e-6
_RESULT = re.compile(
    rf"^[ \t]*\[(?:RESULT|      )(?P<early>[ -]INVALID)?\] +(?:(?:BW|IOPS) +phase +\d+ +)?(?P<name>[a-zA-Z][\w-]{{2,40}}) +"
    rf"(?P<value>{NUMBER}|-?nan|inf) (?:GiB/s|GB/s|kIOPS|kiops) *: "
    rf"time +(?P<seconds>{NUMBER}) seconds(?P<late> +\[INVALID\])?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_SCORE = re.compile(
    rf"^[ \t]*\[SCORE *(?:-valid|-?(?P<early>INVALID))? *\] Bandwidth +(?P<bandwidth>{NUMBER}) G(?:i)?B/s *: "
    rf"IOPS +(?P<metadata>{NUMBER}) kiops *: TOTAL +(?P<total>{NUMBER})(?P<late> +\[INVALID\])?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)


class Phase(NamedTuple):
    """One phase as it is printed."""

    name: str
    value: str  # GiB/s, or thousands of operations a second
    seconds: float | None
    invalid: bool


class Score(NamedTuple):
    """The score as it is printed, GiB/s and thousands of operations a second."""

    bandwidth: str
    metadata: str
    total: str
    invalid: bool


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    path = Path(str(params["config"])).expanduser()
    if not params["config"] or not path.is_file():
        raise BadInput("is not a file", where=f"io500.config = {params['config']}", hint="give the INI file of the run")
    site_mpi.need(host, "IO500")
    ranks = cores(host) if params["ranks"] == "all" else int(params["ranks"])
    return ({**params, "config": str(path.resolve()), "ranks": ranks},)


def _command(params: Params, host: Host) -> Command:
    argv = (str(params["program"]), str(params["config"]), *str(params["arguments"]).split())
    return Command(argv=argv, ranks=int(params["ranks"]), site_mpi=True)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each phase that was measured, and one for the score. Raises Garbage."""
    phases, score = _read(text)
    recomputed = computed({one.name: span(one.value) for one in phases})
    told: dict[str, Value] = {"application": "io500"}
    if isinstance(params.get("ranks"), int):
        told["ranks"] = params["ranks"]
    short = [one.name for one in phases if _is_short(one)]
    cases = []
    for one in phases:
        if float(one.value) > 0:
            mark: Params = {page_cache.DOUBT: "INVALID"} if one.invalid or _is_short(one) else {}
            unit = GIB if one.name.startswith("ior-") else KILO
            cases.append(
                Case(kernel=one.name, params={**told, **mark}, work=_work(float(one.value) * unit, one.seconds))
            )
    mark = (
        {page_cache.DOUBT: "INVALID"}
        if score.invalid or short or any(one.invalid for one in phases if one.name in (*BANDWIDTH, *METADATA))
        else {}
    )
    work = {
        "bytes_per_s": float(score.bandwidth) * GIB,
        "op_per_s": float(score.metadata) * KILO,
        "score": float(score.total),
    }
    work = {name: value for name, value in work.items() if value > 0}
    away = max(
        0.0 if float(word) == 0 and zeros else _outside(span(word), found)
        for word, found, zeros in zip(
            (score.bandwidth, score.metadata, score.total), recomputed, _zeros(phases), strict=True
        )
    )
    check = Residual(
        value=away, limit=_SCORE_LIMIT, kind="the printed score beside that of its phases, a fraction of it"
    )
    cases.append(Case(kernel="score", params={**told, **mark}, work=work, residual=check))
    return tuple(cases)


def _zeros(phases: Sequence[Phase]) -> tuple[bool, bool, bool]:
    """Whether a phase of bytes, of operations, of any is 0: until ISC'20 that made its mean 0, and no mean at all."""
    names = {one.name for one in phases if float(one.value) == 0}
    return bool(names & {*BANDWIDTH}), bool(names & {*METADATA}), bool(names & {*BANDWIDTH, *METADATA})


def _work(rate: float, seconds: float | None) -> dict[str, float]:
    return {"rate": rate, **({"seconds": seconds} if seconds is not None else {})}


def _is_short(phase: Phase) -> bool:
    """Whether a phase of writing ended before the rules let it, though IO500 may not say so."""
    return phase.name.endswith("-write") and phase.seconds is not None and phase.seconds < WRITES_S


def _read(text: str) -> tuple[list[Phase], Score]:
    """The phases and the score of the lines on standard output, or of result.txt. Raises Garbage."""
    phases = [
        Phase(
            row["name"].replace("_", "-"),
            _number(row["value"]),
            float(row["seconds"]),
            bool(row["early"] or row["late"]),
        )
        for row in _RESULT.finditer(text)
    ]
    scores = [
        Score(row["bandwidth"], row["metadata"], row["total"], bool(row["early"] or row["late"]))
        for row in _SCORE.finditer(text)
    ]
    if not phases and "[SCORE]" in text:
        phases, scores = _of_ini(text)
    if not phases:
        raise Garbage("this is not output of IO500: there is no line '[RESULT] ... : time ... seconds'")
    if not scores:
        raise Garbage("the output ends before IO500 printed its score ('[SCORE ] Bandwidth ...')")
    names = [one.name for one in phases]
    if len(scores) > 1 or len(set(names)) < len(names):
        raise Garbage(f"the text holds {max(len(scores), 2)} runs of IO500; give each in a file of its own")
    if re.search(r"^One or more test phases invalid", text, re.MULTILINE):
        scores[0] = scores[0]._replace(invalid=True)
    return phases, scores[0]


def _of_ini(text: str) -> tuple[list[Phase], list[Score]]:
    """The same of result.txt, which IO500 writes beside: a section each phase, errors as comments."""
    parts = re.split(r"^\[([\w-]{3,40})\][ \t]*$", text, flags=re.MULTILINE)
    phases, scores = [], []
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        pairs = dict(re.findall(r"^(\w[\w-]{0,40}) *= *([^\n]*?) *$", part, re.MULTILINE))
        word, _, mark = pairs.get("SCORE" if name == "SCORE" else "score", "").partition(" ")
        invalid = "[INVALID]" in mark or re.search(r"^; ERROR INVALID", part, re.MULTILINE) is not None
        if name == "SCORE":
            if not {"BW", "MD"} <= pairs.keys() or ("; END" not in part and "hash" not in pairs):
                raise Garbage("the output ends within IO500's score")
            scores.append(Score(_number(pairs["BW"]), _number(pairs["MD"]), _number(word), invalid))
        elif word and name not in ("SCOREX", "timestamp"):
            seconds = pairs.get("t_delta", "")
            phases.append(Phase(name, _number(word), float(_number(seconds)) if seconds else None, invalid))
    return phases, scores


def _number(word: str) -> str:
    if not re.fullmatch(NUMBER, word) or not 0 <= float(word) < 1e12:
        raise Garbage(f"a figure of IO500 is not a number: {word[:40]!r}")
    return word


def _outside(printed: Span, found: Span) -> float:
    """How far a printed number lies from what was found, as a fraction of it: 0 where they overlap."""
    if printed.low <= found.high and found.low <= printed.high:
        return 0.0
    away = max(printed.low - found.high, found.low - printed.high)
    return away / found.high if found.high > 0 else math.inf


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """What was left out, and why the run is not valid."""
    phases, score = _read(text)
    found = []
    there = {one.name for one in phases if float(one.value) > 0}
    missing = [name for name in (*BANDWIDTH, *METADATA) if name not in there]
    if missing:
        said = f"IO500 measured nothing of {', '.join(missing)}: its score is the mean of the other phases"
        found.append(Notice(code="io500-part-left-out", text=said, advice="a run for the list has all twelve"))
    reasons = [f"{one.name} is marked INVALID" for one in phases if one.invalid]
    reasons += [f"{one.name} took {one.seconds:g} s of the {WRITES_S:g} s required" for one in phases if _is_short(one)]
    reasons += re.findall(r"^; ERROR INVALID ([^\n]{1,200})", text, re.MULTILINE)[:6]
    if score.invalid or reasons:
        why = "; ".join(dict.fromkeys(reasons)) or "IO500 marks the run so"
        said = f"INVALID by the rules of IO500: {why}"
        found.append(Notice(code="io500-invalid", text=said, advice="its figures are shown, and not ranked"))
    return tuple(found)


def stated(text: str) -> Stated:
    """The times of result.txt, without a zone; standard output has none. No host."""
    begin, end = times(
        re.findall(r"^; (?:START|END) (\d{4}-\d\d-\d\d [\d:]{8})", text, re.MULTILINE), "%Y-%m-%d %H:%M:%S"
    )
    return Stated(begin=begin, end=end)


WORKLOAD = TABLE.workload(
    title="IO500: the phases and the score of the list of storage systems",
    command=_command,
    parse=parse,
    notices=notices,
    stated=stated,
    resolve=_resolve,
    estimate_s=lambda params, host: 3600.0,
)
