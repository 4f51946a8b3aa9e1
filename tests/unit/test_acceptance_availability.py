"""Availability in an acceptance: asked until it is decided and no longer, judged as the contract says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown.acceptance import availability, directory, evaluating, running, verdict
from shakedown.acceptance.plan import AvailabilityTest

DAY = 86400


def csv(path: Path, days: int, down_h: float, *, planned: bool = False) -> Path:
    """A history of four nodes, the last part of which one of them was out."""
    begin, end = 1_767_225_600, 1_767_225_600 + days * DAY
    rows = ["node,start,end,kind,what,announced,processors"]
    rows += [f"node{i},{begin},{end},present,,,8" for i in range(1, 5)]
    rows.append(f"*,{begin},{end},observed,,,")
    if down_h:
        kind, told = ("maintenance", str(end - 30 * DAY)) if planned else ("hardware", "")
        rows.append(f"node1,{end - 20 * DAY},{int(end - 20 * DAY + down_h * 3600)},{kind},psu,{told},")
    path.write_text("\n".join(rows) + "\n")
    return path


CONTRACT = """
name = "ours"
title = "Availability"
source = "the contract, 4.3"
at_least = "97 %"
counting = "processors"
[window]
length = "30 d"
kind = "sliding"
met = "last"
"""
AVAILABLE = """
name = "p"
title = "P"
[[requirement]]
id = "r"
clause = "1"
text = "It is there."
[[test]]
id = "there"
requirements = ["r"]
kind = "availability"
contract = "{contract}"
source = ["{source}"]
"""


def available(tmp_path: Path, source: Path, rules: str = "") -> Path:
    (tmp_path / "ours.toml").write_text(CONTRACT + rules)
    (tmp_path / "plan.toml").write_text(AVAILABLE.format(contract=tmp_path / "ours.toml", source=source))
    root = tmp_path / "A"
    directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    return root


def look(root: Path) -> Any:
    test = directory.open_(root).plan.test("there")
    assert isinstance(test, AvailabilityTest)
    running.run_command(root, test, lambda text: None)
    return evaluating.evaluate(directory.open_(root)).tests[0]


def test_availability_is_asked_until_it_is_decided_and_no_longer(tmp_path: Path) -> None:
    source = csv(tmp_path / "history.csv", 10, 0)
    root = available(tmp_path, source)
    found = look(root)
    test = directory.open_(root).plan.test("there")
    assert found.state == "undecided" and "nothing can be judged yet" in found.reason
    assert verdict.left_to_do(test, found) == 1
    csv(source, 40, 24)
    (tmp_path / "ours.toml").write_text(CONTRACT.replace("97 %", "50 %"))  # what was sealed at the beginning counts
    found = look(root)
    assert found.state == "met" and verdict.left_to_do(test, found) == 0
    (point,) = found.attempts[-1].points
    # by hand: a day of one of four nodes in the judged window of 30 days
    assert point.value == pytest.approx(1 - 24 / (4 * 30 * 24)) and "judged window" in point.found
    assert "at least 97" in point.criterion and "no maintenance was left out" in point.found
    assert not evaluating.evaluate(directory.open_(root)).faults


def test_availability_that_is_missed_is_not_met_and_a_source_that_cannot_be_read_not_measured(tmp_path: Path) -> None:
    root = available(tmp_path, csv(tmp_path / "history.csv", 40, 19 * 24))
    assert look(root).state == "not met"
    other = tmp_path / "other"
    other.mkdir()
    (other / "empty.csv").write_text("nothing\n")
    found = look(available(other, other / "empty.csv"))
    assert found.state == "not measured" and "not a known format of histories" in found.reason


def test_announced_maintenance_is_taken_as_the_contract_says_and_said(tmp_path: Path) -> None:
    rule = """[[exclude]]
name = "announced maintenance"
kinds = ["maintenance"]
notice = "72 h"
"""
    root = available(tmp_path, csv(tmp_path / "history.csv", 40, 10 * 24, planned=True))
    lost = look(root)
    assert lost.state == "not met" and "the contract leaves them in" in lost.reason
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "ours.toml").unlink()
    root = available(other, tmp_path / "history.csv", rule)
    found = look(root)
    assert found.state == "met"
    # by hand: ten days of the 8 processors of one node
    assert "announced maintenance: 1,920.0 processor-hours taken out" in found.attempts[0].points[0].found


def test_the_words_of_a_contract_that_is_shipped_are_kept_too(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(AVAILABLE.format(contract="thufir", source="slurm"))
    root = tmp_path / "A"
    directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    assert (root / "contracts" / "there.toml").read_text() == availability.contract_text("thufir")
