"""Folded lists of hosts: what engines write, and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import hostlist
from shakedown.errors import BadInput

CASES = {
    "node1": ("node1",),
    "node[1-3]": ("node1", "node2", "node3"),
    "n[1-3,07-09],login": ("n1", "n2", "n3", "n07", "n08", "n09", "login"),
    "rack[1-2]n[01-02]": ("rack1n01", "rack1n02", "rack2n01", "rack2n02"),
    "a[9-11]": ("a9", "a10", "a11"),
    "a[098-101]-ib": ("a098-ib", "a099-ib", "a100-ib", "a101-ib"),
    "gpu-a.example.org, gpu-b.example.org": ("gpu-a.example.org", "gpu-b.example.org"),
    "": (),
}


@pytest.mark.parametrize(("text", "names"), CASES.items())
def test_expand(text: str, names: tuple[str, ...]) -> None:
    assert hostlist.expand(text) == names


@pytest.mark.parametrize("text", ["n[1-", "n[3-1]", "n[a-b]", "n1]", "n[1-99999999]", "n[[1]]", "n[0-999][0-999][0-999]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is no list of hosts"):
        hostlist.expand(text)


def test_fold_is_short_and_keeps_the_order() -> None:
    assert hostlist.fold(["node1", "node2", "node3", "node7"]) == "node[1-3,7]"
    assert hostlist.fold(["n08", "n09", "n10"]) == "n[08-09],n10"
    assert hostlist.fold(["b2", "b1"]) == "b[2,1]"
    assert hostlist.fold(["login", "n1"]) == "login,n1"


@given(st.lists(st.from_regex(re.compile(r"[a-z]{1,3}[0-9]{0,3}(-ib|[.]x)?", re.ASCII), fullmatch=True), max_size=30))
def test_expand_undoes_fold(names: list[str]) -> None:
    assert list(hostlist.expand(hostlist.fold(names))) == names
