"""The tuner's parts: comparison, windows, space, journal, rates, launch lines, HPL.dat, the page."""

from __future__ import annotations

import math
import random
from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, CannotMeasure, StoreFailed
from shakedown.tuning import space
from shakedown.tuning.journal import TRIALS, Journal
from shakedown.tuning.paired import Observation, compare, t95
from shakedown.tuning.records import name_of
from shakedown.tuning.windows import Step, fit, orders, whole_seconds
from support.tunings import host, trial, windows_of

# ----------------------------------------------------------------------------------------------------------- comparison


def test_a_drift_that_is_larger_than_the_difference_cancels_in_blocks() -> None:
    generator = random.Random(1)
    truth = {"a": 0.0, "b": 0.01, "c": 0.03}
    seen = [
        Observation(item, block, value + 0.2 * math.sin(block) + generator.gauss(0, 0.003))
        for block in range(8)
        for item, value in truth.items()
    ]
    found = compare(seen)
    for item, value in truth.items():
        difference, error = found.difference(item, "a")
        assert difference == pytest.approx(value, abs=0.006)
        assert error < 0.006
    assert found.order() == ["a", "b", "c"]


def test_the_intervals_cover_the_truth_as_often_as_they_say() -> None:
    generator = random.Random(2)
    covered = 0
    for _ in range(300):
        seen = [
            Observation(item, block, value + shift + generator.gauss(0, 0.02))
            for block in range(4)
            for shift in [generator.gauss(0, 0.05)]
            for item, value in (("a", 0.0), ("b", 0.02), ("c", -0.01))
        ]
        slower = compare(seen).interval("b", "a")
        covered += slower.low <= math.expm1(0.02) <= slower.high
    assert 0.91 <= covered / 300 <= 0.99


def test_a_spike_hardly_moves_a_comparison() -> None:
    seen = [Observation(item, block, 0.001 * ((block * 7) % 3)) for block in range(5) for item in "abcd"]
    seen[6] = Observation("c", 1, 0.5)
    assert abs(compare(seen).difference("c", "a")[0]) < 0.03


def test_those_that_never_met_are_compared_less_surely() -> None:
    together = compare([Observation(item, block, 0.0) for block in range(3) for item in "ab"])
    apart = compare([Observation("a", block, 0.0) for block in range(3)] + [Observation("b", 9, 0.0)] * 3)
    assert apart.difference("a", "b")[1] > 2 * together.difference("a", "b")[1]


def test_students_quantile_against_tables() -> None:
    for dof, value in ((1, 12.706), (4, 2.776), (12, 2.179), (30, 2.042), (1e9, 1.960)):
        assert t95(dof) == pytest.approx(value, rel=2e-3)


# -------------------------------------------------------------------------------------------------------------- windows


def test_windows_of_exact_steps_give_the_whole_exactly() -> None:
    step = Step(2e-11, 3e-7, 4e-4)
    n, nb = 20000, 192
    found = windows_of(step, n, nb, 6, (1.0, 0.7, 0.4, 0.15))
    assert whole_seconds(found, n, nb) == pytest.approx(sum(map(step.seconds, orders(n, nb, 10**9))), rel=1e-9)
    assert fit(found, nb) == pytest.approx(step, rel=1e-6)


def test_few_windows_still_give_a_time_and_noise_never_makes_a_negative_one() -> None:
    step = Step(2e-11, 0.0, 0.0)
    assert whole_seconds(windows_of(step, 8000, 128, 4, (0.7,)), 8000, 128) == pytest.approx(
        sum(map(step.seconds, orders(8000, 128, 10**9)))
    )
    generator = random.Random(3)
    for _ in range(50):
        noisy = [
            msgspec.structs.replace(one, seconds=one.seconds * generator.uniform(0.7, 1.4))
            for one in windows_of(step, 8000, 128, 4, (1.0, 0.7, 0.4, 0.15))
        ]
        assert min(fit(noisy, 128)) >= 0
    with pytest.raises(ValueError):
        fit([], 128)


# ---------------------------------------------------------------------------------------------------------------- space


