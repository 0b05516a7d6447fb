"""Inspect AI's logs: a session for each sample, out of JSON or an archive, labelled by its scores alone."""

import json
import zipfile

import pytest
from transcripts import INSPECT, only, read, sample, tools, turns, written

from experience.importers import inspect_log
from experience.importers.inspect_log import FORMAT, head_of_archive


def log(*samples, **more):
    return {**INSPECT, "samples": list(samples), **more}


def archived(folder, samples, head=None, **entries):
    path = folder / "run.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        for name, text in entries.items():
            archive.writestr(name, text)
        archive.writestr("summaries.json", "[]")
        if head is not False:
            archive.writestr("header.json", json.dumps(head or {**INSPECT, "samples": None}))
    return path


def test_each_sample_is_read_as_it_says(tmp_path):
    [yes, no], troubles = read(FORMAT, written(tmp_path, INSPECT))

    assert troubles == []
    assert [yes.id, no.id] == ["e1/a/1", "e1/2/1"]
    assert (yes.asked, yes.account, tools(yes)) == ("Question a", "x", ["search!"])
    assert yes.finding == (True, "verifier", "score includes = C")
    assert no.finding == (False, "verifier", "score includes = I")
    assert (yes.kept, yes.dropped) == (4, {"a system prompt": 1})
    assert (yes.cost.tokens, yes.cost.seconds, yes.meta["scores"]) == (12, 1.5, {"includes": "C"})


def test_an_archive_gives_the_same_sessions_as_the_log(tmp_path):
    path = archived(tmp_path, INSPECT["samples"])

    assert read(FORMAT, path) == read(FORMAT, written(tmp_path, INSPECT))
    assert FORMAT.recognises(head_of_archive(path))


def test_each_epoch_is_a_session_of_its_own(tmp_path):
    sessions, _ = read(FORMAT, written(tmp_path, log(sample("a", "C"), sample("a", "I", epoch=2))))

    assert [one.id for one in sessions] == ["e1/a/1", "e1/a/2"]


@pytest.mark.parametrize(
    ("scores", "success"),
    [
        ({"s": 1}, True), ({"s": 0.0}, False), ({"s": True}, True), ({"s": "C", "t": 1}, True),
        ({"s": "P"}, None), ({"s": "N"}, None), ({"s": 0.7}, None), ({"s": "C", "t": "I"}, None),
        ({"s": "C", "t": 0.5}, None), ({"s": {"a": 1}}, None), ({"s": [1]}, None), ({"s": None}, None), ({}, None),
    ],
)  # fmt: skip
def test_scores_are_a_finding_where_all_of_them_plainly_say_the_same(scores, success, tmp_path):
    made = sample("a", "C", scores={name: {"value": value} for name, value in scores.items()})

    session = only(FORMAT, written(tmp_path, log(made)))

    assert (session.finding and session.finding.success) is success
    assert ("left_open" in session.meta) is (success is None and bool(scores))


def test_what_a_model_graded_is_the_hosts_word(tmp_path):
    both = sample("a", "C", scores={"includes": {"value": "C"}, "model_graded_qa": {"value": "C"}})

    finding = only(FORMAT, written(tmp_path, log(both))).finding

    assert finding == (True, "host", "score includes = C, score model_graded_qa = C")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            {"error": {"message": "out of memory", "traceback": "secret"}},
            "The sample ended with an error: out of memory",
        ),
        ({"limit": {"type": "token", "limit": 5}}, "The sample ended at its limit: token"),
    ],
)
def test_a_sample_that_did_not_end_by_itself_is_told_and_not_labelled(how, told, tmp_path):
    session = only(FORMAT, written(tmp_path, log(sample("a", "C", **how))))

    assert session.account == f"x\n\n{told}"
    assert (session.finding, session.meta["left_open"]) == (None, "it did not end by itself")


def test_an_invalid_log_labels_nothing(tmp_path):
    assert only(FORMAT, written(tmp_path, log(sample("a", "C"), invalidated=True))).finding is None


def test_long_texts_that_a_log_keeps_apart_are_put_in_place(tmp_path):
    made = sample("a", "C", input="attachment://1", attachments={"1": "A long question"})
    made["messages"][-1] = {"role": "assistant", "content": [{"type": "text", "text": "attachment://2"}]}

    session = only(FORMAT, written(tmp_path, log(made)))

    assert (session.asked, session.account) == ("A long question", "attachment://2")


def test_an_input_of_messages_is_what_its_user_says(tmp_path):
    given = [{"role": "system", "content": "x"}, {"role": "user", "content": "Which?"}]

    assert only(FORMAT, written(tmp_path, log(sample("a", "C", input=given)))).asked == "Which?"


def test_a_sample_that_is_broken_leaves_the_others(tmp_path):
    path = archived(tmp_path, INSPECT["samples"], **{"samples/z_epoch_1.json": "{", "samples/y_epoch_1.json": "[]"})

    sessions, troubles = read(FORMAT, path)

    assert [one.id for one in sessions] == ["e1/a/1", "e1/2/1"]
    assert [one.reason.split("'")[1] for one in troubles] == ["samples/z_epoch_1.json", "samples/y_epoch_1.json"]


def test_a_sample_that_unpacks_to_too_much_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "LARGEST_DOCUMENT", 10_000)
    path = archived(tmp_path, INSPECT["samples"], **{"samples/bomb_epoch_1.json": "[" + "0," * 10**6})

    sessions, [trouble] = read(FORMAT, path)

    assert len(sessions) == 2
    assert "unpacks to more than 10000 bytes" in trouble.reason


def test_an_archive_of_something_else_or_cut_short_is_a_trouble(tmp_path):
    other = archived(tmp_path, [], head=False)
    assert read(FORMAT, other)[0] == []
    assert "header.json" in read(FORMAT, other)[1][0].reason
    assert head_of_archive(other) is None
    assert head_of_archive(written(tmp_path, INSPECT)) is None

    cut = archived(tmp_path, INSPECT["samples"])
    raw = bytearray(cut.read_bytes())
    raw[40:60] = bytes(20)  # within the first sample
    cut.write_bytes(bytes(raw))
    sessions, troubles = read(FORMAT, cut)
    assert (len(sessions), len(troubles)) == (1, 1)

    cut.write_bytes(bytes(raw[: len(raw) // 2]))
    assert read(FORMAT, cut)[0] == []
    assert len(read(FORMAT, cut)[1]) == 1


def test_a_real_log_is_read_as_a_person_reads_it(shared):
    sessions, troubles = read(FORMAT, shared / "transcripts" / "inspect" / "mockllm-orders.json")

    assert troubles == []
    assert [(one.asked, one.account, tools(one), one.finding) for one in sessions] == [
        ("Where is order 17?", "Order 17 is shipped.", ["lookup_order"], (True, "verifier", "score includes = C")),
        ("Where is order 404?", "I could not find it.", ["lookup_order!"], (False, "verifier", "score includes = I")),
        ("Say the word ready.", "ready", [], (True, "verifier", "score includes = C")),
    ]
    assert [(one.kept, turns(one)) for one in sessions] == [(4, 5), (4, 5), (2, 3)]
