"""What is cut out of a text, and what is asked for."""

import pytest
from hypothesis import given
from strategies import texts

from experience.tokens import has_words, query_terms, tokens


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        ("deploy.sh", ["deploy", "sh"]),
        ("k8s", ["k8s", "8"]),
        ("C++", ["c"]),
        ("C#", ["c"]),
        ("--dry-run", ["dry-run", "dry", "run"]),
        ("snake_case", ["snake", "case"]),
        ("camelCase", ["camel", "case", "camelcase"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("src/app/main.py:12", ["src", "app", "main.py", "main", "py", "12"]),
        ("v1.2.3", ["v1", "1", "2", "3"]),
        ("https://x.example/login?next=1", ["https", "login", "example"]),
        ("error-404", ["error", "404"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_part(whole, parts):
    stored = set(tokens(f"run {whole}, please."))

    assert set(query_terms(whole)) & stored
    for part in parts:
        assert set(query_terms(part)) & stored, part


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("我们需要部署网站", "网"),
        ("我们需要部署网站", "部署"),
        ("重启k8s集群", "k8s"),
        ("重启k8s集群", "集群"),
        ("猫を飼う", "猫"),
        ("サーバーを再起動する", "サーバー"),
        ("서버를 재시작", "서버"),
        ("서버를 재시작", "재"),
        ("ｄｅｐｌｏｙ", "deploy"),
        ("café à la carte", "cafe"),
        ("Straße", "STRASSE"),
        ("हिन्दी में खोज", "खोज"),
        ("สวัสดีครับ", "สวัสดี"),
        ("deployments", "deployment"),
        ("He's running", "run"),
        ("l'avion", "avion"),
    ],
)
def test_a_word_is_found_in_its_script(stored, asked):
    assert set(query_terms(asked)) <= set(tokens(stored))


@pytest.mark.parametrize(
    ("stored", "asked"), [("start", "art"), ("今天天气很好", "部署网站"), ("我的猫", "我们的网站"), ("deploy", "ploy")]
)
def test_a_part_of_a_word_that_is_none_is_not_found(stored, asked):
    assert not set(query_terms(asked)) & set(tokens(stored))


def test_stop_words_are_left_out_of_a_question_unless_there_is_nothing_else():
    assert query_terms("what is the plan for the site") == ["plan", "site"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


@pytest.mark.parametrize("nothing", ["", " ", "*", '"', "( ) -- ++", "🙂🙂", "!?…", "\n"])
def test_punctuation_alone_is_nothing(nothing):
    assert query_terms(nothing) == []
    assert not has_words(nothing)


@given(texts)
def test_whatever_is_asked_for_is_among_what_is_stored_for_the_same_text(text):
    assert set(query_terms(text)) <= set(tokens(text))


@given(texts)
def test_a_token_is_one_word_for_every_index(text):
    for token in tokens(text):
        assert token
        assert not set(token) & set(" \"'()*,;!?\n\t\0")
        assert len(token) <= 80


def test_marks_heaped_on_a_letter_take_no_more_than_their_length_deserves():
    assert len(tokens("a" + "\u0301\u0323" * 100_000)) < 500


def test_a_word_without_end_is_looked_at_in_its_beginning():
    assert max(map(len, tokens("a" * 1_000_000))) <= 64
    assert len(tokens("a-" * 500_000)) < 10_000
