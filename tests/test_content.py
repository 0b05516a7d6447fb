"""What kind of text something is: the founding answers, and those that go past them."""

import json
import tracemalloc
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.tell.content import Content, detect, detect_founding
from experience.tell.shorten import Strategy, Untouched, plan, shorten

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


# What must keep its end, what must stay whole, and what is neither


def rep(line):
    return "".join(line(i) + "\n" for i in range(120))


OUTPUT = {
    "gradle": "> Task :app:compileJava\n> Task :app:processResources NO-SOURCE\n> Task :app:classes\n> Task :app:jar\n\nBUILD SUCCESSFUL in 3s\n"
    * 9,
    "git push": "Enumerating objects: 5, done.\nCounting objects: 100% (5/5), done.\nDelta compression using up to 8 threads\nWriting objects: 100% (3/3), 300 bytes | 300.00 KiB/s, done.\nTotal 3 (delta 2), reused 0 (delta 0)\n"
    * 5,
    "mocha": "  the lamp\n    ✔ goes on when it is dark (3ms)\n    ✔ goes off when it is light again\n    1) stays off when it is broken\n\n  3 passing (10ms)\n  1 failing\n"
    * 5,
    "rust err": "error[E0308]: mismatched types\n --> src/main.rs:3:5\n  |\n3 |     1\n  |     ^ expected `()`, found integer\n\n"
    * 6,
    "wget": "--2024-01-05 10:00:00--  https://x.org/a\nResolving x.org... 1.2.3.4\nConnecting to x.org|1.2.3.4|:443... connected.\nHTTP request sent, awaiting response... 200 OK\nLength: 1000 (1.0K) [text/plain]\nSaving to: 'a'\n"
    * 4,
    "systemctl": "● web.service - The web server of the house\n   Loaded: loaded (/lib/systemd/system/web.service; enabled)\n   Active: active (running) since Mon 2024-01-05\n Main PID: 12 (web)\n"
    * 4,
    "brew": "==> Downloading https://x.org/a.tar.gz\n==> Pouring a--1.0.tar.gz\n==> Summary\n🍺  a/1.0: 12 files, 3MB\n"
    * 5,
    "ruby": "app.rb:3:in `run': undefined method `x' for nil (NoMethodError)\n\tfrom app.rb:7:in `main'\n\tfrom app.rb:9:in `<main>'\n"
    * 8,
    "clang": "src/a.c:12:3: warning: implicit declaration of function 'x' is invalid in C99 [-Wimplicit]\n  x();\n  ^\n1 warning generated.\n"
    * 8,
    "sentence then trace": "Sorry, I could not run it because of this error here:\njava.lang.IllegalStateException: no part\n\tat a.b.C.d(C.java:1)\n\tat a.b.C.e(C.java:2)\n\tat a.b.C.f(C.java:3)\nCaused by: x.Y: z\n\t... 12 more\n",
    "a short log after a banner": "Welcome to the server of the whole house, be kind to it.\n" * 10
    + "2024-01-05T10:00:00 INFO a worker took a job\n" * 8,
    "gcc": rep(lambda i: f"gcc -O2 -Wall -c src/part_{i}.c -o build/part_{i}.o"),
    "apt": "Reading package lists...\nBuilding dependency tree...\n"
    + rep(lambda i: f"Get:{i} http://archive.ubuntu.com/ubuntu jammy/main amd64 libpart{i} amd64 1.2.{i} [52.1 kB]")
    + rep(lambda i: f"Setting up libpart{i} (1.2.{i}) ..."),
    "pip": rep(lambda i: f"Requirement already satisfied: part-{i}>=1.0 in ./site-packages (from app==1.0) (1.{i})"),
    "docker": rep(lambda i: f"Step {i}/120 : RUN apt-get install -y part-{i}\n ---> Running in 0123abc{i}"),
    "docker words": rep(lambda i: f"Step {i}/120 : COPY the files to app\n ---> Using cache"),
    "npm": "\n".join(
        ["npm install"]
        + [
            "added 12 packages, and audited 13 packages in 2s",
            "",
            "3 packages are looking for funding",
            "  run `npm fund` for details",
            "",
            "found 0 vulnerabilities",
        ]
        * 20
    ),
    "terraform": rep(lambda i: f"aws_instance.web: Still creating... [{i}0s elapsed]"),
    "ansible": rep(
        lambda i: (
            f"TASK [install the package number {i}] ***********************\nok: [host-{i}]\nchanged: [host-{i}]\n"
        )
    ),
    "k8s": "LAST SEEN   TYPE      REASON      OBJECT          MESSAGE\n"
    + rep(
        lambda i: (
            f"{i}m          Normal    Scheduled   pod/web-{i}       Successfully assigned default/web-{i} to node-1"
        )
    ),
    "date": rep(lambda i: f"Mon Jan  5 10:00:{i % 60:02} UTC 2024 the worker took a job from the queue and ran it"),
    "tsc": rep(lambda i: f"src/part_{i}.ts({i},5): error TS2322: Type 'string' is not assignable to type 'number'."),
    "go": rep(lambda i: f"=== RUN   TestPart{i}\n--- PASS: TestPart{i} (0.00s)") + "FAIL\texample.org/x\t0.1s\n",
    "jest": rep(
        lambda i: (
            f"PASS src/part_{i}.test.js\n  the part\n    ✓ adds two numbers when they are there ({i} ms)\n    ✓ says so when they are not there ({i} ms)"
        )
    ),
    "java": "The server stopped because of an error while it started up.\n"
    + rep(lambda i: f"\tat com.example.app.Part{i}.run(Part{i}.java:{i})"),
    "java2": "Exception in thread main java.lang.IllegalStateException: the part was not there at all\n"
    + rep(lambda i: f"\tat com.example.app.Part{i}.run(Part{i}.java:{i})"),
    "node": "Something went wrong while the page was being made for you.\n"
    + rep(lambda i: f"    at Object.part{i} (app/part_{i}.js:{i}:12)"),
    "python": "I ran the script and this is what came out of it in the end:\n\nTraceback (most recent call last):\n"
    + rep(lambda i: f'  File "app/part_{i}.py", line {i}, in run\n    return part(value)')
    + "ValueError: no\n",
    "curl": "*   Trying 10.0.0.1:443...\n* Connected to example.org (10.0.0.1) port 443 (#0)\n"
    + rep(lambda i: f"* TLSv1.3 (OUT), TLS handshake, part {i} of it (1):\n> x-part-{i}: 12\n< x-answer-{i}: 13"),
    "banner": "".join("Welcome to the server of the whole house, be kind to it.\n" for i in range(10))
    + rep(lambda i: f"2024-01-05T10:00:00 INFO worker {i} took a job"),
    "banner long": "".join("Welcome to the server of the whole house, be kind to it.\n" for i in range(300))
    + rep(lambda i: f"2024-01-05T10:00:00 INFO worker {i} took a job") * 4,
    "cargo": rep(lambda i: f"   Compiling part-{i} v1.0.{i}"),
    "pytest": rep(lambda i: f"tests/test_part_{i}.py::test_it PASSED    [ {i}%]"),
    "rspec": rep(lambda i: f"worker {i} started job {i} on host web-{i} at port {8000 + i}"),
    "rsync": rep(lambda i: f"sending incremental file list part/{i}/file.txt"),
    "words": rep(lambda i: "worker took a job from the queue of the house"),
    "makefile": "CC = gcc\nall: a.o b.o\n\t$(CC) -o app a.o b.o\n"
    + rep(lambda i: f"part_{i}.o: part_{i}.c\n\t$(CC) -c part_{i}.c"),
    "yaml": rep(lambda i: f"part_{i}:\n  image: web\n  ports:\n    - {i}"),
    "ini": rep(lambda i: f"[part_{i}]\nkey: value"),
    "env": rep(lambda i: f"PART_{i}=value"),
    "few": "alpha\nbeta\ngamma\n",
}
ROWS = json.dumps([{"id": i, "name": "a name"} for i in range(300)])
PRETTY = json.dumps([{"id": i, "name": "a name"} for i in range(300)], indent=2)
NUMBERS = json.dumps(list(range(2000)))
XML = "<project>\n" + rep(lambda i: f"  <dep>\n    <id>{i}</id>\n  </dep>") + "</project>"
DATA = {
    "pom": XML,
    "pom1": XML.replace("\n", ""),
    "soap": '<soap:Envelope xmlns:soap="http://x"><soap:Body>'
    + "".join(f"<m:p>{i}</m:p>" for i in range(300))
    + "</soap:Body></soap:Envelope>",
    "xml after": "This is what the server said:\n" + XML,
    "xmlcomment": "<!-- a comment about it -->\n" + XML,
    "nums": NUMBERS,
    "nums exit": NUMBERS + "\nexit code: 0",
    "floats": json.dumps([i / 7 for i in range(900)]) + "\nexit code: 0\n",
    "indent nums": json.dumps(list(range(900)), indent=1) + "\nexit code: 0",
    "nested": json.dumps([[i, i + 1] for i in range(900)]) + "\nexit code: 0",
    "prose": "Here is the answer that you asked for:\n" + ROWS,
    "prose same line": "Here is the answer that you asked for: " + ROWS,
    "prosei": "Here is the answer that you asked for:\n\n" + PRETTY + "\n\nThat is all of it.",
    "http": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 05 Jan 2024 10:00:00 GMT\r\n\r\n" + ROWS,
    "ok": "ok\n" + ROWS,
    "ok2": "ok " + ROWS,
    "okn": "ok\n" + NUMBERS,
    "xssi": ")]}',\n" + ROWS,
    "comment": "// comment\n" + ROWS,
    "ccomment": "// comment\n" + PRETTY,
    "fence": "```json\n" + PRETTY + "\n```\n",
    "fence2": "```json\n" + ROWS + "\n```",
    "fence prose": "Here it is, as you wanted to have it:\n\n```json\n" + PRETTY + "\n```\n",
    "jsonp": "callback(" + ROWS + ");",
    "jsonp2": "window.a.b(" + ROWS + ")",
    "jsonp3": "/**/cb(" + ROWS + ");",
    "marker": "[truncated: 5 bytes]" + ROWS,
    "marker2": "[truncated: 5 bytes]\n" + ROWS,
    "marker3": ROWS + "[truncated: 5 bytes]",
    "xxd": rep(lambda i: f"{i * 16:08x}: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............"),
    "hexdump": rep(lambda i: f"{i * 16:08x}  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|"),
    "hex": rep(lambda i: "7f454c4602010100" * 4),
    "hexs": rep(lambda i: "7f 45 4c 46 02 01 01 00"),
    "hexdump plain": rep(lambda i: f"{i * 16:07x} 457f 464c 0102 0001 0000 0000 0000 0000"),
    "od": rep(lambda i: f"{i * 16:07o} 042577 043114 000402 000001 000000"),
    "b64": rep(lambda i: "QmFzZTY0IGRhdGEgb2YgYSBwaWN0dXJl"[i % 7 :] + "QmFzZTY0"[: i % 7]),
    "b64short": rep(lambda i: "QmFzZTY0IGRhdGEg"),
    "pem": "-----BEGIN CERTIFICATE-----\n"
    + "QmFzZTY0IGRhdGEgb2YgYSBwaWN0dXJlIGluIGxpbmVzIG9mIHNldmVudHktc2l4\n" * 20
    + "QmFz\n-----END CERTIFICATE-----\n",
    "blob": "QmFzZTY0IGRhdGEgb2" * 300,
    "hexblob": "7f454c46" * 900,
    "ndjson": "".join(json.dumps({"a": i}) + "\n" for i in range(300)),
    "ndnum": "".join(json.dumps([i, i]) + "\n" for i in range(300)),
    "nd after": "ok, here are the rows that you want\n" + "".join(json.dumps({"a": i}) + "\n" for i in range(300)),
    "log nd": "".join(f"{json.dumps({'a': i})},\n" for i in range(300)),
}
SENTENCES = {
    "wrapped": "It was late when the ship came into the harbour, and nobody had\nthought of the lamp. The keeper went up the stairs with a candle in\nhis hand, and when he came to the top he saw that the wind had blown\nout the light again\n\n"
    * 30,
    "lines": "The deployment went well and nobody had to be woken up at night.\n" * 40,
    "dialog": '"I do not know what you want," she said to him.\n"You will know it soon enough, my dear."\n' * 40,
    "poem": "The light of day is going down\nAnd all the birds are in the trees\nThe people in the little town\nAre dreaming of the seven seas\n\n"
    * 20,
    "reply": "I can help you with that. Here is what I need to know from you first:\n\n1. Your full name and the date of your birth.\n2. The number of the flight you want to take.\n3. Whether you have any bags with you.\n\nPlease say yes to go on with it.\n"
    * 9,
    "german": "Der Leuchtturm stand schon lange am Ufer, und niemand wusste mehr,\nwer ihn gebaut hatte; nur der alte Wärter kannte seine Geschichte.\n"
    * 30,
}
CSV = "id,name,city\n" + "".join(f'{i},"Doe, Ada{i}","London, {"UK, " if i % 2 else ""}GB"\n' for i in range(50))


