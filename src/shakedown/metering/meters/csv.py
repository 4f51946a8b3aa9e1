"""Files of laboratory meters and of anything else: text with separators, SPEC's spl.txt, Parquet.

``csv:FILE`` follows a file that grows: what the meter's own program appends becomes readings with that program's stamps.
``load`` reads a whole file after the run. Separator, decimal sign, header, columns, units and the way that stamps are
written are found from the first lines (Yokogawa WT2xx/3xx exports, ZES ZIMMER LMG logs, spl.txt and generic tables;
``_csv_table`` has the rules), and each can be said in the target:
``csv:run3.csv?zone=Europe/Berlin&column=P-SIGMA&place=node``.

Nothing is guessed that changes a result: local time without a zone, a column of power without a unit, a date that may begin
with day or month are refused with the option that settles them. Over-range marks (-OL-, ----, INF, 9.9E37) and empty cells
are statuses, never zeros. Stamps that occur twice, are out of order or leap are named with how many readings they concern;
a clock that falls back into time recorded already is refused unless ``jump=correct``. A stamp without decimals is off by
up to a second: that stands in the trace as its half width. The scope of a laboratory meter's reading is the interval
before its stamp; of a generic table it is a point unless ``scope=`` says otherwise.

Sources: mlcommons/power-dev for spl.txt; Yokogawa WT300 and ZES ZIMMER LMG manuals for marks and names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...errors import BadInput, unknown
from ...hosts.access import HostAccess
from ...records import Notice
from ...times import zone
from . import Channel, Meter, Sample, Status, Target
from . import _csv_table as table
from . import _csv_time as times
from ._csv_columns import Column
from ._csv_follow import CsvSource
from ._csv_table import Layout, Outline, decoded, layout, outline
from ._csv_time import Spec

if TYPE_CHECKING:
    from ..trace import Trace

#: The shape of a text file and the meaning of its stamps, for whoever reads such files in another way than this meter.
__all__ = [
    "METER",
    "Column",
    "Layout",
    "Loaded",
    "Outline",
    "Spec",
    "decoded",
    "examine",
    "layout",
    "load",
    "outline",
    "zone",
]


class Loaded(NamedTuple):
    """A file as traces, and what its reader must know."""

    traces: tuple[Trace, ...]
    notices: tuple[Notice, ...]


def load(source: Target | Path | str, options: Mapping[str, str] | None = None) -> tuple[Trace, ...]:
    """The traces of a whole file; what was noticed stands in the channels' notes. Raises BadInput (see ``examine``)."""
    found = examine(source, options)
    note = "; ".join(notice.text for notice in found.notices)
    if not note:
        return found.traces
    return tuple(one.of(msgspec.structs.replace(one.channel, note=note)) for one in found.traces)


def examine(source: Target | Path | str, options: Mapping[str, str] | None = None) -> Loaded:
    """The traces of a whole file and the notices. Raises BadInput for what cannot be read or may mean two things."""
    if isinstance(source, Target):
        path, given = Path(source.address + source.path), {**source.options, **(options or {})}
    else:
        path, given = Path(source), dict(options or {})
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint="give the meter's file") from None
    if data[:4] == b"PAR1":
        return _parquet(path, given)
    return _text(table.decoded(data).splitlines(), given, str(path))


class _Rows(NamedTuple):
    """The rows of a file in its order."""

    stamps: list[times.Stamp]
    values: list[list[tuple[float | None, Status, str]]]  # for each row, for each column


def _text(lines: Sequence[str], options: Mapping[str, str], where: str) -> Loaded:
    shape = table.layout(lines[:2000], options, where)
    clock = times.Clock(shape.how)
    rows = _Rows([], [])
    foreign = 0
    for line in lines[shape.first :]:
        if not line.strip() or line[0] == "#":
            continue
        cells = shape.cells(line)
        stamp = shape.stamp(cells, clock)
        if stamp is None or len(cells) < shape.fields - 1:
            foreign += 1
            continue
        rows.stamps.append(stamp)
        rows.values.append(shape.values(cells))
    if not rows.stamps:
        raise BadInput("no line has a stamp that can be read", where=where, hint="say how with format= and time=")
    notices = _row_notices(rows, foreign, where)
    return _loaded(rows, tuple(one.channel for one in shape.columns), shape.dialect, options, where, notices)


