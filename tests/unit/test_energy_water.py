"""Fluids: density and enthalpy against the sources of their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.energy.facility import water
from shakedown.errors import BadInput

# --------------------------------------------------------------------------------------------------------------- fluids


def kell(t: float) -> float:
    """Kell 1975, density at one atmosphere from 0 to 150 degC (as in Jones and Harris 1992, equation 1)."""
    above = 999.83952 + 16.945176 * t - 7.9870401e-3 * t**2 - 46.170461e-6 * t**3
    above += 105.56302e-9 * t**4 - 280.54253e-12 * t**5
    return above / (1 + 16.879850e-3 * t)


def test_water_is_iapws_waters_own_check_values_and_kells() -> None:
    assert float(water.density(water.WATER, 25.0)) == pytest.approx(997.0470133997646, rel=1e-12)
    assert float(water.heat_capacity(water.WATER, 25.0)) == pytest.approx(4181.446178557689, rel=1e-12)
    for t in range(0, 101, 5):
        assert float(water.density(water.WATER, t)) == pytest.approx(kell(t), abs=0.02)


@pytest.mark.parametrize(
    ("kind", "concentration", "t", "density", "capacity"),
    [  # CoolProp's INCOMP::MEG and INCOMP::MPG
        ("ethylene glycol", 0.2, 10.0, 1026.942, 3878.30),
        ("ethylene glycol", 0.3, 30.0, 1033.699, 3747.23),
        ("ethylene glycol", 0.4, 50.0, 1035.430, 3634.67),
        ("propylene glycol", 0.2, 50.0, 1001.230, 4040.21),
        ("propylene glycol", 0.3, 30.0, 1018.890, 3883.86),
        ("propylene glycol", 0.4, 10.0, 1037.616, 3674.27),
    ],
)
def test_glycols_are_melinders(
    kind: water.Kind, concentration: float, t: float, density: float, capacity: float
) -> None:
    fluid = water.Fluid(kind=kind, concentration=concentration)
    assert float(water.density(fluid, t)) == pytest.approx(density, abs=1e-3)
    assert float(water.heat_capacity(fluid, t)) == pytest.approx(capacity, abs=1e-2)


@given(
    st.sampled_from(["water", "ethylene glycol", "propylene glycol"]),
    st.floats(0.05, 0.6),
    st.floats(1, 99),
)
def test_enthalpy_rises_by_the_heat_capacity(kind: water.Kind, concentration: float, t: float) -> None:
    fluid = water.Fluid(kind=kind, concentration=0.0 if kind == "water" else concentration)
    rise = float(water.enthalpy(fluid, t + 0.5) - water.enthalpy(fluid, t - 0.5))
    assert rise == pytest.approx(float(water.heat_capacity(fluid, t)), rel=1e-5)


def test_outside_its_validity_a_fluid_has_no_properties() -> None:
    assert np.isnan(water.density(water.WATER, [-0.1, 100.1])).all()
    mix = water.Fluid(kind="ethylene glycol", concentration=0.3)
    assert water.freezing_degc(mix) == pytest.approx(-14.5758, abs=1e-3)
    assert np.isfinite(water.density(mix, -14.0)) and np.isnan(water.density(mix, -15.0))
    for wrong in (
        water.Fluid(concentration=0.2),
        water.Fluid(kind="ethylene glycol"),
        water.Fluid(kind="propylene glycol", concentration=0.7),
    ):
        with pytest.raises(BadInput):
            water.checked(wrong, "here")
