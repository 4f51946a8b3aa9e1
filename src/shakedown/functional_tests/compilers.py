"""Compilers of a suite: each compiles small programs, which run and must print exactly what is known beforehand.

What is right is computed here, by Python's integers and IEEE 754 doubles, never by a compiler under test. A program that
prints a wrong value, crashes or does not end fails the check of its case; a compiler or a feature that is not there is
told in a notice and not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import Unavailable
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Residual
from ..workloads.compilers import TABLE
from . import _modules, _suites, _work
from ._expected import expected
from ._suites import LANGUAGES, SUITES, Compiler, Suite

_COMPILE_S = 300.0
_RUN_S = 60.0
#: Four threads are asked for by the programs with OpenMP, on however many cores.
_ENV = {"OMP_NUM_THREADS": "4", "OMP_DYNAMIC": "false", "OMP_WAIT_POLICY": "passive", "OMP_MAX_ACTIVE_LEVELS": "1"}


class Program(NamedTuple):
    """A program of one language. ``core``: without it the language is not supported; else it is a feature."""

    name: str
    language: str
    sources: tuple[str, ...]
    core: bool
    levels: tuple[str, ...]
    standard: str = ""
    openmp: bool = False
    libraries: tuple[str, ...] = ()


_BOTH = ("-O0", "-O3")
_FAST = ("-O3",)
PROGRAMS = (
    Program("numerics", "c", ("numerics.c",), True, _BOTH, "c11", libraries=("-lm",)),
    Program("openmp", "c", ("openmp.c",), False, _BOTH, "c11", openmp=True),
    Program("numerics", "c++", ("numerics.cpp",), True, _BOTH, "c++17", libraries=("-pthread", "-lm")),
    Program("openmp", "c++", ("openmp.cpp",), False, _BOTH, "c++17", openmp=True),
    Program("c++20", "c++", ("cxx20.cpp",), False, _FAST, "c++20", libraries=("-pthread",)),
    Program("parallel", "c++", ("parallel.cpp",), False, _FAST, "c++17", libraries=("-pthread",)),
    Program("numerics", "fortran", ("numerics.f90",), True, _BOTH),
    Program("openmp", "fortran", ("openmp.f90",), False, _BOTH, openmp=True),
    Program("fortran2008", "fortran", ("f2008.f90",), False, _FAST),
    Program("coarray", "fortran", ("coarray.f90",), False, _FAST),
    Program("interoperability", "fortran", ("interop.f90",), False, _FAST),
)


#: Names of programs that are features: whether a language has them is found out, and `require` asks for it.
FEATURES = tuple(dict.fromkeys(one.name for one in PROGRAMS if not one.core))


class CompilersOptions(NamedTuple):
    """Which languages are looked at, and which features they must have."""

    languages: tuple[str, ...]
    require: tuple[str, ...]


class Seen(NamedTuple):
    """What came of one program at one level. ``wrong`` names what differs; None: it could not be compiled."""

    wrong: tuple[str, ...] | None
    checks: int
    compile_s: float
    text: str
    facts: dict[str, str]


def compare(printed: str, wanted: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """What of ``wanted`` a program did not print so, and what else it printed. Letters of bits may be large."""
    lines = [line.split(" ", 1) for line in printed.splitlines() if line.strip()]
    got = {line[0]: line[1].strip() if len(line) > 1 else "" for line in lines}
    wrong = tuple(
        f"{name} is {got.get(name, 'not printed')}, not {value}"
        for name, value in wanted.items()
        if got.get(name, "").lower() != value.lower()
    )
    return wrong, {name: value for name, value in got.items() if name not in wanted}


def command(suite: Suite, compiler: Compiler, program: Program, level: str, output: str) -> tuple[str, ...]:
    """The words that compile and link a program of one language."""
    words = [compiler.path, level, *_suites.strict(suite, program.language)]
    if program.standard:
        words.append(f"-std={program.standard}")
    if program.openmp:
        words.append(suite.openmp)
    if program.name == "coarray":
        words += suite.coarray
    sources = (str(_work.SOURCES / "compilers" / one) for one in program.sources)
    return (*words, *sources, "-o", output, *program.libraries)


def try_program(suite: Suite, compilers: Mapping[str, Compiler], program: Program, level: str, folder: Path) -> Seen:
    """Compile, run and compare one program at one level of optimisation."""
    target = folder / "program"
    target.unlink(missing_ok=True)
    if program.name == "interoperability":
        built = _link_three(suite, compilers, level, folder, target)
    else:
        words = command(suite, compilers[program.language], program, level, str(target))
        built = _work.run(words, limit_s=_COMPILE_S, cwd=folder)
    if not built.ok or not target.exists():
        return Seen(None, 0, built.seconds, _work.said(built) or "no program was made", {})
    wanted = expected(program.name, program.language)
    ran = _work.run((str(target),), limit_s=_RUN_S, cwd=folder, env=_ENV)
    wrong, facts = compare(ran.out, wanted)
    if not ran.ok:
        wrong = (f"the program {_work.said(ran)}", *wrong)
    identity = facts.get("identity")
    if identity and suite.identity and identity not in suite.identity:
        wrong = (*wrong, f"the compiler's own macros say that it is {identity}, not {suite.name}")
    return Seen(wrong, len(wanted), built.seconds, "", facts)


def _link_three(suite: Suite, compilers: Mapping[str, Compiler], level: str, folder: Path, target: Path) -> _work.Ran:
    """Fortran's main with objects of C and, where there is a C++ compiler, of C++; the seconds are those of all."""
    sources = _work.SOURCES / "compilers"
    with_cxx = "c++" in compilers
    define = ("-DWITH_CXX",) if with_cxx else ()
    steps = [(compilers["c"].path, level, *define, "-c", str(sources / "interop.c"), "-o", "c.o")]
    if with_cxx:
        steps.append((compilers["c++"].path, level, "-c", str(sources / "interop.cpp"), "-o", "cxx.o"))
    objects = ("c.o", *(("cxx.o", *suite.cxx_runtime) if with_cxx else ()))
    steps.append((compilers["fortran"].path, level, str(sources / "interop.f90"), *objects, "-o", str(target)))
    seconds = 0.0
    for words in steps:
        ran = _work.run(words, limit_s=_COMPILE_S, cwd=folder)
        seconds += ran.seconds
        if not ran.ok:
            break
    return ran._replace(seconds=seconds)


