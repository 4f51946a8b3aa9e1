"""Scaling: intervals that hold, laws that are refused, series found in cases, what a person reads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown import published, workloads
from shakedown.analysis import scaling
from shakedown.analysis.scaling import comparison, laws
from shakedown.analysis.scaling.judge import karp_flatt
from shakedown.analysis.table import from_measurements
from shakedown.document.model import Lines
from shakedown.records import Case, Finding, Measurement, ScalingKind, ScalingPoint, ScalingSeries
from shakedown.report import scaling as page
from shakedown.workloads.common import ranks
from support.command import called
from support.machines import host

from support.bench import BENCH  # isort: skip  # lets the module below be found

import scaling_laws

assert BENCH


def series(
    times: dict[int, tuple[float, ...]], kind: ScalingKind = "strong", cores: int | None = 1, **more: object
) -> ScalingSeries:
    points = tuple(ScalingPoint(count=count, seconds=seconds) for count, seconds in times.items())
    fields: dict[str, object] = {"workload": "hydro", "title": "rate", "over": "ranks", "params": {}, **more}
    return ScalingSeries(kind=kind, cores_per_count=cores, points=points, **fields)  # type: ignore[arg-type]


def exact(*counts: int, serial: float, overhead: float = 0.0) -> dict[int, tuple[float, ...]]:
    """Three launches that scatter by 1 %, symmetrically, about Amdahl's law with an overhead."""
    times = {p: 100 * ((1 - serial) / p + serial + overhead * (p - 1)) for p in counts}
    return {p: (t * math.exp(-0.01), t, t * math.exp(0.01)) for p, t in times.items()}


# ------------------------------------------------------------------------------------------------------------------- laws


def test_the_parameter_of_a_law_that_holds_is_found() -> None:
    found = scaling.judged(series(exact(1, 2, 4, 8, 16, 32, serial=0.02)))
    amdahl, universal = found.laws
    assert amdahl.parameter == pytest.approx(0.02, rel=1e-3)
    assert amdahl.low is not None and amdahl.high is not None and amdahl.low < 0.02 < amdahl.high
    assert amdahl.state == universal.state == "holds"
    assert universal.low is not None and amdahl.low >= universal.low, "one parameter more leaves more open"
    assert found.spread == pytest.approx(0.01, rel=1e-6)


def test_overhead_refuses_amdahl_and_is_found_by_the_universal_law() -> None:
    found = scaling.judged(series(exact(1, 2, 4, 8, 16, 32, 64, serial=0.01, overhead=1e-3)))
    amdahl, universal = found.laws
    assert amdahl.state == "does not hold" and universal.state == "holds"
    assert universal.overhead == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("name", ["Amdahl", "universal", "Gustafson", "linear overhead"])
@pytest.mark.parametrize("noise", ["normal", "heavy tails", "slow launches"])
def test_intervals_hold(name: str, noise: str) -> None:
    """Of 40 curves 95 % are 38: fewer than 33 has a probability below 1 in 1,000 (scripts/bench/scaling_laws.py)."""
    rng = np.random.default_rng(5)
    found = [scaling_laws.seen(rng, name, noise) for _ in range(40)]
    assert sum(one.parameter is True for one in found) >= 33 - sum(one.parameter is None for one in found)
    assert sum(one.efficiency is True for one in found) >= 33
    assert sum(one.between for one in found) >= 33
    assert sum(one.refused is True for one in found) <= 4


def test_a_curve_that_no_law_fits_is_said_to_be_so() -> None:
    times = exact(1, 2, 4, 8, 16, 32, serial=0.001)
    times = {p: tuple(1.6 * one for one in t) if p > 8 else t for p, t in times.items()}
    found = scaling.judged(series(times), at=(12,))
    assert all(one.state == "does not hold" for one in found.laws)
    assert "no-law" in {one.code for one in found.notices}
    assert "no law holds" in found.between[0].basis
    assert found.between[0].low < 100 / 12 < 1.6 * 100 / 12 < found.between[0].high


