"""Plans: what is right is read, and everything that is wrong is named with its clause."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import campaign, workloads
from shakedown.acceptance import checking, plan
from shakedown.acceptance.plan import AvailabilityTest, CommandTest, ManualTest, RunTest
from shakedown.errors import BadInput
from shakedown.operate.availability import contract

REQUIREMENT = '[[requirement]]\nid = "r"\nclause = "7.1"\ntext = "It works."\n'
RUN = 'id = "t"\nrequirements = ["r"]\nkind = "run"\nworkload = "empty"\n'
LIMIT = '[[test.limit]]\nmetric = "empty.time"\nat_most = "1 s"\n'
COMMAND = 'id = "t"\nrequirements = ["r"]\nkind = "command"\ncommand = ["true"]\nexit_code = 0\n'
MANUAL = 'id = "t"\nrequirements = ["r"]\nkind = "manual"\nsteps = ["Look."]\n'
FIELD = '[[test.field]]\nname = "seen"\ntitle = "Seen"\ntype = "yes-no"\nexpect = "yes"\n'


def text(*tests: str, head: str = REQUIREMENT) -> str:
    return 'name = "p"\ntitle = "P"\n' + head + "".join(f"[[test]]\n{one}" for one in tests)


def refused(body: str) -> str:
    with pytest.raises(BadInput) as caught:
        checking.checked(body, "mine.toml")
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_plan_of_each_kind_is_right() -> None:
    for one in (RUN + LIMIT, COMMAND, MANUAL + FIELD):
        assert checking.checked(text(one), "mine.toml").tests[0].id == "t"


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ((RUN,), ("clause 7.1", "has no limit")),
        ((RUN + '[[test.limit]]\nmetric = "empty.time"\n',), ("clause 7.1", "neither at_least nor at_most")),
        ((RUN.replace('"empty"', '"emptie"') + LIMIT,), ("clause 7.1", "emptie", "did you mean 'empty'")),
        ((RUN + LIMIT.replace("empty.time", "empty.tine"),), ("clause 7.1", "empty.tine", "empty.time")),
        ((RUN + LIMIT.replace("1 s", "1 GB"),), ("clause 7.1", "in B", "metric in s")),
        ((RUN + LIMIT.replace('"1 s"', "5"),), ("clause 7.1", "neither a unit nor a peak")),
        (
            (RUN + LIMIT + 'of = "memory.bandwith"\n',),
            ("clause 7.1", "memory.bandwith", "did you mean 'memory.bandwidth'"),
        ),
        ((RUN + LIMIT + 'of = "fleet mean"\n',), ("clause 7.1", "did you mean 'fleet median'")),
        ((RUN + "params = { secnds = 1 }\n" + LIMIT,), ("clause 7.1", "no parameter 'secnds'", "seconds")),
        ((RUN + 'nodes = "some"\n' + LIMIT,), ("clause 7.1", "nodes")),
        ((RUN + LIMIT + 'at_least = "2 s"\n',), ("clause 7.1", "nothing can meet it")),
        ((RUN + LIMIT + 'of = "flops.fp64"\nof_metric = "empty.time"\n',), ("clause 7.1", "both")),
        ((RUN + LIMIT + 'of_metric = "stream.triad.bandwidth"\n',), ("clause 7.1", "unknown metric")),
        ((RUN + "times = 0\n" + LIMIT,), ("clause 7.1", "times: 0 is not at least 1")),
        ((RUN + 'over = "30 m"\n' + LIMIT,), ("clause 7.1", "not a duration above zero")),
        ((RUN.replace('["r"]', '["q"]') + LIMIT,), ("'q'", "not a requirement")),
        ((RUN.replace('"t"', '"../t"') + LIMIT,), ("../t", "not a valid id")),
        ((RUN + LIMIT, COMMAND), ("there are 2 of this id",)),
        ((COMMAND.replace("exit_code = 0\n", ""),), ("clause 7.1", "no criterion")),
        ((COMMAND.replace('["true"]', "[]"),), ("clause 7.1", "empty command")),
        ((COMMAND.replace('"true"', '"./true"'),), ("clause 7.1", "relative path")),
        ((COMMAND + "expect = ['(']\n",), ("clause 7.1", "not a valid pattern")),
        ((COMMAND + "[[test.value]]\nname = 'x'\npattern = 'x'\nat_least = 1\n",), ("clause 7.1", "no group")),
        ((COMMAND + "[[test.value]]\nname = 'x'\npattern = '(.)'\n",), ("clause 7.1", "neither at_least nor at_most")),
        ((COMMAND + 'awaits = "it"\n',), ("clause 7.1", "still `awaits`")),
        ((MANUAL + FIELD.replace('expect = "yes"\n', ""),), ("clause 7.1", "no criterion")),
        ((MANUAL + FIELD.replace('"yes"\n', '"maybe"\n'),), ("clause 7.1", "'maybe'")),
        ((MANUAL + FIELD + "required = false\n",), ("clause 7.1", "not required")),
        ((MANUAL + FIELD + FIELD,), ("clause 7.1", "twice")),
        ((MANUAL.replace('["Look."]', "[]") + FIELD,), ("clause 7.1", "no steps")),
        ((RUN.replace("workload", "worklod") + LIMIT,), ("clause 7.1", "worklod", "did you mean 'workload'")),
        ((RUN.replace('"run"', '"rum"') + LIMIT,), ("clause 7.1", "rum", "did you mean 'run'")),
        ((RUN + "repeat = { interval = 2.0 }\n" + LIMIT,), ("clause 7.1", "interval 2", "fraction")),
        ((RUN + 'outside = true\nnodes = "all"\n' + LIMIT,), ("clause 7.1", "outside")),
    ],
)
def test_what_is_wrong_is_named_with_its_clause(tests: tuple[str, ...], words: tuple[str, ...]) -> None:
    said = refused(text(*tests))
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "p"', 'name = "../p"', "not a valid name"),
        ('title = "P"', 'title = "P"\nsignatories = ["buyer", "buyer"]', "2 of this role"),
        ('clause = "7.1"', 'clause = " "', "clause says nothing"),
        ('text = "It works."', 'text = ""', "text says nothing"),
    ],
)
def test_what_a_report_could_not_be_made_of_is_refused(old: str, new: str, words: str) -> None:
    assert words in refused(text(COMMAND).replace(old, new))


def test_what_is_wrong_with_every_combination_of_a_sweep_is_said_once() -> None:
    body = RUN + "params = { secnds = 1 }\nsweep = { tag = [1, 2, 3] }\n" + LIMIT
    assert refused(text(body)).count("no parameter 'secnds'") == 1


def test_a_clause_with_two_requirements_names_neither() -> None:
    two = REQUIREMENT + REQUIREMENT.replace('"r"', '"s"')
    found = checking.checked(text(COMMAND.replace('["r"]', '["r", "s"]'), head=two), "mine.toml")
    assert found.requirement("s").id == "s"
    with pytest.raises(BadInput, match="2 requirements") as caught:
        found.requirement("7.1")
    assert "r, s" in str(caught.value)


def test_a_requirement_without_a_test_is_an_error() -> None:
    other = REQUIREMENT.replace('"r"', '"lonely"').replace("7.1", "9.9")
    said = refused(text(COMMAND, head=REQUIREMENT + other))
    assert "clause 9.9" in said and "has no test" in said


def test_everything_that_is_wrong_is_said_at_once() -> None:
    said = refused(text(RUN, COMMAND.replace('"t"', '"u"').replace("exit_code = 0\n", "")))
    assert "has no limit" in said and "has no criterion" in said


def test_a_test_may_await_a_workload_that_is_not_there_yet() -> None:
    body = RUN.replace('"empty"', '"not_written_yet"') + 'awaits = "the workload not_written_yet"\n' + LIMIT
    found = checking.checked(text(body), "mine.toml")
    assert checking.waits(found.tests[0]) == "the workload not_written_yet"
    assert "unknown workload" in refused(text(body.replace("awaits", "note")))


def test_a_test_that_awaits_a_workload_that_is_there_is_checked() -> None:
    body = RUN + 'awaits = "the workload empty"\n' + LIMIT
    assert checking.waits(checking.checked(text(body), "mine.toml").tests[0]) == ""
    assert "unknown metric" in refused(text(body.replace("empty.time", "empty.tine")))


# ------------------------------------------------------------------------------------------------------------- shipped


def test_the_shipped_plans_are_right() -> None:
    assert set(plan.names()) >= {"thufir", "generic-gpu-cluster"}
    for name in plan.names():
        checking.load(name)


def test_thufir_holds_all_demonstrations_in_the_order_of_the_document() -> None:
    found, _ = checking.load("thufir")
    clauses = [one.clause for one in found.requirements]
    assert clauses == [*(f"3.3 ({number})" for number in range(1, 18)), "3.4, equation (1)", "3"]
    assert all(one.text.startswith("Demonstrate ") for one in found.requirements[:17])
    kinds = {one.id: one.kind for one in found.tests}
    assert kinds["remove-power-supply"] == kinds["orderly-halt"] == kinds["restart"] == "manual"
    assert next(one for one in found.tests if one.id == "emane").kind == "command"
    for name in ("path-loss", "path-loss-gpus"):
        path_loss = found.test(name)
        assert isinstance(path_loss, RunTest) and checking.waits(path_loss) and path_loss.limits[0].at_most == "0.5 s"
    # 97 % over 30 days
    effectiveness = found.test("effectiveness")
    assert isinstance(effectiveness, AvailabilityTest) and effectiveness.times == 1 and not effectiveness.over
    agreed = contract.load(effectiveness.contract)
    assert agreed.target == Fraction(97, 100) and agreed.window_s == 30 * 86400


def test_the_generic_plan_goes_through_the_usual_phases() -> None:
    found, _ = checking.load("generic-gpu-cluster")
    phases = list(dict.fromkeys(one.phase for one in found.requirements))
    assert phases == ["Inventory", "Functionality", "Performance", "Stability"]
    fleet = [
        test.workload
        for test in found.tests
        if isinstance(test, RunTest) and test.nodes == "each" and any(one.of == "fleet median" for one in test.limits)
    ]
    assert {"stream", "gemm", "hpl"} <= set(fleet)


def test_every_limit_of_the_shipped_plans_says_where_its_number_is_from() -> None:
    for name in plan.names():
        for test in checking.load(name)[0].tests:
            entries = test.limits if isinstance(test, RunTest) else test.values if isinstance(test, CommandTest) else ()
            assert all(one.source for one in entries), (name, test.id)


# ------------------------------------------------------------------------------------------------------------ campaigns


def test_the_campaign_of_a_plan_is_one_that_can_be_read() -> None:
    found, _ = checking.load("generic-gpu-cluster")
    tests = [one for one in found.tests if isinstance(one, RunTest) and not checking.waits(one)]
    read = campaign.parse(plan.campaign_toml(found, tests), "made")
    assert [entry.workload for entry in read.runs] == [one.workload for one in tests]
    assert [entry.nodes for entry in read.runs] == [one.nodes for one in tests]
    stream = next(entry for entry in read.runs if entry.workload == "stream")
    assert stream.repeat is not None and stream.repeat.min == 3


VALUES = st.recursive(
    st.one_of(
        st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters(exclude_categories=["Cs"]))
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab c\"'.\n", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_written_as_toml_is_read_back(value: object) -> None:
    assert tomllib.loads(f"x = {plan.to_toml(value)}")["x"] == value


def test_how_often_a_run_is_repeated() -> None:
    base = text(RUN + "times = 4\nrepeat = { min = 2, max = 9, interval = 0.02 }\n" + LIMIT)
    test = checking.checked(base, "p").tests[0]
    assert isinstance(test, RunTest)
    entry = plan.run_entry(test, plan.repeats_of(test))
    assert entry.repeat == campaign.Repeat(min=4, max=9, interval=0.02)
    spread = checking.checked(text(RUN + 'times = 4\nover = "3 d"\n' + LIMIT), "p").tests[0]
    assert isinstance(spread, RunTest) and plan.repeats_of(spread) == 1


def test_clauses_are_named() -> None:
    two = REQUIREMENT + REQUIREMENT.replace('"r"', '"s"').replace("7.1", "7.2")
    found = checking.checked(text(MANUAL.replace('["r"]', '["r", "s"]') + FIELD, head=two), "p")
    assert found.clauses(found.tests[0]) == "clauses 7.1, 7.2"
    assert found.requirement("7.2").id == "s" and isinstance(found.tests[0], ManualTest)
    with pytest.raises(BadInput, match="unknown requirement"):
        found.requirement("7.3")


def test_every_metric_named_in_the_plans_exists_where_its_workload_does() -> None:
    for name in plan.names():
        for test in checking.load(name)[0].tests:
            if isinstance(test, RunTest) and test.workload in workloads.names():
                known = {metric.name for metric in workloads.get(test.workload).metrics}
                assert {limit.metric for limit in test.limits} <= known


def test_what_submits_jobs_itself_runs_outside_of_the_job() -> None:
    for name in plan.names():
        runs = [one for one in checking.load(name)[0].tests if isinstance(one, RunTest)]
        assert [one.workload for one in runs if one.outside] == ["batch"]
