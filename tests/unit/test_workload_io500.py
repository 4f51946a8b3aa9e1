"""IO500's phases and score: computed again, left-out phases, runs that are not valid."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import pytest

from shakedown.analysis import derive, table, values
from shakedown.records import Job, Measurement
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, io500
from shakedown.workloads.common.printed import span

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
NAMES = (*io500.BANDWIDTH, *io500.METADATA)


@pytest.fixture
def sample(recordings: Path) -> str:
    return (recordings / "io500/io500-sc20-sample.txt").read_text()


def printed(rates: dict[str, float], *, write_s: float = 301.0, mark: str = "", digits: int = 6) -> str:
    """What IO500 prints of rates, its score by the definition: sqrt of the product of two geometric means."""
    means = []
    for names in (io500.BANDWIDTH, io500.METADATA):
        there = [rates[name] for name in names if rates[name] > 0]
        means.append(math.prod(there) ** (1 / len(there)) if there else 0.0)
    lines = [
        f"[RESULT] {name:>20} {rates[name]:>15.{digits}f} {'GiB/s' if name.startswith('ior') else 'kIOPS'} : time "
        f"{write_s if name.endswith('write') else 20.0:.3f} seconds"
        for name in NAMES
    ]
    lines.insert(2, "[      ]            timestamp        0.000000 kIOPS : time 0.001 seconds")
    total = math.sqrt(means[0] * means[1])
    score = f"[SCORE ] Bandwidth {means[0]:.6f} GiB/s : IOPS {means[1]:.6f} kiops : TOTAL {total:.6f}{mark}"
    return "\n".join(["IO500 version io500-sc24 (standard)", *lines, score, "", "The result files are stored in x\n"])


def rates(seed: int) -> dict[str, float]:
    draw = random.Random(seed)
    return {name: math.exp(draw.uniform(-6, 7)) for name in NAMES}


def test_the_scores_of_the_documents_come_out_of_their_phases(recordings: Path) -> None:
    """README: 0.172092, 292.625029 and 7.096374; S3, where find was left out: 0.000931, 0.003778 and 0.001875."""
    for name, wanted in (
        ("io500-sc20-sample.txt", (0.172092, 292.625029, 7.096374)),
        ("io500-isc22-s3-sample.txt", (0.000931, 0.003778, 0.001875)),
    ):
        text = (recordings / "io500" / name).read_text()
        found = dict(re.findall(r"^\[RESULT\] +(\S+) +([\d.]+)", text, re.MULTILINE))
        for (low, high), score in zip(
            io500.computed({key: span(word) for key, word in found.items()}), wanted, strict=True
        ):
            assert low - 5e-7 <= score <= high + 5e-7 and (high - low) / high < 4e-3


def test_a_phase_of_zero_is_left_out_and_not_counted_as_zero(recordings: Path) -> None:
    text = (recordings / "io500/io500-isc22-s3-sample.txt").read_text()
    *phases, score = io500.parse(text, {})
    assert "find" not in {case.kernel for case in phases} and len(phases) == 11
    assert score.residual is not None and score.residual.passed
    assert any("measured nothing of find" in one.text for one in io500.notices(text, {}))


def test_a_score_of_zero_of_a_version_that_counted_zeros_is_no_score(recordings: Path) -> None:
    text = (recordings / "io500/io500-isc20-s3-no-score.txt").read_text()
    *phases, score = io500.parse(text, {})
    assert score.work.keys() == {"bytes_per_s"} and score.residual is not None and score.residual.passed
    assert all(case.params["doubt"] == "INVALID" for case in phases)
    whole = text.replace("find        0.000000", "find        0.100000")
    assert judge(DONE, io500.parse(whole, {}), b"", "", limit_s=1)[0] == "wrong", "no phase is 0 that would make it 0"


@pytest.mark.parametrize("seed", range(20))
def test_any_valid_run_is_read_and_its_score_agrees(seed: int) -> None:
    some = rates(seed)
    if seed % 3 == 0:
        some[NAMES[seed % len(NAMES)]] = 0.0
    *phases, score = io500.parse(printed(some), {"ranks": 64})
    assert {case.kernel: case.work["rate"] for case in phases} == pytest.approx(
        {name: rate * (2**30 if name.startswith("ior") else 1e3) for name, rate in some.items() if rate}, rel=1e-3
    )
    assert "doubt" not in score.params and score.params["ranks"] == 64
    assert judge(DONE, (*phases, score), b"", "", limit_s=1)[0] == "ok"


@pytest.mark.parametrize("part", ["Bandwidth", "IOPS", "TOTAL"])
def test_a_score_that_its_phases_do_not_give_is_none(part: str) -> None:
    text = printed(rates(1))
    number = re.search(rf"{part} ([\d.]+)", text)
    assert number is not None
    spoiled = text.replace(number[0], f"{part} {float(number[1]) * 1.001:.6f}")
    cases = io500.parse(spoiled, {})
    state, reason = judge(DONE, cases, b"", "", limit_s=1)
    assert state == "wrong" and "the printed score" in reason


def test_what_is_not_valid_is_shown_and_heads_nothing(sample: str) -> None:
    slow = printed(rates(2), write_s=31.0)
    for text in (
        sample,
        printed(rates(2), mark=" [INVALID]"),
        slow,
        printed(rates(2)).replace("20.000 seconds", "20.000 seconds [INVALID]", 1),
    ):
        cases = io500.parse(text, {})
        record = Measurement(
            run="r", repeat=1, workload="io500", params={}, host="h", state="ok", cases=cases, begin_ns=0, end_ns=1
        )
        found = derive.findings(table.from_measurements([record]), {"io500": io500.TABLE.metrics})
        (score,) = (one for one in found if one.metric == "io500.score")
        (metric,) = (one for one in io500.TABLE.metrics if one.name == "io500.score")
        assert score.value and score.params["doubt"] == "INVALID" and not values.is_headline(metric, score.params)
        assert any(one.code == "io500-invalid" for one in io500.notices(text, {}))
    assert "took 31 s of the 300 s required" in io500.notices(slow, {})[0].text


def test_result_txt_and_standard_output_of_one_run_say_the_same(sample: str, recordings: Path) -> None:
    text = (recordings / "io500/io500-sc20-result.ini").read_text()
    one, other = ({case.kernel: case.work for case in io500.parse(part, {})} for part in (sample, text))
    assert {name: work.get("rate") for name, work in one.items()} == {
        name: work.get("rate") for name, work in other.items()
    }
    assert one["score"] == other["score"]
    found = io500.stated(text)
    assert found.begin and found.end and (found.end - found.begin).total_seconds() == 4


def test_the_oldest_form_is_read() -> None:
    some = rates(4)
    text = printed(some).replace("GiB/s", "GB/s")
    for number, name in enumerate(NAMES):
        word = "BW  " if name.startswith("ior") else "IOPS"
        text = re.sub(rf"\[RESULT\] +{name} ", f"[RESULT] {word} phase {number} {name.replace('-', '_'):>30} ", text)
    *phases, score = io500.parse(text, {})
    assert len(phases) == 12 and score.residual is not None and score.residual.passed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[SCORE", "[SCOR", "before IO500 printed its score"),
        ("[RESULT]", "[RESULTS]", "not output of IO500"),
        ("0.186620", "nan", "not a number"),
    ],
)
def test_what_io500_does_not_print_when_it_works_is_refused(sample: str, old: str, new: str, said: str) -> None:
    assert old in sample
    with pytest.raises(Garbage, match=said):
        io500.parse(sample.replace(old, new), {})


def test_two_runs_in_one_text_are_refused(sample: str) -> None:
    with pytest.raises(Garbage, match="2 runs"):
        io500.parse(sample + sample, {})


def test_parts_of_the_extended_run_do_not_count() -> None:
    text = printed(rates(5))
    more = "[      ]  ior-rnd4K-easy-read        0.134469 GiB/s : time 30.157 seconds\n"
    extended = (
        text.replace("[SCORE ]", more + "[SCORE ]") + "[SCOREX] Bandwidth 1.0 GiB/s : IOPS 1.0 kiops : TOTAL 1.0\n"
    )
    cases = io500.parse(extended, {})
    assert cases[-1].work == io500.parse(text, {})[-1].work and cases[-1].residual and cases[-1].residual.passed
