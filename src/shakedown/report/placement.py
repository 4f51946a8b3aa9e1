"""What ``shakedown placement`` says: symptoms with their evidence and next step, what is not known, the price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..document.text import count, listed

if TYPE_CHECKING:
    from ..placement.price import Factor
    from ..placement.records import Diagnosis

_TITLES = {
    "shared-cpu": "ranks on one CPU",
    "oversubscribed": "more busy threads than CPUs",
    "crowded-rank": "a rank with too few CPUs",
    "shared-core": "ranks on one core",
    "migrating": "migration",
    "remote-memory": "remote memory",
    "throttled": "limit of a control group",
    "disturbed": "disturbed",
    "aliasing": "instruction cache",
    "overlapping-masks": "masks",
    "unbound": "masks",
    "ended-badly": "ended badly",
    "no-record": "no record",
    "no-ranks": "no ranks",
    "other-mpi": "another MPI",
    "no-mpi": "no MPI seen",
    "binds-itself": "binds itself",
}


def title(found: Diagnosis) -> str:
    """``4 ranks on 1 host, started by Open MPI: 2 things are wrong with their placement``."""
    by = f", started by {found.launcher}" if found.launcher else ""
    wrong = sum(one.wrong for one in found.symptoms)
    said = f"{count(wrong, 'thing is', 'things are')} wrong" if wrong else "nothing is wrong that was looked for"
    return f"{count(found.ranks, 'rank')} on {listed(found.hosts)}{by}: {said}"


def lines(found: Diagnosis) -> Iterator[tuple[str, str]]:
    """Each sentence, and what it is folded behind."""
    previous = ""
    for one in found.symptoms:
        yield f"{'' if one.wrong else 'note: '}{_TITLES[one.kind]}: {one.text}", "  "
        if one.advice != previous:
            yield f"next: {one.advice}", "    "
        previous = one.advice
    for gap in found.unknown:
        yield f"not known: {gap.what}: {gap.why}", "  "


_VERDICTS = {
    "costs": "as launched it is slower",
    "pays": "as launched it is faster",
    "not distinguished": "no difference that is more than chance",
    "too few rounds": "fewer than 6 rounds ended: no interval",
    "did not end": "it did not end within the limit under this arrangement",
}


def factor_words(one: Factor) -> str:
    """``x 1.98 [1.91, 2.04] of 9 rounds``."""
    if one.factor is None:
        return "-"
    if one.low is None:
        return f"x {one.factor:.3g}"
    if one.high is None:
        return f"at least x {one.low:.3g}"
    return f"x {one.factor:.3g} [{one.low:.3g}, {one.high:.3g}]"


def price_rows(found: tuple[Factor, ...]) -> list[tuple[str, str, str, str, str]]:
    """Arrangement, its median, the factor, rounds, and what that means."""
    return [
        (
            one.arrangement,
            "-" if one.median_s is None else f"{one.median_s:.3g} s",
            factor_words(one),
            str(one.rounds),
            _VERDICTS[one.verdict],
        )
        for one in found
    ]
