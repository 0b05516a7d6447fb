"""Encoders: text to unit vectors, of the packaged model without sentence-transformers, of any other with it.

A text longer than a model's window is not silently cut off: it is embedded in up to 16 parts that are spread over it
and include its first and its last words, and the parts are averaged. What changes a vector changes the encoder's name.
Nothing here reaches for a network: a model is packaged, or lies on this machine already.
"""

import hashlib
import os
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from experience.backends.compiled import Compiled
from experience.backends.forward import Forward
from experience.backends.minilm import SHA256, WIDTH, WINDOW, Vectors, model_folder, open_tokenizer, uncut
from experience.backends.threads import one_thread
from experience.errors import EncoderError, MissingPackage
from experience.protocols import Encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

Part = TypeVar("Part")

DEFAULT = "all-MiniLM-L6-v2"
DEFAULT_BF16 = f"{DEFAULT}-bf16"
_MOST_PARTS = 16
_RECIPE = "p16"  # how parts are cut and averaged; to be changed with it
_MANY = 384  # parts; with fewer, loading and compiling (0.6 s of CPU, measured) would not pay for itself
_SETTLING = 4  # the call at which it looks as if more will come
_BATCH = 512  # tokens, padding included; more fall out of the cache


def open_encoder(name: str | None = None) -> Encoder:
    """The encoder of this name.

    None and `all-MiniLM-L6-v2` are the packaged model, `all-MiniLM-L6-v2-bf16` is the same in bfloat16, and any other a
    sentence-transformers model. Raises EncoderError when there is no such model on this machine, or its processor has no
    bfloat16; MissingPackage.
    """
    name = name or DEFAULT
    known = name.partition("@")[0]
    if known in {DEFAULT, DEFAULT_BF16}:
        return MiniLM("f32" if known == DEFAULT else "bf16")
    return SentenceTransformerEncoder(name if Path(name).is_dir() else name.rpartition("@")[0] or name)


class MiniLM:
    """The packaged all-MiniLM-L6-v2: in numpy, or for many texts by OpenVINO where it is installed; the same vectors from both."""

    width = WIDTH

    def __init__(self, precision: str = "f32") -> None:
        """`precision` bf16 is a vector space, and a name, of its own: always by OpenVINO, on processors that have it.

        Raises MissingPackage, EncoderError.
        """
        self.name = f"{DEFAULT if precision == 'f32' else DEFAULT_BF16}@{SHA256[:8]}-{_RECIPE}"
        self._folder = model_folder()
        self._tokenizer = open_tokenizer(self._folder)
        self._begin, self._end = self._tokenizer.encode("").ids  # the marks alone
        self._threads = _processors()
        self._forward: Forward | None = None
        self._asked = 0
        self._compiled = Compiled(self._folder, self._threads, precision) if precision != "f32" else None
        self._try_compiling = precision == "f32" and find_spec("openvino") is not None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text, in order: float32 of shape (len(texts), 384). Texts that are equal are embedded once."""
        different = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        cut = [self._tokens(text) for text in different]
        vectors = _pooled(cut, self._encode, self.width)
        return vectors if len(different) == len(texts) else vectors[[different[text] for text in texts]]

    def _tokens(self, text: str) -> list[list[int]]:
        """The ids of the text's parts, marks included."""
        whole = self._tokenizer.encode(text, add_special_tokens=False)
        if len(whole.ids) <= WINDOW - 2:
            return [[self._begin, *whole.ids, self._end]]
        return [self._tokenizer.encode(part).ids[:WINDOW] for part in split(self._tokenizer, text, WINDOW)]

    def _encode(self, parts: Sequence[Sequence[int]]) -> Vectors:
        engine = self._engine(len(parts))
        batches = list(_batches(parts))
        vectors = np.empty((len(parts), WIDTH), dtype=np.float32)

        def fill(batch: Sequence[int]) -> None:
            vectors[batch] = engine(*_padded([parts[at] for at in batch]))

        with one_thread():  # each: what runs beside one another are batches, not parts of a product
            if len(batches) == 1:
                fill(batches[0])
            else:
                # Only here: it brings logging with it, which one query can do without.
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(self._threads) as pool:
                    list(pool.map(fill, batches))
        return vectors

    def _engine(self, count: int) -> Callable[..., Vectors]:
        if self._compiled is None and self._try_compiling and count >= _MANY:
            self._try_compiling = False
            try:
                self._compiled = Compiled(self._folder, self._threads)
            except EncoderError as error:
                warnings.warn(f"{error}. Until then numpy makes the same vectors, more slowly", stacklevel=5)
        if self._compiled is not None:
            return self._compiled
        self._forward = self._forward or Forward(self._folder)
        self._asked += 1
        if self._asked == _SETTLING:
            self._forward.settle()
        return self._forward


