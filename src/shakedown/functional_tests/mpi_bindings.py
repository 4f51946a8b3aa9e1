"""The bindings of an MPI: C, C++ and each of Fortran's three, compiled by the MPI's own wrappers and run by its launcher.

The harness leaves what it knows of the host, or of the hosts as one, in ``host.json``. Each binding is a program of its
own, started on all ranks: the number of ranks in its world and the hosts that they are on are checked against what was
asked for, since a launcher that does not fit the library starts every rank as a world of one.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from .. import launchers, schedulers, strict
from ..errors import BadInput, ShakedownError, Unavailable
from ..hosts import hostlist
from ..hosts.access import LocalHost
from ..launchers import Command
from ..machine import mpi as flavours
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Host, Residual, Software
from ..schedulers import Allocation
from ..units import whole_number
from ..workloads.mpi_bindings import TABLE
from . import _modules, _work

_COMPILE_S = 300.0
_RUN_S = 180.0
_P2P = ("send_receive", "nonblocking", "any_source")
_COLLECTIVES = ("broadcast", "reduce", "gather", "all_to_all", "scan", "split")


class Binding(NamedTuple):
    """One binding: its program and the checks that this must print."""

    name: str
    language: str
    source: str
    define: str
    checks: tuple[str, ...]


_FORTRAN = (*_P2P, *_COLLECTIVES, "derived_types", "put_get", "file")
BINDINGS = (
    Binding("c", "c", "bindings.c", "", (*_FORTRAN, "fetch_and_op")),
    Binding("c++", "c++", "bindings.cpp", "", ("send_receive", "complex", "gather", "operation", "errors", "threads")),
    Binding("mpif.h", "fortran", "bindings.F90", "MPIF_H", _FORTRAN),
    Binding("use mpi", "fortran", "bindings.F90", "USE_MPI", _FORTRAN),
    Binding("use mpi_f08", "fortran", "bindings.F90", "USE_MPI_F08", _FORTRAN),
)
LANGUAGES = ("c", "c++", "fortran")
#: Checks that an MPI may refuse to begin on some network or file system, and what they are called in `require`.
FEATURES = {"put_get": "one-sided", "fetch_and_op": "one-sided", "file": "file"}
_ADVICE = {
    "one-sided": "another transport may do it: with Open MPI 4 over TCP set OMPI_MCA_osc=ucx",
    "file": "is the run's folder on a file system that all hosts share, and that MPI-IO knows?",
    "": "",
}

#: The wrappers of each language, those of a flavour's own compilers first.
_WRAPPERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    flavours.INTEL: {
        "c": ("mpiicx", "mpiicc", "mpicc"),
        "c++": ("mpiicpx", "mpiicpc", "mpicxx"),
        "fortran": ("mpiifx", "mpiifort", "mpifort", "mpif90"),
    },
    flavours.CRAY: {"c": ("cc", "mpicc"), "c++": ("CC", "mpicxx"), "fortran": ("ftn", "mpifort")},
    "": {"c": ("mpicc",), "c++": ("mpicxx", "mpic++", "mpiCC"), "fortran": ("mpifort", "mpif90")},
}


class Printed(NamedTuple):
    """What a program said: worlds as often as one was told, the host of each rank, checks with their failing ranks, and
    what the MPI refused to begin with its own reason."""

    worlds: tuple[int, ...]
    hosts: dict[int, str]
    checks: dict[str, int]
    absent: dict[str, str]
    facts: dict[str, str]
    done: int


def parse(text: str) -> Printed:
    """Read what a binding's program printed; lines of others (launchers, libraries) are passed over."""
    worlds: list[int] = []
    hosts: dict[int, str] = {}
    checks: dict[str, int] = {}
    absent: dict[str, str] = {}
    facts: dict[str, str] = {}
    done = 0
    for line in text.splitlines():
        match line.split():
            case ["world", word] if (number := whole_number(word)) is not None:
                worlds.append(number)
            case ["rank", word, host] if (number := whole_number(word)) is not None:
                hosts[number] = host
            case ["check", name, word] if (number := whole_number(word)) is not None:
                checks[name] = checks.get(name, 0) + number
            case ["absent", name, *words]:
                absent[name] = " ".join(words)
            case ["fact", name, *words]:
                facts[name] = " ".join(words)
            case ["done"]:
                done += 1
    return Printed(tuple(worlds), hosts, checks, absent, facts, done)


