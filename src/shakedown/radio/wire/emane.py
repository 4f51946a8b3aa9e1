"""EMANE's events (version 1.5.3): what one datagram holds, and what its events say.

A datagram is two bytes of length, the high one first, and a message: ``uuid`` (16 bytes) = 1, ``sequenceNumber`` = 2,
``data`` = 3 with repeated serializations = 1 of ``nemId`` = 1, ``eventId`` = 2 and ``data`` = 3
(src/libemane/event.proto of EMANE). It goes by UDP multicast, usually to 224.1.2.8 port 45703. ``nemId`` is whom an
event is for, 0 for all; several events for several radios may share a datagram. Losses in dB; angles in degrees;
heights in m; speeds in m/s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .malformed import Malformed, check_id
from .protobuf import Message, bytes_field, double_field, float_field, varint_field

GROUP, PORT = "224.1.2.8", 45703
#: What an IPv4 datagram over UDP can carry.
MOST_BYTES = 65507
UUID_BYTES = 16
ALL = 0
LOCATION, PATH_LOSS, ANTENNA_PROFILE, FADING_SELECTION, PATH_LOSS_EX = 100, 101, 102, 106, 107
FADING_MODELS = ("none", "nakagami", "lognormal")


class Serialization(NamedTuple):
    """One event of a datagram: for whom, which, and its bytes."""

    radio: int
    event: int
    data: bytes


class Event(NamedTuple):
    uuid: bytes
    sequence: int
    serializations: tuple[Serialization, ...]


class Velocity(NamedTuple):
    azimuth_deg: float
    elevation_deg: float
    magnitude_m_per_s: float


class Orientation(NamedTuple):
    roll_deg: float
    pitch_deg: float
    yaw_deg: float


class Location(NamedTuple):
    radio: int
    latitude_deg: float
    longitude_deg: float
    altitude_m: float
    velocity: Velocity | None = None
    orientation: Orientation | None = None


class PathLoss(NamedTuple):
    """What the receiver that the event is for loses from one transmitter. EMANE uses ``forward_db`` alone."""

    transmitter: int
    forward_db: float
    reverse_db: float


class PathLossEx(NamedTuple):
    """The same by frequency; 0 Hz stands for every frequency that is not listed."""

    transmitter: int
    by_frequency: tuple[tuple[int, float], ...]


class AntennaProfile(NamedTuple):
    radio: int
    profile: int
    azimuth_deg: float
    elevation_deg: float


class FadingSelection(NamedTuple):
    radio: int
    model: str


def encode(event: Event) -> bytes:
    """The datagram of an event. Raises ValueError where it is longer than a datagram can be."""
    data = b"".join(bytes_field(1, encode_serialization(one)) for one in event.serializations)
    body = bytes_field(1, event.uuid) + varint_field(2, event.sequence) + bytes_field(3, data)
    if len(body) + 2 > MOST_BYTES:
        raise ValueError(f"an event of {len(body) + 2} bytes fits no datagram")
    return len(body).to_bytes(2, "big") + body


def encode_serialization(one: Serialization) -> bytes:
    return varint_field(1, one.radio) + varint_field(2, one.event) + bytes_field(3, one.data)


def decode(datagram: bytes) -> Event:
    """The event of a datagram. Raises Malformed."""
    if len(datagram) < 2 or int.from_bytes(datagram[:2], "big") != len(datagram) - 2:
        raise Malformed("its length is not what it states")
    event = Message(datagram[2:])
    if len(uuid := event.data(1)) != UUID_BYTES:
        raise Malformed("a UUID that does not have 16 bytes")
    found = []
    for data in event.required(3).each(1):
        one = Message(data)
        found.append(Serialization(one.number(1), one.number(2), one.data(3)))
    return Event(uuid, event.number(2), tuple(found))


# ------------------------------------------------------------------------------------------------------------------ loc


def encode_locations(locations: Iterable[Location]) -> bytes:
    out = []
    for one in locations:
        body = varint_field(1, one.radio)
        body += bytes_field(2, _doubles(one.latitude_deg, one.longitude_deg, one.altitude_m))
        body += bytes_field(3, _doubles(*one.velocity)) if one.velocity else b""
        body += bytes_field(4, _doubles(*one.orientation)) if one.orientation else b""
        out.append(bytes_field(1, body))
    return b"".join(out)


def _doubles(*values: float) -> bytes:
    return b"".join(double_field(tag, value) for tag, value in enumerate(values, 1))


def decode_locations(data: bytes) -> tuple[Location, ...]:
    """Raises Malformed."""
    found = []
    for body in Message(data).each(1):
        one = Message(body)
        position = one.required(2)
        velocity, orientation = one.message(3), one.message(4)
        found.append(
            Location(
                check_id(one.number(1)),
                position.double(1),
                position.double(2),
                position.double(3),
                velocity=Velocity(*(velocity.double(tag) for tag in (1, 2, 3))) if velocity else None,
                orientation=Orientation(*(orientation.double(tag) for tag in (1, 2, 3))) if orientation else None,
            )
        )
    return tuple(found)


# -------------------------------------------------------------------------------------------------------------------- l


def encode_path_losses(losses: Iterable[PathLoss]) -> bytes:
    """One by one; ``losses.py`` does it for a hundred thousand."""
    return b"".join(
        bytes_field(
            1, varint_field(1, one.transmitter) + float_field(2, one.forward_db) + float_field(3, one.reverse_db)
        )
        for one in losses
    )


def decode_path_losses(data: bytes) -> tuple[PathLoss, ...]:
    """Raises Malformed."""
    found = []
    for body in Message(data).each(1):
        one = Message(body)
        found.append(PathLoss(check_id(one.number(1)), one.float(2), one.float(3)))
    return tuple(found)


def encode_path_losses_ex(losses: Iterable[PathLossEx]) -> bytes:
    out = []
    for one in losses:
        entries = (bytes_field(2, varint_field(1, hz) + float_field(2, db)) for hz, db in one.by_frequency)
        out.append(bytes_field(1, varint_field(1, one.transmitter) + b"".join(entries)))
    return b"".join(out)


def decode_path_losses_ex(data: bytes) -> tuple[PathLossEx, ...]:
    """Raises Malformed."""
    found = []
    for body in Message(data).each(1):
        one = Message(body)
        entries = [Message(entry) for entry in one.each(2)]
        found.append(PathLossEx(check_id(one.number(1)), tuple((each.number(1), each.float(2)) for each in entries)))
    return tuple(found)


# ------------------------------------------------------------------------------------------------------------ antenna,


def encode_antenna_profiles(profiles: Iterable[AntennaProfile]) -> bytes:
    return b"".join(
        bytes_field(
            1,
            varint_field(1, one.radio)
            + varint_field(2, one.profile)
            + double_field(3, one.azimuth_deg)
            + double_field(4, one.elevation_deg),
        )
        for one in profiles
    )


def decode_antenna_profiles(data: bytes) -> tuple[AntennaProfile, ...]:
    """Raises Malformed."""
    bodies = [Message(body) for body in Message(data).each(1)]
    return tuple(AntennaProfile(check_id(one.number(1)), one.number(2), one.double(3), one.double(4)) for one in bodies)


def encode_fading_selections(selections: Iterable[FadingSelection]) -> bytes:
    return b"".join(
        bytes_field(1, varint_field(1, one.radio) + varint_field(2, FADING_MODELS.index(one.model) + 1))
        for one in selections
    )


def decode_fading_selections(data: bytes) -> tuple[FadingSelection, ...]:
    """Raises Malformed."""
    found = []
    for body in Message(data).each(1):
        one = Message(body)
        if not 1 <= (model := one.number(2)) <= len(FADING_MODELS):
            raise Malformed("a fading model that is not known")
        found.append(FadingSelection(check_id(one.number(1)), FADING_MODELS[model - 1]))
    return tuple(found)


Contents = Sequence[Location | PathLoss | PathLossEx | AntennaProfile | FadingSelection]
_DECODERS: dict[int, Callable[[bytes], Contents]] = {
    LOCATION: decode_locations,
    PATH_LOSS: decode_path_losses,
    ANTENNA_PROFILE: decode_antenna_profiles,
    FADING_SELECTION: decode_fading_selections,
    PATH_LOSS_EX: decode_path_losses_ex,
}


def contents(one: Serialization) -> Contents | None:
    """What an event says; None where its kind is not read here. Raises Malformed."""
    decoder = _DECODERS.get(one.event)
    return decoder(one.data) if decoder else None
