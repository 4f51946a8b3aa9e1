"""EEL as EMANE 1.5.3 reads it: what its event generator made of a file, its traps, and what is written read again."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio.wire import eel, emane
from shakedown.radio.wire.eel import MOST_AT_ONCE, batches, sentences, write_losses

_LINE = re.compile(
    r"(?P<at>[\d.]+) len (?P<length>\d+)\S* \d+\) seq (?P<seq>\d+) nem (?P<nem>\d+) id (?P<id>\d+) n=\d+ "
    r"(?P<what>.*) \w+\.\."
)


def said(one: emane.Serialization) -> object:
    """An event as the recording has it."""
    found = emane.contents(one) or ()
    if one.event == emane.LOCATION:
        names = ("latitude", "longitude", "altitude")
        return [(place[0], dict(zip(names, place[1:4], strict=True))) for place in found]
    if one.event == emane.PATH_LOSS:
        return [(loss[0], {"forward": loss[1], "reverse": loss[2]}) for loss in found]
    return [(loss[0], dict(loss[1])) for loss in found]  # type: ignore[call-overload]


def test_a_file_becomes_the_events_that_emane_made_of_it(recordings: Path) -> None:
    """Order, receivers, contents and lengths of the datagrams, and which go together."""
    folder = recordings / "radio"
    recorded = [
        found
        for line in (folder / "emaneeventservice-1.5.3-output-for-sample.eel.txt").read_text().splitlines()
        if (found := _LINE.fullmatch(line))
    ]
    assert len(recorded) == 8
    made = []
    for batch in batches((folder / "sample.eel").read_text(), "sample.eel"):
        made += [(batch.time_s, one) for one in eel.serializations(batch)]
    assert len(made) == len(recorded)
    begin_s = float(recorded[0]["at"]) - made[0][0]
    for sequence, ((time_s, one), line) in enumerate(zip(made, recorded, strict=True), 1):
        assert (one.radio, one.event) == (int(line["nem"]), int(line["id"]))
        assert said(one) == ast.literal_eval(line["what"])
        datagram = emane.encode(emane.Event(bytes(16), sequence, (one,)))
        assert (len(datagram), sequence) == (int(line["length"]), int(line["seq"]))
        assert time_s + begin_s == pytest.approx(float(line["at"]), abs=0.011)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 nem:1 pathloss nem:2,90\n0.5 nem:1 pathloss nem:2,90", "line 2: has the time 0.5, before"),
        ("# " + "x" * 2046, "line 1: has 2048 characters"),
        ("x nem:1 pathloss nem:2,90", "'x', which is not a number"),
        ("nan nem:1 pathloss nem:2,90", "not a number"),
        ("1e39 nem:1 pathloss nem:2,90", "beyond"),
        ("1 nem:0 pathloss nem:2,90", "'nem:0'"),
        ("1 nem:65535 pathloss nem:2,90", "'nem:65535'"),
        ("1 node:1 pathloss nem:2,90", "'node:1'"),
        ("1 nem:1 pathloss nem:2", "not nem:2,FORWARD"),
        ("1 nem:1 pathloss nem:2,1,2,3", "not nem:2,FORWARD"),
        ("1 nem:1 pathloss nem:2,inf", "'inf', which is not a number"),
        ("1 nem:1 pathlossex nem:2,-1:90", "HZ:FORWARD"),
        ("1 nem:1 location gps 1,2", "2 numbers for location"),
        ("1 nem:1 location utm 1,2,3", "not gps"),
        ("1 nem:1 fadingselection nem:2,rayleigh", "none|nakagami|lognormal"),
        ("1 nem:1 velocity 1,2", "2 numbers for velocity"),
        ("1 nem:1 antennaprofile 1,2,3 4", "2 arguments"),
    ],
)
def test_what_emane_would_refuse_or_silently_end_at_is_named_with_its_line(text: str, what: str) -> None:
    with pytest.raises(BadInput) as error:
        list(batches(text, "x.eel"))
    assert what in str(error.value) and "next: " in str(error.value)


def test_comments_quotes_and_kinds_that_are_not_known_are_passed_over() -> None:
    text = '#\n\n1 nem:1\n1 nem:1 commeffect nem:2,latency=1\t# x\n1\tnem:1  "pathloss" "nem:2,90" # nem:3,70\r\n'
    (one,) = sentences(text, "x.eel")
    assert (one.line, one.time_s, one.radio, one.kind, one.arguments) == (5, 1.0, 1, "pathloss", ("nem:2,90",))


def test_times_are_32_bit_floats() -> None:
    """After a day they are 8 ms apart: two times that look different are one batch."""
    text = "86400.001 nem:1 pathloss nem:2,90\n86400.003 nem:1 pathloss nem:3,90\n86400.01 nem:1 pathloss nem:4,90"
    assert [len(one.losses) for one in batches(text, "x.eel")] == [3, 2]
    assert eel.next_time(86400.0) == 86400.0078125 and eel.next_time(1.0) == pytest.approx(1.001, abs=1e-7)
    late_s = 86400.0
    for _ in range(10):
        assert eel.next_time(late_s) > late_s
        late_s = eel.next_time(late_s)


def test_places_carry_velocity_and_orientation_and_the_latter_is_turned_round() -> None:
    text = "0 nem:1 location gps 1,2,3,agl\n0 nem:1 velocity 10,20,30,degrees,mps\n0 nem:1 orientation 1,2,3,degrees\n"
    text += "0 nem:1 antennaprofile 4,90,-5\n0 nem:1 fadingselection nem:2,nakagami nem:3,none\n"
    (batch,) = batches(text, "x.eel")
    place = emane.Location(1, 1, 2, 3, emane.Velocity(10, 20, 30), emane.Orientation(2, 1, 3))
    assert batch.locations == {1: place} and batch.fading == {1: {2: "nakagami", 3: "none"}}
    assert batch.profiles == {1: emane.AntennaProfile(1, 4, 90, -5)}
    assert [one.event for one in eel.serializations(batch)] == [100, 102, 106]


LINKS = st.dictionaries(
    st.tuples(st.integers(1, 65534), st.integers(1, 65534)).filter(lambda pair: pair[0] < pair[1]),
    st.integers(-5000, 30000),
    max_size=300,
)


@given(LINKS, st.floats(0, 1e6))
def test_losses_that_are_written_are_read_again_at_both_ends(links: dict[tuple[int, int], int], time_s: float) -> None:
    first, second = np.array([[*pair] for pair in links], np.int64).reshape(-1, 2).T
    lines = write_losses(time_s, first, second, np.array(list(links.values()), np.float32) / 100)
    assert all(len(line) < eel.WRITTEN_CHARACTERS and line.endswith("\n") for line in lines)
    found = list(batches("".join(lines), "x.eel"))
    assert len(found) == bool(links) and all(one.time_s == eel.single(time_s) for one in found)
    both = {(one, other): db / 100 for (a, b), db in links.items() for one, other in ((a, b), (b, a))}
    read = eel.entries(found[0]) if found else eel.Entries(first, second, first)
    heard = zip(read.receiver.tolist(), read.transmitter.tolist(), read.loss_db.tolist(), strict=True)
    assert {(one, other): round(db, 2) for one, other, db in heard} == both


def test_a_radio_with_more_links_than_one_event_holds_goes_on_at_the_next_time() -> None:
    """EMANE's sender does not split: 4,365 entries for one radio at one time would be lost."""
    count = 2 * MOST_AT_ONCE + 5
    first, second = np.full(count, 1), np.arange(2, 2 + count)
    order = np.random.Generator(np.random.PCG64(1)).permutation(count)
    lines = write_losses(3.0, first, second[order], np.full(count, 80, np.float32))
    found = list(batches("".join(lines), "x.eel"))
    assert [len(one.losses[1]) for one in found] == [MOST_AT_ONCE, MOST_AT_ONCE, 5]
    assert set().union(*(one.losses[1] for one in found)) == set(second.tolist())
    times = [one.time_s for one in found]
    assert times == sorted(set(times)) and times[-1] - times[0] < 0.01