def test_a_superlinear_series_has_no_serial_part() -> None:
    times = {p: (100 / p**1.2, 101 / p**1.2, 99 / p**1.2) for p in (1, 2, 4, 8)}
    found = scaling.judged(series(times))
    assert not found.laws and [one.superlinear for one in found.speedups] == [False, True, True, True]
    assert "superlinear" in {one.code for one in found.notices}


def test_comets_tables_come_out_as_they_were_fitted_by_hand() -> None:
    """Each time known to 3 %: NEURON 1.5e-4 [0.4e-4, 2.7e-4], Quantum ESPRESSO 7.9e-4 [6.1e-4, 9.9e-4], RAxML 2.1e-2
    [1.5e-2, 2.8e-2], OpenFOAM superlinear; core hours 16.1 to 17.9."""
    found = {one.title: scaling.judged(one, noise=0.03) for one in scaling.from_published(published.system("comet"))}
    wanted = {
        "neuron.time": (1.5e-4, 0.4e-4, 2.7e-4),
        "quantum_espresso.time": (7.9e-4, 6.1e-4, 9.9e-4),
        "raxml.time": (2.1e-2, 1.5e-2, 2.8e-2),
    }
    for title, numbers in wanted.items():
        law = found[title].laws[0]
        assert (law.parameter, law.low, law.high) == pytest.approx(numbers, rel=0.05, abs=1e-5)
    assert not found["openfoam.time"].laws and found["openfoam.time"].speedups[-1].efficiency == pytest.approx(
        1.65, abs=5e-3
    )
    hours = [one.core_hours for one in found["neuron.time"].speedups]
    assert (hours[0], hours[-1]) == pytest.approx((16.1, 17.9), abs=0.05)


def test_one_launch_without_a_stated_spread_has_no_intervals() -> None:
    found = scaling.judged(series({1: (10.0,), 2: (6.0,), 4: (4.0,)}))
    assert found.spread is None and found.speedups[-1].efficiency_low is None
    assert {one.state for one in found.laws} == {"cannot be checked"}
    assert "no-spread" in {one.code for one in found.notices}
    assert all(not one.told for one in found.best)


def test_equal_times_have_no_spread_to_take_for_exactness() -> None:
    assert laws.noise_of([ScalingPoint(count=1, seconds=(2.0, 2.0)), ScalingPoint(count=2, seconds=(1.0, 1.0))]) is None


def test_fewer_than_two_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="two counts"):
        scaling.judged(series({1: (1.0, 1.1)}))


# -------------------------------------------------------------------------------------------------- speedups and the best


def test_speedup_efficiency_and_karp_flatt_are_their_definitions() -> None:
    found = scaling.judged(series({2: (12.0,), 8: (4.0,)}))
    last = found.speedups[1]
    assert (last.speedup, last.efficiency) == pytest.approx((3.0, 0.75))
    assert last.karp_flatt == pytest.approx((1 / 3 - 1 / 4) / (1 - 1 / 4))
    assert karp_flatt(1.0, 8.0) == 0
    weak = scaling.judged(series({1: (10.0,), 4: (12.5,)}, kind="weak")).speedups[1]
    assert (weak.efficiency, weak.speedup) == pytest.approx((0.8, 3.2))
    assert weak.karp_flatt is None


def test_what_cannot_be_told_apart_from_the_best_stands_with_it() -> None:
    times = {4: (10.0, 10.2, 9.8), 8: (5.0, 5.1, 4.9), 16: (4.95, 5.05, 4.9), 32: (7.0, 7.1, 6.9)}
    fastest, cheapest = scaling.judged(series(times)).best
    assert (fastest.what, fastest.count, fastest.with_it) == ("fastest", 16, (8,))
    assert cheapest.what == "cheapest" and {cheapest.count, *cheapest.with_it} == {4, 8}


def test_energy_decides_what_is_frugal() -> None:
    one = series(exact(1, 2, 4, serial=0.1))
    points = tuple(
        ScalingPoint(count=p.count, seconds=p.seconds, energy_j=energy, energy_half_j=1.0)
        for p, energy in zip(one.points, (100.0, 90.0, 90.5), strict=True)
    )
    frugal = msgspec.structs.replace(one, points=points, cores_per_count=None)
    best = {each.what: each for each in scaling.judged(frugal).best}
    assert best["most frugal"].count == 2 and best["most frugal"].with_it == (4,)
    assert best["least energy-delay product"].count == 4
    assert "cheapest" not in best, "cores are not known"