def _row_notices(rows: _Rows, foreign: int, where: str) -> list[Notice]:
    """What was left out, and what stands for no value. Raises BadInput where hardly anything is a number."""
    notices = []
    total = len(rows.stamps)
    if foreign:
        share = foreign / (total + foreign)
        if share > 0.5:
            raise BadInput(
                f"{foreign} of {total + foreign} lines are not like the others",
                where=where,
                hint="give separator= and time=",
            )
        notices.append(
            Notice(code="lines-left-out", text=f"{where}: {foreign} lines ({share:.2%}) are cut off or foreign")
        )
    for index in range(len(rows.values[0])):
        texts = [row[index][2] for row in rows.values if row[index][1] is not Status.OK]
        if len(texts) == total:
            raise BadInput(f"value column {index + 1} holds no number", where=where, hint="choose others with column=")
        if texts:
            seen = ", ".join(repr(text) for text in dict.fromkeys(texts[:50]))
            text = f"{where}: {len(texts)} of {total} readings ({len(texts) / total:.2%}) have no value ({seen})"
            notices.append(Notice(code="no-value", text=text))
    return notices


def _corrects(options: Mapping[str, str], where: str) -> bool:
    """Whether leaps of the instrument's clock are taken out. ``mend`` is the value's name in 0.1.0. Raises BadInput."""
    jump = options.get("jump", "")
    if jump not in ("", "correct", "mend"):
        raise unknown("value of jump=", jump, ("correct",), where=where)
    return bool(jump)


