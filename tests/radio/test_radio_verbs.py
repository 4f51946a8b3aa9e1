"""shakedown radio links, coverage, explain: what they print and write, over a slow engine of the tests' own."""

from __future__ import annotations

import csv
import json
import sys
import types
from pathlib import Path

import duckdb
import numpy as np
import pytest

from shakedown.radio import radios, terrain
from shakedown.radio.scene import LinkBudget, RadioSetting
from support.command import called
from support.radio_stand_in import StandIn, Standing

GROUND = ("--side-km", "8", "--seed", "4")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("shakedown.radio.engine")
    module.Engine, module.Standing = StandIn, Standing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shakedown.radio.engine", module)
    import shakedown.radio

    monkeypatch.setattr(shakedown.radio, "engine", module, raising=False)


def engine(count: int) -> tuple[StandIn, tuple[radios.Radio, ...], terrain.Terrain]:
    """The engine that the verbs use, placed as they place it."""
    rows = round(8000 / (111_200 / 3600)) + 1
    columns = round((rows - 1) / np.cos(np.radians(47.0))) + 1
    ground = terrain.synthetic(4, rows=rows, columns=columns)
    bounds = (ground.south_deg, ground.west_deg, ground.north_deg, ground.east_deg)
    scattered = radios.scattered(count, 4, bounds, 2.0)
    found = StandIn(ground, RadioSetting())
    places = [(one.place.latitude_deg, one.place.longitude_deg, one.place.height_m) for one in scattered]
    found.place(*np.array(places).T)
    return found, scattered, ground


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


# ---------------------------------------------------------------------------------------------------------------- links


def test_links_are_those_of_the_engine_sorted_with_their_snr(tmp_path: Path) -> None:
    done = called("radio", "links", *GROUND, "--synthetic", "9", "--json", "--csv", tmp_path / "l.csv")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    direct, scattered, _ = engine(9)
    a, b = np.triu_indices(9, 1)
    expected = {(i + 1, j + 1): float(loss) for i, j, loss in zip(a.tolist(), b.tolist(), direct.losses(), strict=True)}
    assert {(one["a"], one["b"]): one["loss_db"] for one in said["links"]} == pytest.approx(expected, abs=1e-4)
    losses = [one["loss_db"] for one in said["links"]]
    budget = LinkBudget()
    assert losses == sorted(losses) and said["possible"] == 36 and said["unknown"] == 0
    assert all(one["snr_db"] == pytest.approx(budget.snr_db(one["loss_db"]), abs=2e-4) for one in said["links"])
    assert (
        said["usable"]
        == sum(loss <= budget.usable_loss_db for loss in losses)
        == sum(one["usable"] for one in said["links"])
    )
    rows = rows_of(tmp_path / "l.csv")
    assert [(int(row["id_a"]), int(row["id_b"])) for row in rows] == [(one["a"], one["b"]) for one in said["links"]]
    assert [float(row["loss_db"]) for row in rows] == losses
    assert {row["name_a"] for row in rows} <= {one.name for one in scattered}
    assert [row["usable"] for row in rows] == ["true" if one["usable"] else "false" for one in said["links"]]


def test_only_links_below_a_loss(tmp_path: Path) -> None:
    every = json.loads(called("radio", "links", *GROUND, "--synthetic", "9", "--json").stdout)["links"]
    limit = every[7]["loss_db"]
    done = called(
        "radio",
        "links",
        *GROUND,
        "--synthetic",
        "9",
        "--below-db",
        str(limit),
        "--json",
        "--parquet",
        tmp_path / "l.parquet",
    )
    some = json.loads(done.stdout)
    assert some["links"] == [one for one in every if one["loss_db"] < limit] and some["unknown"] is None
    rows = duckdb.sql(f"select id_a, id_b, loss_db from '{tmp_path / 'l.parquet'}'").fetchall()
    assert rows == [(one["a"], one["b"], one["loss_db"]) for one in some["links"]]


def test_a_network_in_parts_is_said_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "radios.csv"
    path.write_text(
        "name,lat,lon\nleft,47.02,11.02\nmiddle,47.021,11.021\nright,47.022,11.022\naway <b>,47.07,11.09\noff,48,12\n"
    )
    page = tmp_path / "page.html"
    budget = ("--tx-power-dbm", "-5", "--required-snr-db", "9")
    done = called("radio", "links", *GROUND, "--radios", path, *budget, "--html", page)
    assert done.returncode == 0, done.stderr
    assert "The network is in 3 parts" in done.stdout and "Without a usable link: away <b>, off." in done.stdout
    assert "The model itm says: this is a stand-in." in done.stdout
    assert "Without losses, off the map: off." in done.stdout and "4 links have no loss" in done.stdout
    text = page.read_text()
    assert "away &lt;b&gt;" in text and "away <b>" not in text
    for words in (
        "Radios and their usable links",
        "data:image/png;base64,",
        "geodesics on WGS84",
        " km",
    ):
        assert words in text
    assert "http://" not in text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--synthetic", "1"), "between two radios"),
        (("--synthetic", "70000"), "65,534"),
        (("--radios", "none.csv"), "cannot be read"),
        (("--frequency-mhz", "nan"), "frequency_mhz"),
        (("--climate", "9"), "climate = 9"),
        (("--points", "500", "--spacing-m", "30"), "both given"),
        (("--bandwidth-hz", "0"), "bandwidth_hz"),
        (("--side-km", "-1"), "--side-km"),
        (("--antenna-m", "0"), "--antenna-m"),
        (("--precision", "fp16"), "fp16"),
        (("--csv", "links.txt"), "--csv"),
        (("--parameter", "wood"), "NAME=VALUE"),
        (("--parameter", "climate=3"), "an option of its own"),
        (("--terrain", "none.hgt"), "none.hgt"),
    ],
)
def test_what_is_wrong_is_one_error(words: tuple[str, ...], said: str) -> None:
    done = called("radio", "links", *(() if "--side-km" in words or "--terrain" in words else GROUND), *words)
    assert done.returncode == 2 and said in done.stderr and "next: " in done.stderr and not done.stdout, done.stderr


