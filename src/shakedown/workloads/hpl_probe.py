"""The pieces that HPL is made of, each timed alone by HPL's own code, on all threads of all ranks at once.

A product is the update of the trailing matrix, C -= L U with depth k, random numbers in rows stored one after another;
narrow ones have few rows or columns. A triangular solve is that for the rows of U, chunk by chunk of columns; a panel is
factored by a group of threads, alone or beside products of the others; rows are gathered and put back as random pivots ask.
Messages go round a ring of the ranks of a host, and one across hosts: one pair alone or all at once, and beside products of
the other threads or not. All are one rank's work over the time of the slowest rank; only the product of whole hosts counts a
host's. Every result is checked: products, solves and panels by what a random vector makes of them, against the bound of
rounding, rows and messages word by word. See native/hpl_probe/README.md.

These are the rates that a forecast of HPL and its tuner begin with: a run directory that holds them replaces their
assumptions.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from .common import blas, lists
from .common import ranks as _ranks
from .common.table import table_of

TABLE = table_of(__file__)


def _lists(params: Params) -> dict[str, tuple[object, ...]]:
    """The lists that are not left to the program. Raises BadInput."""
    found: dict[str, tuple[object, ...]] = {}
    for name in ("k", "nb", "panel_rows", "panel_threads", "nbmin", "sizes"):
        if params[name] != "auto":
            found[name] = lists.whole(params[name], f"hpl_probe.{name}", low=8 if name == "sizes" else 1)
    for name in ("only", "pfact", "trsm"):
        if params[name] not in ("all", "auto"):
            found[name] = TABLE.selection(params, name)
    return found


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    ranks = _ranks.count(params, host)
    threads = _ranks.threads(params, host, ranks, where="hpl_probe")
    _lists(params)
    if ranks == 1 and set(TABLE.selection(params, "only")) <= {"ring", "latency"}:
        raise BadInput(
            f"hpl_probe.only = {params['only']} needs two ranks, and there is one", hint="give ranks = 2 or more"
        )
    return tuple(
        {**params, "ranks": ranks, "threads": threads, "library": label or path, "library_path": path}
        for path, label in blas.choose(str(params["library"]), host)
    )


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    argv = TABLE.argv(params, omit=("", "auto", "all"), **_lists(params))
    return Command(argv=argv, ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case its samples of 20 ms or one product, with as long again to find their length and to
    check."""
    ranks, threads = int(params["ranks"]), int(params["threads"])
    chosen = _lists(params)

    def length(name: str, otherwise: int) -> int:
        return len(chosen[name]) if name in chosen else otherwise

    gangs = 2 * threads.bit_length() - 1  # alone and beside products, which all of a rank's threads leave to nobody
    scopes = 0 if ranks == 1 else 2
    busy = 2 if threads > 1 else 1
    cases = {
        "gemm": length("k", 8),
        "narrow": 10,
        "solve": length("nb", 3) * length("trsm", 3),
        "panel": length("nb", 3) * length("panel_rows", 2) * gangs * length("pfact", 1) * length("nbmin", 1),
        "rows": length("nb", 3),
        "ring": scopes * busy * 2 * length("sizes", 6),
        "latency": scopes * busy,
        "node": 1,
    }
    columns = max(3072, 256 * threads) if params["columns"] == "auto" else int(params["columns"])
    product_s = 2.0 * 1536 * columns * 256 / 2e10
    one_s = {"gemm": product_s, "narrow": 0.03, "panel": 0.06, "node": 0.1 + product_s}
    probes = TABLE.selection(params, "only")
    total = sum(cases[name] * one_s.get(name, 0.02) for name in probes) * 2 * (int(params["samples"]) + 2)
    limit_s = float(params["seconds_total"])
    return 0.5 + 0.01 * ranks + (min(total, limit_s) if limit_s > 0 else total)


def _label(params: Params) -> str:
    ranks, threads = int(params["ranks"]), int(params["threads"])
    team = f"{threads} thread{'s' * (threads != 1)}" + (f" on each of {ranks} ranks" if ranks > 1 else "")
    which = "" if params["only"] == "all" else f" {params['only']}"
    return f"hpl_probe{which}, {team}, {params['library']}"


WORKLOAD = TABLE.workload(
    title="The pieces of HPL, one by one",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
