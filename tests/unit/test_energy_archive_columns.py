"""An archive means the same however its stamps and values are written, and is refused where it may mean two things."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown.cli.app import app
from shakedown.energy.archive import energies, jobs, layout
from shakedown.errors import BadInput

T0 = 1_760_000_000  # s
NODES = 3

#: How a stamp of so many nanoseconds is written, as an SQL type, and the name of the column.
TIMES = {
    "integer ns": ("t", "t_ns"),
    "integer ns under another name": ("t", "timestamp"),
    "integer us": ("t // 1000", "time"),
    "integer ms": ("t // 1000000", "timestamp"),
    "integer s": ("t // 1000000000", "time"),
    "unsigned s": ("(t // 1000000000)::uinteger", "time"),
    "float s": ("t / 1e9", "time"),
    "decimal s": ("(t / 1e9)::decimal(20, 3)", "time"),
    "text of s": ("(t // 1000000000)::varchar", "time"),
    "text of s with decimals": ("printf('%.3f', t / 1e9)", "time"),
    "ISO in UTC": ("strftime(make_timestamp_ns(t), '%Y-%m-%dT%H:%M:%SZ')", "time"),
    "ISO with an offset": ("strftime(make_timestamp_ns(t + 7200000000000), '%Y-%m-%d %H:%M:%S+02:00')", "time"),
    "ISO of a zone": ("strftime(make_timestamp_ns(t + 7200000000000), '%Y-%m-%d %H:%M:%S')", "time"),
    "timestamp": ("make_timestamp_ns(t)", "time"),
    "timestamp of a zone": ("make_timestamp_ns(t + 7200000000000)", "time"),
    "timestamptz": ("to_timestamp(t / 1e9)", "time"),
}
VALUES = {
    "double W": ("w", "value"),
    "float W": ("w::float", "power"),
    "integer W": ("w::integer", "watts"),
    "kW": ("w / 1000", "power_kw"),
    "text": ("w::varchar", "value"),
    "a counter in J": ("sum(w) over (partition by node order by t) * 5", "energy_j"),
    "a counter in Wh": ("sum(w) over (partition by node order by t) * 5 / 3600", "energy_wh"),
}


def made(folder: Path, time: str = "t", value: str = "w", names: tuple[str, str] = ("t_ns", "value")) -> Path:
    """Three nodes for an hour, a reading each 5 s; watts are whole numbers."""
    folder.mkdir(exist_ok=True)
    path = folder / "a.parquet"
    t = np.tile(T0 + 5 * np.arange(720), NODES) * 10**9
    node = np.repeat([f"n{i}" for i in range(NODES)], 720).astype(object)
    w = np.round(300 + 100 * np.sin(np.arange(720 * NODES) / 50)).astype(np.float64)
    with duckdb.connect() as db:
        db.register("columns", {"node": node, "t": t.astype(np.int64), "w": w})
        db.execute(
            f"copy (select node, {time} as {names[0]}, {value} as {names[1]} from columns order by node, t) "
            f"to '{path}' (format parquet, row_group_size 2048)"
        )
    return path


def energy(path: Path, zone: str = "UTC", **told: str) -> float:
    there = layout.open_archive([path], zone=zone, **told)
    begin, end = (T0 + 600) * 10**9, (T0 + 1800) * 10**9
    found = energies.totals(there, jobs.none(), begin_ns=begin, end_ns=end)
    assert found.node_covered_s == pytest.approx(1200.0)
    return float(found.node_j.sum())


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> float:
    return energy(made(tmp_path_factory.mktemp("truth")))


@pytest.mark.parametrize("name", TIMES)
def test_stamps_are_what_they_say(name: str, truth: float, tmp_path: Path) -> None:
    expression, column = TIMES[name]
    path = made(tmp_path, time=expression, names=(column, "value"))
    zone = "Europe/Berlin" if name.endswith("of a zone") else "UTC"
    assert energy(path, zone) == pytest.approx(truth, rel=1e-9)
    assert layout.open_archive([path], zone=zone).understood


@pytest.mark.parametrize("name", VALUES)
def test_values_are_what_they_say(name: str, truth: float, tmp_path: Path) -> None:
    expression, column = VALUES[name]
    path = made(tmp_path, value=expression, names=("t_ns", column))
    assert energy(path) == pytest.approx(truth, rel=1e-6)


def test_a_counter_that_begins_anew_loses_one_interval(truth: float, tmp_path: Path) -> None:
    counter = "(sum(w) over (partition by node order by t) * 5) % 500000"
    path = made(tmp_path, value=counter, names=("t_ns", "energy_j"))
    there = layout.open_archive([path])
    found = energies.totals(there, jobs.none(), begin_ns=(T0 + 600) * 10**9, end_ns=(T0 + 1800) * 10**9)
    assert 0.9 * truth < float(found.node_j.sum()) < truth
    assert np.all(found.node_covered_s < 1200.0)
    covered = float(found.node_j.sum()) / float(found.node_covered_s.sum())
    assert covered == pytest.approx(truth / 1200 / NODES, rel=0.03)


@pytest.mark.parametrize(
    ("time", "value", "names", "told", "words"),
    [
        ("t // 1000000000", "w", ("t_ns", "value"), {}, "its name says ns, its size .* s"),
        ("t // 1000000000 - 1760000000", "w", ("time", "value"), {}, "are not Unix time"),
        ("case when t % 2 = 0 and node = 'n1' then t else t // 1000000000 end", "w", ("time", "value"), {}, "span"),
        ("(t / 1e9)::float", "w", ("time", "value"), {}, "32-bit floats"),
        ("'yesterday'", "w", ("time", "value"), {}, "not valid times, such as 'yesterday'"),
        ("strftime(make_timestamp_ns(t), '%H:%M:%S')", "w", ("time", "value"), {}, "not valid times"),
        ("t", "sum(w) over (partition by node order by t) * 5", ("t_ns", "value"), {}, "only ever rise"),
        ("t", "w * 1e6", ("t_ns", "value"), {}, "not what a node draws"),
        ("t", "w * 1000", ("t_ns", "value"), {}, "is it in mW"),
        ("t", "w / 1000", ("t_ns", "power"), {}, "is it in kW"),
        ("t", "'high'", ("t_ns", "value"), {}, "not numbers, such as 'high'"),
        ("t", "w > 300", ("t_ns", "value"), {}, "BOOLEAN"),
        ("t", "w", ("t_ns", "value"), {"unit": "degC"}, "not a unit of power or energy"),
        ("t", "w", ("t_ns", "value"), {"unit": "Watz"}, "unknown unit"),
        ("t", "w", ("t_ns", "value"), {"time_unit": "h"}, "not a unit of time"),
        ("t", "w", ("t_ns", "value"), {"time_unit": "s"}, "are not Unix time"),
    ],
)
def test_what_may_mean_two_things_is_refused(
    time: str, value: str, names: tuple[str, str], told: dict[str, str], words: str, tmp_path: Path
) -> None:
    path = made(tmp_path, time, value, names)
    with pytest.raises(BadInput, match=words):
        layout.open_archive([path], **told)


def test_what_is_stated_is_believed(truth: float, tmp_path: Path) -> None:
    assert energy(made(tmp_path, value="w * 1000"), unit="mW") == pytest.approx(truth)
    assert energy(made(tmp_path, value="w * 1e6"), unit="W") == pytest.approx(1e6 * truth)
    counter = made(tmp_path, value="sum(w) over (partition by node order by t) * 5 / 3.6e6")
    assert energy(counter, unit="kWh") == pytest.approx(truth)


def test_one_zone_moves_readings_and_jobs(truth: float, tmp_path: Path) -> None:
    """A job in local time over readings in local time: both by --zone; what is understood is said and in the JSON."""
    path = made(tmp_path, TIMES["ISO of a zone"][0], names=("time", "value"))
    (tmp_path / "jobs.csv").write_text("job,nodes,begin,end\n1,n[0-2],2025-10-09T11:03:20,2025-10-09T11:23:20\n")
    words = ["energy", "archive", str(path), "--jobs", str(tmp_path / "jobs.csv"), "--zone", "Europe/Berlin", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    told = json.loads(done.stdout)
    assert told["jobs"][0]["energy_j"] == pytest.approx(truth) and told["jobs"][0]["covered"] == pytest.approx(1.0)
    assert "taken as Europe/Berlin" in told["summary"]["read_as"] and "taken as Europe/Berlin" in done.stderr
    with pytest.raises(BadInput, match="unknown time zone"):
        CliRunner().invoke(app, [*words[:-2], "Berlin"], catch_exceptions=False)


def test_no_message_is_the_database_s(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(BadInput) as refused:
        layout.open_archive([tmp_path / "x.parquet"])
    assert "cannot be read as Parquet" in str(refused.value) and "rror:" not in str(refused.value)
