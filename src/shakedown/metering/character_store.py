"""Characters of meters, kept between runs: one JSON file each, looked up by what they hold for.

A character holds for one channel of one device under one firmware and driver. Where the driver or the firmware has
changed since, it is stale: the same board has changed its averaging from one driver to the next (arXiv 2312.02741), so
such a character is shown with what changed, and never applied.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from .. import strict
from ..errors import StoreFailed
from ..files import atomic
from ..records import Notice
from .character import Character
from .meters import Channel, channel_key

#: What must be the same for a character to hold, in words.
_HOLDS_FOR = {"device": "device", "firmware": "firmware", "driver": "driver"}


class StoredCharacter(NamedTuple):
    """``character`` may be used only where the state is "known"; a stale one is for showing."""

    state: Literal["known", "stale", "absent"]
    character: Character | None
    notices: tuple[Notice, ...] = ()


def folder(environment: Mapping[str, str] = os.environ) -> Path:
    """``$XDG_STATE_HOME/shakedown/meters``, by default below ``~/.local/state``."""
    base = environment.get("XDG_STATE_HOME") or str(
        Path(environment.get("HOME", "~")).expanduser() / ".local" / "state"
    )
    return Path(base) / "shakedown" / "meters"


def _file(channel: Channel) -> str:
    words = "\n".join((channel_key(channel), *(getattr(channel, name) for name in _HOLDS_FOR)))
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", channel_key(channel)).strip("-")[:80]
    return f"{slug}-{hashlib.sha256(words.encode()).hexdigest()[:12]}.json"


def save(character: Character, at: Path | None = None) -> Path:
    """Keep it, in place of an older one for the same channel, device, firmware and driver. Raises StoreFailed."""
    where = at or folder()
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.failed(error, where, "make the folder") from None
    path = where / _file(character.channel)
    atomic.write_record(path, character)
    return path


def find(channel: Channel, at: Path | None = None) -> StoredCharacter:
    """The character that holds for a channel as it is now; else the newest of the same channel, as stale. Never raises: a
    file that cannot be read is told in a notice."""
    where = at or folder()
    notices: list[Notice] = []
    same: list[Character] = []
    for path in sorted(where.glob("*.json")) if where.is_dir() else []:
        try:
            one = atomic.read_record(path, Character)
        except (StoreFailed, OSError, *strict.UNREADABLE) as error:
            notices.append(Notice(code="character-damaged", text=f"{path}: {error}", advice="remove it"))
            continue
        if channel_key(one.channel) == channel_key(channel):
            same.append(one)
    holds = [one for one in same if not changes(one.channel, channel)]
    if holds:
        return StoredCharacter("known", max(holds, key=lambda one: one.made_ns), tuple(notices))
    if not same:
        return StoredCharacter("absent", None, tuple(notices))
    newest = max(same, key=lambda one: one.made_ns)
    text = (
        f"{channel_key(channel)} was characterised with another {'; another '.join(changes(newest.channel, channel))}"
    )
    advice = "characterise it again: shakedown meter characterise"
    notices.append(Notice(code="character-stale", text=text, advice=advice))
    return StoredCharacter("stale", newest, tuple(notices))


def changes(then: Channel, now: Channel) -> tuple[str, ...]:
    """What differs between the channel as characterised and as it is, in words."""
    return tuple(
        f"{words} ({getattr(then, name) or 'unknown'}, now {getattr(now, name) or 'unknown'})"
        for name, words in _HOLDS_FOR.items()
        if getattr(then, name) != getattr(now, name)
    )
