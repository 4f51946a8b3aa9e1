"""Density and enthalpy of what flows in cooling loops, over temperature: water and mixes of it with a glycol.

Water: IAPWS SR6-08(2011), Revised Supplementary Release on Properties of Liquid Water at 0.1 MPa, equations 1 to 3 (the
Gibbs energy and its derivatives in closed form, from which density, heat capacity and enthalpy follow consistently). It
reproduces IAPWS-95 within its own uncertainty: 1e-6 in density near room temperature, 0.1 % in heat capacity. At the
pressures of cooling loops (up to 0.6 MPa) the density is higher by up to 0.025 %, which ``relative_u`` covers.

Ethylene and propylene glycol: A. Melinder, Properties of Secondary Working Fluids for Indirect Systems, 2nd edition, IIR
2010: polynomials in mass fraction and temperature, down to the freezing curve, whose coefficients CoolProp keeps as
INCOMP::MEG and INCOMP::MPG. Beside the ASHRAE tables (INCOMP::AEG, INCOMP::APG, by volume) density times heat capacity
differs by at most 1.7 % between 10 and 60 degC and 15 and 50 % of glycol: that is the stated bound.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import BadInput
from ...records import Record

Floats = NDArray[np.float64]
Kind = Literal["water", "ethylene glycol", "propylene glycol"]
ZERO_K = 273.15
MOST_DEGC = 100.0


class Fluid(Record, frozen=True, kw_only=True):
    """What flows. ``concentration`` is the glycol's mass fraction, ``u_concentration`` its standard uncertainty."""

    kind: Kind = "water"
    concentration: float = 0.0
    u_concentration: float = 0.0


WATER = Fluid()


def checked(fluid: Fluid, where: str) -> Fluid:
    """The fluid, if it can be. Raises BadInput for a concentration outside the tables."""
    if fluid.kind == "water" and fluid.concentration:
        raise BadInput("water has no concentration of glycol", where=where, hint="name the glycol, or leave it out")
    if fluid.kind != "water" and not 0 < fluid.concentration <= 0.6:
        raise BadInput(
            f"a mass fraction of {fluid.concentration:g} is outside the tables of {fluid.kind}",
            where=where,
            hint="give the mass fraction between 0 and 0.6: concentration = 0.3",
        )
    return fluid


def density(fluid: Fluid, t_degc: ArrayLike) -> Floats:
    """kg/m3; NaN outside the validity: from freezing (0 degC for water) to 100 degC."""
    t = _valid(fluid, t_degc)
    if fluid.kind == "water":
        return 1.0 / _water_volume(t + ZERO_K)
    table = _MIXES[fluid.kind]
    return _polynomial(table.density, table, fluid.concentration, t)


def heat_capacity(fluid: Fluid, t_degc: ArrayLike) -> Floats:
    """J/(kg K) at constant pressure; NaN outside the validity."""
    t = _valid(fluid, t_degc)
    if fluid.kind == "water":
        return _water_heat_capacity(t + ZERO_K)
    table = _MIXES[fluid.kind]
    return _polynomial(table.heat_capacity, table, fluid.concentration, t)


def enthalpy(fluid: Fluid, t_degc: ArrayLike) -> Floats:
    """J/kg over an arbitrary zero: only differences mean anything. Its slope is ``heat_capacity``."""
    t = _valid(fluid, t_degc)
    if fluid.kind == "water":
        return _water_enthalpy(t + ZERO_K)
    table = _MIXES[fluid.kind]
    return _integral(table.heat_capacity, table, fluid.concentration, t)


def freezing_degc(fluid: Fluid) -> float:
    """Where it begins to freeze."""
    if fluid.kind == "water":
        return 0.0
    table = _MIXES[fluid.kind]
    x = 100 * fluid.concentration - table.x0
    return float(sum(c * x**i for i, c in enumerate(table.freezing)))


def relative_u(fluid: Fluid) -> tuple[float, str]:
    """Standard uncertainty of density times heat capacity, and how it was found. The concentration's is not in it."""
    if fluid.kind == "water":
        return 0.0015 / 3**0.5, "IAPWS SR6-08: 0.1 % in heat capacity; pressure, dissolved air and salts 0.05 % (bound)"
    return 0.017 / 3**0.5, "Melinder 2010 beside the ASHRAE tables: 1.7 % (bound)"


def _valid(fluid: Fluid, t_degc: ArrayLike) -> Floats:
    t = np.asarray(t_degc, np.float64)
    out: Floats = np.where((t >= freezing_degc(fluid)) & (t <= MOST_DEGC), t, np.nan)
    return out


# --------------------------------------------------------------------------------- water: IAPWS SR6-08(2011), table 1

_R = 461.51805  # J/(kg K)
_TR, _TA, _TB = 10.0, 593.0, 232.0  # K
_P = 1e5  # Pa
_GIBBS_A = ((-1.661470539e5, 4), (2.708781640e6, 5), (-1.557191544e8, 7))
_GIBBS_B = ((-8.237426256e-1, 2), (1.908956353, 3), (-2.017597384, 4), (8.546361348e-1, 5))
_GIBBS_C = (-2.452093414e2, 3.869269598e1, -8.983025854)
_VOLUME_0 = 1.93763157e-2
_VOLUME_A = ((6.74458446e3, 4), (-2.22521604e5, 5), (1.00231247e8, 7), (-1.63552118e9, 8), (8.32299658e9, 9))
_VOLUME_B = (
    (5.78545292e-3, 1),
    (-1.53195665e-2, 2),
    (3.11337859e-2, 3),
    (-4.23546241e-2, 4),
    (3.38713507e-2, 5),
    (-1.19946761e-2, 6),
)


