"""What monitoring systems read: Nagios's text and exit codes, Prometheus's format, and an exact test of faults and load."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from scipy import stats

from shakedown.errors import CannotMeasure
from shakedown.operate.health import command, correlate, ganglia, nagios, prometheus
from shakedown.operate.health.records import Exposure, Finding, HealthReport, Metric, Occasion, Severity, worst

NASTY = st.text(st.characters(codec="utf-8"), max_size=30)


def report(*findings: Finding, metrics: tuple[Metric, ...] = (), absent: dict[str, str] | None = None) -> HealthReport:
    return HealthReport(
        host="n1",
        at_s=1.0,
        took_s=0.1,
        boot="b",
        severity=worst(one.severity for one in findings),
        findings=findings,
        metrics=metrics,
        absent=absent or {},
    )


def test_a_check_of_what_this_node_has_not_says_so_in_its_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    command.show(report(absent={"thermal": "no sensor"}), everything=True)
    said = capsys.readouterr().out
    assert "n1: OK (nothing of what was requested is here; 100 ms;" in said and "no sensor" in said


# ---------------------------------------------------------------------------------------------------------------- Nagios


@pytest.mark.parametrize(("severity", "code"), [("OK", 0), ("WARNING", 1), ("CRITICAL", 2), ("UNKNOWN", 3)])
def test_the_first_word_and_the_exit_code(severity: Severity, code: int) -> None:
    text = nagios.text(report(Finding(check="a", severity=severity, what="it is")))
    assert text.startswith(f"SHAKEDOWN {severity} - ") and nagios.EXIT_CODES[severity] == code


def test_the_worst_is_told_first_and_the_rest_is_long_text() -> None:
    text = nagios.text(
        report(
            Finding(check="clock", severity="UNKNOWN", what="no one knows"),
            Finding(check="gpus", item="GPU 1", severity="CRITICAL", what="gone", action="switch it off"),
            Finding(check="cpu", what="fine"),
            metrics=(Metric(name="gpus", value=3, crit="4:", least=0.0, most=4.0),),
            absent={"ecc": "no EDAC"},
        )
    )
    assert text == (
        "SHAKEDOWN CRITICAL - gpus GPU 1: gone; UNKNOWN clock: no one knows | 'gpus'=3;;4:;0;4\n"
        "CRITICAL gpus GPU 1: gone - next: switch it off\n"
        "UNKNOWN clock: no one knows\n"
        "not here: ecc: no EDAC\n"
    )


@given(NASTY, NASTY, NASTY, NASTY, st.floats(allow_nan=True, allow_infinity=True))
def test_nothing_that_a_node_says_breaks_the_format(item: str, what: str, label: str, why: str, value: float) -> None:
    metric = Metric(name="m", value=value, labels={"a": label}, unit="s")
    found = Finding(check="c", item=item, severity="WARNING", what=what, action=why)
    lines = nagios.text(report(found, metrics=(metric,), absent={"x": why})).splitlines()
    assert len(lines) == 3 and lines[0].count("|") == 1 and not any("|" in line for line in lines[1:])
    data = lines[0].split(" | ")[1]
    assert re.fullmatch(r"'(?:[^'=]|'')+'=(?:-?[\d.]+|U)s", data)


def test_a_value_is_written_with_digits_only() -> None:
    assert [nagios.number(value) for value in (1e20, 0.1, 1e-9, -2.5, 3.0)] == [
        "100000000000000000000",
        "0.1",
        "0",
        "-2.5",
        "3",
    ]


def test_many_findings_leave_a_first_line_that_pagers_bear() -> None:
    text = nagios.text(
        report(*(Finding(check="c", item=f"{n}", severity="CRITICAL", what="x" * 90) for n in range(99)))
    )
    assert len(text.splitlines()[0]) < 700 and "more" in text.splitlines()[0] and len(text.splitlines()) == 100


# ------------------------------------------------------------------------------------------------------------ Prometheus


@given(NASTY, NASTY, NASTY, st.floats(allow_nan=False, allow_infinity=False))
def test_prometheus_reads_what_is_written(item: str, label: str, help_: str, value: float) -> None:
    metrics = (
        Metric(name="errors_total", value=1, labels={"port": label}, counter=True, help=help_),
        Metric(name="errors_total", value=2, labels={"port": label + "x"}, counter=True, help=help_),
        Metric(
            name="errors_total", value=3, labels={"port": label}, counter=True, help=help_
        ),  # twice: the first holds
        Metric(name="ratio", value=value, help=help_),
    )
    text = prometheus.text(report(Finding(check="c", item=item, severity="CRITICAL", what="w"), metrics=metrics))
    families = {one.name: one for one in text_string_to_metric_families(text)}
    errors = families["shakedown_health_errors"]
    assert errors.type == "counter" and [(one.labels["port"], one.value) for one in errors.samples] == [
        (label, 1),
        (label + "x", 2),
    ]
    (ratio,) = families["shakedown_health_ratio"].samples
    assert ratio.value == value
    (problem,) = families["shakedown_health_problem"].samples
    assert problem.labels == {"check": "c", "item": item} and problem.value == 2
    assert text.count("# TYPE shakedown_health_errors_total") == 1


def test_the_file_is_whole_and_readable(tmp_path: Path) -> None:
    file = tmp_path / "shakedown.prom"
    prometheus.write(str(file), "a 1\n")
    prometheus.write(str(file), "a 2\n")
    assert file.read_text() == "a 2\n" and file.stat().st_mode & 0o777 == 0o644 and list(tmp_path.iterdir()) == [file]
    with pytest.raises(CannotMeasure, match="cannot be written"):
        prometheus.write(str(tmp_path / "no" / "x.prom"), "")


@given(NASTY, st.floats(allow_nan=True, allow_infinity=True))
def test_gmetric_gets_each_number_once_whatever_a_node_is_called(label: str, value: float) -> None:
    """Read as a shell reads it: a line is one call of gmetric, with a name that can be a file's."""
    metrics = (
        Metric(name="filesystem_used_ratio", value=value, labels={"mount": label}, help=f"Of {label}."),
        Metric(name="filesystem_used_ratio", value=0.25, labels={"mount": f"/{label}"}),
        Metric(name="memory_corrected_errors_total", value=7, labels={"module": "DIMM_A1"}, counter=True, unit="c"),
        Metric(name="temperature_celsius", value=1e300),
    )
    found = Finding(check="mounts", item=label, severity="WARNING", what=label)
    lines = ganglia.text(report(found, metrics=metrics)).split("\n")
    assert lines.pop() == ""
    calls = [shlex.split(line) for line in lines]
    assert all(call[0] == "gmetric" and all(word.startswith("--") for word in call[1:]) for call in calls)
    told = [dict(word[2:].split("=", 1) for word in call[1:]) for call in calls]
    names = [one["name"] for one in told]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[A-Za-z0-9_.]+", name) for name in names)
    ratios = [float(one["value"]) for one in told if one["name"].startswith("shakedown_filesystem_used_ratio")]
    assert ratios == [*([value] if math.isfinite(value) else []), 0.25]
    by = {one["name"]: one for one in told}
    assert by["shakedown_status"]["value"] == by["shakedown_status.mounts"]["value"] == "1"
    corrected = by["shakedown_memory_corrected_errors_total.DIMM_A1"]
    assert (corrected["slope"], corrected["value"]) == ("positive", "7")