def _loaded(
    rows: _Rows,
    channels: Sequence[Channel],
    dialect: str,
    options: Mapping[str, str],
    where: str,
    notices: list[Notice],
) -> Loaded:
    import numpy as np

    from ..trace import trace

    stamps, told = times.utc(rows.stamps, options.get("zone", ""), where)
    notices += told
    stamps, told = times.mended(stamps, _corrects(options, where), where)
    notices += told
    values = np.array([[np.nan if cell[0] is None else cell[0] for cell in row] for row in rows.values], float)
    states = np.array([[cell[1] for cell in row] for row in rows.values], np.uint8)
    try:
        t_ns = np.asarray(stamps, np.int64)
    except OverflowError:
        raise BadInput("a stamp is beyond the years 1678 to 2262", where=where, hint="leave that row out") from None
    kept, told = _kept(t_ns, values, states, where)
    notices += told
    t_ns, values, states = t_ns[kept], values[kept], states[kept]
    half = int(10 ** (9 - max(stamp.digits for stamp in rows.stamps)) // 2)
    steps = np.diff(t_ns)
    usual = float(np.median(steps[steps > 0])) * 1e-9 if np.any(steps > 0) else None
    if dialect == "generic" and "scope" not in options and any(one.quantity == "power" for one in channels):
        text = f"{where}: what a reading stands for is not known; a point is taken"
        notices.append(Notice(code="scope-taken", text=text, advice="give it: scope=last for averages until the stamp"))
    traces = []
    for index, channel in enumerate(channels):
        known = msgspec.structs.replace(
            channel,
            refresh_s=usual,
            window_s=channel.window_s or (usual if channel.scope in ("last", "next") else None),
            stamped="device",  # whoever wrote the file stamped it: half a second of whole seconds is rounding, and no lag
        )
        traces.append(trace(known, t_ns, values[:, index], half_ns=half, status=states[:, index]))
    return Loaded(tuple(traces), tuple(notices))


def _kept(t_ns: Any, values: Any, states: Any, where: str) -> tuple[Any, list[Notice]]:
    """The order of the rows by time without those that say the same twice, and what to know of both."""
    import numpy as np

    notices = []
    total = len(t_ns)
    steps = np.diff(t_ns)
    late = int(np.count_nonzero(steps < 0))
    if late:
        far = float(np.max(np.maximum.accumulate(t_ns) - t_ns)) * 1e-9
        text = (
            f"{where}: {late} of {total} stamps ({late / total:.2%}) lie before their predecessors, by up to {far:g} s"
        )
        notices.append(Notice(code="unordered", text=f"{text}; the readings were put in order"))
    order = np.argsort(t_ns, kind="stable")
    again = np.concatenate([[False], np.diff(t_ns[order]) == 0])
    if not np.any(again):
        return order, notices
    columns, sorted_states = values[order], states[order]
    alike = np.concatenate([[False], np.all((np.diff(columns, axis=0) == 0) | np.isnan(columns[1:]), axis=1)])
    alike[1:] &= np.all(sorted_states[1:] == sorted_states[:-1], axis=1)
    copies = int(np.count_nonzero(again & alike))
    if copies:
        text = (
            f"{where}: {copies} of {total} readings ({copies / total:.2%}) repeat stamp and values of another; left out"
        )
        notices.append(Notice(code="duplicates", text=text))
    rest = int(np.count_nonzero(again & ~alike))
    if rest:
        text = (
            f"{where}: {rest} of {total} readings ({rest / total:.2%}) share a stamp but not the value: both are kept"
        )
        notices.append(
            Notice(code="coarse-stamps", text=text, advice="let the meter's program write decimals of a second")
        )
    return order[~(again & alike)], notices


def _parquet(path: Path, options: Mapping[str, str]) -> Loaded:
    """A trace of ours as it is; any other table by its columns' names and types."""
    import duckdb

    from .. import trace

    where = str(path)
    try:
        with duckdb.connect() as db:
            keys = db.execute("select distinct key from parquet_kv_metadata(?)", [where]).fetchall()
            if (b"shakedown.channels",) in keys:
                return Loaded(trace.read(path), ())
            described = db.execute("describe select * from read_parquet(?)", [where]).fetchall()
            names = [str(row[0]) for row in described]
            kinds = [str(row[1]) for row in described]
            picks = [
                f"epoch_ns({_quoted(name)})" if kind.startswith(("TIMESTAMP", "DATE")) else _quoted(name)
                for name, kind in zip(names, kinds, strict=True)
            ]
            found = db.execute(f"select {', '.join(picks)} from read_parquet(?)", [where]).fetchall()
    except duckdb.Error:
        raise BadInput("cannot be read as Parquet", where=where, hint="check the file") from None
    lines = ["\t".join(names)]
    lines += ["\t".join("" if cell is None else str(cell) for cell in row) for row in found]
    given = {**options, "separator": "tab", "decimal": "point"}
    shape = table.layout(lines[:2000], given, where)
    stamped = kinds[shape.stamps[0]]
    if len(shape.stamps) > 1 or not stamped.startswith("TIMESTAMP"):
        return _text(lines, given, where)
    clock = times.Clock(times.Spec("unix", "ns"))
    stamps = [clock.read(str(row[shape.stamps[0]])) for row in found]
    if "TIME ZONE" not in stamped:
        stamps = [stamp and stamp._replace(offset_s=None) for stamp in stamps]
    cells = ([("" if cell is None else str(cell)) for cell in row] for row in found)
    pairs = [(stamp, shape.values(row)) for stamp, row in zip(stamps, cells, strict=True) if stamp is not None]
    rows = _Rows([stamp for stamp, _ in pairs], [values for _, values in pairs])
    if not rows.stamps:
        raise BadInput("there are no rows with a stamp", where=where, hint="name the column with time=")
    notices = _row_notices(rows, len(found) - len(pairs), where)
    return _loaded(rows, tuple(one.channel for one in shape.columns), shape.dialect, options, where, notices)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _open(target: Target, door: HostAccess) -> CsvSource:
    path = target.address + target.path
    if not path:
        raise BadInput("which file?", where=str(target), hint="name it: csv:FILE?zone=Europe/Berlin")
    return CsvSource(path, target.options, door)


METER = Meter(
    name="csv",
    title="Files of laboratory meters, spl.txt, any CSV or Parquet",
    address="csv:FILE",
    open=_open,
    options=table.OPTIONS,
    poll_s=1.0,
    least_poll_s=0.05,
    samples=(
        Sample(
            recording="meters/csv",
            target="csv:/wt310.csv?zone=Europe/Berlin",
            expect={"csv/P-1": 231.47},
            source="written by hand in the layout of WTViewer's export",
        ),
        Sample(
            recording="meters/csv",
            target="csv:/spl.txt?zone=UTC",
            expect={"csv/watts": 104.6},
            source="written by hand after the format that mlcommons/power-dev reads",
        ),
        Sample(
            recording="meters/csv",
            target="csv:/lmg670.log",
            expect={"csv/p1": 412.5, "csv/p2": 398.25},
            source="written by hand in the layout of a logger of the LMG670",
        ),
        Sample(
            recording="meters/csv",
            target="csv:/wt310-over.csv?zone=Europe/Berlin",
            expect={"csv/P-1": "OVERRANGE"},
            source="written by hand: -OL-",
        ),
    ),
)
