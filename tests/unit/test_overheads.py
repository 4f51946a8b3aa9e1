"""What layers cost: factors of known pairs, what may be said of them, the page, and the verb."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from shakedown import published
from shakedown.analysis import overheads, statistics, table
from shakedown.cli import overhead as verb
from shakedown.errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput
from shakedown.layers import asked
from shakedown.records import Absent, Analysis, Case, Measurement, Metric, Notice, Outcome, Overhead, Params
from shakedown.report import overheads as page
from shakedown.report.formats import html
from support.command import called
from support.machines import machine

TIME = Metric(name="x.time", title="Time", unit="s", better="lower", kernel="k", per="s")
RATE = Metric(name="x.rate", title="Rate", unit="B/s", better="higher", kernel="k", per="bytes/s", headline=True)
NONE = Metric(name="x.size", title="Size", unit="B", better="none", kernel="k", per="bytes")


def launch(under: str, pair: int, seconds: Sequence[float], beside: str = "", **params: object) -> Measurement:
    marks: Params = {"under": under, **({"pair": beside} if beside else {}), **params}  # type: ignore[dict-item]
    case = Case(kernel="k", params=marks, work={"bytes": 8.0}, seconds=tuple(seconds))
    return Measurement(
        run=f"{under}-{beside}-{params}",
        repeat=pair,
        workload="x",
        params={},
        host="n1",
        state="ok",
        cases=(case,),
        begin_ns=0,
        end_ns=1,
    )


def found(records: Sequence[Measurement], *metrics: Metric) -> tuple[Overhead, ...]:
    return overheads.overheads(table.from_measurements(records), {"x": metrics or (TIME,)})


def pairs(factors: Sequence[float], under: str = "box", **params: object) -> list[Measurement]:
    """Pairs whose native side drifts by a factor of four."""
    drift = [1 + 3 * at / len(factors) for at in range(len(factors))]
    native = [launch("native", at + 1, [one, one, 9 * one], under, **params) for at, one in enumerate(drift)]
    return native + [
        launch(under, at + 1, [f * d] * 3, **params) for at, (f, d) in enumerate(zip(factors, drift, strict=True))
    ]


# ---------------------------------------------------------------------------------------------------------- the figures


def test_a_factor_is_that_of_neighbours() -> None:
    (one,) = found(pairs([1.1] * 8))
    assert one.factor == pytest.approx(1.1) and one.low == pytest.approx(1.1) == one.high
    assert (one.pairs, one.side, one.under, one.params) == (8, "above", "box", {})
    assert one.native == pytest.approx(2.3125) and one.value == pytest.approx(2.3125 * 1.1)


def test_above_one_it_costs_whatever_is_better() -> None:
    """Twice the time is half the rate: a factor of two of either; of each kernel the headline alone is compared."""
    (time,) = found(pairs([2.0] * 6), TIME)
    (rate,) = found(pairs([2.0] * 6), TIME, RATE, NONE)
    assert time.factor == rate.factor == pytest.approx(2.0) and rate.metric == "x.rate"
    assert found(pairs([2.0] * 6), NONE) == ()


def test_each_layer_has_native_launches_of_its_own() -> None:
    records = [*pairs([1.5] * 6, "a"), *pairs([1.0] * 6, "b")]
    assert {one.under: one.factor for one in found(records)} == {"a": pytest.approx(1.5), "b": pytest.approx(1.0)}


def test_cases_are_apart_by_their_parameters() -> None:
    records = [*pairs([1.5] * 6, bytes=8), *pairs([1.2] * 6, bytes=64)]
    made = found(records)
    assert [(one.params, round(one.factor, 6)) for one in made] == [({"bytes": 8}, 1.5), ({"bytes": 64}, 1.2)]
    assert overheads.worst(made)["box", "x.time"].params == {"bytes": 8}


def test_only_whole_pairs_count() -> None:
    records = pairs([1.1] * 8)
    assert found(records[:8]) == () == found(records[8:]), "one side alone"
    assert found(records[:-3])[0].pairs == 5 and found(records[:-3])[0].side == "too few pairs"
    alone = [launch("native", 1, [1.0]), launch("box", 1, [1.0])]
    assert found(alone) == (), "a native launch of no pair"
    assert found([launch("native", 1, [0.0], "box"), launch("box", 1, [1.0])]) == (), "nothing over zero"
    plain = msgspec.structs.replace(records[0], cases=(Case(kernel="k", seconds=(1.0,)),))
    assert found([plain]) == ()


@pytest.mark.parametrize("truth", [1.0, 1.2])
def test_the_interval_holds_the_truth(truth: float) -> None:
    rng = random.Random(f"overheads {truth}")
    held = wrong = 0
    for _ in range(60):
        (one,) = found(pairs([truth * math.exp(rng.gauss(0, 0.03)) for _ in range(8)]))
        held += one.low <= truth <= one.high
        wrong += one.side != ("not told apart" if truth == 1.0 else "above")
    assert held >= 57 and wrong <= 3  # 99 % of series of 8: 3 of 60 are missed once in 400


# ------------------------------------------------------------------------------------------------------- one formula


@pytest.mark.parametrize(
    ("ratios", "side"),
    [([1.1] * 6, "above"), ([0.9] * 6, "below"), ([0.9, 1.1] * 3, "not told apart"), ([1.1] * 5, "too few pairs")],
)
def test_a_factor_claims_what_its_interval_allows(ratios: list[float], side: str) -> None:
    one = statistics.paired_factor(ratios)
    assert (
        one.side == side
        and one.pairs == len(ratios)
        and one.factor == pytest.approx(sorted(ratios)[0:][len(ratios) // 2], 0.2)
    )
    assert (one.within is None) == (side == "too few pairs")


def test_bounds_widen_the_interval() -> None:
    one = statistics.paired_factor([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [1.0, 1.1, 1.2, 1.3, 1.4, math.inf])
    assert (one.low, one.high) == (1.0, math.inf) and one.within is None
    with pytest.raises(ValueError):
        statistics.paired_factor([])


def test_equivalence_is_both_ends() -> None:
    one = statistics.paired_factor([0.99] * 3 + [1.005] * 3)
    assert one.within == pytest.approx(1 / 0.99 - 1)
    assert statistics.paired_factor([0.5, 1, 1, 1, 1, 1]).within == pytest.approx(1.0)


# ------------------------------------------------------------------------------------------------------- what is said


def one(low: float, factor: float, high: float, count: int = 8, **more: object) -> Overhead:
    made = statistics.PairedFactor(count, factor, low, high, 0.95 if count > 5 else 0.9)
    plain: dict[str, object] = {
        "workload": "x",
        "metric": "x.time",
        "title": "Time",
        "unit": "s",
        "better": "lower",
        "host": "n1",
        "params": {"bytes": 8},
        "under": "box",
        "pairs": count,
        "native": 1.0,
        "value": factor,
        "factor": factor,
        "low": low,
        "high": high,
        "level": made.level,
        "side": made.side,
        "within": made.within,
    }
    return msgspec.convert({**plain, **more}, Overhead)


@pytest.mark.parametrize(
    ("overhead", "said"),
    [
        (one(1.02, 1.031, 1.05), "costs 3.1 %"),
        (one(1.004, 1.008, 1.012), "costs 0.8 %; equivalent within 2 %"),
        (one(0.9, 0.95, 0.99), "gains 5 %"),
        (one(0.99, 1.0, 1.01), "not distinguished; equivalent within 2 %"),
        (one(0.95, 1.0, 1.06), "not distinguished; up to 6 % may be hidden"),
        (one(0.5, 1.0, 5.07), "not distinguished; up to 407 % may be hidden"),
        (one(1.1, 1.2, 1.3, count=5), "too few pairs"),
    ],
)
def test_what_may_be_said(overhead: Overhead, said: str) -> None:
    assert page.verdict(overhead) == said


def test_the_share_of_equivalence_is_the_reader_s() -> None:
    assert "equivalent within 10 %" in page.verdict(one(0.95, 1.0, 1.06), 0.1)
    assert "equivalent" not in page.verdict(one(0.99, 1.0, 1.01), 0.005)


def test_tables_and_sentences() -> None:
    some = [one(1.1, 1.2, 1.3), one(0.99, 1.0, 1.01, params={"bytes": 64}), one(0.99, 1.0, 1.01, under="control")]
    (made,) = page.tables(some)
    assert made.title == "Time" and [row[1] for row in made.rows] == ["box", "box", "control"]
    assert (
        "box: costs something in 1 of 2 cases" in made.summary
        and "control: costs something in 0 of 1 case" in made.summary
    )
    said = page.sentences(some)
    assert len(said) == 2 and "factor 1.2 [1.1, 1.3] (in the worst case, 8 B): costs 20 %" in said[0]


def test_a_control_that_differs_is_a_doubt() -> None:
    assert page.doubts([one(1.1, 1.2, 1.3), one(0.99, 1.0, 1.01, under="control")]) == []
    (said,) = page.doubts([one(1.1, 1.2, 1.3), one(0.7, 0.85, 0.97, under="control")])
    assert "Time gains 15 %" in said and "quiet machine" in said
    wrong = page.document([one(0.7, 0.85, 0.97, under="control")], machine(), 0.02, "t")
    assert "Native beside native differs too" in html.render_document(wrong)


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ("kvm", "itself a virtual machine (kvm)"),
        ("kvm (Firecracker), docker", "itself a virtual machine"),
        ("docker", "in a container here (docker)"),
        ("", "native is the host as it is"),
    ],
)
def test_on_what_it_rests(layers: str, words: str) -> None:
    here = machine(virtualisation=layers)
    assert any(words in line for line in page.basis(here)) and any("witness" in line for line in page.basis(here))


def test_published_figures_stand_beside_as_factors() -> None:
    rows = page.published_rows()
    assert [row[2] for row in rows] == ["at most 1.21", "at most 1.32", "1.02", "1.08", "1.15", "1.28"]
    assert [row[3] for row in rows] == ["1.21", "1.32", "2 %", "8 %", "15 %", "28 %"]
    assert {row[0].partition(" (")[0] for row in rows} == {
        published.system(name).name for name in ("comet", "sdsc-sriov")
    }


def test_the_page_is_whole() -> None:
    text = html.render_document(page.document([one(1.1, 1.2, 1.3)], machine(), 0.02, "t"))
    for words in ("Native beside layers", "costs 20 %", "at most 1.32", "unranked", "witness", "[1.1, 1.3]"):
        assert words in text
    assert page.section((), machine()) is None
    few = page.document([one(1.1, 1.2, 1.3, count=5)], machine(), 0.02, "t")
    assert few.state == "undecided" and "too few pairs to decide" in html.render_document(few)
    assert page.document([], machine(), 0.02, "t").state == "not measured"


# ------------------------------------------------------------------------------------------------------------ the verb


def campaign(*words: str, under: Sequence[str] = ("namespaces",), pairs: int = 8) -> str:
    return verb._campaign("stream", words, under, pairs)


def test_native_and_the_control_are_always_there() -> None:
    assert 'under = ["native", "control", "namespaces"]' in campaign()
    assert 'under = ["native", "control"]' in campaign(under=["control"])
    assert 'under = ["native", "namespaces", "control"]' in campaign(under=["native,namespaces", "control"])
    assert "repeat = { min = 8, max = 8 }" in campaign()


@pytest.mark.parametrize(
    ("words", "under", "message"),
    [
        ([], [], "nothing to compare"),
        ([], ["native"], "nothing to compare"),
        (["repeat=3"], ["namespaces"], "is said in pairs"),
        (["no=1"], ["namespaces"], "no parameter 'no'"),
        ([], ["nothing"], "unknown kind"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], under: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        campaign(*words, under=under)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["overhead", "no-such-workload", "--under", "namespaces"], 2, "unknown workload"),
        (["overhead", "stream"], 2, "nothing to compare"),
        (["overhead", "stream", "--under", "charliecloud"], 2, "needs an image"),
        (["overhead", "stream", "--under", "namespaces", "--equivalence", "two"], 2, "--equivalence"),
        (["overhead", "latest"], 2, "no run directory"),
        (["plan", "stream", "--under", "podman:x,nativ"], 2, "unknown kind 'nativ'"),
        (["run", "stream", "--resume", "runs/x", "--under", "native"], 2, "--under is for a new run directory"),
    ],
)
def test_bad_input_is_one_error_with_a_next_step(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    done = called(*words, cwd=tmp_path)
    assert done.returncode == code and said in done.stderr and "next:" in done.stderr and "Traceback" not in done.stderr


def analysis(*found: Overhead, skipped: tuple[Absent, ...] = ()) -> Analysis:
    return Analysis(
        name="r",
        campaign="c",
        title="t",
        created_ns=0,
        version="1",
        machine=machine(),
        overheads=found,
        skipped=skipped,
    )


def test_exit_codes() -> None:
    good, few = one(0.99, 1.0, 1.01), one(0.99, 1.0, 1.01, count=5)
    missing = (Absent(what="x under bubblewrap", why="not here"),)
    assert verb._code(analysis(good), MET, whole=True) == MET
    assert verb._code(analysis(good, few), MET, whole=True) == UNDECIDED
    assert verb._code(analysis(good, skipped=missing), MET, whole=True) == COULD_NOT_MEASURE
    assert verb._code(analysis(), MET, whole=True) == COULD_NOT_MEASURE
    assert verb._code(analysis(good), NOT_MET, whole=True) == NOT_MET


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    verb._show(analysis(one(1.1, 1.2, 1.3)), 0.02, json=True, output=tmp_path / "page.html")
    made = json.loads(capsys.readouterr().out)
    assert (
        made["overheads"][0]["factor"] == 1.2 and made["verdicts"] == ["costs 20 %"] and made["equivalent"] == [False]
    )
    assert len(made["published"]) == 6 and made["rests_on"] and (tmp_path / "page.html").exists()
    verb._show(analysis(one(1.1, 1.2, 1.3)), 0.02, json=False, output=None)
    shown = capsys.readouterr().out
    assert "costs 20 %" in shown and "unranked" in shown and "disturbed" not in shown
    notice = Notice(code="load", text="the load average was 9", advice="wait")
    touched = Outcome(run="r", label="r", workload="x", host="n1", repeat=1, state="ok", notices=(notice,))
    verb._show(
        msgspec.structs.replace(analysis(one(1.1, 1.2, 1.3)), outcomes=(touched,)), 0.02, json=False, output=None
    )
    assert "The one run was disturbed: the load average was 9" in " ".join(capsys.readouterr().out.split())


def test_the_names_of_kinds_are_in_the_help() -> None:
    text = " ".join(called("overhead", "--help").stdout.split())
    assert all(name in text for name in asked.names() if name not in ("native", "control"))
