"""EMANE's events byte for byte: golden vectors that EMANE 1.5.3 accepted, whole arrays beside one by one, limits held."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.radio.wire import emane, losses, protobuf
from shakedown.radio.wire.losses import Entries, Packer
from shakedown.radio.wire.malformed import Malformed

UUID = bytes(range(16))
IDS = st.integers(1, 65534)
FLOATS = st.floats(width=32, allow_nan=False)


@pytest.fixture(scope="module")
def golden(recordings: Path) -> dict[str, bytes]:
    lines = (recordings / "radio" / "golden_events.txt").read_text().splitlines()
    return {
        name: bytes.fromhex(text) for name, _, text in (one.partition("|") for one in lines if not one.startswith("#"))
    }


def entries(receivers: list[int], transmitters: list[int], loss_db: list[float]) -> Entries:
    return Entries(np.array(receivers, np.int64), np.array(transmitters, np.int64), np.array(loss_db, np.float32))


def unpacked(datagrams: list[losses.Datagram]) -> list[tuple[int, int, float]]:
    """Receiver, transmitter and loss of all entries, by the decoder that reads one by one."""
    return [
        (one.radio, loss.transmitter, loss.forward_db)
        for datagram in datagrams
        for one in emane.decode(datagram.data).serializations
        for loss in emane.decode_path_losses(one.data)
    ]


def test_the_golden_events_are_made_byte_for_byte(golden: dict[str, bytes]) -> None:
    losses_ = [emane.PathLoss(2, 90, 90), emane.PathLoss(300, 101.5, 102.25)]
    event = emane.Event(UUID, 7, (emane.Serialization(1, emane.PATH_LOSS, emane.encode_path_losses(losses_)),))
    assert emane.encode(event) == golden["pathloss"]
    place = emane.encode_locations([emane.Location(1, 40.031075, -74.523518, 3.0)])
    assert emane.encode(emane.Event(UUID, 8, (emane.Serialization(0, emane.LOCATION, place),))) == golden["location"]
    data, _ = losses.encode(np.array([2, 300]), np.array([90, 101.5], np.float32), np.array([90, 102.25], np.float32))
    assert data == emane.encode_path_losses(losses_)


def test_the_golden_events_are_read(golden: dict[str, bytes]) -> None:
    event = emane.decode(golden["pathloss"])
    (one,) = event.serializations
    assert (event.uuid, event.sequence, one.radio, one.event) == (UUID, 7, 1, emane.PATH_LOSS)
    assert emane.contents(one) == (emane.PathLoss(2, 90, 90), emane.PathLoss(300, 101.5, 102.25))
    (one,) = emane.decode(golden["location"]).serializations
    assert emane.contents(one) == (emane.Location(1, 40.031075, -74.523518, 3.0),)


def test_a_packed_datagram_of_one_receiver_is_the_golden_one_but_for_the_way_back(golden: dict[str, bytes]) -> None:
    (one,) = Packer(UUID, sequence=6).pack(entries([1, 1], [2, 300], [90, 101.5]))
    assert one.data == golden["pathloss"].replace(struct.pack("<f", 102.25), struct.pack("<f", 101.5))


@given(
    st.lists(
        st.builds(
            emane.Location,
            IDS,
            *[st.floats(allow_nan=False)] * 3,
            velocity=st.none() | st.builds(emane.Velocity, *[st.floats(allow_nan=False)] * 3),
            orientation=st.none() | st.builds(emane.Orientation, *[st.floats(allow_nan=False)] * 3),
        )
    ),
    st.lists(st.builds(emane.PathLossEx, IDS, st.lists(st.tuples(st.integers(0, 2**63), FLOATS)).map(tuple))),
    st.lists(st.builds(emane.AntennaProfile, IDS, st.integers(0, 2**32), FLOATS, FLOATS)),
    st.lists(st.builds(emane.FadingSelection, IDS, st.sampled_from(emane.FADING_MODELS))),
    st.integers(0, 2**64 - 1),
)
def test_what_is_written_is_read_again(
    places: list[emane.Location],
    ex: list[emane.PathLossEx],
    profiles: list[emane.AntennaProfile],
    fading: list[emane.FadingSelection],
    sequence: int,
) -> None:
    said = (
        (emane.LOCATION, places, emane.encode_locations(places)),
        (emane.PATH_LOSS_EX, ex, emane.encode_path_losses_ex(ex)),
        (emane.ANTENNA_PROFILE, profiles, emane.encode_antenna_profiles(profiles)),
        (emane.FADING_SELECTION, fading, emane.encode_fading_selections(fading)),
    )
    event = emane.Event(UUID, sequence, tuple(emane.Serialization(3, kind, data) for kind, _, data in said))
    assert emane.decode(emane.encode(event)) == event
    for one, (_, what, _) in zip(event.serializations, said, strict=True):
        assert emane.contents(one) == tuple(what)


@given(st.lists(st.tuples(IDS, FLOATS, FLOATS), max_size=40))
def test_arrays_give_the_bytes_of_entries_one_by_one(rows: list[tuple[int, float, float]]) -> None:
    data, begins = losses.encode(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.float32),
        np.array([row[2] for row in rows], np.float32),
    )
    each = [emane.encode_path_losses([emane.PathLoss(*row)]) for row in rows]
    assert data == b"".join(each) and begins.tolist() == [sum(map(len, each[:at])) for at in range(len(rows) + 1)]
    read = losses.decode(data)
    assert read.transmitter.tolist() == [row[0] for row in rows]
    assert read.loss_db.tolist() == [row[1] for row in rows]


def test_the_quick_decoder_reads_fields_in_another_order_and_unknown_ones() -> None:
    usual = emane.encode_path_losses([emane.PathLoss(5, 80, 81)])
    turned = protobuf.bytes_field(
        1, protobuf.float_field(3, 71) + protobuf.varint_field(9, 4) + protobuf.float_field(2, 70) + b"\x08\xac\x02"
    )
    read = losses.decode(usual + turned + usual)
    assert read.transmitter.tolist() == [5, 300, 5] and read.loss_db.tolist() == [80, 70, 80]


@given(
    st.lists(st.tuples(IDS, IDS, FLOATS), max_size=200), st.sampled_from([0, 100, 101, 150, 576, 1400, 60000, 10**6])
)
def test_all_entries_are_packed_within_the_limit(rows: list[tuple[int, int, float]], limit: int) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    datagrams = Packer(UUID, limit, sequence=2**63).pack(entries(*columns))  # type: ignore[arg-type]
    assert all(len(one.data) <= min(max(limit, losses.LEAST_LIMIT_BYTES), emane.MOST_BYTES) for one in datagrams)
    assert unpacked(datagrams) == rows and sum(one.entries for one in datagrams) == len(rows)
    assert all(one.entries for one in datagrams)
    assert [emane.decode(one.data).sequence for one in datagrams] == [2**63 + 1 + at for at in range(len(datagrams))]


def test_datagrams_are_filled() -> None:
    """A receiver's entries go on where the datagram before it has room: no datagram but the last is half empty."""
    count = 20_000
    receivers = np.repeat(np.arange(1000, 1000 + count // 20), 20)
    transmitters = np.random.Generator(np.random.PCG64(5)).integers(128, 16384, count)
    many = Entries(receivers, transmitters, np.full(count, 99.5, np.float32))
    datagrams = Packer(UUID, 1400).pack(many)
    assert all(len(one.data) > 1400 - 80 for one in datagrams[:-1])
    assert sum(one.entries for one in datagrams) == count
    largest = Packer(UUID, 10**6).pack(Entries(np.full(9000, 7), np.arange(200, 9200), np.zeros(9000, np.float32)))
    assert [one.entries for one in largest] == [4363, 4363, 274], "of 15 bytes, and EMANE itself takes 4,364"


def test_an_id_that_is_none_is_neither_written_nor_read() -> None:
    for radio in (0, 65535, 2**31):
        with pytest.raises(ValueError, match="id"):
            losses.encode(np.array([radio]), np.zeros(1, np.float32), np.zeros(1, np.float32))
        for place in ("transmitter", "location"):
            with pytest.raises(Malformed, match="65534"):
                if place == "location":
                    emane.decode_locations(emane.encode_locations([emane.Location(radio, 0, 0, 0)]))
                else:
                    losses.decode(emane.encode_path_losses([emane.PathLoss(radio, 1, 1)]))


@pytest.mark.parametrize("cut", range(61))
def test_a_datagram_that_was_cut_is_malformed(golden: dict[str, bytes], cut: int) -> None:
    whole = golden["pathloss"]
    if cut < len(whole):
        with pytest.raises(Malformed):
            emane.decode(whole[:cut])
        body = whole[2:cut] if cut > 2 else b""
        with pytest.raises(Malformed):
            _all(len(body).to_bytes(2, "big") + body)


def _all(datagram: bytes) -> None:
    for one in emane.decode(datagram).serializations:
        emane.contents(one)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b"\x0b", "not in use"),
        (b"\x02\x00", "without a number"),
        (b"\x08" + b"\xff" * 11, "ten bytes"),
        (b"\x08\x01", "another kind"),
        (b"\x0a\x03abc\x10\x01\x1a\x00", "16 bytes"),
        (b"\x10\x01\x1a\x00", "missing"),
    ],
)
def test_causes_are_named(body: bytes, cause: str) -> None:
    with pytest.raises(Malformed, match=cause):
        _all(len(body).to_bytes(2, "big") + body)


def test_a_field_twice_is_its_last_and_a_message_twice_both_together() -> None:
    latitude, rest = protobuf.double_field(1, 5.0), protobuf.double_field(2, 6.0) + protobuf.double_field(3, 7.0)
    body = b"\x08\x01\x08\x02" + protobuf.bytes_field(2, latitude) + protobuf.bytes_field(2, rest)
    assert emane.decode_locations(protobuf.bytes_field(1, body)) == (emane.Location(2, 5.0, 6.0, 7.0),)


def test_an_event_of_another_kind_is_none_of_ours() -> None:
    assert emane.contents(emane.Serialization(1, 103, b"anything")) is None


def test_what_fits_no_datagram_is_refused() -> None:
    with pytest.raises(ValueError, match="fits no datagram"):
        emane.encode(emane.Event(UUID, 1, (emane.Serialization(1, 101, b"\x00" * 65500),)))
    assert math.isinf(
        emane.decode_path_losses(emane.encode_path_losses([emane.PathLoss(1, math.inf, 0)]))[0].forward_db
    )
