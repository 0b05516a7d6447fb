"""What kind of text something is: the founding answers, and those that go past them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.tell.content import Content, detect, detect_founding
from experience.tell.shorten import Strategy, plan, shorten

PROSE = "The deployment went well and nobody had to be woken up at night. " * 4
HAN = "部署已经完成，所有服务都在正常运行，没有人需要在夜里被叫醒。" * 4
JAPANESE = "デプロイは無事に終わり、夜中に誰も起こされませんでした。次の手順に進みます。" * 4
THAI = "การติดตั้งเสร็จสมบูรณ์และบริการทั้งหมดทำงานตามปกติไม่มีใครต้องตื่นกลางดึก" * 4
KOREAN = "배포가 잘 끝났고 밤에 아무도 깨울 필요가 없었습니다. 다음 단계로 넘어갑니다. " * 4
PYTHON = "import os\nimport sys\n\n\ndef main():\n    for name in os.listdir():\n        sys.stdout.write(name)\n\n\nmain()\n"
RUST = 'use std::fs;\n\nfn main() {\n    let files = fs::read_dir(".").unwrap();\n    for file in files {\n        show(file);\n    }\n}\n'
DIFF = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old\n+new\n"
LOG = "".join(f"2024-01-05T10:00:{second:02} INFO worker {second} took a job\n" for second in range(40))
BRACKETS = "".join(f"[2024-01-05 10:00:{second:02}] worker {second} took a job\n" for second in range(40))
TABLE = "| name | size |\n|------|------|\n| a | 1 |\n| b | 2 |\n"
LISTING = "".join(f"src/module_{number}/part_{number}.py\n" for number in range(40))

SAMPLES = [
    # what it is, what the founding system said, the text
    (Content.UNKNOWN, Content.UNKNOWN, ""),
    (Content.UNKNOWN, Content.UNKNOWN, " \n\t\u3000\n"),
    (Content.UNKNOWN, Content.UNKNOWN, "done"),
    (Content.UNKNOWN, Content.UNKNOWN, "QmFzZTY0IGRhdGE" * 50),
    (Content.UNKNOWN, Content.UNKNOWN, "".join("QmFzZTY0IGRhdGEgb2YgYSBwaWN0dXJlIGluIGxpbmVzIG9mIHNldmVudHktc2l4IGNoYXJh\n" for _ in range(9))),
    (Content.DIFF, Content.DIFF, DIFF),
    (Content.DIFF, Content.DIFF, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
    (Content.DIFF, Content.PROSE, "commit 0123abc\nAuthor: Ada <ada@example.org>\n\n    Make the lamp go on again today\n\n" + DIFF),
    (Content.STRUCTURED, Content.STRUCTURED, '{"note": "a b c d e f"}'),
    (Content.STRUCTURED, Content.STRUCTURED, '[{"id": 1}, {"id": 2}]'),
    (Content.STRUCTURED, Content.STRUCTURED, "[1, 2, 3]"),
    (Content.STRUCTURED, Content.STRUCTURED, '{"id": 1}\n{"id": 2}\n{"id": 3}\n'),
    (Content.STRUCTURED, Content.STRUCTURED, '{"half": [1, 2, {"of": "a doc'),
    (Content.STRUCTURED, Content.STRUCTURED, "{'written': 'by Python'}"),
    (Content.STRUCTURED, Content.STRUCTURED, '<?xml version="1.0"?>\n<a><b/></a>'),
    (Content.STRUCTURED, Content.PROSE, '"a JSON string\\nof two lines"'),
    (Content.STRUCTURED, Content.STRUCTURED, "[" * 100_000 + "]" * 100_000),
    (Content.STRUCTURED, Content.STRUCTURED, f"[{'9' * 10_000}]"),
    (Content.MARKUP, Content.MARKUP, "# One\n\nSome words about the first part.\n\n## Two\n\nMore words.\n"),
    (Content.MARKUP, Content.MARKUP, "".join(f"## Part {n}\nA few words about this part.\n" for n in range(9))),
    (Content.MARKUP, Content.MARKUP, "\\documentclass{article}\n\\begin{tabular}{a|b}\na | b\n\\end{tabular}\n"),
    (Content.MARKUP, Content.PROSE, "Ten words of an opening that says what this is about.\n" * 9 + "\n## A\n\nb\n\n## C\n\nd\n"),
    (Content.MARKUP, Content.UNKNOWN, "<!DOCTYPE html>\n<html>\n<body>\n<p>Hello</p>\n</body>\n</html>"),
    (Content.TABLE, Content.TABLE, TABLE),
    (Content.TABLE, Content.TABLE, " id | name\n----+------\n  1 | ada\n  2 | bob\n"),
    (Content.TABLE, Content.PROSE, "+----+------+\n! id ! name !\n+----+------+\n"),
    (Content.TABLE, Content.LOG, "id,name,city\n1,Ada,London\n2,Bob,Paris\n3,Cy,Rome\n4,Di,Oslo\n"),
    (Content.LOG, Content.LOG, LOG),
    (Content.LOG, Content.STRUCTURED, BRACKETS),
    (Content.LOG, Content.STRUCTURED, "[INFO] starting\n[INFO] started\n[ERROR] stopped\n"),
    (Content.LOG, Content.STRUCTURED, "[    0.000000] Linux version 6\n[    0.004000] Command line: quiet\n"),
    (Content.LOG, Content.STRUCTURED, "[build] compiling a\n[build] compiling b\n[test] running\n"),
    (Content.LOG, Content.LOG, "INFO starting up the server\nWARN the disk is nearly full\nERROR the disk is full\n"),
    (Content.LOG, Content.PROSE, "Jan  5 10:00:00 host sshd[1]: session opened for ada\nJan  5 10:00:01 host sshd[1]: session closed\n"),
    (Content.LOG, Content.LOG, '10.0.0.1 - - [05/Jan/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 5\n' * 3),
    (Content.LOG, Content.PROSE, 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    b()\nValueError: no\n'),
    (Content.LOG, Content.UNKNOWN, "\x1b[32mINFO\x1b[0m one\n\x1b[31mERROR\x1b[0m two\n"),
    (Content.CODE, Content.CODE, PYTHON),
    (Content.CODE, Content.CODE, RUST),
    (Content.CODE, Content.CODE, "# a comment\n# another comment\ndef f(x):\n    return x\n"),
    (Content.CODE, Content.CODE, '#include <stdio.h>\n\nint main(void) {\n  puts("hi");\n  return 0;\n}\n'),
    (Content.CODE, Content.UNKNOWN, "     1\timport os\n     2\t\n     3\tdef f():\n     4\t    return os.getcwd()\n"),
    (Content.CODE, Content.STRUCTURED, "[File: a.py (9 lines total)]\r\n(2 more lines above)\r\n3:import os\r\n4:\r\n5:def f():\r\n6:    return os\r\n7:\r\n"),
    (Content.CODE, Content.TABLE, "#!/bin/sh\nset -e\ncat a | sort\nls | wc -l\n"),
    (Content.CODE, Content.CODE, "const a = 1;\nfunction go() {\n  return a;\n}\n"),
    (Content.CODE, Content.PROSE, "self.size = len(text)\nself.name = name\nthe_total += self.size if name else 0\n"),
    (Content.PROSE, Content.PROSE, PROSE),
    (Content.PROSE, Content.UNKNOWN, HAN),
    (Content.PROSE, Content.UNKNOWN, JAPANESE),
    (Content.PROSE, Content.UNKNOWN, THAI),
    (Content.PROSE, Content.PROSE, KOREAN),
    (Content.PROSE, Content.PROSE, "Развёртывание прошло хорошо, и ночью никого не пришлось будить. " * 4),
    (Content.PROSE, Content.LOG, "1. Open the door and walk into the room.\n2. Close the door behind you again.\n3. Sit down and wait for the others.\n"),
    (Content.PROSE, Content.LOG, "2024-01-05 We met in the old house by the river.\n2024-01-06 Nobody came, and so we went home again.\n"),
    (Content.PROSE, Content.LOG, "5 January: we met in the old house by the river.\n6 January: nobody came, and so we went home.\n"),
    (Content.PROSE, Content.CODE, "First of all we look at what there is to see;\nthen we go on and say what we think of it.\n"),
    (Content.PROSE, Content.CODE, "use the front door when you come to the house tonight\n"),
    (Content.PROSE, Content.CODE, "import duties are high this year, and nobody knows why.\n"),
    (Content.PROSE, Content.CODE, "class sizes have grown in all schools of this town since May.\n"),
    (Content.PROSE, Content.STRUCTURED, "[1] Ada and Bob, on lamps that do not go on.\n[2] Cy and Di, on lamps that do not go off.\n"),
    (Content.PROSE, Content.STRUCTURED, "[The manual](https://example.org) says how the lamp is to be cleaned.\n"),
    (Content.PROSE, Content.PROSE, "I can do that for you; please say which seat you would like to have.\n"),
    (Content.LINES, Content.TABLE, "cat names\ncat names | sort\nsort names | uniq\nls | wc -l\nps | head\nls\n"),
    (Content.LINES, Content.UNKNOWN, LISTING),
    (Content.LINES, Content.UNKNOWN, "src\n├── a.py\n├── b.py\n├── c.py\n├── d.py\n└── e.py\n"),
    (Content.LINES, Content.PROSE, "total 8\n" + "-rw-r--r-- 1 ada staff 120 Jan  5 10:00 notes.txt\n" * 8),
    (Content.LINES, Content.PROSE, "".join(f"src/a.py:{n}: the lamp goes on again today\n" for n in range(9))),
    (Content.LINES, Content.UNKNOWN, "部署.txt\n说明.txt\n价格.txt\n订单.txt\n用户.txt\n"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "founding", "text"), SAMPLES, ids=[repr(row[2][:30]) for row in SAMPLES])
def test_a_text_is_what_it_is(kind, founding, text):
    assert (detect(text), detect_founding(text)) == (kind, founding)


def test_the_default_corrects_the_founding_answer_on_samples_that_it_got_wrong():
    assert len(SAMPLES) >= 40
    assert sum(founding is not kind for kind, founding, _ in SAMPLES) >= 25


@pytest.mark.parametrize("text", [LOG, BRACKETS, PROSE, HAN, PYTHON * 5, RUST * 5, DIFF * 9, TABLE * 9, LISTING])
@pytest.mark.parametrize("limit", [90, 128, 200])
def test_what_was_cut_by_us_keeps_its_kind(text, limit):
    kind = detect(text)
    once = shorten(text, plan(kind, 1, 0), limit).text

    assert once != text
    assert detect(once) is kind


def test_a_tail_that_was_kept_is_no_json_because_our_marker_begins_with_a_bracket():
    once = shorten(LOG, Strategy.TAIL, 500).text

    assert detect_founding(once) is Content.STRUCTURED
    assert plan(detect(once), 500, 100) is Strategy.TAIL


@given(texts)
def test_any_text_has_a_kind_and_always_the_same(text):
    assert detect(text) is detect(text)
    assert detect_founding(text) is not Content.LINES


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))  # fmt: skip
def test_json_is_never_cut(value):
    if isinstance(value, list | dict):
        for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
            assert detect(text) is Content.STRUCTURED
