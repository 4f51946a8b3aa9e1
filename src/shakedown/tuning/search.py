"""The search: which run comes next, given all that came before. It starts nothing and reads no clock.

``search`` is a generator: it yields a Request and is sent the Trial, or None where the budget does not allow the run.
The same trials lead to the same requests, so a search that was interrupted is continued by answering its first requests
from the journal. Its stages:

    calibrate    one run of the rule of thumb; the model takes its rates from it
    foundation   BLAS libraries and bindings, on top of it
    hosts        every host its own system at once: how alike are they (several hosts only)
    screen       the model ranks all layouts x grids x mappings x NB: those near its best, and the best with each value
    halving      these race: rounds in which each runs once, in an order turned round from one round to the next; after
                 each round at most half go on, and none that is clearly behind
    secondary    every other parameter, one at a time against the leader, in one round
    improve      what surrogate.py expects to be faster than the leader, in rounds with it, until nothing is
    final        the best two (three where whole runs are short), whole, round by round until they are told apart
    sizes        the chosen one at smaller N
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterable, Sequence

from . import space as spaces
from .history import DISTURBED, Problem, TrialHistory
from .records import Kind, Point, Request, Trial, name_of

Search = Generator[Request, Trial | None, TrialHistory]
Racing = Generator[Request, Trial | None, list[Point]]

FEW = 12  # so many layouts x grids x mappings x NB are all raced
SHORTLIST = 12
NEAR = math.log(1.05)  # of the model's best: raced
LEVEL_NEAR = math.log(1.25)  # the best with one value of a parameter: raced if no further behind
BEHIND = 0.02  # a loser: so far behind, and surely so
SURE = 2.0  # standard errors
FAR = 3.0  # a loser whatever the distance: so many standard errors behind
GAIN = 0.003  # expected of the most promising configuration: below it the search has come to its end
BATCH = 4  # configurations beside the leader in a round
MUST = 6  # of them at most must be run
IMPROVE_ROUNDS = 7
FINAL_ROUNDS = (2, 4)
SAME = 0.005  # final candidates surely nearer than this need no telling apart
SIZES = (0.25, 0.5, 0.75)
RETRIES = 2  # of a run that others disturbed
BUSY = 6  # unless most of so many runs were
RESERVED_RUNS = 4
RESERVED_SHARE = 0.4


def search(problem: Problem) -> Search:
    """Everything in order; returns what is known at the end. See the module's docstring."""
    known = TrialHistory(problem)
    space = problem.space
    leader = spaces.canonical(space, space.defaults)
    yield from _ask(known, [leader], stage="calibrate", block="calibrate")
    known.learn()
    leader = yield from _foundation(known, leader)
    if space.hosts > 1:
        yield from _ask(known, [leader], stage="hosts", block="hosts", kind="hosts")
    leaders = yield from _race(known, shortlist(known, leader), stage="halving", rounds=3, keep=2, coarse=True)
    leader = leaders[0] if leaders else leader
    yield from _secondary(known, leader)
    leader = yield from _improve(known, leader)
    leader = yield from _final(known, leader)
    if problem.sizes and not known.failed(leader):
        yield from _sizes(known, leader)
    return known


def level_of(problem: Problem) -> str:
    """The level at which configurations are compared before the final."""
    shares = problem.windows.shares if problem.windows else ()
    return _level(problem, "windows" if shares else "whole", shares)


def whole_level(problem: Problem) -> str:
    """The level of whole runs at n."""
    return _level(problem, "whole", ())


def _level(problem: Problem, kind: Kind, shares: Sequence[float]) -> str:
    return Request(
        point={}, n=problem.n, kind=kind, shares=tuple(shares), stage="", block="", estimate_s=0, cap_s=0
    ).level


# -------------------------------------------------------------------------------------------------------------- asking


