"""Burn-in: a journal becomes a verdict, whatever cut it off, and the same one every time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure
from shakedown.operate.burnin import journal, options, report
from shakedown.operate.burnin.journal import Journal
from shakedown.operate.burnin.records import (
    NODE,
    Begin,
    BurninPlan,
    Device,
    Drill,
    End,
    Entry,
    Minute,
    Range,
    Stage,
    Symptom,
    SymptomEntry,
    Turn,
    WorkerEnd,
)
from shakedown.operate.burnin.state import MOST_TOLD, BurninState, fold

T0 = 1_700_000_000.0
DEVICES = (
    Device(id="gpu:0", title="GPU 0", pci="0000:9b:00", index=0),
    Device(id="gpu:1", title="GPU 1", pci="0000:9c:00", index=1),
)
PLAN = BurninPlan(version="1", host="n1", devices=DEVICES, seconds=600, stages=(Stage(work="product", seconds=60),))
WORK = WorkerEnd(products=100, flop=1e12, product_s=100.0)


def symptom(device: str = "gpu:1", at_s: float = T0 + 200, kind: str = "corruption", **more: object) -> SymptomEntry:
    fields = {"severity": "critical", "what": "w", **more}
    return SymptomEntry(symptom=Symptom(at_s=at_s, device=device, kind=kind, **fields))  # type: ignore[arg-type]


def begun(at_s: float = T0) -> list[Entry]:
    return [
        Begin(at_s=at_s, boot="b", notes=("n",)),
        *(Turn(at_s=at_s + 1, device=one.id, state="running") for one in DEVICES),
    ]


def minute(at_s: float, **done: WorkerEnd) -> Minute:
    held = {one.id: done.get(one.id.replace(":", ""), WORK) for one in DEVICES}
    return Minute(at_s=at_s, done=held, figures={"gpu:0": {"power_w": Range(low=690, high=700)}})


def ended(at_s: float = T0 + 600, why: str = "time") -> list[Entry]:
    turns = [Turn(at_s=at_s, device=one.id, state="ended") for one in DEVICES]
    return [*turns, minute(at_s), End(at_s=at_s, why=why)]  # type: ignore[arg-type]


def test_all_well_to_the_end_is_passed() -> None:
    found = fold(PLAN, [*begun(), *ended()]).report()
    assert (found.judgement, found.exit_code, found.burnt_s) == ("passed", 0, 600)
    assert found.devices[0].rate_flops == pytest.approx(1e10)
    assert found.devices[0].figures["power_w"] == Range(low=690, high=700)
    assert found.first is None and found.notes == ("n",)


def test_one_critical_symptom_fails_its_device_and_the_node_only() -> None:
    found = fold(PLAN, [*begun(), symptom(), *ended()]).report()
    assert found.exit_code == 1
    assert [one.judgement for one in found.devices] == ["passed", "failed"]
    assert found.first is not None and found.first.device == "gpu:1"


def test_a_symptom_of_the_node_fails_it_though_every_device_passed() -> None:
    found = fold(PLAN, [*begun(), symptom(NODE, kind="machine-check"), *ended()]).report()
    assert (found.judgement, found.exit_code) == ("failed", 1)
    assert {one.judgement for one in found.devices} == {"passed"}
    assert found.node_symptoms == {"machine-check": 1}


def test_the_first_symptom_is_the_earliest_not_the_first_to_be_told() -> None:
    entries = [*begun(), symptom("gpu:0", T0 + 205), symptom("gpu:1", T0 + 203), *ended()]
    found = fold(PLAN, entries).report()
    assert found.first is not None and found.first.device == "gpu:1"


def test_a_warning_is_told_and_fails_nothing() -> None:
    found = fold(PLAN, [*begun(), symptom(severity="warning", kind="slowed"), *ended()]).report()
    assert found.exit_code == 0 and found.devices[1].judgement == "passed"
    assert found.devices[1].symptoms == {"slowed": 1} and found.devices[1].first_warning is not None


@pytest.mark.parametrize("seconds", [0, 1, 300, 587])
def test_too_short_is_no_pass(seconds: float) -> None:
    found = fold(PLAN, [*begun(), *ended(T0 + seconds, "signal")]).report()
    assert (found.judgement, found.exit_code) == ("unfinished", 3)


def test_a_device_that_did_nothing_was_not_tested() -> None:
    entries = [
        *begun(),
        Turn(at_s=T0 + 2, device="gpu:0", state="refused", why="no memory"),
        minute(T0 + 600, gpu0=WorkerEnd()),
        Turn(at_s=T0 + 600, device="gpu:1", state="ended"),
        End(at_s=T0 + 600, why="time"),
    ]
    found = fold(PLAN, entries).report()
    assert [one.judgement for one in found.devices] == ["not tested", "passed"]
    assert (found.judgement, found.exit_code) == ("not tested", 3)


CORES = tuple(Device(id=f"cpu:{at}", title=f"CPU {at}", cpus=(at,)) for at in range(2))


@pytest.mark.parametrize(
    ("devices", "there", "judgement", "covered", "code"),
    [
        (CORES[:1], {"core": 2}, "passed in part", "1 of 2 cores", 3),
        (CORES, {"core": 2}, "passed", "2 of 2 cores", 0),
        (DEVICES, {"core": 64, "GPU": 2}, "passed", "0 of 64 cores, 2 of 2 GPUs", 0),  # GPUs were what was asked for
        ((DEVICES[0], *CORES), {"core": 2, "GPU": 2}, "passed in part", "2 of 2 cores, 1 of 2 GPUs", 3),
        (CORES[:1], {}, "passed", "", 0),  # a journal from before, or a kernel that does not tell
    ],
)
def test_a_part_of_the_node_is_no_pass_of_the_node(
    devices: tuple[Device, ...], there: dict[str, int], judgement: str, covered: str, code: int
) -> None:
    plan = msgspec.structs.replace(PLAN, devices=devices, there=there)
    turns: list[Entry] = [Turn(at_s=T0 + 600, device=one.id, state="ended") for one in devices]
    work = Minute(at_s=T0 + 600, done={one.id: WORK for one in devices}, figures={})
    entries = [Begin(at_s=T0, boot="b"), *turns, work, End(at_s=T0 + 600, why="time")]
    found = fold(plan, entries).report()
    assert (found.judgement, found.covered, found.exit_code) == (judgement, covered, code)
    head = report.text(found).splitlines()[0]
    assert head == f"burn-in of n1: {judgement.upper()}{f' ({covered})' if covered else ''}"
    assert {one.judgement for one in found.devices} == {"passed"}
    failed = fold(plan, [*entries[:1], symptom(devices[0].id), *entries[1:]]).report()
    assert (failed.judgement, failed.exit_code) == ("failed", 1)


def test_a_burnin_under_way_is_running_until_it_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    journal.create(folder, PLAN)
    kept = Journal(folder)
    for entry in begun():
        kept.add(entry)
    found = options.again(folder)  # nobody has finished a product yet
    assert (found.judgement, found.exit_code, found.why) == ("running", 4, "under way")
    assert {one.judgement for one in found.devices} == {"running"}
    assert "burn-in of n1: RUNNING" in report.text(found) and "still running" in report.text(found)
    kept.add(minute(T0 + 300))
    assert options.again(folder).judgement == "running"
    kept.add(symptom())
    found = options.again(folder)
    assert (found.judgement, found.exit_code) == ("failed", 1)  # what has failed cannot pass any more
    assert [one.judgement for one in found.devices] == ["running", "failed"]
    kept.close()
    found = options.again(folder)
    assert [one.judgement for one in found.devices] == ["unfinished", "failed"]


def test_an_empty_journal_is_no_pass() -> None:
    found = BurninState(PLAN).report()
    assert (found.judgement, found.exit_code, found.burnt_s) == ("not tested", 3, 0)
    assert "NOT TESTED" in report.text(found)


def test_faults_that_were_counted_and_not_told_fail_all_the_same() -> None:
    silent = WorkerEnd(products=100, flop=1e12, product_s=100.0, faults=1)
    found = fold(PLAN, [*begun(), *ended()[:2], minute(T0 + 600, gpu0=silent), End(at_s=T0 + 600, why="time")]).report()
    assert (found.devices[0].judgement, found.exit_code) == ("failed", 1)


def test_a_drill_is_marked_in_every_form() -> None:
    drilled = msgspec.structs.replace(PLAN, drills=(Drill(device="gpu:1", kind="result"),))
    found = fold(drilled, [*begun(), symptom(), *ended()]).report()
    assert found.drill and "DRILL" in report.text(found)


def test_sessions_add_up_and_what_lay_between_does_not_count() -> None:
    entries = [*begun(), minute(T0 + 300), *begun(T0 + 5000), symptom(at_s=T0 + 5010), *ended(T0 + 5300)]
    found = fold(PLAN, entries).report()
    assert (found.burnt_s, found.sessions) == (600, 2)
    assert found.devices[0].done.products == 200
    assert found.devices[1].judgement == "failed"


def test_a_symptom_of_an_earlier_session_is_not_forgotten() -> None:
    found = fold(PLAN, [*begun(), symptom(), minute(T0 + 300), *begun(T0 + 5000), *ended(T0 + 5300)]).report()
    assert found.exit_code == 1 and found.first is not None and found.first.at_s == T0 + 200


def test_a_slow_stretch_shows() -> None:
    slow = WorkerEnd(products=110, flop=1.1e12, product_s=140.0)
    found = fold(
        PLAN, [*begun(), minute(T0 + 100), minute(T0 + 140, gpu0=slow), End(at_s=T0 + 600, why="time")]
    ).report()
    assert found.devices[0].slowest_flops == pytest.approx(2.5e9)


def test_thousands_of_symptoms_are_counted_and_some_are_kept() -> None:
    many = [symptom(at_s=T0 + 10 + number) for number in range(MOST_TOLD + 30)]
    counted = Minute(at_s=T0 + 500, done={"gpu:0": WORK, "gpu:1": WORK}, figures={}, more={"gpu:1 corruption": 1000})
    found = fold(PLAN, [*begun(), *many, counted, *ended()]).report()
    assert found.devices[1].symptoms["corruption"] == MOST_TOLD + 1030
    assert len(found.symptoms) == MOST_TOLD


@given(st.lists(st.sampled_from(["gpu:0", "gpu:1", NODE]), max_size=8), st.integers(0, 30))
def test_a_prefix_of_a_journal_never_passes_and_never_loses_a_failure(devices: list[str], cut: int) -> None:
    entries = [*begun(), *(symptom(name, T0 + 50 + at) for at, name in enumerate(devices)), *ended()]
    whole, part = fold(PLAN, entries).report(), fold(PLAN, entries[:cut]).report()
    assert whole.exit_code == (1 if devices else 0)
    if cut < len(entries) - 2:
        assert part.exit_code != 0
    if part.exit_code == 1:
        assert whole.exit_code == 1


def test_the_text_tells_when_where_what_and_what_the_others_did() -> None:
    told = symptom(
        what="silent corruption in C(1, 2)",
        action="replace it",
        stage="steps",
        since_start_s=200.0,
        doing={"gpu:0": "steps of 0.1 s, 70 degC, 700 W", "gpu:1": "steps of 0.1 s"},
    )
    text = report.text(fold(PLAN, [*begun(), told, *ended()]).report())
    for words in ("FAILED", "3 min 20 s after the start", "gpu:1, during steps", "C(1, 2)", "next: replace it"):
        assert words in text
    assert "then: gpu:0: steps of 0.1 s, 70 degC, 700 W" in text


# --------------------------------------------------------------------------------------------------------------- journal


def test_a_journal_gives_back_what_was_put_in(tmp_path: Path) -> None:
    journal.create(tmp_path / "b", PLAN)
    kept = Journal(tmp_path / "b")
    entries = [*begun(), symptom(), *ended()]
    for entry in entries:
        kept.add(entry)
    kept.close()
    assert journal.read_plan(tmp_path / "b") == PLAN
    assert list(journal.entries(tmp_path / "b")) == entries
    assert options.again(tmp_path / "b") == fold(PLAN, entries).report()


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_a_crash_cut_short_costs_that_line_alone(tmp_path: Path, cut: int) -> None:
    journal.create(tmp_path / "b", PLAN)
    kept = Journal(tmp_path / "b")
    for entry in begun():
        kept.add(entry)
    kept.add(minute(T0 + 100))
    kept.close()
    data = kept.path.read_bytes()
    kept.path.write_bytes(data[:-cut])
    assert len(list(journal.entries(tmp_path / "b"))) == 3
    again = Journal(tmp_path / "b")
    again.add(minute(T0 + 200))
    again.close()
    found = list(journal.entries(tmp_path / "b"))
    assert len(found) == 4 and found[-1] == minute(T0 + 200)


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    journal.create(tmp_path / "b", PLAN)
    first = Journal(tmp_path / "b")
    with pytest.raises(CannotMeasure, match="another process"):
        Journal(tmp_path / "b")
    first.close()
    Journal(tmp_path / "b").close()


def test_a_folder_that_holds_something_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    with pytest.raises(BadInput, match="not empty"):
        journal.create(tmp_path, PLAN)
    with pytest.raises(BadInput, match="is not a burn-in"):
        journal.read_plan(tmp_path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    journal.create(tmp_path / "b", PLAN)
    (tmp_path / "b" / journal.ENTRIES).write_bytes(b'{"entry":"begin","at_s":"soon"}\n')
    with pytest.raises(BadInput, match="line 1"):
        list(journal.entries(tmp_path / "b"))
