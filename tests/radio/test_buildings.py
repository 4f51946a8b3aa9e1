"""Buildings from GeoJSON with all that is wrong with them, towns by a seed, their plane, and the file of the engine."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio import terrain
from shakedown.radio.buildings import Town, geojson, read, synthetic
from shakedown.radio.geodesics import distance_m

SQUARE = [[11.0, 47.0], [11.001, 47.0], [11.001, 47.001], [11.0, 47.001], [11.0, 47.0]]
YARD = [[11.0003, 47.0003], [11.0006, 47.0003], [11.0006, 47.0006], [11.0003, 47.0003]]
BOW = [[11.0, 47.0], [11.001, 47.001], [11.001, 47.0], [11.0, 47.001], [11.0, 47.0]]


def moved(ring: list[list[float]], east_deg: float) -> list[list[float]]:
    return [[at[0] + east_deg, at[1]] for at in ring]


def feature(rings: Any, kind: str = "Polygon", **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": rings}}


def parsed(*features: dict[str, Any]) -> Town:
    return geojson.parse(json.dumps({"type": "FeatureCollection", "features": features}), "town.geojson")


@pytest.mark.parametrize(
    ("properties", "height_m", "note"),
    [
        ({"height": 12}, 12, None),
        ({"height": "12.5"}, 12.5, None),
        ({"height": "12,5 m"}, 12.5, None),
        ({"height": "40 ft"}, 12.192, None),
        ({"height": "40'"}, 12.192, None),
        ({"building:levels": "4"}, 12, "levels"),
        ({"height": "high", "building:levels": 2}, 6, "levels"),
        ({"height": 20, "building:levels": 2}, 20, None),
        ({"height_m": 11, "building:levels": 2}, 11, None),
        ({}, 9, "9 m each"),
        ({"height": True}, 9, "9 m each"),
    ],
)
def test_heights(properties: dict[str, Any], height_m: float, note: str | None) -> None:
    town = parsed(feature([SQUARE], **properties))
    assert town.buildings[0].height_m == pytest.approx(height_m)
    assert len(town.notes) == (note is not None) and (note is None or note in town.notes[0])


@pytest.mark.parametrize(
    ("broken", "note"),
    [
        (feature([BOW]), "cross themselves"),
        (feature([SQUARE[:-1]]), "do not close"),
        (feature([SQUARE[:2] + SQUARE[:1]]), "fewer than 3"),
        (feature([[SQUARE[0], SQUARE[1], SQUARE[0], SQUARE[1], SQUARE[0]]]), "fewer than 3"),
        (feature([]), "fewer than 3"),
        (feature(None), "fewer than 3"),
        (feature([SQUARE], height=0), "not above 0"),
        (feature([SQUARE], height=-4), "not above 0"),
        (feature([SQUARE], height=5000), "not up to 1,000 m"),
        (feature([SQUARE]), "came before"),
        (feature([SQUARE[::-1]]), "came before"),
        (feature(SQUARE, "LineString"), "not polygons"),
        ({"type": "Feature", "geometry": None}, "not polygons"),
        ({"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": None}}, "not polygons"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_said(broken: dict[str, Any], note: str) -> None:
    town = parsed(feature([SQUARE], height=10), broken)
    assert len(town.buildings) == 1
    assert any(one.startswith("1 ") and note in one for one in town.notes), town.notes


def test_courtyards_multipolygons_and_collections() -> None:
    several = feature([[SQUARE, YARD], [moved(SQUARE, 0.01)]], "MultiPolygon", height=7)
    collection = {
        "type": "GeometryCollection",
        "geometries": [{"type": "Polygon", "coordinates": [moved(SQUARE, 0.02)]}],
    }
    town = parsed(several, {"type": "Feature", "properties": None, "geometry": collection})
    assert [len(building.rings) for building in town.buildings] == [2, 1, 1]
    assert len(town.buildings[0].rings[0]) == 4 and len(town.buildings[0].rings[1]) == 3
    bad_yard = parsed(feature([SQUARE, BOW], height=7))
    assert len(bad_yard.buildings[0].rings) == 1 and "courtyards" in bad_yard.notes[0]
    assert len(geojson.parse(json.dumps(several["geometry"]), "bare").buildings) == 2


def test_a_corner_that_touches_another_side_crosses() -> None:
    touching = [[0, 0], [4, 0], [4, 4], [2, 0], [0, 4], [0, 0]]
    spike = [[0, 0], [4, 0], [8, 0], [4, 0], [4, 4], [0, 0]]
    for ring in (touching, spike):
        with pytest.raises(BadInput, match="cross themselves"):
            parsed(feature([[[x / 1000, y / 1000] for x, y in ring]]))
    comb = [[0, 0], [9, 0], [9, 9], [8, 9], [8, 1], [7, 1], [7, 9], [0, 9], [0, 0]]
    assert len(parsed(feature([[[x / 1000, y / 1000] for x, y in comb]])).buildings) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is not JSON"),
        ("[]", "is not a GeoJSON object"),
        ('{"type": "FeatureCollection"}', "without a list"),
        ('{"type": "FeatureCollection", "features": []}', "has no building"),
        ('{"type": "FeatureCollection", "features": [7]}', "is not an object"),
        ('{"type": "Polygon", "coordinates": [[[0, 95], [1, 0], [1, 1], [0, 95]]]}', "is not on the Earth"),
        ('{"type": "Polygon", "coordinates": [[[0, "a"], [1, 0], [1, 1], [0, 1]]]}', "is not two numbers"),
        ('{"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}', "km from their middle"),
    ],
)
def test_what_is_no_town_is_refused(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        geojson.parse(text, "town.geojson")


def test_a_file_is_read(tmp_path: Path) -> None:
    town = read(Path(__file__).parents[1] / "recordings/radio/town.geojson")
    assert [building.height_m for building in town.buildings] == [12.5, 9, 9, 9]
    assert sorted(note.split()[0] for note in town.notes) == ["1", "1", "2"]
    path = tmp_path / "town.geojson"
    path.write_text(json.dumps(feature([SQUARE], height=10)))
    assert read(path).buildings[0].height_m == 10
    with pytest.raises(BadInput, match="cannot be read"):
        read(tmp_path / "none")


@given(st.floats(-80, 80), st.floats(-180, 180), st.floats(-8000, 8000), st.floats(-8000, 8000))
def test_the_plane_keeps_distances(latitude: float, longitude: float, east_m: float, north_m: float) -> None:
    town = Town(latitude, longitude, ())
    there, beside = town.places(east_m, north_m)
    back = town.plane(there, np.asarray(beside) + 360)
    assert np.allclose(back, (east_m, north_m), atol=1e-5)
    far = math.hypot(east_m, north_m)
    found = float(distance_m(latitude, longitude, float(there), float(beside)))
    steep = 1 + abs(math.tan(math.radians(latitude)))
    assert found == pytest.approx(far, abs=1e-3 + far * 0.7 * steep * 8000 / 6.37e6)


def test_a_made_town_is_the_same_each_time_and_has_room_for_streets() -> None:
    town = synthetic(3, buildings=50)
    assert town == synthetic(3, buildings=50) != synthetic(4, buildings=50)
    assert len(town.buildings) == 50 and any(len(building.rings) == 2 for building in town.buildings)
    assert all(6 <= building.height_m <= 24 for building in town.buildings)
    boxes = []
    for building in town.buildings:
        x, y = town.plane([at[1] for at in building.rings[0]], [at[0] for at in building.rings[0]])
        boxes.append((x.min(), y.min(), x.max(), y.max()))
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[0] > other[2] or one[2] < other[0] or one[1] > other[3] or one[3] < other[1], (
                "houses stand apart"
            )
    for wrong in ({"buildings": 0}, {"lowest_m": 0}, {"lowest_m": 30}, {"latitude_deg": 89}):
        with pytest.raises(BadInput):
            synthetic(1, **wrong)


def test_buildings_stand_on_the_lowest_ground_under_them() -> None:
    ground = terrain.synthetic(2, rows=200, columns=200, south_deg=46.98, west_deg=10.98)
    town = parsed(feature([SQUARE], height=10), feature([moved(SQUARE, 1.0)], height=10)).on(ground)
    expected = min(float(ground.at(at[1], at[0])) for at in SQUARE)
    assert [building.ground_m for building in town.buildings] == [pytest.approx(expected)]
    assert town.notes == ("1 buildings where the height of the ground is not known: left out",)


def test_the_file_of_the_engine(tmp_path: Path) -> None:
    town = parsed(feature([SQUARE, YARD], height=10))
    town.write(tmp_path / "town")
    first, building, ring, yard = (tmp_path / "town").read_text().splitlines()
    assert first.split()[0] == "town" and first.split()[-1] == "1"
    assert building.split() == ["building", "0.0", "10.0", "2"] or building.split() == ["building", "0.0", "10", "2"]
    assert ring.split()[:2] == ["ring", "4"] and yard.split()[:2] == ["ring", "3"]
    east, north = town.metres_per_degree
    corners = np.array([float(one) for one in ring.split()[2:]]).reshape(-1, 2)
    assert np.ptp(corners, axis=0) == pytest.approx([0.001 * east, 0.001 * north])
