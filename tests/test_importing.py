"""What comes in, from which files, how often, and what the report says of all of it."""

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from experience import Episode, SqliteStore
from experience.cli import main
from experience.errors import InvalidEpisode, InvalidInput, StoreError
from experience.importers import source
from experience.importers.episodes import BOUNDS, episode_of
from experience.importers.importing import Importer, import_paths
from experience.importers.labelling import Verdict, command_judge
from experience.importers.recognising import NAMES, format_named
from experience.importers.recording import Inflow
from experience.importers.report import REFUSED, Tally
from experience.importers.session import LATER_READ, Call, Finding, Format, Session, SkillUse, Trouble
from experience.importers.source import Source
from experience.importers.walking import Found, Missing, files_in
from experience.importers.watching import watch_paths


def user(text, session="s1", **more):
    return json.dumps({"type": "user", "sessionId": session, "message": {"role": "user", "content": text}, **more})


def agent(text, session="s1"):
    content = [{"type": "text", "text": text}]
    return json.dumps({"type": "assistant", "sessionId": session, "message": {"role": "assistant", "content": content}})


def claude(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path):
    return claude(tmp_path / "in" / "session.jsonl", user("Fix it"), agent("Fixed."))


def situations(store):
    return [record.episode.situation for record in store.records()][::-1]


# -- the same again, longer, shorter ---------------------------------------------------------------------------------------


def test_a_session_imported_again_is_the_same_episode(store, file):
    first = import_paths(store, [file])
    again = import_paths(store, [file])

    assert [(one.new, one.known, one.grown) for one in (first, again)] == [(1, 0, 0), (0, 1, 0)]
    assert (first.seen, first.kept, first.dropped) == (2, 2, {})
    [record] = store.records()
    assert (record.episode.run_id, record.episode.outcome, record.label) == ("claude_code:s1", "Fixed.", None)
    assert record.episode.meta == {"agent": "claude-code", "format": "claude_code", "turns": 2}


def test_a_session_that_grew_takes_its_older_self_s_place(store, file):
    import_paths(store, [file])
    claude(file, user("Fix it"), agent("Fixed."), user("And test it"), agent("Tested."))

    assert import_paths(store, [file]).grown == 1
    assert situations(store) == ["Fix it\n\nAsked later:\n- And test it"]
    assert store.total() == 2
    assert import_paths(store, [file]).known == 1


def test_of_two_accounts_of_a_session_the_longer_wins_whatever_comes_first(store, tmp_path):
    claude(tmp_path / "a.jsonl", user("Fix it"))
    claude(tmp_path / "b.jsonl", user("Fix it"), agent("Fixed."), user("Now that"))
    claude(tmp_path / "c.jsonl", user("Fix it"), agent("Fixed."))

    first = import_paths(store, [tmp_path])
    assert (first.new, first.grown, first.known) == (1, 1, 1)
    before = [record.id for record in store.records()]
    for _ in range(2):
        again = import_paths(store, [tmp_path])
        assert (again.new, again.grown, again.known) == (0, 0, 3)
    assert [record.id for record in store.records()] == before


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_copies_of_every_length_in_any_order_end_with_the_longest(tmp_path_factory, lengths):
    folder = tmp_path_factory.mktemp("copies")
    for number, length in enumerate(lengths):
        claude(folder / f"{number}.jsonl", *(user(f"turn {turn}") for turn in range(length)))
    with SqliteStore(":memory:") as store:
        first = import_paths(store, [folder])
        before = store.total()
        again = import_paths(store, [folder])
        [record] = store.records()

        assert record.episode.meta["turns"] == max(lengths)
        assert (first.new, first.new + first.known + first.grown) == (1, len(lengths))
        assert (again.known, store.total()) == (len(lengths), before)


def test_lines_that_say_nothing_do_not_replace_a_session_that_was_labelled(store, file):
    import_paths(store, [file])
    store.add_label(1, True, "human")
    claude(file, user("Fix it"), agent("Fixed."), json.dumps({"type": "last-prompt", "sessionId": "s1"}))

    assert import_paths(store, [file]).known == 1
    assert store.get(1).label.value


def test_another_s_run_of_the_same_name_is_left_alone_unless_told(store, file):
    store.record(Episode("mine", "o", run_id="claude_code:s1"))

    report = import_paths(store, [file])
    assert "no import has written" in report.bad[0].reason
    assert (report.new, report.grown, situations(store)) == (0, 0, ["mine"])
    assert import_paths(store, [file], supersede=True).grown == 1
    assert situations(store) == ["Fix it"]


def test_supersede_lets_an_equally_long_account_take_the_place(store, file):
    import_paths(store, [file])
    claude(file, user("Mend it"), agent("Fixed."))

    assert import_paths(store, [file]).known == 1
    assert import_paths(store, [file], supersede=True).grown == 1
    assert import_paths(store, [file], supersede=True).known == 1
    assert situations(store) == ["Mend it"]


