"""How near results came to the limits of their checks: of each kernel the worst case, counted as the cases go by. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ..records import Case, Check, Outcome, Residual


class Tally:
    """The worst check of each kernel of one measurement."""

    def __init__(self) -> None:
        self._worst: dict[str, tuple[float, Case]] = {}
        self._cases: dict[str, int] = {}

    def add(self, case: Case) -> None:
        """One more case; what has no check is not counted."""
        if case.residual is None:
            return
        self._cases[case.kernel] = self._cases.get(case.kernel, 0) + 1
        share = share_of(case.residual)
        held = self._worst.get(case.kernel)
        if held is None or share > held[0]:
            self._worst[case.kernel] = share, case

    def checks(self, workload: str, host: str) -> tuple[Check, ...]:
        """Of each kernel the worst, on the host that its case names, else on ``host``."""
        return tuple(
            Check(
                workload=workload,
                kernel=kernel,
                host=str(case.params.get("host", host)),
                params={name: value for name, value in case.params.items() if name != "host"},
                value=case.residual.value,
                limit=case.residual.limit,
                kind=case.residual.kind,
                cases=self._cases[kernel],
            )
            for kernel, (_, case) in self._worst.items()
            if case.residual is not None
        )


def share_of(check: Residual | Check) -> float:
    """The value over its limit: 1 is the limit. What must be exact and is, is 0; what is not a number is infinite."""
    if check.value is None or math.isnan(check.value):
        return math.inf
    if check.limit > 0:
        return check.value / check.limit
    return 0.0 if check.value <= check.limit else math.inf


def worst_of(outcomes: Iterable[Outcome]) -> tuple[Check, ...]:
    """Of each workload and kernel the worst over all runs, with the cases of all counted."""
    worst: dict[tuple[str, str], Check] = {}
    for one in (check for outcome in outcomes for check in outcome.checks):
        key = (one.workload, one.kernel)
        held = worst.setdefault(key, msgspec.structs.replace(one, cases=0))
        shown = one if share_of(one) > share_of(held) else held
        worst[key] = msgspec.structs.replace(shown, cases=held.cases + one.cases)
    return tuple(worst.values())


def words(check: Residual | Check) -> str:
    """``0.184 of 1 allowed``; of what must be exact, how much of it is not."""
    value = "not a number" if check.value is None or math.isnan(check.value) else f"{check.value:.3g}"
    return f"{value} of {check.limit:.3g} allowed"
