"""Somebody's file of power becomes a trace: wide and long tables, with what was understood, and from a CSV to a level."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown.cli.app import app
from shakedown.energy.importing import table, trace_import
from shakedown.energy.importing.findings import Judged
from shakedown.errors import BadInput
from shakedown.metering import trace
from shakedown.metering.meters import Status, channel_key

T0 = 1_790_000_000
T = np.arange(T0, T0 + 1800, 5)


def watts(rack: int) -> Any:
    level = np.interp(T - T0, [0, 300, 305, 1500, 1505], [2600.0, 2600.0, 14500.0, 12800.0, 2600.0])
    return np.round(level * (1 + 0.01 * rack) + np.random.default_rng(rack).normal(0, 40, len(T)), 1)


def utc(second: float, form: str = "%Y-%m-%dT%H:%M:%SZ", hours: float = 0) -> str:
    return datetime.datetime.fromtimestamp(second + 3600 * hours, datetime.UTC).strftime(form)


def wide(path: Path) -> dict[str, str]:
    rows = zip(T, watts(0), watts(1), strict=True)
    path.write_text(
        "time,Rack 0 [W],Rack 1 [W],inlet [degC]\n" + "".join(f"{utc(t)},{a},{b},21.5\n" for t, a, b in rows)
    )
    return {}


def german(path: Path) -> dict[str, str]:
    rows = zip(T, watts(0) / 1e3, watts(1) / 1e3, strict=True)
    form = "%d.%m.%Y %H:%M:%S"
    text = "Zeit;Rack 0 [kW];Rack 1 [kW]\n" + "".join(f"{utc(t, form, 2)};{a:.4f};{b:.4f}\n" for t, a, b in rows)
    head, _, body = text.partition("\n")
    date = [line.split(";", 1) for line in body.splitlines()]
    path.write_text(head + "\n" + "".join(f"{day};{rest.replace('.', ',')}\n" for day, rest in date))
    return {"zone": "Europe/Berlin"}


def american(path: Path) -> dict[str, str]:
    rows = zip(T, watts(0), watts(1), strict=True)
    form = "%m/%d/%Y %I:%M:%S %p"
    path.write_text("timestamp\tRack 0 (W)\tRack 1 (W)\n" + "".join(f"{utc(t, form)}\t{a}\t{b}\n" for t, a, b in rows))
    return {"zone": "UTC"}


def zipped(path: Path) -> dict[str, str]:
    wide(path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    return {}


def telegraf(path: Path) -> dict[str, str]:
    """Rows of all hosts in order of time, nanoseconds, the unit in a column, other fields between."""
    lines = ["timestamp,measurement,host,field,value,unit"]
    for i, t in enumerate(T):
        for rack in (0, 1):
            lines.append(f"{t}000000000,pdu,rack{rack},power,{watts(rack)[i]},W")
            lines.append(f"{t}000000000,pdu,rack{rack},temperature,21.5,C")
    path.write_text("\n".join(lines) + "\n")
    return {}


def influx(path: Path) -> dict[str, str]:
    """Annotated CSV: a block for each series with annotations and header again, blank lines between."""
    text = ""
    for rack in (0, 1):
        text += "#datatype,string,long,dateTime:RFC3339,double,string,string,string\r\n"
        text += "#group,false,false,false,false,true,true,true\r\n#default,_result,,,,,,\r\n"
        text += ",result,table,_time,_value,_field,_measurement,host\r\n"
        text += "".join(
            f",,{rack},{utc(t)},{w},power_watts,pdu,rack{rack}\r\n" for t, w in zip(T, watts(rack), strict=True)
        )
        text += "\r\n"
    path.write_text(text)
    return {}


def influx_query(path: Path) -> dict[str, str]:
    """What a Flux query gives: each row with the range that was asked for and all tags, so that most cells are words."""
    ends, tags = f"{utc(T[0])},{utc(T[-1])}", ("bmc", "cluster", "kind", "row", "site", "switch")
    text = "#group,false,false,true,true,false,false,true,true,true" + ",true" * len(tags)
    text += "\n#datatype,string,long" + ",dateTime:RFC3339" * 3 + ",double" + ",string" * (3 + len(tags))
    text += "\n#default,_result" + "," * (8 + len(tags))
    text += f"\n,result,table,_start,_stop,_time,_value,_field,_measurement,host,{','.join(tags)}\n"
    for rack in (0, 1):
        words = f"power_watts,pdu,rack{rack},bmc{rack},blue,pdu,left,zurich,none"
        text += "".join(f",,{rack},{ends},{utc(t)},{w},{words}\n" for t, w in zip(T, watts(rack), strict=True))
    path.write_text(text)
    return {}


def metricq(path: Path) -> dict[str, str]:
    """One column a metric, no unit anywhere: it is stated."""
    rows = zip(T, watts(0), watts(1), strict=True)
    path.write_text(
        "timestamp,hall.rack0.power,hall.rack1.power\n"
        + "".join(f"{utc(t, '%Y-%m-%dT%H:%M:%S.000000Z')},{a},{b}\n" for t, a, b in rows)
    )
    return {"unit": "W"}


def long_parquet(path: Path) -> dict[str, str]:
    with duckdb.connect() as db:
        db.register(
            "columns",
            {
                "t": np.concatenate([T, T]) * 1000,
                "w": np.concatenate([watts(0), watts(1)]),
                "host": np.repeat(np.array(["rack0", "rack1"], object), len(T)),
            },
        )
        db.execute(f"copy (select t as time, host, w as power_w from columns) to '{path}' (format parquet)")
    return {}


def wide_parquet(path: Path) -> dict[str, str]:
    with duckdb.connect() as db:
        db.register("columns", {"t": T, "a": watts(0) / 1e3, "b": watts(1) / 1e3})
        db.execute(
            f"copy (select make_timestamp(t * 1000000) as ts, a as rack0_kw, b as rack1_kw from columns) "
            f"to '{path}' (format parquet)"
        )
    return {"zone": "UTC"}


def bring(path: Path, out: Path | None = None, key: tuple[str, ...] = (), **options: str) -> trace_import.Imported:
    return trace_import.bring([path], {"place": "rack", **options}, key, out)


@pytest.mark.parametrize(
    "make", [wide, german, american, zipped, telegraf, influx, influx_query, metricq, long_parquet, wide_parquet]
)
def test_the_same_readings_come_out_of_every_form(make: Callable[[Path], dict[str, str]], tmp_path: Path) -> None:
    file, out = tmp_path / "given", tmp_path / "out" / "power.parquet"
    found = bring(file, out, **make(file))
    traces = sorted(trace.read(out), key=lambda one: channel_key(one.channel))
    assert len(found.channels) == len(traces) == 2 and not found.notices
    for rack, one in enumerate(traces):
        assert one.channel.quantity == "power" and one.channel.place == "rack" and f"{rack}" in channel_key(one.channel)
        assert np.array_equal(one.t_ns, T * 10**9)
        assert one.value == pytest.approx(watts(rack), abs=0.06)
        assert one.channel.refresh_s == 5.0
    assert [one.step_s for one in found.channels] == [5.0, 5.0] and not any(one.gaps for one in found.channels)


def test_counters_keep_their_unit_and_scope(tmp_path: Path) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "p.parquet"
    kwh = 5000 + np.cumsum(watts(0)) * 5 / 3.6e6
    file.write_text("time,energy_kwh\n" + "".join(f"{t},{e:.6f}\n" for t, e in zip(T, kwh, strict=True)))
    found = bring(file, out)
    one = trace.read(out)[0]
    assert (one.channel.quantity, one.channel.scope, one.channel.unit) == ("energy", "counter", "J")
    assert one.value == pytest.approx(kwh * 3.6e6, rel=1e-9)
    assert found.channels[0].mean_w == pytest.approx(watts(0)[1:].mean(), rel=1e-3)


def test_what_is_odd_is_told_and_nothing_is_lost_in_silence(tmp_path: Path) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "p.parquet"
    lines = [f"{utc(t)},{w}" for t, w in zip(T, watts(0), strict=True)]
    lines[50] = lines[50].split(",")[0] + ",-OL-"
    lines[60] = lines[60].split(",")[0] + ","
    lines[101:141] = []  # a gap of 205 s
    lines.insert(200, lines[199])  # the same twice
    lines[210], lines[211] = lines[211], lines[210]  # late
    lines.insert(220, "restarted")
    lines.insert(230, lines[230] + ",1,2,3")
    file.write_text("time,power_w\n" + "\n".join(lines) + "\n")
    found = bring(file, out)
    codes = {one.code for one in found.notices}
    assert codes == {"no-value", "gaps", "duplicates", "unordered", "lines-left-out"}
    one = found.channels[0]
    assert (one.gaps, one.duplicates, one.out_of_order, one.without_value) == (1, 1, 1, 2)
    assert one.longest_gap_s == pytest.approx(205.0)
    assert found.foreign_rows == 2
    got = trace.read(out)[0]
    assert np.all(np.diff(got.t_ns) > 0) and len(got) == len(T) - 40
    assert [int(got.status[50]), int(got.status[60])] == [Status.OVERRANGE, Status.GAP]


def test_a_clock_set_back_is_refused_and_an_hour_forward_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    back = np.where(np.arange(len(T)) < 200, T, T - 600)
    file.write_text("time,power_w\n" + "".join(f"{utc(t)},{w}\n" for t, w in zip(back, watts(0), strict=True)))
    with pytest.raises(BadInput, match="recorded already: the clock was set back"):
        bring(file)
    assert bring(file, overlap="keep").channels[0].readings == len(T)
    ahead = np.where(np.arange(len(T)) < 200, T, T + 3600)
    file.write_text("time,power_w\n" + "".join(f"{utc(t)},{w}\n" for t, w in zip(ahead, watts(0), strict=True)))
    assert {one.code for one in bring(file).notices} == {"gaps", "hour-leap"}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("time,power\n2026-09-21T10:00:00Z,1\n2026-09-21T10:00:05Z,2\n", {}, "gives no unit"),
        ("time,power_w\n2026-09-21 10:00:00,300\n2026-09-21 10:00:05,301\n", {}, "local time without a zone"),
        ("time,power_w\n03/04/2026 10:00:00,300\n03/04/2026 10:00:05,301\n", {"zone": "UTC"}, "day or with the month"),
        ("time,power_w\n1,300\n2,301\n", {}, "count from the start"),
        ("time,a_w\n2026-09-21T10:00:00Z,0.5\n2026-09-21T10:00:05Z,0.6\n", {}, "not what a node draws"),
        ("time,host,value\n1790000000,a,1\n1790000005,a,2\n", {}, "no channel of power or energy"),
        ("time,host,v\n1790000000,a,1\n1790000005,a,2\n", {}, "no column of values"),
        ("time,power_w\n1790000000,300\n1790000005,301\n", {"unit": "Watz"}, "unknown unit"),
        ("time,power_w\n1790000000,300\n1790000005,301\n", {"scope": "counter"}, "cannot be of scope"),
        ("time,host,value\n1790000000,a,300\n1790000005,a,301\n", {"unit": "W", "window": "nan"}, "above zero"),
        ("", {}, "no lines"),
        ("time,power_w\n2026-10-25 02:10:00,300\n2026-10-25 02:10:05,301\n", {"zone": "Europe/Berlin"}, "twice or never"),
    ],
)  # fmt: skip
def test_what_may_mean_two_things_is_refused(text: str, options: dict[str, str], words: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(BadInput, match=words):
        trace_import.bring([file], options, (), None)


@pytest.mark.parametrize("cut", [10, 60, 200, 2000])
def test_cut_and_foreign_files_are_one_error(cut: int, tmp_path: Path) -> None:
    for make in (zipped, long_parquet):
        file = tmp_path / f"{make.__name__}"
        make(file)
        file.write_bytes(file.read_bytes()[:cut])
        with pytest.raises(BadInput) as refused:
            bring(file)
        assert "Error" not in str(refused.value) and refused.value.exit_code == 2


def test_hours_that_a_zone_has_twice_or_never() -> None:
    begin, end = (int(datetime.datetime(2026, m, 1, tzinfo=datetime.UTC).timestamp()) * 10**9 for m in (1, 12))
    found = table.transitions("Europe/Berlin", begin, end)
    assert [utc(low / 1e9, "%m-%d %H:%M") for low, _ in found] == ["03-29 02:00", "10-25 02:00"]
    assert all(high - low == 3600 * 10**9 for low, high in found)


def test_pieces_make_no_difference() -> None:
    t = np.sort(np.random.default_rng(2).choice(np.arange(5000), 1500)) * 10**9
    row, value = np.arange(1500), np.arange(1500) % 7 * 100.0
    row[700], row[710] = row[710], row[700]
    status = np.zeros(1500, np.int64)
    whole, pieces = Judged(), Judged()
    whole.feed(t, row, value, status)
    for at in range(0, 1500, 400):
        pieces.feed(t[at : at + 400], row[at : at + 400], value[at : at + 400], status[at : at + 400])
    pieces.step_s = whole.step_s
    for name in ("readings", "duplicates", "clashes", "late", "first_ns", "last_ns", "longest_gap_s"):
        assert getattr(whole, name) == getattr(pieces, name), name
    assert whole.mean_w(False) == pytest.approx(pieces.mean_w(False))


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_from_somebody_s_csv_to_a_level(tmp_path: Path) -> None:
    """The example of docs/green500.md: a CSV of a monitoring system, imported, described, checked, bundled."""
    telegraf(tmp_path / "export.csv")
    looked = run("energy", "import", str(tmp_path / "export.csv"), "--place", "rack")
    assert looked.exit_code == 0 and "rack0:csv/pdu/power" in looked.stdout and "nothing is written" in looked.stderr
    assert "temperature" in looked.stderr
    out = str(tmp_path / "power.parquet")
    done = run(
        "energy", "import", str(tmp_path / "export.csv"), "-o", out, "--place", "rack", "--scope", "last", "--json"
    )
    told = json.loads(done.stdout)
    assert [one["channel"]["host"] for one in told["channels"]] == ["rack0", "rack1"] and told["written"] == out
    (tmp_path / "submission.toml").write_text(f"""
