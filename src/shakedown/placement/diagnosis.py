"""What is wrong with the placement of one launch: every rule over every host. Pure."""

from __future__ import annotations

import posixpath
import signal
from collections import Counter
from collections.abc import Iterable, Sequence

from ..document.text import count
from ..records import Absent
from . import memory, sharing
from .records import Diagnosis, Rank, Symptom, by_host

#: The library of each family of MPI -> the launchers that start it.
_LIBRARIES = {
    "libmpi.so.40": ("Open MPI", ("Open MPI", "PMIx", "Slurm", "Flux", "jsrun")),
    "libmpi.so.12": ("MPICH, Intel MPI or MVAPICH", ("Hydra", "MVAPICH", "PALS", "PMIx", "Slurm", "Flux")),
}


def diagnose(ranks: Sequence[Rank], damaged: Sequence[Absent] = ()) -> Diagnosis:
    """All that is wrong, what is first to be fixed first, and what could not be known. ``ranks`` are not empty."""
    symptoms = list(_job(ranks, damaged))
    unknown = list(damaged)
    for here in by_host(tuple(ranks)).values():
        crowded = sharing.too_few_cpus(here)
        cores = [] if crowded else sharing.one_core(here)
        held = memory.limited(here)
        explained = {rank for one in (*crowded, *held) for rank in one.ranks}
        remote, no_pages = memory.remote(here)
        alias, no_alias = memory.aliasing(here)
        disturbed = sharing.disturbed(here, explained)
        symptoms += [*crowded, *cores, *held, *sharing.moving(here), *remote, *alias, *disturbed]
        symptoms += [*sharing.masks(here), *_binds_itself(here)]
        unknown += [*no_pages, *no_alias, *_not_seen(here)]
    return Diagnosis(
        ranks=len(ranks),
        hosts=tuple(sorted({one.host for one in ranks})),
        launcher=", ".join(sorted({one.launcher for one in ranks if one.launcher})),
        symptoms=tuple(sorted(symptoms, key=lambda one: not one.wrong)),
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _job(ranks: Sequence[Rank], damaged: Sequence[Absent]) -> Iterable[Symptom]:
    """What is wrong with the job itself: ranks that ended badly, left nothing, or are none."""
    without = [one for one in ranks if one.rank < 0]
    if without:
        yield Symptom(
            kind="no-ranks",
            text=f"{count(len(without), 'process', 'processes')} of {len(ranks)} had no rank: no variable of a launcher "
            "that is known was set",
            advice="start the program by the launcher of its MPI; where that is another one, its variables are not known",
        )
    numbers = Counter(one.rank for one in ranks if one.rank >= 0)
    size = max((one.size for one in ranks), default=-1)
    missing = sorted(set(range(min(size, 1 << 20))) - set(numbers)) if size > 0 and not without else []
    if missing:
        lost = f"; {count(len(damaged), 'record')} cannot be read" if damaged else ""
        yield Symptom(
            kind="no-record",
            ranks=tuple(missing[:64]),
            text=f"{len(missing)} of {size} ranks left no record{lost}",
            advice="use a folder that every host of the job sees (--keep); a host that lost power leaves none",
        )
    yield from _ends(ranks)
    yield from _libraries(ranks)


def _ends(ranks: Sequence[Rank]) -> Iterable[Symptom]:
    groups: dict[str, list[Rank]] = {}
    for one in ranks:
        if not one.finished:
            groups.setdefault("was still running when its watcher was killed", []).append(one)
        elif one.signal:
            groups.setdefault(f"was ended by signal {one.signal} ({_signal(one.signal)})", []).append(one)
        elif one.exit_code:
            groups.setdefault(f"ended with exit code {one.exit_code}", []).append(one)
    for how, these in groups.items():
        more = f", and {len(these) - 1} more" if len(these) > 1 else ""
        first = min(these, key=lambda one: one.begin_unix_ns + one.wall_s * 1e9)
        yield Symptom(
            kind="ended-badly",
            ranks=tuple(sorted(one.rank for one in these)),
            host=first.host,
            text=f"{first.name} on {first.host} {how} after {first.wall_s:.1f} s{more}",
            advice="what it printed is in the launch's stderr; what is said of placement holds up to then",
        )


def _libraries(ranks: Sequence[Rank]) -> Iterable[Symptom]:
    """Whether what was mapped is the launcher's MPI; nothing is said where no memory was looked at."""
    looked = [one for one in ranks if one.code]
    names = {posixpath.basename(code.path) for one in looked for code in one.code}
    for library, (family, launchers) in _LIBRARIES.items():
        wrong = {one.launcher for one in looked if one.launcher} - set(launchers)
        if any(name.startswith(library) for name in names) and wrong:
            yield Symptom(
                kind="other-mpi",
                text=f"the program uses {family} ({library}), and was started by {', '.join(sorted(wrong))}: its ranks are "
                "likely to be so many jobs of one",
                advice="use the launcher of the MPI that the program is linked to",
            )
    if looked and not any("mpi" in name for name in names):
        yield Symptom(
            kind="no-mpi",
            text="no MPI library is in the memory of the program: it is linked statically, or knows nothing of MPI",
            advice="the ranks are what the launcher calls so; what is said of CPUs and memory holds all the same",
            wrong=False,
        )


def _binds_itself(ranks: Sequence[Rank]) -> Iterable[Symptom]:
    """A rank that was put on CPUs, and whose threads may be on others: an arrangement of it says nothing."""
    moved = [
        one for one in ranks if one.arranged and any(not set(t.mask) <= set(one.arranged) for t in one.busy if t.mask)
    ]
    if moved:
        yield Symptom(
            kind="binds-itself",
            ranks=tuple(one.rank for one in moved),
            host=moved[0].host,
            text=f"{count(len(moved), 'rank')} bound themselves to other CPUs than they were put on",
            advice="switch off the binding of the program or of its MPI",
            wrong=False,
        )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _not_seen(ranks: Sequence[Rank]) -> Iterable[Absent]:
    """What the kernel did not tell, or what was too short to see."""
    if any(thread.wait_s is None for one in ranks for thread in one.threads):
        yield Absent(what="waiting for a CPU", why="the kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)")
    if all(thread.migrations is None for one in ranks for thread in one.threads):
        yield Absent(what="migrations between samples", why="the kernel has no /proc/PID/sched (CONFIG_SCHED_DEBUG)")
    short = [one for one in ranks if one.samples < 10]
    if short:
        why = f"{count(len(short), 'rank')} ended after fewer than 10 samples: take a longer run"
        yield Absent(what="moves between CPUs", why=why)
    if all(not one.busy for one in ranks):
        yield Absent(what="sharing of CPUs", why="no rank wanted a CPU for a quarter of its time")
    if left := sum(one.threads_left_out for one in ranks):
        yield Absent(what="some threads", why=f"more than 512 in a rank: {left:,} looks at further ones were left out")
