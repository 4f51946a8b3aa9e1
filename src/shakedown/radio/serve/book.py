"""What was sent of each link, and what of new losses must be: changes, links that come, links that cease. Pure.

A link is two indices of radios, the lower first, in one number: ``first x 65,536 + second``. Usable is a loss up to
``usable_db``; only usable links are in the book. Losses are compared with what was sent last, not with what was found
last: a loss that creeps is sent once it has crept by more than ``above_db``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..wire.losses import Entries, Ids, Losses

#: What a receiver is told of a link whose loss is not known: no radio hears anything through this.
NO_LINK_DB = 300.0
_SHIFT = 16


class Links(NamedTuple):
    """Links by indices of radios, ``first`` below ``second``. NaN: it is none any longer, and its loss is not known."""

    first: Ids
    second: Ids
    loss_db: Losses

    @property
    def total(self) -> int:
        return len(self.first)


class Changes(NamedTuple):
    """What must be sent: ``links``, of which ``ceased`` are none any longer."""

    links: Links
    ceased: np.ndarray[tuple[int], np.dtype[np.bool_]]


class Book:
    """The links that receivers were told of."""

    def __init__(self, above_db: float, usable_db: float) -> None:
        self._above_db = above_db
        self._usable_db = usable_db
        self._keys = np.empty(0, np.int64)
        self._losses = np.empty(0, np.float32)
        self._cursor = 0.0
        # Links that ceased in this turn of all radios, and in the one before: repeated, so that a lost datagram does no
        # harm.
        self._gone = [np.empty(0, np.int64), np.empty(0, np.int64)]

    @property
    def total(self) -> int:
        return len(self._keys)

    def change(self, links: Links, *, whole: bool = False) -> Changes:
        """Enters losses that were found, each link once, and gives what of them must be sent. A loss that is not a finite
        number is not usable. ``whole``: these are all links, found anew; what is not among them is none, and every
        difference is sent."""
        keys = links.first << _SHIFT | links.second
        order = np.argsort(keys, kind="stable")
        keys, loss_db = keys[order], links.loss_db[order]
        if whole:
            gone = np.setdiff1d(self._keys, keys, assume_unique=True)
            keys = np.concatenate((keys, gone))
            loss_db = np.concatenate((loss_db, np.full(len(gone), np.nan, np.float32)))
        at = np.searchsorted(self._keys, keys)
        known = np.zeros(len(keys), np.bool_)
        inside = at < len(self._keys)
        known[inside] = self._keys[at[inside]] == keys[inside]
        before = np.full(len(keys), np.nan, np.float32)
        before[known] = self._losses[at[known]]
        usable = np.isfinite(loss_db) & (loss_db <= self._usable_db)
        with np.errstate(invalid="ignore"):
            moved = known & usable & (np.abs(loss_db - before) > (0.0 if whole else self._above_db))
        fresh, ceased = usable & ~known, known & ~usable
        self._losses[at[moved]] = loss_db[moved]
        self._keys = np.insert(self._keys, at[fresh], keys[fresh])
        self._losses = np.insert(self._losses, at[fresh], loss_db[fresh])
        if ceased.any():
            places = np.searchsorted(self._keys, keys[ceased])
            self._keys, self._losses = np.delete(self._keys, places), np.delete(self._losses, places)
        self._gone[0] = np.union1d(self._gone[0], keys[ceased])
        self._gone = [np.setdiff1d(one, keys[fresh], assume_unique=True) for one in self._gone]
        sent = moved | fresh | ceased
        finite = np.where(np.isfinite(loss_db), loss_db, np.float32(np.nan))
        return Changes(_links(keys[sent], finite[sent]), ceased[sent])

    def whole(self) -> Links:
        """All links, as they were sent last."""
        return _links(self._keys, self._losses.copy())

    def turn(self, radios: int, share: float) -> Entries:
        """What the next ``share`` of all radios hear, by indices, as it was sent last, and what they hear no longer since a
        while: after 1 / share calls everybody had a turn. Who came late, or lost a datagram, is right again then."""
        if share <= 0:
            self._gone = [np.empty(0, np.int64), np.empty(0, np.int64)]
            return entries(_links(self._gone[0], np.empty(0, np.float32)))
        gone = np.union1d(*self._gone)
        keys = np.concatenate((self._keys, gone))
        loss_db = np.concatenate((self._losses, np.full(len(gone), np.nan, np.float32)))
        first = int(self._cursor)
        self._cursor += radios * min(share, 1.0)
        last = min(int(self._cursor), radios)
        if self._cursor >= radios:
            self._cursor = 0.0
            self._gone = [np.empty(0, np.int64), self._gone[0]]
        return entries(_links(keys, loss_db), first, last)


def _links(keys: Ids, loss_db: Losses) -> Links:
    return Links(keys >> _SHIFT, keys & (1 << _SHIFT) - 1, loss_db)


def entries(links: Links, least: int = 0, end: int = 1 << _SHIFT) -> Entries:
    """Links as what each end hears of the other, for the receivers from index ``least`` to before ``end``, by receiver."""
    forth = (links.second >= least) & (links.second < end)
    back = (links.first >= least) & (links.first < end)
    receiver = np.concatenate((links.second[forth], links.first[back]))
    transmitter = np.concatenate((links.first[forth], links.second[back]))
    loss_db = np.concatenate((links.loss_db[forth], links.loss_db[back]))
    order = np.argsort(receiver << _SHIFT | transmitter, kind="stable")
    loss_db = np.where(np.isnan(loss_db), np.float32(NO_LINK_DB), loss_db)
    return Entries(receiver[order], transmitter[order], loss_db[order])
