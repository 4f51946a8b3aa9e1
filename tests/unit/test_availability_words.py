"""What Slurm's numbers and words and Grid Engine's letters say of a node."""

from __future__ import annotations

import pytest

from shakedown.operate.availability.words import kind_of, of_gridengine, of_slurm_number, of_slurm_word


@pytest.mark.parametrize(
    "number, state",
    [
        (1, "down"),
        (2049, "silent"),
        (514, "drained"),
        (515, "draining"),
        (2, "up"),
        (0, "unknown"),
        (6, "absent"),
        (1 | 1 << 15, "maintenance"),
        (4098, "powered down"),
        (4, "failed"),
        (1 | 1 << 20, "booting"),
    ],
)
def test_slurms_numbers(number: int, state: str) -> None:
    assert of_slurm_number(number) == state


@pytest.mark.parametrize(
    "word, state",
    [
        ("idle", "up"),
        ("IDLE+DRAIN", "drained"),
        ("MIXED+DRAIN", "draining"),
        ("down*", "silent"),
        ("idle*", "silent"),
        ("maint", "maintenance"),
        ("idle~", "powered down"),
        ("allocated", "up"),
        ("unk*", "unknown"),
        ("nonsense", "unknown"),
        ("DOWN$", "maintenance"),
        ("drained*", "drained"),
        ("reboot^", "booting"),
        ("mixed-", "up"),
    ],
)
def test_slurms_words(word: str, state: str) -> None:
    assert of_slurm_word(word) == state


def test_grid_engines_letters_and_reasons() -> None:
    assert [of_gridengine(one) for one in ("", "a", "d", "au", "E", "o")] == [
        "up",
        "up",
        "drained",
        "silent",
        "failed",
        "absent",
    ]
    assert kind_of("HC: gpu 2 fell off the bus") == "gpu"
    assert kind_of("Not responding") == "not responding"
    assert kind_of("bla") == "unknown"
    assert kind_of("bla", (("^bla", "weather"),)) == "weather"
