"""Radios from files and by a seed, and the distances between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.radio import radios
from shakedown.radio.geodesics import EQUATOR_M, FLATTENING, distance_m

FILES = Path(__file__).parents[1] / "recordings/radio/radios"


@pytest.mark.parametrize("name", ["radios.csv", "radios.json", "radios.geojson"])
def test_the_same_radios_in_each_format(name: str) -> None:
    one, two, three = radios.read(FILES / name, 3.0)
    assert [radio.id for radio in (one, two, three)] == [1, 2, 7]
    assert [radio.name for radio in (one, two, three)] == ["hill", "valley", "pass, south"]
    assert (one.place.latitude_deg, one.place.longitude_deg, one.place.height_m) == (47.1201, 11.0820, 10)
    assert two.place.height_m == 2.5 and three.place.height_m == 3.0


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "radios", "is empty"),
        ("lat,lon\n", "radios", "has no radio"),
        ("lat,lon\n47,11\n47\n", "line 3", "has 1 cells"),
        ("lat,lon\n47,nan\n", "line 2", "'nan' is not a finite number"),
        ("lat,lon\n91,11\n", "line 2", "latitude_deg = 91"),
        ("lat,lon,height\n47,11,-2\n", "line 2", "height_m = -2"),
        ("lat,lon,altitude\n47,11,600\n", "line 2", "no height above ground"),
        ("id,lat,lon\n1,47,11\n1,47,12\n", "line 3", "id 1 is also that of line 2"),
        ("id,lat,lon\n65535,47,11\n", "line 2", "id = '65535'"),
        ("id,lat,lon\n2.5,47,11\n", "line 2", "id = '2.5'"),
        ("name,lon\na,11\n", "line 2", "has no latitude_deg"),
        ('lat,lon\n47,"11\n', "line", "is not CSV"),
        ("[1]", "radio 1", "is not an object"),
        ('{"a": 1}', "radios", "neither a list of radios nor"),
        ("[{]", "radios", "is not JSON"),
        (
            '{"type": "FeatureCollection", "features": [{"geometry": {"type": "LineString"}}]}',
            "feature 1",
            "is not a point",
        ),
        ('[{"lat": true, "lon": 1}]', "radio 1", "'True' is not a finite number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, where: str, what: str) -> None:
    path = tmp_path / "radios"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        radios.read(path, 2.0)
    assert what in caught.value.what and where in caught.value.where and caught.value.hint


def test_more_radios_than_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("lat,lon\n" + "47,11\n" * 65535)
    with pytest.raises(BadInput, match="more than 65,534 radios"):
        radios.read(path, 2.0)
    with pytest.raises(BadInput, match="cannot be read"):
        radios.read(tmp_path / "none", 2.0)


def test_scattered_radios_are_those_of_the_seed_and_inside() -> None:
    bounds = (-10.0, 170.0, 60.0, 190.0)
    one, again, other = (radios.scattered(500, seed, bounds, 4.0) for seed in (1, 1, 2))
    assert one == again != other and [radio.id for radio in one] == list(range(1, 501))
    latitudes = np.array([radio.place.latitude_deg for radio in one])
    longitudes = np.array([radio.place.longitude_deg for radio in one])
    assert latitudes.min() >= -10 and latitudes.max() <= 60 and longitudes.min() >= 170 and longitudes.max() <= 190
    middle = np.degrees(np.arcsin((np.sin(np.radians(-10)) + np.sin(np.radians(60))) / 2))
    assert abs((latitudes > middle).mean() - 0.5) < 4 * 0.5 / 500**0.5, "evenly over the ground, not over degrees"
    for count, seed in ((0, 1), (65535, 1), (5, -1)):
        with pytest.raises(BadInput):
            radios.scattered(count, seed, bounds, 2.0)


def test_a_radio_is_found_by_name_and_by_id() -> None:
    found = radios.read(FILES / "radios.csv", 2.0)
    assert [radios.find(found, word) for word in ("valley", "7", "hill")] == [1, 2, 0]
    with pytest.raises(BadInput, match="did you mean 'valley'"):
        radios.find(found, "valey")
    twice = (found[0], found[0])
    with pytest.raises(BadInput, match="2 radios have the name"):
        radios.find(twice, "hill")


# ------------------------------------------------------------------------------------------------------------- geodesics


def test_published_geodesics() -> None:
    """Flinders Peak to Buninyong (Geoscience Australia's test line), a quarter of a meridian, a degree of the equator."""
    flinders = -(37 + 57 / 60 + 3.72030 / 3600), 144 + 25 / 60 + 29.52440 / 3600
    buninyong = -(37 + 39 / 60 + 10.15610 / 3600), 143 + 55 / 60 + 35.38390 / 3600
    assert abs(float(distance_m(*flinders, *buninyong)) - 54972.271) < 0.001
    assert abs(float(distance_m(0, 0, 90, 0)) - 10_001_965.729) < 0.001
    assert abs(float(distance_m(0, 179.5, 0, -179.5)) - np.radians(1) * EQUATOR_M) < 0.001
    assert float(distance_m(47, 11, 47, 11)) == 0.0
    assert np.isnan(distance_m(0, 0, 0.1, 179.9))


@given(st.floats(-80, 80), st.floats(-180, 180), st.floats(0, 360), st.floats(1, 3000))
def test_short_lines_agree_with_the_ellipsoid_s_curvature(
    lat: float, lon: float, azimuth: float, length_m: float
) -> None:
    """The radii of curvature of meridian and prime vertical at the middle (within 1e-5 over 3 km) and the same both ways."""
    e2 = FLATTENING * (2 - FLATTENING)
    w = 1 - e2 * np.sin(np.radians(lat)) ** 2
    north = length_m / 2 * np.cos(np.radians(azimuth)) / (EQUATOR_M * (1 - e2) / w**1.5)
    east = length_m / 2 * np.sin(np.radians(azimuth)) / (EQUATOR_M / w**0.5 * np.cos(np.radians(lat)))
    ends = [(lat + sign * np.degrees(north), lon + sign * np.degrees(east)) for sign in (-1, 1)]
    there, back = distance_m(*ends[0], *ends[1]), distance_m(*ends[1], *ends[0])
    assert abs(float(there) / length_m - 1) < 2e-5 and abs(float(there - back)) < 1e-6
