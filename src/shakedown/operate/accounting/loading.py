"""The table that readers fill, and how pieces of text get into it: one in DuckDB while the next is looked at."""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CannotMeasure
from ...records import Notice
from . import columns, text
from .records import Source

if TYPE_CHECKING:
    import duckdb

#: What DuckDB may hold in memory; beyond, it uses the folder.
MEMORY = "900MB"
_BATCH = 50_000


class Store:
    """The jobs of all sources, in a database of its own below a temporary folder. A context manager."""

    def __init__(self, *, zone: str = "UTC", gpus_per: str = "slot", lean: bool = False, threads: int = 2) -> None:
        import duckdb

        self.zone = zone  # of stamps that say none
        self.gpus_per = gpus_per
        self.lean = lean  # without the columns that no report uses: names, node lists
        self.sources: list[Source] = []
        self.notices: list[Notice] = []
        self._folder = tempfile.TemporaryDirectory(prefix="shakedown-accounting-")
        self.folder = Path(self._folder.name)
        self.db: duckdb.DuckDBPyConnection = duckdb.connect(
            str(self.folder / "jobs.duckdb"),
            config={
                "threads": threads,
                "memory_limit": MEMORY,
                "temp_directory": str(self.folder),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self.db.execute(columns.create())
        self.db.execute(
            "CREATE TABLE steps (source USMALLINT, job VARCHAR, start_s BIGINT, memory_used_bytes BIGINT, energy_j BIGINT, "
            "cpu_used_ms BIGINT)"
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

    def done(
        self, name: str, reader: str, *, rows: int, steps: int = 0, mended: text.Mended | None = None, lost: int = 0
    ) -> None:
        """The source that was being read is read: say what came of it."""
        jobs, low, high = self.one(
            "SELECT count(*), min(least(submit_s, start_s, end_s)), max(greatest(submit_s, start_s, end_s)) "
            f"FROM jobs WHERE source = {self.source}"
        )
        lost += mended.lost if mended else 0
        if lost:
            example = f", such as {mended.example!r}" if mended and mended.example else ""
            self.notice(
                "lines-lost",
                f"{lost} lines of {name} belong to no row and are not counted{example}",
                "look at them; with sacct, leave out the columns that hold free text (JobName, Comment)",
            )
        self.sources.append(
            Source(
                name=name,
                reader=reader,
                rows=rows,
                jobs=jobs,
                steps=steps,
                mended=mended.mended if mended else 0,
                lost=lost,
                first_s=low,
                last_s=high,
            )
        )

    def append(self, rows: Iterator[dict[str, Any]]) -> int:
        """Jobs one by one, for the readers that go line by line: columns -> values."""
        names = [name for name in columns.COLUMNS if name != "source"]
        total = 0
        batch: dict[str, list[Any]] = {name: [] for name in names}
        for row in rows:
            for name in names:
                batch[name].append(row.get(name))
            total += 1
            if total % _BATCH == 0:
                self._flush(batch)
        self._flush(batch)
        return total

    def _flush(self, batch: dict[str, list[Any]]) -> None:
        """Whole columns at once, as lists: a row at a time would take minutes."""
        if not next(iter(batch.values())):
            return
        kinds = {name: columns.COLUMNS[name].kind for name in batch}
        parts = ", ".join(f"unnest(CAST(${name} AS {kinds[name]}[]))" for name in batch)
        self.db.execute(f"INSERT INTO jobs (source, {', '.join(batch)}) SELECT {self.source}, {parts}", batch)
        for values in batch.values():
            values.clear()

    def text(
        self,
        path: Path,
        form: text.Form,
        insert: Callable[[], None],
        wanted: Sequence[int],
        also: Mapping[str, str] | None = None,
    ) -> text.Mended:
        """Put the wanted columns of a file into the table ``raw``, piece by piece (columns c0, c1...; all of them VARCHAR), with
        those that ``also`` makes of them (name -> SQL), and call ``insert`` after each."""
        mended = text.Mended()
        for number, piece in enumerate(_ahead(text.pieces(path, form, mended))):
            file = self.folder / f"piece{number % 2}"
            with open(file, "wb") as out:
                for part in piece.parts:
                    out.write(part)
            self._raw(file, piece, len(form.columns), [f"c{at}" for at in sorted(set(wanted))], also or {})
            insert()
        (self.folder / "piece0").unlink(missing_ok=True)
        (self.folder / "piece1").unlink(missing_ok=True)
        return mended

    def _raw(self, file: Path, piece: text.Piece, count: int, wanted: Sequence[str], also: Mapping[str, str]) -> None:
        names = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(count))
        kept = [*wanted, *(f"{sql} AS {name}" for name, sql in also.items())]
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE raw AS SELECT {', '.join(kept)} FROM read_csv("
            f"$file, delim=$delimiter, quote='', escape='', comment='', header=false, auto_detect=false, columns={{{names}}})",
            {"file": str(file), "delimiter": piece.delimiter},
        )
        found = self.one("SELECT count(*) FROM raw")[0]
        if found != piece.rows:
            raise CannotMeasure(
                f"{piece.rows} rows went in and {found} came out",
                where="reading the accounting",
                hint="this is a fault of shakedown: report it with the file's first lines",
            )


def _ahead(pieces: Iterator[text.Piece]) -> Iterator[text.Piece]:
    """The same pieces, the next one made by a thread while the caller works on this one."""
    ready: queue.Queue[text.Piece | BaseException | None] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def work() -> None:
        last: BaseException | None = None
        try:
            for piece in pieces:
                while not stop.is_set():
                    try:
                        ready.put(piece, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if stop.is_set():
                    return
        except BaseException as error:
            last = error
        while not stop.is_set():
            try:
                ready.put(last, timeout=0.2)
                return
            except queue.Full:
                continue

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (got := ready.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got
    finally:
        stop.set()
        thread.join()
