"""The figures of an earlier acceptance, which another is held against: sealed in the new one's directory, so that it
stands by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..errors import BadInput
from ..files import atomic
from ..records import Params, Record
from .journal import Begun, Tampered
from .plan import ACCEPTANCE, AcceptancePlan, RunTest
from .results import Before, State

FILE = "against.json"


class Figure(Record, frozen=True, kw_only=True):
    """One value with its interval, in SI units."""

    test: str
    metric: str
    params: Params
    host: str
    value: float
    low: float
    high: float
    unit: str
    state: State  # of the attempt that it is from
    time_ns: int


class Baseline(Record, frozen=True, kw_only=True):
    """An earlier acceptance as another needs it."""

    about: Before
    figures: tuple[Figure, ...]


def keep(root: Path, baseline: Baseline) -> Path:
    """Write the figures into a new acceptance's directory; the file, for its seal. Raises StoreFailed."""
    atomic.write_record(root / FILE, baseline)
    return root / FILE


def read(root: Path, begun: Begun) -> Baseline | None:
    """The figures that an acceptance is held against; None where it was not begun against another. Raises Tampered where
    they are not as they were sealed, StoreFailed."""
    if not begun.against:
        return None
    path = root / FILE
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise atomic.failed(error, path, "read the figures of the earlier acceptance") from None
    if found not in {one.sha256 for one in begun.files if one.path == FILE}:
        raise Tampered(
            "the figures of the earlier acceptance were changed after this one began",
            where=str(path),
            hint="restore the file from a copy",
        )
    return atomic.read_record(path, Baseline)


def refuse_without_earlier(plan: AcceptancePlan, earlier: Baseline | None) -> None:
    """Raises BadInput where a plan has limits on the figures of an earlier acceptance, and none was named."""
    asking = [
        one for one in plan.tests if isinstance(one, RunTest) and any(limit.of == ACCEPTANCE for limit in one.limits)
    ]
    if asking and earlier is None:
        raise BadInput(
            "its limits are of an earlier acceptance, and none was named",
            where=f'test "{asking[0].id}" ({plan.clauses(asking[0])})',
            hint="shakedown accept begin PLAN --against DIR",
        )
