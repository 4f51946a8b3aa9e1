"""Drawing the nodes to be measured, and the bundle that is handed in."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.green500 import levels, node_sample, rules, submission, submission_package
from shakedown.energy.green500.submission import Description
from shakedown.errors import BadInput
from support.sites import NODE, Meters, Raw, gap, put_together, site

# ------------------------------------------------------------------------------------------------------------------- draw


def described(**told: Any) -> Description:
    one = {"name": "cpu", "nodes": 632, "names": ["cn[001-632]"], "chassis": 4, "watts_per_node": 700.0, **told}
    return submission.describe({"title": "t", "traces": [], "sets": [one], "feeds": []}, "t")


@pytest.mark.parametrize(
    ("told", "level", "nodes"),
    [
        ({}, 1, 60),  # 1/10 is 64 nodes of 700 W; 40 kW need 58, in chassis of 4: 60
        ({"chassis": 1}, 1, 58),
        ({}, 2, 80),  # 1/8 of 632 is 79
        ({"chassis": 8}, 2, 80),
        ({}, 3, 632),
        ({"nodes": 20, "names": ["cn[01-20]"], "chassis": 1}, 1, 15),
        ({"nodes": 20, "names": ["cn[01-20]"], "chassis": 1, "watts_per_node": 100.0}, 1, 20),  # 2 kW
        ({"nodes": 12, "names": ["cn[01-12]"], "chassis": 1}, 2, 12),  # fewer than 15: all
        ({"nodes": 100, "names": ["cn[001-100]"], "chassis": 1, "watts_per_node": 500.0}, 2, 20),  # 10 kW
    ],
)
def test_the_draw_takes_the_fewest_nodes_that_suffice(told: Raw, level: int, nodes: int) -> None:
    found = node_sample.draw(described(**told), rules.load(), level, 1)
    assert found.nodes == nodes


def test_the_draw_keeps_chassis_whole_and_is_the_same_again() -> None:
    description = described()
    found = node_sample.draw(description, rules.load(), 2, 42)
    assert found == node_sample.draw(description, rules.load(), 2, 42)
    assert found.sets[0].nodes != node_sample.draw(description, rules.load(), 2, 43).sets[0].nodes
    drawn = set(found.sets[0].nodes)
    for group in node_sample.groups(description.sets[0]):
        assert len(drawn & set(group)) in (0, 4)


def test_the_recorded_draw_can_be_drawn_again(tmp_path: Path) -> None:
    import tomllib

    import msgspec

    description = described()
    found = node_sample.draw(description, rules.load(), 2, 42)
    kept = msgspec.convert(tomllib.loads(node_sample.selection_toml(found))["selection"], submission.Selection)
    again = node_sample.redraw(msgspec.structs.replace(description, selection=kept))
    assert again == {"cpu": found.sets[0].nodes}


def test_heterogeneous_sets_get_their_share_each() -> None:
    raw = {
        "title": "t",
        "traces": [],
        "feeds": [],
        "sets": [
            {"name": "cpu", "nodes": 100, "names": ["c[001-100]"], "chassis": 4, "watts_per_node": 500.0},
            {"name": "gpu", "nodes": 30, "names": ["g[01-30]"], "chassis": 4, "watts_per_node": 3000.0},
        ],
    }
    found = node_sample.draw(submission.describe(raw, "t"), rules.load(), 2, 5)
    counts = {one.name: len(one.nodes) for one in found.sets}
    assert counts["cpu"] >= 13 and counts["gpu"] >= 4 and sum(counts.values()) >= 17
    assert found.watts is not None and found.watts >= 10e3


@given(st.integers(0, 2**32), st.integers(2, 9))
@settings(max_examples=20, deadline=None)
def test_every_draw_meets_the_level_that_it_was_drawn_for(seed: int, chassis: int) -> None:
    description = described(nodes=101, names=["n[001-101]"], chassis=chassis)
    found = node_sample.draw(description, rules.load(), 2, seed)
    assert found.nodes >= 15 and found.nodes >= 101 / 8
    assert found.watts is not None and found.watts >= 10e3


def test_each_node_is_as_likely_as_any_other() -> None:
    """Of 2000 draws of 80 from 632 each chassis is in 1 of 7.9: within five standard deviations."""
    description = described()
    count = dict.fromkeys((group[0] for group in node_sample.groups(description.sets[0])), 0)
    for seed in range(500):
        for group in node_sample.shuffled(description.sets[0], seed)[:20]:
            count[group[0]] += 1
    expected = 500 * 20 / 158
    assert max(abs(one - expected) for one in count.values()) < 5 * math.sqrt(expected)


def test_a_draw_without_names_or_watts_says_what_is_missing() -> None:
    with pytest.raises(BadInput, match="no node names"):
        node_sample.draw(described(names=[]), rules.load(), 1, 1)
    bare = described()
    import msgspec

    one = msgspec.structs.replace(bare.sets[0], watts_per_node=None)
    with pytest.raises(BadInput, match="what a node draws"):
        node_sample.draw(msgspec.structs.replace(bare, sets=(one,)), rules.load(), 1, 1)


# ----------------------------------------------------------------------------------------------------------------- bundle


def test_the_bundle_is_complete_and_the_same_twice(tmp_path: Path) -> None:
    raw, meters = site(), Meters()
    given_ = put_together(raw, meters)
    found = levels.assess(given_, rules.load())
    contents = submission_package.files(given_, found, rules.load(), "title = 1\n")
    for path in (tmp_path / "a.zip", tmp_path / "b"):
        submission_package.write(path, contents)
    again = tmp_path / "again"
    again.mkdir()
    submission_package.write(again / "a.zip", submission_package.files(given_, found, rules.load(), "title = 1\n"))
    assert (tmp_path / "a.zip").read_bytes() == (again / "a.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert {name.removeprefix("a/") for name in archive.namelist()} == set(contents)
    import hashlib

    for line in (tmp_path / "b" / "SHA256SUMS").read_text().splitlines():
        total, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "b" / name).read_bytes()).hexdigest() == total
    assert json.loads(contents["assessment.json"])["level"] == 3
    rows = contents["series/total.csv"].splitlines()
    assert rows[0].startswith("begin_utc,end_utc,total_w,rack0_w") and len(rows) == 1 + 700
    assert "rack0 [pdu, upstream of the conversion] -> cpu, 16 nodes" in contents["schematic.txt"]
    averages = [line.split(",") for line in contents["series/averages.csv"].splitlines()[1:]]
    assert [row[3] for row in averages] == ["full run"] + ["core"] * 10
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert float(averages[1][2]) == pytest.approx(nodes * NODE.mean_w(0.0, 60.0), rel=1e-7)
    with pytest.raises(BadInput, match="not empty"):
        submission_package.write(tmp_path / "b", contents)


def test_failed_readings_stand_in_the_bundle_with_their_state_and_no_value() -> None:
    raw, meters = site(), Meters()
    meters.spoil = gap(0.005)
    given_ = put_together(raw, meters)
    text = submission_package.files(given_, levels.assess(given_, rules.load()), rules.load())["readings/rack0.csv"]
    assert text.count(",,gap\n") == 3
