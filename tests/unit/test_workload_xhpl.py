"""A site's HPL: every implementation's output is read, a failed or missing check is no score, what is wrong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Case, Job, Params, Software
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, xhpl
from shakedown.workloads.common import hpl_dat
from support.machines import OPEN_MPI, machine
from support.workloads import params_of

HEAD = "T/V                N    NB     P     Q               Time                 Gflops\n" + 80 * "-" + "\n"
LIMIT = "- Computational tests pass if scaled residuals are less than                {}\n"
LINE = "{code:<12}{n:>8}{nb:>6}{p:>6}{q:>6}{time:>19.2f}{gflops:>23.4e}\n"
RESIDUAL = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {:>16} ...... {}\n"
END = "\nFinished {:>6} tests with the following results:\n\nEnd of Tests.\n" + 80 * "=" + "\n"


def result(code: str = "WR11C2R4", n: int = 8000, seconds: float = 4.0, **grid: int) -> str:
    gflops = ((2 / 3) * n**3 + 1.5 * n**2) / seconds / 1e9
    return HEAD + LINE.format(code=code, n=n, nb=192, **{"p": 1, "q": 2, **grid}, time=seconds, gflops=gflops)


def output(*parts: str, limit: str = "16.0") -> str:
    return LIMIT.format(limit) + "".join(parts) + END.format(sum(part.startswith("T/V") for part in parts))


def cases(text: str, **params: str | int) -> tuple[Case, ...]:
    return xhpl.parse(text, dict(params))


def test_each_line_is_a_case_with_what_its_code_says() -> None:
    passed = RESIDUAL.format("4.0e-03", "PASSED")
    first, second = cases(output(result(), passed, result("WC05L3C16", 16000, 30.0, p=2, q=1), passed), threads=1)
    assert first.params == {
        "n": 8000,
        "nb": 192,
        "p": 1,
        "q": 2,
        "ranks": 2,
        "threads": 1,
        "implementation": "netlib",
        "mapping": "row",
        "depth": 1,
        "bcast": "1ringM",
        "rfact": "crout",
        "ndiv": 2,
        "pfact": "right",
        "nbmin": 4,
    }
    assert second.params | {"mapping": "column", "depth": 0, "bcast": "longM", "rfact": "left"} == second.params
    assert second.params | {"ndiv": 3, "pfact": "crout", "nbmin": 16, "p": 2, "q": 1, "n": 16000} == second.params
    for case, seconds in ((first, 4.0), (second, 30.0)):
        assert case.seconds[0] == pytest.approx(seconds, rel=1e-4)
        n = float(case.params["n"])
        assert case.work == {"flop": (2 / 3) * n**3 + 1.5 * n**2}
        assert case.residual is not None and case.residual.passed and case.residual.limit == 16


@pytest.mark.parametrize(
    ("printed", "word"),
    [("1.7e+01", "FAILED"), ("nan", "FAILED"), ("-nan", "FAILED"), ("inf", "FAILED"), ("3.1e+01", "PASSED")],
)
def test_a_failed_residual_is_no_score(printed: str, word: str) -> None:
    found = cases(output(result(), RESIDUAL.format("2e-03", "PASSED"), result(), RESIDUAL.format(printed, word)))
    assert [case.residual is not None and case.residual.passed for case in found] == [True, False]
    state, reason = judge(Job(run="r", repeat=1, argv=(), exit_code=0), found, b"", "", limit_s=1)
    assert state == "wrong" and "1 of 2 checks failed" in reason


def test_a_word_that_does_not_fit_the_number_is_believed_to_have_failed() -> None:
    (case,) = cases(output(result(), RESIDUAL.format("2.0e-03", "FAILED")))
    assert case.residual is not None and not case.residual.passed


def test_the_threshold_is_the_one_that_the_text_states() -> None:
    (case,) = cases(output(result(), RESIDUAL.format("2.0e+00", "PASSED"), limit="1.0"))
    assert case.residual is not None and case.residual.limit == 1 and not case.residual.passed


def test_without_a_check_the_case_says_that_it_is_not_verified() -> None:
    text = result() + END.format(1).replace("results:", "results:\n             1 tests completed without checking,")
    (case,) = cases(text)
    assert case.residual is None and case.params["check"] == "not verified"
    verified = cases(output(result(), RESIDUAL.format("2e-03", "PASSED")))
    assert "check" not in verified[0].params


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (output(result()), "no residual line"),
        (output(result(), RESIDUAL.format("2e-03", "PASSED"), result()), "no residual line"),
        (output(result(), RESIDUAL.format("2e-03", "PASSED")).replace("End of Tests.", ""), "End of Tests"),
        (
            output(HEAD, "              1 tests skipped because of illegal input values.\n"),
            "1 tests skipped|1 tests were",
        ),
        (output(result(seconds=4.0).replace(" 4.00 ", " 4.10 ")), "do not agree"),
        (output(result().replace(" 4.00 ", " 0.00 ")), "without a time"),
    ],
)
def test_what_hpl_does_not_print_when_it_works_is_garbage(text: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        cases(text)


def test_the_time_and_the_rate_are_both_kept_within_what_was_printed() -> None:
    """A short run's time has few digits, its rate more: the rate comes out as it was printed."""
    line = "WR00L2L2          29     1     2     2               3.79             4.6178e-06\n"
    (case,) = cases(output(HEAD + line, RESIDUAL.format("1.7e-02", "PASSED")))
    assert f"{case.work['flop'] / case.seconds[0] / 1e9:.4e}" == "4.6178e-06"
    assert f"{case.seconds[0]:.2f}" == "3.79"