# ----------------------------------------------------------------------------------------------------- series from cases


def measured(ranks: int, n: int, seconds: float, repeat: int = 1, steps: int = 1, **params: object) -> Measurement:
    case = Case(
        kernel="hydro",
        params={"ranks": ranks, "threads": 1, "n": n, **params},  # type: ignore[dict-item]
        work={"cell_steps": float(n * n * 10 * steps)},
        seconds=(seconds * steps, seconds * steps * 1.02, seconds * steps * 0.98),
    )
    return Measurement(
        run=f"hydro-{ranks}-{n}",
        repeat=repeat,
        workload="hydro",
        params={},
        host="n1",
        state="ok",
        cases=(case,),
        begin_ns=0,
        end_ns=1,
    )


def test_strong_and_weak_series_are_found() -> None:
    strong = [
        measured(ranks, 400, 10 / ranks * (1 + 0.01 * repeat), repeat) for ranks in (1, 2, 4) for repeat in (1, 2)
    ]
    weak = [measured(4, 800, 10.4), measured(16, 1600, 10.9)]
    found = scaling.from_cases([from_measurements([*strong, *weak])])
    by_kind = {one.kind: one for one in found}
    assert [p.count for p in by_kind["strong"].points] == [1, 2, 4]
    assert [len(p.seconds) for p in by_kind["strong"].points] == [2, 2, 2], "one time a launch"
    assert not by_kind["strong"].within_launch and by_kind["strong"].cores_per_count == 1
    assert by_kind["strong"].params["n"] == 400
    assert len(scaling.from_cases([from_measurements([*weak, measured(1, 400, 10.0)])])) == 1
    only = scaling.from_cases([from_measurements([*weak, measured(1, 400, 10.0)])])[0]
    assert only.kind == "weak" and [p.count for p in only.points] == [1, 4, 16] and only.within_launch


def test_samples_of_more_steps_are_times_of_the_same_work() -> None:
    (one,) = scaling.from_cases([from_measurements([measured(1, 400, 10.0), measured(2, 400, 5.0, steps=7)])])
    assert [laws.centre(p) for p in one.points] == pytest.approx([10.0, 5.0], rel=1e-3)


def test_other_threads_problems_and_hosts_stand_apart() -> None:
    runs = [
        measured(1, 400, 10.0),
        measured(2, 400, 5.0, problem="blast"),
        measured(2, 400, 5.0, threads=2),
    ]
    assert scaling.from_cases([from_measurements(runs)]) == []


def test_a_wrong_run_is_no_point() -> None:
    bad = measured(2, 400, 0.1)
    wrong = Measurement(**{**{name: getattr(bad, name) for name in bad.__struct_fields__}, "state": "wrong"})
    assert scaling.from_cases([from_measurements([measured(1, 400, 10.0), wrong])]) == []


def test_energy_joins_its_case() -> None:
    energy = Finding(
        metric="hydro.energy",
        unit="J",
        better="lower",
        workload="hydro",
        params={"ranks": 2, "threads": 1, "n": 400, "rail": "node"},
        host="n1",
        value=50.0,
        low=49.0,
        high=51.0,
    )
    found = scaling.from_cases([from_measurements([measured(1, 400, 10.0), measured(2, 400, 5.0)])], [energy])
    assert [(p.energy_j, p.energy_half_j) for p in found[0].points] == [(None, None), (50.0, 1.0)]


# --------------------------------------------------------------------------------------------------------------- reading


def test_series_that_differ_in_one_parameter_stand_side_by_side() -> None:
    slow = {p: tuple(1.3 * one for one in t) for p, t in exact(1, 2, 4, serial=0.01).items()}
    members = [
        scaling.judged(series(exact(1, 2, 4, serial=0.01), params={"mpi": "Open MPI"})),
        scaling.judged(series(slow, params={"mpi": "MPICH"})),
        scaling.judged(series(slow, params={"mpi": "MPICH", "n": 7})),
    ]
    ((name, alike),) = comparison.alike(members)
    assert name == "mpi" and len(alike) == 2
    for row in comparison.ratios(alike):
        (ratio,) = row.ratios
        assert ratio is not None and ratio.value == pytest.approx(1.3)
        assert ratio.low is not None and ratio.high is not None and 1 < ratio.low < 1.3 < ratio.high
    ((_, headings, rows),) = page.beside(members)
    assert headings == ("ranks", "MPICH over Open MPI") and rows[0][1].endswith("*")


