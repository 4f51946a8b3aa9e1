"""The table that readers fill, and how pieces of text get into it: some in DuckDB while the next are looked at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CannotMeasure
from ...records import Notice
from ...schedulers.common import delimited
from . import columns
from . import text as text_
from .records import Source

if TYPE_CHECKING:
    import duckdb

#: What DuckDB may hold in memory; beyond, it uses the folder.
MEMORY = "1200MB"
_BATCH = 50_000
#: Of rows, in one go: DuckDB parts a file among its threads by 8 MB.
_FILE_BYTES = 64 << 20


class _File(NamedTuple):
    """Whole rows for DuckDB to read."""

    path: Path
    delimiter: str
    rows: int


class Store:
    """The jobs of all sources, in a database of its own below a temporary folder. A context manager."""

    def __init__(self, *, zone: str = "", gpus_per: str = "slot", lean: bool = False, threads: int = 2) -> None:
        import duckdb

        self.zone = zone or "UTC"  # of stamps that say none
        self._zone_named = bool(zone)
        self.gpus_per = gpus_per
        self.overlapping = False  # rows come twice since we ask for them so
        self.asked_s: int | None = None  # when a live engine was asked
        self.lean = lean  # without the columns that no report uses: names, node lists
        self.sources: list[Source] = []
        self.notices: list[Notice] = []
        self._folder = tempfile.TemporaryDirectory(prefix="shakedown-accounting-")
        self.folder = Path(self._folder.name)
        self.db: duckdb.DuckDBPyConnection = duckdb.connect(
            ":memory:",
            config={
                "threads": threads,
                "memory_limit": MEMORY,
                "temp_directory": str(self.folder),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self.db.execute("SET enable_progress_bar = false")  # it would go to standard output, into the data
        # Nobody opens the file again: what is only for that is left out.
        self.db.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.db.execute("SET checkpoint_threshold = '1TB'")
        self.db.execute(columns.create())
        self.db.execute(
            "CREATE TABLE steps (source USMALLINT, cluster VARCHAR, id VARCHAR, job VARCHAR, start_s BIGINT, "
            "memory_used_bytes BIGINT, energy_j BIGINT, cpu_used_ms BIGINT)"
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()
        self._folder.cleanup()

    @property
    def source(self) -> int:
        """The number of the source that is being read."""
        return len(self.sources)

    def one(self, sql: str) -> tuple[Any, ...]:
        """The first row of a statement."""
        row = self.db.execute(sql).fetchone()
        assert row is not None
        return tuple(row)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.db.execute(sql).fetchall()]

    def notice(self, code: str, words: str, advice: str = "") -> None:
        self.notices.append(Notice(code=code, text=words, advice=advice))

    def local(self, name: str) -> None:
        """The stamps of a file say no zone: say so where nobody named one."""
        if not self._zone_named:
            self.notice(
                "no-zone",
                f"the times in {name} have no zone and are read as UTC",
                "name the zone in which it was written: --timezone, or --written-in where days are to be another's",
            )

    def done(
        self,
        name: str,
        reader: str,
        *,
        rows: int,
        steps: int = 0,
        mended: delimited.Mended | None = None,
        lost: int = 0,
        example: str = "",
    ) -> None:
        """The source that was being read is read: say what came of it."""
        jobs, low, high = self.one(
            "SELECT count(*), min(least(submit_s, start_s, end_s)), max(greatest(submit_s, start_s, end_s)) "
            f"FROM jobs WHERE source = {self.source}"
        )
        lost += mended.lost if mended else 0
        example = example or (mended.example if mended else "")
        if lost:
            shown = f", such as {example!r}" if example else ""
            self.notice(
                "lines-lost",
                f"{lost} lines of {name} belong to no row and are not counted{shown}",
                "look at them; with sacct, leave out the columns that hold free text (JobName, Comment)",
            )
        self.sources.append(Source(name, reader, rows, jobs, steps, mended.mended if mended else 0, lost, low, high))

    def append(self, rows: Iterator[dict[str, Any]]) -> int:
        """Jobs one by one, for the readers that go line by line: columns -> values."""
        names = [name for name in columns.COLUMNS if name != "source"]
        total = 0
        batch: dict[str, list[Any]] = {name: [] for name in names}
        for row in rows:
            for name in names:
                batch[name].append(row.get(name, 0 if name == "attempt" else None))
            total += 1
            if total % _BATCH == 0:
                self._flush(batch)
        self._flush(batch)
        return total

    def _flush(self, batch: dict[str, list[Any]]) -> None:
        """Whole columns at once, as lists: a row at a time would take minutes."""
        import duckdb

        if not next(iter(batch.values())):
            return
        kinds = {name: columns.COLUMNS[name].kind for name in batch}
        parts = ", ".join(f"unnest(CAST(${name} AS {kinds[name]}[]))" for name in batch)
        insert = f"INSERT INTO jobs (source, {', '.join(batch)}) SELECT {self.source}, {parts}"
        try:
            self.db.execute(insert, batch)
        except (duckdb.ConversionException, duckdb.OutOfRangeException, OverflowError):
            self._too_great(batch)
            self.db.execute(insert, batch)
        for values in batch.values():
            values.clear()

    def _too_great(self, batch: dict[str, list[Any]]) -> None:
        """Take out numbers that no column holds, and say so."""
        for name, values in batch.items():
            most = {"INTEGER": 2**31, "BIGINT": 2**63}.get(columns.COLUMNS[name].kind)
            wrong = [at for at, one in enumerate(values) if most and one is not None and not -most < one < most]
            if wrong:
                first = wrong[0]
                self.notice(
                    "impossible-numbers",
                    f"{name} of {len(wrong)} run{'s' * (len(wrong) != 1)} is too great to be true, such as "
                    f"{values[first]} of job {batch['job'][first]}: it is taken as not recorded",
                    "look at these records: the engine, or what exported them, wrote something else there",
                )
                for at in wrong:
                    values[at] = None

    def text(
        self, path: Path, form: delimited.Form, insert: Callable[[], None], columns_: Mapping[str, str]
    ) -> delimited.Mended:
        """Put a file into the table ``raw``, piece by piece, and call ``insert`` after each. ``columns_`` are those of
        ``raw``: name -> SQL over the file's columns c0, c1..., all of them VARCHAR."""
        mended = delimited.Mended()
        for file in _ahead(self._files(text_.pieces(path, form, mended))):
            self._raw(file, len(form.columns), columns_)
            insert()
            file.path.unlink()
        return mended

    def _files(self, pieces: Iterator[text_.Piece]) -> Iterator[_File]:
        """The pieces in files that are large enough for DuckDB to read each with all its threads."""
        number, held, size = 0, list[text_.Piece](), 0

        def filed() -> _File:
            path = self.folder / f"rows{number}"
            with open(path, "wb") as out:
                for piece in held:
                    out.writelines(piece.parts)
            return _File(path, held[0].delimiter, sum(piece.rows for piece in held))

        for piece in pieces:
            if held and (piece.delimiter != held[0].delimiter or size >= _FILE_BYTES):
                yield filed()
                number, held, size = number + 1, [], 0
            held.append(piece)
            size += sum(map(len, piece.parts))
        if held:
            yield filed()

    def _raw(self, file: _File, count: int, columns_: Mapping[str, str]) -> None:
        names = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(count))
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE raw AS SELECT {', '.join(f'{sql} AS {name}' for name, sql in columns_.items())} "
            "FROM read_csv($file, delim=$delimiter, quote='', escape='', comment='', header=false, auto_detect=false, "
            f"columns={{{names}}})",
            {"file": str(file.path), "delimiter": file.delimiter},
        )
        found = self.one("SELECT count(*) FROM raw")[0]
        if found != file.rows:
            raise CannotMeasure(
                f"{file.rows} rows went in and {found} came out",
                where="reading the accounting",
                hint="this is a fault of shakedown: report it with the file's first lines",
            )


def _ahead(files: Iterator[_File]) -> Iterator[_File]:
    """The same files, the next one made by a thread while the caller works on this one."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, files, None)
        while (file := following.result()) is not None:
            following = pool.submit(next, files, None)
            yield file
