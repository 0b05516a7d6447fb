"""The packaged model: checked, the same in numpy as in torch, and not blind to the end of a long text."""

import functools
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from experience import EncoderError, Episode, Memory
from experience.backends import minilm as minilm_module
from experience.backends import open_backend
from experience.backends.encoders import MiniLM, SentenceTransformerEncoder, _batches, load_model, open_encoder, split
from experience.backends.minilm import WINDOW, check_weights, model_folder, open_tokenizer

SAMPLE = [
    "deploy the website to staging",
    "The quick brown fox, jumping over 13 lazy dogs; why?",
    "重启k8s集群并部署网站",
    "Überraschung: naïve café — résumé",
    "x",
    "a" * 300,
    "def f(x): return x ** 2  # squares",
    "one two three " * 60,
]


@functools.cache
def _minilm():
    return MiniLM()


@pytest.fixture
def minilm():
    return _minilm()


@pytest.fixture(scope="module")
def plain():
    """A plain sentence-transformers model over the same files."""
    return load_model(str(model_folder()))


def test_the_numpy_forward_pass_equals_sentence_transformers(minilm, plain):
    expected = plain.encode(SAMPLE, normalize_embeddings=True)

    ours = minilm.encode(SAMPLE)

    assert ours.shape == (len(SAMPLE), 384)
    assert ours.dtype == np.float32
    assert np.linalg.norm(ours, axis=1) == pytest.approx(1, abs=1e-5)
    assert (ours * expected).sum(axis=1).min() > 1 - 1e-4


