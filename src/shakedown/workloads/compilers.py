"""Compilers of a suite, present and right: C, C++ and Fortran, each without and with optimisation.

Small programs are compiled, run, and must print what is known beforehand, bit for bit: integers, IEEE 754 arithmetic
(sums in order, rounding, subnormal numbers, infinities), exceptions, threads, OpenMP, C++20 and Fortran 2008, coarrays of
one image, and Fortran, C and C++ calling each other. What is right is computed in Python, never by the compiler under
test, and arithmetic is compiled as it is written (the suite's own words for that are among the facts). A wrong value, a
crash, or a compiler that by its own macros is another than it is called fails the check. A compiler that is not there is
not counted, and a notice says why; a feature that is not there neither, unless ``require`` names it.

``suite`` is a name (``nvidia`` is PGI too), ``all`` that are found, or ``any``: the one with most of the languages.
``modules`` are environment modules to load first: what the module command says is read, never executed.
"""

from __future__ import annotations

from ..launchers import Command
from ..records import Host, Machine, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    languages, require = TABLE.selection(params, "languages"), TABLE.selection(params, "require", allow_empty=True)
    return ({**params, "languages": ",".join(languages), "require": ",".join(require)},)


def _command(params: Params, host: Host) -> Command:
    return Command(argv=TABLE.argv(params, omit=()))


def _label(params: Params) -> str:
    modules = f", modules {params['modules']}" if params["modules"] else ""
    return f"compilers {str(params['languages']).replace(',', ', ')} of {params['suite']}{modules}"


WORKLOAD = TABLE.workload(
    title="Compilers (present and right)",
    command=_command,
    estimate_s=lambda params, host: 15.0 * (4 if params["suite"] == "all" else 1),
    resolve=_resolve,
    label=_label,
)
