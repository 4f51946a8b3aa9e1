"""hpl with real ranks: sweeps of its options, its check against damage, its ends, and the name xhpl."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from shakedown import programs
from shakedown.errors import Unavailable
from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.workloads import xhpl
from shakedown.workloads.common import hpl
from support.natives import LIMIT_S, end, run_ranks, start
from support.systems import all_pass, dat, solved

SHARES = ("update", "panel", "solve", "rows", "messages", "wait", "other")
EVERY_BCAST = "1ring,1ringM,2ring,2ringM,long,longM"
EVERY_FACT = "left,crout,right"
ENOUGH = 1500  #: an order whose time is not 0.00 in netlib's text


def _run(ranks: int, *words: str, threads: int = 1) -> tuple[int, Events, str]:
    fixed = ("--threads", str(threads), "--allow-oversubscribe")
    return run_ranks("hpl", ranks, *words, *fixed).told()


def _sweep(ranks: int, expected: int, *words: str, threads: int = 1) -> Events:
    code, found, err = _run(ranks, "--no-ceiling", *words, threads=threads)
    assert code == 0, err
    all_pass(found, expected)
    return found


ORDERS = "1,2,3,5,7,8,15,16,31,37,64,97,101,127,128,191,200,255,256,300"


@pytest.mark.parametrize("threads", [1, 2])
def test_one_rank_solves_systems_of_every_order(threads: int) -> None:
    _sweep(0, 20 * 5 * 3, "--n", ORDERS, "--nb", "1,8,33,100,400", "--depth", "0,1,2", threads=threads)


@pytest.mark.parametrize("words", [("--trsm", "recursive"), ("--trsm", "inverse"), ("--trsm", "blas")])
def test_every_way_through_a_panel(words: Sequence[str]) -> None:
    panels = ("--pfact", EVERY_FACT, "--rfact", EVERY_FACT, "--nbmin", "1,2,5,64", "--ndiv", "2,3,7")
    _sweep(0, 2 * 9 * 12, "--n", "50,130", "--nb", "40", *panels, *words, threads=2)


@pytest.mark.parametrize(
    ("ranks", "p", "q"),
    [
        (1, "1", "1"),
        (2, "2,1", "1,2"),
        (3, "3,1,1,2", "1,3,2,1"),  # 2 of 3: one is left over
        (4, "2,1,4,3", "2,4,1,1"),
        (6, "2,3,6,1,2", "3,2,1,6,2"),
    ],
)
def test_every_broadcast_and_depth_on_every_grid(ranks: int, p: str, q: str) -> None:
    grids, depths = len(p.split(",")), "0,1,3" if ranks < 4 else "2" if ranks < 6 else "1"
    lists = ("--n", "1,9,31,100", "--nb", "7,16", "--p", p, "--q", q, "--bcast", EVERY_BCAST, "--depth", depths)
    found = _sweep(ranks, grids * 4 * 2 * 6 * len(depths.split(",")), *lists)
    assert {(case.params["p"], case.params["q"]) for case in solved(found)} == set(
        zip(map(int, p.split(",")), map(int, q.split(",")), strict=True)
    )


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (4, ("--swap", "binary")),
        (4, ("--swap", "long")),
        (4, ("--swap", "mix", "--swap-threshold", "20")),
        (4, ("--split", "0")),
        (4, ("--split", "0.5", "--mapping", "column")),
        (4, ("--split", "1")),
        (4, ("--segment", "8")),
        (4, ("--progress-thread",)),
        (3, ("--p", "3", "--q", "1", "--swap", "long", "--split", "0", "--trsm", "inverse")),
        (3, ("--p", "3", "--q", "1", "--progress-thread", "--trsm", "blas")),
        (2, ("--panel-threads", "2", "--progress-thread", "--segment", "1000")),
        (2, ("--isa", "plain", "--pages", "base")),
    ],
)
def test_every_option_gives_a_right_solution(ranks: int, words: Sequence[str]) -> None:
    if ranks == 2:  # of two threads each, which is slow where they share two CPUs
        _sweep(ranks, 4, "--n", "15,64", "--nb", "5,24", *words, threads=2)
    else:
        _sweep(ranks, 6 * 3 * 2, "--n", "7,8,15,63,64,100", "--nb", "1,8,24", "--depth", "0,1", *words)


def test_the_events_of_a_run_are_those_of_the_contract() -> None:
    code, found, err = _run(
        4, "--n", "200", "--nb", "16", "--p", "2", "--q", "2", "--samples", "3", "--mapping", "column"
    )
    assert code == 0, err
    all_pass(found, 1)
    (system,) = solved(found)
    assert len(system.seconds) == 3 and min(system.seconds) > 0
    assert system.work == {"flop": 2 / 3 * 200**3 + 1.5 * 200**2}
    assert system.residual is not None
    assert (system.residual.limit, system.residual.kind) == (16, "HPL scaled residual")
    assert system.begin_ns is not None and system.end_ns is not None and system.begin_ns < system.end_ns
    wanted = {"n": 200, "nb": 16, "p": 2, "q": 2, "ranks": 4, "threads": 1, "mapping": "column", "depth": 1}
    assert {name: system.params[name] for name in wanted} == wanted
    words = "bcast pfact rfact nbmin ndiv swap swap_threshold trsm split segment_bytes panel_threads pages"
    assert set(system.params) >= {*words.split(), "progress_thread"}
    parts = {case.kernel: case.work["value"] for case in found.cases if case.kernel in SHARES}
    assert set(parts) == set(SHARES) and all(part >= 0 for part in parts.values())
    assert math.isclose(sum(parts.values()), 1, rel_tol=1e-9)
    assert all(not case.seconds for case in found.cases if case.kernel in SHARES)
    ceiling = next(case for case in found.cases if case.kernel == "ceiling")
    assert ceiling.work["flop"] > 0 and min(ceiling.seconds) > 0
    assert {phase.name for phase in found.phases} >= {"ceiling", "measure factorization", "verify"}
    facts = found.provenance["facts"]
    assert [(rank["rank"], rank["row"], rank["column"]) for rank in facts["grid"]] == [
        (0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)
    ]  # fmt: skip
    assert facts["memory_bytes"] > 8 * 200 * 201 / 4 and facts["pages"] and facts["library_name"]


def test_a_threshold_of_zero_checks_nothing_and_says_nothing() -> None:
    code, found, err = _run(0, "--n", "50", "--threshold", "0")
    assert code == 0, err
    assert [case.residual for case in solved(found)] == [None]


def test_repeats_go_on_for_the_time_that_was_asked_for() -> None:
    code, found, err = _run(2, "--n", "64", "--nb", "8", "--seconds", "0.3", "--repeat-in-place", "--no-ceiling")
    assert code == 0, err
    all_pass(found, 1)
    (system,) = solved(found)
    assert len(system.seconds) > 40, "more than one new matrix"
    assert sum(system.seconds) >= 0.3


def test_every_host_solves_its_own_system() -> None:
    code, found, err = _run(2, "--n", "64", "--nb", "8", "--per-host", "--no-ceiling")
    assert code == 0, err
    all_pass(found, 1)
    assert solved(found)[0].params["host"] == os.uname().nodename


def test_windows_time_panels_and_solve_nothing() -> None:
    lists = ("--n", "300", "--nb", "10", "--p", "1,2", "--q", "2,2", "--windows", "1,0.5,0.03", "--window-panels", "4")
    code, found, err = _run(4, *lists, "--no-ceiling")
    assert code == 0, err
    assert found.ended and not solved(found)
    windows = [case for case in found.cases if case.kernel == "window"]
    assert [(case.params["order"], case.params["panels"], case.params["q"]) for case in windows] == [
        (300, 4, 2), (150, 4, 2)
    ] * 2  # fmt: skip
    first = windows[0]
    assert first.work["flop"] == pytest.approx(2 / 3 * (290**3 - 250**3)) and first.seconds[0] > 0


def test_n_is_chosen_from_memory_and_time() -> None:
    code, found, err = _run(2, "--n", "auto", "--nb", "8", "--time-limit", "0.02", "--memory-share", "0.001")
    assert code == 0, err
    all_pass(found, 1)
    n = int(solved(found)[0].params["n"])
    assert n >= 8 and n % 8 == 0 and 8 * n * n < 0.001 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_the_peak_of_memory_is_the_matrix_and_little_more() -> None:
    """Of N = 8,000 the first panels, at which all of the memory is in use; the program, its BLAS and its MPI included."""
    code, found, err = _run(0, "--n", "8000", "--nb", "192", "--windows", "1", "--window-panels", "2", threads=2)
    assert code == 0, err
    matrix, peak = 8 * 8000**2, found.provenance["max_rss_bytes"]
    stated = found.provenance["facts"]["memory_bytes"]
    assert matrix < stated < 1.02 * matrix
    assert peak < 1.06 * matrix
    assert 0 < peak - stated < hpl.PROGRAM_BYTES, "the program and the plan state it as it is"


@pytest.mark.parametrize(("p", "q", "depth"), [(1, 1, 1), (1, 1, 3), (2, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, 0)])
def test_what_a_plan_reckons_with_is_what_the_program_takes(p: int, q: int, depth: int) -> None:
    grid = ("--p", str(p), "--q", str(q), "--depth", str(depth))
    code, found, err = _run(p * q, "--n", "2304", "--nb", "96", *grid, "--no-ceiling", "--threshold", "0")
    assert code == 0, err
    stated = found.provenance["facts"]["memory_bytes"] * p * q
    assert stated == pytest.approx(hpl.run_bytes(2304, 96, p, q, p * q, depth), rel=0.01)


@pytest.mark.parametrize(("ranks", "kind"), [(0, "entry"), (0, "nan"), (0, "singular"), (4, "entry"), (4, "nan")])
def test_a_damaged_matrix_fails_the_check_and_the_run(ranks: int, kind: str) -> None:
    code, found, _ = _run(ranks, "--n", "1,64", "--nb", "8", "--inject", kind, "--no-ceiling")
    assert code == 1 and found.ended
    cases = solved(found)
    assert len(cases) == 2, "the sweep goes on"
    for case in cases:
        assert case.residual is not None and not case.residual.passed
        if kind == "nan":
            assert case.residual.value is None


def _descendants(pid: int) -> Iterable[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            yield int(child)
            yield from _descendants(int(child))


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_dies_ends_the_job(victim: int) -> None:
    words = ("--n", "600", "--nb", "16", "--seconds", str(10 * LIMIT_S), "--threads", "1", "--allow-oversubscribe")
    process = start("hpl", 3, *words)
    assert process.stdout is not None
    for line in process.stdout:
        if b'"measure"' in line:
            break
    else:
        code, _, err = end(process)
        pytest.fail(f"it ended before it measured: {code} {err}")
    program = os.path.realpath(programs.path("hpl"))
    ranks = [pid for pid in _descendants(process.pid) if os.path.realpath(f"/proc/{pid}/exe") == program]
    assert len(ranks) == 3
    os.kill(ranks[victim], signal.SIGKILL)
    code, out, _ = end(process)
    assert code != 0 and not events.parse(out).ended


def test_a_grid_of_more_ranks_than_there_are_is_refused_once() -> None:
    code, found, err = _run(2, "--n", "64", "--p", "1,2", "--q", "2,2")
    assert code == 2 and not found.cases
    assert err.count("hpl: ") == 1, "rank 0 alone speaks"
    assert "needs 4 ranks, and there are 2" in err and "mpirun -np 4" in err


def test_a_matrix_beyond_the_memory_is_refused_by_name() -> None:
    code, found, err = _run(0, "--n", "10000000", "--nb", "64")
    assert code == 3 and not found.cases
    assert "N = 10000000" in err and "727.6 TiB" in err and err.count("hpl: ") == 1


def test_a_matrix_beyond_64_bits_is_refused_too() -> None:
    code, found, err = _run(0, "--n", "2147483647")
    assert code == 3 and not found.cases and "PiB" in err


def test_what_does_not_fit_is_skipped_in_a_sweep() -> None:
    code, found, _ = _run(3, "--n", "10000000,50", "--nb", "8", "--p", "1", "--q", "2", "--no-ceiling")
    assert code == 3
    all_pass(found, 1)
    assert [notice.code for notice in found.notices if notice.code == "skipped"] == ["skipped"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--treads", "1"), "did you mean --threads"),
        (("--dat", "/nowhere/HPL.dat"), "cannot read /nowhere/HPL.dat"),
        (("--library", "/nowhere/libblas.so"), "/nowhere/libblas.so"),
    ],
)
def test_wrong_words_are_refused_once(words: Sequence[str], said: str) -> None:
    code, found, err = _run(2, *words)
    assert code == (3 if words[0] == "--library" else 2) and not found.cases
    assert err.count("hpl: ") == 1 and said in err


def test_threads_that_would_share_a_cpu_are_refused() -> None:
    code, out, err = end(start("hpl", 2, "--n", "64", "--threads", str(len(os.sched_getaffinity(0)))))
    assert code == 3 and b'"case"' not in out
    assert "have only the CPUs" in err and err.count("hpl: ") == 1


# ------------------------------------------------------------------------------------------------------------ HPL.dat


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (dat(n="many"), "line 6"),
        (dat(nb=0), "line 8"),
        (dat(count=21, nb=" ".join(["8"] * 21)), "line 7"),
        (dat(p=2), "needs 4 ranks"),
        ("\n".join(dat().split("\n")[:9]), "line 10"),
        ("", "the end of the file"),
    ],
)
def test_a_bad_hpl_dat_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(text)
    code, found, err = _run(0, "--dat", str(tmp_path / "HPL.dat"))
    assert code == 2 and not found.cases
    assert err.count("hpl: ") == 1 and said in err, err


def test_windows_line_ends_and_replaced_values_are_taken(tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_bytes(dat(pmap=7, nb="8 99").replace("\n", "\r\n").encode())
    code, found, err = _run(2, "--dat", str(tmp_path / "HPL.dat"), "--n", "40,50", "--no-ceiling")
    assert code == 0, err
    all_pass(found, 2)
    assert {case.params["mapping"] for case in found.cases} == {"row"}
    said = [notice.text for notice in found.notices if notice.code == "hpl_dat"]
    assert any("PMAP" in text for text in said) and len(said) >= 2
    assert found.provenance["facts"]["ignored"]


@pytest.fixture
def as_xhpl(tmp_path: Path) -> str:
    """The program by its other name."""
    try:
        target = programs.path("hpl")
    except Unavailable as error:
        pytest.skip(f"needs hpl: {error.what}; {error.hint}")
    (tmp_path / "xhpl").symlink_to(target)
    return str(tmp_path / "xhpl")


def test_xhpl_prints_netlibs_text_and_keeps_the_events_apart(as_xhpl: str, tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(dat(n=ENOUGH, nb="32 64", count=2))
    words = ("--threads", "1", "--allow-oversubscribe")
    code, out, err = end(start("hpl", 2, *words, program=as_xhpl, cwd=tmp_path))
    assert code == 0, err
    cases = xhpl.parse(out.decode(), {"threads": 1})
    assert [(case.params["n"], case.params["nb"], case.params["q"]) for case in cases] == [
        (ENOUGH, 32, 2),
        (ENOUGH, 64, 2),
    ]
    assert all(case.residual is not None and case.residual.passed for case in cases)
    assert out.count(b"WR11C2R4") == 2 and b"{" not in out
    found = events.parse((tmp_path / "HPL.events.jsonl").read_bytes())
    all_pass(found, 2)
    for ours, theirs in zip(solved(found), cases, strict=True):
        assert ours.residual is not None and theirs.residual is not None and theirs.residual.value is not None
        assert ours.residual.value == pytest.approx(theirs.residual.value, rel=1e-6)


def test_xhpl_writes_to_the_file_that_hpl_dat_names(as_xhpl: str, tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(dat(output="mine.out", device=8, n=ENOUGH))
    code, out, err = end(start("hpl", 2, "--allow-oversubscribe", "--threads", "1", program=as_xhpl, cwd=tmp_path))
    assert (code, out) == (0, b""), err
    assert len(xhpl.parse((tmp_path / "mine.out").read_text(), {"threads": 1})) == 1


def test_netlibs_text_can_stand_beside_the_events(tmp_path: Path) -> None:
    code, found, err = _run(2, "--n", "50", "--nb", "8", "--netlib", str(tmp_path / "out"), "--inject", "entry")
    assert code == 1 and len(solved(found)) == 1, err
    text = (tmp_path / "out").read_text()
    assert "FAILED" in text and "||A||_1" in text and "End of Tests." in text
