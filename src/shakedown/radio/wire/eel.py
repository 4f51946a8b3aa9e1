"""EEL, the files of EMANE's event generator: ``<time s> nem:<id> <kind> <arguments>``, a sentence a line.

``#`` begins a comment and a line of fewer than three words says nothing. Double quotes hold words together. A time is a
32-bit float there, 8 ms apart after a day, and never goes back; sentences of one time are sent together. EMANE reads
lines into 2,048 characters, and ends, without a word, at one that is longer: none is written here, and one that is read
is an error.

A sentence ``nem:1 pathloss nem:2,90,91`` says what goes from 1 to 2, and back: it makes an entry at both ends.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...units import whole_number
from ..scene import FIRST_ID, LAST_ID
from . import emane
from .losses import Entries, Ids, Losses

LINE_CHARACTERS = 2048
#: Lines that are written end before this.
WRITTEN_CHARACTERS = 2000
#: Entries for one radio at one time: its event must fit one datagram, 15 bytes each.
MOST_AT_ONCE = 4364
_FLOAT = struct.Struct("<f")
_KINDS = ("pathloss", "pathlossex", "location", "velocity", "orientation", "antennaprofile", "fadingselection")
_SET_HINT = "write it as EMANE's generator reads it: 0.0 nem:1 pathloss nem:2,90.0"


class Sentence(NamedTuple):
    """A line: its time in s as EMANE holds it, whom it is about, and what it says."""

    line: int
    time_s: float
    radio: int
    kind: str
    arguments: tuple[str, ...]


class Batch(NamedTuple):
    """What is sent together: places, and the losses of each receiver by transmitter, with the way back."""

    time_s: float
    locations: dict[int, emane.Location]
    losses: dict[int, dict[int, emane.PathLoss]]
    losses_ex: dict[int, dict[int, dict[int, float]]]
    profiles: dict[int, emane.AntennaProfile]
    fading: dict[int, dict[int, str]]


def single(time_s: float) -> float:
    """A time as EMANE holds it."""
    return float(_FLOAT.unpack(_FLOAT.pack(time_s))[0])


# ------------------------------------------------------------------------------------------------------------------- re


def sentences(text: str, where: str) -> Iterator[Sentence]:
    """The sentences of a file. Raises BadInput with the line of one that EMANE would refuse, or would silently end at."""
    before = -math.inf
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) >= LINE_CHARACTERS:
            raise _wrong(
                f"has {len(line)} characters, and EMANE ends without a word at {LINE_CHARACTERS}", where, number
            )
        words = _words(line)
        if len(words) < 3:
            continue
        time_s = _number(words[0], where, number)
        if abs(time_s) > 1e9:
            raise _wrong(f"has the time {words[0][:40]!r}, beyond 1e9 s", where, number)
        time_s = single(time_s)
        if time_s < before:
            raise _wrong(f"has the time {words[0]}, before that of the line above it", where, number)
        before = time_s
        if words[2] in _KINDS:
            yield Sentence(number, time_s, _radio(words[1], where, number), words[2], tuple(words[3:]))


def _words(line: str) -> list[str]:
    """Words between blanks and tabs; in double quotes blanks and ``#`` are part of a word."""
    found: list[str] = []
    word, quoted, begun = "", False, False
    for sign in line.rstrip("\r"):
        if sign == '"':
            quoted, begun = not quoted, True
        elif quoted or sign not in " \t#":
            word, begun = word + sign, True
        else:
            if begun:
                found.append(word)
            word, begun = "", False
            if sign == "#":
                return found
    return [*found, word] if begun else found


def batches(text: str, where: str) -> Iterator[Batch]:
    """What is sent at each time, in turn. Raises BadInput."""
    batch: Batch | None = None
    for one in sentences(text, where):
        if batch is None or one.time_s != batch.time_s:
            if batch is not None:
                yield batch
            batch = Batch(one.time_s, {}, {}, {}, {}, {})
        _APPLY[one.kind](batch, one, where)
    if batch is not None:
        yield batch


def _pathloss(batch: Batch, one: Sentence, where: str) -> None:
    for argument in one.arguments:
        other, *values = argument.split(",")
        peer = _radio(other, where, one.line)
        if not 1 <= len(values) <= 2:
            raise _wrong(f"has {argument[:40]!r}, which is not nem:2,FORWARD or nem:2,FORWARD,REVERSE", where, one.line)
        forward = _number(values[0], where, one.line)
        reverse = _number(values[-1], where, one.line)
        batch.losses.setdefault(peer, {})[one.radio] = emane.PathLoss(one.radio, forward, reverse)
        batch.losses.setdefault(one.radio, {})[peer] = emane.PathLoss(peer, reverse, forward)


