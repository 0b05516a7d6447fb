"""The packaged model: checked, the same in numpy as in torch, and not blind to the end of a long text."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from experience import EncoderError, Episode, Memory
from experience.backends import minilm as minilm_module
from experience.backends import open_backend
from experience.backends.encoders import MiniLM, SentenceTransformerEncoder, load_model, open_encoder, split
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


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


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


def test_many_texts_take_the_other_road_to_the_same_vectors(minilm, monkeypatch):
    few = minilm.encode(SAMPLE)
    monkeypatch.setattr("experience.backends.encoders._FEW", 0)
    many = MiniLM().encode(SAMPLE)

    assert (few * many).sum(axis=1).min() > 1 - 1e-4


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
from experience.backends import encoders
encoders._FEW = 0  # the road through sentence-transformers
print(encoders.MiniLM().encode(["deploy"]).shape)
"""


def test_loading_the_model_needs_no_network_and_prints_nothing():
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr, done.returncode) == ("(1, 384)\n", "", 0)
