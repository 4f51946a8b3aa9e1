"""When the core phase, the full run and the idle measurement were: from HPL's own lines, our run directories, or stamps.

HPL prints whole seconds of local time without its zone, and none of the two is guessed: the zone is asked for, and the
resolution goes into the uncertainty of the window.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ... import strict, times
from ...errors import BadInput, CannotMeasure
from ...files import packed
from ...hosts.process import OUTPUT_LIMIT_BYTES
from ...records import Case, Measurement, Notice, Record
from ...records import Phase as Phase_


class Phase(Record, frozen=True, kw_only=True):
    """A stretch of time: with a zone, or in Unix nanoseconds."""

    begin: datetime.datetime | None = None
    end: datetime.datetime | None = None
    begin_ns: int | None = None
    end_ns: int | None = None
    resolution_s: strict.NotNegative | None = None  # of the stamps; else as they are written: 1 for whole seconds
    ready: bool = True  # idle: ready for work, not asleep


class Phases(Record, frozen=True, kw_only=True):
    """Where the phases come from: an HPL log, a run directory of ours, or the site's own stamps, which come first."""

    core: Phase | None = None
    full_run: Phase | None = None
    idle: Phase | None = None
    hpl_log: str = ""
    hpl_zone: str = ""  # "Europe/Berlin", "UTC", "+02:00": HPL prints local time without its zone
    hpl_result: strict.CountOrNone = 0  # which of the log's results, from 1; 0: the fastest
    run_directory: str = ""
    run_id: str = ""  # which of its runs; empty: the fastest of hpl
    half_second: bool = False  # move whole-second stamps by half a second, where the rules allow it


class Window(Record, frozen=True, kw_only=True):
    """A phase in time."""

    name: Literal["core", "full run", "idle"]
    begin_ns: int
    end_ns: int
    resolution_s: float = 0.0
    source: str = ""

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) * 1e-9


class Solved(NamedTuple):
    """One result of an HPL log with the stamps of its core phase."""

    begin: datetime.datetime  # as printed: local time without a zone
    end: datetime.datetime
    rate: float | None  # flop/s
    n: int | None
    seconds: float | None


