"""Verdicts as the party that would lose by them reads them: nothing is met by one host, by half a form or by trying on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.acceptance import checking, deciding, directory, evaluating, hosts, running, verdict
from shakedown.acceptance.plan import CommandTest, FieldEntry, LimitEntry, ManualTest, RunTest
from shakedown.acceptance.results import Tried
from shakedown.analysis import advice
from shakedown.errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput
from shakedown.functional_tests import batch
from shakedown.records import Case, Cpu, Finding, Gpu, Host, Job, Machine, Measurement, Memory, Notice, Residual
from shakedown.results import outcome
from shakedown.run import session
from shakedown.schedulers import JobRecord, gridengine


def host(name: str, **more: Any) -> Host:
    cpu = Cpu(model="EPYC 9654", vendor="v", architecture="x86_64", microarchitecture="Zen 4", sockets=2)
    return Host(name=name, cpu=cpu, memory=Memory(total_bytes=2**34), **more)


def machine(*found: Host) -> Machine:
    return Machine(hosts=found, discovered_ns=0, version="0")


def ran(*names: str, state: str = "ok", workload: str = "multicast") -> Measurement:
    facts = {"hosts": list(names), "mpi": "Open MPI v4.1.4"}
    return Measurement(
        run="r1",
        repeat=1,
        workload=workload,
        params={},
        host=names[0],
        state=state,  # type: ignore[arg-type]
        provenance={"facts": facts},
        begin_ns=1,
        end_ns=2,
    )


def run_test(workload: str = "multicast", **more: Any) -> RunTest:
    limit = LimitEntry(metric=f"{workload}.loss", at_most="1 %")
    return RunTest(id="t", requirements=("r",), kind="run", workload=workload, limits=(limit,), **more)


# ----------------------------------------------------------------------------------------------------------------- hosts


@pytest.mark.parametrize("workload", ["multicast", "pingpong", "dualstack", "exchange"])
def test_a_network_is_not_measured_within_one_host(workload: str) -> None:
    test = run_test(workload)
    assert hosts.needed(test) == 2 and "2 hosts" in hosts.words(test)
    kept, few = hosts.counted(test, [ran("n1", "n1", workload=workload)], machine(host("n1")))
    assert not kept and few is not None and few.state == "not measured" and "within one host" in few.found
    kept, few = hosts.counted(test, [ran("n1", "n2.site.org", workload=workload)], machine(host("n1"), host("n2")))
    assert len(kept) == 1 and few is None


def test_a_plan_may_ask_for_more_and_a_failure_stays_whatever_the_hosts() -> None:
    test = run_test(hosts=3)
    assert hosts.counted(test, [ran("n1", "n2")], machine(host("n1")))[1] is not None
    kept, few = hosts.counted(test, [ran("n1", state="wrong")], machine(host("n1")))
    assert len(kept) == 1 and few is None
    assert hosts.needed(run_test("stream")) == 1 and hosts.needed(run_test("mpi_bindings", nodes=2)) == 2


def test_hosts_of_the_wrong_kind_do_not_count() -> None:
    test = run_test("cuda", host_kind="gpu", nodes="each", hosts=2)
    gpus = (Gpu(index=0, name="H200", vendor="NVIDIA"),)
    fleet = machine(host("c1"), host("g1", gpus=gpus), host("g2", gpus=gpus))
    measured = [ran(name, workload="cuda") for name in ("c1", "g1", "g2")]
    kept, few = hosts.counted(test, measured, fleet)
    assert [one.host for one in kept] == ["g1", "g2"] and few is None
    few = hosts.counted(test, measured[:2], fleet)[1]
    assert few is not None and "1 host with GPUs (g1)" in few.found and "c1" in few.found


# --------------------------------------------------------------------------------------------------------------- reasons


def test_a_failed_check_says_what_was_wrong_in_words() -> None:
    wrong = Case(kernel="checks", params={"hosts": 2}, residual=Residual(value=3, limit=0, kind="failed checks"))
    causes = outcome.causes_of(
        [Notice(code="dualstack-failed", text="tcp over ipv6 at n1 to n2: refused"), Notice(code="load", text="busy")]
    )
    job = Job(run="r", repeat=1, argv=("x",), exit_code=1)
    state, reason = outcome.judge(job, (wrong, Case(kernel="other")), b"", "", limit_s=1, causes=causes)
    assert state == "wrong"
    assert reason == "1 of 1 checks failed: 3 failed checks (checks, hosts 2); tcp over ipv6 at n1 to n2: refused"


def test_an_advice_names_only_parameters_that_there_are() -> None:
    def one(workload: str) -> str:
        found = Finding(
            metric="m",
            unit="s",
            better="lower",
            workload=workload,
            params={},
            host="h",
            value=1.0,
            n_samples=1,
            n_runs=1,
        )
        return next(advice.weak(found)).advice

    assert "samples" in one("multicast") and "samples" not in one("dualstack") and "repeat" in one("dualstack")


def test_a_job_cancelled_before_its_start_has_no_times_and_is_no_failure() -> None:
    record = JobRecord(
        engine="gridengine", id="7", state="failed", source="accounting", submit_s=100.0, word="failed 100"
    )
    assert batch.ended(record, ("cancelled", "failed"), None, begun=False) == []
    assert batch.ended(record, ("failed",), None) == ["the accounting lacks one of its times"]
    fields = ["0"] * 45
    fields[0], fields[1], fields[3], fields[4], fields[5], fields[8] = "all.q", "n1", "u", "job", "12", "1700000000"
    (found,) = gridengine.accounting(":".join(fields))
    assert found.state == "cancelled" and found.begin_s is None and found.end_s is None


# ----------------------------------------------------------------------------------------------------------------- forms


SUPPLIES = ManualTest(
    id="psu",
    requirements=("r",),
    kind="manual",
    steps=("Pull.",),
    subjects=("admin", "login"),
    times=2,
    witness="the buyer",
    fields=(
        FieldEntry(name="supply", title="Supply", type="choice", choices=("first", "second"), distinct=True),
        FieldEntry(name="begin", title="Begin", type="time"),
        FieldEntry(name="end", title="End", type="time", after="begin"),
        FieldEntry(name="on", title="Went on", type="yes-no", expect="yes"),
    ),
)
GOOD = {"supply": "first", "begin": "2026-01-01T10:00Z", "end": "2026-01-01T10:05Z", "on": "yes"}


def fill(given: dict[str, str], **more: Any) -> Any:
    who = {"by": "Ann", "witness": "Bob", "subject": "admin", **more}
    return running.filled(SUPPLIES, {**GOOD, **given}, [], **who)


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        ({}, {"witness": ""}, "the buyer must watch"),
        ({}, {"witness": "ANN "}, "cannot be its witness"),
        ({"end": "2026-01-01T09:59Z"}, {}, "is before"),
        ({"end": "2999-01-01T09:59Z"}, {}, "has not come yet"),
    ],
)
def test_a_form_that_cannot_be_right_is_refused(given: dict[str, str], more: dict[str, str], words: str) -> None:
    assert fill({})[0].witness == "Bob"
    with pytest.raises(BadInput, match=words):
        fill(given, **more)


def test_evidence_that_was_never_checked_is_judged_all_the_same() -> None:
    form, _ = fill({})
    early = msgspec.structs.replace(form.answers[2], text="before", value=1.0)
    bad = msgspec.structs.replace(form, answers=(*form.answers[:2], early, form.answers[3]), witness="")
    states = {one.criterion: one.state for one in verdict.form_points(SUPPLIES, bad)}
    assert states["End: not before Begin"] == "not met" and states["watched by the buyer"] == "not measured"
    assert verdict.worst(one.state for one in verdict.form_points(SUPPLIES, form)) == "met"


def tried(state: Any, subject: str, supply: str) -> Tried:
    return Tried(
        number=1, entry=1, round=1, state=state, subject=subject, answers={"supply": supply}, begin_ns=0, end_ns=0
    )


def judged(*attempts: Tried) -> Any:
    return verdict.tested(SUPPLIES, attempts, ())


def test_the_same_supply_twice_is_one_supply() -> None:
    both = [tried("met", name, supply) for name in ("admin", "login") for supply in ("first", "second")]
    assert judged(*both).state == "met"
    same = judged(*both[:3], both[2])
    assert same.state == "undecided" and "1 of 2 with login" in same.reason and "Supply" in same.reason
    assert verdict.left_with(SUPPLIES, "login", same) == 1 and verdict.left_with(SUPPLIES, "admin", same) == 0


def test_other_subjects_are_recorded_after_one_failed() -> None:
    failed = judged(tried("not met", "admin", "first"))
    assert failed.state == "not met"
    assert verdict.left_with(SUPPLIES, "login", failed) == 2 and verdict.left_with(SUPPLIES, "admin", failed) == 1
    assert verdict.left_to_do(SUPPLIES, failed) == 3


# --------------------------------------------------------------------------------------------------- commands and checks


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


def test_a_check_that_failed_is_not_met_and_nothing_else_is() -> None:
    def code(*states: str, whole: bool = True, not_begun: bool = False) -> int:
        measurements = [ran("n1", state=state) for state in states]
        return session.code_of_states(session.Ran((), measurements, whole=whole, not_begun=not_begun))

    assert code("ok", "wrong", "failed") == code("wrong", not_begun=True) == NOT_MET
    assert code("ok", "failed") == code("failed", not_begun=True) == code("ok", whole=False) == COULD_NOT_MEASURE
    assert code("ok", not_begun=True) == UNDECIDED and code("ok") == MET
