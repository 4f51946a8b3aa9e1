"""The tree of feeds: nothing counted twice, the rest shown, two meters on one load held against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.green500 import feed_power, feeds, intervals
from shakedown.energy.green500.feeds import Feed, Site
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.energy.uncertainty.quantity import Quantity, Term, quantity
from shakedown.errors import BadInput
from shakedown.metering.meters import Accuracy, Channel, Status
from shakedown.metering.trace import Trace, trace

T0 = 1_780_000_000_000_000_000
SECOND = 10**9
LOAD = Load(np.array([-1e4, 0.0, 100.0, 200.0]), np.array([100.0, 400.0, 300.0, 100.0]))


def channel(id: str, **told: Any) -> Channel:
    kind = told.pop("quantity", "power")
    unit, scope = ("J", "counter") if kind == "energy" else ("W", "last")
    return Channel(**{"id": id, "title": id, "quantity": kind, "unit": unit, "scope": scope, "place": "node", **told})


def traced(one: Channel, scale: float = 1.0, step: float = 1.0, **told: Any) -> Trace:
    load = Load(LOAD.t_s, LOAD.w * scale)
    window = step if one.quantity == "power" and one.scope != "point" else 0.0
    return observe(load, Truth(refresh_s=step, window_s=window, **told), one, -50.0, 300.0, origin_ns=T0)


def mean(one: Trace, begin: float = 0.0, end: float = 200.0) -> Quantity:
    return feed_power.mean_power(one, T0 + round(begin * SECOND), T0 + round(end * SECOND))


def known(name: str, watts: float, u: float, common: str = "") -> Quantity:
    return quantity(name, "W", watts, [Term(name=f"class {name}", u=u, common=common)])


# --------------------------------------------------------------------------------------------------------------- the tree


def test_channels_find_their_place_by_host_and_kind() -> None:
    tree = feeds.tree(
        [
            channel("ipmi/power", host="n1"),
            channel("rapl/package-0", host="n1", place="component", quantity="energy"),
            channel("rapl/core-0", host="n1", place="component", quantity="energy", within="rapl/package-0"),
            channel("rapl/package-1", host="n1", place="component", quantity="energy"),
            channel("ipmi/power", host="n2"),
            channel("hwmon/temp", host="n2", quantity="temperature"),
        ]
    )
    assert feeds.outermost(tree) == (("n1:ipmi/power", "n2:ipmi/power"), ())
    assert tree.ancestors("n1:rapl/core-0") == ("n1:rapl/package-0", "n1:ipmi/power")
    assert [one.name for one in tree.children("n1:ipmi/power")] == ["n1:rapl/package-0", "n1:rapl/package-1"]


def test_without_a_node_meter_the_components_are_added() -> None:
    tree = feeds.tree(
        [
            channel("rapl/package-0", place="component", quantity="energy"),
            channel("rapl/package-1", place="component", quantity="energy"),
            channel("nvml/0/power", place="component"),
            channel("nvml/0/energy", place="component", quantity="energy"),
        ]
    )
    chosen, _ = feeds.outermost(tree)
    assert set(chosen) == {"rapl/package-0", "rapl/package-1", "nvml/0/power"}
    assert tree.feeds["nvml/0/energy"].same_as == "nvml/0/power"


def test_a_part_s_counter_lies_within_its_node_s_power_too() -> None:
    """As Cray's files: the node and its processor, each as power and as energy; a GPU with three readings of one load."""
    tree = feeds.tree(
        [
            channel("cray/node/power"),
            channel("cray/node/energy", quantity="energy"),
            channel("cray/cpu/power", place="component", within="cray/node/power"),
            channel("cray/cpu/energy", place="component", quantity="energy", within="cray/node/energy"),
            channel("nvml/gpu0/power-instant", place="component", host="n2"),
            channel("nvml/gpu0/power-average", place="component", host="n2"),
            channel("nvml/gpu0/energy", place="component", quantity="energy", host="n2"),
            channel("nvml/gpu1/power-instant", place="component", host="n2"),
        ]
    )
    assert feeds.outermost(tree)[0] == (
        "cray/node/power",
        "n2:nvml/gpu0/power-instant",
        "n2:nvml/gpu1/power-instant",
    )
    for names in (
        ["cray/node/power", "cray/cpu/energy"],
        ["cray/node/energy", "cray/cpu/power"],
        ["cray/node/power", "cray/node/energy"],
        ["n2:nvml/gpu0/power-average", "n2:nvml/gpu0/energy"],
    ):
        with pytest.raises(BadInput, match="twice"):
            feeds.check_sum(tree, names)
    feeds.check_sum(tree, ["cray/node/energy", "n2:nvml/gpu0/energy", "n2:nvml/gpu1/power-instant"])


