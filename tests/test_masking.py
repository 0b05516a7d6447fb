"""Secrets are found where they stand, and nowhere else, in time that grows with the text."""

import json
from time import process_time

import pytest
from conftest import ROOT
from corpus_of_secrets import HITS, MISSES, MIX, PW
from hypothesis import given
from hypothesis import strategies as st

from experience import masking
from experience.masking import distinct, masked, plausible
from experience.shapes import is_telling

DATA = ROOT.parent / "shared" / "data"
PIECES = [
    *["\n", "a", "A", "0", "=", "token", "token:", "token=", 'token="', "pwd:\"pwd:'", "--password ", "mysql -", "docker login "],
    *["curl -u a", "echo a|", "://", "://a:", "://a:b@", "-----BEGIN ", "-----BEGIN PRIVATE " + "KEY-----\nab", "eyJaaaaaaaa."],
    *["sk-ant-", "sk-ant-your-", "sk-aa-", "a:5432:", "\\", '\\"', "&a", "?key=", "cookie: a=b;", "authorization: ", "bearer ", "name: token value"],
    *["<token>", "AKIA" + "A" * 17, "x@a.", "İ", "secret.", "login a password ", "Private-Lines: 1", "hooks.slack.com/services/", "密码:", "secret is "],
]  # fmt: skip


def test_the_corpus_is_as_large_as_it_says():
    assert len(HITS) >= 150
    assert len(MISSES) >= 150
    assert len({line for line, _ in HITS}) == len(HITS)
    assert len(set(MISSES)) == len(MISSES)


@pytest.mark.parametrize(("line", "secret"), HITS, ids=range(len(HITS)))
def test_a_secret_is_masked_whole_and_once(line, secret):
    left, counts = masked(line, personal=False)

    assert secret in line
    assert secret not in left
    assert counts.total() >= 1
    assert masked(left, personal=False)[0] == left


@pytest.mark.parametrize("line", MISSES, ids=range(len(MISSES)))
def test_what_is_none_is_left_as_it_is(line):
    assert masked(line, personal=False) == (line, {})


def test_all_of_the_corpus_as_one_text_loses_every_secret():
    left, _ = masked("\n\n".join(line for line, _ in HITS), personal=False)

    assert [secret for _, secret in HITS if secret in left] == []


def test_personal_values_are_masked_only_when_asked_for():
    text = f"mail ada@example.org the password={PW}"

    assert masked(text, personal=False)[0] == "mail ada@example.org the password=[secret]"
    assert masked(text)[0] == "mail [email] the password=[secret]"


def test_a_secret_of_any_length_goes_to_its_end():
    long = MIX * 500

    assert masked(f"API_KEY={long} and", personal=False)[0] == "API_KEY=[secret] and"
    assert masked(f"sk-ant-{long} and", personal=False)[0] == "[token] and"
    assert masked(f'"token": "{long}" and', personal=False)[0] == '"token": "[secret]" and'


@given(st.lists(st.sampled_from([*(line for line, _ in HITS), *MISSES, *PIECES]), max_size=6).map("".join))
def test_masking_what_is_masked_changes_nothing(text):
    once, _ = masked(text)

    assert masked(once) == (once, {})


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_text_and_not_faster(piece):
    def took(size):
        text = (piece * (size // len(piece) + 1))[:size]
        return min(cpu_of(text) for _ in range(3))

    def cpu_of(text):
        start = process_time()
        masked(text)
        return process_time() - start

    assert took(40_000) < 6 * took(20_000) + 0.02


def test_plain_text_is_hardly_looked_at():
    assert list(plausible("Refund order 1042, a torn parcel; the customer was told on Friday.", personal=False)) == []


def test_names_that_tell_are_known_and_others_are_not():
    telling = ["password", "DB_PASSWORD", "api_key", "apiKey", "X-Api-Key", "client_secret", "accessToken", "token", "db_pass", "pwd", "AWS_SECRET_ACCESS_KEY"]  # fmt: skip
    others = ["max_tokens", "token_type", "jsonwebtoken", "primary_key", "key", "password_hash", "nextPageToken", "secretary", "compass", "public_key"]  # fmt: skip

    assert [name for name in telling if not is_telling(name)] == []
    assert [name for name in others if is_telling(name)] == []


def test_names_without_their_tokens_differ_as_they_did():
    one, other = (f"run-sk-ant-{MIX}{end}" for end in "ab")

    assert distinct(one) != distinct(other)
    assert MIX not in distinct(one)
    assert distinct(distinct(one)) == distinct(one)
    assert distinct("run-42") == "run-42"


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data is not here")
def test_nothing_in_real_runs_is_taken_for_a_secret():
    runs = [
        line for path in (DATA / "episodes").glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    found = [
        masked(text, personal=False)[1] for line in runs for text in json.loads(line).values() if isinstance(text, str)
    ]

    assert len(found) > 1000
    assert sum(one.total() for one in found) == 0


TOKENS = (
    "ghp" + "_" + "a1B2" * 9,
    "sk-" + "proj-" + "a1B2" * 12,
    "AKI" + "A" + "Q3T7" * 4,
    "hf" + "_" + "a1B2" * 9,
    "ey" + "J" + "a1B2" * 5 + "." + "c3D4" * 5 + "." + "e5F6" * 5,
)


@pytest.mark.parametrize(
    "before",
    [
        "x\\n",
        "\\t",
        "\\u003d",
        "\\x3d",
        "=3D",
        "%3D",
        "%20",
        "\x1b[32m",
        "\x1b[1;32m",
        "\\x1b[0m",
        "\u00e9",
        "\u4ee4\u724c",
    ],
)
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_found_behind_an_escape_a_colour_or_a_letter_of_another_script(before, token):
    text, found = masked(f"stdout: {before}{token} end", personal=False)
    assert token[8:] not in text
    assert sum(found.values()) == 1


@pytest.mark.parametrize(
    "line", ["Private-Lines: 1\n", "Abc: -----BEGIN PRIVATE KEY-----\n", "-----BEGIN OPENSSH PRIVATE KEY-----\\n"]
)
def test_what_begins_like_a_key_again_and_again_is_looked_at_once(line, monkeypatch):
    looked = []
    found_in = masking._found
    monkeypatch.setattr(
        masking, "_found", lambda text, shape: (looked.append(one) or one for one in found_in(text, shape))
    )
    masked(line * 3_000, personal=False)
    assert len(looked) < 100
