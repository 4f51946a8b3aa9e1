"""The tuner's journal: what was added is read again, whatever cut it off, and one tuner writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import CannotMeasure, StoreFailed
from shakedown.tuning.journal import TRIALS, Journal
from support.tunings import trial


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
