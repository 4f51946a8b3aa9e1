"""Lists of hosts expand as Slurm expands them, and nothing else is taken for one."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.hosts.hostlist import MOST_HOSTS, counts, expand, fold

#: What ``scontrol show hostnames`` of Slurm 22.05 printed for each.
KNOWN = {
    "n[1-3,07-09],login,rack[1-2]n[01-02]": "n1 n2 n3 n07 n08 n09 login rack1n01 rack1n02 rack2n01 rack2n02",
    "x[001-003],x[9-11]": "x001 x002 x003 x9 x10 x11",
    "n[8-11]": "n8 n9 n10 n11",
    "n[08-11,099-101]": "n08 n09 n10 n11 n099 n100 n101",
    "n[9-010]": "n9 n10",
    "a[1,02]": "a1 a02",
    "n1,n1": "n1 n1",
    "host-1": "host-1",
    ",a,,b,": "a b",
    "a b": "a b",
    "n[1- 2]": "n1 n2",
    "[1-3]": "1 2 3",
    "x[1-2][1-2]": "x11 x12 x21 x22",
    "n[1-3]-[4-5]": "n1-4 n1-5 n2-4 n2-5 n3-4 n3-5",
    "r[1-2]c[0-1]n[1-2]": "r1c0n1 r1c0n2 r2c0n1 r2c0n2 r1c1n1 r1c1n2 r2c1n1 r2c1n2",
    "a[1-2]b[1-2]c[1-2]d[1-2]": "a1b1c1d1 a1b1c1d2 a2b1c1d1 a2b1c1d2 a1b2c1d1 a1b2c1d2 a2b2c1d1 a2b2c1d2 "
    "a1b1c2d1 a1b1c2d2 a2b1c2d1 a2b1c2d2 a1b2c2d1 a1b2c2d2 a2b2c2d1 a2b2c2d2",
    "": "",
}


@pytest.mark.parametrize("text", KNOWN)
def test_a_list_expands_in_slurms_order(text: str) -> None:
    assert list(expand(text)) == KNOWN[text].split()


@pytest.mark.parametrize("text", ["n[]", "n[3-1]", "n[a-c]", "n[1-2", "n1]", "n[[1]]", "n[1,]", "n[1-70000]", "n[-1]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r".+"):
        expand(text)


def test_a_list_that_would_fill_the_memory_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match=str(MOST_HOSTS)):
        expand("a[1-60000]b[1-60000]c[1-60000]")


@given(st.integers(0, 999), st.integers(0, 300), st.integers(1, 5))
def test_a_range_holds_every_number_once_with_its_zeros(low: int, more: int, width: int) -> None:
    found = expand(f"n[{low:0{width}d}-{low + more}]")
    assert [int(name[1:]) for name in found] == list(range(low, low + more + 1))
    assert all(len(name) >= 1 + width for name in found)


@given(st.text(max_size=30))
def test_any_text_expands_or_is_refused_and_nothing_else(text: str) -> None:
    try:
        found = expand(text)
    except BadInput:
        return
    assert all(name and "[" not in name for name in found)


def test_counts_of_nodes() -> None:
    assert counts("4(x2),8") == (4, 4, 8)
    assert counts("16") == (16,)
    assert counts("") == ()
    for text in ("4(x)", "x2", "4(x99999999)", "-1"):
        with pytest.raises(BadInput, match=r".+"):
            counts(text)


@pytest.mark.system
@pytest.mark.skipif(shutil.which("scontrol") is None, reason="needs scontrol: sudo apt-get install slurm-client")
def test_scontrol_of_this_machine_says_the_same() -> None:
    for text, expected in KNOWN.items():
        ran = subprocess.run(["scontrol", "show", "hostnames", text], capture_output=True, text=True, timeout=300)
        if ran.returncode and "onfig" in ran.stderr:
            pytest.skip("scontrol needs a configuration here: tests/cluster asks one that has it")
        assert ran.stdout.split() == expected.split()


def test_fold_is_short_and_keeps_the_order() -> None:
    assert fold(["node1", "node2", "node3", "node7"]) == "node[1-3,7]"
    assert fold(["n08", "n09", "n10"]) == "n[08-09],n10"
    assert fold(["b2", "b1"]) == "b[2,1]"
    assert fold(["login", "n1"]) == "login,n1"


@given(st.lists(st.from_regex(re.compile(r"[a-z]{1,3}[0-9]{0,3}(-ib|[.]x)?", re.ASCII), fullmatch=True), max_size=30))
def test_expand_undoes_fold(names: list[str]) -> None:
    assert list(expand(fold(names))) == names
