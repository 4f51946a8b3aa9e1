"""Rays through a town, from its buildings to losses: the engine with the model ``rays``, and the verbs that use it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shakedown.errors import BadInput
from shakedown.radio import radios
from shakedown.radio.buildings import Building, Town, synthetic
from shakedown.radio.engine import Engine, Standing
from shakedown.radio.scene import Place, RadioSetting
from shakedown.radio.terrain import Terrain
from shakedown.radio.terrain import synthetic as made_ground
from support.command import called

SETTING = RadioSetting(model="rays", frequency_mhz=1900)
WAVELENGTH_M = 299_792_458 / 1.9e9
HERE = ("--synthetic-town", "1", "--houses", "36", "--model", "rays", "--frequency-mhz", "1900")


@pytest.fixture(scope="module")
def ground() -> Terrain:
    return made_ground(1, rows=21, columns=31, south_deg=47.197, west_deg=11.196, relief_m=20)


@pytest.fixture(scope="module")
def town() -> Town:
    return synthetic(1, buildings=36)


@pytest.fixture(scope="module")
def engine(ground: Terrain, town: Town) -> Iterator[Engine]:
    with Engine(ground, SETTING, buildings=town, threads=2) as running:
        yield running


def among(town: Town, ground: Terrain, count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Latitudes, longitudes, heights of radios outside of buildings."""
    bounds = (ground.south_deg, ground.west_deg, ground.north_deg, ground.east_deg)
    found = [one.place for one in radios.scattered(count, seed, bounds, 2.0, town)]
    return np.array([(one.latitude_deg, one.longitude_deg, one.height_m) for one in found]).T


def test_losses_after_moves_are_those_of_a_new_engine(ground: Terrain, town: Town, engine: Engine) -> None:
    at = among(town, ground, 25, 3)
    assert not town.inside(at[0], at[1]).any()
    assert (engine.place(*at).standing == Standing.KNOWN).all()
    before = engine.losses()
    assert np.isfinite(before).all() and (before > 20).all() and (before < 300).all()
    for seed in (4, 5):
        at[:, [2, 17]] = among(town, ground, 2, seed)
        engine.move([2, 17], *at[:, [2, 17]])
        with Engine(ground, SETTING, buildings=town, threads=1) as anew:
            anew.place(*at)
            np.testing.assert_array_equal(engine.losses(), anew.losses())
    i, j, _ = engine.changes(above_db=0, below_db=400)
    assert len(i) == len(j) == 300


def test_the_steps_of_a_link_add_up_to_its_loss(ground: Terrain, town: Town, engine: Engine) -> None:
    at = among(town, ground, 12, 6)
    at[2, 0] = 60  # it sees most of the streets
    engine.place(*at)
    losses = engine.losses()
    straight = 0
    for to in range(1, 12):
        said = engine.explain(0, to)
        terms = {one["name"]: one["value"] for one in said["terms"]}
        assert said["loss_db"] == pytest.approx(float(losses[to - 1]), abs=1e-4)
        assert terms["strongest_path_db"] + terms["other_paths_db"] == pytest.approx(said["loss_db"], abs=1e-9)
        fields = [10 ** (-one["loss_db"] / 20) * np.exp(1j * one["phase_rad"]) for one in said["paths"]]
        assert terms["paths"] == len(fields)
        assert terms["power_db"] == pytest.approx(-10 * math.log10(sum(abs(one) ** 2 for one in fields)), abs=1e-6)
        assert terms["coherent_db"] == pytest.approx(-20 * math.log10(abs(sum(fields))), abs=1e-4)
        for path in said["paths"]:
            assert [path["stops"][end]["kind"] for end in (0, -1)] == ["end", "end"]
            if path["kind"] == "direct" and not path["ground"] and not path["diffraction_db"]:
                straight += 1
                slant_m = terms["slant_m"]  # on the ellipsoid; the plane is true to a thousandth
                assert path["length_m"] == pytest.approx(slant_m, rel=1e-3)
                assert path["loss_db"] == pytest.approx(20 * math.log10(4 * math.pi * slant_m / WAVELENGTH_M), abs=0.01)
        rings = [ring for one in said["buildings"] for ring in one["rings"]]
        assert rings and all(len(point) == 2 for ring in rings for point in ring)
    assert straight


