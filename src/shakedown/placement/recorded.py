"""Placement as Shakedown's own programs recorded it: the CPUs that each rank was bound to, on the machine of the run. Pure.

Those programs bind themselves and say where; what a rank of theirs waited, moved or had on other nodes is not in a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..document.text import count
from ..records import Absent, Host, Measurement
from ..units import whole_number
from .records import Diagnosis, Symptom
from .sharing import cpus as cpu_words

_MOST_CPU = 1 << 20
_NOT_RECORDED = (
    Absent(what="waiting, migrations, remote memory", why="a run does not record them: shakedown placement -- does"),
)


class Place(NamedTuple):
    """A rank, its host, and the CPU of each of its threads."""

    rank: int
    host: str
    cpus: tuple[int, ...]


def places(facts: Mapping[str, Any]) -> tuple[Place, ...]:
    """Where the ranks of a program were, by the facts of its start; empty where it does not say."""
    found = []
    for name in ("ranks", "places"):
        rows = facts.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and (place := _place(row)) is not None:
                found.append(place)
    return tuple(found)


def _place(row: Mapping[str, Any]) -> Place | None:
    rank, host = row.get("rank"), row.get("host")
    if not isinstance(rank, int) or not isinstance(host, str):
        return None
    if isinstance(row.get("cpu"), int):
        cpus: tuple[int, ...] = (row["cpu"],)
    elif isinstance(row.get("threads"), str):
        numbers = [whole_number(word) for word in row["threads"].split()]
        cpus = tuple(one for one in numbers if one is not None)
    else:
        return None
    return Place(rank, host, cpus) if cpus and all(0 <= cpu < _MOST_CPU for cpu in cpus) else None


def diagnose(measurement: Measurement, hosts: Sequence[Host]) -> Diagnosis | None:
    """What is wrong with where a run's ranks were; None where it says nothing of ranks."""
    facts = measurement.provenance.get("facts")
    found = places(facts) if isinstance(facts, Mapping) else ()
    if not found:
        return None
    symptoms: list[Symptom] = []
    unknown = list(_NOT_RECORDED)
    by_host: dict[str, list[Place]] = {}
    for place in found:
        by_host.setdefault(place.host, []).append(place)
    for name, here in by_host.items():
        symptoms += _on_one_cpu(here)
        host = next((one for one in hosts if one.name == name), None)
        if host is None or not host.cpu.cores:
            unknown.append(Absent(what=f"cores of {name}", why="the run directory does not say which CPUs share one"))
        else:
            symptoms += _on_one_core(here, host)
    symptoms += _disturbed(measurement)
    return Diagnosis(
        ranks=len(found),
        hosts=tuple(sorted(by_host)),
        launcher="",
        symptoms=tuple(symptoms),
        unknown=tuple(unknown),
    )


def _together(here: Iterable[Place], key: Mapping[int, int] | None) -> dict[int, list[tuple[int, int]]]:
    """CPU, or what ``key`` says of it -> the ranks with a thread there, and on which CPU."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for place in here:
        for cpu in place.cpus:
            at = cpu if key is None else key.get(cpu)
            if at is not None:
                groups.setdefault(at, []).append((place.rank, cpu))
    return groups


def _on_one_cpu(here: Sequence[Place]) -> Iterable[Symptom]:
    for cpu, threads in sorted(_together(here, None).items()):
        if len(threads) > 1:
            ranks = tuple(sorted({rank for rank, _ in threads}))
            yield Symptom(
                kind="shared-cpu" if len(ranks) > 1 else "crowded-rank",
                ranks=ranks,
                host=here[0].host,
                text=f"{count(len(threads), 'thread')} of rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} were "
                f"bound to CPU {cpu}",
                advice="give the job as many CPUs as it has threads: its figures are those of threads that wait",
            )


def _on_one_core(here: Sequence[Place], host: Host) -> Iterable[Symptom]:
    core = {cpu: number for number, one in enumerate(host.cpu.cores) for cpu in one.cpus}
    used = sum(len(place.cpus) for place in here)
    for _, threads in sorted(_together(here, core).items()):
        where = {cpu for _, cpu in threads}
        if len(where) > 1 and used <= len(host.cpu.cores):
            ranks = tuple(sorted({rank for rank, _ in threads}))
            yield Symptom(
                kind="shared-core",
                ranks=ranks,
                host=host.name,
                text=f"ranks {', '.join(map(str, ranks))} were on {cpu_words(where)}, threads of one core, though "
                f"{host.name} has {count(len(host.cpu.cores), 'core')} for {count(used, 'thread')}",
                advice="bind to cores: --cpus names those to use",
            )


def _disturbed(measurement: Measurement) -> Iterable[Symptom]:
    share = measurement.disturbance.other_cpu_fraction
    if share is not None and share > 0.05:
        yield Symptom(
            kind="disturbed",
            host=measurement.host,
            text=f"other processes used {100 * share:.0f} % of the CPU time of {measurement.host} meanwhile",
            advice="run it with nothing else on the host",
        )
