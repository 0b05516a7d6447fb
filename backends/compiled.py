"""all-MiniLM-L6-v2 through OpenVINO, for many texts: the same graph, compiled for the processor at hand.

The graph is put together from the packaged weights each time, which takes a fifth of a second, so there is no exported file
to keep, to check or to find damaged, and torch is not needed for it. What comes out is compared with the numpy pass before
it is used. OpenVINO is an extra (`pip install 'hardwon[fast]'`). It knows nothing of text.
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experience.backends.forward import Forward
from experience.backends.minilm import (
    EPSILON,
    HEAD,
    HEADS,
    LAYERS,
    NEVER,
    WIDTH,
    Dense,
    Norm,
    Vectors,
    layer_of,
    open_weights,
    places,
)
from experience.errors import EncoderError, MissingPackage

_CLOSE = {"f32": 0.99999, "bf16": 0.999}  # the least cosine to the numpy pass
_OTHER_VERSION = (
    RuntimeError,
    ImportError,
    AttributeError,
    TypeError,
)  # what a version of other names and arguments raises
_PROBE = ((101, 2421, 3319, 102), (101, 7592, 102, 0))  # two short texts, one of them padded


class Compiled:
    """The compiled network. Usable from several threads at once, each of which is given one thread."""

    def __init__(self, folder: Path, threads: int, precision: str = "f32") -> None:
        """Compile for so many threads. `precision` is f32 or bf16.

        Raises MissingPackage; EncoderError when OpenVINO does not load, or gives other vectors than numpy.
        """
        openvino = _import()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": precision,
        }
        try:
            core = openvino.Core()
            can = precision != "bf16" or "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
            compiled = core.compile_model(_graph(openvino, folder), "CPU", settings) if can else None
        except _OTHER_VERSION as error:
            raise EncoderError(
                f"OpenVINO cannot compile the model: {error}; pip install -U openvino, or uninstall it"
            ) from error
        if compiled is None:
            raise EncoderError(
                "this processor has no bfloat16; use the encoder all-MiniLM-L6-v2, which every processor can"
            )
        self._compiled = compiled
        self._own = threading.local()
        self._compare(folder, _CLOSE[precision])

    def __call__(self, ids: NDArray[np.int32], mask: Vectors) -> Vectors:
        """Unit vectors, as `Forward` gives them."""
        if not hasattr(self._own, "request"):
            self._own.request = self._compiled.create_infer_request()
        return np.array(self._own.request.infer([ids, mask], share_inputs=True)[0], dtype=np.float32)

    def _compare(self, folder: Path, close: float) -> None:
        ids = np.array(_PROBE, dtype=np.int32)
        mask = (ids > 0).astype(np.float32)
        cosine = float((self(ids, mask) * Forward(folder)(ids, mask)).sum(axis=1).min())
        if not cosine >= close:
            raise EncoderError(
                f"OpenVINO's vectors have a cosine of {cosine:.6f} to the model's own and need {close}; pip install -U "
                "openvino, or uninstall it"
            )


def _import() -> Any:
    try:
        import openvino
    except (ImportError, OSError, RuntimeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "openvino":
            raise MissingPackage("pip install 'hardwon[fast]'") from error
        raise EncoderError(f"OpenVINO does not load: {error}; pip install -U openvino, or uninstall it") from error
    return openvino


def _graph(openvino: Any, folder: Path) -> Any:
    """The network as OpenVINO's operations: two inputs, ids and mask of shape (texts, tokens), and the vectors."""
    from openvino import opset13 as op

    weights = open_weights(folder)
    ids, mask = op.parameter([-1, -1], np.int32), op.parameter([-1, -1], np.float32)
    tokens = op.gather(op.shape_of(ids), _whole(op, 1), _whole(op, 0))
    states = op.add(
        op.gather(op.constant(weights["embeddings.word_embeddings.weight"]), ids, _whole(op, 0)),
        op.slice(op.constant(places(weights)), _whole(op, 0), tokens, _whole(op, 1), _whole(op, 0)),
    )
    states = _norm(op, states, Norm(weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]))
    padding = op.multiply(op.subtract(op.constant(np.float32(1)), mask), op.constant(np.float32(NEVER)))
    hidden = op.unsqueeze(padding, _whole(op, 1, 2))
    for number in range(LAYERS):
        layer = layer_of(weights, number)
        attended = _attend(op, _dense(op, states, layer.attend), hidden)
        states = _norm(op, op.add(states, _dense(op, attended, layer.attended)), layer.first)
        inner = op.gelu(_dense(op, states, layer.inner), "erf")
        states = _norm(op, op.add(states, _dense(op, inner, layer.outer)), layer.last)
    summed = op.reduce_sum(op.multiply(states, op.unsqueeze(mask, _whole(op, 2))), _whole(op, 1))
    return openvino.Model([op.normalize_l2(summed, _whole(op, 1), EPSILON, "add")], [ids, mask], "minilm")


def _whole(op: Any, *numbers: int) -> Any:
    return op.constant(np.array(numbers, dtype=np.int64))


def _dense(op: Any, states: Any, dense: Dense) -> Any:
    # As the file has it, outputs by inputs: the transpose of a view is no copy.
    product = op.matmul(states, op.constant(np.ascontiguousarray(dense.weight.T)), transpose_a=False, transpose_b=True)
    return op.add(product, op.constant(dense.bias))


def _norm(op: Any, states: Any, norm: Norm) -> Any:
    normal = op.mvn(states, _whole(op, -1), normalize_variance=True, eps=EPSILON, eps_mode="inside_sqrt")
    return op.add(op.multiply(normal, op.constant(norm.scale)), op.constant(norm.shift))


def _attend(op: Any, mixed: Any, hidden: Any) -> Any:
    apart = op.split(
        op.reshape(mixed, _whole(op, 0, 0, 3, HEADS, HEAD), special_zero=True), op.constant(np.int64(2)), 3
    )
    query, key, value = (
        op.transpose(op.squeeze(part, _whole(op, 2)), _whole(op, 0, 2, 1, 3)) for part in apart.outputs()
    )
    found = op.transpose(op.scaled_dot_product_attention(query, key, value, hidden), _whole(op, 0, 2, 1, 3))
    return op.reshape(found, _whole(op, 0, 0, WIDTH), special_zero=True)