def rochpl(word: str = "PASSED") -> str:
    """In the formats of rocHPL's src/HPL_pdtest.cpp: ``%18.2f     %18.3e`` for time and rate, ``%16.7f`` for the check."""
    n, seconds = 90112, 22.5
    gflops = ((2 / 3) * n**3 + 1.5 * n**2) / seconds / 1e9
    line = f"W{'C'}{1}{'0'}{'R'}{2}{'R'}{32:1d}{n:12d} {512:5d} {1:5d} {2:5d} {seconds:18.2f}     {gflops:18.3e}\n"
    score = f"Final Score:    {gflops:7.4e} GFLOPS \n"
    residual = f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {0.0000513:16.7f} ...... {word}\n"
    return output(HEAD + line, score, residual)


def test_rochpl_runs_one_gpu_a_rank() -> None:
    (case,) = cases(rochpl())
    assert (
        case.params | {"implementation": "rochpl", "gpus": 2, "nbmin": 32, "bcast": "1ring", "depth": 1} == case.params
    )
    assert case.residual is not None and case.residual.passed
    (failed,) = cases(rochpl("FAILED"))
    assert failed.residual is not None and not failed.residual.passed


def test_a_real_log_that_was_interrupted_is_garbage(recordings: Path) -> None:
    whole = (recordings / "hpl/intel-2.3-12-ranks.log").read_text()
    for cut in range(0, whole.index("End of Tests."), 97):
        with pytest.raises(Garbage):
            cases(whole[:cut])


@pytest.mark.parametrize(
    ("recording", "kind", "gpus"),
    [
        ("netlib-2.3-1-rank", "netlib", None),
        ("amd-zen-2.3-2-ranks", "amd-zen", None),
        ("intel-2.3-12-ranks", "intel", None),
        ("nvidia-25.02-8-gpus", "nvidia", 8),
        ("nvidia-1.0-2-gpus", "nvidia", 2),
    ],
)
def test_whose_hpl_it_was_is_told_from_its_text(recordings: Path, recording: str, kind: str, gpus: int | None) -> None:
    (case,) = cases((recordings / f"hpl/{recording}.log").read_text())
    assert case.params["implementation"] == kind and case.params.get("gpus") == gpus
    assert case.residual is not None and 0 < (case.residual.value or 0) < 0.01


# --------------------------------------------------------------------------------------------------------------- start


def resolve(given: Params, cores: int = 4, software: tuple[Software, ...] = (OPEN_MPI,)) -> Params:
    return params_of(xhpl.WORKLOAD, machine(cores, software=software), given)


def test_it_writes_an_input_that_fills_the_memory_with_a_rank_on_each_core() -> None:
    params = resolve({})
    dat = hpl_dat.read(str(params["dat_text"]))
    assert dat.grids == ((2, 2),) and params["ranks"] == 4 and params["threads"] == 1
    free = machine(4).hosts[0].memory.available_bytes or 0
    assert dat.n[0] % dat.nb[0] == 0 and 0.75 * free < 8 * dat.n[0] ** 2 < 0.8 * free
    command = xhpl.WORKLOAD.command(params, machine(4).hosts[0])
    assert command.argv == ("xhpl",) and command.ranks == 4 and command.site_mpi and command.output == ""
    assert command.files == {"HPL.dat": params["dat_text"]} and command.env["OMP_NUM_THREADS"] == "1"
    assert xhpl.WORKLOAD.estimate_s(params, machine(4).hosts[0]) > 10


def test_a_sites_own_input_is_used_unchanged(tmp_path: Path) -> None:
    mine = hpl_dat.HplDat(n=(500, 700), nb=(32,), grids=((1, 2),), device=8, output="mine.out")
    path = tmp_path / "HPL.dat"
    path.write_text(hpl_dat.text(mine).replace("written by shakedown", "Our own, do not touch"))
    params = resolve({"dat": str(path), "n": "99999999"})
    command = xhpl.WORKLOAD.command(params, machine(4).hosts[0])
    assert command.files == {"HPL.dat": path.read_text()} and command.ranks == 2 and command.output == "mine.out"
    assert xhpl.WORKLOAD.label is not None and "500,700" in xhpl.WORKLOAD.label(params)


def test_a_script_that_starts_its_own_ranks() -> None:
    params = resolve(
        {"ranks": 0, "p": 2, "q": 4, "n": 1000, "program": "./hpl.sh", "arguments": "--dat HPL.dat"}, 4, ()
    )
    command = xhpl.WORKLOAD.command(params, machine(4).hosts[0])
    assert command.argv == ("./hpl.sh", "--dat", "HPL.dat") and command.ranks == 0
    assert hpl_dat.read(command.files["HPL.dat"]).grids == ((2, 4),)


def test_what_cannot_be_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(hpl_dat.text(hpl_dat.HplDat(n=(9,), nb=(3,), grids=((1, 1),), device=7)))
    refused: tuple[Params, ...] = (
        {"dat": str(tmp_path / "none.dat")},
        {"dat": str(tmp_path / "HPL.dat")},
        {"ranks": 0},
        {"ranks": 2, "p": "2", "q": "2"},
        {"p": "3"},
        {"p": "1,2", "q": "4"},
        {"n": "0"},
        {"n": "1e5"},
        {"n": 10**6},
        {"bcast": "4ring"},
        {"swap": "none"},
    )
    for given in refused:
        with pytest.raises(BadInput) as caught:
            resolve(given)
        assert caught.value.hint, given
    with pytest.raises(Unavailable) as missing:
        resolve({}, 4, ())
    assert "ranks = 0" in missing.value.hint