@pytest.mark.parametrize("name", OUTPUT)
def test_what_programs_say_keeps_its_end(name):
    text = OUTPUT[name]
    cut = shorten(text, plan(detect(text), 1, 0), len(text) // 3).text if len(text) > 100 else text

    assert detect(text) in (Content.LINES, Content.LOG, Content.CODE)
    assert cut.endswith(text[-20:])


@pytest.mark.parametrize("name", DATA)
def test_data_stays_whole_whatever_stands_around_it(name):
    assert plan(detect(DATA[name]), 1, 0) is Untouched.MUST_LEAVE


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_in_lines_are_still_prose(name):
    assert detect(SENTENCES[name]) is Content.PROSE


@pytest.mark.parametrize(
    "before", ["[truncated: 5 bytes]\n", "QmFzZTY0IGRhdGEgb2Yg\n", "a,b,c,d\n", "7f45 4c46 0201 0100 0000\n"]
)
def test_what_a_text_begins_with_does_not_take_the_end_from_a_log_behind_it(before):
    text = before * 900 + "".join(f"worker {n} took job {n} from queue-{n % 7} [ok]\n" for n in range(900))

    assert plan(detect(text), 1, 0) in (Strategy.ENDS, Strategy.TAIL)


def test_who_says_what_is_no_xml():
    assert detect("<ada> has somebody seen the lamp today?\n<bob> it is on the table.\n" * 40) not in (
        Content.STRUCTURED,
        Content.UNKNOWN,
    )


def test_values_in_quotation_marks_with_commas_are_a_table_too():
    assert detect(CSV) is Content.TABLE


def test_half_of_a_page_may_be_shown_and_a_word_in_a_tag_is_no_document():
    assert (
        plan(detect("<div>\n" + "<p>Some words of a page that is not very long.</p>\n" * 90 + "</div>"), 1, 0)
        is not Untouched.MUST_LEAVE
    )
    assert detect("<result>The lamp goes on again, and nobody had to be woken up at night.</result>") is Content.PROSE


SLOW = [
    "function" + " " * 288 + "$",
    "public" + " " * 280 + "$",
    "+" + "-" * 290,
    "-" * 100 + " " * 150 + "x+",
    "import " + "a," * 140 + "$",
    "SELECT " + " x" * 140,
    "a b " * 60 + ";",
    "a(" * 140 + ";",
    "import a{" + "}" * 250 + "$",
    '"a' * 140,
    "let " + "{[a" * 70,
    "<a " * 90,
    "/:" * 140,
    "a-" * 140,
    "# " * 140,
    "[1" * 140,
    "at a:" * 60,
]


@pytest.mark.parametrize("line", SLOW, ids=range(len(SLOW)))
def test_no_line_takes_much_longer_than_source_code_does(line):
    def least_time(text):
        times = []
        for _ in range(7):
            start = perf_counter()
            detect(text)
            times.append(perf_counter() - start)
        return min(times)

    ordinary = "\n".join(["def part(value): return value + 1 if value else some_other(value)" * 4] * 40)
    assert least_time("\n".join([line] * 40)) < 20 * least_time(ordinary)


@pytest.mark.parametrize("row", ['{"id": 1, "name": "a name"}\n', "[1, 2]\n"])
@pytest.mark.parametrize("before", ["", "these are the rows:\n"])
def test_lines_of_json_are_known_without_taking_them_all_in(row, before):
    text = before + row * 400_000
    tracemalloc.start()
    kind = detect(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert kind is Content.STRUCTURED
    assert most < 2 * len(text) + 2**21
