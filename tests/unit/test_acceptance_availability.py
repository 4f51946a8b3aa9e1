"""Availability in an acceptance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown.acceptance import availability, checking, deciding, directory, evaluating, running, verdict
from shakedown.acceptance.plan import AvailabilityTest, CommandTest, FieldEntry, ManualTest
from shakedown.cli import run as runs
from shakedown.errors import COULD_NOT_MEASURE, MET, NOT_MET, BadInput
from support.fair_tests import ran

DAY = 86400


# ---------------------------------------------------------------------------------------------------------- availability


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
    assert found.state == "not measured" and "none of the histories" in found.reason


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


def command(**more: Any) -> CommandTest:
    return CommandTest(id="t", requirements=("r",), kind="command", exit_code=0, **more)


@pytest.mark.parametrize(
    ("program", "more", "code", "state"),
    [
        ("/opt/bin/shakedown", {}, 3, "not measured"),
        ("shakedown", {}, 4, "undecided"),
        ("shakedown", {}, 1, "not met"),
        ("judge", {}, 4, "not met"),
        ("judge", {"undecided": (4, 75)}, 75, "undecided"),
        ("shakedown", {"undecided": ()}, 4, "not met"),
    ],
)
def test_exit_codes_that_decide_nothing(program: str, more: dict[str, Any], code: int, state: str) -> None:
    test = command(command=(program,), expect=("fine",), **more)
    ended = running.Ended(test="t", argv=(program,), program=program, host="h", exit_code=code, begin_ns=0, end_ns=1)
    points = verdict.command_points(test, ended, "EL = 91 %")
    assert verdict.worst(one.state for one in points) == state


def test_a_value_is_shown_with_the_digits_that_tell_it_from_its_limit() -> None:
    (field,) = [FieldEntry(name="a", title="A", type="number", unit="%", at_least="97 %")]
    from shakedown.acceptance.words import beside_bounds

    assert beside_bounds(0.96999996, field) == "96.999996 %" and beside_bounds(0.97, field) == "97 %"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('contract = "thufir"', 'contract = "thufirr"', "did you mean 'thufir'"),
        ('source = ["slurm"]', "source = []", "has no source"),
        ('source = ["slurm"]', 'source = ["a.csv"]', "relative path"),
        ('source = ["slurm"]', 'source = ["slurm"]\ntimes = 30', "the contract's window"),
        ('after = "begin"', 'after = "begun"', "both must be times"),
        ("distinct = true", "distinct = true\nrequired = false", "is another each time"),
    ],
)
def test_what_a_plan_cannot_mean_is_refused(old: str, new: str, words: str) -> None:
    from shakedown.acceptance import plan

    text, _ = plan.text_of("thufir")
    assert checking.checked(text, "p") and old in text
    with pytest.raises(BadInput) as caught:
        checking.checked(text.replace(old, new, 1), "p")
    assert words in str(caught.value)


def test_nobody_records_the_same_supply_twice(tmp_path: Path) -> None:
    text = """
name = "p"
title = "P"
[[requirement]]
id = "r"
clause = "1"
text = "It goes on."
[[test]]
id = "psu"
requirements = ["r"]
kind = "manual"
steps = ["Pull."]
subjects = ["admin", "login"]
times = 2
[[test.field]]
name = "supply"
title = "Supply"
distinct = true
[[test.field]]
name = "on"
title = "Went on"
type = "yes-no"
expect = "yes"
"""
    (tmp_path / "plan.toml").write_text(text)
    root = tmp_path / "A"
    test = directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1).plan.test("psu")
    assert isinstance(test, ManualTest)

    def record(subject: str, supply: str, on: str) -> None:
        form, files = running.filled(test, {"supply": supply, "on": on}, [], subject=subject, by="Ann")
        deciding.refuse_if_decided(directory.open_(root), test, form)
        running.record(root, test, form, files)

    record("admin", "first", "yes")
    with pytest.raises(BadInput, match="done already with the same"):
        record("admin", "first", "yes")
    record("admin", "second", "no")
    record("login", "first", "yes")
    record("login", "second", "yes")
    with pytest.raises(BadInput, match="is decided"):
        record("login", "third", "yes")
    assert evaluating.evaluate(directory.open_(root)).tests[0].state == "not met"


def test_the_words_of_a_contract_that_is_shipped_are_kept_too(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(AVAILABLE.format(contract="thufir", source="slurm"))
    root = tmp_path / "A"
    directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    assert (root / "contracts" / "there.toml").read_text() == availability.contract_text("thufir")


def test_a_check_that_failed_is_not_met_and_nothing_else_is() -> None:
    assert runs.code_of_states([ran("n1"), ran("n1", state="wrong"), ran("n1", state="failed")]) == NOT_MET
    assert runs.code_of_states([ran("n1"), ran("n1", state="failed")]) == COULD_NOT_MEASURE
    assert runs.code_of_states([ran("n1")]) == MET
