"""The same training steps in numpy with float64, forward and backward written out. Shares no line with the one in JAX."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .model import EPSILON, MOMENTUM, RATE, STACKED, Shape

F = NDArray[np.float64]
_CUBIC, _SLOPE = 0.044715, math.sqrt(2 / math.pi)


def _norm(x: F, gain: F, bias: F) -> tuple[F, tuple[F, F, F]]:
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON)
    scaled = centred * inverse
    return scaled * (1 + gain) + bias, (scaled, inverse, gain)


def _norm_back(dy: F, kept: tuple[F, F, F]) -> tuple[F, F, F]:
    """Of input, gain and bias."""
    scaled, inverse, gain = kept
    inner = dy * (1 + gain)
    along = inner - inner.mean(-1, keepdims=True) - scaled * (inner * scaled).mean(-1, keepdims=True)
    return along * inverse, (dy * scaled).sum((0, 1)), dy.sum((0, 1))


def _gelu(x: F) -> tuple[F, F]:
    """Its value and its slope."""
    bent = np.tanh(_SLOPE * (x + _CUBIC * x**3))
    slope = 0.5 * (1 + bent) + 0.5 * x * (1 - bent * bent) * _SLOPE * (1 + 3 * _CUBIC * x * x)
    return 0.5 * x * (1 + bent), slope


def _outer(a: F, b: F) -> F:
    """The gradient of a matrix between inputs ``a`` and what comes back, ``b``."""
    return a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])


def _parted(x: F, heads: int) -> F:
    rows, length, width = x.shape
    return x.reshape(rows, length, heads, width // heads).swapaxes(1, 2)


def _joined(x: F) -> F:
    rows, heads, length, each = x.shape
    return x.swapaxes(1, 2).reshape(rows, length, heads * each)


class _Kept(NamedTuple):
    """What the way back through a layer needs."""

    norm1: tuple[F, F, F]
    seen1: F
    q: F
    k: F
    v: F
    share: F
    mixed: F
    norm2: tuple[F, F, F]
    seen2: F
    bent: F
    slope: F


def _layer(h: F, own: Mapping[str, F], heads: int) -> tuple[F, _Kept]:
    seen1, norm1 = _norm(h, own["gain1"], own["bias1"])
    q, k, v = (_parted(part, heads) for part in np.split(seen1 @ own["qkv"], 3, axis=-1))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    scores = np.where(np.tri(h.shape[1], dtype=bool), scores, -np.inf)
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    mixed = _joined(share @ v)
    h = h + mixed @ own["merge"]
    seen2, norm2 = _norm(h, own["gain2"], own["bias2"])
    bent, slope = _gelu(seen2 @ own["up"])
    return h + bent @ own["down"], _Kept(norm1, seen1, q, k, v, share, mixed, norm2, seen2, bent, slope)


def _layer_back(dh: F, own: Mapping[str, F], kept: _Kept, heads: int) -> tuple[F, dict[str, F]]:
    found = {"down": _outer(kept.bent, dh)}
    inner = dh @ own["down"].T * kept.slope
    found["up"] = _outer(kept.seen2, inner)
    more, found["gain2"], found["bias2"] = _norm_back(inner @ own["up"].T, kept.norm2)
    dh = dh + more
    found["merge"] = _outer(kept.mixed, dh)
    back = _parted(dh @ own["merge"].T, heads)
    dv = kept.share.swapaxes(-1, -2) @ back
    dshare = back @ kept.v.swapaxes(-1, -2)
    dscores = kept.share * (dshare - (dshare * kept.share).sum(-1, keepdims=True)) / math.sqrt(kept.q.shape[-1])
    dq, dk = dscores @ kept.k, dscores.swapaxes(-1, -2) @ kept.q
    inner = np.concatenate([_joined(part) for part in (dq, dk, dv)], axis=-1)
    found["qkv"] = _outer(kept.seen1, inner)
    more, found["gain1"], found["bias1"] = _norm_back(inner @ own["qkv"].T, kept.norm1)
    return dh + more, found


def gradient(held: Mapping[str, F], shape: Shape, rows: NDArray[Any], shares: F) -> tuple[float, dict[str, F]]:
    """The loss of some sequences, each with its share of the batch, and its gradient."""
    inputs, wanted = rows[:, :-1], rows[:, 1:]
    h = held["embed"][inputs] + held["place"]
    layers = [{name: held[name][layer] for name in STACKED} for layer in range(shape.layers)]
    kept = []
    for own in layers:
        h, one = _layer(h, own, shape.heads)
        kept.append(one)
    seen, norm = _norm(h, held["gain"], held["bias"])
    logits = seen @ held["embed"].T
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    each = np.take_along_axis(logits, wanted[..., None], -1)[..., 0]
    loss = -float((each.mean(-1) * shares).sum())
    back = np.exp(logits)
    np.put_along_axis(back, wanted[..., None], np.take_along_axis(back, wanted[..., None], -1) - 1, -1)
    back *= (shares / shape.sequence)[:, None, None]
    found = {"embed": _outer(back, seen)}
    dh, found["gain"], found["bias"] = _norm_back(back @ held["embed"], norm)
    stacked: dict[str, list[F]] = {name: [] for name in STACKED}
    for own, one in zip(reversed(layers), reversed(kept), strict=True):
        dh, ours = _layer_back(dh, own, one, shape.heads)
        for name in STACKED:
            stacked[name].insert(0, ours[name])
    np.add.at(found["embed"], inputs, dh)
    found["place"] = dh.sum(0)
    return loss, {**found, **{name: np.stack(parts) for name, parts in stacked.items()}}


def steps(
    start: Mapping[str, NDArray[Any]], shape: Shape, rows: NDArray[Any], shares: F, many: int
) -> tuple[list[float], dict[str, F]]:
    """The loss before each of ``many`` steps on the same sequences, and the parameters after them."""
    held = {name: np.asarray(value, dtype=np.float64) for name, value in start.items()}
    moved = {name: np.zeros_like(value) for name, value in held.items()}
    losses = []
    for _ in range(many):
        loss, slopes = gradient(held, shape, rows, shares)
        losses.append(loss)
        for name in held:
            moved[name] = MOMENTUM * moved[name] + slopes[name]
            held[name] = held[name] - RATE * moved[name]
    return losses, held


def update_error(start: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, float]:
    """How far the change of each group of parameters is from that of ``theirs``, over its size."""
    found = {}
    for name, right in theirs.items():
        change = float(np.linalg.norm(np.asarray(right, np.float64) - np.asarray(start[name], np.float64)))
        wrong = float(np.linalg.norm(np.asarray(ours[name], np.float64) - np.asarray(right, np.float64)))
        found[name] = wrong / change if change else math.inf
    return found
