"""The model as numbers: its shape, the parameters that it starts with, the tokens that it is trained on. Needs numpy alone.

A decoder as GPT-2's: tokens and places are embedded, each layer adds causal attention and a part of two matrices with
GELU, both behind a normalisation, and the embedding gives the logits. The tokens are a chain that can be learned: three
of four follow from the one before, the others are drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Learning rate and momentum. With plain momentum an error of rounding stays as small as it was; rules that divide by the
#: size of a gradient (Adam) turn noise around zero into whole steps, and nothing could be compared.
RATE, MOMENTUM = 0.1, 0.9
#: Steps that are held against the reference: the second has momentum.
CHECKED = 2
EPSILON = 1e-5
_FOLLOWS = 0.75

Arrays = dict[str, NDArray[np.float32]]


class Shape(NamedTuple):
    """What is trained. ``batch``: sequences of a step, over all ranks."""

    layers: int
    width: int
    heads: int
    sequence: int
    vocabulary: int
    batch: int
    seed: int


def initial(shape: Shape) -> Arrays:
    """The parameters before the first step; those of the layers are stacked. Gains are kept as what they are above one:
    beside one float32 would round most of a small change away."""
    draw = np.random.default_rng((shape.seed, 0))
    many, width = shape.layers, shape.width

    def normal(*sizes: int, scale: float = 0.02) -> NDArray[np.float32]:
        return np.asarray(draw.standard_normal(sizes, dtype=np.float32) * np.float32(scale), dtype=np.float32)

    def full(value: float, *sizes: int) -> NDArray[np.float32]:
        return np.full(sizes, value, dtype=np.float32)

    inner = 0.02 / (2 * many) ** 0.5
    return {
        "embed": normal(shape.vocabulary, width),
        "place": normal(shape.sequence, width),
        "gain1": full(0, many, width),
        "bias1": full(0, many, width),
        "qkv": normal(many, width, 3 * width),
        "merge": normal(many, width, width, scale=inner),
        "gain2": full(0, many, width),
        "bias2": full(0, many, width),
        "up": normal(many, width, 4 * width),
        "down": normal(many, 4 * width, width, scale=inner),
        "gain": full(0, width),
        "bias": full(0, width),
    }


#: Of `initial`, those that each layer has.
STACKED = ("gain1", "bias1", "qkv", "merge", "gain2", "bias2", "up", "down")


def tokens(shape: Shape, step: int, many: int = 0) -> NDArray[np.int32]:
    """Sequences of step ``step`` (``many``; else the batch), each with the token behind its last."""
    draw = np.random.default_rng((shape.seed, 1, step))
    rows, length = many or shape.batch, shape.sequence + 1
    drawn = draw.integers(0, shape.vocabulary, (rows, length), dtype=np.int32)
    follows = draw.random((rows, length)) < _FOLLOWS
    found = drawn.copy()
    for at in range(1, length):
        after = (found[:, at - 1].astype(np.int64) * 5 + 3) % shape.vocabulary
        found[:, at] = np.where(follows[:, at], after, drawn[:, at])
    return found


def checked_tokens(shape: Shape) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """The batch of the steps that are checked, the sequences that it consists of, and the share of each.

    Two sequences fill the halves of the batch: the reference computes two, whatever the batch; and a rank that trains on
    its own share alone, without the others', has seen another mixture.
    """
    two = tokens(shape, 2**31, 2)
    first = shape.batch // 2
    if not first:
        return two[1:], two[1:], np.ones(1)
    batch = np.repeat(two, (first, shape.batch - first), axis=0)
    return batch, two, np.array((first, shape.batch - first)) / shape.batch