def test_a_report_goes_through_json() -> None:
    import msgspec

    whole = report(Finding(check="c", what="w", value=1.5), metrics=(Metric(name="m", value=1),))
    assert msgspec.json.decode(msgspec.json.encode(whole), type=HealthReport) == whole
    assert json.loads(msgspec.json.encode(whole))["severity"] == "OK"


def test_what_is_not_known_is_not_fine() -> None:
    assert worst(("OK", "UNKNOWN")) == "UNKNOWN" and worst(()) == "OK"
    unknown, warning = (Finding(check="c", severity=one, what="") for one in ("UNKNOWN", "WARNING"))
    assert report(unknown, warning).exit_code == 3 and report(warning).exit_code == 0
    assert report(unknown, Finding(check="c", severity="CRITICAL", what="")).exit_code == 1


# -------------------------------------------------------------------------------------------------------- faults and load


def occasions(*states: str) -> list[Occasion]:
    return [Occasion(kind="xid", code=79, first_s=n, last_s=n, load=state) for n, state in enumerate(states)]


def test_three_of_three_while_all_gpus_worked() -> None:
    busy, idle = "gpus=4/4 cpu=low", "gpus=1/4 cpu=low"
    hours = Exposure(seconds={busy: 20 * 3600.0, idle: 40 * 3600.0})
    (one, other) = correlate.correlate({"n1": (occasions(busy, busy, busy), hours)})
    assert (one.inside, one.outside, one.inside_h, one.outside_h) == (3, 0, 20, 40)
    assert one.p == pytest.approx((1 / 3) ** 3) and one.p_holm == pytest.approx((1 / 3) ** 3)
    assert one.text == ("Xid 79 on 3 of 3 occasions while 4 of 4 GPUs busy (20.0 h), 0 in 40.0 h otherwise (p = 0.037)")
    assert other.load == "the CPUs busy" and other.p is None and "no test" in other.text


