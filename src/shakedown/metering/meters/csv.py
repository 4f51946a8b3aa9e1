"""Files of laboratory meters and of anything else: text with separators, SPEC's spl.txt.

``csv:FILE`` follows a file that grows: what the meter's own program appends becomes readings with that program's stamps.
A file that is finished is read by ``shakedown energy import``. Separator, decimal sign, header, columns, units and the way
that stamps are written are found from the first lines (Yokogawa WT2xx/3xx exports, ZES ZIMMER LMG logs, spl.txt and generic
tables; ``_csv_table`` has the rules), and each can be said in the target:
``csv:run3.csv?zone=Europe/Berlin&column=P-SIGMA&place=node``.

Nothing is guessed that changes a result: local time without a zone, a column of power without a unit, a date that may begin
with day or month are refused with the option that settles them. Over-range marks (-OL-, ----, INF, 9.9E37) and empty cells
are statuses, never zeros. The scope of a laboratory meter's reading is the interval before its stamp; of a generic table
it is a point unless ``scope=`` says otherwise.

Sources: mlcommons/power-dev for spl.txt; Yokogawa WT300 and ZES ZIMMER LMG manuals for marks and names.
"""

from __future__ import annotations

from ...errors import BadInput
from ...hosts.access import HostAccess
from ...times import zone
from . import Meter, Sample, Target
from . import _csv_table as table
from ._csv_columns import Column, enumerated, unit_word
from ._csv_follow import CsvSource
from ._csv_table import Layout, Outline, decoded, layout, outline
from ._csv_time import Spec

#: The shape of a text file and the meaning of its stamps, for whoever reads such files in another way than this meter.
__all__ = [
    "METER",
    "Column",
    "Layout",
    "Outline",
    "Spec",
    "decoded",
    "enumerated",
    "layout",
    "outline",
    "unit_word",
    "zone",
]


def _open(target: Target, door: HostAccess) -> CsvSource:
    path = target.address + target.path
    if not path:
        raise BadInput("which file?", where=str(target), hint="name it: csv:FILE?zone=Europe/Berlin")
    return CsvSource(path, target.options, door)


METER = Meter(
    name="csv",
    title="Files of laboratory meters, spl.txt, any CSV",
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
