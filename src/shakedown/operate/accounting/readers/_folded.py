"""Stamps of sacct, which may be local times: to Unix seconds, through the hour that comes twice."""

from __future__ import annotations

from collections.abc import Callable

from .... import times
from .. import values, zones
from ..loading import Store

STAMPS = ("Submit", "Eligible", "Start", "End")
_NAMES = tuple(name.lower() for name in STAMPS)
#: Where clocks went back: start and end so that they lie as far apart as the engine says the run took; eligible and
#: submit as
#: near before the start as they can.
_FOLDED = """CREATE OR REPLACE TEMP VIEW stamped AS SELECT *,
    CASE WHEN submit1 <= coalesce(eligible_u, submit1) THEN submit1 ELSE submit0 END AS submit_u
  FROM (SELECT *, CASE WHEN eligible1 <= coalesce(start_u, eligible0) THEN eligible1 ELSE eligible0 END AS eligible_u,
    CASE WHEN start_u + need_s IN (end0, end1) THEN start_u + need_s
      WHEN start_u IS NULL OR end0 >= start_u THEN end0 ELSE end1 END AS end_u
  FROM (SELECT *, CASE WHEN start0 <> start1 AND start0 + need_s NOT IN (end0, end1) AND start1 + need_s IN (end0, end1)
    THEN start1 ELSE start0 END AS start_u
  FROM (SELECT *, rowid AS rid, elapsed_s + idle_s AS need_s, $both FROM raw)))"""


class Stamps:
    """How the stamps of one file are read, and what was odd about them. A file may hold local and Unix times, one below the
    other: what is not a valid time of the one kind is read as the other."""

    def __init__(self, store: Store, *, local: bool) -> None:
        self.store, self.local = store, local  # of the first stamps
        self.some_local = False
        self.never_were = self.undecided = 0

    def parsed(self, column: Callable[[str], str]) -> dict[str, str]:
        """Columns of ``raw``: seconds since 1970, of the clock's face (``_l``) or Unix ones (``_x``)."""
        found = {}
        for name in STAMPS:
            text, key = column(name), name.lower()
            face, unix = values.face(text), values.unix(text)
            if self.local:
                found[f"{key}_l"], found[f"{key}_x"] = face, f"CASE WHEN {face} IS NULL THEN {unix} END"
            else:
                found[f"{key}_x"], found[f"{key}_l"] = unix, f"CASE WHEN {unix} IS NULL THEN {face} END"
        return found

    def view(self) -> None:
        """Make the view ``stamped``: ``raw`` with Unix times, for the piece that is in it."""
        store = self.store
        low, high = store.one(
            "SELECT min(least(submit_l, start_l, end_l)), max(greatest(submit_l, start_l, end_l)) FROM raw"
        )
        if low is None:
            stamps = ", ".join(f"{name}_x AS {name}_u" for name in _NAMES)
            store.db.execute(f"CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, rowid AS rid, {stamps} FROM raw")
            return
        self.some_local = True
        low, high = int(low), int(high)
        twice, skipped = zones.folds(store.zone, low, high)
        if skipped:
            inside = " OR ".join(f"start_l >= {first} AND start_l < {last}" for first, last in skipped)
            self.never_were += int(store.one(f"SELECT count(*) FROM raw WHERE {inside}")[0])
        whole = (low // times.DAY_S * times.DAY_S, (high // times.DAY_S + 1) * times.DAY_S)  # few texts: they are kept

        def unix(name: str, *, later: bool = False) -> str:
            faced = zones.unix_sql(f"{name}_l", self.store.zone, *whole, later=later)
            return f"coalesce({name}_x, {faced})"

        if not twice:
            stamps = ", ".join(f"{unix(name)} AS {name}_u" for name in _NAMES)
            store.db.execute(f"CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, rowid AS rid, {stamps} FROM raw")
            return
        both = ", ".join(f"{unix(name)} AS {name}0, {unix(name, later=True)} AS {name}1" for name in _NAMES)
        store.db.execute(_FOLDED.replace("$both", both))
        inside = " OR ".join(f"(start_l >= {a} AND start_l < {b} AND end_l >= {a} AND end_l < {b})" for a, b in twice)
        which = f"({inside}) AND end_l - start_l = elapsed_s + idle_s AND NOT step"
        self.undecided += int(store.one(f"SELECT count(*) FROM raw WHERE {which}")[0])

    def notices(self, name: str) -> None:
        """Say what was odd in the file of that name."""
        zone = self.store.zone
        if self.some_local:
            self.store.local(name)
        if self.never_were:
            self.store.notice(
                "stamps-that-never-were",
                f"{self.never_were} stamps of {name} lie in an hour that the clocks of {zone} skipped",
                "the file was written in another time zone: name it with --written-in",
            )
        if self.undecided:
            self.store.notice(
                "hour-twice",
                f"{self.undecided} runs of {name} began and ended in the hour that came twice in {zone}: the first is taken",
                "ask sacct with SLURM_TIME_FORMAT=%s where that matters",
            )
