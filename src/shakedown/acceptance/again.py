"""The plan of an acceptance done again: the earlier one's tests, with what its figures must still reach.

EuroHPC's hosting contracts ask for the benchmarks again every two years, at 90 % or more of the figures at acceptance. So a
limit that is a number or a fraction of a peak becomes a share of the figure then. What compares hosts or metrics of one
session with each other stays, as do limits of 0 (errors), which have no share, tests without a figure, commands, forms and
histories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..errors import BadInput
from . import availability, checking, plan_text
from .baseline import Baseline
from .directory import Acceptance
from .plan import ACCEPTANCE, FLEET_MEDIAN, AcceptancePlan, AvailabilityTest, LimitEntry, RunTest, Test

KEEP = 0.9


def plan(
    acceptance: Acceptance, baseline: Baseline, *, keep: float = KEEP, tests: Sequence[str] = ()
) -> AcceptancePlan:
    """The plan again, with ``keep`` of each figure to be reached; of ``tests`` alone, where any are named.

    Raises BadInput.
    """
    if not 0 < keep <= 1:
        raise BadInput(f"{keep:g} is not a share of the figures", where="--keep", hint="as 0.9 or '90 %'")
    before = acceptance.plan
    for name in tests:
        before.test(name)
    chosen = [one for one in before.tests if not tests or one.id in tests]
    named = {name for one in chosen for name in one.requirements}
    return msgspec.structs.replace(
        before,
        name=before.name if before.name.startswith("again-") else f"again-{before.name}"[:64],
        title=f"{before.title}, done again",
        requirements=tuple(one for one in before.requirements if one.id in named),
        tests=tuple(_test(one, acceptance.path, baseline, keep) for one in chosen),
    )


def text(acceptance: Acceptance, baseline: Baseline, *, keep: float = KEEP, tests: Sequence[str] = ()) -> str:
    """The same as TOML."""
    return plan_text.text(plan(acceptance, baseline, keep=keep, tests=tests))


def _test(test: Test, root: Path, baseline: Baseline, keep: float) -> Test:
    if isinstance(test, AvailabilityTest):
        copy = root / availability.contract_file(test)  # the file that the plan names may be gone by now
        return msgspec.structs.replace(test, contract=str(copy.resolve())) if copy.exists() else test
    if not isinstance(test, RunTest) or checking.waits(test):
        return test
    measured = {one.metric: one.value for one in baseline.figures if one.test == test.id}
    found = [one for limit in test.limits for one in _limits(limit, measured.get(limit.metric), keep)]
    return msgspec.structs.replace(test, limits=_each_once(found))


def _limits(limit: LimitEntry, then: float | None, keep: float) -> tuple[LimitEntry, ...]:
    """What becomes of one limit."""
    if not then or _is_zero(limit.at_most) or limit.of_metric:
        return (limit,)
    share = LimitEntry(
        metric=limit.metric,
        params=limit.params,
        at_least=None if limit.at_least is None else f"{keep * 100:.12g} %",
        at_most=None if limit.at_most is None else f"{100 / keep:.6g} %",
        of=ACCEPTANCE,
        cases=limit.cases,
        source=limit.source if limit.of == ACCEPTANCE else "",
    )
    return (limit, share) if limit.of == FLEET_MEDIAN else (share,)


def _is_zero(given: str | float | None) -> bool:
    """Of a number with or without a unit: ``0``, ``0 GB/s``, ``0%``."""
    return given is not None and re.match(r"[+-]?[0.]+(?:[eE][+-]?\d+)?(?![\d.])", str(given).strip()) is not None


def _each_once(limits: Iterable[LimitEntry]) -> tuple[LimitEntry, ...]:
    found: list[LimitEntry] = []
    for one in limits:
        if one not in found:
            found.append(one)
    return tuple(found)
