"""How times fall with the number of workers: speedup and efficiency with intervals, laws and whether they hold, which
count is fastest, cheapest and most frugal. ``gather.py`` finds series in run directories and published systems, ``laws.py``
fits, ``judge.py`` says what it comes to. All pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...machine import mpi as mpis
from ...records import Finding, Scaling, ScalingSeries
from ..table import Cases
from .gather import COUNTED, from_cases, from_published
from .judge import judged

__all__ = ["COUNTED", "from_cases", "from_published", "judged", "of_mpis", "of_report"]

#: A report shows so many series, of so many counts at least; looking for more than so many cases' takes too long.
MOST_SERIES, FEWEST_COUNTS, MOST_CASES = 6, 3, 20_000


def of_report(cases: Cases, energies: Sequence[Finding]) -> tuple[Scaling, ...]:
    """What a report says of scaling: the command says all."""
    if len(cases) > MOST_CASES:
        return ()
    series = [one for one in from_cases([cases], energies) if len(one.points) >= FEWEST_COUNTS]
    return tuple(judged(one) for one in series[:MOST_SERIES])


def of_mpis(series: Sequence[ScalingSeries], wanted: Sequence[str]) -> list[ScalingSeries]:
    """The series of those MPIs alone, in the order in which they are asked for: the first is the reference. Published ones
    stay. Raises BadInput for an MPI that no series has."""
    labels = list(dict.fromkeys(str(one.params["mpi"]) for one in series if "mpi" in one.params))
    chosen = mpis.select(labels, wanted)
    kept = [one for one in series if one.workload == "published" or one.params.get("mpi") in chosen]
    return sorted(kept, key=lambda one: chosen.index(str(one.params["mpi"])) if "mpi" in one.params else len(chosen))