_STAMP = re.compile(r"HPL_pdgesv\(\) (start|end) time +(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def hpl_log(text: str) -> tuple[Solved, ...]:
    """The core phases in HPL's output, in order, with what each reached where its table tells. Raises BadInput."""
    from ... import workloads
    from ...workloads import xhpl

    stamps = [(found[1], _ctime(found[2])) for found in _STAMP.finditer(text)]
    kinds = [kind for kind, _ in stamps]
    if not stamps or kinds != ["start", "end"] * (len(stamps) // 2):
        raise BadInput(
            "the log has no pair of lines 'HPL_pdgesv() start time' and 'end time'",
            hint="HPL prints them since version 2.1; else give the core phase's begin and end",
        )
    pairs = [(stamps[i][1], stamps[i + 1][1]) for i in range(0, len(stamps), 2)]
    try:
        cases = xhpl.parse(text, {})
    except workloads.Garbage:
        cases = ()  # cut short after the stamps: they still hold
    out = []
    for index, (begin, end) in enumerate(pairs):
        case = cases[index] if len(cases) == len(pairs) else None
        seconds = case.seconds[0] if case else None
        rate = case.work["flop"] / seconds if case and seconds else None
        n = int(case.params["n"]) if case else None
        out.append(Solved(begin, end, rate, n, seconds))
    return tuple(out)


def _ctime(text: str) -> datetime.datetime:
    """C's ctime without regard to the locale."""
    try:
        _, month, day, clock, year = text.split()
        if month not in _MONTHS:
            raise BadInput(f"{text!r} is not a time as HPL prints it")
        hour, minute, second = map(int, clock.split(":"))
        return datetime.datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{text!r} is not a time as HPL prints it: {error}") from None


def windows_of(found: Phases, folder: Path) -> tuple[dict[str, Window], float | None, int | None, tuple[Notice, ...]]:
    """The windows of the phases, and rate and N where a log or a run directory tells them. Raises BadInput, StoreFailed,
    CannotMeasure."""
    windows: dict[str, Window] = {}
    rmax: float | None = None
    n: int | None = None
    notices: list[Notice] = []
    if found.run_directory:
        core, run, rmax, n = _of_run(folder / found.run_directory, found.run_id)
        windows |= {"core": core, "full run": run}
    if found.hpl_log:
        chosen = _chosen(packed.read_text(folder / found.hpl_log, most_bytes=OUTPUT_LIMIT_BYTES), found)
        core, late = _located(chosen, found)
        windows["core"], rmax, n = core, chosen.rate or rmax, chosen.n or n
        notices += late
    for name, phase in (("core", found.core), ("full run", found.full_run), ("idle", found.idle)):
        if phase is not None:
            windows[name] = _window(name, phase)
    for window in windows.values():
        if window.end_ns <= window.begin_ns:
            raise BadInput(f"the phase {window.name!r} ends before it begins", where=window.source)
    if "core" not in windows:
        raise BadInput(
            "the core phase is not known", where="phases", hint="give core, hpl_log with hpl_zone, or run_directory"
        )
    core, whole = windows["core"], windows.get("full run")
    if whole and not (whole.begin_ns <= core.begin_ns and core.end_ns <= whole.end_ns):
        slack = int(max(core.resolution_s, whole.resolution_s) * 1e9)
        if core.begin_ns + slack < whole.begin_ns or core.end_ns - slack > whole.end_ns:
            raise BadInput("the core phase does not lie within the full run", where="phases", hint="check the zones")
    return windows, rmax, n, tuple(notices)


def _window(name: str, phase: Phase) -> Window:
    edges = []
    for word, told, exact in (("begin", phase.begin, phase.begin_ns), ("end", phase.end, phase.end_ns)):
        if (told is None) == (exact is None):
            raise BadInput(f"give {word} or {word}_ns", where=f"phase {name!r}")
        if told is not None and told.tzinfo is None:
            raise BadInput(
                f"{word} has no time zone", where=f"phase {name!r}", hint="write 2026-05-04T10:00:00Z or +02:00"
            )
        edges.append(times.unix_ns(told) if told is not None else exact or 0)
    return msgspec.convert(
        {
            "name": name,
            "begin_ns": edges[0],
            "end_ns": edges[1],
            "resolution_s": _written_s(phase) if phase.resolution_s is None else phase.resolution_s,
            "source": "the site's stamps",
        },
        Window,
    )


def _written_s(phase: Phase) -> float:
    """Stamps without a fraction of a second are taken as whole seconds; others, and Unix nanoseconds, as exact."""
    told = [one for one in (phase.begin, phase.end) if one is not None]
    return 1.0 if told and all(one.microsecond == 0 for one in told) else 0.0


def _chosen(text: str, found: Phases) -> Solved:
    results = hpl_log(text)
    if not 0 <= found.hpl_result <= len(results):
        raise BadInput(f"the log has {len(results)} results, not {found.hpl_result}", where="phases, hpl_result")
    if found.hpl_result:
        return results[found.hpl_result - 1]
    if len(results) > 1 and any(one.rate is None for one in results):
        raise BadInput(
            f"the log has {len(results)} results and does not say which was the fastest",
            where="phases, hpl_result",
            hint="name one: hpl_result = 1",
        )
    return max(results, key=lambda one: one.rate or 0.0)


def _located(chosen: Solved, found: Phases) -> tuple[Window, list[Notice]]:
    """The core phase of a log in Unix time; held against HPL's own timer, which knows no zone and no jump."""
    if not found.hpl_zone:
        raise BadInput(
            "HPL prints local time without its zone", where="phases", hint='give the nodes\' zone: hpl_zone = "UTC"'
        )
    at = times.zone(found.hpl_zone, "phases, hpl_zone")
    begin, end = (times.unix_ns(time.replace(tzinfo=at)) for time in (chosen.begin, chosen.end))
    notices = []
    if chosen.seconds is not None:
        folds = [end, times.unix_ns(chosen.end.replace(tzinfo=at, fold=1))]  # the hour that comes twice in autumn
        end = min(folds, key=lambda one: abs((one - begin) * 1e-9 - (chosen.seconds or 0.0)))
        apart = (end - begin) * 1e-9 - chosen.seconds
        if abs(apart) > 1.5:
            notices.append(
                Notice(
                    code="hpl-clock",
                    text=f"HPL's stamps are {(end - begin) * 1e-9:.0f} s apart, its timer says {chosen.seconds:.2f} s",
                    advice="check hpl_result, and whether the node's clock was set during the run",
                )
            )
    window = Window(name="core", begin_ns=begin, end_ns=end, resolution_s=1.0, source=found.hpl_log)
    return window, notices


def _of_run(path: Path, run: str) -> tuple[Window, Window, float, int | None]:
    """Core phase, full run, rate and N of the fastest HPL run in a run directory of ours."""
    from ...results.run_directory import RunDirectory

    best: tuple[float, Phase_, Measurement, int | None] | None = None
    for one in RunDirectory.open(path).load().measurements:
        if one.state != "ok" or (run and one.run != run):
            continue
        for case in one.cases:
            if case.kernel != "hpl" or not case.seconds or "flop" not in case.work:
                continue
            core = _solving(one, case)
            rate = case.work["flop"] / min(case.seconds)
            if core is not None and (best is None or rate > best[0]):
                n = case.params.get("n")
                best = rate, core, one, n if isinstance(n, int) else None
    if best is None:
        raise CannotMeasure(
            "contains no run of HPL with the stamps of its core phase" + (f" under the id {run!r}" if run else ""),
            where=str(path),
            hint="give phases.core, or the log of another HPL as hpl_log",
        )
    rate, core, one, order = best
    source = f"{path.name}, run {one.run}"
    return (
        Window(name="core", begin_ns=core.begin_ns, end_ns=core.end_ns, source=source),
        Window(name="full run", begin_ns=one.begin_ns, end_ns=one.end_ns, source=source),
        rate,
        order,
    )


def _solving(one: Measurement, case: Case) -> Phase_ | None:
    """The phase in which the fastest sample of a case was solved: the mark whose length is the sample's own."""
    least = min(case.seconds)
    marks = [mark for mark in one.phases if mark.name.startswith("measure")]
    if marks:
        return min(marks, key=lambda mark: abs((mark.end_ns - mark.begin_ns) * 1e-9 - least))
    if case.begin_ns is None or case.end_ns is None or len(case.seconds) > 1:
        return None
    return Phase_(name="measure", begin_ns=case.begin_ns, end_ns=case.end_ns)