def _sum(parts: Iterable[Floats]) -> Floats:
    return functools.reduce(np.add, parts)


def _water_volume(t: Floats) -> Floats:
    """m3/kg at 0.1 MPa, equation 2."""
    alpha, beta = _TR / (_TA - t), _TR / (t - _TB)
    total = _VOLUME_0 + _sum(a * alpha**n for a, n in _VOLUME_A) + _sum(b * beta**m for b, m in _VOLUME_B)
    out: Floats = _R * _TR / _P * total
    return out


def _water_heat_capacity(t: Floats) -> Floats:
    """J/(kg K), equation 5."""
    tau, alpha, beta = t / _TR, _TR / (_TA - t), _TR / (t - _TB)
    total = _sum(n * (n + 1) * a * alpha ** (n + 2) for a, n in _GIBBS_A)
    total = total + _sum(m * (m + 1) * b * beta ** (m + 2) for b, m in _GIBBS_B)
    out: Floats = -_R * (_GIBBS_C[2] + tau * total)
    return out


def _water_enthalpy(t: Floats) -> Floats:
    """J/kg: g + T s, of equations 1 and 4."""
    tau, alpha, beta = t / _TR, _TR / (_TA - t), _TR / (t - _TB)
    c1, c2, c3 = _GIBBS_C
    gibbs = c1 + c2 * tau + c3 * tau * np.log(tau)
    gibbs = gibbs + _sum(a * alpha**n for a, n in _GIBBS_A) + _sum(b * beta**m for b, m in _GIBBS_B)
    slope = c2 + c3 * (1 + np.log(tau))
    slope = slope + _sum(n * a * alpha ** (n + 1) for a, n in _GIBBS_A)
    slope = slope - _sum(m * b * beta ** (m + 1) for b, m in _GIBBS_B)
    out: Floats = _R * _TR * (gibbs - tau * slope)
    return out


# ------------------------------------------------------------------------------------------- glycols: Melinder 2010


class _Mix(NamedTuple):
    """Coefficients of (x - x0)^i (t - t0)^j with x in percent by mass and t in degC, in the order of ``_POWERS``."""

    x0: float
    t0: float
    freezing: tuple[float, ...]  # degC, powers of (x - x0)
    density: tuple[float, ...]
    heat_capacity: tuple[float, ...]


_POWERS = tuple((i, j) for i, most in enumerate((4, 4, 4, 3, 2, 1)) for j in range(most))

# fmt: off
_ETHYLENE_DENSITY = (
    1034, -0.4781, -0.002692, 4.725e-6, 1.311, -0.006876, 4.805e-5, 1.69e-8, 7.49e-5, 7.855e-5, -3.995e-7, 4.982e-9,
    -1.062e-4, 1.229e-6, -1.153e-8, -9.623e-7, -7.211e-8, 4.891e-8)
_ETHYLENE_HEAT = (
    3737, 2.93, -0.004675, -1.389e-5, -17.99, 0.1046, -4.147e-4, 1.847e-7, -0.09933, 3.516e-4, 5.109e-6, -7.138e-8,
    0.00261, -1.189e-6, -1.643e-7, 1.537e-5, -4.272e-7, -1.618e-6)
_PROPYLENE_DENSITY = (
    1018, -0.5406, -0.002666, 1.347e-5, 0.7604, -0.00945, 5.541e-5, -1.343e-7, -0.002498, 2.7e-5, -4.018e-7, 3.376e-9,
    -1.55e-4, 2.829e-6, -7.175e-9, -1.131e-6, -2.221e-8, 2.342e-8)
_PROPYLENE_HEAT = (
    3882, 2.699, -0.001659, -1.032e-5, -13.04, 0.0507, -4.752e-5, 1.522e-6, -0.1598, 9.534e-5, 1.167e-5, -4.87e-8,
    3.539e-4, 3.102e-5, -2.95e-7, 5e-5, -7.135e-7, -4.959e-7)
_ETHYLENE_FREEZING = (-15.25, -0.808, -0.01334, -7.293e-5, 1.006e-6, 1.14e-9)
_PROPYLENE_FREEZING = (-13.25, -0.6631, -0.01094, -2.283e-4, -3.409e-6, 1.465e-8)
# fmt: on

_MIXES: dict[str, _Mix] = {
    "ethylene glycol": _Mix(30.8462, 31.728, _ETHYLENE_FREEZING, _ETHYLENE_DENSITY, _ETHYLENE_HEAT),
    "propylene glycol": _Mix(30.7031, 32.7083, _PROPYLENE_FREEZING, _PROPYLENE_DENSITY, _PROPYLENE_HEAT),
}


def _polynomial(coefficients: tuple[float, ...], table: _Mix, concentration: float, t: Floats) -> Floats:
    x = 100 * concentration - table.x0
    out: Floats = np.zeros_like(t)
    for (i, j), c in zip(_POWERS, coefficients, strict=True):
        out = out + c * x**i * (t - table.t0) ** j
    return out


def _integral(coefficients: tuple[float, ...], table: _Mix, concentration: float, t: Floats) -> Floats:
    """The polynomial's integral over temperature, from t0."""
    x = 100 * concentration - table.x0
    out: Floats = np.zeros_like(t)
    for (i, j), c in zip(_POWERS, coefficients, strict=True):
        out = out + c * x**i * (t - table.t0) ** (j + 1) / (j + 1)
    return out