def _ask(
    known: TrialHistory,
    points: Iterable[Point],
    *,
    stage: str,
    block: str,
    kind: Kind | None = None,
    shares: Sequence[float] | None = None,
    n: int | None = None,
) -> Generator[Request, Trial | None, bool]:
    """Run each configuration once, in this order. False where the budget ended it."""
    problem = known.problem
    windows = problem.windows
    kind = kind or ("windows" if windows else "whole")
    if shares is None:
        shares = windows.shares if windows and kind == "windows" else ()
    reserve_s = 0.0 if stage in ("calibrate", "final", "sizes") else reserve(known)
    known.refused = False
    for point in points:
        request = known.request(point, kind, stage=stage, block=block, n=n, shares=shares, reserve_s=reserve_s)
        for _ in range(1 + RETRIES):
            trial = yield request
            if trial is None:
                known.refused = True
                return False
            known.add(trial)
            if trial.disturbed <= DISTURBED or _busy(known):
                break
            request = known.request(point, kind, stage=stage, block=block, n=n, shares=shares, reserve_s=reserve_s)
    return True


def _busy(known: TrialHistory) -> bool:
    """Whether the machine is disturbed all the time: then runs are not made again for it."""
    last = known.trials[-BUSY:]
    return len(last) == BUSY and sum(trial.disturbed > DISTURBED for trial in last) > BUSY // 2


def reserve(known: TrialHistory) -> float:
    """Seconds that are kept for the final: its least rounds of whole runs, at most a part of the budget."""
    if known.problem.budget_s is None or not known.trials:
        return 0.0
    one_s = min(known.cost_s(trial.point, "whole", known.problem.n) for trial in known.trials[-8:])
    return min(RESERVED_RUNS * one_s, RESERVED_SHARE * known.problem.budget_s)


def _order(known: TrialHistory, points: Sequence[Point], stage: str, turn: int) -> list[Point]:
    """Shuffled, and every second time the last order turned round: what drifts evenly cancels over two rounds."""

    def place(point: Point) -> float:
        return random.Random(f"{known.problem.seed} {stage} {turn // 2} {name_of(point)}").random()

    return sorted(points, key=place, reverse=turn % 2 == 1)


