"""all-MiniLM-L6-v2 in plain numpy: from token ids to unit vectors, without importing torch.

Importing torch takes seconds, a query milliseconds; and many texts, a few at a time on each processor, are done no later
than by torch. Source of the architecture: Devlin et al., "BERT" (2019), with 6 layers of 384 numbers (Wang et al.,
"MiniLM", 2020), mean pooling and unit length (Reimers and Gurevych, "Sentence-BERT", 2019).
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experience.backends.minilm import (
    EPSILON,
    HEAD,
    HEADS,
    LAYERS,
    NEVER,
    WIDTH,
    Dense,
    Layer,
    Norm,
    Vectors,
    layer_of,
    open_weights,
    places,
)

_BLOCK = 32  # rows that go through GELU at a time, so that its passes stay within the cache


class Forward:
    """The network. Usable from several threads at once."""

    def __init__(self, folder: Path) -> None:
        weights = open_weights(folder)
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = places(weights)
        self._norm = Norm(weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
        self._layers = [layer_of(weights, number) for number in range(LAYERS)]

    def settle(self) -> None:
        """Lay the matrices out anew (42 MB): that takes as long as a few short texts, and makes each of those a sixth faster."""
        self._layers = [_laid_out(layer) for layer in self._layers]

    def __call__(self, ids: NDArray[np.int32], mask: Vectors) -> Vectors:
        """Unit vectors, shape (texts, 384), of token ids with begin and end marks, shape (texts, tokens).

        `mask` of the same shape is 1 where there is a token and 0 where there is only padding.
        """
        count, tokens = ids.shape
        states = self._words[ids]
        states += self._places[:tokens]
        states = states.reshape(count * tokens, WIDTH)
        _norm(states, self._norm)
        hidden = None if mask.all() else ((1 - mask) * np.float32(NEVER))[:, None, None, :]
        for layer in self._layers:
            states += _dense(_attend(_dense(states, layer.attend), count, hidden), layer.attended)
            _norm(states, layer.first)
            inner = _dense(states, layer.inner)
            for start in range(0, len(inner), _BLOCK):
                _gelu(inner[start : start + _BLOCK])
            states += _dense(inner, layer.outer)
            _norm(states, layer.last)
        summed = np.einsum("btw,bt->bw", states.reshape(count, tokens, WIDTH), mask)
        return np.asarray(summed / np.linalg.norm(summed, axis=1, keepdims=True), dtype=np.float32)


def _laid_out(layer: Layer) -> Layer:
    def anew(dense: Dense) -> Dense:
        return Dense(np.ascontiguousarray(dense.weight), dense.bias)

    return layer._replace(
        attend=anew(layer.attend), attended=anew(layer.attended), inner=anew(layer.inner), outer=anew(layer.outer)
    )


# What follows works in place where it can: a fresh array for each step would cost as much as the step.


def _dense(states: Vectors, dense: Dense) -> Vectors:
    found = np.asarray(states @ dense.weight)
    found += dense.bias
    return found


def _attend(mixed: Vectors, count: int, hidden: Vectors | None) -> Vectors:
    """What each token takes from the others of its text; `mixed` holds queries, keys and values."""
    parts = mixed.reshape(count, -1, 3, HEADS, HEAD)
    query, key, value = (parts[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
    scores = query @ key.transpose(0, 1, 3, 2)  # (texts, heads, tokens, tokens)
    scores *= np.float32(HEAD**-0.5)
    if hidden is not None:
        scores += hidden
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.asarray((scores @ value).transpose(0, 2, 1, 3).reshape(-1, WIDTH), dtype=np.float32)


def _norm(states: Vectors, norm: Norm) -> None:
    states -= states.mean(axis=-1, keepdims=True)
    spread = np.einsum("ij,ij->i", states, states)[:, None]
    spread *= np.float32(1 / WIDTH)
    spread += np.float32(EPSILON)
    states /= np.sqrt(spread, out=spread)
    states *= norm.scale
    states += norm.shift


def _gelu(x: Vectors) -> None:
    """X * Phi(x), with erf by Abramowitz and Stegun 7.1.26 (off by at most 1.5e-7); numpy has no erf of its own."""
    z = np.abs(x)
    z *= np.float32(0.7071067811865476)
    tail = z * z
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    z *= np.float32(0.3275911)
    z += np.float32(1)
    t = np.reciprocal(z, out=z)
    sum_ = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        sum_ += np.float32(factor)
        sum_ *= t
    tail *= sum_  # 1 - erf(|z|)
    tail *= np.abs(x, out=t)
    tail *= np.float32(0.5)
    np.maximum(x, 0, out=x)
    x -= tail