@given(st.integers(1, 30), st.integers(0, 30), st.floats(0.02, 0.98))
def test_the_test_is_the_exact_binomial_one(n: int, k: int, share: float) -> None:
    k = min(n, k)
    assert correlate.tail(n, k, share) == pytest.approx(stats.binomtest(k, n, share, "greater").pvalue, abs=1e-12)
    bound = correlate.least_ratio(k, n - k, share * 100, (1 - share) * 100)
    if k:
        low = stats.binomtest(k, n, share, "greater").proportion_ci(0.95, "exact").low
        assert bound == pytest.approx(low / (1 - low) * (1 - share) / share, rel=1e-6)
    else:
        assert bound is None


def test_without_regard_to_load_small_probabilities_are_rare() -> None:
    """Under the hypothesis of no connection p <= 5 % comes at most once in twenty: the sum over all outcomes, exactly."""
    for n, share in ((3, 0.3), (10, 0.5), (25, 0.1)):
        chance = sum(stats.binom.pmf(k, n, share) for k in range(n + 1) if correlate.tail(n, k, share) <= 0.05)
        assert chance <= 0.05


def test_a_state_that_says_nothing_of_gpus_is_no_witness() -> None:
    busy = "gpus=2/2 cpu=high"
    hours = Exposure(seconds={busy: 3600.0, "gpus=0/2 cpu=low": 3600.0, "cpu=low": 360000.0})
    found = {one.load: one for one in correlate.correlate({"n": (occasions(busy, "cpu=low", ""), hours)})}
    gpus, cpus = found["2 of 2 GPUs busy"], found["the CPUs busy"]
    assert (gpus.inside, gpus.unknown, gpus.outside_h) == (1, 2, 1)
    assert (cpus.inside, cpus.outside, cpus.unknown, cpus.outside_h) == (1, 1, 1, 101)


def test_nodes_are_pooled() -> None:
    busy, idle = "gpus=4/4", "gpus=0/4"
    one = Exposure(seconds={busy: 3600.0, idle: 3600.0})
    (found,) = correlate.correlate({"a": (occasions(busy), one), "b": (occasions(busy, busy), one)})
    assert found.inside == 3 and found.inside_h == 2 and found.p == pytest.approx(1 / 8)


def test_several_questions_are_corrected() -> None:
    assert correlate.holm([0.01, 0.04, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06)]
    assert correlate.holm([0.9]) == [0.9] and correlate.holm([]) == []