# -- sessions and episodes -------------------------------------------------------------------------------------------------


SESSION = Session("s", "asked", "said")


def taken(store, *sessions, **how):
    tally = Tally()
    inflow = Inflow(store, tally, **how)
    for session in sessions:
        inflow.take("f", "test", session)
    inflow.flush()
    return tally.report()


def test_long_texts_are_shortened_with_the_exact_loss(store):
    report = taken(store, replace(SESSION, asked="a" * 20_000, account="ö" * 10_000))
    [record] = store.records()

    assert len(record.episode.situation.encode()) <= BOUNDS.situation
    assert len(record.episode.outcome.encode()) <= BOUNDS.outcome
    kept = record.episode.situation.count("a") - 1, 2 * record.episode.outcome.count("ö")  # truncated has an a
    assert report.shortened_bytes == 20_000 - kept[0] + 20_000 - kept[1]
    assert report.shortened == 2
    assert f"[truncated: {20_000 - kept[0]} bytes]" in record.episode.situation


def test_where_nothing_was_asked_the_agent_s_first_words_stand_and_it_is_said(store):
    report = taken(store, Session("s", "", "done", first_words="I begin"))

    [record] = store.records()
    assert (record.episode.situation, record.episode.meta["situation_from"]) == ("I begin", "agent")
    assert report.from_agent == 1


def test_what_failed_and_what_shows_a_skill_is_in_meta():
    session = replace(SESSION, calls=(Call("a"), Call("b", False), Call("a", True)), skills=(SkillUse("x", "read x"),))
    episode = episode_of(session, "test", ["t"])

    assert (episode.tools, episode.skills, episode.tags) == (("a", "b", "a"), ("x",), ("t",))
    assert episode.meta["tool_trouble"] == [{"name": "b", "allowed": True, "worked": False}]
    assert episode.meta["skill_evidence"] == {"x": "read x"}
    many = episode_of(replace(SESSION, calls=(Call("b", False),) * 300), "test")
    assert (len(many.meta["tool_trouble"]), many.meta["tool_trouble_more"]) == (200, 100)


def test_what_no_store_can_hold_is_replaced(store):
    odd = "a\0b\ud800c"
    taken(store, Session(odd, odd, odd, calls=(Call(odd),), skills=(SkillUse(odd, odd),), meta={odd: [odd, 1]}))

    [record] = store.records()
    assert record.episode.situation == record.episode.tools[0] == "a\ufffdb?c"
    assert record.episode.meta["a\ufffdb?c"] == ["a\ufffdb?c", 1]


def test_names_and_meta_have_their_limits_too(store):
    taken(store, replace(SESSION, calls=(Call("x" * 10_000),), meta={"k": "y" * 10_000}))

    [record] = store.records()
    assert len(record.episode.tools[0]) <= 200
    assert len(record.episode.meta["k"]) <= 2_000


def test_a_session_that_cannot_be_recorded_is_named_and_the_others_are(store):
    report = taken(
        store, Session("s0", "", ""), replace(SESSION, finding=Finding(True, "oracle", "x")), Session("s2", "c", "")
    )

    assert [one.reason[:10] for one in report.bad] == ["session s0", "session s:"]
    assert situations(store) == ["c"]


def test_what_the_transcript_says_of_success_is_a_label_of_its_class(store):
    scored = replace(SESSION, finding=Finding(True, "verifier", "reward 1.0"))
    assert taken(store, SESSION, scored).labels == {"test: nobody says": 1, "test: verifier": 1}
    assert taken(store, scored).known == 1

    [label] = store.labels(1)
    assert (label.value, label.kind, label.by, label.evidence) == (True, "verifier", "test transcript", "reward 1.0")


def test_recalled_blocks_are_not_recorded(store):
    from experience.recalled import quoted

    import_paths_block = quoted([])
    store.record(Episode("a", "b"))
    from experience.protocols import Match

    block = quoted([Match(1.0, "", store.get(1))])
    report = taken(store, replace(SESSION, asked=f"Do it\n{block}"), replace(SESSION, id="t", asked=block))

    assert import_paths_block == ""
    assert situations(store) == ["a", "Do it"]
    assert report.echoes == 1
    assert "nothing but a recalled block" in report.bad[0].reason


def test_many_sessions_are_recorded_in_batches(store):
    sessions = [Session(f"s{number}", f"do {number}", "x" * 40_000) for number in range(600)]
    report = taken(store, *sessions, *sessions)

    assert (report.new, report.known, store.count()) == (600, 600, 600)


# -- the user's own command --------------------------------------------------------------------------------------------------


def command(code):
    return [sys.executable, "-c", f"import json, sys; episode = json.load(sys.stdin)\n{code}"]


