"""Files of power, and what is laid beside them: jobs, plants, archives, as CSV and as Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from seeds import Reader, at, files

_JOBS = b"job,nodes,begin,end,cores\n1,n[01-03],1700000000,1700000600,4\n2,n1;n2,1700000300,Unknown,2\n"
_PLANT = b"time,power_kw,flow\n2026-11-20T10:00:00Z,101.5,3\n2026-11-20T10:01:00Z,OL,3.1\n2026-11-20T10:02:00Z,5,6\n"
_SENSORS = """title = "t"
zone = "UTC"
[[sensor]]
name = "p"
file = "f.csv"
column = "power_kw"
unit = "kW"
"""
_LONG = (
    b"_time,_measurement,host,_field,_value\n2026-11-20T10:00:00Z,power,n1,watts,250\n2026-11-20T10:00:10Z,power,n1,watts,251\n",
    b"time;n1 [W];n2 [W]\n20.11.2026 10:00:00;250,5;251\n20.11.2026 10:00:10;250,7;252\n",
)


def readers() -> Iterator[Reader]:
    """All of them."""
    yield from _text()
    yield from _parquet()


def _text() -> Iterator[Reader]:
    from shakedown import times
    from shakedown.energy.archive import jobs
    from shakedown.energy.facility import plant, plant_data
    from shakedown.energy.importing import trace_import

    def option(path: Path) -> None:
        times.parse(path.read_bytes().decode("utf-8", "replace"), "UTC", "--begin", 5)

    def readings(folder: Path) -> None:
        plant_data.read(plant.parse(_SENSORS, "plant.toml", folder))

    def import_(path: Path) -> None:
        trace_import.bring([path], {"zone": "UTC", "unit": "W"}, (), None)

    yield Reader("jobs of an archive",
        (_JOBS,),
                 lambda path: jobs.read(path, zone="UTC", until_ns=1_800_000_000 * 10**9), ".csv", share=0.3)  # fmt: skip
    yield Reader("readings of a plant", (_PLANT,), at("f.csv", readings), share=0.3)
    yield Reader("time of an option", (b"2026-11-20T10:00:00Z", b"1700000000.5", b"+90"), option, share=0.3)
    yield Reader(
        "power to import", (*_LONG, *(one[:3000] for one in files("meters/csv/*"))), import_, ".csv", share=0.015
    )


def _parquet() -> Iterator[Reader]:
    from shakedown.energy.archive import energies, jobs, layout
    from shakedown.energy.facility import plant, plant_data
    from shakedown.energy.importing import trace_import
    from shakedown.metering import trace

    power = "250.5 + i % 7 as power_w"
    seconds = "1700000000 + i"
    stamps = (f"to_timestamp({seconds})", seconds, f"strftime(to_timestamp({seconds}), '%Y-%m-%dT%H:%M:%SZ')")
    archives = tuple(_copied(f"'n' || (i % 3) as node, {stamp} as time, {power}") for stamp in stamps)
    archives += (_copied(f"'n1' as node, {seconds} as time, {power}"),)
    rows = _copied("i as job, 'n[1-2]' as nodes, 1700000000 + i as begin, 1700000600 + i as \"end\"")
    own = jobs.jobs([("1", "n1", 1_700_000_000 * 10**9, 1_700_000_100 * 10**9, 1.0)])

    def joined(path: Path) -> None:
        energies.totals(layout.open_archive([path]), own, processes=1)

    def import_(path: Path) -> None:
        trace_import.bring([path], {"zone": "UTC", "unit": "W"}, ("node",), path.with_name("out.parquet"))

    def whole(path: Path) -> None:
        for channel in trace.channels(path):
            trace.span_ns(path, channel)
        trace.read(path)

    sensors = _SENSORS.replace("csv", "parquet").replace("kw", "w").replace("kW", "W")

    def readings(folder: Path) -> None:
        plant_data.read(plant.parse(sensors, "plant.toml", folder))

    yield Reader("archive of power", archives, joined, ".parquet", share=0.02)
    yield Reader("jobs in Parquet", (rows,), lambda path: jobs.read(path, zone="UTC"), ".parquet", share=0.02)
    yield Reader("trace", (_trace(),), whole, ".parquet", share=0.02)
    yield Reader("power in Parquet to import", archives, import_, ".parquet", share=0.01)
    yield Reader("readings of a plant in Parquet", archives, at("f.parquet", readings), share=0.02)


def _copied(columns: str) -> bytes:
    """200 rows as Parquet."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        db.execute(f"copy (select {columns} from range(200) r(i)) to '{folder}/t.parquet' (format parquet)")
        return Path(folder, "t.parquet").read_bytes()


def _trace() -> bytes:
    """A small trace of ours."""
    from shakedown.energy.importing import trace_import

    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "p.csv"), Path(folder, "t.parquet")
        source.write_bytes(_LONG[1])
        trace_import.bring([source], {"zone": "UTC"}, (), made)
        return made.read_bytes()
