"""What a plant is described by, and the times in its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shakedown import times
from shakedown.energy.facility import plant, plant_data, ratios
from shakedown.errors import BadInput, CannotMeasure
from shakedown.metering import trace
from support.plants import AREA, LOOP, sensors

# ------------------------------------------------------------------------------------------------------- files and times


def test_times_in_all_their_forms() -> None:
    wanted = 1_383_174_000 * 10**9
    for text in (
        "1383174000",
        "1383174000.0",
        "1383174000000",
        str(wanted),
        "2013-10-30T23:00:00Z",
        "2013-10-31T00:00:00+01:00",
    ):
        assert times.stamps([text], "", "here")[0] == wanted
    assert times.stamps(["2013-10-31 00:00"], "Europe/Berlin", "here")[0] == wanted
    with pytest.raises(BadInput, match="neither zone nor offset"):
        times.stamps(["2013-10-31 00:00"], "", "here")


def test_the_hour_that_comes_twice_is_told_apart_by_order() -> None:
    texts = [
        "2013-10-27 01:30",
        "2013-10-27 02:00",
        "2013-10-27 02:30",
        "2013-10-27 02:00",
        "2013-10-27 02:30",
        "2013-10-27 03:00",
    ]
    assert np.diff(times.stamps(texts, "Europe/Berlin", "here")).tolist() == [1800 * 10**9] * 5


def test_semicolons_decimal_commas_and_our_own_traces(tmp_path: Path) -> None:
    text = 'title = "t"\n' + sensors(it="kW", cooling="W") + AREA
    (tmp_path / "all.csv").write_text("time;it;cooling\n1700000000;1,5;300\n1700000060;1,5;\n1700000120;1,5;300\n")
    found = plant_data.read(plant.parse(text, "p", tmp_path))
    assert found["it"].value.tolist() == [1500.0] * 3
    assert found["cooling"].status.tolist() == [0, 1, 0]
    trace.write(tmp_path / "it.parquet", [found["it"]])
    again = text.replace(
        'file = "all.csv"\ncolumn = "it"\nunit = "kW"', 'file = "it.parquet"\ncolumn = "it"\nunit = "W"'
    )
    assert plant_data.read(plant.parse(again, "p", tmp_path))["it"].value.tolist() == [1500.0] * 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("[[area]]", "[[aera]]"), "unknown key 'aera'"),
        (('it = ["it"]', 'it = ["ti"]'), "unknown flow of energy 'ti'"),
        (('unit = "W"', 'unit = "Wat"'), "unknown unit"),
        (('unit = "W"', 'unit = "GB"'), "cannot be used here"),
        (('infrastructure = ["cooling"]', ""), "either a total"),
        (('infrastructure = ["cooling"]', 'infrastructure = ["it"]'), "counts as IT and as infrastructure"),
        (('it = ["it"]', 'it = [{ of = "it", factor = 0.5 }]'), "not explained"),
        (('flow_at = "cool"', 'flow_at = "middle"'), "unknown sensor 'middle'"),
        (('flow_at = "cool"', 'flow_at = "cool"\nvolume = "3 l"'), "passes first"),
        (('flow = "v"', 'flow = "a"'), "measures temperature"),
        (('name = "cooling"', 'name = "it"'), "twice"),
        (("[[area]]", '[[pair]]\nsensors = ["a", "a"]\ndifference = "0.1 K"\n[[area]]'), "in two pairs"),
        (('title = "t"', 'title = "t"\nzone = "Mars"'), "unknown time zone"),
        (('title = "t"', "title = "), "is not TOML"),
    ],
)
def test_a_plant_that_cannot_be_is_refused_with_the_place(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    text = 'title = "t"\n' + sensors(it="W", cooling="W", v="l/min", a="degC", b="degC") + LOOP + AREA
    plant.parse(text, "p.toml", tmp_path)
    with pytest.raises(BadInput, match=why) as raised:
        plant.parse(text.replace(*change, 1), "p.toml", tmp_path)
    assert raised.value.hint and "p.toml" in raised.value.where


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    made = plant.parse('title = "t"\n' + sensors(it="W", cooling="W") + AREA, "p.toml", tmp_path)
    for content, why in (
        (None, "cannot be read"),
        ("time,it\n", "no rows"),
        ("time,it,coling\n1,2,3\n", "did you mean 'coling'"),
        ("time,it,cooling\n1,2\n", "cells"),
        ("time,it,cooling\nnoon,2,3\n", "is not a valid time"),
    ):
        if content is not None:
            (tmp_path / "all.csv").write_text(content)
        with pytest.raises(BadInput) as raised:
            plant_data.read(made)
        assert why in str(raised.value)
    (tmp_path / "all.csv").write_text("time,it,cooling\n1700000000,,3\n1700000060,,3\n")
    with pytest.raises(CannotMeasure, match="no reading at all"):
        ratios.Data.of(made)
