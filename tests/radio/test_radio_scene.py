"""The records of a radio scene: the link budget's arithmetic, and what cannot be true."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio.scene import LinkBudget, Place, Radio, RadioSetting


def place(**changed: float) -> Place:
    return Place(**({"latitude_deg": 47.0, "longitude_deg": 11.0, "height_m": 2.0} | changed))


def test_the_noise_of_a_megahertz() -> None:
    """-173.975 dBm/Hz at 290 K, 60 dB for 1 MHz, and the noise figure."""
    assert LinkBudget(noise_figure_db=5, bandwidth_hz=1e6).noise_dbm == pytest.approx(-108.9752, abs=1e-4)


@given(
    st.floats(-60, 60), st.floats(-20, 40), st.floats(-20, 40), st.floats(0, 20), st.floats(1, 1e10), st.floats(-30, 40)
)
def test_the_usable_loss_leaves_just_the_ratio_that_is_required(
    power: float, tx_gain: float, rx_gain: float, figure: float, bandwidth: float, snr: float
) -> None:
    budget = LinkBudget(
        tx_power_dbm=power,
        tx_gain_dbi=tx_gain,
        rx_gain_dbi=rx_gain,
        noise_figure_db=figure,
        bandwidth_hz=bandwidth,
        required_snr_db=snr,
    )
    assert budget.snr_db(budget.usable_loss_db) == pytest.approx(snr, abs=1e-9)
    assert budget.snr_db(100) - budget.snr_db(101) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "changed",
    [
        {"latitude_deg": 90.01},
        {"latitude_deg": math.nan},
        {"longitude_deg": -180.5},
        {"longitude_deg": math.inf},
        {"height_m": 0.0},
        {"height_m": -3.0},
        {"height_m": math.nan},
    ],
)
def test_a_place_that_is_none_is_refused(changed: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=next(iter(changed))):
        place(**changed)


@pytest.mark.parametrize("number", [0, -1, 65535, 70000])
def test_an_id_that_no_nem_can_have_is_refused(number: int) -> None:
    with pytest.raises(BadInput, match="1 to 65534"):
        Radio(id=number, name="a", place=place())


@pytest.mark.parametrize(
    "changed",
    [
        {"points": 2},
        {"points": 20_001},
        {"spacing_m": 0.0},
        {"spacing_m": math.nan},
        {"points": 100, "spacing_m": 30.0},
        {"climate": 0},
        {"climate": 8},
        {"variability_mode": 4},
        {"variability_mode": 40},
        {"variability_mode": -1},
        {"polarization": "circular"},
        {"frequency_mhz": 0.0},
        {"frequency_mhz": math.inf},
        {"conductivity_s_per_m": 0.0},
        {"refractivity_n": 249.9},
        {"permittivity": 0.99},
        {"time_percent": 0.0},
        {"situation_percent": 100.0},
        {"location_percent": math.nan},
    ],
)
def test_a_setting_that_cannot_be_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=next(iter(changed))):
        RadioSetting(**changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("changed", [{"bandwidth_hz": 0.0}, {"tx_power_dbm": math.nan}, {"required_snr_db": math.inf}])
def test_a_budget_that_cannot_be_is_refused(changed: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=next(iter(changed))):
        LinkBudget(**changed)
