"""multicast with real ranks on this host: what is injected is counted, and every event says where it was."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from shakedown.programs.events import Events
from shakedown.records import Case
from support.natives import run_ranks

#: One trial of 0.1 s is enough to count in; a shared machine may not keep a high rate.
SHORT = ("--samples", "2", "--seconds", "0.1", "--rate", "2000", "--echoes", "5", "--segments", "1")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return run_ranks("multicast", ranks, *words).told()


def _case(found: Events, kernel: str, **params: object) -> Case:
    fits = [
        case
        for case in found.cases
        if case.kernel == kernel and all(case.params.get(name) == value for name, value in params.items())
    ]
    assert len(fits) == 1, (kernel, params, [case.kernel for case in found.cases])
    return fits[0]


def test_every_kernel_of_both_patterns_by_group_size() -> None:
    code, found, err = _run(3, *SHORT)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    facts = found.provenance["facts"]
    assert facts["world_size"] == 3 and facts["hosts"] == [os.uname().nodename]
    assert facts["ttl"] == 0, "within one host nothing leaves it"
    for ranks in (2, 3):
        for pattern, senders in (("one-to-many", 1), ("many-to-many", ranks)):
            group = {"pattern": pattern, "ranks": ranks, "receivers": ranks - 1}
            heard_each = senders - (pattern == "many-to-many")
            loss = _case(found, "loss", **group)
            listeners = ranks - (pattern == "one-to-many")
            assert loss.work["expected"] == 2 * 200 * heard_each * listeners, (
                "packets, times those who should hear them"
            )
            rate = _case(found, "rate", **group)
            assert len(rate.seconds) == 2 and rate.residual is not None and rate.residual.passed
            # A sender may fall behind its schedule, never run ahead of it.
            assert all(one >= 1 / (2000 * heard_each) * 0.999 for one in rate.seconds)
            assert _case(found, "lossless", **group).seconds
        assert len(_case(found, "latency", ranks=ranks).seconds) == 5 * (ranks - 1)
        assert len(_case(found, "join", ranks=ranks).seconds) == 3 * (ranks - 1)


@pytest.mark.parametrize("pattern", ["one-to-many", "many-to-many"])
def test_what_is_dropped_on_purpose_is_counted_exactly(pattern: str) -> None:
    _, found, err = _run(3, *SHORT, "--patterns", pattern, "--sizes", "3", "--kernels", "rate", "--inject", "drop")
    loss = _case(found, "loss").work
    assert loss["lost"] - loss["loss_receivers"] * loss["expected"] == pytest.approx(loss["expected"] / 10), err
    assert loss["loss_network"] == pytest.approx(0.1) and loss["loss_worst"] >= 0.1


def test_packets_that_come_twice_or_late_are_told_and_not_lost() -> None:
    _, twice, _ = _run(2, *SHORT, "--patterns", "one-to-many", "--kernels", "rate", "--inject", "duplicate")
    work = _case(twice, "loss").work
    assert work["duplicates"] == pytest.approx(work["expected"] / 10, abs=work["lost"])
    assert any(one.code == "multicast-duplicates" for one in twice.notices)
    _, late, _ = _run(2, *SHORT, "--patterns", "one-to-many", "--kernels", "rate", "--inject", "swap")
    work = _case(late, "loss").work
    assert work["reordered"] == pytest.approx(work["expected"] / 10, abs=work["lost"])


def test_a_flipped_bit_fails_the_check_and_the_run() -> None:
    code, found, _ = _run(2, *SHORT, "--patterns", "one-to-many", "--kernels", "rate", "--inject", "flip")
    assert code == 1 and found.ended
    check = _case(found, "rate").residual
    assert check is not None and check.kind == "corrupt packets" and not check.passed
    expected = _case(found, "loss").work["expected"]
    assert check.value == pytest.approx(expected / 10, abs=_case(found, "loss").work["loss_receivers"] * expected)


def test_a_loss_is_a_value_and_the_other_kernels_stay() -> None:
    """Where something is always lost there is no rate without loss; the loss and all other figures are kept."""
    code, found, _ = _run(2, *SHORT, "--patterns", "one-to-many", "--inject", "drop")
    assert code == 0 and found.ended and found.provenance["facts"]["hosts"]
    assert {case.kernel for case in found.cases} == {"reach", "join", "latency", "rate", "loss"}
    assert all(case.residual is None or case.residual.passed for case in found.cases)
    (why,) = [one.text for one in found.notices if one.code == "multicast-no-lossless-rate"]
    assert "packets were lost even at" in why


def test_a_share_of_a_link_that_tells_no_speed_is_refused() -> None:
    code, found, err = _run(2, *SHORT, "--patterns", "one-to-many", "--kernels", "rate", "--share", "0.1")
    assert code == 3 and not found.cases and "a share of the link is requested" in err


def test_one_way_latencies_come_with_their_uncertainty() -> None:
    code, found, err = _run(
        2, *SHORT, "--patterns", "one-to-many", "--kernels", "latency", "--latency", "one-way", "--wait", "spin"
    )
    assert code == 0, err
    latency = _case(found, "latency", method="one-way", wait="spin")
    (uncertainty,) = _case(found, "clock").seconds
    assert len(latency.seconds) == 5 and uncertainty > 0
    assert min(latency.seconds) > -uncertainty, "nothing arrives before it was sent"


def test_senders_over_several_groups_are_all_heard() -> None:
    code, found, err = _run(
        3, *SHORT, "--patterns", "many-to-many", "--sizes", "3", "--kernels", "rate", "--groups", "2"
    )
    assert code == 0, err
    assert _case(found, "reach").work["pairs"] == 6
    assert found.provenance["facts"]["groups"] == 2


def test_ipv6_is_the_same_or_says_what_is_missing() -> None:
    code, found, err = _run(2, *SHORT, "--patterns", "one-to-many", "--kernels", "rate,latency", "--families", "ipv6")
    if code == 3:
        assert "ipv6" in err and "next:" in err
        pytest.skip(f"no multicast over IPv6 here: {err.strip()}")
    assert code == 0, err
    assert _case(found, "rate", family="ipv6").seconds


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--patern", "one-to-many"), 2, "did you mean --patterns"),
        (("--patterns", "one-to-one"), 2, "known: one-to-many, many-to-many"),
        (("--families", "ipx"), 2, "known: ipv4, ipv6"),
        (("--sizes", "3"), 2, "there are 2"),
        (("--bytes", "10"), 2, "at least 48"),
        (("--group", "10.0.0.1"), 2, "not a multicast address"),
        (("--group", "239.255.0.1,ff15::1"), 2, "1 families"),
        (("--interface", "nosuch0"), 3, "no interface nosuch0"),
        (("--interface", "203.0.113.0/24"), 3, "no address in 203.0.113.0/24"),
        (("--interface", "1.2.3.4/99"), 2, "not a network of ipv4"),
    ],
)
def test_wrong_words_are_refused_once(words: Sequence[str], code: int, said: str) -> None:
    got, found, err = _run(2, *words)
    assert got == code and not found.cases, err
    assert err.count("multicast: ") == 1, "rank 0 alone speaks"
    assert said in err and "next:" in err


def test_one_rank_is_refused_with_what_to_do() -> None:
    code, found, err = _run(1)
    assert code == 2 and not found.started and "mpirun -np 2" in err