def test_the_default_space_has_both_sides_of_the_square_and_fitting_grids() -> None:
    made = space.default(host(), n=20000)
    grids = {space.pair(str(grid)) for grid in made.axes["grid"]}
    assert any(p > q for p, q in grids) and any(p < q for p, q in grids)
    assert {"1x8", "2x4", "8x1"} <= set(made.axes["layout"])
    assert set(made.axes["binding"]) == {"packed", "spread"}
    for point in space.combinations(made, space.PRIMARY, space.canonical(made, made.defaults)):
        p, q = space.pair(str(point["grid"]))
        assert p * q == space.pair(str(point["layout"]))[0]


def test_what_cannot_matter_is_one_configuration() -> None:
    made = space.default(host(), n=20000)
    one = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "long", "swap": "binary"})
    other = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "1ring", "swap": "long"})
    assert one == other and name_of(one) == name_of(dict(reversed(other.items())))
    tall = space.canonical(made, {"layout": "2x4", "grid": "2x1", "bcast": "long", "swap": "binary"})
    assert tall["bcast"] == made.defaults["bcast"] and tall["swap"] == "binary"


def test_fixing_values() -> None:
    made = space.default(host(), n=20000)
    here = host()
    fixed = space.replace(made, {"nb": [192], "p": [2]}, here)
    assert fixed.axes["nb"] == (192,) and {space.pair(str(g))[0] for g in fixed.axes["grid"]} == {2}
    assert all(space.pair(str(layout))[0] % 2 == 0 for layout in fixed.axes["layout"])
    threads = space.replace(made, {"threads": [2]}, here)
    assert threads.axes["layout"] == ("4x2",)
    assert space.parse_fix("nb=128,192") == ("nb", [128, 192])
    assert space.parse_fix("progress-thread=true") == ("progress_thread", [True])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nbb": [1]}, "unknown parameter 'nbb'"),
        ({"nb": []}, "no value"),
        ({"p": [3]}, "no grid fits"),
        ({"threads": [0]}, "not a whole number"),
        ({"ranks": [64], "threads": [64]}, "CPUs"),
        ({"layout": ["4"]}, "with an x between"),
    ],
)
def test_what_cannot_be_searched_is_refused(given: dict[str, list[int]], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        space.replace(space.default(host(), n=20000), given, host())


def test_a_space_file_that_is_wrong_says_where(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("nb = [128, {a = 1}]\n")
    with pytest.raises(BadInput, match="nb"):
        space.read(path)
    path.write_text("nb = [128\n")
    with pytest.raises(BadInput, match="not TOML"):
        space.read(path)


# -------------------------------------------------------------------------------------------------------------- journal


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "t")
    journal.add(trial(1))
    journal.add(trial(2))
    journal.close()
    again = Journal(tmp_path / "t")
    assert again.trials == [trial(1), trial(2)] and again.session == 2 and not again.notices
    assert again.spent_s() == 4.0
    again.close()


@pytest.mark.parametrize("cut", range(2, 40, 6))
def test_a_last_line_that_was_cut_short_is_survived(tmp_path: Path, cut: int) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    journal.add(trial(2))
    journal.close()
    path = tmp_path / TRIALS
    path.write_bytes(path.read_bytes()[:-cut])
    again = Journal(tmp_path)
    kept = [trial(1)]
    assert again.trials == kept and len(again.notices) == 1
    again.add(trial(3))
    again.close()
    last = Journal(tmp_path)
    assert last.trials == [trial(1), trial(3)]
    last.close()


def test_a_last_line_that_only_lacks_its_end_is_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    journal.close()
    path = tmp_path / TRIALS
    path.write_bytes(path.read_bytes()[:-1])
    again = Journal(tmp_path)
    again.add(trial(2))
    again.close()
    last = Journal(tmp_path)
    assert last.trials == [trial(1), trial(2)] and not last.notices
    last.close()


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in (1, 2, 3):
        journal.add(trial(number))
    journal.close()
    path = tmp_path / TRIALS
    lines = path.read_bytes().split(b"\n")
    lines[1] = b"\x00\xff" * 20
    path.write_bytes(b"\n".join(lines))
    again = Journal(tmp_path)
    assert again.trials == [trial(1), trial(3)]
    assert "line 2" in again.notices[0].text
    again.close()


def test_two_tuners_in_one_folder_are_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(CannotMeasure, match="another tuner"):
        Journal(tmp_path)
    journal.close()


def test_trials_without_their_problem_are_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    with pytest.raises(StoreFailed, match=r"problem\.json"):
        journal.setup()
    journal.close()
