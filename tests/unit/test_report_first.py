"""Power and work per joule beside the results of the first page: of the same cases, or with why they are not the rate's."""

from __future__ import annotations

import msgspec

from shakedown.records import Finding, Metric, Notice, PowerPart, Quantity, Value
from shakedown.report import _first_page, _power
from support.findings import finding

LATENCY = Metric(name="pingpong.latency", title="Latency", unit="s", better="lower", kernel="latency")
RATE = Metric(name="pingpong.message_rate", title="Rate", unit="message/s", better="higher", kernel="bandwidth")
POWER = Metric(name="pingpong.power", title="Power", unit="W", better="lower")
PER_JOULE = Metric(name="pingpong.energy_efficiency", title="Per joule", unit="message/J", better="higher")
METRICS = {one.name: one for one in (LATENCY, RATE, POWER, PER_JOULE)}


def of(metric: Metric, value: float, runs: int = 3, **params: Value) -> Finding:
    return msgspec.structs.replace(finding(metric, value, bytes=0, **params), n_runs=runs)


def beside(one: Finding, word: str, *more: Finding) -> str:
    return _first_page._beside(one, word, [one, of(POWER, 200.0, meter="m"), *more], METRICS)


def test_a_latency_has_no_power_of_other_cases_beside_it() -> None:
    """The energy of pingpong is that of its windows of messages: once shown as messages per joule beside the latency."""
    efficiency = of(PER_JOULE, 37_700.0, meter="m")
    assert beside(of(LATENCY, 3.8e-7), "energy_efficiency", efficiency) == ""
    assert beside(of(LATENCY, 3.8e-7), "power", efficiency) == ""
    assert beside(of(RATE, 7.5e6), "power", efficiency) == "200 W"
    assert beside(of(RATE, 7.5e6), "energy_efficiency", efficiency) == "37.7 k messages/J"


def test_an_efficiency_that_is_not_rate_over_power_says_why() -> None:
    other = Notice(code="energy-of-more", text="the case's energy holds 38% of other work: filling, checking, waiting")
    some = msgspec.structs.replace(of(PER_JOULE, 20_000.0, runs=1, meter="m"), notices=(other,))
    shown = beside(of(RATE, 7.5e6), "energy_efficiency", some)
    assert shown.splitlines()[0] == "20.0 k messages/J"
    assert "of 1 of 3 repeats" in shown and "holds 38% of other work" in shown


def test_what_the_uncertainty_hides_is_not_more_than_idle() -> None:
    """A constant load drew "-5.43 mW more than idle" at an uncertainty of 71 mW."""
    known = Quantity(name="P", unit="W", value=200.0, u=0.0355, k=2.0)
    (cells,) = _power._parts([PowerPart(case="DGEMM", part="m", within="", power=known, over_idle_w=-0.00543)]).rows
    assert cells[-1] == "none beyond ± 71 mW"
    (cells,) = _power._parts([PowerPart(case="DGEMM", part="m", within="", power=known, over_idle_w=30.0)]).rows
    assert cells[-1] == "30.0 W"
