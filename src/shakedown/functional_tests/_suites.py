"""Compiler suites: which programs belong to one, how they say what they are, and their words for what we ask.

A program is taken for a suite's compiler only where its own version text says so: ``cc`` is Cray's on a Cray and GCC
elsewhere, and ``clang`` is LLVM's, AMD's or a vendor's. What it compiles says it once more (predefined macros,
``compiler_version()``).

``strict`` are the words that make a compiler keep to IEEE 754 arithmetic as it is written: Intel's and NVIDIA's reorder
sums and flush subnormal numbers by default, and every compiler may fuse a multiplication with an addition, so that no
result would be exact. Sources: the compilers' own manuals (icx ``-fp-model``, nvc ``-Kieee``, craycc ``-hfp0``, GCC and
Clang ``-ffp-contract``).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from . import _work

LANGUAGES = ("c", "c++", "fortran")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:-\d+)?")


class Suite(NamedTuple):
    """One suite. ``programs``: by language, the names of its compilers, the newest first."""

    name: str
    title: str
    programs: Mapping[str, tuple[str, ...]]
    says: str  # a pattern that the version text of its compilers holds
    never: str = ""  # a pattern that it does not hold: another's compiler under the same name
    identity: tuple[str, ...] = ()  # what numerics.c prints of it
    openmp: str = "-fopenmp"
    strict: tuple[str, ...] = ("-ffp-contract=off",)
    coarray: tuple[str, ...] = ()  # empty: no coarrays
    cxx_runtime: tuple[str, ...] = ("-lstdc++",)  # for a program whose main is Fortran
    ask: str = "--version"


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "intel",
            "Intel oneAPI (or classic)",
            {"c": ("icx", "icc"), "c++": ("icpx", "icpc"), "fortran": ("ifx", "ifort")},
            says=r"Intel|\((ICC|ICPC|IFORT|IFX)\)",
            identity=("intel",),
            openmp="-qopenmp",
            strict=("-fp-model=precise", "-no-ftz"),
            coarray=("-coarray=single",),
        ),
        Suite(
            "nvidia",
            "NVIDIA HPC SDK (PGI)",
            {"c": ("nvc", "pgcc"), "c++": ("nvc++", "pgc++", "pgCC"), "fortran": ("nvfortran", "pgfortran", "pgf90")},
            says=r"\b(nvc|nvc\+\+|nvfortran|pgcc|pgc\+\+|pgCC|pgfortran|pgf90)\b.*\d",
            identity=("nvidia",),
            openmp="-mp",
            strict=("-Kieee", "-Mnofma"),
            cxx_runtime=("-c++libs",),
        ),
        Suite(
            "cray",
            "HPE Cray Compiling Environment",
            {"c": ("craycc", "cc"), "c++": ("crayCC", "CC"), "fortran": ("crayftn", "ftn")},
            says=r"Cray (C|clang|Fortran)",
            identity=("cray",),
            strict=("-ffp-contract=off",),
            coarray=("-hcaf",),
        ),
        Suite(
            "aocc",
            "AMD Optimizing C/C++ Compiler",
            {"c": ("clang",), "c++": ("clang++",), "fortran": ("flang",)},
            says=r"AOCC|AMD clang",
            identity=("clang",),
        ),
        Suite(
            "arm",
            "Arm Compiler for Linux",
            {"c": ("armclang",), "c++": ("armclang++",), "fortran": ("armflang",)},
            says=r"Arm C/C\+\+/Fortran|Arm Compiler",
            identity=("arm", "clang"),
        ),
        Suite(
            "llvm",
            "LLVM",
            {"c": ("clang",), "c++": ("clang++",), "fortran": ("flang", "flang-new")},
            says=r"(clang|flang|flang-new|LLVM) version",
            never=r"AOCC|AMD clang|Intel|Cray|Arm C",
            identity=("clang",),
        ),
        Suite(
            "gnu",
            "GNU Compiler Collection",
            {"c": ("gcc",), "c++": ("g++",), "fortran": ("gfortran",)},
            says=r"\(GCC\)|Free Software Foundation|GNU Fortran",
            identity=("gnu",),
            coarray=("-fcoarray=single",),
        ),
    )
}
#: Crayftn is no clang: it has words of its own.
_STRICT_FORTRAN: Mapping[str, tuple[str, ...]] = {"cray": ("-hfp0",), "nvidia": ("-Kieee", "-Mnofma")}


class Compiler(NamedTuple):
    """One compiler that was found. ``text`` is the line of its version text that names it."""

    suite: str
    language: str
    path: str
    version: str
    text: str


class SuiteResult(NamedTuple):
    """The compilers of one suite by language, and why others are missing."""

    compilers: dict[str, Compiler]
    absent: dict[str, str]


def strict(suite: Suite, language: str) -> tuple[str, ...]:
    """The words for arithmetic as it is written."""
    return _STRICT_FORTRAN.get(suite.name, suite.strict) if language == "fortran" else suite.strict


def version_line(text: str) -> str:
    """The first line of a version text that holds a version; else the first that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if _VERSION.search(line)), lines[0] if lines else "")


def version_of(line: str) -> str:
    """The version in that line: the first outside of brackets, where distributors name their own."""
    match = _VERSION.search(re.sub(r"\([^)]*\)", "", line)) or _VERSION.search(line)
    return match[0] if match else ""


def belongs(suite: Suite, text: str) -> bool:
    """Whether a version text is one of this suite's."""
    return bool(re.search(suite.says, text)) and not (suite.never and re.search(suite.never, text))


def find(suite: Suite, languages: tuple[str, ...], *, path: str | None = None) -> SuiteResult:
    """The suite's compilers on PATH (``path`` in tests). A name whose version text is another's is no compiler of it."""
    found: dict[str, Compiler] = {}
    absent: dict[str, str] = {}
    for language in languages:
        names = suite.programs[language]
        reasons = []
        for name in names:
            where = shutil.which(name, path=path)
            if where is None:
                continue
            ran = _work.run((where, suite.ask), limit_s=30)
            text = f"{ran.out}\n{ran.err}"
            line = version_line(text)
            if not ran.ok:
                reasons.append(f"{where} is there, but {_work.said(ran)}")
            elif not belongs(suite, text):
                reasons.append(f"{where} is there, but says that it is {line!r}")
            else:
                found[language] = Compiler(suite.name, language, where, version_of(line), line)
                break
        if language not in found:
            absent[language] = "; ".join(reasons) or f"none of {', '.join(names)} is on PATH"
    return SuiteResult(found, absent)
