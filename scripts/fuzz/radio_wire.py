"""Every reader of what others send to `shakedown radio serve`, and of traces: EMANE's events, EEL, NMEA, lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from seeds import RECORDINGS, Reader

from shakedown.radio.wire import eel, emane, lines, losses, nmea, traces

_CSV = b"time_s,id,latitude_deg,longitude_deg,height_m,altitude_m\n0,7,47.25,11.5,2,\n0.5,300,47.3,11.6,,812.5\n"
_NMEA = b"""7:$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47
7:$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A
\\s:300*7A\\$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47
"""


def readers() -> Iterator[Reader]:
    golden = (RECORDINGS / "radio" / "golden_events.txt").read_text().splitlines()
    datagrams = tuple(bytes.fromhex(one.partition("|")[2]) for one in golden if not one.startswith("#"))
    sample = (RECORDINGS / "radio" / "sample.eel").read_bytes()
    every_kind = _every_kind()
    positions = (lines.Position(7, 47.25, 11.5, height_m=2.0, time_s=0.5), lines.Position(9, 47.3, 11.6, time_s=1.0))
    jsonl = b"".join(map(lines.write_position, positions))
    several_kinds = tuple(_framed(one) for one in every_kind)
    yield Reader("event of EMANE", (*datagrams, *several_kinds), _event)
    yield Reader("event of EMANE, its length right", (*(one[2:] for one in datagrams), *every_kind), _event_of_body)
    yield Reader("scenario in EEL", (sample, _eel()), lambda path: list(eel.batches(_text(path), "s.eel")))
    yield Reader("sentences of NMEA", (_NMEA,), _each(lambda line: nmea.read(line.decode("utf-8", "replace"))))
    yield Reader("positions as JSON", (jsonl,), _each(lines.read_position))
    links = np.array([1, 2]), np.array([7, 300]), np.array([101.25, np.nan], np.float32)
    loss_lines = tuple(lines.write_losses(1, 2, *links, whole=True))
    yield Reader("losses as JSON", loss_lines, _each(lines.read_losses))
    for ending, seed in ((".csv", _CSV), (".jsonl", jsonl), (".eel", sample), (".nmea", _NMEA)):
        yield Reader(f"trace {ending}", (seed,), traces.load, ending)


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _every_kind() -> tuple[bytes, ...]:
    """An event of each kind that is read, without the length before it."""
    place = emane.Location(300, 47.25, 11.5, 600.0, emane.Velocity(1, 2, 3), emane.Orientation(4, 5, 6))
    said = (
        (emane.LOCATION, emane.encode_locations([place, place])),
        (emane.PATH_LOSS, emane.encode_path_losses([emane.PathLoss(radio, 90, 91) for radio in (1, 128, 16384, 5)])),
        (emane.PATH_LOSS_EX, emane.encode_path_losses_ex([emane.PathLossEx(300, ((0, 88.0), (2_400_000_000, 95.5)))])),
        (emane.ANTENNA_PROFILE, emane.encode_antenna_profiles([emane.AntennaProfile(2, 4, 90.0, -5.0)])),
        (emane.FADING_SELECTION, emane.encode_fading_selections([emane.FadingSelection(2, "nakagami")])),
    )
    return tuple(
        emane.encode(emane.Event(bytes(16), 7, (emane.Serialization(1, kind, data),)))[2:] for kind, data in said
    )


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(2, "big") + body


def _event(path: Path) -> None:
    _read_event(path.read_bytes())


def _event_of_body(path: Path) -> None:
    """A datagram whose length is right again: what is spoiled is behind the first check."""
    _read_event(_framed(path.read_bytes()[: emane.MOST_BYTES]))


def _read_event(datagram: bytes) -> None:
    for one in emane.decode(datagram).serializations:
        if one.event == emane.PATH_LOSS:
            quick = losses.decode(one.data)
            assert quick.transmitter.tolist() == [each.transmitter for each in emane.decode_path_losses(one.data)]
        emane.contents(one)


def _each(read: Callable[[bytes], object]) -> Callable[[Path], None]:
    """A reader of lines: each may be refused, none ends the others."""
    from shakedown.errors import ShakedownError

    def all_lines(path: Path) -> None:
        refused = None
        for line in filter(bytes.strip, path.read_bytes().split(b"\n")):
            try:
                read(line)
            except ShakedownError as error:
                refused = error
        if refused:
            raise refused

    return all_lines


def _eel() -> bytes:
    return (b"0 nem:1 location gps 1,2,3,agl\n0 nem:1 velocity 10,20,30,degrees,mps\n0 nem:1 orientation 1,2,3,degrees\n"
            b'0 nem:1 antennaprofile 4,90,-5\n0 nem:1 fadingselection nem:2,nakagami "nem:3,none" # x\n')  # fmt: skip