def _pathlossex(batch: Batch, one: Sentence, where: str) -> None:
    for argument in one.arguments:
        other, *entries = argument.split(",")
        peer = _radio(other, where, one.line)
        for entry in entries:
            hertz, *values = entry.split(":")
            frequency = whole_number(hertz, 0)
            if frequency is None or not 1 <= len(values) <= 2:
                raise _wrong(f"has {entry[:40]!r}, which is not HZ:FORWARD or HZ:FORWARD:REVERSE", where, one.line)
            forward = _number(values[0], where, one.line)
            reverse = _number(values[-1], where, one.line)
            batch.losses_ex.setdefault(peer, {}).setdefault(one.radio, {})[frequency] = forward
            batch.losses_ex.setdefault(one.radio, {}).setdefault(peer, {})[frequency] = reverse


def _location(batch: Batch, one: Sentence, where: str) -> None:
    if len(one.arguments) != 2 or one.arguments[0] != "gps":
        raise _wrong("has a location that is not gps LATITUDE,LONGITUDE,ALTITUDE", where, one.line)
    numbers = one.arguments[1].split(",")
    if len(numbers) == 4 and numbers[3] in ("msl", "agl"):
        numbers.pop()
    latitude, longitude, altitude = _three(numbers, one, where)
    held = batch.locations.get(one.radio)
    batch.locations[one.radio] = emane.Location(
        one.radio, latitude, longitude, altitude, held.velocity if held else None, held.orientation if held else None
    )


def _velocity(batch: Batch, one: Sentence, where: str) -> None:
    values = emane.Velocity(*_three_of(one, where, ("azimuth", "degrees", "mps", "relative")))
    if held := batch.locations.get(one.radio):  # EMANE sends it with a place, or not at all
        batch.locations[one.radio] = held._replace(velocity=values)


def _orientation(batch: Batch, one: Sentence, where: str) -> None:
    pitch, roll, yaw = _three_of(one, where, ("degrees", "relative"))
    if held := batch.locations.get(one.radio):
        batch.locations[one.radio] = held._replace(orientation=emane.Orientation(roll, pitch, yaw))


def _antennaprofile(batch: Batch, one: Sentence, where: str) -> None:
    profile, azimuth, elevation = _three_of(one, where, ())
    batch.profiles[one.radio] = emane.AntennaProfile(one.radio, int(profile), azimuth, elevation)


def _fadingselection(batch: Batch, one: Sentence, where: str) -> None:
    for argument in one.arguments:
        other, _, model = argument.partition(",")
        if model not in emane.FADING_MODELS:
            raise _wrong(f"has {argument[:40]!r}, which is not nem:2,none|nakagami|lognormal", where, one.line)
        batch.fading.setdefault(one.radio, {})[_radio(other, where, one.line)] = model


_APPLY = {
    "pathloss": _pathloss,
    "pathlossex": _pathlossex,
    "location": _location,
    "velocity": _velocity,
    "orientation": _orientation,
    "antennaprofile": _antennaprofile,
    "fadingselection": _fadingselection,
}


def _three_of(one: Sentence, where: str, words: Iterable[str]) -> tuple[float, float, float]:
    if len(one.arguments) != 1:
        raise _wrong(f"has {len(one.arguments)} arguments for {one.kind}, which takes one", where, one.line)
    return _three([word for word in one.arguments[0].split(",") if word not in words], one, where)


def _three(numbers: list[str], one: Sentence, where: str) -> tuple[float, float, float]:
    if len(numbers) != 3:
        raise _wrong(f"has {len(numbers)} numbers for {one.kind}, which takes three", where, one.line)
    first, second, third = (_number(number, where, one.line) for number in numbers)
    return first, second, third


def _radio(word: str, where: str, line: int) -> int:
    number = whole_number(word.removeprefix("nem:"), FIRST_ID, LAST_ID)
    if number is None or not word.startswith("nem:"):
        raise _wrong(f"has {word[:40]!r}, which is not nem:{FIRST_ID} to nem:{LAST_ID}", where, line)
    return number


