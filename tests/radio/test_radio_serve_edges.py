"""What `shakedown radio serve` takes in, and whom it serves: positions, malformed input, slow readers, addresses, report."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio.serve import addresses, tally
from shakedown.radio.serve.delivery import MOST_LINE_BYTES, Delivery, LineBuffer
from shakedown.radio.serve.radios import Radios, heights
from shakedown.radio.serve.readers import Reader
from shakedown.radio.serve.schedule import Schedule
from shakedown.radio.serve.updater import Update
from shakedown.radio.wire import emane, lines, nmea
from support.radio_free_space import flat

# -------------------------------------------------------------------------------------------------------------- positions


def test_positions_that_cannot_be_are_refused_by_cause_and_the_radio_stays() -> None:
    radios = Radios(2)
    radios.receive(7, 47.5, 11.5, 2.0)
    for place in (
        (math.nan, 11),
        (91, 11),
        (47, math.inf),
        (47, -181),
        (47, 11, 0.0),
        (47, 11, math.nan),
        (47, 11, -3),
    ):
        radios.receive(7, *place)
    radios.receive(7, 47.5, 11.5, None, math.nan)
    radios.receive(8, 47.5, 11.5)
    radios.receive(9, 47.5, 11.5)
    assert radios.count == 2 and radios.received == 11
    assert radios.refused == Counter({
        "a latitude that is not from -90 to 90": 2, "a longitude that is not from -180 to 360": 2,
        "a height that is not above ground": 3, "an altitude that is not a number": 1, "more radios than 2": 1})  # fmt: skip
    moves = radios.take()
    assert moves.ids.tolist() == [7, 8] and moves.which.tolist() == [0, 1]
    assert moves.height_m[0] == 2 and math.isnan(moves.height_m[1])


def test_equal_positions_are_no_move_and_jumps_are() -> None:
    radios = Radios(10)
    for place in ((47.5, 11.5), (47.5, 11.5)):
        radios.receive(7, *place)
    radios.take()
    radios.receive(7, 47.5, 11.5)
    assert not radios.take().which.size and radios.same == 2
    radios.receive(7, -89.0, 359.0)
    moves = radios.take()
    assert moves.which.tolist() == [0] and moves.latitude_deg.tolist() == [-89]
    assert not radios.take().which.size


def test_heights_come_from_altitudes_where_none_is_given() -> None:
    radios = Radios(10)
    radios.receive(1, 47.5, 11.5, 30.0, 1000.0)  # what is given comes first
    radios.receive(2, 47.5, 11.5, None, 520.0)
    radios.receive(3, 47.5, 11.5, None, 480.0)  # below the map's ground of 500 m
    radios.receive(4, 47.5, 11.5)
    radios.receive(5, 40.0, 11.5, None, 600.0)  # off the map
    moves = radios.take()
    found = heights(moves, flat(500), 2.0, "sea")
    assert found.height_m[:4].tolist() == [30, 20, 2, 2] and found.raised.tolist() == [0, 0, 1, 0, 0]
    assert heights(moves, flat(500), 2.0, "ground").height_m[:4].tolist() == [30, 520, 480, 2]
    assert heights(moves, flat(500), 2.0, "nothing").height_m.tolist() == [30, 2, 2, 2, 2]


def test_what_is_malformed_is_counted_by_cause_and_ends_nothing() -> None:
    radios, malformed, own = Radios(10), Counter[str](), bytes(16)
    deliver = Delivery(radios, malformed, own)
    place = emane.encode_locations([emane.Location(7, 47.5, 11.5, 600.0)])
    event = emane.Event(b"x" * 16, 1, (emane.Serialization(0, 100, place), emane.Serialization(3, 103, b"\xff")))
    deliver.emane(emane.encode(event))
    deliver.emane(emane.encode(event._replace(uuid=own)))  # our own comes back
    deliver.emane(b"\x00\x05hello")
    deliver.emane(emane.encode(event)[:-3])
    deliver.emane(emane.encode(event._replace(serializations=(emane.Serialization(0, 100, b"\x0a\x02\x08\x01"),))))
    deliver.nmea(nmea.write(None, 47.6, 11.5, 600).encode(), 8)
    deliver.nmea(nmea.write(9, 47.6, 11.5, 600).encode(), 8)
    deliver.nmea(nmea.write(None, 47.6, 11.5, 600).encode())
    deliver.nmea("$GPGGA,\u00b2*00".encode())
    deliver.json(b'{"id": 10, "latitude_deg": 47.7, "longitude_deg": 11.5}')
    deliver.json(b"{")
    assert radios.take().ids.tolist() == [7, 8, 9, 10] and sum(malformed.values()) == 6
    assert malformed["event of EMANE: a required field is missing"] == 1 and malformed["JSON: not JSON"] == 1
    assert malformed["NMEA: names no radio, and its port has none (=ID)"] == 1


@given(st.lists(st.binary(max_size=MOST_LINE_BYTES + 50), max_size=8), st.integers(1, 3000))
def test_lines_of_a_stream_are_whole_however_it_is_cut(texts: list[bytes], size: int) -> None:
    whole = [one.replace(b"\n", b"") for one in texts]
    data = b"".join(one + b"\n" for one in whole)
    buffer = LineBuffer()
    found = [line for at in range(0, len(data), size) for line in buffer.add(data[at : at + size])]
    assert found == [line for line in whole if line.strip() and len(line) <= MOST_LINE_BYTES]
    assert buffer.too_long == sum(len(line) > MOST_LINE_BYTES for line in whole)


# ---------------------------------------------------------------------------------------------------------------- readers


def test_a_reader_begins_with_all_links_and_then_gets_what_changes() -> None:
    reader = Reader(0.0, 1000, 5.0)
    assert not reader.offer([b"delta\n"], None, 0.0) and reader.skipped == 1
    whole = lines.write_losses(1.0, 2, np.array([1]), np.array([2]), np.array([90], np.float32), whole=True)
    assert reader.offer([b"delta\n"], whole, 1.0)
    assert lines.read_losses(reader.head()).skipped == 1
    assert reader.offer([b"next\n"], None, 2.0)
    reader.wrote(5, 2.0)
    reader.wrote(len(reader.head()), 2.0)
    assert reader.head() == b"next\n" and reader.held == 5


def test_a_reader_that_is_too_slow_is_given_all_again_once_it_has_caught_up() -> None:
    reader = Reader(0.0, 100, 5.0)
    whole = lines.write_losses(1.0, 1, np.array([1]), np.array([2]), np.array([90], np.float32), whole=True)
    assert reader.offer([], whole, 0.0)
    assert not reader.offer([b"x" * 101], None, 1.0) and reader.needs_whole
    assert not reader.offer([b"x"], whole, 1.5), "the first must be read before all comes again"
    while reader.held:
        reader.wrote(7, 2.0)
    assert reader.offer([b"x"], whole, 2.5) and lines.read_losses(reader.head()).skipped == 2


def test_a_reader_that_stops_is_dropped_and_one_that_is_idle_is_not() -> None:
    reader = Reader(0.0, 100, 5.0)
    assert not reader.is_dead(1e9), "nothing waits for it"
    reader.needs_whole = False
    reader.offer([b"abc\n"], None, 1000.0)
    assert not reader.is_dead(1004.9) and reader.is_dead(1005.1)
    reader.wrote(1, 1006.0)
    assert not reader.is_dead(1010.0) and reader.head() == b"bc\n"


# ------------------------------------------------------------------------------------------------------ addresses, tally


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("emane", addresses.Input("emane", "multicast", "224.1.2.8", 45703)),
        ("emane@lo", addresses.Input("emane", "multicast", "224.1.2.8", 45703, "lo")),
        ("emane:239.0.0.1:5000@eth0.7", addresses.Input("emane", "multicast", "239.0.0.1", 5000, "eth0.7")),
        ("emane:[ff02::1]:5000@lo", addresses.Input("emane", "multicast", "ff02::1", 5000, "lo")),
        ("nmea:udp:10110=7", addresses.Input("nmea", "udp", port=10110, radio=7)),
        ("nmea:tcp:gps:2947", addresses.Input("nmea", "tcp", "gps", 2947)),
        ("json:listen:5000", addresses.Input("json", "listen", "localhost", 5000)),
        ("json:listen:[::1]:5000", addresses.Input("json", "listen", "::1", 5000)),
        ("json:-", addresses.Input("json", "stdin")),
        ("trace:a b.csv", addresses.Input("trace", "file", path="a b.csv")),
    ],
)
def test_words_for_where_positions_come_from(text: str, expected: addresses.Input) -> None:
    assert addresses.inputs(text) == (expected,)


def test_a_range_of_ports_has_a_radio_each() -> None:
    found = addresses.inputs("nmea:udp:10110-10112=65532")
    assert [(one.port, one.radio) for one in found] == [(10110, 65532), (10111, 65533), (10112, 65534)]


def test_words_for_where_losses_go(tmp_path: Path) -> None:
    assert addresses.output("emane") == addresses.Output("emane", "224.1.2.8", 45703)
    assert addresses.output(f"eel:{tmp_path}/x.eel").path == f"{tmp_path}/x.eel"
    assert addresses.output("json:/run/x.sock") == addresses.Output("json", path="/run/x.sock")
    assert addresses.output("json:[::]:0") == addresses.Output("json", "::", 0)


@pytest.mark.parametrize("text", ["", "emane:1.2.3.4", "nmea", "nmea:udp:0", "nmea:udp:70000", "nmea:udp:2000-1000",
                                  "nmea:udp:1000-3000", "nmea:udp:5000=0", "nmea:udp:5000-5001=65534", "json:tcp:5000",
                                  "trace:", "nmea:udp:²", "emane:x:99999"])  # fmt: skip
def test_a_word_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as error:
        addresses.inputs(text)
    assert error.value.hint
    with pytest.raises(BadInput):
        addresses.output(f"x{text}")


def test_late_is_said_by_its_largest_and_its_99th_percentile() -> None:
    found = tally.Tally(0.5)
    nothing = Update(1, 2, 3, {"off the map": 1}, 0, 4, 1, 5, 6, 2, [], [], None, [])
    found.update(nothing, None)
    for at in range(1, 201):
        found.update(nothing, at / 1000)
    radios = Radios(1)
    radios.receive(1, math.nan, 0)
    schedule = Schedule(0.0, 0.5)
    for number in (1, 4, 6):
        schedule.begin(number)
    report = found.report(seconds=100.0, schedule=schedule, ended="a signal", positions=radios)
    assert (report.skipped, report.last_skipped_s) == (3, 2.5)
    assert report.found == tally.Late(max_s=0.2, p99_s=0.198, median_s=0.1) and report.sent.max_s is None
    assert (report.updates, report.moves, report.changes, report.ceased) == (201, 402, 804, 201)
    shown = dict(tally.pairs(report))
    assert (
        shown["left out"].endswith("a latitude that is not from -90 to 90")
        and "3 intervals skipped, the last 2.5 s after the first update" in shown["updates"]
    )
    assert "1 radios off the map" in tally.line(report) and "3 of 204 intervals skipped" in tally.line(report)
