"""A number that cannot be meant is refused with its place, in every file of ours and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shakedown import campaign, strict, units
from shakedown.acceptance import plan as acceptance
from shakedown.cli.app import app
from shakedown.energy.facility import plant
from shakedown.energy.green500 import submission
from shakedown.errors import BadInput
from shakedown.operate.accounting import tariff
from shakedown.operate.availability import contract
from support.sites import BOUND, Meters, put, site, without_fabric_meter


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("subsystems.0.upper_bound_w", -50e3, r'subsystems 1 "fabric", upper_bound_w: -50000.0 is not at least 0'),
        ("subsystems.0.upper_bound_w", float("nan"), r'subsystems 1 "fabric", upper_bound_w: nan is not a number'),
        ("meters.0.accuracy.reading", -0.01, "meters 1 \"pdu\", accuracy, reading: -0.01 is not at least 0"),
        ("meters.0.accuracy.reading", float("nan"), "accuracy, reading: nan"),
        ("meters.0.accuracy.full_scale", float("inf"), "accuracy, full_scale: inf"),
        ("meters.0.samples_hz", 0.0, "samples_hz: 0.0 is not above 0"),
        ("meters.0.range_w", -1.0, "range_w"),
        ("sets.0.nodes", 0, "sets 1 \"cpu\", nodes: 0 is not at least 1"),
        ("sets.0.watts_per_node", float("-inf"), "watts_per_node: -inf"),
        ("sets.0.spread", -0.1, "spread"),
        ("correlation", 1.5, "correlation: 1.5 is not at most 1"),
        ("feeds.0.supplies", 0, "supplies"),
        ("performance.n", -3, "performance, n"),
        ("phases.core.resolution_s", float("nan"), "phases, core, resolution_s: nan"),
    ],
)  # fmt: skip
def test_of_a_submission(path: str, value: Any, words: str) -> None:
    raw = site()
    without_fabric_meter(raw, **BOUND)
    put(path, value)(raw, Meters())
    with pytest.raises(BadInput, match=words):
        submission.describe(raw, "site.toml")


CAMPAIGN = 'name = "c"\ntitle = "c"\n[[run]]\nworkload = "stream"\n'


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "given.toml"
    file.write_text(text)
    return file


READERS: dict[str, Callable[[Path], object]] = {
    "campaign": lambda file: campaign.parse(file.read_text(), str(file)),
    "acceptance": lambda file: acceptance.parse(file.read_text(), str(file)),
    "tariff": tariff.load,
    "contract": lambda file: contract.load(str(file)),
    "plant": plant.load,
    "submission": submission.read,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400"])
def test_nan_and_infinity_are_refused_with_their_place_in_every_kind_of_file(
    reader: str, value: str, tmp_path: Path
) -> None:
    """Before anything else is asked of the file."""
    file = written(tmp_path, f'[[somewhere]]\nname = "x"\n[somewhere.deep]\nvalues = [1.0, {value}]\n')
    with pytest.raises(BadInput, match=r'somewhere 1 "x", deep, values 2: -?(nan|inf) is not a number') as refused:
        READERS[reader](file)
    assert refused.value.exit_code == 2 and file.name in str(refused.value)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"at_least": "-40 GB/s"}, "is below zero"),
        ({"at_least": -0.7, "of": "memory.bandwidth"}, "is below zero"),
        ({"at_most": "1e400 GB/s"}, "too large a number"),
    ],
)
def test_of_a_limit(told: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        campaign.limit(campaign.LimitEntry(metric="stream.triad", **told), "B/s", "given.toml")


def test_of_a_campaign() -> None:
    with pytest.raises(BadInput, match=r"repeat, interval: -0.1 is not above 0"):
        campaign.parse(CAMPAIGN + "[repeat]\ninterval = -0.1\n", "given.toml")


def test_quantities_are_finite() -> None:
    with pytest.raises(ValueError, match="too large a number"):
        units.parse_quantity("1e999 W")
    assert strict.finite(2.0, "--x", "here", least=0) == 2.0
    with pytest.raises(BadInput, match="--x = -2"):
        strict.finite(-2.0, "--x", "here", least=0)


@pytest.mark.parametrize(
    "words",
    [
        ("energy", "of", "x.parquet", "--window-u", "nan"),
        ("energy", "of", "x.parquet", "--window-u", "-0.29"),
        ("energy", "of", "x.parquet", "--clock-u", "inf"),
        ("energy", "of", "x.parquet", "--idle-before", "nan"),
        ("meter", "record", "simulated", "--seconds", "nan"),
        ("pairs", "x", "--rate", "-1"),
    ],
)
def test_on_the_command_line(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, list(words))
    assert isinstance(done.exception, BadInput) and words[3] in str(done.exception)