def judge(
    binding: Binding, printed: Printed, ranks: int, hosts: Sequence[str], require: Sequence[str] = ()
) -> tuple[str, ...]:
    """What is wrong with what a program printed; empty where all is right.

    ``hosts``: where the ranks must be, in equal numbers; empty: nothing is known of that. What the MPI refused to begin is
    wrong only where ``require`` names it."""
    if len(printed.worlds) > 1:
        return (
            f"{len(printed.worlds)} worlds of {', '.join(map(str, sorted(set(printed.worlds))))} ranks were started, not "
            f"one of {ranks}: the launcher is not that of this library",
        )
    wrong = []
    if printed.worlds != (ranks,):
        wrong.append(f"the world has {printed.worlds[0] if printed.worlds else 'no'} ranks, not {ranks}")
    if sorted(printed.hosts) != list(range(ranks)):
        wrong.append(f"the hosts of {len(printed.hosts)} of {ranks} ranks were reported")
    elif hosts:
        wrong += _places(printed.hosts, hosts)
    for name in binding.checks:
        if name in printed.absent:
            if FEATURES[name] in require:
                wrong.append(f"{name} was refused: {printed.absent[name]}")
        elif name not in printed.checks:
            wrong.append(f"{name} was not reached")
        elif printed.checks[name]:
            wrong.append(f"{name} failed on {printed.checks[name]} of {ranks} ranks")
    if printed.done != 1:
        wrong.append("the program did not come to its end")
    return tuple(wrong)


def _places(told: Mapping[int, str], hosts: Sequence[str]) -> list[str]:
    """What is wrong with the hosts of the ranks. A name with its domain is that without."""
    short = {host.split(".")[0] for host in hosts}
    seen: dict[str, int] = {}
    for host in told.values():
        seen[host.split(".")[0]] = seen.get(host.split(".")[0], 0) + 1
    wrong = []
    if strange := sorted(set(seen) - short):
        wrong.append(f"ranks ran on {', '.join(strange)}, which were not requested")
    if empty := sorted(short - set(seen)):
        wrong.append(f"no rank ran on {', '.join(empty)}")
    if not wrong and len(set(seen.values())) > 1:
        wrong.append("the ranks are not spread evenly: " + ", ".join(f"{n} on {host}" for host, n in seen.items()))
    return wrong


def chosen(software: Sequence[Software], word: str) -> Software:
    """The MPI of that path or name. Raises Unavailable."""
    found = [one for one in software if one.kind == "mpi"]
    for one in found:
        if word in (one.path, one.name):
            return one
    here = ", ".join(f"{one.name} {one.version}" for one in found) or "none"
    raise Unavailable(f"the MPI {word!r} is not here (found: {here})", hint="load its module, or name another in `mpi`")


def wrapper(mpi: Software, language: str) -> str:
    """The MPI's compiler for a language: beside its launcher, with the launcher's suffix. Raises Unavailable."""
    names = _WRAPPERS.get(mpi.name, _WRAPPERS[""])[language]
    folder, launcher = posixpath.split(mpi.path or str(mpi.facts.get("mpicxx", "")))
    suffix = launcher.partition(".")[2]
    endings = (f".{suffix}", "") if suffix and suffix != "hydra" else ("",)
    for ending in endings:
        for name in names:
            path = posixpath.join(folder, name + ending)
            if os.access(path, os.X_OK):
                return path
    raise Unavailable(
        f"{mpi.name} has no compiler wrapper for {language} ({', '.join(names)} in {folder or 'its folder'})",
        hint="install the MPI's headers and wrappers (libopenmpi-dev, the module's devel part)",
    )


