"""Trends: changes that are found and placed, rates of false alarms, causes, what is left out, what a person reads."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.analysis import facts, trend
from shakedown.analysis.trend import chart, explain, levels
from shakedown.document.model import Lines
from shakedown.hosts.disturbance import DisturbanceWatch
from shakedown.records import Disturbance, Gpu, Trend
from shakedown.report import trend as page
from shakedown.report.formats import html
from support import trees, trends
from support.command import called

from support.bench import BENCH  # isort: skip  # lets the module below be found

import trend_histories as histories

assert BENCH
NOW_NS = trends.T0 + 5000 * trends.DAY_NS


def values(before: int, after: int, ratio: float, sigma: float = 0.005, seed: int = 1) -> chart.Floats:
    rng = np.random.default_rng(seed)
    made: chart.Floats = 1e10 * (1 + sigma * rng.standard_normal(before + after))
    made[before:] *= ratio
    return made


def said(*words: str | Path) -> tuple[int, str]:
    """The exit code, and what is printed."""
    done = called(*words)
    return done.returncode, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------------------------ chart


def test_limits_are_passed_as_often_as_they_say() -> None:
    """By 400 runs of 500 short histories: 20 % at most of 40 runs at 1 in 200, and not next to none."""
    rng = np.random.default_rng(4)
    told = sum(bool(chart.alarms(rng.standard_normal(40), 1 / 200)) for _ in range(500)) / 500
    assert 0.06 < told < 0.2, "33 runs may tell: 1 - (1 - 1/200)^33 is 15 %"


def test_limits_rise_with_the_runs_and_with_what_is_asked() -> None:
    often, seldom = chart.limits(1 / 52), chart.limits(1 / 3000)
    assert math.isinf(often[3]) and often[100] == pytest.approx(2.47, abs=0.02)
    assert (seldom[20:] > often[20:]).all()
    assert (chart.limits(1 / 10**6) == chart.limits(1 / 9000)).all(), "beyond the table its end"
    assert often[100] < chart.limits(1 / 70)[100] < chart.limits(1 / 100)[100]


def test_the_statistic_of_a_window_is_that_of_its_runs() -> None:
    """What leaves the window is taken out exactly: an old level that no window holds is no change."""
    rng = np.random.default_rng(2)
    series = rng.standard_normal(chart.WINDOW + 300)
    assert chart.alarms(series, 1 / 9000) == []
    late = series.copy()
    late[chart.WINDOW + 200 :] += 3
    (found,) = chart.alarms(late, 1 / 9000)
    assert abs(found.first - chart.WINDOW - 200) <= 2 and found.told < chart.WINDOW + 212


@pytest.mark.parametrize("ratio", [0.99, 1.01])
def test_a_change_of_two_deviations_is_found_and_placed(ratio: float) -> None:
    found = levels.levels(values(80, 8, ratio), 1 / 150)
    (step,) = [one for one in found.steps if one.latest >= 80]
    assert abs(step.first - 80) <= 3 and step.earliest <= 80 <= step.latest
    assert step.low <= ratio <= step.high and step.low < step.ratio < step.high


def test_equal_values_never_alarm_and_a_new_value_does() -> None:
    assert levels.levels(np.full(300, 7.0), 1 / 52).steps == []
    exact = np.array([7.0] * 40 + [8.0] * 12)
    (step,) = levels.levels(exact, 1 / 365).steps
    assert (step.first, step.earliest, step.latest) == (40, 40, 40) and step.ratio == pytest.approx(8 / 7)


def test_what_comes_back_is_two_changes_or_has_not_lasted() -> None:
    series = np.concatenate([values(60, 15, 0.97), values(60, 0, 1, seed=9)])
    found = levels.levels(series, 1 / 150)
    assert [abs(one.first - at) <= 2 for one, at in zip(found.steps, (60, 75), strict=True)] == [True, True]
    short = np.concatenate([values(60, 4, 0.97), values(80, 0, 1, seed=9)])
    found = levels.levels(short, 1 / 150)
    assert found.passed and not found.steps


def test_a_better_level_that_went_again_leaves_the_figure_as_good(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for at in range(80):
        bandwidth = 2e10 * (1 + 0.004 * float(rng.standard_normal())) * (1.03 if 30 <= at < 50 else 1)
        trends.run(tmp_path / f"r{at:02d}", trends.T0 + at * 3 * trends.DAY_NS, [bandwidth], trends.node())
    (one,) = trend.judged(trend.read(trend.directories([tmp_path]), NOW_NS)).series
    assert [change.sense for change in one.changes] == ["better", "worse"] and one.changes[1].returned
    assert one.state == "as good"


def test_more_history_changes_nothing_of_what_was_told() -> None:
    series = values(70, 60, 0.985)
    assert chart.alarms(series[:90], 1 / 150) == [one for one in chart.alarms(series, 1 / 150) if one.told < 90]


def test_runs_that_resemble_the_one_before_raise_fewer_alarms_than_unseen() -> None:
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(400)
    for index in range(1, 400):
        noise[index] += 0.6 * noise[index - 1]
    assert chart.correlation(noise, ()) == pytest.approx(0.6, abs=0.1)
    assert chart.correlation(rng.standard_normal(400), ()) < 0.15
    assert len(chart.alarms(noise, 1 / 100)) <= 6, "as if they were independent it is 20 and more"


# ----------------------------------------------------------------------------------------------------------------- causes


def explained(known: list[facts.Facts], shift: float = -2.0) -> explain.Explained:
    rng = np.random.default_rng(7)
    series = rng.standard_normal(len(known))
    series[60:] += shift
    return explain.explain(series, known, 0, 60, len(known))


def test_the_fact_that_changed_with_the_level_comes_first() -> None:
    known: list[facts.Facts] = [
        {"kernel": "a" if at < 60 else "b", "driver": "1" if at < 40 else "2", "load": at % 5 / 5} for at in range(80)
    ]
    found = explained(known)
    (first,) = found.causes[0].facts
    assert (first.fact, first.before, first.after) == ("kernel", "a", "b") and found.close == 1
    assert found.causes[0].share > 0.8 and found.unknown_share < 0.2


def test_facts_that_changed_together_are_said_together_without_the_boot() -> None:
    known: list[facts.Facts] = [
        dict.fromkeys(("kernel", "turbo", facts.BOOT), "a" if at < 60 else "b") for at in range(80)
    ]
    found = explained(known)
    assert [one.fact for one in found.causes[0].facts] == ["kernel", "turbo"] and found.close == 1


def test_a_fact_without_effect_elsewhere_stands_behind() -> None:
    known: list[facts.Facts] = [
        {"turbo": "off" if at >= 60 or 20 <= at < 35 else "on", "kernel": "a" if at < 60 else "b"} for at in range(80)
    ]
    found = explained(known)
    assert [one.fact for one in found.causes[0].facts] == ["kernel"]


def test_a_change_elsewhere_counts_with_its_effect_and_against_without() -> None:
    rng = np.random.default_rng(1)
    series = rng.standard_normal(120)
    known: list[facts.Facts] = [{"turbo": "off" if at >= 90 or 30 <= at < 45 else "on"} for at in range(120)]
    series[90:] -= 4
    (without,) = explain.explain(series, known, 60, 90, 120).causes
    assert (without.facts[0].again, without.facts[0].without) == (0, 2)
    series[30:45] -= 4
    (again,) = explain.explain(series, known, 60, 90, 120).causes
    assert (again.facts[0].again, again.facts[0].without) == (2, 0)


def test_what_is_not_recorded_is_no_change() -> None:
    """An older version did not tell it: that it is told now explains nothing."""
    known: list[facts.Facts] = [{"microcode": "0x1"} if at >= 60 else {} for at in range(80)]
    assert explained(known).causes == ()
    known = [{"kernel": "a" if at < 30 else "b"} for at in range(80)]
    found = explained(known)
    assert found.close == 0 and found.unknown_share > 0.9


def test_load_explains_what_follows_it() -> None:
    rng = np.random.default_rng(5)
    load = np.where(np.arange(80) < 60, rng.uniform(0, 0.2, 80), rng.uniform(1, 3, 80))
    series = -1.5 * load + 0.3 * rng.standard_normal(80)
    found = explain.explain(series, [{"load": float(one)} for one in load], 0, 60, 80)
    assert [one.fact for one in found.causes[0].facts] == ["load"] and found.close == 1


# ------------------------------------------------------------------------------------------------------------ directories


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 runs of one node, worse by 3 % from the 36th on, with another kernel; some damaged, one with a hostile name."""
    root = tmp_path_factory.mktemp("history")
    rng = np.random.default_rng(3)
    for at in range(50):
        where = trends.node(kernel="6.1.0" if at < 35 else "6.1.9", boot_id=f"b{at // 9}")
        bandwidth = 2e10 * (1 + 0.004 * float(rng.standard_normal())) * (0.97 if at >= 35 else 1)
        trends.run(root / f"run-{at:02d}", trends.T0 + at * 3 * trends.DAY_NS, [bandwidth] * 2, where)
    (root / "run-03" / "manifest.json").write_text("{")
    (root / "run-04" / "plan.json").write_bytes(b"\xff\x00")
    (root / "run-05" / "runs/r1/1/measurement.json").write_text("{}")
    (root / "half" / "runs").mkdir(parents=True)
    shutil.copytree(root / "run-07", root / "run-07-copy")
    trends.run(root / "no clock", 10**9, [2e10], trends.node())
    trends.run(root / "future", NOW_NS + 9 * trends.DAY_NS, [2e10], trends.node())
    newer = json.loads((root / "run-08/manifest.json").read_text()) | {"schema": 9}
    (root / "run-08/manifest.json").write_text(json.dumps(newer))
    trends.run(root / "<b>\x1b[31m", trends.T0, [2e10], trends.node("<script>x"))
    return root