def test_a_site_says_what_contains_what() -> None:
    site = Site(
        feeds=(
            Feed(name="rack", channel="pdu:snmp/power"),
            Feed(name="node 1", channel="n1:ipmi/power", within="rack"),
            Feed(name="node 2", within="rack"),
            Feed(name="lab", channel="lab:csv/power", same_as="rack"),
            Feed(name="tape", note="another room"),
        )
    )
    parts = [channel("snmp/power", host="pdu", place="rack"), channel("ipmi/power", host="n1"),
             channel("csv/power", host="lab", place="rack")]  # fmt: skip
    tree = feeds.tree(parts, site)
    assert feeds.outermost(tree) == (("rack",), ("tape",))
    for names, words in (
        (["rack", "node 1"], "'rack' contains 'node 1'"),
        (["node 1", "rack"], "'rack' contains 'node 1'"),
        (["rack", "lab"], "'rack' and 'lab' meter the same load"),
        (["node 1", "node 1"], "summed twice"),
    ):
        with pytest.raises(BadInput, match=words):
            feeds.check_sum(tree, names)
    feeds.check_sum(tree, ["lab"])
    with pytest.raises(BadInput, match="unknown feed 'rak'"):
        feeds.check_sum(tree, ["rak"])


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([{"name": "a", "within": "b"}, {"name": "b", "within": "a"}], "circle: a within b within a"),
        ([{"name": "a", "within": "b"}, {"name": "b", "same_as": "a"}], "circle"),
        ([{"name": "a"}, {"name": "a"}], "two feeds 'a'"),
        ([{"name": "a", "within": "c"}], "unknown feed 'c'"),
        ([{"name": "a", "channel": "n1:ipmi/pover"}], "did you mean 'n1:ipmi/power'"),
        ([{"name": "a", "channel": "n1:ipmi/power"}, {"name": "b", "channel": "n1:ipmi/power"}], "meters two feeds"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(told: list[dict[str, str]], words: str) -> None:
    with pytest.raises(BadInput) as error:
        feeds.tree([channel("ipmi/power", host="n1")], Site(feeds=tuple(Feed(**one) for one in told)))
    assert words in str(error.value)


@given(st.lists(st.integers(-1, 11), min_size=1, max_size=12), st.sets(st.integers(0, 11)))
@settings(max_examples=60, deadline=None)
def test_a_sum_over_any_tree_counts_each_meter_once_or_is_refused(parents: list[int], metered: set[int]) -> None:
    """A random forest (each feed within an earlier one): the outermost meters may be summed, they miss no metered feed,
    and adding any other to them is refused."""
    names = [f"f{i}" for i in range(len(parents))]
    site = tuple(
        Feed(
            name=names[i],
            channel=f"h{i}:x/power" if i in metered else "",
            within=names[parent % i] if i and parent >= 0 else "",
        )
        for i, parent in enumerate(parents)
    )
    channels = [channel("x/power", host=f"h{i}", place="rack") for i in range(len(parents)) if i in metered]
    tree = feeds.tree(channels, Site(feeds=site))
    chosen, _ = feeds.outermost(tree)
    feeds.check_sum(tree, chosen)
    for feed in site:
        if feed.channel and feed.name not in chosen:
            assert set(tree.ancestors(feed.name)) & set(chosen)
            with pytest.raises(BadInput):
                feeds.check_sum(tree, [*chosen, feed.name])


# ---------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("kind", ["power", "energy"])
def test_the_mean_over_any_window_is_that_of_the_energy(kind: str) -> None:
    """A meter of 10 s on a window that cuts its readings: the energy is interpolated within them."""
    one = traced(channel("x/y", quantity=kind), step=10.0)
    assert mean(one).value == pytest.approx(350.0, rel=1e-12)
    assert mean(one, 5.0, 105.0).value == pytest.approx((95 * 400 + 5 * 300) / 100, rel=1e-12)


def test_a_gap_is_a_term_and_no_zero() -> None:
    one = traced(channel("x/power"))
    status = one.status.copy()
    status[60:80] = Status.GAP
    holed = trace(one.channel, one.t_ns, np.where(status == 0, one.value, np.nan), status=status)
    found = mean(holed)
    assert found.value == pytest.approx((80 * 400 + 100 * 300) / 180, rel=1e-9)
    term = next(one for one in found.terms if one.name == "gap")
    assert term.u == pytest.approx(0.1 * 100 / math.sqrt(12), rel=1e-9)
    assert found.seen == pytest.approx(0.9)


def test_unmetered_feeds_are_named() -> None:
    site = Site(feeds=(Feed(name="rack", channel="p:x/power"), Feed(name="coolers")))
    one = traced(channel("x/power", host="p", place="rack"))
    assert feeds.outermost(feeds.tree([one.channel], site)) == (("rack",), ("coolers",))


def test_class_divisors() -> None:
    for kind, divisor in (("bound", math.sqrt(3)), ("sigma", 1.0), ("fwhm", 2.3548)):
        stated = Accuracy(reading=0.01, full_scale=0.002, absolute=1.0, kind=kind)  # type: ignore[arg-type]
        for seconds in (1.0, 3600.0):  # a bound on power does not shrink with time
            terms = feed_power.class_terms(channel("x/power", accuracy=stated, full_scale=1000.0), 350.0, seconds)
            assert terms[0].u == pytest.approx((3.5 + 2.0 + 1.0) / divisor, rel=1e-4)
        counter = channel("x/energy", quantity="energy", unit="J", accuracy=stated, most_w=1000.0)
        terms = feed_power.class_terms(counter, 350.0, 100.0)  # a bound on a count does
        assert terms[0].u == pytest.approx((3.5 + 2.0 + 0.01) / divisor, rel=1e-4)


# ---------------------------------------------------------------------------------------------- the rest and the checks


def rack() -> feeds.Tree:
    site = Site(
        feeds=(
            Feed(name="rack", channel="p:x/power"),
            Feed(name="node 1", channel="n1:x/power", within="rack"),
            Feed(name="group", within="rack"),
            Feed(name="node 2", channel="n2:x/power", within="group"),
            Feed(name="fans", within="rack"),
            Feed(name="cpu", channel="n1:y/power", within="node 1"),
        )
    )
    parts = [channel("x/power", host=host, place="rack") for host in ("p", "n1", "n2")]
    return feeds.tree([*parts, channel("y/power", host="n1", place="component")], site)


def test_the_rest_is_the_parent_without_its_outermost_metered_parts() -> None:
    powers = {"rack": known("rack", 1000, 5), "node 1": known("node 1", 450, 3), "node 2": known("node 2", 440, 4),
              "cpu": known("cpu", 200, 1)}  # fmt: skip
    found = feed_power.rest(rack(), "rack", powers)
    assert (found.children, found.unmetered) == (("node 1", "node 2"), ("fans",))
    assert found.value.value == pytest.approx(110)
    assert found.value.u == pytest.approx(math.sqrt(25 + 9 + 16))
    assert not found.negative and not found.notices
    assert feed_power.rest(rack(), "node 1", powers).value.value == pytest.approx(250)
    with pytest.raises(BadInput, match="nothing within the feed 'fans'"):
        feed_power.rest(rack(), "fans", powers)
    with pytest.raises(BadInput, match="no power for 'node 2'"):
        feed_power.rest(rack(), "rack", {"rack": powers["rack"], "node 1": powers["node 1"]})


def test_a_rest_below_zero_is_flagged_only_beyond_its_uncertainty() -> None:
    for parent, flagged in ((890 - 5, False), (890 - 30, True)):
        powers = {
            "rack": known("rack", parent, 5),
            "node 1": known("node 1", 450, 3),
            "node 2": known("node 2", 440, 4),
        }
        found = feed_power.rest(rack(), "rack", powers)
        assert found.negative is flagged
        assert [one.code for one in found.notices] == (["negative-rest"] if flagged else [])


def test_two_meters_agree_within_their_uncertainty_or_not() -> None:
    for second, agree in ((990.0, True), (950.0, False)):
        found = feed_power.cross_check(known("pdu", 1000, 5), known("lab", second, 5))
        assert found.agree is agree
        assert found.ratio.value == pytest.approx(1000 / second)
    assert (
        feed_power.cross_check(known("pdu", 1000, 50, "one gain"), known("lab", 990, 49.5, "one gain")).agree is False
    )


def test_every_twin_is_checked() -> None:
    site = Site(feeds=(Feed(name="rack", channel="p:x/power"), Feed(name="lab", channel="l:x/power", same_as="rack")))
    tree = feeds.tree([channel("x/power", host=host, place="rack") for host in ("p", "l")], site)
    found = feed_power.checks(tree, {"rack": known("rack", 1000, 5), "lab": known("lab", 1004, 5)})
    assert [(one.first, one.second, one.agree) for one in found] == [("lab", "rack", True)]


# -------------------------------------------------------------------------------------------------------------- intervals


def test_a_hole_in_a_trace_is_no_long_reading() -> None:
    """Stamps 1, 2, 3, 10, 11 s: the reading at 10 s stands for one second, six are missing."""
    t = T0 + np.array([1, 2, 3, 10, 11], np.int64) * SECOND
    found = intervals.of(trace(channel("x/power"), t, np.arange(5.0) + 1))
    assert ((found.begin_ns - T0) / SECOND).tolist() == [0, 1, 2, 9, 10]
    watts, share = intervals.between(found, np.array([T0]), np.array([T0 + 11 * SECOND]))
    assert share[0] == pytest.approx(5 / 11) and watts[0] == pytest.approx(3.0)


def test_scopes_lie_before_after_and_around_their_stamp() -> None:
    t = T0 + np.array([0, 2, 4], np.int64) * SECOND
    for scope, begin in (("last", -2), ("next", 0), ("point", -1)):
        found = intervals.of(trace(channel("x/power", scope=scope), t, [1.0, 2.0, 3.0]))
        assert (found.begin_ns[0] - T0) / SECOND == begin
        assert found.seconds.tolist() == [2.0, 2.0, 2.0]
        assert np.all(found.begin_ns[1:] == found.end_ns[:-1])


def test_a_wrapped_counter_goes_on_and_one_that_may_have_wrapped_unseen_does_not() -> None:
    one = channel("rapl/p", quantity="energy", modulus=1000.0, most_w=500.0, place="component")
    t = T0 + np.array([0, 1, 2, 10, 11], np.int64) * SECOND
    found = intervals.of(trace(one, t, [800.0, 950.0, 100.0, 300.0, 450.0]))
    assert found.w.tolist() == pytest.approx([150.0, 150.0, 150.0])
    assert ((found.begin_ns - T0) / SECOND).tolist() == [0, 1, 10]


def test_the_refresh_is_found_below_the_polling() -> None:
    noisy = Load(np.arange(-100.0, 400.0), 300 + 10 * np.random.default_rng(1).standard_normal(500))
    one = observe(noisy, Truth(refresh_s=10.0, window_s=10.0), channel("x/power"), -50, 300, poll_s=1.0, origin_ns=T0)
    assert intervals.refresh_s(one) == pytest.approx(10.0)
    every = observe(noisy, Truth(refresh_s=1.0, window_s=1.0), channel("x/power"), -50, 300, origin_ns=T0)
    assert intervals.refresh_s(every) == pytest.approx(1.0)
    steady = trace(channel("x/power"), T0 + np.arange(100) * SECOND, np.full(100, 300.0))
    assert intervals.refresh_s(steady) == 1.0  # a value that stays may be new all the same
    stated = trace(channel("x/power", refresh_s=5.0), T0 + np.arange(100) * SECOND, np.full(100, 300.0))
    assert intervals.refresh_s(stated) == 5.0


def test_views_of_one_part_are_one_load_also_inside_a_module() -> None:
    module = channel("nvml/module0/average", place="component")
    gpu = [
        channel(f"nvml/gpu0/{view}", within="nvml/module0/average", place="component")
        for view in ("energy", "average", "instant")
    ]
    found = feeds.tree([module, channel("nvml/module0/instant", place="component"), *gpu])
    assert feeds.outermost(found)[0] == ("nvml/module0/average",)
    assert found.canonical("nvml/gpu0/instant") == found.canonical("nvml/gpu0/energy")
    assert found.canonical("nvml/module0/instant") == "nvml/module0/average"
    assert len(found.children("nvml/module0/average")) == 1
