"""Applications of a site: what their transcripts must hold, and what is refused. On recordings of real runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.records import Case, Job, Params, Residual
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage
from shakedown.workloads.common import application_log as log
from support.applications import RECORDED, parts, replaced

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)


@pytest.fixture(params=RECORDED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def good(name: str, recordings: Path) -> str:
    return (recordings / RECORDED[name][0]).read_text()


def parsed(name: str, text: str, params: Params | None = None) -> tuple[Case, ...]:
    parse = workloads.get(name).parse
    assert parse is not None
    return parse(text, params or {})


def state_of(name: str, text: str) -> tuple[str, str]:
    """The state of a run that printed a text, and why."""
    try:
        cases = parsed(name, text)
    except Garbage as error:
        return "garbage", str(error)
    return judge(DONE, cases, b"", "", limit_s=1)


def test_a_recording_passes_its_checks_and_the_ranks_are_one_of_them(name: str, good: str) -> None:
    cases = parsed(name, good)
    assert judge(DONE, cases, b"", "", limit_s=1) == ("ok", "")
    checks = [case.residual for case in cases if case.residual is not None]
    assert all(check.passed for check in checks) and len({check.kind for check in checks}) >= 3
    assert sum("did not see" in check.kind for check in checks) == 1
    (run,) = (case for case in cases if case.kernel == "run")
    assert str(run.params["case"]).startswith("generated") and run.residual is not None and run.work


def test_times_by_the_log_agree_with_the_time_from_outside(name: str, good: str) -> None:
    """The recordings are of small inputs, of which start and end are a part; what is longer than that is within a share."""
    run, job = (next(one for one in parsed(name, good) if one.kernel == kernel) for kernel in ("run", "job"))
    assert run.seconds[0] <= job.seconds[0] * (1 + log.CLOCKS)
    assert job.begin_ns is not None and job.end_ns is not None
    assert (job.end_ns - job.begin_ns) * 1e-9 == pytest.approx(job.seconds[0])


def test_a_log_that_is_longer_than_its_run_is_of_another_one(name: str, good: str) -> None:
    main = RECORDED[name][1]
    text = replaced(
        good, rf"^shakedown: step {main} ended after \S+ s", f"shakedown: step {main} ended after 0.500000 s"
    )
    state, why = state_of(name, text)
    assert state == "garbage" and "of another run" in why


def test_a_cut_log_is_no_time(name: str, good: str) -> None:
    """Cut at any line, and without its beginning."""
    lines = good.splitlines(keepends=True)
    for end in range(0, len(lines) - 1, max(1, len(lines) // 40)):
        with pytest.raises(Garbage):
            parsed(name, "".join(lines[:end]))
    with pytest.raises(Garbage):
        parsed(name, "".join(lines[3:]))


def test_more_ranks_than_the_program_saw_have_no_score(name: str, good: str) -> None:
    main = RECORDED[name][1]
    if name == "raxml":
        state, why = judge(DONE, parsed(name, good, {"threads": 8}), b"", "", limit_s=1)
    else:
        state, why = state_of(
            name, replaced(good, rf"^shakedown: step {main} on 2 ranks", f"shakedown: step {main} on 8 ranks")
        )
    assert state == "wrong" and "6 " in why and "of 8 that the program did not see (it saw 2)" in why


#: A line of each program's start, from which on a log is repeated where N copies ran.
COPIES = {
    "raxml": r"^(This is the RAxML Master Pthread)$",
    "examl": r"^(This is ExaML FINE-GRAIN MPI Process Number: )1$",
    "quantum_espresso": r"^( +Parallel version \(MPI\), running on +)2( processors)$",
    "neuron": r"^(network: )2 ranks$",
    "gromacs": r"^(Using )2( MPI processes)$",
    "openfoam": r"^(nProcs : )2$",
}
AS = {
    "raxml": r"\1\n\1",
    "examl": r"\g<1>0",
    "quantum_espresso": r"\g<1>1\2\n\g<1>1\2",
    "neuron": "network: 1 ranks\nnetwork: 1 ranks",
    "gromacs": r"\g<1>1\2\n\g<1>1\2",
    "openfoam": r"\g<1>1\n\g<1>1",
}


def test_copies_of_a_run_of_one_rank_have_no_score(name: str, good: str) -> None:
    state, why = state_of(name, replaced(good, COPIES[name], AS[name]))
    assert state == "wrong" and "2 times" in why


@pytest.mark.parametrize(
    ("name", "pattern", "new", "said"),
    [
        ("raxml", r"^Final ML Optimization Likelihood: -26", "Final ML Optimization Likelihood: -27", "worse than the true"),
        ("raxml", r"^Final GAMMA  likelihood: -26", "Final GAMMA  likelihood: -27", "what is expected"),
        ("raxml", r"log-likelihood -2672", "log-likelihood -2872", "what is expected"),
        ("raxml", r"^Fast ML search Time: ", "Fast ML search Time: 9", "longer than the analysis"),
        ("examl", r"^Likelihood of best tree: -26", "Likelihood of best tree: -27", "worse than the true"),
        ("examl", r"^Likelihood tree 0: -26", "Likelihood tree 0: -27", "what is expected"),
        ("quantum_espresso", r"^!(.*) -301\.390", r"!\1 -301.391", "total energy"),
        ("quantum_espresso", r"^!(.*) -301\.390\d+", r"!\1 nan", "total energy"),
        ("quantum_espresso", "convergence has been achieved", "convergence NOT achieved", "estimated accuracy"),
        ("quantum_espresso", "5.9E-10 Ry", "5.9E-07 Ry", "estimated accuracy"),
        ("quantum_espresso", r"^     PWSCF  .*WALL$", "", "PWSCF"),
        ("quantum_espresso", r"^(     PWSCF  .*CPU).*WALL$", r"\1 soon WALL", "PWSCF"),
        ("neuron", r"^network: spikes 5428, of mitral cells 153", "network: spikes 9428, of mitral cells 153", "granule"),
        ("neuron", r"^network: spikes 5428, of", "network: spikes 5528, of", "5428"),
        ("neuron", r"sha256 ab(?=(.|\n)*step reference on)", "sha256 ac", "one rank"),
        ("neuron", r"^network: psolve .*$", "network: psolve soon", "psolve"),
        ("gromacs", r"^(   -8\.\S+ +\S+ +\S+)   -1\.75\S+", r"\1   -2.00000e+03", "potential energy"),
        ("gromacs", r"^(  Conserved energy drift: -?)\S+", r"\g<1>2.0e-01", "drift"),
        ("gromacs", r"^  Conserved energy drift: .*$", "", "drift"),
        ("gromacs", r"^There are: 1536 Atoms", "There are: 1533 Atoms", "not of the input"),
        ("openfoam", r"of magSqr\(U\) = 538\.6", "of magSqr(U) = 538.7", "kinetic energy"),
        ("openfoam", r"sum\(outlet\) of phi = 20\.018", "sum(outlet) of phi = 20.019", "flow"),
        ("openfoam", r"^( +1 +\(0\.72)", r"\g<1>9", "profile"),
        ("openfoam", r"(Solving for p, .* Final residual = )\S+,", r"\g<1>0.01,", "residual of the pressure"),
        ("openfoam", r"^Time = 0\.3$", "", "9 steps of 10"),
        ("openfoam", r"totalTime +", "totalTime about ", "profiling"),
    ],
)  # fmt: skip
def test_a_spoiled_result_has_no_score(name: str, pattern: str, new: str, said: str, recordings: Path) -> None:
    good = (recordings / RECORDED[name][0]).read_text()
    state, why = state_of(name, replaced(good, pattern, new))
    assert state in ("wrong", "garbage") and said in why, (state, why)


@pytest.mark.parametrize("name", ["raxml", "quantum_espresso", "gromacs"])
def test_a_log_of_ones_own_is_read_without_our_truth(name: str, recordings: Path) -> None:
    good = (recordings / RECORDED[name][0]).read_text()
    part = parts(good, name)[RECORDED[name][1]]
    cases = parsed(name, part.files.get("run.log", part.text))
    run = cases[0]
    assert str(run.params["case"]).startswith("own") and not any(case.kernel == "job" for case in cases)
    assert run.seconds == parsed(name, good)[0].seconds
    assert run.params.get("check") == "not verified" or run.residual is not None


def test_an_own_log_of_openfoam_has_whole_seconds(recordings: Path) -> None:
    part = parts((recordings / RECORDED["openfoam"][0]).read_text(), "openfoam")["pisoFoam"]
    with pytest.raises(Garbage, match="whole seconds"):
        parsed("openfoam", part.text)
    longer = replaced(part.text, r"ClockTime = \d+ s", "ClockTime = 1368 s")
    run = parsed("openfoam", longer)[0]
    assert run.seconds == (1368.0,) and run.params["check"] == "not verified" and run.params["ranks"] == 2


def test_seconds_as_fortran_prints_them() -> None:
    assert log.seconds("13.50s") == 13.5 and log.seconds("1m 3.20s") == 63.2
    assert log.seconds("2h 5m") == 7500 and log.seconds("1d 2h 3m") == 93780
    for text in ("", "soon", "3", "1x 2s", "-"):
        with pytest.raises(Garbage):
            log.seconds(text)


def test_time_that_the_log_does_not_account_for_is_told() -> None:
    part = log.Part("run", 2, "", {}, 100.0, 1)
    assert not log.outside(part, 98.5) and "98.5" not in str(log.outside(part, 98.5))
    (told,) = log.outside(part, 90.0)
    assert told.code == "time-not-in-log" and "90.00 s" in told.text


def test_published_rows_of_another_input_are_not_laid_beside_ours(name: str, good: str) -> None:
    """The documents' inputs are others: what must agree does not."""
    from shakedown import published
    from shakedown.analysis.published_comparison import matched

    metrics = {one.name: one for one in workloads.get(name).metrics}
    ours = parsed(name, good)[0].params
    rows = [value for system in published.systems() for value in system.values if value.metric in metrics]
    assert rows or name in ("examl", "gromacs")
    for value in rows:
        metric = metrics[value.metric]
        assert "case" in metric.match and matched(metric, value.params) != matched(metric, ours)


def test_a_check_without_a_number_fails() -> None:
    assert not log.deviation(1.0, 0.0, 1.0, "nothing").passed
    assert log.deviation(1.01, 1.0, 0.02, "share") == Residual(value=pytest.approx(0.01), limit=0.02, kind="share")


def test_what_documents_publish_of_applications_is_defined_once() -> None:
    """`compare` lays runs beside published systems by metrics that are a workload's own or theirs, never both."""
    from shakedown import published

    own = {metric.name: metric for name in workloads.names() for metric in workloads.get(name).metrics}
    assert not set(published.metrics(own)) & set(own)


def test_a_log_without_its_threads_is_refused(recordings: Path) -> None:
    """RAxML's info file without the call, as a search of the spoiled logs found it."""
    (path,) = (recordings / "raxml").glob("*.log")
    spoiled = re.sub(r"RAxML was called as follows:|Master Pthread|Worker Pthread", "...", path.read_text())
    with pytest.raises(Garbage, match="on how many threads"):
        parsed("raxml", spoiled)
