"""What was accepted: the machine as its own hosts told of it, with which software, and what disturbed it meanwhile. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis import advice
from ..document.text import count, listed, ranges, value_of
from ..files import atomic
from ..records import Host, Measurement, Notice
from ..units import show, show_bytes
from .plan import RunTest
from .results import Accepted, Fact, Tested

if TYPE_CHECKING:
    from .directory import Acceptance
    from .run_verdict import Measured

#: Facts of programs that name a library that the values hang on, and what they are called.
_TOLD = {"mpi": "MPI", "library": "Library", "blas": "BLAS"}
_MOST_VALUES = 4


def accepted(acceptance: Acceptance, sessions: Mapping[str, Measured], tests: Sequence[Tested]) -> Accepted:
    """What all sessions that the verdicts rest on were made on."""
    hosts = {host.name: host for one in sessions.values() for host in one.analysis.machine.hosts}
    measurements = [one for session in sessions.values() for one in session.measurements]
    seen = [notices for one in measurements if (notices := _disturbances(one, hosts))]
    kinds = Counter(code for notices in seen for code in {notice.code for notice in notices})
    first = {notice.code: notice.text for notices in reversed(seen) for notice in notices}
    return Accepted(
        facts=(*_hosts(list(hosts.values())), *_software(acceptance, sessions, list(hosts.values()), measurements)),
        rehearsal=rehearsal(list(hosts.values())),
        runs=len(measurements),
        disturbed=len(seen),
        disturbances=tuple(f"{first[code]} ({count(number, 'run')})" for code, number in kinds.most_common()),
    )


def circumstances(test: RunTest, runs: Sequence[str], session: Measured) -> dict[str, Any]:
    """Fields of an attempt: at which parameters its values were measured, and what disturbed its runs."""
    mine = [one for one in session.measurements if one.run in set(runs)]
    hosts = {host.name: host for host in session.analysis.machine.hosts}
    seen = [notices for one in mine if (notices := _disturbances(one, hosts))]
    under = []
    for metric in dict.fromkeys(limit.metric for limit in test.limits):
        cases = [one.params for one in session.analysis.findings if one.metric == metric and set(one.runs) & set(runs)]
        if words := _under(cases):
            under.append((metric, words))
    return {
        "circumstances": tuple(under),
        "runs": len(mine),
        "disturbed": len(seen),
        "disturbance": "; ".join(notice.text for notice in seen[0]) if seen else "",
    }


def _under(cases: Sequence[Mapping[str, Any]]) -> str:
    """``pattern one-to-many; ranks 2, 4; bytes 1 KiB``; hosts and ranks of pairs, which are places, are left out."""
    names = dict.fromkeys(name for params in cases for name in params)
    words = []
    for name in names:
        if name in ("host", "host_a", "host_b", "rank_a", "rank_b", "round"):
            continue
        found = list(dict.fromkeys(value_of(name, params[name]) for params in cases if name in params))
        words.append(f"{name.replace('_', ' ')} {listed(found, _MOST_VALUES)}")
    return "; ".join(words)


def _disturbances(one: Measurement, hosts: Mapping[str, Host]) -> tuple[Notice, ...]:
    host = hosts.get(one.host)
    return tuple(advice.disturbed(one.disturbance, len(host.usable_cpus) if host else 1))


# ----------------------------------------------------------------------------------------------------------------- hosts


def rehearsal(hosts: Sequence[Host]) -> str:
    """Why this is no acceptance of a cluster: its hosts are one machine, or it is one virtual machine; empty where nothing
    says so. Hosts of which no boot is known say nothing."""
    boots: dict[str, list[Host]] = {}
    for one in hosts:
        if one.boot_id:
            boots.setdefault(one.boot_id, []).append(one)
    for same in boots.values():
        if len(same) > 1:
            kind = f"one virtual machine ({same[0].virtualisation})" if same[0].virtualisation else "one machine"
            return f"{len(same)} hosts ({ranges(one.name for one in same)}) are {kind}"
    if len(hosts) == 1 and hosts[0].virtualisation:
        return f"made on one virtual machine ({hosts[0].virtualisation})"
    return ""


def _hosts(hosts: Sequence[Host]) -> Iterable[Fact]:
    """What hosts have alike is said once, with their names."""
    if hosts:
        yield Fact(what="Hosts", found=count(len(hosts), "host"), where=ranges(host.name for host in hosts))
    for what, words in (
        ("Processor", _processor),
        ("Memory", lambda host: show_bytes(round(host.memory.total_bytes / 2**30) * 2**30)),
        ("GPUs", _gpus),
        ("Network", _networks),
        ("Operating system", lambda host: host.os),
        ("Kernel", lambda host: host.kernel),
        ("Virtualisation", lambda host: host.virtualisation or "none seen"),
    ):
        groups: dict[str, list[str]] = {}
        for host in hosts:
            groups.setdefault(words(host) or "not known", []).append(host.name)
        yield from (
            Fact(what=what, found=text, where=ranges(names) if len(groups) > 1 else "")
            for text, names in groups.items()
        )


def _processor(host: Host) -> str:
    sockets = f"{host.cpu.sockets} x " if host.cpu.sockets else ""
    return f"{sockets}{host.cpu.model}, {count(len(host.cpu.cores), 'core')}, {host.cpu.architecture}"


def _gpus(host: Host) -> str:
    names = Counter(
        (one.name, show_bytes(one.memory_bytes) if one.memory_bytes else "", one.driver) for one in host.gpus
    )
    return (
        "; ".join(
            f"{number} x {name}{f', {memory}' if memory else ''}{f', driver {driver}' if driver else ''}"
            for (name, memory, driver), number in names.items()
        )
        or "none"
    )


def _networks(host: Host) -> str:
    real = [
        one for one in host.networks if one.kind not in ("loopback", "virtual") and one.state in ("", "up", "active")
    ]
    words = Counter(
        " ".join(filter(None, (one.kind, show(one.rate_bit_s, "bit/s") if one.rate_bit_s else "", one.driver)))
        for one in real
    )
    return "; ".join(f"{number} x {text}" for text, number in words.items())


# -------------------------------------------------------------------------------------------------------------- software


def _software(
    acceptance: Acceptance, sessions: Mapping[str, Measured], hosts: Sequence[Host], measurements: Sequence[Measurement]
) -> Iterable[Fact]:
    engines = dict.fromkeys(name for folder in sessions for name in _engines(acceptance, folder))
    for name in engines:
        versions = {one.version for host in hosts for one in host.software if one.name == name and one.version}
        yield Fact(what="Batch engine", found=" ".join([name, *sorted(versions)]))
    if sessions and not engines:
        yield Fact(what="Batch engine", found="none: the runs were not started through one")
    for key, what in _TOLD.items():
        told = dict.fromkeys(text for one in measurements if (text := _fact(one, key)))
        yield from (Fact(what=what, found=text) for text in told)
    drivers = {f"{one.name} {one.version}" for host in hosts for one in host.software if one.kind == "driver"}
    yield from (Fact(what="Driver", found=text) for text in sorted(drivers))
    builds = dict.fromkeys(text for one in measurements if (text := _build(one)))
    yield from (Fact(what="Programs", found=text) for text in builds)
    yield Fact(what="Shakedown", found=acceptance.begun.version)


def _engines(acceptance: Acceptance, folder: str) -> Iterable[str]:
    """The batch engines that a session's jobs were submitted to."""
    from ..run.batch.options import BatchOptions

    for path in sorted((acceptance.path / folder / "jobs").glob("*/asked.json")):
        yield atomic.read_record(path, BatchOptions).engine


def _fact(one: Measurement, key: str) -> str:
    facts = one.provenance.get("facts")
    value = facts.get(key) if isinstance(facts, dict) else None
    return value if isinstance(value, str) else ""


def _build(one: Measurement) -> str:
    """The version and commit of the program that measured, and its compiler."""
    build = one.provenance.get("build")
    if not isinstance(build, dict) or not build.get("commit"):
        return ""
    return f"version {build.get('version', '')}, commit {build['commit']}, {build.get('compiler', '')}"