@pytest.fixture(scope="module")
def judged(history: Path) -> Trend:
    return trend.judged(trend.read(trend.directories([history]), NOW_NS))


def test_a_change_in_directories_is_told_with_its_cause(judged: Trend) -> None:
    one = next(each for each in judged.series if each.host == "node1")
    assert one.state == "worse" and one.against_best == pytest.approx(0.97, abs=0.005)
    assert one.same_as == ("stream.triad.traffic",), "the same seconds are one figure"
    (event,) = judged.events
    assert (event.host, event.sense, event.verdict) == ("node1", "worse", "one")
    assert event.run == "run-35" and event.after_run == "run-34"
    assert [each.fact for each in event.causes[0].facts] == ["kernel"]


def test_what_is_broken_is_told_and_the_rest_stands(judged: Trend) -> None:
    told = {Path(one.what).name: one.why for one in judged.left_out}
    assert {"run-03", "run-04", "half", "no clock", "future", "run-07-copy", "run-08"} <= told.keys()
    assert "clock" in told["no clock"] and "copy of run-07" in told["run-07-copy"] and "layout 9" in told["run-08"]
    assert any("run-05" in one.what for one in judged.left_out)
    one = next(each for each in judged.series if each.host == "node1")
    assert len(one.points) == 47, "50 less run-03, run-04 and run-08; run-05 has its second repeat"


