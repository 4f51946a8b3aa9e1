"""The check of each result, in every report: the worst of each kernel over its limit, in the program's own words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.acceptance import results, run_verdict
from shakedown.acceptance.page import attempt_row
from shakedown.acceptance.plan import LimitEntry, RunTest
from shakedown.analysis import build, checks, several
from shakedown.records import Case, Check, Measurement, Outcome, Plan, Residual, Run
from shakedown.report.formats import html, markdown
from shakedown.report.formats import json as report_json
from shakedown.results.run_directory import SCHEMA, Manifest, RunDirectory
from support.machines import machine

KIND = "largest over its bound: forces 1.38 of 16 roundings; energy changed by 7.61e-10 of 5.24e-06 allowed"


def case(kernel: str, value: float | None, limit: float = 1.0, kind: str = KIND, **params: int | str) -> Case:
    residual = Residual(value=value, limit=limit, kind=kind)
    work = {"particle_steps": 1e6}
    return Case(kernel=kernel, params=params, work=work, seconds=(0.1, 0.1), residual=residual)


def measured(*cases: Case, repeat: int = 1, state: str = "ok") -> Measurement:
    return Measurement(
        run="r1",
        repeat=repeat,
        workload="lj",
        params={},
        host="node1",
        state=state,  # type: ignore[arg-type]
        cases=cases,
        begin_ns=1,
        end_ns=2,
    )


def directory(path: Path, *records: Measurement) -> RunDirectory:
    run = Run(id="r1", workload="lj", params={}, label="lj", estimate_s=1, limit_s=9)
    made = RunDirectory.create(
        path,
        manifest=Manifest(schema=SCHEMA, campaign="c", created_ns=0, version="1", host="node1"),
        campaign_toml="",
        machine=machine(2),
        plan=Plan(campaign="c", title="C", runs=(run,)),
    )
    for one in records:
        folder = made.path / "runs" / one.run / str(one.repeat)
        folder.mkdir(parents=True)
        (folder / "measurement.json").write_bytes(msgspec.json.encode(one))
    return made


@pytest.fixture
def ran(tmp_path: Path) -> RunDirectory:
    near, far = case("lj", 0.25, n=1000), case("lj", 0.125, kind="other words", n=2000)
    exact = Case(kernel="facts", params={}, work={}, seconds=(1.0,))
    return directory(tmp_path / "run", measured(far, exact), measured(near, repeat=2))


def test_every_report_has_the_worst_check_with_its_words(ran: RunDirectory) -> None:
    analysis, _ = build.analyse(ran)
    (one,) = analysis.checks
    assert (one.workload, one.kernel, one.value, one.limit, one.kind) == ("lj", "lj", 0.25, 1.0, KIND)
    assert one.cases == 2 and one.params == {"n": 1000} and one.host == "node1"
    assert json.loads(report_json.REPORT.render(analysis))["checks"][0]["value"] == 0.25
    for text in (html.render(analysis), markdown.render(analysis)):
        assert "Checks" in text and KIND in text and "0.25 of 1 allowed" in text and "2 cases" in text


def test_reports_over_packed_runs_have_them_too(ran: RunDirectory, tmp_path: Path) -> None:
    build.pack(ran, build.read(ran))
    assert build.is_packed(ran)
    other = directory(tmp_path / "other", measured(case("lj", 0.5, n=3000)))
    analysis, _ = several.analyse_many([ran, other])
    assert [(one.value, one.cases) for one in analysis.checks] == [(0.5, 3)]


def test_a_run_that_failed_its_check_shows_by_how_much(tmp_path: Path) -> None:
    analysis, _ = build.analyse(directory(tmp_path / "run", measured(case("lj", 7.5), state="wrong")))
    assert not analysis.findings and analysis.checks[0].value == 7.5
    assert [one.value for one in analysis.outcomes[0].checks] == [7.5]


def test_acceptance_says_it_of_each_figure_that_it_judges(ran: RunDirectory) -> None:
    limit = LimitEntry(metric="lj.rate", params={"n": 1000}, at_least="1 update/s")
    test = RunTest(id="t", kind="run", requirements=("r",), workload="lj", limits=(limit,))
    (point,) = run_verdict.points(test, ["r1"], run_verdict.load(ran.path))
    assert point.check == f"0.25 of 1 allowed: {KIND}"
    tried = results.Tried(number=1, entry=1, round=1, state="met", begin_ns=1, end_ns=2, points=(point,))
    tested = results.Tested(
        id="t", title="", kind="run", by="", severity="mandatory", how="", often="", criteria=(), state="met", reason=""
    )
    assert f"checked: {point.check}" in attempt_row(tried, tested)[4]


def check_of(value: float | None, limit: float) -> Check:
    return Check(workload="w", kernel="k", host="h", value=value, limit=limit, kind="", cases=1)


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 1e6)), st.sampled_from((0.0, 1e-13, 1.0, 16.0))), min_size=1)
)
def test_the_worst_over_all_runs_is_the_one_nearest_to_its_limit_or_beyond(
    given_: list[tuple[float | None, float]],
) -> None:
    outcomes = [
        Outcome(run="r", repeat=1, workload="w", label="", host="h", state="ok", checks=(check_of(*one),))
        for one in given_
    ]
    (worst,) = checks.worst_of(outcomes)
    assert worst.cases == len(given_)
    assert checks.share_of(worst) == max(checks.share_of(check_of(*one)) for one in given_)
    for value, limit in given_:
        passed = Residual(value=value, limit=limit, kind="").passed
        assert passed == (checks.share_of(check_of(value, limit)) <= 1)


def test_what_is_no_number_or_not_exact_is_infinitely_far() -> None:
    for value, limit in ((None, 1.0), (math.nan, 1.0), (1.0, 0.0)):
        assert checks.share_of(check_of(value, limit)) == math.inf
    assert checks.share_of(check_of(0.0, 0.0)) == 0