def test_a_page_says_all_of_it() -> None:
    found = scaling.judged(series(exact(1, 2, 4, 8, serial=0.02)), at=(3, 16))
    headings, rows = page.rows(found)
    assert len(headings) == len(rows[0]) and rows[0][6] == "reference"
    said = " ".join(page.sentences(found))
    assert "Amdahl: serial part 2" in said and "Fastest: 8 ranks" in said and "beyond what was measured" in said
    section = page.section([found])
    assert section is not None
    drawn = [figure for block in section.blocks for figure in getattr(block, "figures", ())]
    assert isinstance(drawn[0], Lines) and {one.name for one in drawn[0].series} >= {"measured, 95 %", "Amdahl"}
    assert page.section([]) is None


def test_the_command_says_it_and_writes_the_page(tmp_path: Path) -> None:
    file = tmp_path / "scaling.html"
    done = called("scaling", "gordon", "--noise", "3 %", "--at", "500", "-o", file)
    assert done.returncode == 0, done.stderr
    assert "MVAPICH2 1.9 over OpenMPI 1.6.5" in done.stdout and "At 500 cores" in done.stdout
    assert "Efficiency over cores" in file.read_text()
    assert called("scaling", "gordon").returncode == 4, "nothing shows the spread"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nowhere",), 2, "neither a run directory nor a published system"),
        (("gordon", "--over", "racks"), 2, "racks"),
        (("gordon", "--noise", "much"), 2, "--noise"),
        (("gordon", "--over", "gpus"), 3, "at two counts of workers by gpus"),
    ],
)
def test_bad_input_is_one_clear_error(words: tuple[str, ...], code: int, says: str) -> None:
    done = called("scaling", *words)
    assert done.returncode == code and says in done.stderr and "next:" in done.stderr


def test_all_of_it_is_json() -> None:
    found = scaling.judged(series(exact(1, 2, 4, serial=0.02)), at=(3,))
    assert json.loads(msgspec.json.encode(found))["laws"][0]["name"] == "Amdahl"


def test_short_times_have_the_digits_of_their_speedup_and_a_time_looks_like_its_interval() -> None:
    headings, rows = page.rows(scaling.judged(series({1: (0.208, 0.209, 0.210), 2: (0.295, 0.296, 0.297)})))
    at = headings.index("time")
    assert [row[at] for row in rows] == ["209 ms", "296 ms"] and rows[0][at + 1].startswith("[2")
    _, rows = page.rows(scaling.judged(series({1: (1946.0, 1947.0, 1948.0), 2: (1016.0, 1017.0, 1018.0)})))
    assert rows[0][at] == "32 min 27 s" and rows[0][at + 1].count(" min") == 2


@pytest.mark.parametrize("place", ["docs", "hint"])
def test_the_command_that_is_advised_makes_a_series(place: str, tmp_path: Path) -> None:
    """More ranks on the same cores have fewer threads each unless their number is given, and that is other work."""
    if place == "docs":
        said = Path(__file__).parents[2].joinpath("docs/scaling.md").read_text()
    else:
        said = called("scaling", "curie", cwd=tmp_path).stderr
    words = said.split("shakedown run hydro", 1)[1].split("\n", 1)[0].split("  ")[0].split()
    given = dict(word.split("=") for word in words if "=" in word)
    counts = [int(each) for each in given["ranks"].split(",")]
    default = workloads.get("hydro").params["threads"].default

    def threads(asked: object) -> set[int]:
        return {ranks.threads({"threads": asked}, host(8), count, where="hydro") for count in counts}  # type: ignore[dict-item]

    assert len(threads(default)) > 1 and len(threads(int(given["threads"]))) == 1