def test_a_command_says_whether_a_run_worked(store, tmp_path):
    file = claude(tmp_path / "f", *(user(text, text) for text in ("good", "bad", "odd")))
    says = command(
        "s = episode['situation']; print('because', s, file=sys.stderr); sys.exit({'good': 0, 'bad': 1}.get(s, 3))"
    )
    report = import_paths(store, [file], label_with=says)

    assert report.judged == {"worked": 1, "failed": 1, "nothing: because odd": 1}
    assert [record.episode.success for record in store.records()][::-1] == [True, False, None]
    assert (store.get(1).label.kind, store.get(1).label.evidence) == ("verifier", "because good")
    assert import_paths(store, [file], label_with=says).judged == {}


def test_a_command_that_hangs_or_is_not_there_says_nothing():
    episode = Episode("s", "o")

    assert command_judge(command("import time; time.sleep(60)"), 0.2)(episode) == (None, "no answer in 0.2 s")
    assert "cannot be run" in command_judge("/no/such/command")(episode).evidence
    assert command_judge(command("sys.exit(0)"))(episode) == (True, "exit code 0")
    for wrong in ("", "'"):
        with pytest.raises(InvalidInput):
            command_judge(wrong)
    with pytest.raises(InvalidInput, match="seconds above 0"):
        command_judge("x", -1)


# -- bad input -------------------------------------------------------------------------------------------------------------


BAD = {
    "empty": (b"", "it is empty"),
    "blank": (b"\n \n", "it is empty"),
    "binary": (b"\x7fELF\x00\x01", "it is binary"),
    "utf16": ("hello".encode("utf-16"), "it is UTF-16; convert it"),
    "utf32": ("hello".encode("utf-32"), "it is UTF-32; convert it"),
    "prose": (b"hello", "it is neither JSON nor an episode's text"),
    "other": (b'{"a": 1}\n{"b": 2}\n', "nothing in it is known; what was looked for: episodes of this library, Claude Code session"),
    "list": (b"[1, 2", "not JSON: Expecting"), "document": (b'{\n "a": 1,\n "b"', "not JSON: Expecting"), "half": (b'{"a": 1', "it begins as JSON does"),
    "gz": (b"\x1f\x8b oops", "what is packed in it is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_transcript_is_one_clear_line_and_the_rest_is_imported(store, tmp_path, file, name):
    content, reason = BAD[name]
    (file.parent / "bad").write_bytes(content)

    walked = import_paths(store, [file.parent])
    assert (walked.new, walked.unread, sum(walked.skipped.values())) == (1, (), 1)
    assert next(iter(walked.skipped)).startswith(reason.partition(":")[0])

    named = import_paths(store, [file.parent / "bad", file])
    assert named.known == 1
    empty = reason == "it is empty"
    assert [one.reason[: len(reason)] for one in named.unread] == ([] if empty or name == "half" else [reason])
    assert [one.reason[:10] for one in named.bad] == (["not JSON: "] if name == "half" else [])


def test_half_a_last_line_is_named_and_the_rest_is_imported(store, file):
    with file.open("a") as more:
        more.write('{"type": "assistant", "sess')
    report = import_paths(store, [file])

    assert (report.new, report.bad_count, report.bad[0].line) == (1, 1, 3)
    assert report.bad[0].reason == "cut short: the last line ends after 27 bytes and is no whole JSON"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{oops", "not JSON: Expecting property name"), (b"[1]", "list where a JSON object is due"), (b"\xff\xfe{}", "not UTF-8"),
        (b"\0\0\0", "holds NUL bytes"), (b"[" * 100_000, "not JSON that can be read: nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not JSON: Exceeds the limit"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_the_rest_is_imported(store, file, line, reason):
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\r\n".join([lines[0], line, lines[1], b""]))
    report = import_paths(store, [file])

    assert (report.new, report.kept, report.bad_count, report.bad[0].line) == (1, 2, 1, 2)
    assert report.bad[0].reason.startswith(reason)


def test_a_byte_order_mark_changes_nothing(store, file):
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())

    assert import_paths(store, [file]).kept == 2


def test_a_line_of_a_hundred_megabytes_is_skipped_with_its_size(store, file):
    lines = file.read_bytes()
    with file.open("wb") as out:
        out.write(lines)
        out.seek(100 * 2**20, io.SEEK_CUR)  # a hole, which takes no room
        out.write(b"\n" + user("and that").encode() + b"\n")
    report = import_paths(store, [file])

    assert (report.new, report.kept) == (1, 3)
    assert report.bad == ((str(file), 3, "skipped, because it has 104,857,601 bytes; 33,554,432 are read at most"),)


def test_a_long_line_among_our_own_is_skipped_too(store, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 100)
    file = tmp_path / "own.jsonl"
    own = b'{"situation": "a", "tools": [], "outcome": "o"}\n'
    file.write_bytes(own + b"x" * 1_000 + b"\n" + own.replace(b'"a"', b'"b"'))
    report = import_paths(store, [file])

    assert (report.new, report.bad_count, report.bad[0].line) == (2, 1, 2)
    assert "1,001 bytes" in report.bad[0].reason


@given(
    st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"").lstrip(b"\xff\xfe\x1f\xef")), max_size=6),
    st.booleans(),
)
def test_lines_come_out_as_they_stand_whatever_the_limit(tmp_path_factory, pieces, ended):
    path = tmp_path_factory.mktemp("lines") / "f"
    data = b"\n".join(pieces) + (b"\n" if ended else b"")
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "LONGEST_LINE", 8)
        found = list(Source(path).lines())

    expected = data.split(b"\n")
    expected = [piece + b"\n" for piece in expected[:-1]] + ([expected[-1]] if expected[-1] else [])
    assert len(found) == len(expected)
    for number, (line, piece) in enumerate(zip(found, expected, strict=True), 1):
        if len(piece) > 9:
            assert isinstance(line, Trouble)
        if len(piece) <= 8:
            assert (line.number, line.data, line.whole) == (number, piece, piece.endswith(b"\n"))


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_stood(tmp_path):
    file = claude(tmp_path / "f", user("one"), user("two"))
    objects = Source(file).objects()
    next(objects)
    with file.open("a") as more:
        more.write(user("three") + "\n")

    assert [number for number, _ in objects] == [2]


