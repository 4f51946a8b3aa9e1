"""The radio engine against slow references: exact geodesics, plain formulas, and itself with everything found again."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure, ShakedownError, Unavailable
from shakedown.radio.engine import Engine, Standing
from shakedown.radio.scene import Place, RadioSetting
from shakedown.radio.terrain import HOLE, Terrain, filled, synthetic
from support.waiting import until

SPEED_M_PER_S = 299_792_458.0
EARTH_M = 4 / 3 * 6_371_000


def places(terrain: Terrain, count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Latitudes, longitudes and heights of radios on a terrain."""
    random = np.random.default_rng(seed)
    return np.stack(
        [
            random.uniform(terrain.south_deg, terrain.north_deg, count),
            random.uniform(terrain.west_deg, terrain.east_deg, count),
            random.uniform(1, 30, count),
        ]
    )


@pytest.fixture(scope="module")
def terrain() -> Terrain:
    return synthetic(7, rows=301, columns=401, step_arcsec=3)


@pytest.fixture(scope="module")
def engine(terrain: Terrain) -> Iterator[Engine]:
    with Engine(terrain, RadioSetting(points=100), threads=2) as running:
        yield running


# ----------------------------------------------------------------------------------------------------- slow references


def exact_path(a: Any, b: Any, points: int) -> tuple[float, list[tuple[float, float]]]:
    """The length of a geodesic and places at equal steps along it, by GeographicLib."""
    line = Geodesic.WGS84.InverseLine(a[0], a[1], b[0], b[1])
    at = (line.Position(line.s13 * i / (points - 1)) for i in range(points))
    return line.s13, [(place["lat2"], place["lon2"]) for place in at]


def knife_edge_db(nu: float) -> float:
    """ITU-R P.526-15, equation 31."""
    return 6.9 + 20 * math.log10(math.hypot(nu - 0.1, 1) + nu - 0.1) if nu > -0.78 else 0.0


def bullington_db(a: Any, b: Any, terrain: Terrain, frequency_mhz: float, points: int) -> float:
    """Free space and the construction of ITU-R P.526-15, section 4.5.1; metres throughout."""
    length, track = exact_path(a, b, points)
    heights = [float(terrain.at(*place)) for place in track]
    wave = SPEED_M_PER_S / (frequency_mhz * 1e6)
    tx, rx = heights[0] + a[2], heights[-1] + b[2]
    inner = [(length * i / (points - 1), heights[i]) for i in range(1, points - 1)]
    raised = [(d, h + d * (length - d) / (2 * EARTH_M)) for d, h in inner]
    up = max((h - tx) / d for d, h in raised)

    def nu(d: float, h: float) -> float:
        line = (tx * (length - d) + rx * d) / length
        return (h - line) * math.sqrt(2 * length / (wave * d * (length - d)))

    if up < (rx - tx) / length:
        edge = knife_edge_db(max(nu(d, h) for d, h in raised))
    else:
        down = max((h - rx) / (length - d) for d, h in raised)
        d = (rx - tx + down * length) / (up + down)
        edge = knife_edge_db(nu(d, tx + up * d))
    slant = math.hypot(length, rx - tx)
    free = 20 * math.log10(4 * math.pi * slant / wave)
    return free + edge + (1 - math.exp(-edge / 6)) * (10 + 0.02 * length / 1000)


def test_losses_are_those_of_a_slow_reference(terrain: Terrain) -> None:
    at = places(terrain, 9, 3)
    for model in ("free_space", "bullington"):
        with Engine(terrain, RadioSetting(model=model, frequency_mhz=900, points=80)) as running:
            running.place(*at)
            losses = iter(running.losses())
        for i in range(9):
            for j in range(i + 1, 9):
                expected = bullington_db(at[:, i], at[:, j], terrain, 900, 80)
                if model == "free_space":
                    length, ends = exact_path(at[:, i], at[:, j], 2)
                    up = float(terrain.at(*ends[1]) + at[2, j] - terrain.at(*ends[0]) - at[2, i])
                    expected = 20 * math.log10(4 * math.pi * math.hypot(length, up) * 900e6 / SPEED_M_PER_S)
                assert next(losses) == pytest.approx(expected, abs=0.01), (model, i, j)