class SentenceTransformerEncoder:
    """Any sentence-transformers model that lies on this machine, by name or folder."""

    def __init__(self, name: str) -> None:
        name = str(Path(name).resolve()) if Path(name).is_dir() else name  # to be found again from another folder
        self._model = load_model(name)
        # A copy: the model sets its own to cut at its window, and then nothing beyond would be seen here.
        self._tokenizer = uncut(self._model.tokenizer.backend_tokenizer)
        self.width = int(self._model.get_embedding_dimension() or 0)
        self.name = f"{name}@{_fingerprint(self._model)}-{_RECIPE}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text, in order: float32 of shape (len(texts), width)."""
        window = self._model.max_seq_length
        cut = [[text] if window is None else split(self._tokenizer, text, window) for text in texts]
        return _pooled(cut, lambda parts: _by_model(self._model, parts), self.width)


def split(tokenizer: "Tokenizer", text: str, window: int) -> list[str]:
    """The text itself when it fits into `window` tokens, else at most 16 parts that do.

    The parts are spread evenly and cut between words; the first begins and the last ends where the text does.
    """
    encoding = tokenizer.encode(text, add_special_tokens=False)
    room = window - tokenizer.num_special_tokens_to_add(is_pair=False)
    total, words, places = len(encoding.ids), encoding.word_ids, encoding.offsets
    if total <= room:
        return [text]
    # Only between words, where there are any: in scripts without spaces a whole text can be one word to a tokenizer.
    borders = [at for at in range(total) if at == 0 or words[at] is None or words[at] != words[at - 1]]
    if max(after - before for before, after in pairwise([*borders, total])) > room:
        borders = list(range(total))
    ends = [*borders, total]
    count = min(_MOST_PARTS, -(-total // room))
    parts = []
    for number in range(count):
        wanted = round(number * (total - room) / (count - 1))
        at = bisect_right(borders, wanted) - 1
        if number == count - 1 and borders[at] < wanted:
            at += 1  # the last part may begin a little later, but not end before the text does
        stop = ends[bisect_right(ends, borders[at] + room) - 1]
        parts.append(text[places[borders[at]][0] : places[stop - 1][1]])
    return parts


def load_model(name: str) -> "SentenceTransformer":
    """The sentence-transformers model of this name or folder, from this machine only. Raises EncoderError."""
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise MissingPackage("pip install sentence-transformers") from error
    try:
        with _quiet(), _offline():
            return SentenceTransformer(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"there is no sentence-transformers model {name!r} on this machine; fetch it first (hf download {name}), or "
            "name its folder (in Python, an encoder object of your own can be passed instead)"
        ) from error


def _by_model(model: "SentenceTransformer", parts: Sequence[str]) -> Vectors:
    vectors = model.encode(
        list(parts), batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)


def _batches(parts: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Positions of parts of about the same length, the longest first, so that little is padding."""
    order = sorted(range(len(parts)), key=lambda at: -len(parts[at]))
    while order:
        size = max(1, _BATCH // len(parts[order[0]]))
        yield order[:size]
        del order[:size]


def _padded(parts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], Vectors]:
    """The ids of a batch, filled up with zeros, and what of it are ids."""
    longest = max(map(len, parts))
    ids = np.zeros((len(parts), longest), dtype=np.int32)
    mask = np.zeros((len(parts), longest), dtype=np.float32)
    for row, part in enumerate(parts):
        ids[row, : len(part)], mask[row, : len(part)] = part, 1
    return ids, mask


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pooled(cut: Sequence[Sequence[Part]], encode: Callable[[Sequence[Part]], Vectors], width: int) -> Vectors:
    """Encode all parts in one go, then one vector a text: the mean of its parts, at unit length."""
    if not cut:
        return np.zeros((0, width), dtype=np.float32)
    vectors = encode([part for parts in cut for part in parts])
    starts = np.cumsum([0, *map(len, cut[:-1])])
    means = np.add.reduceat(vectors, starts, axis=0)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.maximum(lengths, 1e-12), dtype=np.float32)


def _fingerprint(model: "SentenceTransformer") -> str:
    """Eight hex digits that differ when the weights do: two models of one name must not share vectors."""
    digest = hashlib.sha256(str(model.max_seq_length).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten()[:: max(1, tensor.numel() // 64)].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:8]


@contextmanager
def _offline() -> Iterator[None]:
    """`local_files_only` keeps weights from being fetched, but huggingface_hub would still ask its server for other things."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Loading prints a bar and a report of unused weights; a library has no business on its host's terminal."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
