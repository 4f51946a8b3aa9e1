"""Which groups measure at the same time, round by round.

All groups of a round are disjoint and run at once, so that a round takes as long as one group. Members are drawn at
random and meet as seldom as can be: a slow one makes other groups slow each time, and is what these have in common.
Small groups share few faults; collectives over large ones use more of the fabric. Where switches are known each fourth
round groups the members behind one switch, which tells a slow switch from a slow way out of it.

The first half of the rounds is for all. After it the verdict says which places are in doubt; from then on these stay
apart, each with others that are not. Rounds end when nothing is in doubt, or at 2 log2 of the places.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from ..table import Ints

FEWEST_PLACES = 5
LARGEST = 4
_PER_GROUP = 32  # places for each member of a group: of eight slow ones, few groups then have two
_LOCAL_EACH = 4
_DRAWS = 24  # of a round, the one in which fewest meet again
_COUNTED = 512  # places up to which meetings are counted

Round = list[list[int]]


def group_size(places: int) -> int:
    """Members of a group, from 2 to 4: few enough that most groups have no slow member."""
    return min(LARGEST, max(2, places // _PER_GROUP))


def most_rounds(places: int) -> int:
    """2 log2 of the places, rounded up; of very few places eight, which the fewest groups need."""
    return max(math.ceil(2 * math.log2(max(places, 2))), 8)


def first_rounds(places: int, seed: int, *, size: int = 0, count: int = 0, leaves: Sequence[int] = ()) -> list[Round]:
    """The rounds before anything is known: half of the most, or ``count``. ``leaves``: the switch of each place, -1
    unknown."""
    number = count or math.ceil(most_rounds(places) / 2)
    return _Drawing(places, seed, size or group_size(places), leaves).rounds(0, number)


def next_rounds(
    places: int,
    seed: int,
    done: int,
    count: int,
    *,
    apart: Collection[int] = (),
    size: int = 0,
    leaves: Sequence[int] = (),
) -> list[Round]:
    """Further rounds after ``done``, with the doubtful places ``apart`` in groups of their own."""
    return _Drawing(places, seed, size or group_size(places), leaves, apart).rounds(done, count)


class _Drawing:
    def __init__(self, places: int, seed: int, size: int, leaves: Sequence[int], apart: Collection[int] = ()) -> None:
        self._places, self._size, self._seed = places, size, seed
        self._leaves = np.array(leaves, np.int64) if len(leaves) else np.full(places, -1, np.int64)
        self._apart = sorted(apart)
        self._met = np.zeros((places, places), np.int16) if places <= _COUNTED else None
        self._turns = np.zeros(places, np.int64)

    def rounds(self, begin: int, count: int) -> list[Round]:
        """Those from ``begin`` on; each round's draw follows from the seed and its number."""
        found = []
        for number in range(begin, begin + count):
            rng = np.random.default_rng((self._seed, number))
            local = self._has_leaves() and number % _LOCAL_EACH == _LOCAL_EACH - 1
            draws = [
                self._local(rng) if local else self._across(rng) for _ in range(_DRAWS if self._met is not None else 1)
            ]
            best = min(draws, key=self._meetings)
            self._note(best)
            found.append(best)
        return found

    def _has_leaves(self) -> bool:
        known = self._leaves[self._leaves >= 0]
        counts = np.bincount(known) if len(known) else np.zeros(0)
        return len(counts) > 1 and int((counts >= 2).sum()) >= 1

    def _across(self, rng: np.random.Generator) -> Round:
        """Groups of equal size over all places; who is left over rests, those first that rested least."""
        groups = max(self._places // self._size, 1)
        order = rng.permutation(self._places)
        order = order[np.argsort(self._turns[order], kind="stable")]
        chosen = [int(place) for place in order[: groups * self._size]]
        first = [place for place in self._apart if place in set(chosen)][:groups]
        kept = set(first)
        others = [place for place in rng.permutation(chosen).tolist() if place not in kept]
        members: Round = [[] for _ in range(groups)]
        for index, place in enumerate(first):
            members[index].append(place)
        for group in members:
            while len(group) < self._size:
                group.append(others.pop())
        return [sorted(group) for group in members]

    def _local(self, rng: np.random.Generator) -> Round:
        """Groups behind one switch each."""
        found: Round = []
        for leaf in range(int(self._leaves.max()) + 1):
            mine = rng.permutation(np.flatnonzero(self._leaves == leaf))
            size = min(self._size, len(mine))
            if size >= 2:
                found += [sorted(part.tolist()) for part in _chunks(mine, size)]
        return found

    def _meetings(self, round_: Round) -> int:
        if self._met is None:
            return 0
        return int(sum(self._met[np.ix_(group, group)].sum() for group in round_))

    def _note(self, round_: Round) -> None:
        for group in round_:
            self._turns[group] += 1
            if self._met is not None:
                self._met[np.ix_(group, group)] += 1


def _chunks(places: Ints, size: int) -> list[Ints]:
    return [places[begin : begin + size] for begin in range(0, len(places) - size + 1, size)]
