"""Runs of jobs as rows, settled in a store, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from shakedown.operate.accounting import settle
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.measure import Measure, parse_by
from shakedown.operate.accounting.records import Use

T0 = 1_790_000_000
DAY = 86400


def run(job: int, start: int | None, end: int, **more: Any) -> dict[str, Any]:
    begin = end if start is None else start
    made = {
        "job": str(job), "user": "u", "project": "p", "partition": "x", "submit_s": begin - 60, "eligible_s": begin - 30,
        "start_s": start, "end_s": end, "open": False, "ran_s": 0 if start is None else end - start, "state": "done",
        "cpus": 4, "gpus": 1, "nodes": 1,
    }  # fmt: skip
    if start is None:
        made |= {"cpus": None, "gpus": 0, "nodes": None, "state": "cancelled"}
    return made | more


@contextmanager
def stored(*sources: Iterable[dict[str, Any]]) -> Iterator[Store]:
    with Store(zone="UTC") as store:
        for number, rows in enumerate(sources):
            store.append(iter(list(rows)))
            store.done(f"file{number}", "table", rows=0)
        settle.settle(store)
        yield store


def whole(store: Store, begin_s: int, end_s: int, zone: str = "UTC") -> Use:
    return Measure(store, begin_s, end_s, zone).whole()


def table(store: Store, by: str, begin_s: int, end_s: int, zone: str = "UTC") -> dict[tuple[str, ...], Use]:
    (found,) = Measure(store, begin_s, end_s, zone).tables(parse_by(by))
    return {one.key: one for one in found.rows}
