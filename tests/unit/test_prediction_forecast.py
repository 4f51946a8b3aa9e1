"""Forecasts against published runs that they did not see, and what must hold of any forecast."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from shakedown import published
from shakedown.errors import BadInput
from shakedown.prediction import baselines, forecast, page, publications, setup
from shakedown.prediction.forecast import Forecast, Predicted
from shakedown.prediction.priors import DEFAULTS
from shakedown.prediction.setup import Row, Setup
from shakedown.units import parse_quantity

TSUBAME = setup.shipped("tsubame")
CASTORC = setup.shipped("castorc")
assert TSUBAME and CASTORC


def rows(described: Setup, id: str) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The runs on 1, 2 and 4, and the others."""
    known = publications.published_rows(published.system(id), described)
    return tuple(one for one in known if one.count <= 4), tuple(one for one in known if one.count > 4)


@cache
def tsubame(seed: int = 1) -> Forecast:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    return forecast.forecast(TSUBAME, observed, held_out, seed=seed)


def errors(found: list[float], held_out: tuple[Row, ...]) -> list[float]:
    return [abs(rate / (row.rate or 0) - 1) for rate, row in zip(found, held_out, strict=True)]


# --------------------------------------------------------------------------------------------------- published, held out


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_tsubame_from_one_two_and_four_nodes(seed: int) -> None:
    """Bounds of the project: 3 % in the mean, 8 % at worst, 80 % of the intervals true."""
    found = forecast.summary(tsubame(seed))
    assert found["rows"] == 10
    assert found["mean_error"] <= 0.03
    assert found["worst_error"] <= 0.08
    assert found["covered"] >= 0.8
    assert found["mean_width"] <= 0.12
    largest = tsubame(seed).predicted[-1]
    assert largest.count == 648
    assert abs(largest.error or 1) <= 0.05


def test_tsubame_is_forecast_better_than_by_either_formula() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    assert [row.count for row in observed] == [1, 2, 4]
    ours = forecast.summary(tsubame())
    for formula in (baselines.log_linear, baselines.netlib):
        theirs = errors([formula(observed, row) for row in held_out], held_out)
        assert ours["mean_error"] < sum(theirs) / len(theirs)
        assert ours["worst_error"] < max(theirs)


def test_tsubame_nodes_of_another_clock() -> None:
    """The nodes of 2.6 GHz have rows of their own; 8 and 16 from 1, 2 and 4."""
    assert TSUBAME and TSUBAME.published
    wanted = msgspec.structs.replace(TSUBAME.published, params={"clock": ("2.6 GHz",)})
    observed, held_out = rows(msgspec.structs.replace(TSUBAME, published=wanted), "tsubame")
    found = forecast.forecast(TSUBAME, observed, held_out)
    assert [one.count for one in found.predicted] == [8, 16]
    assert all(abs(one.error or 1) <= 0.015 for one in found.predicted)


def test_castorc_from_one_two_and_four_gpus() -> None:
    """Two runs of one configuration differ by 5.4 % there."""
    assert CASTORC
    observed, held_out = rows(CASTORC, "castorc")
    found = forecast.forecast(CASTORC, observed, held_out)
    summary = forecast.summary(found)
    line = errors([baselines.log_linear(observed, row) for row in held_out], held_out)
    assert summary["rows"] == 7
    assert summary["mean_error"] <= 0.035
    assert summary["worst_error"] <= 0.08
    assert summary["mean_error"] < sum(line) / len(line)
    assert summary["covered"] >= 0.8


def test_what_was_measured_at_the_targets_is_not_looked_at() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    blind = [msgspec.structs.replace(row, rate=None) for row in held_out]
    wrong = [msgspec.structs.replace(row, rate=(row.rate or 0) / 3) for row in held_out]
    for targets in (blind, wrong):
        again = forecast.forecast(TSUBAME, observed, targets)
        assert [one.rate for one in again.predicted] == [one.rate for one in tsubame().predicted]
        assert [(one.low, one.high) for one in again.predicted] == [(one.low, one.high) for one in tsubame().predicted]
    assert forecast.summary(forecast.forecast(TSUBAME, observed, blind)) == {}


# ------------------------------------------------------------------------------------------------------- any forecast


def test_the_same_seed_gives_the_same_forecast_and_another_hardly_differs() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    assert msgspec.json.encode(forecast.forecast(TSUBAME, observed, held_out)) == msgspec.json.encode(tsubame())
    for one, other in zip(tsubame(1).predicted, tsubame(2).predicted, strict=True):
        assert one.rate == pytest.approx(other.rate, rel=0.005)


def test_intervals_hold_the_forecast_and_grow_with_the_distance() -> None:
    found = tsubame().predicted
    assert all(one.low < one.rate < one.high for one in found)
    widths = {one.count: (one.high - one.low) / one.rate for one in found}
    assert widths[8] < widths[64] < widths[512]