@pytest.mark.parametrize("south_deg", [-60.0, -0.8, 47.0, 66.0])
def test_paths_are_geodesics(south_deg: float) -> None:
    """Of 200 km, within a tenth of a cell of 30 m; lengths within a millionth."""
    wide = synthetic(2, rows=301, columns=801, step_arcsec=21, south_deg=south_deg)
    at = [[south_deg + 0.2, 11.1, 2.0], [south_deg + 1.1, 11.1 + 1.5 / math.cos(math.radians(south_deg + 1)), 5.0]]
    with Engine(wide, RadioSetting(points=60)) as running:
        running.place(*np.array(at).T)
        explained = running.explain(0, 1)
    length, track = exact_path(*at, 60)
    assert 150e3 < length < 250e3 and explained["distance_m"] == pytest.approx(length, rel=1e-9)
    profile = explained["profile"]
    ours = list(zip(profile["latitude_deg"], profile["longitude_deg"], strict=True))
    off = [Geodesic.WGS84.Inverse(*one, *other)["s12"] for one, other in zip(ours, track, strict=True)]
    assert max(off) < 3
    assert profile["height_m"] == pytest.approx(wide.at(*np.array(ours).T).tolist(), abs=0.01)


def test_a_link_is_the_same_in_every_form(engine: Engine, terrain: Terrain) -> None:
    at = places(terrain, 12, 5)
    assert (engine.place(*at).standing == Standing.KNOWN).all()
    losses = engine.losses()
    pairs = engine.links(1000)
    assert pairs.loss_db.tolist() == losses.tolist() and len(losses) == 66
    assert list(zip(pairs.i, pairs.j, strict=True)) == [(i, j) for i in range(12) for j in range(i + 1, 12)]
    for i, j, loss in zip(*pairs, strict=True):
        explained = engine.explain(int(i), int(j))
        assert explained["loss_db"] == pytest.approx(loss, abs=1e-4)
        assert sum(term["value"] for term in explained["terms"] if term["summand"]) == pytest.approx(loss, abs=1e-4)
    some = engine.links(float(np.median(losses)))
    assert some.loss_db.tolist() == losses[losses <= np.float32(np.median(losses))].tolist()


@given(
    st.integers(0, 2**32), st.sampled_from(["fp64", "fp32"]), st.sampled_from([{"points": 50}, {"spacing_m": 200.0}])
)
@settings(max_examples=8, deadline=None)
def test_what_moved_is_found_as_if_all_were_found_again(seed: int, precision: Any, points: dict[str, Any]) -> None:
    random = np.random.default_rng(seed)
    ground = synthetic(seed % 1000, rows=80, columns=90, step_arcsec=3)
    at = places(ground, 25, seed)
    setting = RadioSetting(**points)
    with (
        Engine(ground, setting, precision=precision, threads=2) as moving,
        Engine(ground, setting, precision=precision, threads=1) as anew,
    ):
        moving.place(*at)
        for _ in range(4):
            for _ in range(random.integers(1, 3)):
                index = random.integers(0, 25, random.integers(0, 6))
                to = places(ground, index.size, int(random.integers(1 << 30)))
                to[0, random.random(index.size) < 0.2] = 89  # off the map
                moving.move(index, *to)
                for k, radio in enumerate(index):
                    at[:, radio] = to[:, k]
            anew.place(*at)
            assert moving.losses().tobytes() == anew.losses().tobytes()


def test_changes_are_what_is_new_since_the_last_call(engine: Engine, terrain: Terrain) -> None:
    at = places(terrain, 20, 8)
    engine.place(*at)
    losses = engine.losses()
    below = float(np.median(losses))
    assert engine.changes(1, below).loss_db.tolist() == losses[losses <= np.float32(below)].tolist()
    assert engine.changes(1, below).loss_db.size == 0
    engine.move([4], [89], [11], [2])  # off the map: what was usable ceases
    gone = engine.changes(1, below)
    assert np.isnan(gone.loss_db).all() and ((gone.i == 4) | (gone.j == 4)).all() and gone.i.size > 0
    engine.move([4], *at[:, [4]])
    assert engine.changes(1, below).i.tolist() == gone.i.tolist()


def test_precisions_agree(terrain: Terrain) -> None:
    at = places(terrain, 60, 9)
    found = {}
    for precision in ("fp64", "fp32"):
        with Engine(terrain, RadioSetting(points=150), precision=precision) as running:  # type: ignore[arg-type]
            running.place(*at)
            found[precision] = running.losses()
    assert np.mean(np.abs(found["fp64"] - found["fp32"]) <= 0.05) >= 0.99


# ---------------------------------------------------------------------------------------------------------------- maps