def test_hostile_names_steer_no_terminal_and_no_page(judged: Trend, history: Path) -> None:
    text = html.render_document(page.document(judged))
    assert "<script>x" not in text and "\x1b" not in text
    code, out = said("trend", history, "--all")
    assert code == 1 and "\x1b" not in out and "node1" in out


def test_the_page_shows_each_chart_with_its_levels(judged: Trend) -> None:
    one = next(each for each in judged.series if each.host == "node1")
    drawn = page.figure(one, judged)
    assert isinstance(drawn, Lines) and len(drawn.series) == 3 and len(drawn.regions) == 2
    assert "kernel: 6.1.0 -> 6.1.9" in drawn.caption


def test_the_command_says_it_and_ends_with_1(history: Path, tmp_path: Path) -> None:
    code, out = said("trend", history, "-o", tmp_path / "trend.html")
    assert code == 1 and "kernel: 6.1.0 -> 6.1.9" in out and "run-35" in out
    assert "kernel" in (tmp_path / "trend.html").read_text()
    code, out = said("trend", history, "--json", "--host", "node1", "--metric", "triad")
    assert code == 1 and msgspec.json.decode(out, type=Trend).events[0].run == "run-35"
    assert said("trend", history, "--least", "5 %")[0] == 0
    assert said("trend", history, "--since", "2024-03-15")[0] == 0, "the new level is the only one"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--rate", "0"], "--rate 0"),
        (["--renamed", "node1"], "OLD=NEW"),
        (["--metric", "nothing"], "no run has a value"),
        (["--since", "yesterday"], "--since"),
        (["absent"], "cannot be read"),
    ],
)
def test_bad_words_are_one_error(history: Path, words: list[str], expected: str) -> None:
    code, out = said("trend", *([] if words == ["absent"] else [history]), *words)
    assert code in (2, 3) and expected in out