def test_every_field_of_the_records_has_an_option() -> None:
    import msgspec

    from shakedown.cli import _radio

    for group, record in (("model", RadioSetting), ("budget", LinkBudget)):
        fields = {field.name: field.default for field in msgspec.structs.fields(record)}
        options = _radio.declared(group)
        assert options.keys() == fields.keys()
        assert all(option.default in (fields[name], None) for name, option in options.items())


# ------------------------------------------------------------------------------------------------------------- coverage


def test_coverage_is_the_best_of_its_servers(tmp_path: Path) -> None:
    files = {"--html": "c.html", "--png": "c.png", "--csv": "c.csv"}
    words = [word for option, name in files.items() for word in (option, tmp_path / name)]
    several = ("--from", "2", "--from", "radio 5", "--pixels", "40", "--tx-power-dbm", "10", *words)
    done = called("radio", "coverage", *GROUND, "--synthetic", "6", *several, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    direct, scattered, ground = engine(6)
    bounds = (ground.south_deg, ground.west_deg, ground.north_deg, ground.east_deg)
    one, other = (direct.coverage(scattered[at].place, 1.5, said["rows"], said["columns"], bounds) for at in (1, 4))
    best = np.fmin(one, other)
    rows = rows_of(tmp_path / "c.csv")
    assert np.allclose([float(row["loss_db"]) for row in rows], best.ravel(), atol=1e-4)
    assert [int(row["server"]) for row in rows] == np.where(other < one, 5, 2).ravel().tolist()
    middle = rows[0]
    assert float(middle["latitude_deg"]) == pytest.approx(
        ground.north_deg - (bounds[2] - bounds[0]) / said["rows"] / 2, abs=1e-6
    )
    usable = best <= said["usable_loss_db"]
    assert said["usable_share"] == pytest.approx(usable.mean(), abs=2e-4) and 0.05 < usable.mean() < 0.95
    assert sum(server["share"] for server in said["servers"]) == pytest.approx(said["usable_share"])
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "c.html").read_text()
    assert "The best server" in text and "radio 5" in text and f"usable loss, {said['usable_loss_db']:.1f} dB" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "nobody"), "nobody"),
        (("--at", "47,11,2,3"), "--at"),
        (("--at", "97,11"), "latitude"),
        (("--bounds", "47,11,46,12"), "not an area"),
        (("--bounds", "10,10,11,11"), "off the terrain"),
        (("--receiver-m", "0"), "--receiver-m"),
        (("--png", "map.jpg"), "--png"),
    ],
)
def test_an_area_that_is_none(words: tuple[str, ...], said: str) -> None:
    done = called("radio", "coverage", *GROUND, "--pixels", "9", *words)
    assert done.returncode == 2 and said in done.stderr and "next: " in done.stderr, done.stderr


def test_coverage_of_a_place_of_its_own() -> None:
    done = called("radio", "coverage", *GROUND, "--at", "47.03,11.05,20", "--pixels", "12")
    assert done.returncode == 0 and "of the area" in done.stdout and "Servers" not in done.stdout


# -------------------------------------------------------------------------------------------------------------- explain


def test_explain_shows_every_term_and_draws_the_profile(tmp_path: Path) -> None:
    pair = ("radio", "explain", "7", "radio 3", *GROUND, "--synthetic", "8")
    done = called(*pair, "--html", tmp_path / "e.html", "--png", tmp_path / "e.png")
    assert done.returncode == 0, done.stderr
    said = json.loads(called(*pair, "--json").stdout)
    assert (said["a"]["name"], said["b"]["name"]) == ("radio 3", "radio 7"), "from the lower index to the higher"
    assert f"{said['loss_db']:.2f} dB between radio 3 and radio 7" in done.stdout
    assert "free space" in done.stdout and "tx horizon" in done.stdout
    assert sum(one["value"] for one in said["terms"] if one["summand"]) == pytest.approx(said["loss_db"])
    text = (tmp_path / "e.html").read_text()
    for words in (
        "Profile from radio 3 to radio 7",
        "line of sight",
        "first Fresnel zone",
        "effective height",
        "The loss, step by step",
    ):
        assert words in text
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


def test_a_link_without_a_loss_says_why(tmp_path: Path) -> None:
    path = tmp_path / "radios.csv"
    path.write_text("name,lat,lon\nhere,47.02,11.02\noff,48,12\n")
    done = called("radio", "explain", "here", "off", *GROUND, "--radios", path, "--html", tmp_path / "e.html")
    assert done.returncode == 3 and "no loss is known: the path comes over ground of unknown height" in done.stdout
    assert "no loss" in (tmp_path / "e.html").read_text()
    same = called("radio", "explain", "here", "1", *GROUND, "--radios", path)
    assert same.returncode == 2 and "the same radio" in same.stderr