def impossible(suite: Suite, program: Program, compilers: Mapping[str, Compiler]) -> str:
    """Why a program cannot be tried with these compilers; empty where it can."""
    if program.name == "coarray" and not suite.coarray:
        return f"{suite.title} has no coarrays"
    if program.name == "interoperability" and "c" not in compilers:
        return "there is no C compiler of the suite beside the Fortran one"
    return ""


def demonstrate(suite: Suite, found: _suites.SuiteResult, folder: Path, emit: Emitter, asked: CompilersOptions) -> None:
    """Try every program of the languages that are there; one case for each, then the counts of the suite."""
    for language in asked.languages:
        if language in found.absent:
            what = f"{suite.title}: no compiler for {language}: {found.absent[language]}"
            emit.notice("compiler-absent", what, "install it, or name its module in `modules`")
    failed: set[str] = set()
    times: dict[str, list[float]] = {}
    features: set[tuple[str, str]] = set()
    todo = [one for one in PROGRAMS if one.language in found.compilers]
    for number, program in enumerate(todo):
        emit.progress(number / len(todo), f"{suite.name} {program.language} {program.name}")
        required = program.core or program.name in asked.require
        usable = []
        for level in program.levels:
            why = impossible(suite, program, found.compilers)
            seen = Seen(None, 0, 0.0, why, {}) if why else try_program(suite, found.compilers, program, level, folder)
            usable.append(_judge(suite, program, level, seen, required, emit))
            if seen.wrong is not None:
                times.setdefault(program.language, []).append(seen.compile_s)
        if required and not all(usable):
            failed.add(program.language)
        if not program.core and all(usable):
            features.add((program.language, program.name))
    for language, one in found.compilers.items():
        if language in times:
            params = {"suite": suite.name, "language": language, "version": one.version}
            emit.case("compile", params, {"programs": len(times[language])}, [sum(times[language])])
    right = found.compilers.keys() - failed
    emit.case("suite", {"suite": suite.name}, {"languages": len(right), "features": len(features)})