def test_a_renamed_host_is_asked_about_and_joined(tmp_path: Path) -> None:
    for at in range(24):
        name = "old" if at < 12 else "new"
        trends.run(tmp_path / f"r{at:02d}", trends.T0 + at * trends.DAY_NS, [2e10 + at % 5 * 1e7], trends.node(name))
    read = trend.directories([tmp_path])
    apart = trend.judged(trend.read(read, NOW_NS))
    assert len(apart.series) == 2 and "--renamed old=new" in apart.notices[0].advice
    joined = trend.judged(trend.read(read, NOW_NS, trend.renamed(["old=new"])))
    (one,) = joined.series
    assert one.host == "new" and len(one.points) == 24 and not joined.notices


def test_other_parameters_are_another_series_and_the_end_of_one_is_told(tmp_path: Path) -> None:
    for at in range(20):
        path = trends.run(tmp_path / f"r{at:02d}", trends.T0 + at * trends.DAY_NS, [2e10 + at % 5 * 1e7], trends.node())
        if at >= 12:
            file = path / "runs/r1/1/measurement.json"
            file.write_text(file.read_text().replace('"nt"', '"cached"'))
    found = trend.judged(trend.read(trend.directories([tmp_path]), NOW_NS))
    assert sorted(len(one.points) for one in found.series) == [8, 12]
    (note,) = [notice for one in found.series for notice in one.notices]
    assert note.code == "ended" and "variant cached instead of nt" in note.text


def test_runs_of_a_day_that_resemble_each_other_count_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for day in range(32):
        level = 2e10 * (1 + 0.01 * float(rng.standard_normal()))
        for hour in range(2):
            at_ns = trends.T0 + day * trends.DAY_NS + hour * 10**12
            value = level * (1 + 0.0005 * float(rng.standard_normal()))
            trends.run(tmp_path / f"r{day:02d}-{hour}", at_ns, [value], trends.node())
    (one,) = trend.judged(trend.read(trend.directories([tmp_path]), NOW_NS)).series
    assert one.by_day and len(one.points) == 32 and one.state == "as good"
    assert one.points_per_year == pytest.approx(365.25, rel=0.01)


def test_too_few_runs_are_said_and_end_with_4(tmp_path: Path) -> None:
    trends.run(tmp_path / "r", trends.T0, [2e10], trends.node())
    code, out = said("trend", tmp_path)
    assert code == 4 and "nothing is said of them" in out


