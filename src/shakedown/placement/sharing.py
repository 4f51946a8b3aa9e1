"""Ranks in one another's way on a CPU or a core, and ranks that move. Pure; the ranks are those of one host.

Threads that may only be on too few CPUs wait for one another whatever the kernel does (P. Hall, "On representatives of
subsets", J. London Math. Soc. 10, 1935: a set of threads can all run at once only where their masks hold as many CPUs as
they are). That needs no sample of where they were, and is named first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..document.text import count
from .records import Rank, Symptom, Thread

#: A thread is at home on a CPU where so many of its samples were.
HOME = 0.8
#: Waiting for a CPU for more of the time than this is no chance of the scheduler's.
WAITS = 0.1
#: A thread that wanted a CPU for less than this was hardly there: one other process at its start is a large share.
LONG_ENOUGH_S = 0.1
#: A rank that moves at least so often, and so often a second.
MOVES, MOVES_PER_S = 3, 0.5


class Busy(NamedTuple):
    rank: Rank
    thread: Thread


def busy(ranks: Iterable[Rank]) -> list[Busy]:
    """The threads of all these ranks that want a CPU most of the time."""
    return [Busy(rank, thread) for rank in ranks for thread in rank.busy]


def too_few_cpus(ranks: Sequence[Rank]) -> list[Symptom]:
    """Threads that may only be on fewer CPUs than they are: the smallest such sets of CPUs."""
    threads = busy(ranks)
    reachable = frozenset(cpu for rank in ranks for cpu in rank.reachable)
    crowded: dict[frozenset[int], list[Busy]] = {}
    for mask in sorted({frozenset(one.thread.mask) for one in threads if one.thread.mask}, key=len):
        inside = [one for one in threads if one.thread.mask and frozenset(one.thread.mask) <= mask]
        if len(inside) > len(mask) and not any(smaller < mask for smaller in crowded):
            crowded[mask] = inside
    found = [_crowded(mask, inside, reachable) for mask, inside in crowded.items()]
    return found or _at_home_together(threads)


def _crowded(mask: frozenset[int], inside: Sequence[Busy], reachable: frozenset[int]) -> Symptom:
    ranks = _numbers(inside)
    host = inside[0].rank.host
    waits = f"; {_waits(inside)}"
    if len(mask) >= len(reachable):
        return Symptom(
            kind="oversubscribed",
            ranks=ranks,
            host=host,
            text=f"{count(len(inside), 'busy thread')} of {count(len(ranks), 'rank')} have {count(len(mask), 'CPU')}, all "
            f"that this job can use on {host}{waits}",
            advice="start fewer ranks or threads on this host, or use more hosts",
        )
    free = f"{count(len(reachable - mask), 'other CPU')} of {host} may be used"
    if len(ranks) == 1:
        return Symptom(
            kind="crowded-rank",
            ranks=ranks,
            host=host,
            text=f"{_of(inside)} has {len(inside)} busy threads and may only be on {cpus(mask)}{waits}; {free}",
            advice="bind each rank to as many CPUs as it has threads: --map-by slot:PE=N, --cpus-per-task=N, or fewer "
            "threads (OMP_NUM_THREADS)",
        )
    return Symptom(
        kind="shared-cpu",
        ranks=ranks,
        host=host,
        text=f"{_of(inside)} may only be on {cpus(mask)}, together{waits}; {free}",
        advice="bind each rank to CPUs of its own: --bind-to core (Open MPI, MPICH), --cpu-bind=cores (srun), "
        "I_MPI_PIN_DOMAIN=core (Intel MPI); look for taskset or numactl around the job",
    )


def _at_home_together(threads: Sequence[Busy]) -> list[Symptom]:
    """Ranks that could be elsewhere, and were on one CPU nearly all of the time, waiting."""
    homes: dict[int, list[Busy]] = {}
    for one in threads:
        if (at := home(one.thread)) is not None and one.thread.wait_share >= WAITS:
            homes.setdefault(at, []).append(one)
    return [
        Symptom(
            kind="shared-cpu",
            ranks=_numbers(inside),
            host=inside[0].rank.host,
            text=f"{_of(inside)} were on CPU {cpu} in at least {100 * HOME:.0f} % of the samples, though more CPUs are "
            f"allowed; {_waits(inside)}",
            advice="bind each rank to a CPU of its own (--bind-to core, --cpu-bind=cores)",
        )
        for cpu, inside in sorted(homes.items())
        if len(_numbers(inside)) > 1
    ]


def one_core(ranks: Sequence[Rank]) -> list[Symptom]:
    """Ranks on two threads of one core while other cores are free."""
    core = {place[0]: place[1] for rank in ranks for place in rank.places}
    threads = busy(ranks)
    cores = {core[cpu] for rank in ranks for cpu in rank.reachable if cpu in core}
    homes: dict[int, list[tuple[int, Busy]]] = {}
    for one in threads:
        if (at := home(one.thread)) is not None and at in core:
            homes.setdefault(core[at], []).append((at, one))
    found = []
    for _, inside in sorted(homes.items()):
        where = sorted({cpu for cpu, _ in inside})
        if len(where) > 1 and len(threads) <= len(cores):
            these = [one for _, one in inside]
            found.append(
                Symptom(
                    kind="shared-core",
                    ranks=_numbers(these),
                    host=these[0].rank.host,
                    text=f"{_of(these)} were on {cpus(where)}, which are threads of one core, while this host has "
                    f"{count(len(cores), 'core')} for {count(len(threads), 'busy thread')}",
                    advice="bind to cores, not to hardware threads: --bind-to core --map-by core, "
                    "--hint=nomultithread or --threads-per-core=1 (srun)",
                )
            )
    return found


def moving(ranks: Sequence[Rank]) -> list[Symptom]:
    """Ranks that move between CPUs again and again."""
    found = []
    for rank in ranks:
        for thread in rank.busy:
            counted = thread.migrations or 0 if len(thread.mask) > 1 else 0  # binding itself moves a thread, too
            moves = max(thread.moves, counted)
            if moves < MOVES or moves < MOVES_PER_S * rank.wall_s or len(thread.cpus) < 2:
                continue
            by = "counted by the kernel" if counted > thread.moves else "seen between samples"
            found.append(
                Symptom(
                    kind="migrating",
                    ranks=(rank.rank,),
                    host=rank.host,
                    text=f"{rank.name} moved {moves:,} times between {cpus(thread.cpus)} in {rank.wall_s:.1f} s ({by}); its "
                    f"mask allows {cpus(thread.mask)}",
                    advice="bind each rank: --bind-to core, --cpu-bind=cores; a rank that is bound and still moves binds "
                    "itself: look for sched_setaffinity in it",
                )
            )
            break
    return found


def masks(ranks: Sequence[Rank]) -> list[Symptom]:
    """Notes on masks: none at all, or some that overlap in part."""
    allowed = {one.rank: frozenset(one.launched_mask) for one in ranks if one.launched_mask and not one.arrange}
    if len(allowed) < 2:
        return []
    host = ranks[0].host
    reachable = frozenset(cpu for rank in ranks for cpu in rank.reachable)
    if len(reachable) > 1 and all(mask == reachable for mask in allowed.values()):
        text = f"the launcher bound no rank of {host}: each may be on {cpus(reachable)}"
        advice = "bind them where they move or where memory is remote: --bind-to core, --cpu-bind=cores"
        return [Symptom(kind="unbound", ranks=tuple(sorted(allowed)), host=host, text=text, advice=advice, wrong=False)]
    numbers = sorted(allowed)
    pairs = [
        (a, b)
        for place, a in enumerate(numbers)
        for b in numbers[place + 1 :]
        if allowed[a] & allowed[b] and allowed[a] != allowed[b]
    ]
    if not pairs:
        return []
    a, b = pairs[0]
    more = f", and {count(len(pairs) - 1, 'more pair')}" if len(pairs) > 1 else ""
    return [
        Symptom(
            kind="overlapping-masks",
            ranks=tuple(sorted({rank for pair in pairs for rank in pair})),
            host=host,
            text=f"masks overlap in part: rank {a} may be on {cpus(allowed[a])}, rank {b} on {cpus(allowed[b])}{more}",
            advice="give ranks masks that are equal or have nothing in common",
            wrong=False,
        )
    ]


def disturbed(ranks: Sequence[Rank], explained: Iterable[int]) -> list[Symptom]:
    """Ranks that waited for a CPU though nothing of this job explains it."""
    known = set(explained)
    waiting = [
        one
        for one in busy(ranks)
        if one.rank.rank not in known and one.thread.wait_share >= WAITS and one.thread.wanted_s >= LONG_ENOUGH_S
    ]
    if not waiting:
        return []
    pressed = next((one.rank for one in waiting if one.rank.pressure_s is not None and one.rank.wall_s), None)
    if pressed is not None and pressed.pressure_s is not None:
        share = min(1.0, pressed.pressure_s / pressed.wall_s)
        pressure = f"; on this host something waited for a CPU in {100 * share:.0f} % of the time"
    else:
        pressure = ""
    return [
        Symptom(
            kind="disturbed",
            ranks=_numbers(waiting),
            host=ranks[0].host,
            text=f"{_of(waiting)} waited for a CPU, and no other rank explains it; {_waits(waiting)}{pressure}",
            advice="look for other processes on these CPUs (top, ps -eLo psr,pcpu,comm), or ask for whole nodes",
        )
    ]


def home(thread: Thread) -> int | None:
    """The CPU on which a thread was nearly always."""
    return next((cpu for cpu in thread.cpus if thread.share_on(cpu) >= HOME), None)


def cpus(numbers: Iterable[int]) -> str:
    """``CPU 3``, ``CPUs 0-3,8``."""
    ordered = sorted(set(numbers))
    parts: list[str] = []
    for cpu in ordered:
        if parts and cpu - 1 in ordered:
            parts[-1] = f"{parts[-1].partition('-')[0]}-{cpu}"
        else:
            parts.append(str(cpu))
    return f"CPU{'s' * (len(ordered) != 1)} {','.join(parts) or 'none'}"


def _numbers(threads: Iterable[Busy]) -> tuple[int, ...]:
    return tuple(sorted({one.rank.rank for one in threads}))


def _of(threads: Sequence[Busy]) -> str:
    """``rank 3``, ``ranks 0, 1 and 4 more``."""
    numbers = _numbers(threads)
    if numbers == (-1,):
        return "processes without a rank"
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    if len(numbers) == 2:
        return f"ranks {numbers[0]} and {numbers[1]}"
    shown = ", ".join(map(str, numbers[:6]))
    return f"ranks {shown}" + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")


def _waits(threads: Sequence[Busy]) -> str:
    """``they waited 48 to 52 % of the time in which they wanted a CPU``."""
    if any(one.thread.wait_s is None for one in threads):
        return "how long they waited is not known"
    shares = [100 * one.thread.wait_share for one in threads]
    low, high = f"{min(shares):.0f}", f"{max(shares):.0f}"
    span = low if low == high else f"{low} to {high}"
    return f"waiting took {span} % of the time in which they wanted a CPU"