def test_calibrating_runs_are_met_to_their_noise() -> None:
    assert all(abs(one.error) < 0.008 for one in tsubame().calibrated)
    assert tsubame().effective_draws > 50


def test_runs_that_contradict_one_another_are_refused_and_the_odd_one_is_named() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    disturbed = [msgspec.structs.replace(observed[0], rate=(observed[0].rate or 0) * 0.8), *observed[1:]]
    with pytest.raises(BadInput, match="misses the run on 1 node at N = 58,320") as refused:
        forecast.forecast(TSUBAME, disturbed, held_out[-1:])
    assert "--leave-out 1@58320" in refused.value.hint
    without = forecast.forecast(TSUBAME, disturbed[1:], held_out[-1:])
    assert without.notices == ()


def test_runs_that_are_said_to_scatter_widen_the_interval() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    disturbed = [msgspec.structs.replace(observed[0], rate=(observed[0].rate or 0) * 0.8), *observed[1:]]
    noisy = msgspec.structs.replace(TSUBAME, error=msgspec.structs.replace(TSUBAME.error, noise=0.08))
    found = forecast.forecast(noisy, disturbed, held_out[-1:])
    one, calm = found.predicted[0], tsubame().predicted[-1]
    assert one.high - one.low > 2 * (calm.high - calm.low)


def test_a_run_that_is_missed_a_little_widens_the_interval_and_is_told() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    disturbed = [msgspec.structs.replace(observed[0], rate=(observed[0].rate or 0) * 0.94), *observed[1:]]
    found = forecast.forecast(TSUBAME, disturbed, held_out[-1:])
    assert found.noise > 0.02
    one, calm = found.predicted[0], tsubame().predicted[-1]
    assert one.high - one.low > 1.1 * (calm.high - calm.low)
    lead = " ".join(page.lead(found))
    assert "do not agree" in lead and "--leave-out 1@58320" in lead
    assert not any("do not agree" in sentence for sentence in page.lead(tsubame()))


def test_the_inputs_that_move_most_come_first_and_knowing_one_narrows_the_interval() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    last = tsubame().predicted[-1]
    moves = [abs(one.moves) for one in last.sensitivity]
    assert moves == sorted(moves, reverse=True)
    first = next(one for one in last.sensitivity if one.input != "model")
    assert first.input == "narrow"
    known = msgspec.structs.replace(TSUBAME.priors[first.input], low=0.07, high=0.07)
    better = msgspec.structs.replace(TSUBAME, priors={**TSUBAME.priors, first.input: known})
    narrowed = forecast.forecast(better, observed, held_out[-1:]).predicted[0]
    assert (narrowed.high - narrowed.low) / narrowed.rate < 0.9 * (last.high - last.low) / last.rate
    assert first.input not in {one.input for one in narrowed.sensitivity}


def test_a_known_machine_needs_no_measured_run() -> None:
    text = """
        title = "described"
        [run]
        ranks_per_node = 2
        nb = 256
        threads = 24
        [memory]
        per_node = "192 GiB"
        [input.dgemm]
        value = "1.4 Tflop/s"
        source = "gemm, all ranks at once"
    """
    found = setup.parse(text, "machine.toml")
    p, q = setup.checked_grid(16, 2, 0, 0)
    target = Row(count=16, n=setup.order(found, 16), p=p, q=q)
    one = forecast.forecast(found, (), [target]).predicted[0]
    assert (one.p, one.q) == (4, 8)
    assert one.n % 256 == 0
    assert 0.75 < 8 * one.n**2 / (16 * 192 * 2**30) <= 0.8
    assert 0.6 < one.of_dgemm < 1
    assert one.rate < 32 * 1.4e12


def test_alternatives_that_are_not_stated_widen_the_interval() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    unstated = msgspec.structs.replace(
        TSUBAME, run=msgspec.structs.replace(TSUBAME.run, mapping=("row", "column")), run_at=()
    )
    stated = msgspec.structs.replace(TSUBAME, run_at=())

    def last(described: Setup) -> Predicted:
        return forecast.forecast(described, observed, held_out[-1:]).predicted[0]

    wide, narrow = last(unstated), last(stated)
    assert wide.high - wide.low > narrow.high - narrow.low
    assert any("column mapping" in one.title for one in wide.sensitivity)


def test_nothing_to_calibrate_with_is_said() -> None:
    assert TSUBAME
    with pytest.raises(BadInput, match="neither a measured run nor the DGEMM rate"):
        forecast.forecast(TSUBAME, (), [Row(count=8, n=160_080, p=8, q=8)])


# ------------------------------------------------------------------------------------------------------------- formulas