# ------------------------------------------------------------------------------------------------------------------ facts


def test_facts_of_a_run_are_told_apart() -> None:
    before = trends.node(gpus=(Gpu(index=0, name="H200", vendor="NVIDIA", driver="550", facts={"vbios": "96.1"}),))
    after = msgspec.structs.replace(before, kernel="6.9", settings=(trends.setting("microcode", "0x2"),))
    columns = [facts.of_job("node1", {"node1": facts._of_host(one)}) for one in (before, after)]
    told = {one.fact: one.values for one in facts.differences(columns)}
    assert told == {"kernel": ("6.1.0", "6.9"), "setting: turbo": ("on", "-"), "setting: microcode": ("-", "0x2")}
    assert columns[0]["GPU driver"] == "550" and columns[0]["GPU 0 vbios"] == "96.1"


def test_weather_is_numbers_and_hosts_of_a_job_are_merged() -> None:
    found = facts.weather([Disturbance(load_before=1.0, temperature_c=60.0), Disturbance(load_before=3.0)])
    assert found == {"load before": 2.0, "temperature": 60.0}
    both = facts.of_job(
        "node[1-2]", {"node1": {"kernel": "a", "load before": 1.0}, "node2": {"kernel": "b", "load before": 2.0}}
    )
    assert both == {"kernel": "a | b", "load before": 1.5}


def test_compare_shows_what_differed_between_runs(history: Path) -> None:
    code, out = said("compare", history / "run-20", history / "run-40")
    assert code == 0 and "What differed between the runs" in out and "6.1.9" in out
    code, out = said("compare", history / "run-20", history / "run-40", "--json")
    told = {one["fact"]: one["values"] for one in json.loads(out)["differences"]}
    assert told["kernel"] == {"run-20": "6.1.0", "run-40": "6.1.9"}


# -------------------------------------------------------------------------------------------------------------- simulated


def test_simulated_changes_are_found_and_their_causes_named() -> None:
    """A small form of scripts/bench/trend_histories.py, wide enough that chance does not decide."""
    rng = np.random.default_rng(11)
    found = histories.detection(rng, "normal", 40)
    assert found["found"] >= 0.85 and found["delay_median"] <= 6 and found["run_held"] >= 0.8
    why = histories.causes(rng, "apart", "normal", 20)
    assert why["first"] >= 0.8 and why["another_alone_named"] <= 0.1
    together = histories.causes(rng, "together", "normal", 20)
    assert together["not_distinguished_said"] >= 0.8 and together["it_alone_named"] == 0


# ---------------------------------------------------------------------------------------------------------------- weather


@pytest.mark.parametrize(
    ("zones", "hottest"),
    [
        ({"0": ("acpitz", "27800\n"), "1": ("x86_pkg_temp", "61000\n"), "2": ("x86_pkg_temp", "64500\n")}, 64.5),
        ({"0": ("acpitz", "27800\n"), "1": ("iwlwifi_1", "50000\n")}, 27.8),
        ({"0": ("x86_pkg_temp", "broken\n"), "1": ("cpu-thermal", "-40000\n")}, None),
        ({}, None),
    ],
)
def test_the_temperature_is_that_of_the_hottest_processor(
    tmp_path: Path, zones: dict[str, tuple[str, str]], hottest: float | None
) -> None:
    files: dict[str, str | bytes | trees.Link] = {}
    for number, (kind, milli) in zones.items():
        files[f"/sys/class/thermal/thermal_zone{number}/type"] = f"{kind}\n"
        files[f"/sys/class/thermal/thermal_zone{number}/temp"] = milli
    door = trees.door(tmp_path, trees.cluster_node() | files)
    assert DisturbanceWatch.begin(door).end(door, 0.0).temperature_c == hottest