class Site(NamedTuple):
    """Where the programs run."""

    host: Host  # with the chosen MPI and no other
    mpi: Software
    allocation: Allocation | None
    hosts: tuple[str, ...]  # of the allocation; empty: this host alone
    ranks: int
    require: tuple[str, ...] = ()
    launcher: str = ""  # empty: the first that can


def started(site: Site, argv: Sequence[str], env: Mapping[str, str] | None = None) -> launchers.Started:
    """The words that start a program on all ranks, and their environment, to which ``env`` belongs. Raises Unavailable."""
    mpi, facts = site.mpi, site.mpi.facts
    source = {"source": facts.get("source", "site"), "mpicxx": facts.get("mpicxx", "")}
    built = {"mpi": {"flavour": mpi.name, "version": mpi.version, **source}}
    of_site = facts.get("source") != "wheel" or bool(facts.get("asked"))
    command = Command(argv=tuple(argv), env=dict(env or {}), ranks=site.ranks, site_mpi=of_site)
    return launchers.wrap(
        command, site.host, allocation=site.allocation, hosts=site.hosts, launcher=site.launcher, build=built
    )


class Absent(NamedTuple):
    """Why a binding is not there."""

    why: str
    hint: str


def build(binding: Binding, mpi: Software, folder: Path) -> Path | Absent:
    """Compile a binding's program; where that fails, the reason."""
    try:
        compiler = wrapper(mpi, binding.language)
    except Unavailable as error:
        return Absent(error.what, error.hint)
    target = folder / binding.name.replace(" ", "_").replace(".", "_")
    words = [compiler, "-O1"]
    if binding.define:
        words.append(f"-D{binding.define}")
    words += [str(_work.SOURCES / "mpi" / binding.source), "-o", str(target)]
    if binding.language == "c++":
        words.append("-pthread")
    ran = _work.run(words, limit_s=_COMPILE_S, cwd=folder)
    if ran.ok and target.exists():
        return target
    return Absent(
        f"{compiler}: {_work.said(ran) or 'no program was made'}",
        "the module files of an MPI fit one compiler's version only: load the compiler that it was built with",
    )


class Outcome(NamedTuple):
    """What came of one binding."""

    wrong: tuple[str, ...]
    printed: Printed
    seconds: float


def try_binding(binding: Binding, program: Path, site: Site, folder: Path) -> Outcome:
    """Run a binding's program on all ranks and judge what it printed."""
    shared = folder / f"{program.name}.data"
    argv, env = started(site, (str(program), str(shared)))
    env = {"OMPI_MCA_mpi_yield_when_idle": "1", **env}  # ranks may outnumber cores: this is no measurement of speed
    ran = _work.run(argv, limit_s=_RUN_S, cwd=folder, env=env)
    printed = parse(ran.out)
    wrong = judge(binding, printed, site.ranks, site.hosts, site.require)
    if not ran.ok:
        wrong = (f"the run {_work.said(ran)}", *wrong)
    return Outcome(wrong, printed, ran.seconds)


def demonstrate(site: Site, languages: Sequence[str], folder: Path, emit: Emitter) -> None:
    """Every binding of the languages: one case each, then the counts."""
    label = f"{site.mpi.name} {site.mpi.version}".strip()
    todo = [one for one in BINDINGS if one.language in languages]
    present: dict[str, list[str]] = {}
    whole = True
    for number, binding in enumerate(todo):
        emit.progress(number / len(todo), f"{label}: {binding.name}")
        program = build(binding, site.mpi, folder)
        if isinstance(program, Absent):
            emit.notice("binding-absent", f"{label} has no binding {binding.name!r}: {program.why}", program.hint)
            continue
        outcome = try_binding(binding, program, site, folder)
        printed, what = outcome.printed, f"{label}, binding {binding.name!r}"
        places = [printed.hosts.get(rank, "") for rank in range(site.ranks)]
        seen = {"world_size": max(printed.worlds, default=0), "hosts": places}
        emit.facts({binding.name: {**printed.facts, **seen}})
        for name, why in printed.absent.items():
            emit.notice("mpi-feature", f"{what}: {name} was refused: {why}", _ADVICE[FEATURES.get(name, "")])
        if outcome.wrong:
            emit.notice("binding-wrong", f"{what}: {'; '.join(outcome.wrong[:4])}")
            whole = False
        else:
            present.setdefault(binding.language, []).append(binding.name)
        params: dict[str, str | int] = {
            "mpi": label,
            "binding": binding.name,
            "ranks": site.ranks,
            "hosts": max(1, len(site.hosts)),
        }
        check = Residual(value=len(outcome.wrong), limit=0, kind="wrong results")
        emit.case("binding", params, {"checks": len(binding.checks)}, [outcome.seconds], check)
    counts = {"languages": len(present), "bindings": sum(map(len, present.values()))}
    if not present and whole:
        raise Unavailable(
            f"{label} has no binding that can be compiled for {', '.join(languages)}",
            hint="the notices say why; install its headers and wrappers",
        )
    emit.case("mpi", {"mpi": label, "ranks": site.ranks, "hosts": max(1, len(site.hosts))}, counts)