def test_coverage_has_the_losses_to_the_middles_of_its_cells(engine: Engine, terrain: Terrain) -> None:
    place = Place(latitude_deg=47.1, longitude_deg=11.1, height_m=20)
    bounds = (47.05, 11.05, 47.15, 11.2)
    picture = engine.coverage(place, 3, 20, 30, bounds)
    row, column = 4, 25
    cell = (47.15 - 4.5 * 0.1 / 20, 11.05 + 25.5 * 0.15 / 30)
    engine.place([place.latitude_deg, cell[0]], [place.longitude_deg, cell[1]], [place.height_m, 3])
    assert picture.shape == (20, 30) and np.isfinite(picture).all()
    assert picture[row, column] == pytest.approx(engine.losses()[0], abs=1e-3)
    over_the_edge = engine.coverage(place, 3, 5, 5, (46.9, 10.9, 47.1, 11.1))
    assert (
        np.isnan(over_the_edge[-1]).all() and np.isnan(over_the_edge[:, 0]).all() and np.isfinite(over_the_edge[0, -1])
    )
    turned = engine.coverage(place, 3, 20, 30, (47.05, 11.05 - 360, 47.15, 11.2 - 360))
    # Places are rounded otherwise, by nanometres: ranges that end on a whole step decide by that in some of the paths.
    assert np.mean(np.abs(turned - picture) < 0.01) > 0.9 and np.abs(turned - picture).max() < 10


def test_links_over_a_hole_have_no_loss() -> None:
    whole = synthetic(4, rows=60, columns=60, step_arcsec=3)
    heights = whole.heights.copy()
    heights[:, 30] = HOLE
    holed = Terrain(
        heights, whole.north_deg, whole.west_deg, whole.step_latitude_deg, whole.step_longitude_deg, whole.scale_m
    )
    west, east = holed.west_deg + 10 * holed.step_longitude_deg, holed.west_deg + 50 * holed.step_longitude_deg
    middle = holed.west_deg + 30.5 * holed.step_longitude_deg
    at = [47.02, 47.03, 47.02, 47.02], [west, west, east, middle], [2, 2, 2, 2]
    with Engine(holed, RadioSetting(points=90)) as running:
        assert running.engine_facts["holes"] is True
        placed = running.place(*at)
        assert placed.standing.tolist() == [0, 0, 0, Standing.OVER_HOLE] and placed.over_hole.tolist() == [3]
        assert np.isnan(running.losses()).tolist() == [False, True, True, True, True, True]
        assert "unknown height" in running.explain(0, 2)["error"] and running.explain(0, 2)["loss_db"] is None
        with pytest.raises(BadInput, match="height of the ground is not known"):
            running.explain(0, 3)
    with Engine(filled(holed), RadioSetting(points=90)) as running:
        running.place(*at)
        assert np.isfinite(running.losses()).all()


def test_float_heights_are_the_same_ground(terrain: Terrain) -> None:
    floats = Terrain(
        terrain.metres().astype(np.float32), terrain.north_deg, terrain.west_deg, terrain.step_latitude_deg,
        terrain.step_longitude_deg,
    )  # fmt: skip
    at = places(terrain, 12, 11)
    setting = RadioSetting(model="bullington", points=70)
    with Engine(terrain, setting) as whole, Engine(floats, setting) as rounded:
        whole.place(*at)
        rounded.place(*at)
        assert rounded.losses() == pytest.approx(whole.losses(), abs=0.01)


# ----------------------------------------------------------------------------------------------------------- bad input


def test_places_that_are_none_are_said_and_have_no_loss(engine: Engine, terrain: Terrain) -> None:
    middle = (terrain.south_deg + terrain.north_deg) / 2, (terrain.west_deg + terrain.east_deg) / 2
    latitude = [middle[0], math.nan, middle[0], 48.5, middle[0], middle[0] + 0.01]
    height = [2, 2, math.inf, 2, -1, 2]
    placed = engine.place(latitude, [middle[1]] * 6, height)
    expected = [
        Standing.KNOWN,
        Standing.NOT_FINITE,
        Standing.NOT_FINITE,
        Standing.OFF_MAP,
        Standing.HEIGHT,
        Standing.KNOWN,
    ]
    assert placed.standing.tolist() == expected
    assert placed.off_map.tolist() == [3] and placed.unknown.tolist() == [1, 2, 3, 4]
    assert np.isfinite(engine.losses()).sum() == 1
    with pytest.raises(BadInput, match="off the map"):
        engine.explain(0, 3)
    assert all(standing.words for standing in Standing)


def test_radios_at_one_place_have_no_loss(engine: Engine) -> None:
    engine.place([47.1, 47.1], [11.1, 11.1], [2, 5])
    assert np.isnan(engine.losses()).all()
    assert engine.explain(0, 1)["error"] and engine.explain(0, 1)["loss_db"] is None