def test_a_map_is_that_of_single_links_and_has_no_loss_in_houses(ground: Terrain, town: Town, engine: Engine) -> None:
    place = Place(latitude_deg=47.1993, longitude_deg=11.1999, height_m=40.0)
    bounds = (47.1985, 11.1985, 47.2005, 11.2005)
    found = engine.coverage(place, 2.0, 9, 11, bounds)
    latitudes = bounds[2] - (np.arange(9) + 0.5) * (bounds[2] - bounds[0]) / 9
    longitudes = bounds[1] + (np.arange(11) + 0.5) * (bounds[3] - bounds[1]) / 11
    at = np.array([(lat, lon, 2.0) for lat in latitudes for lon in longitudes]).T
    placed = engine.place(
        *np.concatenate([[[place.latitude_deg], [place.longitude_deg], [place.height_m]], at], axis=1)
    )
    np.testing.assert_array_equal(found.ravel(), engine.losses()[:99])
    houses = town.inside(at[0], at[1])
    assert houses.any() and not houses.all()
    np.testing.assert_array_equal(np.isnan(found.ravel()), houses)
    np.testing.assert_array_equal(placed.standing[1:] == Standing.INSIDE, houses)


def test_a_model_and_a_town_belong_together(ground: Terrain, town: Town) -> None:
    with pytest.raises(BadInput, match="needs a town"):
        Engine(ground, SETTING)
    with pytest.raises(BadInput, match="reads no buildings"):
        Engine(ground, RadioSetting(), buildings=town)
    with pytest.raises(BadInput, match="wall_material 'tea'"):
        Engine(ground, RadioSetting(model="rays", parameters={"wall_material": "tea"}), buildings=town)


def test_settings_of_rays_reach_the_paths(ground: Terrain, town: Town) -> None:
    at = among(town, ground, 2, 9)

    def paths(**parameters: float | str) -> list[str]:
        setting = RadioSetting(model="rays", frequency_mhz=1900, parameters=dict(parameters))
        with Engine(ground, setting, buildings=town) as running:
            running.place(*at)
            said = running.explain(0, 1)
            terms = {one["name"]: one["value"] for one in said["terms"]}
            wanted = "power_db" if parameters.get("path_sum") == "power" else "coherent_db"
            assert said["loss_db"] == terms[wanted]
            return [stop["kind"] for one in said["paths"] for stop in one["stops"]]

    assert "wall" in paths() and "wall" in paths(path_sum="power")
    assert "wall" not in paths(reflections=0, corner_reflections=0, roof_reflections=0)


def test_buildings_that_are_off_the_map_are_said(ground: Terrain) -> None:
    far = Building((((12.0, 48.0), (12.001, 48.0), (12.001, 48.001)),), 9.0)
    with Engine(ground, SETTING, buildings=Town(47.2, 11.2, (far,))) as running:
        assert running.buildings is not None and "1 buildings" in running.buildings.notes[0]
        running.place([47.2, 47.2005], [11.2, 11.2005], [2, 2])
        assert np.isfinite(running.losses()).all()


# ---------------------------------------------------------------------------------------------------------------- verbs


def test_the_verbs_take_a_town(tmp_path: Path) -> None:
    page, plan = tmp_path / "links.html", tmp_path / "link.html"
    done = called("radio", "links", *HERE, "--synthetic", "8", "--html", page, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["unknown"] == 0
    assert "synthetic, seed 1, 36 buildings" in page.read_text()
    done = called("radio", "explain", "1", "2", *HERE, "--synthetic", "8", "--html", plan)
    assert done.returncode == 0, done.stderr
    assert "paths lead from" in done.stdout and "Through the town" in plan.read_text()
    done = called("radio", "coverage", *HERE, "--synthetic", "3", "--from", "1", "--pixels", "12", "--json")
    assert done.returncode == 0, done.stderr


def test_a_file_of_buildings_makes_its_own_ground(tmp_path: Path) -> None:
    file = tmp_path / "town.geojson"
    ring = [[7.1, 50.7], [7.1004, 50.7], [7.1004, 50.7003], [7.1, 50.7003], [7.1, 50.7]]
    geometry = {"type": "Polygon", "coordinates": [ring]}
    houses = [{"type": "Feature", "properties": {"height": 12}, "geometry": geometry}]
    file.write_text(json.dumps({"type": "FeatureCollection", "features": houses}))
    done = called("radio", "links", "--buildings", file, "--model", "rays", "--synthetic", "5", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["unknown"] == 0 and all(abs(one["latitude_deg"] - 50.70015) < 0.003 for one in said["radios"])


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--model", "rays"), "needs a town"),
        (("--synthetic-town", "1"), "reads no buildings"),
        (("--houses", "9", "--model", "rays"), "--houses is about a town"),
        (("--synthetic-town", "1", "--buildings", "x.geojson"), "are both given"),
        (("--buildings", "/nowhere.geojson", "--model", "rays"), "cannot be read"),
        (("--synthetic-town", "1", "--houses", "0", "--model", "rays"), "0 buildings"),
    ],
)
def test_what_is_no_town_is_one_error(given: tuple[str, ...], what: str) -> None:
    done = called("radio", "links", *given)
    assert done.returncode == 2 and what in done.stderr, done.stderr
