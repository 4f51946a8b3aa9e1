"""An update: who moved goes to the engine, losses that changed come back, and are made into what is sent. No clock, no
socket: it works in a thread of its own, since an update may take longer than the others can wait."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..engine import Pairs, Placed, Standing
from ..scene import LAST_ID
from ..terrain import Terrain
from ..wire import eel, lines
from ..wire.losses import Datagram, Entries, Ids, Losses, Packer
from .book import Book, Changes, Links, entries
from .radios import AltitudesAbove, Floats, Moves, heights

#: Radios that can come before all pairs must be found again: so many, and an eighth of those that are there.
_LEAST_ROOM = 16


class LossEngine(Protocol):
    """What is needed of ``radio.engine.Engine``."""

    def place(self, latitude_deg: Floats, longitude_deg: Floats, height_m: Floats) -> Placed: ...
    def move(self, index: Ids, latitude_deg: Floats, longitude_deg: Floats, height_m: Floats) -> Placed: ...
    def changes(self, above_db: float, below_db: float) -> Pairs: ...


class Settings(NamedTuple):
    """Of every update. ``refresh_share``: of all radios, who get all that they hear again with each update."""

    above_db: float
    usable_db: float
    antenna_m: float = 2.0
    altitudes_above: AltitudesAbove = "sea"
    refresh_share: float = 0.0
    emane: bool = True  # what is made of it: datagrams, lines of JSON, sentences of EEL
    json: bool = False
    eel: bool = False


class Job(NamedTuple):
    """An update that is due: who moved until ``time_s``, counted from the begin. ``whole``: some reader needs all links."""

    number: int
    time_s: float
    moves: Moves
    whole: bool = False


class Update(NamedTuple):
    """What came of it. ``not_known``: radios that have no loss to anywhere, by their Standing. ``entries`` are what the
    datagrams hold, of which ``refreshed`` were sent before."""

    number: int
    moved: int
    radios: int
    not_known: dict[str, int]
    raised: int
    changed: int
    ceased: int
    links: int
    entries: int
    refreshed: int
    datagrams: list[Datagram]
    lines: list[bytes]
    whole: list[bytes] | None
    sentences: list[str]


class Updater:
    """Keeps where all radios are, and the book of what was sent."""

    def __init__(self, engine: LossEngine, terrain: Terrain, settings: Settings, packer: Packer) -> None:
        self._engine = engine
        self._terrain = terrain
        self._settings = settings
        self._packer = packer
        self._book = Book(settings.above_db, settings.usable_db)
        self._places = np.empty((3, 0))
        self._standing = np.empty(0, np.uint8)

    def update(self, job: Job) -> Update:
        """Raises what the engine raises."""
        settings, moves = self._settings, job.moves
        raised, whole = self._move(moves) if len(moves.which) else (0, False)
        if len(moves.which):
            first, second, loss_db = self._engine.changes(settings.above_db, settings.usable_db)
            found = Links(first.astype(np.int64), second.astype(np.int64), loss_db.astype(np.float32))
            changes = self._book.change(found, whole=whole)
        else:
            nothing = np.empty(0, np.int64)
            changes = Changes(Links(nothing, nothing, nothing.astype(np.float32)), nothing.astype(np.bool_))
        sent = _by_id(entries(changes.links), moves.ids)
        again = _by_id(self._book.turn(len(moves.ids), settings.refresh_share), moves.ids)
        changed_lines, whole_lines = self._lines(job, changes)
        return Update(
            number=job.number,
            moved=len(moves.which),
            radios=len(moves.ids),
            not_known=_causes(self._standing),
            raised=raised,
            changed=changes.links.total,
            ceased=int(changes.ceased.sum()),
            links=self._book.total,
            entries=sent.total + again.total,
            refreshed=again.total,
            datagrams=self._packer.pack(sent) + self._packer.pack(again) if settings.emane else [],
            lines=changed_lines,
            whole=whole_lines,
            sentences=self._sentences(job, changes),
        )

    def _move(self, moves: Moves) -> tuple[int, bool]:
        """How many antennas were below the least height, and whether the engine was given all radios anew: only then does a
        new radio cost the losses of all pairs. Places are kept for some that are still to come, nowhere until then."""
        found = heights(moves, self._terrain, self._settings.antenna_m, self._settings.altitudes_above)
        count, room = len(moves.ids), self._places.shape[1]
        whole = count > room
        if whole:
            more = min(count + max(_LEAST_ROOM, count // 8), LAST_ID) - room
            self._places = np.pad(self._places, ((0, 0), (0, more)), constant_values=np.nan)
        self._standing = np.pad(self._standing, (0, count - len(self._standing)))
        self._places[:, moves.which] = moves.latitude_deg, moves.longitude_deg, found.height_m
        if whole:
            self._standing[:] = self._engine.place(*self._places).standing[:count]
        else:
            placed = self._engine.move(moves.which, moves.latitude_deg, moves.longitude_deg, found.height_m)
            self._standing[moves.which] = placed.standing
        return int(found.raised.sum()), whole

    def _lines(self, job: Job, changes: Changes) -> tuple[list[bytes], list[bytes] | None]:
        if not self._settings.json:
            return [], None
        none_left = np.where(changes.ceased, np.float32(np.nan), changes.links.loss_db)
        first, second, loss_db = _ordered(changes.links._replace(loss_db=none_left), job.moves.ids)
        changed = lines.write_losses(job.time_s, job.number, first, second, loss_db, whole=False)
        if not job.whole:
            return changed, None
        everything = _ordered(self._book.whole(), job.moves.ids)
        return changed, lines.write_losses(job.time_s, job.number, *everything, whole=True)

    def _sentences(self, job: Job, changes: Changes) -> list[str]:
        if not self._settings.eel:
            return []
        return eel.write_losses(job.time_s, *_ordered(entries_once(changes.links), job.moves.ids))


def _causes(standing: NDArray[np.uint8]) -> dict[str, int]:
    """How many radios have no loss, by what became of their place."""
    counts = Counter(standing[standing != Standing.KNOWN].tolist())
    return {Standing(one).words: count for one, count in sorted(counts.items())}


def entries_once(links: Links) -> Links:
    """Links with a loss each: those that are none any longer have NO_LINK_DB."""
    once = entries(links)
    kept = once.transmitter < once.receiver
    return Links(once.transmitter[kept], once.receiver[kept], once.loss_db[kept])


def _by_id(found: Entries, ids: Ids) -> Entries:
    """Entries by ids instead of indices, those of a receiver together."""
    receiver = ids[found.receiver]
    order = np.argsort(receiver, kind="stable")
    return Entries(receiver[order], ids[found.transmitter][order], found.loss_db[order])


def _ordered(links: Links, ids: Ids) -> tuple[Ids, Ids, Losses]:
    """Links by ids, the lower first, in the order of ids."""
    one, other = ids[links.first], ids[links.second]
    first, second = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((second, first))
    return first[order], second[order], links.loss_db[order]
