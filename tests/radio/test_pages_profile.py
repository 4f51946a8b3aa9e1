"""The profile of a link: curvature, Fresnel zone, clearance; its drawing and that of paths through a town; bands of loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shakedown.document import charts
from shakedown.radio.pages import bands, explain, profile, town

EARTH_M = 8_500_000.0


def flat(
    length_m: float, tx_m: float, rx_m: float, *, points: int = 201, frequency_mhz: float = 300.0
) -> profile.Profile:
    return profile.Profile(length_m / (points - 1), np.zeros(points), tx_m, rx_m, frequency_mhz, EARTH_M)


def test_the_bulge_is_that_of_the_sphere() -> None:
    path = flat(40_000, 10, 10)
    sagitta_m = EARTH_M * (1 - math.cos(40_000 / EARTH_M / 2))
    assert path.bulge().max() == pytest.approx(sagitta_m, rel=1e-5) and path.bulge()[0] == path.bulge()[-1] == 0


def test_a_ray_that_grazes_a_smooth_earth_touches_it_at_its_horizon() -> None:
    """From a height h the horizon is sqrt(2 a h) away, at an elevation of -sqrt(2 h / a)."""
    height_m = 25.0
    horizon = profile.Horizon(-math.sqrt(2 * height_m / EARTH_M), math.sqrt(2 * EARTH_M * height_m))
    path = flat(60_000, height_m, height_m)._replace(horizons=(horizon, horizon))
    top = height_m + horizon.distance_m * (horizon.elevation_rad + path.length_m / (2 * EARTH_M))
    ground = np.interp(horizon.distance_m, path.along(), path.bulge())
    assert top == pytest.approx(ground, abs=0.01)


def test_the_fresnel_zone_is_where_the_way_is_half_a_wave_longer() -> None:
    path = flat(10_000, 50, 50)
    radius, at = path.fresnel()[60], path.along()[60]
    longer = math.hypot(at, radius) + math.hypot(path.length_m - at, radius) - path.length_m
    assert longer == pytest.approx(profile.LIGHT_M_MHZ / 300 / 2, rel=1e-3)


def test_clearance_in_words() -> None:
    free = flat(5_000, 80, 80)
    assert "everywhere" in profile.in_words(free)
    ground = np.zeros(201)
    ground[50] = 80 - 3.0 - free.bulge()[50]
    near = free._replace(ground_m=ground)
    found = profile.clearance(near)
    assert found is not None and found.above_m == pytest.approx(3.0) and found.at_m == pytest.approx(1250)
    assert "is free, and passes the ground by 3.00 m" in profile.in_words(near)
    ground = ground.copy()
    ground[50] += 10
    assert "stands 7.00 m above the line of sight, 1.25 km from A" in profile.in_words(free._replace(ground_m=ground))
    assert profile.clearance(free._replace(ground_m=np.zeros(2))) is None


@pytest.mark.parametrize("points", [2, 3, 500, 5000])
def test_every_profile_can_be_drawn(points: int) -> None:
    path = flat(300.0 if points == 3 else 20_000.0, 2, 30, points=points)
    drawn = profile.drawing(path._replace(effective_m=(3.0, 4.0), horizons=(profile.Horizon(0.1, 1e6),) * 2))
    text = charts.svg(drawn)
    assert text.startswith("<svg") and "line of sight" in text and "NaN" not in text and len(text) < 400_000
    assert [key.name for key in charts.legend(drawn)][-1] == "effective heights of the antennas"


def test_paths_through_a_town_are_drawn_and_listed() -> None:
    def path(kind: str, loss: float, *turns: tuple[str, float, float]) -> dict[str, object]:
        ends = [("end", 0.0, 0.0), *turns, ("end", 100.0, 40.0)]
        stops = [{"kind": what, "x_m": x, "y_m": y, "z_m": 2.0} for what, x, y in ends]
        return {"kind": kind, "ground": False, "loss_db": loss, "length_m": 110.0, "delay_ns": 367.0, "stops": stops}

    said = {
        "paths": [path("reflected", 90.0, ("wall", 50.0, 60.0)), path("direct", 80.0)],
        "buildings": [{"rings": [[[20, 60], [80, 60], [80, 90], [20, 90]]]}],
    }
    blocks = town.plan(said, ("a", "b"))
    assert blocks is not None
    figures, table = blocks
    assert [row[0] for row in table.rows] == ["line of sight", "by walls"] and table.rows[1][-1] == "wall"  # type: ignore[attr-defined]
    text = charts.svg(figures.figures[0])  # type: ignore[attr-defined]
    assert "by walls: 90.0 dB" in text and "NaN" not in text
    assert town.plan({"paths": []}, ("a", "b")) is None and town.plan({}, ("a", "b")) is None


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("free_space_db", 112.346, ("free space", "112.35 dB")),
        ("tx_horizon_rad", 0.01, ("tx horizon angle", "10 mrad")),
        ("rx_horizon_m", 12345.0, ("rx horizon", "12,345 m")),
        ("mode", 2.0, ("mode", "2")),
        ("gas_db_per_m", None, ("gas", "not known")),
    ],
)
def test_terms_in_their_units(name: str, value: float | None, shown: tuple[str, str]) -> None:
    assert explain.in_unit(name, value) == shown


@pytest.mark.parametrize(
    ("low", "usable"), [(80.0, 135.0), (134.9, 135.0), (20.0, 180.0), (200.0, 135.0), (-30.0, 12.0)]
)
def test_bands_end_at_the_usable_loss_and_hold_every_usable_one(low: float, usable: float) -> None:
    losses = np.linspace(low, low + 120, 5000)
    found = bands.bands(losses, usable)
    assert 1 <= len(found.edges) <= bands.MOST == 8 and found.edges[-1] == usable
    assert list(found.edges) == sorted(set(found.edges)) and len(found.colours) == len(found.names()) == len(
        found.edges
    )
    at = found.of(np.append(losses, np.nan))
    assert at[-1] == len(found.edges) and ((at < len(found.edges)) == np.append(losses <= usable, False)).all()


@pytest.mark.parametrize("places", [[(47.1, 11.1), (48.9, 12.5)], [(47.05, 11.1), (47.25, 11.1)], [(50.0, 12.0)]])
def test_a_map_of_links_is_neither_a_line_nor_drawn_for_who_is_off_the_terrain(
    places: list[tuple[float, float]],
) -> None:
    from shakedown.radio import terrain
    from shakedown.radio.pages import links, stated
    from shakedown.radio.scene import LinkBudget, Place, Radio, RadioSetting

    radios = [
        Radio(id=at, name=f"{at}", place=Place(latitude_deg=lat, longitude_deg=lon, height_m=2.0))
        for at, (lat, lon) in enumerate(places, 1)
    ]
    ground = terrain.synthetic(1, rows=901, columns=901)
    extent = links.extent_of(radios, stated.Made(RadioSetting(), LinkBudget(), ground, "fp32"))
    assert 0.3 < extent.metres_wide / extent.metres_high < 3.1
    lat, lon = places[0]
    assert extent.south <= lat <= extent.north and extent.west <= lon <= extent.east
    assert extent.metres_high < 60_000
