"""What jobs add up to inside a window: known totals, and what must not change them."""

from __future__ import annotations

import datetime
import random
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import LocalHost
from shakedown.operate.accounting import page, report, simulate, zones
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.measure import Measure, parse_by
from shakedown.operate.accounting.records import Use
from shakedown.schedulers.common.slurm_rows import state_of
from support.job_runs import DAY, T0, run, stored, table, whole

HOUR = 3600
ADDITIVE = ("ended", "started", "cpu_s", "gpu_s", "node_s", "energy_j", "failed", "never_started")


# ---------------------------------------------------------------------------------------------------------- known totals


def test_a_cluster_that_was_made_up_has_the_totals_it_was_made_with(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    known = simulate.write(path, 10_000, seed=3)
    asked = report.ReportOptions(
        sources=(str(path),),
        begin="2026-10",
        end="2026-11",
        zone=known.zone,
        by="user,project,partition,state,day,size",
    )
    with Store(zone=known.zone, lean=True) as store:
        report.load(store, asked, LocalHost())
        told = report.make(store, asked, LocalHost())
    assert (told.begin_s, told.end_s) == (known.begin_s, known.end_s)
    assert told.end_s - told.begin_s == 31 * DAY + HOUR  # the clocks went back
    assert (told.whole.jobs, told.whole.never_started) == (known.jobs, known.never)
    assert (told.sources[0].mended, told.sources[0].lost) == (known.broken, 0) and known.broken > 3
    assert known.twice and known.steps

    def same(one: Use, other: simulate.Sum) -> None:
        for name in ("runs", "cpu_s", "gpu_s", "node_s", "energy_j"):
            assert (getattr(one, name) or 0) == getattr(other, name), (one.key, name)

    same(told.whole, known.whole)
    for one in told.tables[:5]:
        truth = {
            state_of(key) if one.by == ("state",) else key: of for key, of in known.by[one.by[0]].items() if of.runs
        }
        rows = {row.key[0]: row for row in one.rows if row.runs}
        assert set(rows) == set(truth)
        for key, row in rows.items():
            same(row, truth[key])


def test_a_run_that_crosses_an_edge_counts_with_the_part_inside_and_says_so() -> None:
    rows = [run(1, T0 - HOUR, T0 + 3 * HOUR, energy_j=4000), run(2, T0 - HOUR, T0), run(3, T0 + DAY, T0 + DAY + 1)]
    with stored(rows) as store:
        one = whole(store, T0, T0 + DAY)
        told = report.make(store, report.ReportOptions(begin=str(T0), end=str(T0 + DAY)), LocalHost())
    assert (one.jobs, one.cpu_s, one.gpu_s, one.node_s, one.energy_j) == (1, 12 * HOUR, 3 * HOUR, 3 * HOUR, 3000)
    assert (one.started, one.ended) == (0, 1)
    assert told.across == 1 and "cut" in {note.code for note in told.notices}


def test_a_suspended_run_is_spread_over_its_span_in_whole_seconds() -> None:
    with stored([run(1, T0, T0 + 1000, ran_s=333)]) as store:
        parts = [whole(store, T0 + at, T0 + at + 100).cpu_s for at in range(0, 1000, 100)]
        assert sum(one or 0 for one in parts) == 4 * 333
        assert max(one or 0 for one in parts) - min(one or 0 for one in parts) <= 4


def test_waits_are_from_when_a_job_was_eligible_and_of_what_started_inside() -> None:
    rows = [run(at, T0 + at, T0 + 1000 + at, eligible_s=T0 + at - wait) for at, wait in enumerate((1, 5, 9, 100))]
    rows += [run(9, T0 - 10, T0 + 500, eligible_s=T0 - 9999), run(10, T0 + 50, T0 + 60, eligible_s=T0 + 70)]
    with stored(rows) as store:
        one = whole(store, T0, T0 + DAY)
    assert (one.wait_median_s, one.wait_90_s) == (
        5,
        100,
    )  # 0, 1, 5, 9, 100: what starts before it is eligible has not waited
    assert one.expansion == pytest.approx(1 + (1 + 5 + 9 + 100 + 0) / (4 * 1000 + 10))


def test_efficiencies_say_of_how_much_they_are() -> None:
    rows = [
        run(1, T0, T0 + 100, cpu_used_ms=200_000, memory_asked_bytes=100, memory_used_bytes=25, limit_s=400),
        run(2, T0, T0 + 300),
    ]
    with stored(rows) as store:
        one = whole(store, T0, T0 + DAY)
    assert (one.cpu_efficiency, one.cpu_seen) == (0.5, 0.25)
    assert (one.memory_efficiency, one.memory_seen) == (0.25, 0.25)
    assert one.limit_efficiency == 0.25
    with stored([run(1, T0, T0 + 100)]) as store:
        one = whole(store, T0, T0 + DAY)
    assert one.cpu_efficiency is None and one.memory_efficiency is None and one.energy_j is None


def test_failures_are_shares_of_the_runs_whose_end_is_recorded() -> None:
    states = ("done", "failed", "oom", "timeout", "node_fail", "cancelled", "preempted", "unknown")
    with stored([run(at, T0, T0 + 10, state=state) for at, state in enumerate(states)]) as store:
        one = whole(store, T0, T0 + DAY)
    assert (one.ended, one.judged, one.failed, one.failed_cpu_s) == (8, 7, 4, 160)


def test_what_the_engine_did_not_record_is_none_and_what_to_do_is_said() -> None:
    rows = [run(1, T0, T0 + 100, gpus=None, nodes=None), run(2, T0, T0 + 100, gpus=None, cpus=None)]
    with stored(rows) as store:
        told = report.make(store, report.ReportOptions(begin=str(T0), end=str(T0 + DAY)), LocalHost())
    assert told.whole.gpu_s is None and told.whole.energy_j is None
    assert (told.whole.cpu_s, told.whole.node_s, told.whole.runs_without_cpus) == (400, 100, 1)
    notes = {note.code: note for note in told.notices}
    assert "not zero" in notes["gpus-not-recorded"].text and notes["gpus-not-recorded"].advice
    assert "1 runs" in notes["cpus-not-recorded"].text
    assert "GPU hours are not recorded" in " ".join(page.lead(told))


def test_types_of_gpus_stand_apart() -> None:
    rows = [
        run(1, T0, T0 + 10, gpu_type="a100"),
        run(2, T0, T0 + 10, gpus=2, gpu_type="h200"),
        run(3, T0, T0 + 5, gpus=0),
    ]
    with stored(rows) as store:
        assert whole(store, T0, T0 + DAY).gpu_s_of_type == {"a100": 10, "h200": 20}


def test_a_requeued_job_is_one_and_its_runs_are_all_used() -> None:
    rows = [
        run(1, T0, T0 + 100, state="node_fail"),
        run(1, T0 + 200, T0 + 300, submit_s=T0 + 100),
        run(2, T0, T0 + 50),
    ]
    with stored(rows) as store:
        one = whole(store, T0, T0 + DAY)
        assert (one.jobs, one.runs, one.cpu_s) == (2, 3, 4 * 250)
        assert whole(store, T0 + 150, T0 + DAY).jobs == 1  # its earlier run lies before
        assert table(store, "state", T0, T0 + DAY)[("node_fail",)].runs == 1


def test_jobs_that_wait_are_neither_used_nor_never_started() -> None:
    rows = [run(1, None, T0 + 5), run(2, None, T0 + 5, state="queued", end_s=None), run(3, T0, T0 + 9)]
    with stored(rows) as store:
        one = whole(store, T0, T0 + DAY)
        assert (one.jobs, one.never_started) == (1, 1)
        assert "waiting" in {note.code for note in store.notices}


# ------------------------------------------------------------------------------------------- what must not change a thing


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Runs of a few days, some of them long, short, suspended, without an end or a begin."""
    made = []
    for job in range(draw(st.integers(1, 12))):
        start = T0 + draw(st.integers(-2 * DAY, 3 * DAY))
        span = draw(st.sampled_from((0, 1, 59, HOUR, 30 * HOUR)) | st.integers(1, 2 * DAY))
        more: dict[str, Any] = {"ran_s": span - draw(st.integers(0, span // 3))}
        more |= {"cpus": draw(st.sampled_from((None, 1, 64))), "gpus": draw(st.sampled_from((None, 0, 4)))}
        more |= {
            "energy_j": draw(st.none() | st.integers(1, 10**9)),
            "state": draw(st.sampled_from(("done", "failed"))),
        }
        more["user"], more["project"] = draw(st.sampled_from(("ann", "bo"))), draw(st.sampled_from(("p", "q", None)))
        never = draw(st.integers(0, 9)) == 0
        made.append(run(job, None, start) if never else run(job, start, start + span, **more))
    made.append(run(99, T0, T0 + 10, gpus=1, energy_j=5))  # so that GPUs and energy are recorded at all
    return made


def amounts(one: Use) -> list[int]:
    return [getattr(one, name) or 0 for name in ADDITIVE]


@settings(max_examples=6, deadline=None)
@given(histories(), st.lists(st.integers(0, 4 * DAY), max_size=5))
def test_a_window_is_the_sum_of_its_parts(rows: list[dict[str, Any]], cuts: list[int]) -> None:
    edges = [T0 - 3 * DAY, *sorted({T0 - DAY + cut for cut in cuts}), T0 + 6 * DAY]
    with stored(rows) as store:
        parts = [amounts(whole(store, low, high)) for low, high in pairwise(edges)]
        assert [sum(column) for column in zip(*parts, strict=True)] == amounts(whole(store, edges[0], edges[-1]))


@settings(max_examples=4, deadline=None)
@given(
    histories(), st.sampled_from(("day", "week", "month")), st.sampled_from(("UTC", "Europe/Zurich", "Asia/Kathmandu"))
)
def test_periods_and_groups_add_up_to_the_window(rows: list[dict[str, Any]], kind: str, zone: str) -> None:
    window = (T0 - DAY + 7, T0 + 3 * DAY + 11)
    with stored(rows) as store:
        measure = Measure(store, *window, zone)
        by = parse_by(f"{kind},user,project+user,{kind}+project")
        for made in measure.tables(by):
            total = (
                [sum(column) for column in zip(*map(amounts, made.rows), strict=True)]
                if made.rows
                else [0] * len(ADDITIVE)
            )
            assert total == amounts(measure.whole()), made.by


@settings(max_examples=4, deadline=None)
@given(histories(), st.randoms(use_true_random=False), st.integers(0, 12))
def test_the_order_of_rows_and_files_that_overlap_change_nothing(
    rows: list[dict[str, Any]], rng: random.Random, shared: int
) -> None:
    with stored(rows) as store:
        before = whole(store, T0 - DAY, T0 + 2 * DAY)
        by = table(store, "user", T0 - DAY, T0 + 2 * DAY)
    mixed = rng.sample(rows, len(rows))
    with stored(mixed[: len(rows) // 2 + shared], mixed[len(rows) // 2 :]) as store:
        assert whole(store, T0 - DAY, T0 + 2 * DAY) == before
        assert table(store, "user", T0 - DAY, T0 + 2 * DAY) == by


def test_days_are_those_of_the_zone_also_where_the_clocks_change() -> None:
    clock = ZoneInfo("Europe/Zurich")
    begin, end = (int(datetime.datetime(2026, 10, day, tzinfo=clock).timestamp()) for day in (24, 27))
    with stored([run(1, begin - DAY, end + DAY, cpus=1, gpus=0)]) as store:
        found = table(store, "day", begin, end, "Europe/Zurich")
    hours = {key[0]: (one.cpu_s or 0) / HOUR for key, one in found.items()}
    assert hours == {"2026-10-24": 24, "2026-10-25": 25, "2026-10-26": 24}


def test_a_run_to_midnight_is_not_in_the_next_day_nor_twice_in_the_jobs() -> None:
    midnight = T0 // DAY * DAY
    with stored(
        [run(1, midnight - 100, midnight), run(2, midnight, midnight + 100), run(3, midnight, midnight)]
    ) as store:
        found = table(store, "day", midnight - DAY, midnight + DAY)
        assert [one.jobs for one in found.values()] == [1, 2]
        assert [one.ended for one in found.values()] == [1, 2]


@pytest.mark.parametrize(
    ("kind", "begin", "end", "names"),
    [
        ("week", "2026-12-30", "2027-01-12", ["2026-W53", "2027-W01", "2027-W02"]),
        ("month", "2026-01-15", "2026-03-01", ["2026-01", "2026-02"]),
        ("day", "2026-03-28T12:00", "2026-03-30T00:00", ["2026-03-28", "2026-03-29"]),
    ],
)
def test_the_periods_of_a_window(kind: str, begin: str, end: str, names: list[str]) -> None:
    low, high = (zones.parse(text, "Europe/Zurich", "--begin") for text in (begin, end))
    found = zones.periods(kind, low, high, "Europe/Zurich")
    assert [one.name for one in found] == names
    assert found[0].begin_s == low and found[-1].end_s == high
    assert all(one.end_s == other.begin_s for one, other in pairwise(found))


def test_a_year_and_a_month_are_their_first_moments() -> None:
    assert (
        zones.parse("2026", "UTC", "--begin")
        == zones.parse("2026-01", "UTC", "")
        == zones.parse("2026-01-01", "UTC", "")
    )


# --------------------------------------------------------------------------------------------------------- sums of sums


def test_ten_thousand_years_of_a_large_job_do_not_overflow() -> None:
    rows = [run(1, T0, T0 + 10**9, cpus=10**6, energy_j=2**62)]
    with stored(rows) as store:
        one = whole(store, T0 + 1, T0 + 10**9)
    assert one.cpu_s == (10**9 - 1) * 10**6
    assert one.energy_j == 2**62 - 2**62 // 10**9


# --------------------------------------------------------------------------------------------------------------- errors


def test_windows_and_groupings_that_cannot_be_are_refused() -> None:
    with stored([run(1, T0, T0 + 10)]) as store:
        with pytest.raises(BadInput, match="ends before it begins"):
            report.make(store, report.ReportOptions(begin="2026-10-02", end="2026-10-01"), LocalHost())
        told = report.make(store, report.ReportOptions(), LocalHost())
        assert (told.begin_s, told.end_s, told.whole.cpu_s) == (T0, T0 + 11, 40)
    for by, words in (
        ("usr", "did you mean 'user'"),
        ("user+user", "one thing twice"),
        ("day+week", "one thing twice"),
    ):
        with pytest.raises(BadInput, match=words):
            parse_by(by)
    with pytest.raises(BadInput, match="20,000 days"):
        zones.periods("day", 0, 30_000 * DAY, "UTC")
    with stored([]) as store, pytest.raises(BadInput, match="no source was named"):
        report.load(store, report.ReportOptions(), LocalHost())


def test_a_file_without_a_job_could_not_be_measured(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,start,end\n")
    with Store() as store, pytest.raises(CannotMeasure, match="no job was found"):
        report.load(store, report.ReportOptions(sources=(str(path),)), LocalHost())
