"""The engine of the side-by-side measurements: what a known series allows to claim, and what becomes of a peer that is
absent or fails."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

import pytest

from support import bench  # noqa: F401  # isort: skip  # lets the modules below be found

import common
import paired
import peers
from peers import Figure, Group, Pass, Row

from shakedown.errors import CannotMeasure


@pytest.mark.parametrize(
    ("ours", "better", "claim"),
    [
        ([1.2] * 8, "higher", "faster"),
        ([0.8] * 8, "higher", "slower"),
        ([1.2] * 8, "lower", "slower"),
        ([0.8] * 8, "lower", "faster"),
        ([0.8, 1.2] * 4, "higher", "not told apart"),
        ([1.2] * 5, "higher", "too few pairs to tell"),
    ],
)
def test_a_known_series_gives_a_known_claim(ours: list[float], better: str, claim: str) -> None:
    assert paired.ratio(ours, [1.0] * len(ours), better).claim == claim


def test_a_ratio_is_that_of_neighbours() -> None:
    """Both drift by a factor of four; ours is always the faster by a tenth."""
    peer = [1.0, 2.0, 4.0, 3.0, 2.0, 1.0, 1.5]
    found = paired.ratio([1.1 * one for one in peer], peer)
    assert found.median == pytest.approx(1.1) and found.low == pytest.approx(1.1) and found.claim == "faster"
    with pytest.raises(ValueError):
        paired.ratio([1.0], [1.0, 2.0])


def test_the_order_alternates_and_the_best_configuration_of_a_round_counts() -> None:
    ran: list[str] = []

    def side(name: str, *rates: float) -> Pass:
        values = iter(rates)

        def run() -> peers.Rates:
            ran.append(name)
            return {name: {"rate": next(values)}}

        return Pass(name, run)

    passes = [side("ours", 2.0, 2.0), side("peer: A", 1.0, 4.0), side("peer: B", 2.0, 1.0)]
    found = paired.measure(Group("title", {"rate": Figure("1/s")}, passes, ["ours"]), 2)
    assert ran == ["ours", "peer: A", "peer: B", "peer: B", "peer: A", "ours"]
    ((figure, ours, peer, ratio),) = found.ratios()
    assert (figure, ours, peer, ratio.least, ratio.most) == ("rate", "ours", "peer", 0.5, 1.0)
    assert [how for _, how in found.values["peer"]["rate"].values()] == ["B", "A"]


def failing() -> peers.Rates:
    raise CannotMeasure("it burnt")


def wrong() -> peers.Rates:
    raise common.Wrong("a total")


PASSES = {
    "wrong": Pass("ours", wrong),
    "dear": Pass("ours", lambda: {"ours": {"memory": 3.0}}),
    "works": Pass("peer", lambda: {"peer": {"rate": 1.0}}),
    "fails": Pass("peer", failing),
    "absent": Pass("peer", lambda: {"peer": {"rate": 1.0}}, {"no_such_program": "sudo apt-get install it"}),
    "no module": Pass("peer", lambda: {"peer": {"rate": 1.0}}, {"import no_such_module": "pip install it"}),
}


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("works", 0, ""),
        ("wrong", 1, "ours: failed: a total"),
        ("dear", 1, ""),
        ("fails", 1, "peer: failed: it burnt"),
        ("absent", 3, "no_such_program is absent\n  next: sudo apt-get install it"),
        ("no module", 3, "no_such_module is absent\n  next: pip install it"),
    ],
)
def test_a_peer_that_fails_or_is_absent_is_said(
    kind: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def groups(asked: argparse.Namespace) -> Iterator[Group]:
        mine = [Pass("ours", lambda: {"ours": {"rate": 2.0}})] if PASSES[kind].name == "peer" else []
        figures = {"rate": Figure("1/s"), "memory": Figure("B", better="", at_most=2)}
        yield Group("title", figures, [*mine, PASSES[kind]], ["ours"])

    monkeypatch.setattr(peers, "names", lambda: ["row"])
    monkeypatch.setattr(peers, "row", lambda _: (Row(groups, rounds=3), "A row."))
    monkeypatch.setattr(sys, "argv", ["paired.py", "row", "--json"])
    assert paired.main() == code
    out, err = capsys.readouterr()
    assert said in err
    if kind == "works":
        (ratio,) = json.loads(out)["ratios"]
        assert (ratio["median"], ratio["pairs"], ratio["claim"]) == (2.0, 3, "too few pairs to tell")


def test_ours_that_cannot_run_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def groups(asked: argparse.Namespace) -> Iterator[Group]:
        raise CannotMeasure("no program")
        yield

    monkeypatch.setattr(peers, "names", lambda: ["row"])
    monkeypatch.setattr(peers, "row", lambda _: (Row(groups, rounds=3), "A row."))
    monkeypatch.setattr(sys, "argv", ["paired.py"])
    assert paired.main() == 3
    assert "row: not measured: no program" in capsys.readouterr().err


def test_options_hold_in_their_order(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What was given, else the tiny size, else the default; what is not of the option's type is named."""
    options = {"sizes": common.Option([4096, 8192], [128]), "pages": common.Option("huge")}
    parser = common.parser("", options)
    for words, sizes in ((["--tiny"], [128]), ([], [4096, 8192]), (["--sizes", "1,2", "--tiny"], [1, 2])):
        found = common.chosen(parser.parse_args(words), options)
        assert (found.sizes, found.pages) == (sizes, "huge")
    with pytest.raises(SystemExit, match="2"):
        common.chosen(parser.parse_args(["--sizes", "x"]), options)
    assert "--sizes 'x'" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["paired.py", "no_such_row"])
    assert paired.main() == 2
    assert "next: one of " in capsys.readouterr().err