def test_many_texts_come_out_in_order_as_sentence_transformers_has_them(minilm, plain, shared):
    lines = (shared / "episodes" / "tau_airline_gpt4o.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["situation"] for line in lines[:60]] + SAMPLE

    ours = minilm.encode(texts)

    assert (ours * plain.encode(texts, normalize_embeddings=True)).sum(axis=1).min() > 1 - 1e-5


@given(st.lists(st.sampled_from(["", "a", "deploy the site", "why? " * 40, "w " * 400, "重启k8s集群"]), max_size=12))
@settings(max_examples=15, deadline=None)
def test_a_text_has_the_same_vector_whatever_stands_beside_it(texts):
    encoder = _minilm()
    together = encoder.encode(texts)

    assert together.shape == (len(texts), 384)
    for text, vector in zip(texts, together, strict=True):
        assert vector @ encoder.encode([text])[0] > 1 - 1e-5


def test_equal_texts_are_embedded_once(minilm, monkeypatch):
    rows = []
    engine = minilm._engine(1)
    monkeypatch.setattr(minilm, "_engine", lambda _: lambda ids, mask: (rows.append(len(ids)), engine(ids, mask))[1])
    vectors = minilm.encode(["a", "b", "a"] * 50)

    assert sum(rows) == 2
    assert (vectors[0::3] == vectors[2::3]).all()
    assert not (vectors[0] == vectors[1]).all()


def test_no_batch_holds_more_than_it_should_and_each_part_is_in_one():
    parts = [[0] * length for length in (3, 256, 7, 256, 256, 200, 3, 3, 600)]
    batches = list(_batches(parts))

    assert sorted(at for batch in batches for at in batch) == list(range(len(parts)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(len(parts[at]) for at in batch) <= 512


def test_weights_laid_out_anew_give_the_same_vectors():
    encoder = MiniLM()
    first = encoder.encode(SAMPLE)
    layers = encoder._forward._layers
    for _ in range(3):
        again = encoder.encode(SAMPLE)

    assert encoder._forward._layers is not layers
    assert (first * again).sum(axis=1).min() > 1 - 1e-6


def test_embedding_recall_gives_the_top_ten_of_a_plain_script(store, minilm, plain):
    from experience.demo import sample

    situations = [json.loads(line)["situation"] for line in sample("episodes.jsonl")]
    queries = [json.loads(line)["situation"] for line in sample("queries.jsonl")][:8]
    memory = Memory(store, open_backend("embedding", store, minilm))
    for situation in situations:
        memory.record(Episode(situation, "o"))
    memory.refresh()
    cosines = plain.encode(queries, normalize_embeddings=True) @ plain.encode(situations, normalize_embeddings=True).T

    for query, row in zip(queries, cosines, strict=True):
        assert [match.id - 1 for match in memory.recall(query, k=10)] == list(np.argsort(-row)[:10])


def test_no_texts_give_no_vectors(minilm):
    assert minilm.encode([]).shape == (0, 384)


def test_an_empty_text_has_a_vector_all_the_same(minilm):
    assert np.linalg.norm(minilm.encode([""])) == pytest.approx(1, abs=1e-5)


def test_the_last_sentence_of_a_long_text_changes_its_vector(minilm):
    body = "The invoice lists a pallet, its weight and the warehouse it left. " * 250
    one, two = minilm.encode([body + "In the end the payment was refused.", body + "Penguins live in Antarctica."])

    assert one @ two < 1 - 1e-4


def test_a_short_text_is_one_part(minilm):
    assert split(minilm._tokenizer, "short enough", WINDOW) == ["short enough"]


@pytest.mark.parametrize("words", [260, 1000, 4000, 30_000])
def test_a_long_text_is_cut_between_words_into_at_most_sixteen_parts_that_fit(words):
    tokenizer = open_tokenizer(model_folder())
    text = " ".join(f"extraordinary{number}" for number in range(words))
    parts = split(tokenizer, text, WINDOW)

    assert 1 < len(parts) <= 16
    assert text.startswith(parts[0])
    assert text.endswith(parts[-1])
    assert all(len(tokenizer.encode(part).ids) <= WINDOW for part in parts)
    assert all(set(part.split()) <= set(text.split()) for part in parts)


@pytest.mark.parametrize("text", ["部署网站到服务器" * 200, "deploy" * 2000 + " the site", "x " * 3000 + "y" * 3000])
def test_a_text_that_is_one_word_to_its_tokenizer_is_cut_all_the_same(text):
    tokenizer = Tokenizer(models.BPE({char: number for number, char in enumerate(sorted({*text, "▁"}))}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    parts = split(tokenizer, text, WINDOW)

    assert 1 < len(parts) <= 16
    assert all(0 < len(tokenizer.encode(part).ids) <= WINDOW + 1 for part in parts)
    assert text.startswith(parts[0])
    assert text.endswith(parts[-1])


def test_up_to_sixteen_parts_leave_no_word_out():
    text = " ".join(f"w{number}" for number in range(1200))
    parts = split(open_tokenizer(model_folder()), text, WINDOW)

    assert set(" ".join(parts).split()) == set(text.split())


def test_other_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm_module.platformdirs, "user_cache_path", lambda _: tmp_path / "cache")
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(EncoderError, match=r"sha256 .* needs 53aa5117.*force-reinstall"):
        check_weights(tmp_path)


def test_weights_that_passed_are_read_again_when_they_change(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm_module.platformdirs, "user_cache_path", lambda _: tmp_path / "cache")
    weights = tmp_path / "model.safetensors"
    shutil.copy(model_folder() / "model.safetensors", weights)
    check_weights(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(minilm_module.hashlib, "file_digest", None)
        check_weights(tmp_path)
    weights.write_bytes(b"x")

    with pytest.raises(EncoderError):
        check_weights(tmp_path)


def test_any_other_model_on_this_machine_can_be_named(tmp_path, plain):
    folder = tmp_path / "my-model"
    plain.save(str(folder))
    encoder = open_encoder(str(folder))

    assert isinstance(encoder, SentenceTransformerEncoder)
    assert encoder.width == 384
    assert encoder.name.startswith(f"{folder}@")
    assert open_encoder(encoder.name).name == encoder.name
    long = "The invoice lists a pallet and its weight. " * 90
    for _ in range(2):  # the model's own tokenizer is left cutting after the first
        one, two = encoder.encode([long + "The payment was refused.", long + "Penguins live in Antarctica."])
        assert one @ two < 1 - 1e-4


def test_a_model_that_is_not_here_is_not_fetched():
    with pytest.raises(EncoderError, match="no sentence-transformers model 'nobody/nothing' on this machine"):
        open_encoder("nobody/nothing")


OFFLINE = """
import socket
def refuse(*_): raise AssertionError("a connection was tried")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
from experience.backends import encoders, minilm
print(encoders.MiniLM().encode(["deploy"]).shape)
print(encoders.SentenceTransformerEncoder(str(minilm.model_folder())).encode(["deploy"]).shape)
"""


def test_loading_the_model_needs_no_network_and_prints_nothing():
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr, done.returncode) == ("(1, 384)\n(1, 384)\n", "", 0)