def site_of(host: Host, mpi: Software, ranks: str) -> Site:
    """Where the programs run: on all hosts that ``host`` stands for. Raises BadInput for a number that does not part."""
    allocation = schedulers.inside(os.environ, LocalHost())
    names = hostlist.expand(host.name) if host.count > 1 else (host.name,) if allocation else ()
    count = max(1, len(names))
    number = 2 * count if ranks == "auto" else int(ranks)
    if number < 2 or number % count:
        uneven = f"{number} ranks cannot be spread evenly over {count} hosts"
        what = uneven if number >= 2 else "one rank has no other rank to communicate with"
        raise BadInput(what, hint=f"ask for a multiple of {count}, at least 2, or auto")
    alone = msgspec.structs.replace(host, software=(mpi,))
    return Site(alone, mpi, allocation, names, number)


def read_host(path: str) -> Host:
    """The host that the harness left. Raises BadInput."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Host)
    except (OSError, *strict.UNREADABLE) as error:
        raise BadInput(
            f"there is no host in this file: {error}", where=path, hint="it is written by the harness"
        ) from None


def body(argv: Sequence[str], emit: Emitter) -> None:
    words = ProgramArguments(
        "mpi_bindings", "the bindings of an MPI: compiled by its wrappers, run by its launcher, verified"
    )
    words.add_argument("--host", required=True, help="file that holds the host as JSON")
    _work.add_options(words, TABLE, mpi={"required": True, "help": "path of the MPI's launcher, or its name"})
    asked = words.parse_args(argv)
    languages = _work.words(asked.languages, LANGUAGES, "language")
    if asked.ranks != "auto" and whole_number(asked.ranks) is None:
        raise BadInput(f"--ranks {asked.ranks!r} is not a number", hint="a number, or auto")
    host = read_host(asked.host)
    modules = [one.strip() for one in asked.modules.split(",") if one.strip()]
    loaded = _modules.load(modules)
    software = flavours.mpi(LocalHost()) if loaded or modules else host.software
    mpi = chosen(software, asked.mpi) if asked.mpi != "auto" else launchers.site_mpi(software)
    features = sorted(set(FEATURES.values()))
    require = _work.words(asked.require, features, "feature") if asked.require.strip() else ()
    site = site_of(host, mpi, asked.ranks)._replace(
        require=require, launcher="" if asked.launcher == "auto" else asked.launcher
    )
    facts = {
        "mpi": {"name": mpi.name, "version": mpi.version, "launcher": mpi.path},
        "ranks_asked": site.ranks,
        "hosts_asked": list(site.hosts),
        "modules": list(loaded),
    }
    try:
        facts["start"] = list(started(site, ("PROGRAM",))[0])
    except ShakedownError:
        emit.start(facts)
        raise
    emit.start(facts)
    with _work.workshop() as folder, emit.phase("verify"):
        demonstrate(site, languages, folder, emit)


if __name__ == "__main__":
    sys.exit(run("mpi_bindings", body))
