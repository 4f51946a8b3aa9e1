"""The tuner's parts: comparison, windows, space, journal, rates, launch lines, HPL.dat, the page."""

from __future__ import annotations

import math
import random
from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput
from shakedown.records import Cache, Case, Host
from shakedown.tuning import loop, prior, space
from shakedown.tuning.paired import Observation, compare, t95
from shakedown.tuning.records import Request, name_of
from shakedown.tuning.windows import Step, fit, orders, whole_seconds
from support.tunings import host, windows_of

# ----------------------------------------------------------------------------------------------------------- comparison


def test_a_drift_that_is_larger_than_the_difference_cancels_in_blocks() -> None:
    generator = random.Random(1)
    truth = {"a": 0.0, "b": 0.01, "c": 0.03}
    seen = [
        Observation(item, block, value + 0.2 * math.sin(block) + generator.gauss(0, 0.003))
        for block in range(8)
        for item, value in truth.items()
    ]
    found = compare(seen)
    for item, value in truth.items():
        difference, error = found.difference(item, "a")
        assert difference == pytest.approx(value, abs=0.006)
        assert error < 0.006
    assert found.order() == ["a", "b", "c"]


def test_the_intervals_cover_the_truth_as_often_as_they_say() -> None:
    generator = random.Random(2)
    covered = 0
    for _ in range(300):
        seen = [
            Observation(item, block, value + shift + generator.gauss(0, 0.02))
            for block in range(4)
            for shift in [generator.gauss(0, 0.05)]
            for item, value in (("a", 0.0), ("b", 0.02), ("c", -0.01))
        ]
        slower = compare(seen).interval("b", "a")
        covered += slower.low <= math.expm1(0.02) <= slower.high
    assert 0.91 <= covered / 300 <= 0.99


def test_a_spike_hardly_moves_a_comparison() -> None:
    seen = [Observation(item, block, 0.001 * ((block * 7) % 3)) for block in range(5) for item in "abcd"]
    seen[6] = Observation("c", 1, 0.5)
    assert abs(compare(seen).difference("c", "a")[0]) < 0.03


def test_those_that_never_met_are_compared_less_surely() -> None:
    together = compare([Observation(item, block, 0.0) for block in range(3) for item in "ab"])
    apart = compare([Observation("a", block, 0.0) for block in range(3)] + [Observation("b", 9, 0.0)] * 3)
    assert apart.difference("a", "b")[1] > 2 * together.difference("a", "b")[1]


def test_students_quantile_against_tables() -> None:
    for dof, value in ((1, 12.706), (4, 2.776), (12, 2.179), (30, 2.042), (1e9, 1.960)):
        assert t95(dof) == pytest.approx(value, rel=2e-3)


# -------------------------------------------------------------------------------------------------------------- windows


def test_windows_of_exact_steps_give_the_whole_exactly() -> None:
    step = Step(2e-11, 3e-7, 4e-4)
    n, nb = 20000, 192
    found = windows_of(step, n, nb, 6, (1.0, 0.7, 0.4, 0.15))
    assert whole_seconds(found, n, nb) == pytest.approx(sum(map(step.seconds, orders(n, nb, 10**9))), rel=1e-9)
    assert fit(found, nb) == pytest.approx(step, rel=1e-6)


def test_few_windows_still_give_a_time_and_noise_never_makes_a_negative_one() -> None:
    step = Step(2e-11, 0.0, 0.0)
    assert whole_seconds(windows_of(step, 8000, 128, 4, (0.7,)), 8000, 128) == pytest.approx(
        sum(map(step.seconds, orders(8000, 128, 10**9)))
    )
    generator = random.Random(3)
    for _ in range(50):
        noisy = [
            msgspec.structs.replace(one, seconds=one.seconds * generator.uniform(0.7, 1.4))
            for one in windows_of(step, 8000, 128, 4, (1.0, 0.7, 0.4, 0.15))
        ]
        assert min(fit(noisy, 128)) >= 0
    with pytest.raises(ValueError):
        fit([], 128)


# ---------------------------------------------------------------------------------------------------------------- space


def test_the_default_space_has_both_sides_of_the_square_and_fitting_grids() -> None:
    made = space.default(host(), n=20000)
    grids = {space.pair(str(grid)) for grid in made.axes["grid"]}
    assert any(p > q for p, q in grids) and any(p < q for p, q in grids)
    assert {"1x8", "2x4", "8x1"} <= set(made.axes["layout"])
    assert set(made.axes["binding"]) == {"packed", "spread"}
    for point in space.combinations(made, space.PRIMARY, space.canonical(made, made.defaults)):
        p, q = space.pair(str(point["grid"]))
        assert p * q == space.pair(str(point["layout"]))[0]


def test_sockets_that_are_not_known_are_not_one() -> None:
    """A rank a socket is tried where the sockets are known, and first where nothing nearer is; else by what is known."""
    one = host(16)
    two = msgspec.structs.replace(one, numa=(), cpu=msgspec.structs.replace(one.cpu, sockets=2))
    assert space.layouts(two)[0] == (2, 8)
    untold = msgspec.structs.replace(one, cpu=msgspec.structs.replace(two.cpu, sockets=None, caches=four_l3(two)))
    assert [ranks for ranks, _ in space.layouts(untold)] == [2, 4, 1, 16]  # NUMA nodes, L3, the host, cores


