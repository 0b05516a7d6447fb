"""`compact`, from the command line."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from test_exchange import LOG, note, prose

from experience.cli import main
from experience.commands.compacting import _read

MESSAGES = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": LOG},
    {"role": "assistant", "content": prose(20_000)},
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, given=None, code=0):
        given = given if isinstance(given, str | bytes | None) else json.dumps(given)
        result = CliRunner().invoke(main, ["compact", *arguments], input=given)
        assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return call


def test_messages_come_out_in_the_shape_they_came_in_and_the_report_on_standard_error(run):
    done = run("--budget", "4096", given={"messages": MESSAGES, "model": "m"})
    after = json.loads(done.stdout)

    assert after["model"] == "m"
    assert after["messages"][:2] == MESSAGES[:2]
    assert after["messages"][2]["content"].endswith("line 2999\n")
    assert done.stderr.splitlines() == [
        "assistant 1: prose, cut from 20000 bytes to 2048, 17976 dropped",
        f"result 0 (c1): log, cut from {len(LOG)} bytes to 2048, {len(LOG) - 2048 + 25} dropped",
        f"{20_000 + len(LOG)} bytes before, 4096 after, budget 4096",
    ]


def test_a_file_and_a_dash_are_read(run, tmp_path):
    (tmp_path / "messages.json").write_text(json.dumps(MESSAGES))

    assert json.loads(run("messages.json").stdout) == json.loads(run("-", given=MESSAGES).stdout)
    assert "no-such" in run("no-such.json", code=2).stderr


def test_plain_text_is_cut_as_one_text_byte_for_byte(run):
    done = run("--budget", "1000", given="\ufeff" + prose(5000) + "\r\n")

    assert done.stdout_bytes == prose(977).encode() + b"[truncated: 4025 bytes]"
    assert done.stderr.startswith("the text: prose, cut from 5002 bytes to 1000, 4025 dropped\n")
    assert run(given="short\r\nand sweet").stdout_bytes == b"short\r\nand sweet"
    brackets = "[2024-01-05 10:00:00] one\n[2024-01-05 10:00:01] two\n" * 9
    assert run("--budget", "100", given=brackets).stdout.endswith("two\n")


def test_the_budget_may_count_tokens_and_has_defaults(run):
    assert "8192 after, budget 8192" in run("--tokens", given=prose(90_000)).stderr
    assert "budget 32768" in run(given=prose(90_000)).stderr
    assert "100 after, budget 100" in run("--tokens", "--budget", "100", given=prose(900)).stderr


def test_the_founding_policy_can_be_had(run):
    messages = [MESSAGES[1], {**MESSAGES[2], "content": note(20_000)}, {"role": "assistant", "content": prose(25_000)}]
    done = run("--policy", "founding", given=messages)

    assert len(json.loads(done.stdout)[2]["content"]) == 16_383
    assert "had to stay whole" in done.stderr
    assert "this is over the budget: --offload DIR stores what had to stay whole" in done.stderr


def test_what_cannot_be_cut_is_kept_in_a_folder(run, tmp_path):
    messages = [MESSAGES[1], {**MESSAGES[2], "content": note(40_000)}]
    done = run("--offload", "kept", given=messages)
    [path] = (tmp_path / "kept").glob("rest-*.dat")

    assert path.read_text() == note(40_000)
    assert f"rest at {path}; original cas:sha256-" in json.loads(done.stdout)[1]["content"]
    assert "structured, offloaded from 40011 bytes to 1024" in done.stderr
    assert f"kept at {path}" in done.stderr
    (tmp_path / "file").write_text("")
    run("--offload", "file", given=messages, code=2)
    assert "cannot be written" in run("--offload", "file/below", given=messages, code=1).stderr


def test_json_holds_the_result_and_the_report(run):
    done = json.loads(run("--json", "--budget", "4096", given=MESSAGES).stdout)

    assert done["result"][0] == MESSAGES[0]
    assert {key: done["report"][key] for key in ("unit", "budget", "after", "fits", "waiting")} == {
        "unit": "bytes", "budget": 4096, "after": 4096, "fits": True, "waiting": 0,
    }  # fmt: skip
    assert [change["side"] for change in done["report"]["changes"]] == ["assistant", "result"]
    assert json.loads(run("--json", given="short").stdout)["result"] == "short"


def test_a_wave_that_has_not_landed_is_left_alone_and_named(run):
    done = run("--budget", "10", given=MESSAGES[:2])

    assert json.loads(done.stdout) == MESSAGES[:2]
    assert "1 message at the end was left alone" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"\xff\xfe", "the input is not UTF-8: invalid start byte at byte 0"),
        ("", "the input is empty"),
        (" \n", "the input is empty"),
        ('{"messages": [', "begins like JSON and is none: Expecting value in line 1, column 15"),
        ('[{"role": "user"}', "begins like JSON and is none"),
        ('{"note": "x"}', "these are no messages: got an object with 'note'"),
        ("[]", "there are no messages in the list"),
        ("[1, 2]", "message 0 has no role"),
        ('[{"role": "user", "n": NaN}]', "holds NaN, which is no JSON"),
        ('[{"role": "user", "n": {"a": 1, "b": 2, "a": 1}}]', "has the key 'a' twice in one object"),
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('[{"request": {}, "response": {}}]', "recorded requests"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(run, given, said):
    done = run(given=given, code=1)

    assert said in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_what_was_left_alone_is_counted_and_does_not_fit(run):
    waiting = [MESSAGES[3], {**MESSAGES[1], "content": prose(5000)}]
    done = run("--budget", "4096", given=waiting)
    report = json.loads(run("--json", "--budget", "4096", given=waiting).stdout)["report"]

    assert "1 message at the end was left alone, 5000 bytes that are not counted" in done.stderr
    assert "this is over the budget: what was left alone is more than there is room for" in done.stderr
    assert (report["fits"], report["after"], report["waiting"], report["not_counted"]) == (False, 4096, 1, 5000)


@pytest.mark.parametrize(
    "number", ["12345678901234567.89", "1.10", "-0", "1e999", "1E+2", "0.0", "9" * 10_000, "-" + "1" * 5000]
)
def test_numbers_come_out_as_they_were_written(run, number):
    call = f'{{"id": "c1", "type": "function", "input": {{"n": {number}, "of": [{number}, "number-0-is-5", 7]}}}}'
    said = f'{{"role": "assistant", "content": {json.dumps(prose(900))}, "tool_calls": [{call}]}}'
    given = f'[{said}, {{"role": "user", "n": {number}}}]'

    for done in (run("--budget", "100", given=given), run("--budget", "100", "--json", given=given)):
        assert [line.strip(' ,"n:') for line in done.stdout.splitlines()].count(number) == 3
        assert '"number-0-is-5",' in done.stdout
        assert "limit" not in done.stderr


def test_a_number_where_a_text_should_be_is_no_text(run):
    assert "content of message 0 is '5'" in run(given='[{"role": "user", "content": 5}]', code=1).stderr
    assert "message 0 has no role" in run(given='[{"role": 1.50}]', code=1).stderr
    parts = '[{"role": "assistant", "content": [{"type": "text", "text": 5}]}]'
    assert json.loads(run(given=parts).stdout) == json.loads(parts)


def test_the_advice_is_not_to_do_what_was_done(run):
    for policy in ("default", "founding"):
        done = run(
            "--offload",
            "kept",
            "--budget",
            "20",
            "--policy",
            policy,
            given=[{"role": "assistant", "content": note(400)}],
        )
        assert "this is over the budget: give it more; nothing more can be cut" in done.stderr
    assert "the name of the folder is empty" in run("--offload", "", given=MESSAGES, code=1).stderr


def test_a_long_report_is_short_for_people_and_whole_for_programs(run):
    many = [{"role": "assistant", "content": prose(500)} for _ in range(50)]
    lines = run("--budget", "5000", given=many).stderr.splitlines()

    assert len(lines) == 22
    assert lines[20] == "and 30 more texts; --json names all of them"
    assert len(json.loads(run("--json", "--budget", "5000", given=many).stdout)["report"]["changes"]) == 50


@pytest.mark.parametrize("given", ["some words", json.dumps(MESSAGES)])
def test_a_closed_standard_output_is_refused_in_one_line(tmp_path, given):
    (tmp_path / "given").write_text(given)
    command = f"'{sys.executable}' -m experience compact '{tmp_path / 'given'}' >&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode != 0
    assert "there is no standard output to write to" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_budget_below_nothing_and_too_much_input_are_refused(run, monkeypatch):
    assert "--budget" in run("--budget", "-1", given="x", code=2).stderr
    assert "--budget" in run("--budget", "many", given="x", code=2).stderr
    monkeypatch.setattr("experience.commands.compacting._MOST_BYTES", 100)
    assert "more than 100 bytes; compact it in parts" in run(given="x" * 101, code=1).stderr


def test_half_a_surrogate_pair_and_hidden_characters_survive(run):
    text = '[{"role": "assistant", "content": "\\ud800 \\u202e \\u0007"}]'

    assert json.loads(run(given=text).stdout) == json.loads(text)


def test_marks_alone_may_be_more_than_the_budget(run):
    assert "give it more; nothing more can be cut" in run("--budget", "0", given=prose(100)).stderr


def test_a_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(click.UsageError, match="no standard input"):
        _read("-")


def test_what_can_be_read_but_is_too_deep_to_be_written_is_refused_too(run, monkeypatch):
    def too_deep(_):
        raise RecursionError

    monkeypatch.setattr("experience.commands.compacting.visible_json", too_deep)
    assert "nested too deep" in run(given=MESSAGES, code=1).stderr
