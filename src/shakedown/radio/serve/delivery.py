"""What others sent, as positions of radios: a datagram or a line of each kind. Pure.

Nothing that is malformed ends anything: it is counted by its cause. Events of EMANE that are not places (losses of our own
among them) are of no concern.
"""

from __future__ import annotations

from collections import Counter

from ..wire import emane, lines, nmea
from ..wire.malformed import Malformed
from .radios import Radios

#: A line that has not ended after so many bytes is given up until its end.
MOST_LINE_BYTES = lines.MOST_BYTES


class Delivery:
    """Brings positions to ``radios`` and counts what is malformed. ``uuid``: events with it are our own."""

    def __init__(self, radios: Radios, malformed: Counter[str], uuid: bytes = b"") -> None:
        self._radios = radios
        self._malformed = malformed
        self._uuid = uuid

    def emane(self, datagram: bytes) -> None:
        try:
            event = emane.decode(datagram)
            if event.uuid == self._uuid:
                return
            for one in event.serializations:
                if one.event == emane.LOCATION:
                    for place in emane.decode_locations(one.data):
                        self._radios.receive(
                            place.radio, place.latitude_deg, place.longitude_deg, altitude_m=place.altitude_m
                        )
        except Malformed as error:
            self._count("event of EMANE", error)

    def nmea(self, line: bytes, radio: int | None = None) -> None:
        """``radio``: that of a sentence that names none."""
        try:
            fix = nmea.read(line.decode("ascii", "replace"))
            if fix is None:
                return
            named = radio if fix.radio is None else fix.radio
            if named is None:
                raise Malformed("names no radio, and its port has none (=ID)")
            self._radios.receive(named, fix.latitude_deg, fix.longitude_deg, altitude_m=fix.altitude_m)
        except Malformed as error:
            self._count("NMEA", error)

    def json(self, line: bytes, radio: int | None = None) -> None:
        del radio  # a line has its id
        try:
            one = lines.read_position(line)
            self._radios.receive(one.id, one.latitude_deg, one.longitude_deg, one.height_m, one.altitude_m)
        except Malformed as error:
            self._count("JSON", error)

    def _count(self, kind: str, error: Malformed) -> None:
        self._malformed[f"{kind}: {error.what}"] += 1


class LineBuffer:
    """Lines of a stream, as they become whole."""

    def __init__(self) -> None:
        self._held = b""
        self._skipping = False
        self.too_long = 0

    def add(self, data: bytes) -> list[bytes]:
        """The lines that end in ``data``, without their ends and without those that are too long."""
        *ended, self._held = (self._held + data).split(b"\n")
        if self._skipping and ended:
            ended, self._skipping = ended[1:], False
        if len(self._held) > MOST_LINE_BYTES:
            self.too_long += not self._skipping
            self._held, self._skipping = b"", True
        sound = [line for line in ended if len(line) <= MOST_LINE_BYTES]
        self.too_long += len(ended) - len(sound)
        return [line for line in sound if line.strip()]
