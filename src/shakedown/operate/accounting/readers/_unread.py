"""Cells of sacct's rows that say something and could not be read: counted by column, with the first of them. A row is used
without them, but for one whose start cannot be read: it can be no run of any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....schedulers.common.delimited import UNIT
from .. import values
from ..loading import Store
from ._folded import STAMPS

NOTHING = "NULL::VARCHAR"
#: Times of nothing, as sacct writes them.
_NO_TIMES = ("00:00:00", "00:00.000", "0:00", "00:00")
#: The columns that are looked at, the one that matters most first: a row is named with the first that cannot be read, and
#: the notices come in this order.
_ORDER = (
    "Start", "End", "AllocCPUS", "NNodes", "Elapsed", "Submit", "Eligible", "TotalCPU", "ConsumedEnergyRaw",
)  # fmt: skip
#: What becomes of a row whose column cannot be read.
_THEN = {
    "Start": "not counted at all",
    "End": "counted for the time that the engine says",
    "AllocCPUS": "without CPU hours, but where AllocTRES has them",
    "NNodes": "without node hours, but where AllocTRES has them",
    "Elapsed": "counted from start to end",
    "Submit": "without a waiting time where Eligible is missing too",
    "Eligible": "counted as eligible from the submission",
}
#: Of a row that is used although its end cannot be read: it is not one that runs on.
ENDED = f"coalesce(starts_with(odd, 'End{UNIT}'), false)"
USED = f"NOT coalesce(starts_with(odd, 'Start{UNIT}'), false)"


def odd(of: Callable[..., str], columns: Mapping[str, str]) -> str:
    """SQL: the first column of a row that could not be read, and its text; NULL for nearly all rows. A start comes first:
    without it there is no run."""

    def stamp(name: str) -> str:
        key = name.lower()
        return f"coalesce({columns[f'{key}_x']}, {columns[f'{key}_l']})"

    asked: dict[str, tuple[str, str, tuple[str, ...]]] = {
        **{name: (of(name), stamp(name), ()) for name in ("Start", "End", "Submit", "Eligible")},
        "AllocCPUS": (of("AllocCPUS", "NCPUS"), columns["cpus"], ()),
        "NNodes": (of("NNodes", "AllocNodes"), columns["nodes"], ()),
        "Elapsed": (of("ElapsedRaw", "Elapsed"), columns["elapsed_s"], ("00:00:00",)),
        "TotalCPU": (of("TotalCPU"), columns["busy_ms"], _NO_TIMES),
        "ConsumedEnergyRaw": (of("ConsumedEnergyRaw"), columns["joules"], ()),
    }
    cases = " ".join(
        f"WHEN {values.unread(word, parsed, *known)} THEN '{name}{UNIT}' || {word}"
        for name, (word, parsed, known) in ((name, asked[name]) for name in _ORDER)
        if word != NOTHING
    )
    return f"CASE WHEN contains({of('JobID')}, '.') OR {of('JobID')} = 'JobID' THEN NULL {cases} END"


class Unread:
    """What could not be read in the rows of one file, by column: how many, and the first."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str, str]] = {}

    def count(self, store: Store) -> None:
        """Those of the piece that is in ``raw``."""
        # The database keeps no order of its own: of rows of one job the word decides which is shown.
        rows = store.rows(
            "SELECT column_, count(*), min(job), arg_min(word, (job, word)) FROM "
            f"(SELECT job, split_part(odd, '{UNIT}', 1) AS column_, split_part(odd, '{UNIT}', 2) AS word FROM raw "
            "WHERE odd IS NOT NULL) GROUP BY column_"
        )
        for column, count, *first in rows:
            before, *kept = self._found.get(column, (0, *first))
            self._found[column] = (before + count, *kept)

    def notices(self, store: Store, name: str) -> int:
        """Say them; how many rows could not be used at all."""
        for column, (count, job, word) in sorted(self._found.items(), key=lambda one: _ORDER.index(one[0])):
            then = _THEN.get(column, "taken as not recorded")
            rows = f"{count:,} row{'s' * (count != 1)}"
            store.notice(
                "not-read",
                f"{column} of {rows} in {name} cannot be read, such as {word!r} of job {job}: {then}",
                "export again with SLURM_TIME_FORMAT=%s" if column in STAMPS else "look at what wrote it there",
            )
        return self._found.get("Start", (0,))[0]
