"""What is wrong with a placement is named, once, with who and where; what is right is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.placement.diagnosis import diagnose
from shakedown.placement.records import Code, Pages, Rank, Symptom
from support.placements import rank, thread


def named(*ranks: Rank) -> dict[str, Symptom]:
    found = [one for one in diagnose(ranks).symptoms if one.wrong]
    assert len({one.kind for one in found}) == len(found), found
    return {one.kind: one for one in found}


def notes(*ranks: Rank) -> set[str]:
    return {one.kind for one in diagnose(ranks).symptoms if not one.wrong}


def test_each_rank_on_a_cpu_of_its_own_is_right() -> None:
    assert named(rank(0, thread([0])), rank(1, thread([1]))) == {}


def test_two_ranks_held_on_one_cpu_are_named_with_what_is_free() -> None:
    found = named(rank(0, thread([0], wait=0.5)), rank(1, thread([0], wait=0.48)))
    assert set(found) == {"shared-cpu"} and found["shared-cpu"].ranks == (0, 1)
    assert "CPU 0" in found["shared-cpu"].text and "3 other CPUs" in found["shared-cpu"].text
    assert "48 to 50 %" in found["shared-cpu"].text


def test_ranks_that_sleep_may_share_a_cpu() -> None:
    asleep = {"run_s": 0.1, "wait_s": 0.1}
    assert named(rank(0, thread([0], **asleep)), rank(1, thread([0], **asleep))) == {}


def test_the_smallest_crowded_set_is_named_and_not_all_that_hold_it() -> None:
    held = [rank(number, thread([0], wait=0.5), size=3) for number in (0, 1)]
    found = named(*held, rank(2, thread([0, 1], {1: 100}), size=3))
    assert found["shared-cpu"].ranks == (0, 1)


def test_ranks_that_could_be_elsewhere_and_were_together_are_named() -> None:
    found = named(*(rank(number, thread(range(4), {2: 95, 3: 5}, wait=0.5)) for number in (0, 1)))
    assert found["shared-cpu"].ranks == (0, 1) and "CPU 2" in found["shared-cpu"].text


def test_more_busy_threads_than_cpus_are_oversubscription_and_nothing_else() -> None:
    ranks = [rank(number, thread([0, 1], {0: 50, 1: 50}, wait=0.5), size=4, cpus=2) for number in range(4)]
    found = named(*ranks)
    assert set(found) == {"oversubscribed"} and found["oversubscribed"].ranks == (0, 1, 2, 3)


def test_threads_of_one_rank_in_a_narrow_mask_are_named() -> None:
    several = [thread([0], tid=tid, wait=0.75) for tid in range(4)]
    found = named(rank(0, *several, size=1))
    assert set(found) == {"crowded-rank"} and "4 busy threads" in found["crowded-rank"].text


@pytest.mark.parametrize("free", [True, False])
def test_two_threads_of_one_core_are_named_only_where_cores_are_free(free: bool) -> None:
    places = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (2, 2, 0, 0, 2), (3, 2, 0, 0, 2))
    reachable = (0, 1, 2, 3) if free else (0, 1)
    shared: dict[str, Any] = {"places": places, "reachable": reachable}
    found = named(rank(0, thread([0]), **shared), rank(1, thread([1]), **shared))
    assert ("shared-core" in found) is free


@pytest.mark.parametrize(("moves", "wall_s", "wrong"), [(3, 2.0, True), (2, 2.0, False), (3, 3600.0, False)])
def test_a_rank_that_moves_often_is_named(moves: int, wall_s: float, wrong: bool) -> None:
    moving = thread([0, 1], {0: 50, 1: 50}, moves=moves, wall_s=wall_s)
    found = named(rank(0, moving, wall_s=wall_s), rank(1, thread([2])))
    assert ("migrating" in found) is wrong
    if wrong:
        assert found["migrating"].ranks == (0,) and "CPUs 0-1" in found["migrating"].text


def test_the_kernels_count_names_what_samples_missed_and_binding_itself_is_no_migration() -> None:
    assert "migrating" in named(rank(0, thread([0, 1], {0: 50, 1: 50}, migrations=40), size=1))
    assert named(rank(0, thread([0], {0: 50, 1: 50}, migrations=5), size=1)) == {}


def test_pages_on_another_node_are_named_with_where_the_rank_ran() -> None:
    far = rank(0, thread([0]), nodes=2, pages=Pages(nodes={0: 20, 1: 80}, asked=200))
    near = rank(1, thread([3]), nodes=2, pages=Pages(nodes={1: 99, 0: 1}, asked=200))
    found = named(far, near)
    assert set(found) == {"remote-memory"} and found["remote-memory"].ranks == (0,)
    assert "80 % of its memory" in found["remote-memory"].text


def test_pages_of_a_rank_that_wandered_are_near_for_a_part_of_the_time() -> None:
    wandered = thread([0, 3], {0: 50, 3: 50})
    found = named(rank(0, wandered, size=1, nodes=2, pages=Pages(nodes={0: 100}, asked=100)))
    assert "50 % of its memory" in found["remote-memory"].text


def test_remote_memory_that_cannot_be_known_is_said_so() -> None:
    one = diagnose([rank(0, thread([0]), size=1, pages=Pages(nodes={0: 50}, asked=60))])
    assert any("one NUMA node" in gap.why for gap in one.unknown)
    few = diagnose([rank(0, thread([0]), size=1, nodes=2, pages=Pages(nodes={1: 5}, asked=60))])
    assert not few.wrong and any("5 of its pages" in gap.why for gap in few.unknown)
    refused = diagnose([rank(0, thread([0]), size=1, nodes=2, pages=Pages(absent="move_pages: not permitted"))])
    assert any("not permitted" in gap.why for gap in refused.unknown)


def test_a_limit_on_cpu_time_is_named() -> None:
    ranks = [rank(number, thread([number], wait=0.5), quota_cpus=1.0, throttled_s=1.0) for number in (0, 1)]
    found = named(*ranks)
    assert set(found) == {"throttled"} and "1 CPUs for 2 busy threads" in found["throttled"].text
    assert named(*(rank(number, thread([number]), quota_cpus=2.0) for number in (0, 1))) == {}


def test_waiting_that_the_job_does_not_explain_is_a_disturbance() -> None:
    found = named(rank(0, thread([0], wait=0.4), pressure_s=1.8), rank(1, thread([1])))
    assert found["disturbed"].ranks == (0,) and "90 %" in found["disturbed"].text


@pytest.mark.parametrize(
    ("vendor", "family", "other", "wrong"),
    [
        ("AuthenticAMD", "21", 0x7F0000006000, True),
        ("AuthenticAMD", "21", 0x7F1000007000, False),  # the same in bits 14 to 12
        ("AuthenticAMD", "25", 0x7F0000006000, False),
        ("GenuineIntel", "21", 0x7F0000006000, False),
    ],
)
def test_code_that_two_cores_of_a_module_evict_is_named(vendor: str, family: str, other: int, wrong: bool) -> None:
    def of(number: int, cache: int, address: int) -> Rank:
        code = (Code(path="/lib/libmpi.so.40", address=address, offset=4096),)
        places = ((0, 0, 0, 0, 0), (1, 1, 0, 0, cache))
        return rank(number, thread([number]), vendor=vendor, family=family, places=places, code=code)

    found = named(of(0, 0, 0x7F0000007000), of(1, 0, other))
    assert ("aliasing" in found) is wrong
    assert "aliasing" not in named(of(0, 1, 0x7F0000007000), of(1, 1, other)), "of two modules"


def test_ranks_that_ended_badly_or_left_nothing_are_named() -> None:
    found = named(rank(0, thread([0]), size=4, signal=11), rank(3, thread([1]), size=4))
    assert "SIGSEGV" in found["ended-badly"].text and found["ended-badly"].ranks == (0,)
    assert found["no-record"].ranks == (1, 2) and "2 of 4" in found["no-record"].text
    assert "exit code 7" in named(rank(0, thread([0]), size=1, exit_code=7))["ended-badly"].text
    assert "watcher was killed" in named(rank(0, thread([0]), size=1, finished=False))["ended-badly"].text


def test_processes_without_a_rank_and_another_mpi_are_named() -> None:
    alone = {"launcher": "", "local_rank": -1}
    found = named(rank(-1, thread([0]), size=-1, **alone), rank(-1, thread([1]), size=-1, **alone))
    assert set(found) == {"no-ranks"} and "2 processes of 2" in found["no-ranks"].text
    library = (Code(path="/usr/lib/libmpi.so.12.1", address=0, offset=0),)
    assert set(named(rank(0, thread([0]), size=1, code=library))) == {"other-mpi"}
    assert named(rank(0, thread([0]), size=1, code=library, launcher="Hydra")) == {}


def test_notes_are_no_faults() -> None:
    plain = (Code(path="/usr/bin/true", address=0, offset=0),)
    assert notes(rank(0, thread([0]), size=1, code=plain)) == {"no-mpi"}
    assert notes(*(rank(number, thread(range(4), {number: 100})) for number in (0, 1))) == {"unbound"}
    assert notes(rank(0, thread([0, 1])), rank(1, thread([1, 2], {2: 9}))) == {"overlapping-masks"}
    bound = rank(0, thread([3], {3: 9}), size=1, arrange="compact", arranged=(0,))
    assert notes(bound) == {"binds-itself"}


def test_hosts_are_judged_apart() -> None:
    other = {"host": "n2", "boot_id": "c"}
    assert named(rank(0, thread([0])), rank(1, thread([0]), **other)) == {}
    assert set(named(rank(0, thread([0])), rank(1, thread([0]), host="c2"))) == {"shared-cpu"}, "one kernel, two names"


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=6))
def test_a_crowd_is_named_exactly_where_no_cpus_of_their_own_exist(masks: list[set[int]]) -> None:
    ranks = [rank(n, thread(sorted(mask), wait=0.05), size=len(masks), cpus=6) for n, mask in enumerate(masks)]
    crowd = {"shared-cpu", "oversubscribed", "crowded-rank"} & {found.kind for found in diagnose(ranks).symptoms}
    # masks are sets here, and the rule looks at sets that are masks: where it names one, there is no way to place all
    if crowd:
        assert not _placeable([frozenset(mask) for mask in masks])
    if len({frozenset(mask) for mask in masks}) == 1:
        assert bool(crowd) is not _placeable([frozenset(mask) for mask in masks])


def _placeable(masks: list[frozenset[int]], taken: frozenset[int] = frozenset()) -> bool:
    return not masks or any(_placeable(masks[1:], taken | {cpu}) for cpu in masks[0] - taken)