def _race(
    known: TrialHistory,
    points: Sequence[Point],
    *,
    stage: str,
    rounds: int,
    keep: int = 1,
    pinned: Sequence[Point] = (),
    halve: bool = True,
    coarse: bool = False,
) -> Racing:
    """Successive halving in rounds; returns those that are left, the fastest first.

    ``coarse``: where windows are used, the first round takes one window only.
    """
    windows = known.problem.windows
    alive = known.usable(points)
    level = level_of(known.problem)
    for turn in range(rounds):
        shares = None
        if coarse and windows and turn == 0 and len(windows.shares) > 2 and len(alive) > keep:
            shares = windows.shares[1:2]
        asked = _order(known, alive, stage, turn)
        whole = yield from _each(known, asked, stage=stage, block=f"{stage}-{turn + 1}", shares=shares)
        at = level if shares is None else _level(known.problem, "windows", shares)
        most = max(keep, min(math.ceil(len(alive) / 2), SHORTLIST // 2)) if halve and whole else len(alive)
        alive = survivors(known, alive, at, most=most, pinned=pinned)
        if not whole or len(alive) <= max(1, len(pinned)):
            break
    return known.ranked(level, alive) or alive


def _each(
    known: TrialHistory, points: Sequence[Point], *, stage: str, block: str, shares: Sequence[float] | None
) -> Generator[Request, Trial | None, bool]:
    """One run of each that is still worth it; False where the budget ended the round."""
    for point in points:
        if known.suspect(point):
            continue
        done = yield from _ask(known, [point], stage=stage, block=block, shares=shares)
        if not done:
            return False
    return True


def survivors(
    known: TrialHistory, points: Sequence[Point], level: str, *, most: int, pinned: Sequence[Point] = ()
) -> list[Point]:
    """Who goes on, the fastest first: of those that were measured and did not fail, the ``most`` fastest that are not
    surely behind; ``pinned`` always."""
    usable = known.usable(points)
    found = known.compared(level, usable)
    if found is None:
        return usable
    order = found.order()
    kept: list[Point] = []
    for name in order:
        behind, error = found.difference(name, order[0])
        loses = behind > max(BEHIND, SURE * error) or behind > FAR * error > 0
        if known.point(name) in pinned or (not loses and len(kept) < most):
            kept.append(known.point(name))
    return kept


# -------------------------------------------------------------------------------------------------------------- stages


def _foundation(known: TrialHistory, leader: Point) -> Generator[Request, Trial | None, Point]:
    others = [point for _, _, point in spaces.alternatives(known.problem.space, leader, spaces.FOUNDATION)]
    if not others:
        return leader
    ranked = yield from _race(known, [leader, *others], stage="foundation", rounds=2)
    known.learn()
    return ranked[0] if ranked else leader


def shortlist(known: TrialHistory, base: Point) -> list[Point]:
    """What the model thinks worth racing: the rule of thumb, its best, the best with each layout, then by its order
    those near its best and the best with each other value."""
    every = known.usable(spaces.combinations(known.problem.space, spaces.PRIMARY, base))
    if len(every) <= FEW:
        return every
    mean = known.guess(every, level_of(known.problem)).mean
    order = fastest(mean)
    behind = {index: float(mean[index] - mean[order[0]]) for index in order}
    near = {index for index in order if behind[index] <= NEAR}
    near |= {index for axis in spaces.PRIMARY if axis in base for index in _firsts(every, order, axis)}
    wanted = dict.fromkeys([order[0], *_firsts(every, order, "layout"), *(index for index in order if index in near)])
    ranked = [every[index] for index in wanted if every[index] != base and behind[index] <= LEVEL_NEAR]
    return ([] if known.failed(base) else [base]) + ranked[: SHORTLIST - 1]


def _secondary(known: TrialHistory, leader: Point) -> Generator[Request, Trial | None, None]:
    """Each other parameter alone against the leader, in two shared rounds: one run would not show that it was disturbed."""
    star = [point for _, _, point in spaces.alternatives(known.problem.space, leader, spaces.SECONDARY)]
    if star and not known.refused:
        yield from _race(known, [leader, *star], stage="secondary", rounds=2, pinned=star, halve=False)


def _improve(known: TrialHistory, leader: Point) -> Generator[Request, Trial | None, Point]:
    """Rounds of the leader and those most likely to be faster, whatever their parameters, until none is expected to
    gain and its neighbours have been run."""
    from .surrogate import batch, expected_gain

    level = level_of(known.problem)
    for turn in range(IMPROVE_ROUNDS):
        points = known.usable(_contenders(known, leader, level))
        ranked = known.ranked(level, points)
        if known.refused or len(points) < 2 or not ranked:
            break
        guess = known.guess(points, level)
        measured = {name_of(point) for point in ranked}
        lead = next(index for index in fastest(guess.mean) if name_of(points[index]) in measured)
        leader = points[lead]
        must = _neighbours(known, leader, points, guess.mean, measured)
        if not must and expected_gain(guess, lead) < GAIN:
            break
        chosen = batch(guess, lead, max(BATCH, len(must)), known.noise(level), must)
        asked = _order(known, [leader, *(points[index] for index in chosen)], "improve", turn)
        yield from _each(known, asked, stage="improve", block=f"improve-{turn + 1}", shares=None)
    return leader


def fastest(mean: Sequence[float]) -> list[int]:
    """Indices of the expected times, the least first."""
    return sorted(range(len(mean)), key=lambda index: float(mean[index]))


def _neighbours(
    known: TrialHistory, leader: Point, points: Sequence[Point], mean: Sequence[float], measured: set[str]
) -> list[int]:
    """Of the leader's nearest alternatives, which must be run before it is believed, those that were not: NB one step
    to each side, and where they may be near the best that is expected of each other layout and grid, and the leader
    itself on each."""
    space = known.problem.space
    place = {name_of(point): index for index, point in enumerate(points)}
    order = fastest(mean)
    sizes = sorted(int(value) for value in space.axes["nb"])
    at = sizes.index(int(leader["nb"]))
    beside = [spaces.changed(space, leader, nb=sizes[i]) for i in (at - 1, at + 1) if 0 <= i < len(sizes)]
    shapes = [points[index] for axis in ("layout", "grid") for index in _firsts(points, order, axis)]
    shapes += spaces.combinations(space, ("layout", "grid"), leader)
    bound = mean[place[name_of(leader)]] + NEAR
    near = [point for point in shapes if name_of(point) in place and mean[place[name_of(point)]] < bound]
    found = dict.fromkeys(place[name_of(point)] for point in (*beside, *near) if name_of(point) in place)
    new = [index for index in found if name_of(points[index]) not in measured]
    return sorted(new, key=lambda index: float(mean[index]))[:MUST]


def _firsts(points: Sequence[Point], order: Sequence[int], axis: str) -> list[int]:
    """The fastest expected of each value of an axis, in that order."""
    found = {points[index][axis]: index for index in reversed(order)}
    return [index for index in order if found.get(points[index][axis]) == index]


def _contenders(known: TrialHistory, leader: Point, level: str) -> Iterable[Point]:
    """What may be run next: all that was, the leader with one or two parameters changed, and all layouts, grids,
    mappings and NB with its other parameters."""
    space = known.problem.space
    yield leader
    yield from known.ranked(level)
    singles = [point for _, _, point in spaces.alternatives(space, leader, spaces.AXES)]
    yield from singles
    for single in singles:
        yield from (point for _, _, point in spaces.alternatives(space, single, spaces.AXES))
    yield from spaces.combinations(space, spaces.PRIMARY, leader)


def _final(known: TrialHistory, leader: Point) -> Generator[Request, Trial | None, Point]:
    """The best few as whole runs, in rounds, until they are told apart or surely alike."""
    problem = known.problem
    ranked = _guessed(known, known.ranked(level_of(problem)))
    chosen = ranked[: 2 if problem.windows else 3] or [leader]
    level = whole_level(problem)
    for turn in range(FINAL_ROUNDS[1]):
        alive = known.usable(chosen)
        asked = _order(known, alive, "final", turn)
        whole = yield from _ask(known, asked, stage="final", block=f"final-{turn + 1}", kind="whole", shares=())
        found = known.compared(level, chosen)
        if not whole or found is None:
            break
        if turn + 1 >= FINAL_ROUNDS[0]:
            chosen = survivors(known, chosen, level, most=len(chosen))
            if len(chosen) < 2 or _settled(known, chosen, level):
                break
    return best(known) or leader


def _settled(known: TrialHistory, points: Sequence[Point], level: str) -> bool:
    """Whether the first two are told apart, or surely as good as each other."""
    found = known.compared(level, points)
    if found is None or len(found.items) < 2:
        return True
    first, second = found.order()[:2]
    slower = found.interval(second, first)
    return slower.low > 0 or (abs(slower.low) < 2 * SAME and abs(slower.high) < 2 * SAME)


def best(known: TrialHistory) -> Point | None:
    """The chosen configuration: the fastest of those that ran whole in the final, else of all whole, else of windows."""
    problem = known.problem
    finalists = [trial.point for trial in known.trials if trial.stage == "final"]
    if problem.windows is None and len({name_of(point) for point in finalists}) < 2:  # cut short: no final took place
        finalists = [trial.point for trial in known.trials]
    for level, points in ((whole_level(problem), finalists or None), (level_of(problem), None)):
        ranked = known.ranked(level, known.usable(points) if points is not None else None)
        if ranked:
            return _guessed(known, ranked, level)[0]
    return None


def _guessed(known: TrialHistory, points: Sequence[Point], level: str | None = None) -> list[Point]:
    """Configurations that were run, the fastest first by all that is known of them and their like."""
    if len(points) < 2:
        return list(points)
    guess = known.guess(points, level or level_of(known.problem))
    return [points[index] for index in fastest(guess.mean)]


def _sizes(known: TrialHistory, leader: Point) -> Generator[Request, Trial | None, None]:
    """The chosen configuration at smaller N, one run each, the smallest first."""
    nb = int(leader["nb"])
    for share in SIZES:
        n = int(known.problem.n * share) // nb * nb
        if n >= 4 * nb:
            done = yield from _ask(known, [leader], stage="sizes", block="sizes", kind="whole", shares=(), n=n)
            if not done:
                return
