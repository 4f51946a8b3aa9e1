"""HPL.dat: what is written is read back, the lines are netlib's, and what no HPL would accept is said with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shakedown.errors import BadInput
from shakedown.workloads import hpl, hpl_gpu, hpl_probe, xhpl
from shakedown.workloads.common import hpl_dat
from shakedown.workloads.common.hpl_dat import BCASTS, FACTS, MAPPINGS, SWAPS, HplDat

SMALL = HplDat(n=(1000,), nb=(64,), grids=((1, 2),))
COUNTS = some.lists(some.integers(1, 10**6), min_size=1, max_size=20).map(tuple)


def test_the_tables_of_workloads_have_hpls_words() -> None:
    ours, theirs, probe = hpl.TABLE.params, xhpl.TABLE.params, hpl_probe.TABLE.params
    assert ours["mapping"].choices == theirs["mapping"].choices == MAPPINGS
    assert ours["swap"].choices == ("auto", *theirs["swap"].choices) == ("auto", *SWAPS)
    assert ours["pfact"].items == ours["rfact"].items == probe["pfact"].items == FACTS
    for one in (ours, theirs, hpl_gpu.TABLE.params):
        assert ", ".join(BCASTS) in one["bcast"].help


def some_words(words: tuple[str, ...]) -> some.SearchStrategy[tuple[str, ...]]:
    return some.lists(some.sampled_from(words), min_size=1, max_size=20).map(tuple)


@given(
    some.builds(
        HplDat,
        n=COUNTS,
        nb=COUNTS,
        grids=some.lists(some.tuples(some.integers(1, 500), some.integers(1, 500)), min_size=1, max_size=20).map(tuple),
        mapping=some.sampled_from(MAPPINGS),
        threshold=some.sampled_from((16.0, -16.0, 0.0, 0.5)),
        pfact=some_words(FACTS),
        nbmin=COUNTS,
        ndiv=COUNTS,
        rfact=some_words(FACTS),
        bcast=some_words(BCASTS),
        depth=some.lists(some.integers(0, 3), min_size=1, max_size=20).map(tuple),
        swap=some.sampled_from(SWAPS),
        swap_threshold=some.integers(0, 1000),
        l1_transposed=some.booleans(),
        u_transposed=some.booleans(),
        equilibration=some.booleans(),
        alignment=some.sampled_from((4, 8, 16)),
        output=some.sampled_from(("HPL.out", "a-long-name-of-a-file.txt")),
        device=some.sampled_from((6, 7, 8)),
    )
)
def test_what_is_written_is_read_back(dat: HplDat) -> None:
    assert hpl_dat.read(hpl_dat.text(dat)) == dat


def test_the_lines_are_those_of_netlib() -> None:
    lines = hpl_dat.text(SMALL).splitlines()
    assert len(lines) == 31
    first = " ".join(line.split()[0] for line in lines[2:])
    assert first == "HPL.out 6 1 1000 1 64 0 1 1 2 16.0 1 2 1 4 1 2 1 1 1 1 1 1 2 64 0 0 1 8"


def test_windows_line_ends_comments_and_further_lines_are_taken() -> None:
    text = hpl_dat.text(SMALL).replace("\n", "\r\n") + "##### ignored #####\r\n0   for PTRANS\r\n"
    assert hpl_dat.read(text) == SMALL
    without_last = "\n".join(hpl_dat.text(SMALL).splitlines()[:30])
    assert hpl_dat.read(without_last) == SMALL


@pytest.mark.parametrize(
    ("number", "line", "said"),
    [
        (5, "0  # of N", "line 5: says 0 values"),
        (5, "21  # of N", "line 5: says 21 values"),
        (6, "many  Ns", "line 6: does not begin with 1 whole number"),
        (6, "0  Ns", "line 6: has a value below 1"),
        (9, "2  PMAP", "line 9: has 2 where 0 to 1 are known"),
        (12, "", "line 12: does not begin with 1 whole number"),
        (13, "x  threshold", "line 13: does not begin with a number"),
        (15, "3  PFACTs", "line 15: has 3 where 0 to 2 are known"),
        (23, "6  BCASTs", "line 23: has 6 where 0 to 5 are known"),
    ],
)
def test_what_no_hpl_accepts_is_said_with_its_line(number: int, line: str, said: str) -> None:
    lines = hpl_dat.text(SMALL).splitlines()
    lines[number - 1] = line
    with pytest.raises(BadInput) as caught:
        hpl_dat.read("\n".join(lines), where="mine.dat")
    assert f"mine.dat: {said}" in str(caught.value) and caught.value.hint


def test_a_file_that_is_none_is_said() -> None:
    with pytest.raises(BadInput, match="has 1 lines"):
        hpl_dat.read("hello")


def test_a_list_that_hpl_cannot_hold_is_refused() -> None:
    with pytest.raises(BadInput, match="21 values"):
        hpl_dat.text(HplDat(n=tuple(range(1, 22)), nb=(64,), grids=((1, 1),)))
    with pytest.raises(BadInput, match="0 values"):
        hpl_dat.text(HplDat(n=(), nb=(64,), grids=((1, 1),)))
    with pytest.raises(BadInput, match="'ring' is not a valid BCASTs"):
        hpl_dat.text(HplDat(n=(1,), nb=(64,), grids=((1, 1),), bcast=("ring",)))
