"""Why a requirement is not met: the causes that a run knows, each once, the dearest first; and the command of a run."""

from __future__ import annotations

import shlex

import msgspec
import pytest

from shakedown import campaign, workloads
from shakedown.analysis import causes, commands, summary
from shakedown.analysis.advice import disturbed
from shakedown.campaign import plan
from shakedown.cli import _chosen
from shakedown.cli.machine import lines
from shakedown.records import Disturbance, Finding, Host, Machine, Notice, Outcome, Setting, Verdict
from support import analyses, measured

CORETYPE = Setting(
    name="kernels of libraries",
    value="OPENBLAS_CORETYPE=Haswell",
    state="warn",
    effect="a library held to another processor's kernels",
    advice="unset OPENBLAS_CORETYPE",
)
PAGES = Setting(
    name="transparent huge pages", value="never", state="warn", effect="TLB misses", advice="echo always > enabled"
)
GOVERNOR = Setting(
    name="clock governor", value="powersave", state="warn", effect="a low clock", advice="cpupower frequency-set"
)


def outcome(run: str, other: float = 0.0, steal: float = 0.0, load: float = 0.0) -> Outcome:
    seen = Disturbance(load_before=load, steal_fraction=steal, other_cpu_fraction=other)
    return Outcome(
        run=run,
        repeat=1,
        workload="gemm",
        label=run,
        host="n1",
        state="ok",
        notices=tuple(disturbed(seen, 2)),
        disturbance=seen,
    )


def host(*settings: Setting) -> Host:
    return msgspec.structs.replace(measured.host("n1"), settings=settings)


def missed(library: str = "openblas 0.3.34", run: str = "a", **changes: object) -> Verdict:
    finding = Finding(
        metric="gemm.dgemm.rate",
        unit="flop/s",
        better="higher",
        workload="gemm",
        params={"library": library, "threads": 2},
        host="n1",
        value=102e9,
        runs=(run,),
    )
    asked = "DGEMM rate: at least 70 % of flops.fp64 (230 Gflop/s, derived) on n1 [rule of thumb]"
    verdict = Verdict(requirement=asked, state="not met", evidence="measured 102 Gflop/s", finding=finding)
    return msgspec.structs.replace(verdict, **changes)


def test_what_is_set_wrongly_stands_beside_the_verdict_the_dearest_first() -> None:
    found = causes.of_verdict(missed(), [outcome("a")], [host(PAGES, CORETYPE)])
    assert ["OPENBLAS_CORETYPE=Haswell" in found[0].text, "transparent huge pages" in found[1].text] == [True, True]
    assert found[0].advice == "unset OPENBLAS_CORETYPE"
    assert "OPENBLAS_CORETYPE=Haswell" in summary.why(missed(causes=found))


@pytest.mark.parametrize("library", ["blis 0.9.0", "mkl 2024", "libnvpl_blas.so"])
def test_a_variable_of_another_library_is_no_cause(library: str) -> None:
    assert causes.of_verdict(missed(library), [outcome("a")], [host(CORETYPE)]) == ()


def test_only_what_disturbed_its_own_runs_and_its_own_host_counts() -> None:
    runs = [outcome("a", other=0.02), outcome("b", other=0.6)]
    elsewhere = msgspec.structs.replace(host(GOVERNOR), name="n2")
    assert causes.of_verdict(missed(), runs, [host(), elsewhere]) == ()
    found = causes.of_verdict(missed(run="b"), runs, [host(), elsewhere])
    assert [(one.text, one.cost) for one in found] == [("other processes used 60 % of the CPU time", 0.6)]


def test_a_requirement_that_is_met_has_no_cause_and_one_without_cause_says_so() -> None:
    assert causes.of_verdict(missed(state="met"), [outcome("a", other=0.6)], [host(CORETYPE)]) == ()
    assert "No cause is known" in summary.why(missed())