def test_no_radios_and_one_radio_have_no_links(engine: Engine) -> None:
    for count in (0, 1):
        engine.place([47.1] * count, [11.1] * count, [2] * count)
        assert engine.losses().size == engine.links(200).i.size == engine.changes(1, 200).i.size == 0
    engine.place([47.1, 47.11], [11.1, 11.12], [2, 2])
    assert engine.losses().size == 1


def test_what_makes_no_sense_is_refused_and_changes_nothing(engine: Engine, terrain: Terrain) -> None:
    at = places(terrain, 5, 13)
    engine.place(*at)
    before = engine.losses().tobytes()
    for call in (
        lambda: engine.place([47.0], [11.0, 11.1], [2]),
        lambda: engine.place(["north"], [11.0], [2]),
        lambda: engine.place(*np.zeros((3, 65_535))),
        lambda: engine.move([5], [47.1], [11.1], [2]),
        lambda: engine.move([-1], [47.1], [11.1], [2]),
        lambda: engine.move([1.5], [47.1], [11.1], [2]),
        lambda: engine.move([1, 2], [47.1], [11.1], [2]),
        lambda: engine.links(math.nan),
        lambda: engine.explain(1, 1),
        lambda: engine.explain(1, 5),
        lambda: engine.coverage(Place(latitude_deg=10, longitude_deg=11, height_m=2), 2, 5, 5, (47, 11, 47.1, 11.1)),
        lambda: engine.coverage(Place(latitude_deg=47.1, longitude_deg=11.1, height_m=2), 2, 5, 5, (48, 11, 47, 12)),
        lambda: engine.coverage(Place(latitude_deg=47.1, longitude_deg=11.1, height_m=2), 2, 0, 5, (47, 11, 48, 12)),
    ):
        with pytest.raises(BadInput):
            call()
    assert engine.losses().tobytes() == before


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        (RadioSetting(model="tea"), "'tea' is not known"),
        (RadioSetting(model="itm+tea"), "'tea' is not known"),
        (RadioSetting(frequency_mhz=5), "20 to 20000 MHz"),
        (RadioSetting(model="log_distance", parameters={"loss_exponent": 50}), "loss_exponent '50'"),
        (RadioSetting(parameters={"surrounding": "urban"}), "did you mean --surroundings"),
        (RadioSetting(spacing_m=0.1), "points"),
    ],
)
def test_a_setting_that_the_program_refuses_is_one_error(setting: RadioSetting, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        Engine(synthetic(1, rows=400, columns=400), setting)


def test_parameters_of_other_models_reach_them(terrain: Terrain) -> None:
    found = []
    for exponent in (2.0, 4.0):
        setting = RadioSetting(model="log_distance+gas", parameters={"loss_exponent": exponent})
        with Engine(terrain, setting) as running:
            running.place([47.1, 47.2], [11.1, 11.1], [2, 2])
            found.append(float(running.losses()[0]))
            distance_m = running.explain(0, 1)["distance_m"]
    assert found[1] - found[0] == pytest.approx(20 * math.log10(distance_m), abs=0.1)


# --------------------------------------------------------------------------------------------------------- the process


def test_a_program_that_died_is_one_clear_error(terrain: Terrain) -> None:
    with Engine(terrain) as running:
        running.place([47.1, 47.2], [11.1, 11.1], [2, 2])
        os.kill(running.pid, signal.SIGKILL)
        with pytest.raises(CannotMeasure, match="ended by signal 9"):
            running.losses()
        with pytest.raises(CannotMeasure, match="has ended"):
            running.losses()
    running.close()


def test_a_program_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terrain: Terrain) -> None:
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    with pytest.raises(Unavailable, match="radio_engine"):
        Engine(terrain)
    (tmp_path / "radio_engine").write_text("#!/bin/sh\necho no JSON\n")
    (tmp_path / "radio_engine").chmod(0o755)
    with pytest.raises(ShakedownError, match="cannot be read"):
        Engine(terrain)


def test_the_program_ends_with_a_parent_that_vanishes(tmp_path: Path) -> None:
    code = """
import sys, time
from shakedown.radio.engine import Engine
from shakedown.radio.terrain import synthetic
engine = Engine(synthetic(1, rows=20, columns=20))
print(engine.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()

    def ended() -> bool:
        with contextlib.suppress(OSError):
            return "Z (zombie)" in Path(f"/proc/{pid}/status").read_text()
        return True

    until(ended, what="it ends with who asked", every_s=0.02)