def _number(word: str, where: str, line: int) -> float:
    try:
        value = float(word) if len(word) < 64 and word.isascii() and "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _wrong(f"has {word[:40]!r}, which is not a number", where, line)
    return value


def _wrong(what: str, where: str, line: int) -> BadInput:
    return BadInput(what, where=f"{where}, line {line}", hint=_SET_HINT)


# ------------------------------------------------------------------------------------------------------------------- wr


def write_losses(time_s: float, first: Ids, second: Ids, loss_db: Losses) -> list[str]:
    """Sentences of an update, lines with their ends. A link is written once and makes the entries of both ends. Where a
    radio has more of them than one event can hold, the update goes on at the next times that a 32-bit float can tell."""
    found: list[str] = []
    at = single(time_s)
    for chosen in _at_once(first, second):
        order = chosen[np.argsort(first[chosen], kind="stable")]
        found += _lines(_time(at), first[order].tolist(), second[order].tolist(), loss_db[order].tolist())
        at = next_time(at)
    return found


def next_time(time_s: float) -> float:
    """The next time that EMANE tells from this one, at least a millisecond after it."""
    return max(single(time_s + 0.001), float(np.nextafter(np.float32(time_s), np.float32(math.inf))))


def _time(time_s: float) -> str:
    """Digits that are read as this 32-bit float again."""
    return np.format_float_positional(np.float32(time_s), unique=True, trim="0")


def _at_once(first: Ids, second: Ids) -> Iterator[Ids]:
    """Indices of links in groups, in none of which a radio has more than MOST_AT_ONCE."""
    ends = np.concatenate((first, second))
    if not len(first) or np.unique(ends, return_counts=True)[1].max() <= MOST_AT_ONCE:
        yield np.arange(len(first))
        return
    counts: dict[int, int] = {}
    begin = 0
    for at, ids in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        if any(counts.get(one, 0) >= MOST_AT_ONCE for one in ids):
            yield np.arange(begin, at)
            begin, counts = at, {}
        for one in ids:
            counts[one] = counts.get(one, 0) + 1
    yield np.arange(begin, len(first))


def _lines(time: str, first: list[int], second: list[int], loss_db: list[float]) -> list[str]:
    found = []
    line, before = "", 0
    for one, other, loss in zip(first, second, loss_db, strict=True):
        word = f" nem:{other},{loss:.2f}"
        if one != before or len(line) + len(word) + 1 >= WRITTEN_CHARACTERS:
            found.append(line)
            line, before = f"{time} nem:{one} pathloss", one
        line += word
    return [f"{one}\n" for one in (*found, line) if one]


def entries(batch: Batch) -> Entries:
    """What each receiver hears of each transmitter by the losses of a batch."""
    rows = [(radio, one.transmitter, one.forward_db) for radio, held in batch.losses.items() for one in held.values()]
    table = np.array(rows, np.float64).reshape(-1, 3)
    return Entries(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2].astype(np.float32))


def serializations(batch: Batch) -> list[emane.Serialization]:
    """The events that EMANE's generator makes of a batch, in its order: places to all, then what each radio gets (its
    loaders in the mode ``delta``)."""
    found = []
    if batch.locations:
        places = emane.encode_locations(batch.locations[radio] for radio in sorted(batch.locations))
        found.append(emane.Serialization(emane.ALL, emane.LOCATION, places))
    for radio, held in sorted(batch.losses.items()):
        data = emane.encode_path_losses(held[other] for other in sorted(held))
        found.append(emane.Serialization(radio, emane.PATH_LOSS, data))
    for radio, tables in sorted(batch.losses_ex.items()):
        ex = (emane.PathLossEx(other, tuple(sorted(table.items()))) for other, table in sorted(tables.items()))
        found.append(emane.Serialization(radio, emane.PATH_LOSS_EX, emane.encode_path_losses_ex(ex)))
    if batch.profiles:
        profiles = emane.encode_antenna_profiles(batch.profiles[radio] for radio in sorted(batch.profiles))
        found.append(emane.Serialization(emane.ALL, emane.ANTENNA_PROFILE, profiles))
    for radio, models in sorted(batch.fading.items()):
        fading = (emane.FadingSelection(other, model) for other, model in sorted(models.items()))
        found.append(emane.Serialization(radio, emane.FADING_SELECTION, emane.encode_fading_selections(fading)))
    return found