def test_other_work_and_the_load_that_it_made_are_one_cause_with_its_range() -> None:
    runs = [outcome("a", other=0.1, load=3.0), outcome("b", other=0.5, load=4.0), outcome("c")]
    found = causes.disturbances(runs)
    assert [one.text for one in found] == ["other processes used 10 to 50 % of the CPU time (2 of 3 runs)"]
    assert found[0].cost == 0.5 and causes.disturbed(runs) == runs[:2]


def test_what_to_fix_is_told_once_and_ordered_by_what_it_costs() -> None:
    twice = [Notice(code="diagnosis", text=f"{word} late", advice="a larger N") for word in ("panels", "rows")]
    runs = [outcome("a", other=0.1, steal=0.6)]
    finding = missed().finding
    assert finding is not None
    found = causes.to_fix(twice, runs, [finding], [host(PAGES, CORETYPE, GOVERNOR)])
    words = [
        "hypervisor",
        "kernels of libraries",
        "clock governor",
        "other processes",
        "panels late",
        "transparent huge",
    ]
    assert [word in one.text for one, word in zip(found, words, strict=True)] == [True] * len(words)
    costs = [one.cost or 0.0 for one in found]
    assert costs == sorted(costs, reverse=True)
    unused = causes.to_fix((), [], [], [host(CORETYPE)])
    assert [one.cost for one in unused] == [0.0]


def test_a_setting_that_is_wrong_on_many_hosts_is_told_once() -> None:
    many = [msgspec.structs.replace(host(PAGES, GOVERNOR), name=f"n{number}") for number in range(1000)]
    finding = missed().finding
    assert finding is not None
    found = causes.to_fix((), [], [finding], many)
    assert [one.text.partition(":")[0] for one in found] == [
        "clock governor on 1,000 hosts",
        "transparent huge pages on 1,000 hosts",
    ]


def test_what_costs_nothing_stands_behind_what_is_not_known() -> None:
    made = [causes.Cause(text=word, cost=cost) for word, cost in (("none", 0.0), ("unknown", None), ("much", 0.5))]
    assert [one.text for one in causes.in_order([*made, made[0]])] == ["much", "unknown", "none"]


def test_the_machine_shows_the_dearest_setting_first() -> None:
    machine = Machine(version="0", discovered_ns=0, hosts=(host(PAGES, GOVERNOR, CORETYPE),))
    text = "\n".join(lines(machine))
    places = [text.index(one.name) for one in (CORETYPE, GOVERNOR, PAGES)]
    assert places == sorted(places)


def test_the_summary_says_how_many_runs_were_disturbed_and_by_what() -> None:
    analysis = msgspec.structs.replace(analyses.nothing(), outcomes=(outcome("a", other=0.5), outcome("b")))
    assert summary.whether_it_counts(analysis).startswith("1 of 2 runs was disturbed: other processes used 50 %")
    quiet = msgspec.structs.replace(analysis, outcomes=(outcome("b"),))
    assert summary.whether_it_counts(quiet) == ""


@pytest.mark.parametrize(
    ("name", "params"),
    [
        (
            "stream",
            {"sizes": "8192,16384", "threads": "1,2", "kernels": "copy,triad", "variant": "both", "samples": 10},
        ),
        ("hpl", {"n": "1000,2000", "nb": "64", "p": "1", "q": "2"}),
        ("pingpong", {"ranks": 2, "sizes": "8,1024", "pairs": "all"}),
        ("probe", {"threads": 1}),
    ],
)
def test_the_command_of_a_run_asks_for_the_same_run(name: str, params: dict[str, object]) -> None:
    """The command line, read as `run` reads it, gives the parameters that the run had."""
    known = workloads.get(name).params
    full = {key: param.default for key, param in known.items()} | params
    run = plan.Run(id="x", workload=name, params=full, label="", estimate_s=1, limit_s=1)
    words = shlex.split(commands.of_run(run))
    assert words[:3] == ["shakedown", "run", name]
    asked = campaign.parse(_chosen.campaign(name, words[3:])[0], "")
    (entry,) = asked.runs
    given = {key: str(value) for key, value in entry.params.items()}
    assert not entry.sweep and given == {
        key: str(value) for key, value in params.items() if value != known[key].default
    }