def test_what_is_gzipped_is_unpacked_and_half_of_it_is_named(store, tmp_path, file):
    packed = gzip.compress(file.read_bytes() + user("x" * 50_000).encode() + os.urandom(50_000).hex().encode())
    (tmp_path / "whole.gz").write_bytes(gzip.compress(file.read_bytes()))
    (tmp_path / "half.gz").write_bytes(packed[: len(packed) // 2])

    report = import_paths(store, [tmp_path / "whole.gz", tmp_path / "half.gz"])
    assert (report.new, report.known + report.grown, report.unread) == (1, 1, ())
    assert "damaged from here on" in report.bad[0].reason


def test_a_document_is_read_whole_and_not_beyond_its_limit(tmp_path, monkeypatch):
    path = tmp_path / "document.json"
    path.write_text('{\n "a": [1]}')
    assert Source(path).document() == {"a": [1]}
    monkeypatch.setattr(source, "LARGEST_DOCUMENT", 5)
    with pytest.raises(InvalidInput, match="split it"):
        Source(path).document()
    for content, reason in (
        (b"{", "not JSON"),
        (b"\xff\xfe", "UTF-16"),
        (b'"\xff"', "not UTF-8"),
        (b"[" * 100_000, "nested"),
    ):
        monkeypatch.setattr(source, "LARGEST_DOCUMENT", 10**6)
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=reason):
            Source(path).document()


def test_a_document_on_one_line_may_be_longer_than_a_line(store, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 100)
    own = {"situation": "a", "tools": [], "outcome": "o" * 200}
    (tmp_path / "one.json").write_text(json.dumps(own))

    assert import_paths(store, tmp_path / "one.json").new == 1


def test_reasons_are_counted_together_whatever_stands_in_the_files(store, tmp_path):
    for number in range(3):
        (claude(tmp_path / "in" / f"{number}.json")).write_text("{\n" + " " * number + '"a": oops')

    assert import_paths(store, [tmp_path / "in"]).skipped == {"not JSON": 3}


def test_kinds_without_end_are_one_reason(store, tmp_path):
    lines = [json.dumps({"type": f"kind {n}", "sessionId": "s"}) for n in range(100)]
    report = import_paths(store, [claude(tmp_path / "f", user("Do it", "s"), *lines)])

    assert (len(report.dropped), report.dropped["of yet another kind"], report.seen) == (51, 50, 101)


# -- which files -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_walked_in_order_each_real_file_once(tmp_path):
    inside = tmp_path / ".hidden" / "projects"
    for name in ("b/2.jsonl", "a/1.jsonl", ".git/x.jsonl", "b/.3.jsonl"):
        claude(inside / name)
    (inside / "a" / "back").symlink_to(inside)
    (inside / "b" / "same").symlink_to(inside / "a" / "1.jsonl")
    (inside / "lost").symlink_to(inside / "nowhere")
    (inside / "round").symlink_to(inside / "round")

    found = list(files_in([inside, inside / "a", inside / "a" / "1.jsonl"]))
    assert [str(one.path.relative_to(inside)) for one in found] == ["a/1.jsonl", "b/.3.jsonl", "b/2.jsonl"]
    assert not any(one.named for one in found)


def test_a_pattern_is_expanded_where_the_shell_has_not(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "deep/er/c.jsonl", "[x].txt"):
        claude(tmp_path / name)

    def names(pattern):
        return [one.path.name for one in files_in([tmp_path / pattern])]

    assert names("*.jsonl") == ["a.jsonl", "b.jsonl"]
    assert names("**/*.jsonl") == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert names("[x].txt") == ["[x].txt"]
    assert list(files_in([tmp_path / "*.zip"])) == [Missing(str(tmp_path / "*.zip"), "nothing matches it")]
    assert list(files_in([tmp_path / "no"])) == [Missing(str(tmp_path / "no"), "there is no such file or folder")]
    with pytest.raises(InvalidInput, match="blank"):
        list(files_in([" "]))


def test_a_path_of_the_home_folder_is_followed(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    claude(tmp_path / ".claude" / "s.jsonl")

    assert list(files_in(["~/.claude"])) == [Found(tmp_path / ".claude" / "s.jsonl", named=False)]


def test_a_file_that_may_not_be_read_is_named(store, file, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Source, "head", refuse)
    report = import_paths(store, [file, file.parent])

    assert report.unread == ((str(file), None, "Permission denied"),)
    assert import_paths(store, [file.parent]).bad[0].reason == "Permission denied"


def test_a_format_is_known_by_content_not_by_name(store, tmp_path):
    own = {"situation": "ours", "tools": [], "outcome": "o"}
    (tmp_path / "a.txt").write_text(f"oops\n{json.dumps(own)}\n".replace("oops", "{oops"))
    (tmp_path / "b.csv").write_text("Situation: text\nTools used: (none)\nOutcome: o\n")
    claude(tmp_path / "c", user("claude"))
    (tmp_path / "d.json").write_text(
        json.dumps({"type": "session_meta", "payload": {"id": "x"}})
        + "\n"
        + json.dumps({"type": "response_item", "payload": {"type": "message", "role": "user", "content": "codex"}})
    )
    (tmp_path / "e.json").write_text(json.dumps(own | {"situation": "pretty"}, indent=1))
    report = import_paths(store, [tmp_path])

    assert dict(report.files) == {"own": 3, "claude_code": 1, "codex": 1}
    assert situations(store) == ["ours", "text", "claude", "codex", "pretty"]


def test_a_format_can_be_named(store, file):
    report = import_paths(store, [file], format="codex")

    assert (report.new, report.dropped) == (
        0,
        {"unknown kind of line: item user": 1, "unknown kind of line: item assistant": 1},
    )
    with pytest.raises(InvalidInput, match="there is no format 'x'"):
        import_paths(store, [file], format="x")


def test_every_format_of_the_table_is_one():
    for name in NAMES[1:]:
        found = format_named(name)
        assert isinstance(found, Format)
        assert found.name == name
        assert not any(found.recognises(value) for value in (None, [], {}, 1, "x", {"type": None}, [[]], [{}]))


def test_our_own_options_are_kept(store, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"situation": "a", "tools": [], "outcome": "o"}\n{oops\n')
    with pytest.raises(InvalidEpisode, match=r"bad\.jsonl: line 2"):
        import_paths(store, [bad], strict=True)
    assert store.count() == 0
    with pytest.raises(InvalidInput, match="kind is 'god'"):
        import_paths(store, [bad], kind="god")


# -- watching --------------------------------------------------------------------------------------------------------------


class Rounds:
    """Stands in for sleep: does something each time, and interrupts when nothing is left to do."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self, _seconds):
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def watched(store, path, *steps, **how):
    importer = Importer(store)
    told = []
    with pytest.raises(KeyboardInterrupt):
        watch_paths(importer, [path], sleep=Rounds(*steps), on_round=lambda report: told.append(report.grown), **how)
    return importer.tally.report(), told


def test_a_watch_imports_what_has_grown_and_rests(store, file):
    def grow():
        with file.open("a") as more:
            more.write(user("And that") + "\n")

    report, told = watched(store, file, grow, lambda: None, lambda: None, grow, lambda: None)

    assert (report.new, report.grown, told) == (1, 2, [0, 1, 2])


def test_a_file_that_never_rests_is_read_now_and_then(store, file):
    def grow():
        with file.open("a") as more:
            more.write(user("And that") + "\n")

    report, _ = watched(store, file, *[grow] * 12)

    assert report.grown == 1


def test_files_may_vanish_and_come_to_be_while_they_are_watched(store, file):
    def other():
        claude(file.parent / "other.jsonl", user("Else", "s2"))

    report, _ = watched(store, file.parent, file.unlink, other, lambda: None, lambda: None)

    assert (report.new, situations(store)) == (2, ["Fix it", "Else"])


def test_a_watch_that_begins_anew_finds_all_of_it_known(store, file):
    watched(store, file)
    report, _ = watched(store, file)

    assert (report.new, report.known, report.grown) == (0, 1, 0)


def test_an_interval_that_cannot_be_is_refused(store):
    with pytest.raises(InvalidInput, match="seconds above 0"):
        watch_paths(Importer(store), [], interval=0)


# -- the command -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(path, monkeypatch):
    monkeypatch.setenv("EXPERIENCE_DB", str(path))

    def run_command(*args, code=0, stdin=None):
        result = CliRunner().invoke(main, list(map(str, args)), input=stdin)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run_command


def test_the_command_ends_with_the_loss_report(run, file):
    with file.open("a") as more:
        more.write(json.dumps({"type": "system", "sessionId": "s1"}) + "\n{oops\n")
    (file.parent / "notes.txt").write_text("hello")
    lines = run("import", file.parent, "--tag", "mine").stderr.splitlines()

    assert lines == [
        "read 1 file (claude_code 1), skipped 1 (it is neither JSON nor an episode's text 1)",
        "episodes: 1 new, 0 known already, 0 grown",
        "turns: 3 seen, 2 kept, 1 dropped",
        "  1 note of the program (system)",
        "labels:",
        "  1 claude_code: nobody says",
        "masked: 0",
        "1 piece left out:",
        f"  {file}, line 4: not JSON: Expecting property name enclosed in double quotes at character 2",
    ]
    again = json.loads(run("import", file.parent, "--json").stdout)
    assert (again["sessions"], again["turns"]["seen"], again["bad_count"]) == ({"new": 0, "known": 1, "grown": 0}, 3, 1)
    assert json.loads(run("list", "--json").stdout)[0]["tags"] == ["mine"]


def test_a_named_file_that_cannot_be_read_is_an_error_and_the_rest_is_imported(run, file, tmp_path):
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF\0")
    result = run("import", odd, file, code=1)

    assert f"{odd}: not read: it is binary" in result.stderr
    assert "episodes: 1 new" in result.stderr


def test_standard_input_is_known_by_its_content_too(run):
    result = run("import", "-", stdin=user("From a pipe") + "\n{oops\n")

    assert "read 1 file (claude_code 1)" in result.stderr
    assert "  -, line 2: not JSON" in result.stderr


def test_a_pipe_is_read_like_a_file(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(user("From a pipe") + "\n{oops\n"))
    writer.start()
    result = run("import", pipe)
    writer.join()

    assert "episodes: 1 new" in result.stderr
    assert f"{pipe}, line 2: not JSON" in result.stderr


def test_only_so_many_bad_lines_are_named(run, file):
    with file.open("a") as more:
        more.write("{oops\n" * 30)
    lines = run("import", file).stderr.splitlines()

    assert "30 pieces left out:" in lines
    assert (sum("oops" in line or "not JSON" in line for line in lines), lines[-1]) == (20, "  and 10 more")


def test_what_a_transcript_holds_cannot_drive_the_terminal(run, tmp_path):
    evil = "\x1b[2J\u202e"
    file = claude(tmp_path / "f", json.dumps({"type": evil, "sessionId": evil, "uuid": 1}), user(evil, evil))

    assert not set(run("import", file).stderr) & set("\x1b\u202e")


def test_a_watch_looks_once_for_cron(run, file):
    assert "episodes: 1 new" in run("watch", "--once", file).stderr
    assert json.loads(run("watch", "--once", file, "--json").stdout)["sessions"]["known"] == 1
    assert "there is no format" in run("watch", "--once", file, "--format", "x", code=2).stderr


def test_a_watch_that_is_interrupted_ends_with_its_report(run, file, monkeypatch):
    def interrupt(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    result = run("watch", file)

    assert "interrupted; all that was read is in the store" in result.stderr
    assert "turns: 2 seen, 2 kept, 0 dropped" in result.stderr


def test_a_label_command_reaches_the_import(run, file):
    result = run("import", file, "--label-with", f"{sys.executable} -c 'import sys; sys.exit(1)'", "--timeout", "30")

    assert "what the command says:\n  1 failed" in result.stderr


def test_the_shared_transcripts_import_with_every_line_accounted_for(store, shared):
    folder = shared / "transcripts"
    paths = [folder / "claude_code", folder / "codex"]
    first, again = import_paths(store, paths), import_paths(store, paths)
    lines = sum(len(file.read_bytes().splitlines()) for path in paths for file in path.iterdir())

    assert (first.new, again.known, again.new, again.grown) == (4, 4, 0, 0)
    assert first.seen + first.bad_count == lines == 95
    assert (first.from_agent, first.labels) == (2, {"claude_code: nobody says": 2, "codex: nobody says": 2})
    claude_run, codex_run = (store.get_run(f"{name}").episode for name in (
        "claude_code:6fe4c565-da47-50ee-89d8-fffd4f510971", "codex:c5a86c51-d723-588e-b18a-81da5cebd8e2"))  # fmt: skip
    assert claude_run.content == codex_run.content


SECRET = "ghp" + "_" + "a1B2" * 9


def leaks(path):
    """What of the secret stands in a store's file: any twelve characters of its middle."""
    data = path.read_bytes()
    return [SECRET[at : at + 12] for at in range(8, 28) if SECRET[at : at + 12].encode() in data]


@pytest.mark.parametrize("before", [0, 270, 285, 299, 1_980, 1_995, 3_980, 7_980, 15_980, 15_999])
@pytest.mark.parametrize("place", ["asked", "later", "account", "meta", "evidence", "skill", "tool"])
def test_no_half_of_a_secret_is_left_wherever_a_text_is_shortened(tmp_path, before, place):
    text = "x " * (before // 2) + SECRET + " y" * 9_000
    session = Session(
        id="s",
        asked=text if place == "asked" else "Do it",
        account=text if place == "account" else "Done",
        later=(text[:LATER_READ],) if place == "later" else (),
        requests=2,
        calls=(Call(text if place == "tool" else "shell", False),),
        skills=(SkillUse("deploy", text if place == "skill" else "read it"),),
        finding=Finding(True, "verifier", text if place == "evidence" else "score 1"),
        meta={"note": text} if place == "meta" else {},
    )
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        tally = Tally()
        inflow = Inflow(store, tally)
        inflow.take("file", "made", session)
        inflow.flush()
        store.compact()
        assert store.count() == 1
    assert leaks(path) == []


def test_what_a_label_command_says_is_masked_in_the_report_too(tmp_path):
    (tmp_path / "s.jsonl").write_text(user("Do it") + "\n")
    judge = [sys.executable, "-c", f"import sys; sys.stdin.read(); print('no {SECRET}', file=sys.stderr); sys.exit(3)"]
    with SqliteStore(tmp_path / "runs.db") as store:
        report = import_paths(store, [tmp_path / "s.jsonl"], label_with=judge)

    assert SECRET[8:20] not in json.dumps(report.to_json())
    assert list(report.judged) == ["nothing: no [token]"]


def test_a_session_that_is_left_alone_is_counted_as_neither_kept_nor_labelled(tmp_path):
    (tmp_path / "s.jsonl").write_text(user("Do it") + "\n")
    with SqliteStore(tmp_path / "runs.db") as store:
        store.record(Episode("By hand", "Done", run_id="claude_code:s1"))
        report = import_paths(store, [tmp_path / "s.jsonl"])

    assert (report.kept, dict(report.dropped), dict(report.labels)) == (0, {REFUSED: 1}, {})
    assert report.bad_count == 1


def test_every_answer_of_a_label_command_is_counted_however_many_kinds_there_are(tmp_path):
    (tmp_path / "s.jsonl").write_text("".join(user(f"Do {n}", f"s{n}") + "\n" for n in range(230)))
    with SqliteStore(tmp_path / "runs.db") as store:
        importer = Importer(store, judge=lambda episode: Verdict(None, episode.situation))
        importer.take(list(files_in([tmp_path / "s.jsonl"])))
        report = importer.tally.report()

    assert sum(report.judged.values()) == 230


def test_a_label_command_judges_the_longest_account_alone_in_whatever_order(tmp_path):
    whole = user("Do it") + "\n" + agent("Half") + "\n" + user("Go on") + "\n" + agent("THE END") + "\n"
    for number, order in enumerate((("a", "b"), ("b", "a"))):
        (tmp_path / f"{order[0]}{number}.jsonl").write_text(
            whole if order[0] == "a" else "".join(whole.splitlines(True)[:2])
        )
        (tmp_path / f"{order[1]}{number}.jsonl").write_text(
            whole if order[1] == "a" else "".join(whole.splitlines(True)[:2])
        )
        files = [tmp_path / f"{name}{number}.jsonl" for name in order]
        asked = []

        def judge(episode, asked=asked):
            asked.append(episode.outcome)
            return Verdict("THE END" in episode.outcome, "read")

        with SqliteStore(tmp_path / f"{number}.db") as store:
            for _ in range(2):
                importer = Importer(store, judge=judge)
                importer.take(list(files_in(files)))
            [record] = store.records()
            assert [(label.value, label.evidence) for label in store.labels(record.id)] == [(True, "read")]
        assert [("THE END" in outcome) for outcome in asked] == [True]


def test_our_own_lines_met_in_a_folder_are_a_strangers(tmp_path):
    line = {"situation": f"Deploy {SECRET}", "tools": [], "outcome": "x"}
    ours = {
        "uid": "u1",
        "id": 7,
        "recorded_at": "2024-01-01T00:00:00Z",
        "labels": [{"value": True, "class": "human", "by": "boss", "evidence": "", "at": "2024-01-01T00:00:00Z"}],
    }
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(json.dumps({**line, "hardwon": ours}) + "\n")
    with SqliteStore(tmp_path / "met.db") as store:
        import_paths(store, [tmp_path / "in"])
        [record] = store.records()
        assert (record.label, SECRET in record.episode.situation) == (None, False)
    with SqliteStore(tmp_path / "named.db") as store:
        import_paths(store, [tmp_path / "in" / "a.jsonl"])
        [record] = store.records()
        assert (record.label.by, SECRET in record.episode.situation) == ("boss", True)


def test_folders_nested_deeper_than_calls_and_paths_too_long_do_not_stop_an_import(tmp_path):
    (tmp_path / "good.jsonl").write_text(user("Do it") + "\n")
    try:
        with contextlib.chdir(tmp_path):
            for name in [*["a"] * 1_200, *["b" * 200] * 30]:
                Path(name).mkdir()
                os.chdir(name)
        with SqliteStore(":memory:") as store:
            report = import_paths(store, [tmp_path])
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "a"], check=True)  # what pytest cleans up with cannot go so deep
    assert report.new == 1
    assert any("too long" in one.reason for one in report.unread)


def test_a_pipe_that_is_named_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with SqliteStore(":memory:") as store:
        report = import_paths(store, [tmp_path / "pipe"])
    assert [one.reason for one in report.unread] == ["it is no file: a pipe, a socket or a device"]


def test_a_report_is_without_secrets_and_without_lines_that_a_transcript_forged(tmp_path):
    (tmp_path / "s.jsonl").write_text(
        user("Do it") + "\n" + json.dumps({"type": f"x {SECRET[:30]}\nFAKE: 9 new", "sessionId": "s1"}) + "\n"
    )
    result = CliRunner().invoke(main, ["--db", str(tmp_path / "runs.db"), "import", str(tmp_path / "s.jsonl")])
    assert SECRET[8:20] not in result.output
    assert not any(line.startswith("FAKE") for line in result.output.splitlines())


def test_a_watch_goes_on_when_the_store_could_not_be_written_and_reads_then_what_it_missed(tmp_path, monkeypatch):
    (tmp_path / "s.jsonl").write_text(user("Do it") + "\n")
    troubles = []
    with SqliteStore(":memory:") as store:
        importer = Importer(store)
        take, calls = importer.take, []

        def locked_at_first(files):
            calls.append(len(files))
            if len(calls) < 3:
                raise StoreError("the file is locked")
            take(files)

        def wait(_):
            if len(calls) >= 3:
                raise KeyboardInterrupt

        monkeypatch.setattr(importer, "take", locked_at_first)
        with pytest.raises(KeyboardInterrupt):
            watch_paths(importer, [tmp_path], sleep=wait, on_trouble=troubles.append)
        assert store.count() == 1
        assert len(troubles) == 2
        monkeypatch.setattr(importer, "take", lambda _: (_ for _ in ()).throw(StoreError("no room")))
        with pytest.raises(StoreError, match="no room"):
            watch_paths(importer, [tmp_path], sleep=lambda _: None)


def test_an_archive_that_cannot_be_unpacked_says_so(tmp_path):
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    data = bytearray(path.read_bytes())
    for at in (data.index(b"PK\x03\x04") + 8, data.index(b"PK\x01\x02") + 10):
        data[at : at + 2] = (93).to_bytes(2, "little")  # Zstandard
    path.write_bytes(data)
    with SqliteStore(":memory:") as store:
        report = import_paths(store, [path])
    [unread] = report.unread
    assert "ZIP archive that cannot be unpacked here" in unread.reason


@pytest.mark.parametrize(
    "request_",
    [
        "look" + " " * 3_976 + SECRET,
        "look" + "\n" * 3_970 + SECRET + " and more",
        "-----BEGIN RSA PRIVATE " + "KEY-----\n" + ("MIIEpAIBAAKCAQEA" * 4 + "\n") * 61 + SECRET,
        "ey" + "J" + "a1B2" * 2_000,
    ],
)
def test_no_half_of_a_secret_is_left_of_a_later_request_however_it_shrinks(tmp_path, request_):
    (tmp_path / "s.jsonl").write_text("\n".join([user("Do it"), agent("Done"), user(request_), agent("Yes")]) + "\n")
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        import_paths(store, [tmp_path / "s.jsonl"])
        store.compact()
        [record] = store.records()
    assert record.episode.meta["requests"] == 2
    assert leaks(path) == []
    assert b"a1B2a1B2a1B2a1B2" not in path.read_bytes()


def test_no_half_of_a_secret_is_left_of_a_long_line_that_a_label_command_says(tmp_path):
    (tmp_path / "s.jsonl").write_text(user("Do it") + "\n")
    said = f"import sys; sys.stdin.read(); sys.stderr.write({SECRET!r} + ' ' + 'ok ' * 21_835 + 'x' * 2); sys.exit(0)"
    with SqliteStore(tmp_path / "runs.db") as store:
        import_paths(store, [tmp_path / "s.jsonl"], label_with=[sys.executable, "-c", said])
        [record] = store.records()
        [label] = store.labels(record.id)
    assert label.evidence.startswith("ok ok")