title = "Example"
traces = ["power.parquet"]
[[sets]]
name = "cpu"
nodes = 48
[[meters]]
name = "pdu"
accuracy = {{ reading = 0.01, source = "data sheet" }}
samples_hz = 1.0
{
        "".join(
            f'''
[[feeds]]
name = "rack {i}"
channel = "rack{i}:csv/pdu/power"
of = "cpu"
node_count = 24
meter = "pdu"
'''
            for i in (0, 1)
        )
    }
[[subsystems]]
name = "fabric"
kind = "interconnect"
state = "not participating"
[phases.core]
begin = {utc(T0 + 310)}
end = {utc(T0 + 1490)}
[performance]
rmax = "90 Tflop/s"
""")
    checked = json.loads(run("energy", "check", str(tmp_path / "submission.toml"), "--json").stdout)
    assert checked["level"] == 1
    inside = (T > T0 + 314) & (T <= T0 + 1490)
    mean = watts(0)[inside].mean() + watts(1)[inside].mean()
    assert checked["core"]["value"] == pytest.approx(mean, rel=1e-3)
    assert run("energy", "of", out, "--channel", "rack0:csv/pdu/power").exit_code == 0


def test_a_dead_channel_has_no_energy(tmp_path: Path) -> None:
    file, out = tmp_path / "a.csv", str(tmp_path / "p.parquet")
    file.write_text("time,power_w\n" + "".join(f"{utc(t)},0\n" for t in T))
    assert "reads 0 W throughout" in run("energy", "import", str(file), "-o", out, "--place", "rack").stderr
    done = run("energy", "of", out, "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 3 and all(one["value"] is None for one in told["phases"][0]["values"])
    assert {note["code"] for one in told["phases"][0]["values"] for note in one["notices"]} == {"dead"}
    assert "+-" not in run("energy", "of", out).stdout


def test_energy_of_reads_what_its_window_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two channels over 30 days, one and some hours around the window."""
    from shakedown.cli import energy

    t = np.arange(T0, T0 + 30 * 86400, 60)
    with duckdb.connect() as db:
        db.register("columns", {"t": t})
        db.execute(
            "copy (select t as time, 300 + t % 7 as a_w, 400 + t % 5 as b_w from columns) "
            f"to '{tmp_path / 'a.parquet'}' (format parquet)"
        )
    out = tmp_path / "p.parquet"
    bring(tmp_path / "a.parquet", out, place="node")
    kept: list[int] = []
    around = energy._around
    monkeypatch.setattr(energy, "_around", lambda *words: kept.append(len(found := around(*words))) or found)
    done = run("energy", "of", str(out), "--channel", "csv/b_w", "--begin", utc(T0 + 86400), "--end", "+600")
    assert done.exit_code == 0 and 100 < kept[0] < 400
    assert "energy: 2" in done.stdout


