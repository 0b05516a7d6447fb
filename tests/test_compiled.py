"""The extra `fast`: the same vectors as numpy's, and numpy's where it does not load."""

import builtins
import sys
import types

import numpy as np
import pytest

from experience import EncoderError, MissingPackage
from experience.backends import compiled, encoders
from experience.backends.compiled import Compiled
from experience.backends.encoders import MiniLM, open_encoder
from experience.backends.forward import Forward
from experience.backends.minilm import model_folder

TEXTS = ["deploy the website", "", "x", "重启k8s集群并部署网站", "one two three " * 60, "long text, many parts. " * 300]


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(encoders, "_MANY", 3)


def test_the_compiled_network_gives_the_vectors_of_numpy(many):
    pytest.importorskip("openvino", reason="the extra fast is not installed")
    encoder, plain = MiniLM(), MiniLM()
    plain._try_compiling = False

    ours = encoder.encode(TEXTS)

    assert encoder._compiled is not None
    assert (ours * plain.encode(TEXTS)).sum(axis=1).min() > 1 - 1e-5
    assert encoder.name == plain.name


def test_bfloat16_has_a_name_of_its_own_or_is_refused():
    openvino = pytest.importorskip("openvino", reason="the extra fast is not installed")
    if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        with pytest.raises(EncoderError, match=r"^this processor has no bfloat16; use the encoder all-MiniLM-L6-v2"):
            open_encoder("all-MiniLM-L6-v2-bf16")
        return
    encoder = open_encoder("all-MiniLM-L6-v2-bf16")

    assert encoder.name != MiniLM().name
    assert open_encoder(encoder.name).name == encoder.name
    assert (encoder.encode(TEXTS) * MiniLM().encode(TEXTS)).sum(axis=1).min() > 0.999


def test_a_few_texts_do_not_load_the_engine_and_many_do(monkeypatch):
    asked = []
    monkeypatch.setattr(encoders, "find_spec", lambda _: object())
    monkeypatch.setattr(encoders, "Compiled", lambda folder, _: asked.append(folder) or Forward(folder))
    encoder = MiniLM()
    encoder.encode(TEXTS)
    assert asked == []

    monkeypatch.setattr(encoders, "_MANY", 3)
    encoder.encode(TEXTS)
    assert asked == [model_folder()]


def test_without_the_extra_numpy_does_it_all(many, monkeypatch):
    monkeypatch.setattr(encoders, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "openvino", None)
    encoder = MiniLM()

    assert encoder.encode(TEXTS).shape == (len(TEXTS), 384)
    assert encoder._compiled is None
    with pytest.raises(MissingPackage, match=r"hardwon\[fast\]"):
        open_encoder("all-MiniLM-L6-v2-bf16")


def test_an_engine_that_does_not_load_is_reported_once_and_numpy_takes_its_place(many, monkeypatch):
    true_import = builtins.__import__

    def broken(name, *args, **kwargs):
        if name == "openvino":
            raise ImportError("libopenvino.so is damaged")
        return true_import(name, *args, **kwargs)

    monkeypatch.setattr(encoders, "find_spec", lambda _: object())
    monkeypatch.setattr(builtins, "__import__", broken)
    encoder = MiniLM()
    with pytest.warns(UserWarning, match="OpenVINO does not load: libopenvino.so is damaged; pip install -U"):
        first = encoder.encode(TEXTS)

    assert (first * encoder.encode(TEXTS)).sum(
        axis=1
    ).min() > 1 - 1e-5  # without a second warning, which would be an error


def test_an_engine_whose_vectors_are_others_is_not_used(monkeypatch):
    class Core:
        def compile_model(self, *_):
            return types.SimpleNamespace(create_infer_request=lambda: types.SimpleNamespace(infer=wrong))

    def wrong(inputs, share_inputs):
        return [np.full((len(inputs[0]), 384), 384**-0.5, dtype=np.float32)]

    monkeypatch.setattr(compiled, "_import", lambda: types.SimpleNamespace(Core=Core, __version__="0"))
    monkeypatch.setattr(compiled, "_graph", lambda *_: None)

    with pytest.raises(EncoderError, match=r"cosine of .* to the model's own and need 0.99999"):
        Compiled(model_folder(), 1)


@pytest.mark.parametrize(
    "text",
    [
        "import not_there",
        "",
        "class Core: pass",
        "class Core:\n    def __init__(self): raise RuntimeError('no plugin')",
    ],
)
def test_an_engine_that_is_another_version_or_lacks_a_part_leaves_the_work_to_numpy(many, monkeypatch, tmp_path, text):
    for name in [name for name in sys.modules if name.partition(".")[0] == "openvino"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "openvino.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    encoder = MiniLM()
    with pytest.warns(UserWarning, match="Until then numpy makes the same vectors"):
        vectors = encoder.encode(TEXTS[:4])
    monkeypatch.delitem(sys.modules, "openvino", raising=False)

    assert vectors.shape == (4, 384)
