"""Training of a language model, without JAX: the reference against its own finite differences, what is counted, refused and
judged, ranks that fail."""

from __future__ import annotations

import copy
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.functional_tests import training
from shakedown.functional_tests.language_model import model, rank, reference
from shakedown.functional_tests.language_model.model import Shape
from shakedown.records import Params, Value
from shakedown.workloads.training import SIZES, flop_of_step, parameters
from support.machines import host, machine
from support.workloads import params_of

SHAPE = Shape(layers=2, width=8, heads=2, sequence=6, vocabulary=11, batch=5, seed=3)


def resolve(**given: Value) -> Params:
    return params_of(workloads.get("training"), machine(4), given)


def start() -> dict[str, Any]:
    """Larger than those that training starts with: a slope of nothing would hide an error."""
    draw = np.random.default_rng(1)
    return {
        name: value.astype(np.float64) + 0.3 * draw.standard_normal(value.shape)
        for name, value in model.initial(SHAPE).items()
    }


# ------------------------------------------------------------------------------------------------------ the reference


def test_the_reference_has_the_slopes_of_its_loss() -> None:
    held, (_, two, shares) = start(), model.checked_tokens(SHAPE)
    _, slopes = reference.gradient(held, SHAPE, two, shares)
    assert slopes.keys() == held.keys()
    draw = np.random.default_rng(2)
    for name, value in held.items():
        along = draw.standard_normal(value.shape)
        ends = []
        for sign in (1, -1):
            moved = {**held, name: value + sign * 1e-5 * along}
            ends.append(reference.gradient(moved, SHAPE, two, shares)[0])
        slope = (ends[0] - ends[1]) / 2e-5
        assert slope == pytest.approx(float((slopes[name] * along).sum()), rel=1e-6, abs=1e-8), name


def test_two_sequences_with_their_shares_stand_for_the_whole_batch() -> None:
    batch, two, shares = model.checked_tokens(SHAPE)
    assert len(batch) == SHAPE.batch and shares.tolist() == [0.4, 0.6]
    whole, slopes = reference.gradient(start(), SHAPE, batch, np.full(5, 0.2))
    short, others = reference.gradient(start(), SHAPE, two, shares)
    assert whole == pytest.approx(short, rel=1e-12)
    for name in slopes:
        assert np.allclose(slopes[name], others[name], rtol=1e-9, atol=1e-12), name


def wrong_mask(start: dict[str, Any], two: Any, shares: Any) -> tuple[list[float], dict[str, Any]]:
    """Training as by a program whose tokens see those behind them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "tri", lambda length, dtype: np.ones((length, length), dtype=dtype))
        return reference.steps(start, SHAPE, two, shares, model.CHECKED)


def other_rate(start: dict[str, Any], two: Any, shares: Any) -> tuple[list[float], dict[str, Any]]:
    """Training with a learning rate that is a thousandth too large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "RATE", 1.001 * model.RATE)
        return reference.steps(start, SHAPE, two, shares, model.CHECKED)


def alone(start: dict[str, Any], two: Any, shares: Any) -> tuple[list[float], dict[str, Any]]:
    """The first rank of two, which adds no gradients of the other."""
    return reference.steps(start, SHAPE, two, np.array([1.0, 0.0]), model.CHECKED)


@pytest.mark.parametrize("wrong", [wrong_mask, other_rate, alone])
def test_what_is_computed_wrongly_is_found_by_the_limits(wrong: Any) -> None:
    first, (_, two, shares) = model.initial(SHAPE), model.checked_tokens(SHAPE)
    losses, held = reference.steps(first, SHAPE, two, shares, model.CHECKED)
    others, spoiled = wrong(first, two, shares)
    known = {"losses": others, "expected": losses, "updates": reference.update_error(first, spoiled, held)}
    for precision in ("float32", "bfloat16") if wrong is not other_rate else ("float32",):
        found = training.checks([{**left()[0], "reference": known}, left()[1]], 2, precision)
        assert not found[1].passed, (precision, found[1])


def test_tokens_hang_on_the_seed_and_can_be_learned() -> None:
    shape = SHAPE._replace(vocabulary=50, batch=64, sequence=64)
    one, again, other = model.tokens(shape, 4), model.tokens(shape, 4), model.tokens(shape, 5)
    assert (one == again).all() and (one != other).any() and one.shape == (64, 65)
    follows = (one[:, :-1] * 5 + 3) % 50 == one[:, 1:]
    assert 0.7 < follows.mean() < 0.82


# ------------------------------------------------------------------------------------------------------------- counts


def test_operations_are_those_of_every_matrix_product() -> None:
    """Product by product: qkv, scores, values, merge, up, down, logits; two backward for each forward."""
    layers, width, length, vocabulary, batch = 3, 64, 10, 100, 2
    tokens = batch * length
    each = [
        (width, 3 * width),
        (width, length),
        (length, width),
        (width, width),
        (width, 4 * width),
        (4 * width, width),
    ]
    forward = layers * sum(2 * tokens * a * b for a, b in each) + 2 * tokens * width * vocabulary
    assert flop_of_step(layers, width, length, vocabulary, batch) == pytest.approx(3 * forward, rel=1e-12)


def test_parameters_are_counted_as_they_are_made() -> None:
    made = sum(value.size for value in model.initial(SHAPE).values())
    assert made == parameters(SHAPE.layers, SHAPE.width, SHAPE.sequence, SHAPE.vocabulary)


def test_sizes_keep_so_many_cores_busy_for_a_minute() -> None:
    """By 10 Gflop/s of a core, which JAX's products reach on any of today."""
    for name, cores in (("small", 2), ("medium", 64), ("large", 2048)):
        size = dict(SIZES[name])
        steps = size.pop("steps")
        assert 60 <= steps * flop_of_step(**size) / (cores * 1e10) < 1200, name


