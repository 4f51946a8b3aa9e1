"""HPL's family in tests: its input file, and what a sweep of systems must have given."""

from __future__ import annotations

from pathlib import Path

from shakedown.programs.events import Events
from shakedown.records import Case
from support import natives

#: Program -> the kernel of its cases that are solved systems.
SOLVES = {"hpl": "hpl", "hpl_gpu": "hpl", "hpl_mxp": "hpl_mxp"}
DAT = """first line
second line
{output}     output file
{device}     device
1            N
{n}          Ns
{count}      NBs
{nb}         NBs
{pmap}       PMAP
1            grids
{p}          Ps
{q}          Qs
16.0         threshold
{pfacts}     PFACTs
{pfact}      PFACT
1            NBMINs
4            NBMIN
1            NDIVs
2            NDIV
1            RFACTs
1            RFACT
1            BCASTs
1            BCAST
1            DEPTHs
{depth}      DEPTH
2            SWAP
64           threshold
0            L1
0            U
1            equilibration
8            alignment
"""


def dat(**values: object) -> str:
    """An HPL.dat with some values replaced."""
    plain: dict[str, object] = {
        "output": "HPL.out",
        "device": 6,
        "n": 50,
        "count": 1,
        "nb": 8,
        "pmap": 0,
        "p": 1,
        "q": 2,
    }
    return DAT.format(**{**plain, "pfacts": 1, "pfact": 2, "depth": 1, **values})


def solved(found: Events, program: str = "hpl") -> list[Case]:
    return [case for case in found.cases if case.kernel == SOLVES[program]]


def all_pass(found: Events, expected: int, program: str = "hpl") -> None:
    """So many systems were solved, and not merely below the limit: a healthy residual is far below 1. That of a small
    system may be none at all, but where it was refined: there, single precision alone is beyond the limit by far."""
    cases = solved(found, program)
    assert found.ended and not found.garbage and len(cases) == expected
    for case in cases:
        check = case.residual
        assert check is not None and check.value is not None and check.passed, case.params
        assert check.value < 1, (check.value, case.params)
        exact = program != "hpl_mxp" and int(case.params["n"]) < 10
        assert check.value > 0 or exact, f"no error at all: nothing was computed {case.params}"


def on_devices(program: str, ranks: int, *words: str, backend: str = "host", cwd: Path | None = None) -> natives.Ended:
    """A program of GPUs on so many ranks, of which each has a device of the backend. Without mpirun on 0 ranks."""
    return natives.run_ranks(program, ranks, "--backend", backend, *words, cwd=cwd)


def sweep_on_devices(program: str, ranks: int, expected: int, *words: str) -> Events:
    code, found, err = on_devices(program, ranks, "--no-ceiling", *words).told()
    assert code == 0, err
    all_pass(found, expected, program)
    return found
