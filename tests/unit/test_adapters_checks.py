"""What existing programs check of their own results is read: a part that failed has no score, whoever printed it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.records import Case, Job, Params, Run
from shakedown.results.outcome import judge, measurement
from shakedown.workloads import Garbage, fio, hpcc, lammps, mccalpin, xhpl

HPCC = "hpcc/hpccoutf-1.5.0-debian-2-ranks.txt"
STREAM = "mccalpin/stream-5.10-zen4.log"
MELT = "lammps/melt-2021-09-29-2-ranks.log"
DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)


def state_of(cases: tuple[Case, ...]) -> tuple[str, str]:
    return judge(DONE, cases, b"", "", limit_s=1)


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


@pytest.fixture
def good(recordings: Path) -> str:
    return (recordings / HPCC).read_text()


@pytest.fixture
def stream(recordings: Path) -> str:
    return (recordings / STREAM).read_text()


#: PTRANS as it prints tests that it could run, in the format of hpcc's pdtrans test program.
PTRANS = """Begin of PTRANS section.
WALL   500   500  80  80   1   2     0.01 PASSED    0.988  0.00
WALL   500   500  80  80   1   2     0.01 {word}    0.991  {residual}

Finished    2 tests, with the following results:
    {passed} tests completed and passed residual checks.
    {failed} tests completed and failed residual checks.
    0 tests skipped because of illegal input values.