def four_l3(one: Host) -> tuple[Cache, ...]:
    groups = tuple(tuple(range(at, at + 4)) for at in range(0, 16, 4))
    return (*one.cpu.caches[:2], Cache(level=3, kind="unified", size_bytes=2**25, groups=groups))


def test_what_cannot_matter_is_one_configuration() -> None:
    made = space.default(host(), n=20000)
    one = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "long", "swap": "binary"})
    other = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "1ring", "swap": "long"})
    assert one == other and name_of(one) == name_of(dict(reversed(other.items())))
    tall = space.canonical(made, {"layout": "2x4", "grid": "2x1", "bcast": "long", "swap": "binary"})
    assert tall["bcast"] == made.defaults["bcast"] and tall["swap"] == "binary"


def test_fixing_values() -> None:
    made = space.default(host(), n=20000)
    here = host()
    fixed = space.replace(made, {"nb": [192], "p": [2]}, here)
    assert fixed.axes["nb"] == (192,) and {space.pair(str(g))[0] for g in fixed.axes["grid"]} == {2}
    assert all(space.pair(str(layout))[0] % 2 == 0 for layout in fixed.axes["layout"])
    threads = space.replace(made, {"threads": [2]}, here)
    assert threads.axes["layout"] == ("4x2",)
    assert space.parse_fix("nb=128,192") == ("nb", [128, 192])
    assert space.parse_fix("progress-thread=true") == ("progress_thread", [True])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nbb": [1]}, "unknown parameter 'nbb'"),
        ({"nb": []}, "no value"),
        ({"p": [3]}, "no grid fits"),
        ({"threads": [0]}, "not a whole number"),
        ({"ranks": [64], "threads": [64]}, "CPUs"),
        ({"layout": ["4"]}, "with an x between"),
    ],
)
def test_what_cannot_be_searched_is_refused(given: dict[str, list[int]], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        space.replace(space.default(host(), n=20000), given, host())


def test_a_space_file_that_is_wrong_says_where(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("nb = [128, {a = 1}]\n")
    with pytest.raises(BadInput, match="nb"):
        space.read(path)
    path.write_text("nb = [128\n")
    with pytest.raises(BadInput, match="not TOML"):
        space.read(path)


# ---------------------------------------------------------------------------------------------------------------- rates


def test_rates_come_back_out_of_a_run_that_was_made_with_them() -> None:
    base = prior.Base(dgemm=7e10, panel=1e10, trsm=3e10)
    point = {"layout": "2x4", "grid": "1x2", "nb": 384}
    n, nb, threads = 20000, 384, 8
    seconds = 12.0
    phases = {
        "update": 2 / 3 * n**3 / 7e10 / (seconds * threads),
        "panel": nb * n**2 / 2 / 1e10 / (seconds * threads),
        "solve": nb * n**2 / 2 / 3e10 / (seconds * threads),
    }
    request = Request(point=point, n=n, stage="calibrate", block="b", estimate_s=1, cap_s=1)
    made = msgspec.structs.replace(
        loop.blank(loop.TrialRequest(request, 1.0, 1)), state="ok", seconds=seconds, phases=phases, cost_s=13.0
    )
    found = prior.from_trials(prior.base(host()), [made])
    assert (found.dgemm, found.panel, found.trsm) == pytest.approx((base.dgemm, base.panel, base.trsm), rel=1e-9)


def test_rates_from_probes() -> None:
    def case(kernel: str, seconds: float, **more: object) -> Case:
        work = {name: float(more.pop(name)) for name in ("flop", "elements", "bytes") if name in more}  # type: ignore[arg-type]
        return Case(kernel=kernel, params=more, work=work, seconds=(seconds,) * 3)  # type: ignore[arg-type]

    found = prior.from_probes(
        prior.base(host()),
        [
            case("probe.gemm", 1.0, k=192, threads=4, flop=2.4e11),
            case("probe.gemm", 1.0, k=384, threads=4, flop=3.0e11),
            case("probe.solve", 2.0, threads=4, flop=8e10),
            case("probe.panel", 1.0, threads=1, flop=9e9),
            case("probe.rows", 1.0, threads=2, elements=4e8),
            case("probe.ring", 1.0, scope="off", contended=1, bytes=3e9),
        ],
    )
    assert found.dgemm == 7.5e10 and dict(found.curve) == {192: pytest.approx(0.8), 384: 1.0}
    assert (found.trsm, found.panel, found.rows) == (1e10, 9e9, 2e8)
    assert found.network["node_off"] == 3e9


def test_the_model_knows_what_every_expert_knows() -> None:
    predict = prior.learn(prior.base(host()), 1)(())
    made = space.default(host(), n=20000)
    at = space.canonical(made, {**made.defaults, "layout": "8x1", "grid": "2x4", "nb": 192})
    flat_, tall = ({**at, "grid": grid} for grid in ("2x4", "8x1"))
    assert predict(flat_, 20000) < predict(tall, 20000)
    assert predict(at, 10000) < predict(at, 20000)
    assert predict({**at, "nb": 8}, 20000) > predict(at, 20000)
