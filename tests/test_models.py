"""Language models from outside: a command, or the package llm."""

import os
import pathlib
import sys
import time
import types

import pytest

from experience import InvalidInput, MissingPackage, ModelError, command_model
from experience.learn.models import llm_model


def python(code):
    return [sys.executable, "-c", code]


def test_a_command_reads_the_prompt_and_answers():
    model = command_model(python("import sys; print(sys.stdin.read().upper())"))

    assert model("straße <x>\n") == "STRASSE <X>"


def test_a_command_line_is_split_as_a_shell_would_and_run_without_one(tmp_path):
    model = command_model(f"{sys.executable} -c 'import sys; print(sys.argv[1:])' 'a b' '$HOME' ';' touch {tmp_path}/x")

    assert model("") == f"['a b', '$HOME', ';', 'touch', '{tmp_path}/x']"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no quota left')", "exit code 1: 'no quota left'"),
        ("pass", "answered nothing"),
        ("print('  ')", "answered nothing"),
        ("print('x' * 2_000_000)", "answers without end"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
        ("import sys; sys.stdin.close(); print('x'); sys.exit(3)", "exit code 3"),
    ],
)
def test_a_command_that_fails_says_how(code, said):
    with pytest.raises(ModelError, match=said):
        command_model(python(code))("prompt " * 100_000)


def test_a_command_that_takes_too_long_is_ended_with_all_it_has_started(tmp_path):
    mark = tmp_path / "pid"
    code = f"import subprocess, sys, pathlib, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); pathlib.Path({str(mark)!r}).write_text(str(p.pid)); time.sleep(60)"
    with pytest.raises(ModelError, match="not answered in 3 s"):
        command_model(python(code), timeout=3)("x")

    assert gone(int(mark.read_text()))


def test_what_is_no_command_is_refused_at_once():
    for command, said in (("", "empty"), ("'open", "cannot be read"), ([], "empty")):
        with pytest.raises(InvalidInput, match=said):
            command_model(command)
    with pytest.raises(InvalidInput, match="time limit"):
        command_model("cat", timeout=0)
    with pytest.raises(ModelError, match="cannot be run"):
        command_model("no-such-program-anywhere")("x")


def test_the_package_llm_is_asked_for_by_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(MissingPackage, match=r"pip install 'hardwon\[llm\]'"):
        llm_model("any")


def test_a_model_of_the_package_llm_answers_and_its_errors_become_ours(monkeypatch):
    class UnknownModelError(Exception):
        pass

    class Model:
        def prompt(self, text):
            if text == "bad":
                raise RuntimeError("no key")
            return types.SimpleNamespace(text=lambda: text[::-1])

    def get_model(name):
        if name != "mine":
            raise UnknownModelError(name)
        return Model()

    fake = types.SimpleNamespace(get_model=get_model, UnknownModelError=UnknownModelError)
    monkeypatch.setitem(sys.modules, "llm", fake)

    assert llm_model("mine")("abc") == "cba"
    with pytest.raises(ModelError, match="RuntimeError: no key"):
        llm_model("mine")("bad")
    with pytest.raises(ModelError, match="knows no model"):
        llm_model("other")


def test_a_command_that_floods_is_ended_and_not_kept_in_memory():
    with pytest.raises(ModelError, match="answers without end"):
        command_model(python("while True: print('x' * 100_000)"), timeout=60)("x")


def test_what_a_command_leaves_running_is_ended(tmp_path):
    mark = tmp_path / "pid"
    code = f"import subprocess, sys, pathlib; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); pathlib.Path({str(mark)!r}).write_text(str(p.pid)); print('{{}}')"
    assert command_model(python(code))("x") == "{}"

    assert gone(int(mark.read_text()))


def gone(pid):
    for _ in range(200):
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] == "Z":
                return True  # ended; whose child it has become has yet to notice
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_an_answer_is_there_when_the_command_has_ended_whatever_holds_its_output_open():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)']); print('answer')"

    assert command_model(python(code), timeout=20)("x") == "answer"


def test_what_a_command_complains_about_without_end_spoils_no_answer():
    assert command_model(python("import sys; sys.stderr.write('x' * 3_000_000); print('answer')"))("x") == "answer"


def test_a_time_limit_is_a_number_of_seconds():
    for timeout in (float("inf"), float("nan"), -1):
        with pytest.raises(InvalidInput, match="time limit"):
            command_model("cat", timeout=timeout)
    with pytest.raises(ModelError, match="cannot be run"):
        command_model(["a\0b"])("x")