def _judge(suite: Suite, program: Program, level: str, seen: Seen, required: bool, emit: Emitter) -> bool:
    """Say what came of a program; whether it was there and right. One that could not be compiled is a wrong result
    where it is required, and an absent feature else."""
    what = f"{suite.title} {program.language}: {program.name} at {level}"
    if seen.wrong is None and not required:
        emit.notice("feature-absent", f"{what}: {seen.text}")
        return False
    wrong = (f"it cannot be had: {seen.text}",) if seen.wrong is None else seen.wrong
    if wrong:
        emit.notice("compiler-wrong", f"{what}: {'; '.join(wrong[:4])}", "this compiler cannot be accepted as it is")
    facts = {name.removeprefix("fact_"): value for name, value in seen.facts.items() if name.startswith("fact_")}
    if facts and level == program.levels[0]:
        emit.facts({f"{suite.name} {program.language} {name}": value for name, value in facts.items()})
    params = {"suite": suite.name, "language": program.language, "program": program.name, "level": level}
    check = Residual(value=len(wrong), limit=0, kind="wrong results")
    emit.case("program", params, {"checks": float(max(seen.checks, 1))}, [seen.compile_s], check)
    return not wrong


def choose(word: str, languages: tuple[str, ...]) -> dict[str, _suites.SuiteResult]:
    """The suites that ``suite`` asks for: a name, "all" that are there, or "any": the one with most of the languages.

    Raises Unavailable where none of the compilers is there, with every reason.
    """
    names = tuple(SUITES) if word in ("any", "all") else (word,)
    found = {name: _suites.find(SUITES[name], languages) for name in names}
    present = {name: one for name, one in found.items() if one.compilers}
    if not present:
        reasons = [f"{language}: {why}" for one in found.values() for language, why in one.absent.items()]
        told = "; ".join(reasons) if len(names) == 1 else f"looked for {', '.join(SUITES)}"
        title = SUITES[word].title if word in SUITES else "any suite"
        raise Unavailable(
            f"no compiler of {title} is here ({told})",
            hint='load its environment module first, or name it: modules = "..."',
        )
    if word == "any":
        best = max(present, key=lambda name: (len(present[name].compilers), name == "gnu"))
        return {best: present[best]}
    return present


def body(argv: Sequence[str], emit: Emitter) -> None:
    words = ProgramArguments("compilers", "compilers of a suite: present, and their results right")
    _work.add_options(words, TABLE)
    asked = words.parse_args(argv)
    languages = _work.words(asked.languages, LANGUAGES, "language")
    require = _work.words(asked.require, FEATURES, "feature") if asked.require.strip() else ()
    loaded = _modules.load([one.strip() for one in asked.modules.split(",") if one.strip()])
    found = choose(asked.suite, languages)
    compilers = [one for suite in found.values() for one in suite.compilers.values()]
    strict = {name: " ".join(SUITES[name].strict) for name in found}
    emit.start({"compilers": [one._asdict() for one in compilers], "strict": strict, "modules": list(loaded)})
    with _work.workshop() as folder, emit.phase("verify"):
        for name, one in found.items():
            demonstrate(SUITES[name], one, folder, emit, CompilersOptions(languages, require))


if __name__ == "__main__":
    sys.exit(run("compilers", body))
