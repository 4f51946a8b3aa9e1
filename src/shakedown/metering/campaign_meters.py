"""Meters beside a campaign: which are read, how long the machine rests between runs, where the readings lie.

    RUN/meters.json          what was asked for: a resume reads the same
    RUN/power/1, 2, ...      one folder of readings for each time that the campaign went on (sampler.py)
        characters.json      what was known of the meters then: a report made years later uses the same

Imports nothing heavy: the harness holds this module while it measures.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from ..errors import BadInput, CannotMeasure
from ..files.atomic import read_record, write, write_record
from ..hosts.access import HostAccess
from ..records import Record
from ..units import whole_number
from . import character_store as characters
from . import sampler as sampling
from .character import Character
from .meters import Channel, channel_key

ASKED = "meters.json"
CHARACTERS = "characters.json"
FOLDER = "power"
#: Rest between runs unless asked otherwise: a meter with an average of 1 s settles, and leaves four readings of idleness.
REST_S = 5.0


class Metered(Record, frozen=True, kw_only=True):
    """Which meters, how often, and how long the machine rests before the first run and after each."""

    targets: tuple[str, ...]  # as the user wrote them; "auto" is already replaced
    interval_s: float | None = None
    rest_s: float = REST_S


def ask(words: Sequence[str], interval_s: float | None, rest_s: float | None, door: HostAccess) -> Metered | None:
    """What the user asked for, checked; None for no meter. Raises BadInput."""
    if not words:
        if interval_s is not None or rest_s is not None:
            raise BadInput("--meter-interval and --rest belong to --meter", hint="name a meter, or --meter auto")
        return None
    if rest_s is not None and not 0 <= rest_s <= 3600:
        raise BadInput(f"a rest of {rest_s:g} s", hint="give seconds from 0 to 3600")
    targets = tuple(str(target) for target in sampling.some(words, door))
    return Metered(targets=targets, interval_s=interval_s, rest_s=REST_S if rest_s is None else rest_s)


def remember(run: Path, asked: Metered | None) -> Metered | None:
    """Keep what was asked for in a run directory; where nothing was, what the run directory has. Raises StoreFailed."""
    if asked is not None:
        write_record(run / ASKED, asked)
        return asked
    return read_record(run / ASKED, Metered) if (run / ASKED).exists() else None


def folders(run: Path) -> list[Path]:
    """The folders of readings of a run directory, in their order."""
    base = run / FOLDER
    found = [path for path in base.iterdir() if whole_number(path.name) is not None] if base.is_dir() else []
    return sorted(found, key=lambda path: int(path.name))


@contextlib.contextmanager
def beside(
    run: Path, asked: Metered | None, door: HostAccess, say: Callable[[str], None]
) -> Iterator[Callable[[], None] | None]:
    """Read the meters as long as the context lasts; gives the rest to take between runs, None without meters.

    Raises CannotMeasure where no meter can be opened: a campaign that was to be measured for its energy would be for
    nothing. One that is refused beside others is said.
    """
    if asked is None:
        yield None
        return
    earlier = folders(run)
    folder = run / FOLDER / str(int(earlier[-1].name) + 1 if earlier else 1)
    targets = sampling.resolve(asked.targets, door)
    with sampling.start(targets, folder, interval_s=asked.interval_s) as sampler:
        channels = [channel for one in sampler.opened for channel in one.channels]
        if not channels:
            why = "; ".join(f"{one.what}: {one.why}" for one in sampler.refused)
            raise CannotMeasure("no meter can be read", hint=why or "`shakedown meter list` says why")
        for one in sampler.refused:
            say(f"  not read     {one.what}: {one.why}")
        say(f"  meters       {', '.join(channel.id for channel in channels)}")
        _keep_characters(folder, channels, say)
        yield lambda: time.sleep(asked.rest_s)
        if not sampler.alive:
            say("shakedown: the sampler ended before the campaign did; what it read until then is kept")


def _keep_characters(folder: Path, channels: Sequence[Channel], say: Callable[[str], None]) -> None:
    """Lay the characters that hold for these channels beside their readings; say of those that no longer do."""
    found = []
    for channel in channels:
        known = characters.find(channel)
        if known.state == "known" and known.character is not None:
            found.append(known.character)
        for notice in known.notices:
            say(f"  {channel.id}: {notice.text}" + (f" ({notice.advice})" if notice.advice else ""))
    if found:
        write(folder / CHARACTERS, msgspec.json.encode(found))


def characters_of(run: Path) -> dict[str, Character]:
    """By channel: the characters that were known when a run directory's meters were read, the newest. Raises StoreFailed."""
    found: dict[str, Character] = {}
    for folder in folders(run):
        if (folder / CHARACTERS).exists():
            for one in read_record(folder / CHARACTERS, list[Character]):
                found[channel_key(one.channel)] = one
    return found