End of PTRANS section.
"""


def with_ptrans(text: str, *, failed: int = 0, residual: str = "0.00") -> str:
    section = PTRANS.format(word="FAILED" if failed else "PASSED", residual=residual, passed=2 - failed, failed=failed)
    text = re.sub(r"Begin of PTRANS section\..*End of PTRANS section\.\n", section, text, flags=re.DOTALL)
    return replaced(
        replaced(text, "PTRANS_GBs=0", "PTRANS_GBs=0.98"), "PTRANS_residual=-1", f"PTRANS_residual={residual}"
    )


def test_hpcc_without_a_fault_is_ok_and_says_what_it_left_out(good: str) -> None:
    cases = hpcc.parse(good, {})
    assert state_of(cases)[0] == "ok"
    checks = {case.kernel: case.residual for case in cases}
    unchecked = {kernel for kernel, check in checks.items() if check is None}
    assert unchecked == {one.kernel for one in hpcc.TABLE.metrics if "PingPong" in one.kernel or "Ring" in one.kernel}
    (told,) = hpcc.notices(good, {})
    assert "PTRANS" in told.text and "Failed to allocate" in told.text
    assert state_of(hpcc.parse(with_ptrans(good), {}))[0] == "ok"
    assert not hpcc.notices(with_ptrans(good), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Success=1", "Success=0", "Success=0"),
        ("Scaled residual: 0.0262339", "Scaled residual: 21.5", "StarDGEMM"),
        ("Scaled residual: 0.0262339", "Scaled residual: nan", "StarDGEMM"),
        ("SingleDGEMM section.\nNode(s) with error 0", "SingleDGEMM section.\nNode(s) with error 1", "DGEMM"),
        ("Solution Validates: avg error less than 1.000000e-13", "Failed Validation on array a[]", "StarSTREAM"),
        ("SingleSTREAM section.\nNode(s) with error 0", "SingleSTREAM section.\nNode(s) with error 2", "STREAM"),
        ("MPIFFT_maxErr=1.29948e-15", "MPIFFT_maxErr=3.1e-13", "FFT residual"),
        ("MPIFFT_maxErr=1.29948e-15", "MPIFFT_maxErr=-1", "FFT residual"),
        ("HPL_eps=1.11022e-16", "HPL_eps=0", "FFT residual"),
        ("MPIRandomAccess_ErrorsFraction=0", "MPIRandomAccess_ErrorsFraction=0.02", "wrong updates"),
        ("0.0072510 ...... PASSED", "72.5100000 ...... FAILED", "HPL residual"),
        ("0.0072510 ...... PASSED", "0.0072510 ...... FAILED", "HPL residual"),
    ],
)  # fmt: skip
def test_a_part_of_hpcc_that_failed_its_check_is_no_score(good: str, old: str, new: str, said: str) -> None:
    state, reason = state_of(hpcc.parse(replaced(good, old, new), {}))
    assert state == "wrong" and said in reason


def test_ptrans_that_failed_is_no_score(good: str) -> None:
    for text in (with_ptrans(good, failed=1, residual="31.00"), with_ptrans(good, residual="31.00")):
        state, reason = state_of(hpcc.parse(text, {}))
        assert state == "wrong" and "PTRANS" in reason


@pytest.mark.parametrize(
    "change",
    [
        lambda text: with_ptrans(text, residual="-1"),  # what hpcc writes of a residual that it did not compute
        lambda text: replaced(text, "0.0072510 ...... PASSED", "-0.0072510 ...... PASSED"),
        lambda text: replaced(text, "MPIRandomAccess_ErrorsFraction=0", "MPIRandomAccess_ErrorsFraction=-1"),
        lambda text: replaced(text, "Scaled residual: 0.0262339", "Scaled residual: -0.0262339"),
    ],
)
def test_a_residual_below_zero_is_none_and_passes_no_check(good: str, change: Callable[[str], str]) -> None:
    state, reason = state_of(hpcc.parse(change(good), {}))
    assert state == "wrong" and "-" in reason and "which is none" in reason


def test_a_summary_alone_is_judged_by_its_own_figures(good: str) -> None:
    summary = good[good.index("Begin of Summary section.") :]
    cases = {case.kernel: case for case in hpcc.parse(summary, {})}
    residual = cases["HPL_Tflops"].residual
    assert residual is not None and residual.value == pytest.approx(0.0072510, rel=1e-3)
    assert state_of(hpcc.parse(replaced(summary, "HPL_RnormI=2.40163e-12", "HPL_RnormI=2.4e-08"), {}))[0] == "wrong"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("HPL_N=1000", "HPL_N=many"),
        ("HPL_N=1000", "HPL_N=1e400"),
        ("HPL_Tflops=0.001634", "HPL_Tflops=nan"),
        ("HPL_Tflops=0.001634", "HPL_Tflops=inf"),
        ("Success=1\n", ""),
        ("MPIFFT_N=65536\n", ""),
    ],
)
def test_a_figure_that_is_no_number_is_garbage(good: str, old: str, new: str) -> None:
    with pytest.raises(Garbage):
        hpcc.parse(replaced(good, old, new), {})


def test_a_threshold_that_is_no_number_is_that_of_hpl(good: str) -> None:
    stated = re.search(r"scaled residuals are less than +(\S+)", good)
    assert stated is not None
    text = good.replace(stated[0], stated[0].replace(stated[1], "1.2.3"))
    assert [case.residual for case in hpcc.parse(text, {})] == [case.residual for case in hpcc.parse(good, {})]


def test_two_summaries_in_one_text_are_refused(good: str) -> None:
    with pytest.raises(Garbage, match="2 runs"):
        hpcc.parse(good + good, {})


def in_gigabytes(text: str) -> str:
    """The table as a build of STREAM prints it that counts in GB/s."""
    rows = re.sub(
        r"^(Copy|Scale|Add|Triad): +([\d.]+)",
        lambda row: f"{row[1] + ':':<12}{float(row[2]) / 1000:12.4f}",
        text,
        flags=re.MULTILINE,
    )
    return replaced(rows, "Best Rate MB/s", "Best Rate GB/s")


def test_stream_in_other_units_is_read_in_them(stream: str) -> None:
    plain = {case.kernel: case.work["best_bytes_per_s"] for case in mccalpin.parse(stream, {})}
    assert plain["triad"] == 363208.7e6
    for text in (in_gigabytes(stream), replaced(stream, "Best Rate MB/s", "Rate (MB/s) ")):
        found = {case.kernel: case.work["best_bytes_per_s"] for case in mccalpin.parse(text, {})}
        assert found == pytest.approx(plain, rel=1e-6)


def test_stream_whose_unit_its_times_contradict_is_refused(stream: str) -> None:
    for text in (
        replaced(in_gigabytes(stream), "Rate GB/s", "Rate MB/s"),
        replaced(stream, "Rate MB/s", "Rate MiB/s"),
        replaced(stream, "Rate MB/s", "Rate seconds"),
        replaced(stream, "Function    Best Rate MB/s", "Function    "),
        replaced(stream, "342008.3     0.018755     0.018713", "342008.3     0.018755     0.018013"),
        replaced(stream, "342008.3", "34.2008.3"),
    ):
        with pytest.raises(Garbage):
            mccalpin.parse(text, {})


def test_stream_of_single_precision_counts_its_bytes(stream: str) -> None:
    text = replaced(stream, "uses 8 bytes", "uses 4 bytes")
    for rate in re.findall(r"^\w+: +(\d+\.\d)", text, re.MULTILINE):
        text = replaced(text, rate, f"{float(rate) / 2:.1f}")
    assert {case.params["bytes"] for case in mccalpin.parse(text, {})} == {1_600_000_000}


def test_stream_that_failed_once_has_failed(stream: str) -> None:
    both = replaced(stream, "Solution Validates", "Failed Validation on array b[]\nSolution Validates")
    assert state_of(mccalpin.parse(both, {}))[0] == "wrong"
    with pytest.raises(Garbage, match="2 outputs"):
        mccalpin.parse(stream + stream, {})


def test_streams_doubts_are_told(stream: str) -> None:
    assert mccalpin.notices(stream, {}) == ()
    fewer = replaced(stream, "Threads counted = 32", "Threads counted = 1")
    assert "32 threads and counted 1" in mccalpin.notices(fewer, {})[0].text
    coarse = replaced(stream, "(= 19105 clock ticks)", "(= 12 clock ticks)")
    assert "12 ticks" in mccalpin.notices(coarse, {})[0].text


def test_hpl_whose_end_counts_otherwise_is_refused(recordings: Path) -> None:
    text = (recordings / "hpl/netlib-2.3-1-rank.log").read_text()
    for old, new in (
        ("Finished      1 tests", "Finished      2 tests"),
        ("0 tests completed and failed", "1 tests completed and failed"),
    ):
        with pytest.raises(Garbage, match="counted"):
            xhpl.parse(replaced(text, old, new), {})


def test_hpl_says_what_it_skipped(recordings: Path) -> None:
    text = (recordings / "hpl/netlib-2.3-1-rank.log").read_text()
    text = replaced(text, "Finished      1 tests", "Finished      3 tests")
    text = replaced(text, "0 tests skipped because", "2 tests skipped because")
    run = Run(id="r", workload="xhpl", params={}, label="", estimate_s=1, limit_s=1)
    found = measurement(run, DONE, text.encode(), b"")
    assert found.state == "ok" and "skipped 2 tests" in found.notices[0].text


def test_hpl_of_the_first_version_prints_three_residuals(recordings: Path) -> None:
    text = (recordings / "hpl/netlib-2.3-1-rank.log").read_text()
    line = next(line for line in text.splitlines() if line.startswith("||Ax-b||_oo/"))
    three = "\n".join(
        f"||Ax-b||_oo / ( eps * {norms} * N        ) =        {value} ...... {{}}"
        for norms, value in (
            ("||A||_1 ", "0.0674622"),
            ("||A||_1  * ||x||_1", "0.0236"),
            ("||A||_oo * ||x||_oo", "0.0057"),
        )
    )
    good = replaced(text, line, three.format("PASSED", "PASSED", "PASSED"))
    (case,) = xhpl.parse(good, {})
    assert case.residual is not None and case.residual.value == pytest.approx(0.0674622)
    bad = replaced(text, line, three.format("PASSED", "PASSED", "FAILED"))
    (case,) = xhpl.parse(replaced(bad, "0 tests completed and failed", "1 tests completed and failed"), {})
    assert case.residual is not None and not case.residual.passed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"error" : 0,', '"error" : 0,\n"total_err" : 3,\n"first_error" : 5,'),
        ('"drop_ios" : 0', '"drop_ios" : 7'),
    ],
)
def test_operations_of_fio_that_failed_are_no_score(recordings: Path, old: str, new: str) -> None:
    text = (recordings / "fio/fio-3.33-write-1m.json").read_text()
    assert state_of(fio.parse(text, {}))[0] == "ok"
    state, reason = state_of(fio.parse(replaced(text, old, new), {}))
    assert state == "wrong" and "failed or were dropped" in reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"error" : 0,', '"error" : 5,'),
        ('"jobname" : "seqwrite"', '"jobname" : ["seqwrite"]'),
        ('"runtime" : 89', '"runtime" : 0'),
        ('"rw" : "write"', '"iodepth" : "deep"'),
        ('"io_bytes" : 67108864', '"io_bytes" : 1e400'),
    ],
)
def test_what_fio_does_not_print_when_it_works_is_garbage(recordings: Path, old: str, new: str) -> None:
    text = (recordings / "fio/fio-3.33-write-1m.json").read_text()
    with pytest.raises(Garbage):
        fio.parse(replaced(text, old, new), {})


def test_a_native_program_that_ends_not_ok_has_not_passed(recordings: Path) -> None:
    """Though it left with code 0 and no case of it says which check failed."""
    text = (recordings / "native/stream-2c.jsonl").read_bytes()
    params: Params = {}
    run = Run(id="r", workload="stream", params=params, label="", estimate_s=1, limit_s=1)
    assert measurement(run, DONE, text, b"").state == "ok"
    found = measurement(run, DONE, text.replace(b'"event":"end","ok":true', b'"event":"end","ok":false'), b"")
    assert found.state != "ok" and "check failed" in found.reason


@pytest.mark.parametrize("value", ["{}", "[1]", '"0"', "1" + 400 * "0"])
def test_a_check_that_is_no_number_is_no_event(value: str) -> None:
    from shakedown.programs import events

    check = f'{{"value":{value},"limit":1,"kind":"k"}}'
    found = events.parse(f'{{"event":"case","kernel":"k","seconds":[1],"residual":{check}}}\n'.encode())
    assert found.garbage and not found.cases


@pytest.mark.parametrize("second", ["0", "-0.25", "1e400", "null"])
def test_work_that_took_no_time_is_no_event(second: str) -> None:
    from shakedown.programs import events

    text = (
        f'{{"event":"case","kernel":"k","work":{{"flop":1}},"seconds":[0.5,{second}]}}\n{{"event":"end","ok":true}}\n'
    )
    found = events.parse(text.encode())
    assert found.garbage and not found.cases


@pytest.fixture
def melt(recordings: Path) -> str:
    return (recordings / MELT).read_text()


def test_a_melt_whose_energy_runs_away_has_no_score(melt: str) -> None:
    (case,) = lammps.parse(melt, {})
    assert case.residual and case.residual.value == pytest.approx(4.6223613 / 4.6134356 - 1) and case.residual.passed
    assert state_of(lammps.parse(replaced(melt, "-4.6223613", "-4.7223613"), {}))[0] == "wrong"
    assert state_of(lammps.parse(replaced(melt, "-4.6223613", "nan"), {}))[0] == "wrong"
    assert state_of(lammps.parse(melt, {"energy_change": 1e-3}))[0] == "wrong"


def test_the_energy_of_a_sites_input_is_checked_where_that_is_asked_for(melt: str) -> None:
    site = replaced(replaced(melt, "input melt", "input in.nvt"), "-4.6223613", "-3.6223613")
    (case,) = lammps.parse(site, {"energy_change": "auto"})
    assert case.params["input"] == "in.nvt" and case.residual and case.residual.passed
    assert state_of(lammps.parse(site, {"energy_change": 0.1}))[0] == "wrong"
    assert state_of(lammps.parse(replaced(site, "0.7574531", "inf"), {}))[0] == "wrong"
    with pytest.raises(Garbage, match="no column TotEng"):
        lammps.parse(replaced(site, "TotEng", "Enthalpy"), {"energy_change": 0.1})


def test_a_loop_time_that_its_own_rate_contradicts_is_refused(melt: str) -> None:
    for old, new in (("Loop time of 3", "Loop time of 4"), ("for 100 steps", "for 101 steps")):
        with pytest.raises(Garbage, match="does not agree"):
            lammps.parse(replaced(melt, old, new), {})
    with pytest.raises(Garbage, match="not of numbers"):
        lammps.parse(replaced(melt, "-4.6223613", "1.2.3"), {})
    with pytest.raises(Garbage, match="as many numbers"):
        lammps.parse(replaced(melt, "-4.6223613", ""), {})
    with pytest.raises(Garbage, match="Performance"):
        lammps.parse(replaced(melt, "Performance: ", ""), {})


def test_lammps_warnings_and_lists_built_too_late_are_told(melt: str) -> None:
    assert lammps.notices(melt, {}) == ()
    told = lammps.notices("WARNING: One\n" + replaced(melt, "Dangerous builds not checked", "Dangerous builds = 3"), {})
    assert [one.code for one in told] == ["lammps-warning", "lammps-dangerous-builds"] and told[1].text.startswith("3 ")


def test_a_lammps_on_gpus_says_on_how_many(melt: str) -> None:
    text = replaced(melt, "  using 1 OpenMP", "  will use up to 4 GPU(s) per node\n  using 1 OpenMP")
    assert lammps.parse(text, {})[0].params["gpus"] == 4