def test_the_straight_line_goes_through_two_points() -> None:
    observed = [Row(count=1, n=1000, p=2, q=4, rate=8e9), Row(count=2, n=1400, p=4, q=4, rate=15e9)]
    assert baselines.log_linear(observed, Row(count=4, n=2000, p=4, q=8)) == pytest.approx(4 * 7e9)
    assert baselines.log_linear(observed[:1], Row(count=4, n=2000, p=4, q=8)) == pytest.approx(4 * 8e9)
    with pytest.raises(BadInput):
        baselines.log_linear([], observed[0])


def test_netlibs_formula_is_found_again_from_its_own_times() -> None:
    rate, word_s = 5e9, 2e-9

    def made(count: int, n: int, p: int, q: int) -> Row:
        time_s = 2 * n**3 / (3 * p * q * rate) + word_s * n**2 * (3 * p + q) / (2 * p * q)
        return Row(count=count, n=n, p=p, q=q, rate=(2 / 3 * n**3 + 1.5 * n**2) / time_s)

    observed = [made(1, 20_000, 2, 4), made(2, 30_000, 4, 4), made(4, 40_000, 4, 8)]
    target = made(64, 160_000, 16, 32)
    assert baselines.netlib(observed, target) == pytest.approx(target.rate, rel=1e-6)


# ---------------------------------------------------------------------------------------------------------- description


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[run]\nnb = 192", "ranks_per_node"),
        ("[run]\nranks_per_node = 0\nnb = 192", "ranks_per_node: 0 is not at least 1"),
        ("[run]\nranks_per_node = 8\nnb = 192\nbcast = 'ring'", "ring"),
        ("[run]\nranks_per_node = 8\nnb = 192\nmaping = 'row'", "mapping"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[input.stream_of]\nvalue = 1.0\nsource = 'x'", "stream_off"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[input.stream_off]\nvalue = '3 s'\nsource = 'x'", "not in B/s"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[input.stream_off]\nlow = 3.0\nsource = 'x'", "low and high"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[input.stream_off]\nlow = 3.0\nhigh = 2.0\nsource = 'x'", "is empty"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[memory]\nper_node = '64'\nshare = 1.5", "share: 1.5 is not at most 1"),
        ("[run]\nranks_per_node = 8\nnb = 192\n[memory]\nper_node = 'much'", "much"),
        (
            "[run]\nranks_per_node = 8\nnb = 192\n[[measured]]\ncount = 2\nn = 9600\nrate = '1 Tflop/s'\np = 3\nq = 4",
            "3 x 4",
        ),
        ("[run]\nranks_per_node = 8\nnb = 192\n[[measured]]\ncount = 2\nn = 9600\nrate = '1 s'", "not in flop/s"),
    ],
)
def test_a_wrong_description_is_one_clear_error(change: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        setup.parse(f"title = 'x'\n{change}", "machine.toml")
    assert message in str(caught.value)
    assert caught.value.where
    assert caught.value.hint


def test_a_matrix_that_does_not_fit_is_refused_with_one_that_does() -> None:
    assert TSUBAME
    with pytest.raises(BadInput, match="needs") as caught:
        setup.check_memory(TSUBAME, 1, 70_000)
    fits = int(caught.value.hint.split()[2])
    setup.check_memory(TSUBAME, 1, fits)
    assert fits % 240 == 0


DOCUMENT = (Path(__file__).parent.parent.parent / "docs" / "forecast.md").read_text(encoding="utf-8")


def test_the_description_in_the_documentation_is_one() -> None:
    text = DOCUMENT.split("```toml\n")[1].split("```")[0]
    described = setup.parse(text, "cluster.toml")
    p, q = setup.checked_grid(64, 2, 0, 0)
    target = Row(count=64, n=setup.order(described, 64), p=p, q=q)
    one = forecast.forecast(described, described.measured, [target]).predicted[0]
    assert 0.6 < one.of_dgemm < 1


def test_the_documentation_says_what_is_forecast() -> None:
    for one in tsubame().predicted:
        (line,) = (row for row in DOCUMENT.splitlines() if row.startswith(f"| {one.count} | {one.p} x {one.q} |"))
        cells = [cell.strip() for cell in line.split("|")]
        assert parse_quantity(cells[5])[0] == pytest.approx(one.rate, rel=2e-3)
        assert ("missed" in cells[7]) == (not one.low <= (one.measured or 0) <= one.high)


def test_every_input_is_in_the_documentation() -> None:
    for name in DEFAULTS:
        assert f"| `{name}`: " in DOCUMENT


def test_the_default_ranges_alone_forecast_tsubame() -> None:
    assert TSUBAME
    observed, held_out = rows(TSUBAME, "tsubame")
    found = forecast.summary(forecast.forecast(msgspec.structs.replace(TSUBAME, priors=DEFAULTS), observed, held_out))
    assert found["mean_error"] <= 0.03
    assert found["worst_error"] <= 0.09


def test_every_input_of_a_shipped_description_has_its_source() -> None:
    for described in (TSUBAME, CASTORC):
        assert described
        assert all(prior.source and prior.title for prior in described.priors.values())