def test_json_has_u_and_empty_lists(tmp_path: Path) -> None:
    wide(tmp_path / "a.csv")
    out = str(tmp_path / "p.parquet")
    told = json.loads(run("energy", "import", str(tmp_path / "a.csv"), "-o", out, "--place", "rack", "--json").stdout)
    assert told["notices"] == [] and told["left_out"] == []
    of = json.loads(run("energy", "of", out, "--channel", "csv/Rack-0", "--json").stdout)
    for value in of["phases"][0]["values"]:
        assert value["U"] == pytest.approx(value["u"] * value["k"]) and isinstance(value["notices"], list)


@pytest.mark.parametrize("content", [None, b"time,power_w\n1,2\n", b"PAR1 and nothing", "foreign"])
def test_the_same_mistake_has_the_same_exit_code_everywhere(content: bytes | str | None, tmp_path: Path) -> None:
    """A trace that is not there, is another tool's file, or is damaged: 2, in words of ours."""
    file = tmp_path / "power.parquet"
    if content == "foreign":
        long_parquet(file)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    telegraf(tmp_path / "export.csv")
    (tmp_path / "submission.toml").write_text(
        'title = "x"\ntraces = ["power.parquet"]\nsets = [{ name = "c", nodes = 1 }]\n'
        'feeds = [{ name = "f", channel = "c", of = "c", node_count = 1 }]\n'
        "[phases.core]\nbegin_ns = 1790000000000000000\nend_ns = 1790000600000000000\n"
    )
    for words in (
        ("of", str(file)),
        ("check", str(tmp_path / "submission.toml")),
        ("bundle", str(tmp_path / "submission.toml"), "-o", str(tmp_path / "out")),
    ):
        done = CliRunner().invoke(app, ["energy", *words])
        assert isinstance(done.exception, BadInput), (words, done.exception)
        assert done.exception.exit_code == 2 and "rror:" not in str(done.exception)


def test_many_equal_notices_are_one_line() -> None:
    from shakedown.energy.uncertainty.quantity import gathered
    from shakedown.records import Notice

    many = [Notice(code="gaps", text=f"rack{i}: 2 gaps") for i in range(37)]
    told = gathered([*many, Notice(code="unit", text="x"), *many])
    assert [one.text for one in told] == ["rack0: 2 gaps", "rack1: 2 gaps", "rack2: 2 gaps (and 34 more like it)", "x"]