# ------------------------------------------------------------------------------------------------- asked for, refused


def test_words_become_numbers() -> None:
    found = resolve()
    assert (found["ranks"], found["batch"], found["layers"]) == (1, 8, 2)
    assert resolve(ranks=4, weak=True)["batch"] == 32
    assert resolve(ranks="all")["ranks"] == 4


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        ({"ranks": 3}, "cannot be spread evenly over 3 ranks", "batch = 9"),
        ({"width": 100}, "not a multiple of 64", "width = 64"),
        ({"size": "large", "batch": 1000000}, "are free on", "smaller size"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(given: dict[str, Value], said: str, hint: str) -> None:
    with pytest.raises(BadInput, match=said) as error:
        resolve(**given)
    assert hint in error.value.hint


def test_a_python_that_is_not_there_is_named() -> None:
    assert training.python_of("auto") == sys.executable
    with pytest.raises(Unavailable, match="no /nowhere/python"):
        training.python_of("/nowhere/python")


# -------------------------------------------------------------------------------------------------------------- ranks


def asked(**given: Value) -> dict[str, Any]:
    found = {name: param.default for name, param in workloads.get("training").params.items()}
    return {**found, **SIZES["smoke"], "ranks": 2, "device": "cpu", **given}


def python(folder: Path, script: str) -> str:
    """A program in the place of a Python, which knows its rank and the folder of the job ($4)."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "kind", "said", "hint"),
    [
        ("echo \"ModuleNotFoundError: No module named 'jax'\"; exit 1", Unavailable, "has no jax", "pip install jax"),
        ("echo 'refused: a batch of 8 sequences cannot'; exit 3", CannotMeasure, "a batch of 8", "another batch"),
        ("echo 'RESOURCE_EXHAUSTED: Out of memory'; exit 1", CannotMeasure, "more memory", "smaller size"),
        ("echo \"RuntimeError: Unable to initialize backend 'cuda'\"; exit 1", Unavailable, "no such device", "device=cpu"),
        ("echo 'refused: JAX sees processors alone'; exit 3", Unavailable, "no such device", "device=cpu"),
        ("echo \"AttributeError: module 'jax' has no attribute 'make_array'\"; exit 1", Unavailable, "too old", "0.6"),
        ("kill -9 $$", CannotMeasure, r"rank [01] was ended by SIGKILL", "stderr"),
        ("exit 0", CannotMeasure, "rank 0 ended and left nothing", "again"),
        ("echo 'ValueError: something else'; exit 1", CannotMeasure, "something else", "stderr"),
    ],
)  # fmt: skip
def test_ranks_that_fail_are_one_error(
    script: str, kind: type[Exception], said: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said) as error:
        training.train(asked(), host(), python(tmp_path, script), tmp_path)
    assert hint in error.value.hint  # type: ignore[attr-defined]


def test_a_rank_that_fails_ends_those_that_wait_for_it(tmp_path: Path) -> None:
    script = 'echo $$ > "$4/pid-$SHAKEDOWN_RANK"; [ "$SHAKEDOWN_RANK" = 1 ] && exit 1; exec sleep 1000'
    begin = time.monotonic()
    with pytest.raises(CannotMeasure, match="rank 1 ended with exit code 1"):
        training.train(asked(), host(), python(tmp_path, script), tmp_path)
    assert time.monotonic() - begin < 900
    path = tmp_path / "pid-0"
    if path.exists() and path.read_text().strip():
        assert not Path(f"/proc/{path.read_text().strip()}").exists()


def test_ranks_lie_in_blocks() -> None:
    assert training.places(3, 2) == [(0, 2), (1, 2), (0, 1)]
    assert training.places(2, 1) == [(0, 2), (1, 2)]


def test_a_rank_learns_its_number_from_its_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in rank.NUMBERS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match="which rank this is"):
        rank.number()
    monkeypatch.setenv("PMI_RANK", "3")
    assert rank.number() == 3


# ------------------------------------------------------------------------------------------------------------- judged


def left() -> list[dict[str, Any]]:
    first = {
        "ranks": 2,
        "fingerprint": "a",
        "losses": [6.0, 5.5, 5.0, 4.0],
        "reference": {"losses": [6.0, 5.9], "expected": [6.0, 5.9], "updates": {"qkv": 1e-6, "up": 2e-6}},
    }
    return [first, {"ranks": 2, "fingerprint": "a"}]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((0, "reference", "losses", 1), 5.9002, "a loss"),
        ((0, "reference", "losses", 1), math.nan, "a loss"),
        ((0, "reference", "updates", "qkv"), 0.01, "(qkv)"),
        ((0, "reference", "updates", "qkv"), math.nan, "(qkv)"),
        ((1, "ranks"), 1, "JAX did not see (it saw 1)"),
        ((1, "fingerprint"), "b", "others than the first"),
        ((0, "losses", 3), 7.0, "rise of the loss"),
        ((0, "losses", 2), math.nan, "rise of the loss"),
    ],
)
def test_what_is_spoiled_has_no_score(place: tuple[Any, ...], value: Any, said: str) -> None:
    good = training.checks(left(), 2, "float32")
    assert all(one.passed for one in good) and len(good) == 5
    spoiled: Any = copy.deepcopy(left())
    at = spoiled
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    if place[-1] == 2:
        spoiled[0]["losses"] = [6.0, 5.0, 4.0, math.nan]
    wrong = [one for one in training.checks(spoiled, 2, "float32") if not one.passed]
    assert len(wrong) == 1 and said in wrong[0].kind
