"""Notices of many runs, told once."""

from __future__ import annotations

from shakedown.analysis import advice
from shakedown.records import Notice


def notice(code: str, text: str) -> Notice:
    return Notice(code=code, text=text, advice="fix it")


def test_a_code_is_told_once_with_how_many_runs_have_it() -> None:
    told = advice.common([(notice("load", "0.5"),), (), (notice("load", "0.9"),)])
    assert told == (notice("load", "0.5; 2 of 3 runs"),)


def test_several_notices_of_one_run_are_all_told_and_are_one_run() -> None:
    first = (notice("diagnosis", "panels"), notice("load", "1"), notice("diagnosis", "messages"))
    assert set(advice.common([first])) == set(first)
    texts = [one.text for one in advice.common([first, (notice("diagnosis", "rows"),)]) if one.code == "diagnosis"]
    assert texts == ["panels; 2 of 2 runs", "messages; 2 of 2 runs"]
