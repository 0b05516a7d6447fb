"""Language models from outside: a command, or the package llm."""

import subprocess
import sys
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
        ("print('x' * 2_000_000)", "2000001 bytes"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
        ("import sys; sys.stdin.close(); print('x'); sys.exit(3)", "exit code 3"),
    ],
)
def test_a_command_that_fails_says_how(code, said):
    with pytest.raises(ModelError, match=said):
        command_model(python(code))("prompt " * 100_000)


def test_a_command_that_takes_too_long_is_ended_with_all_it_has_started(tmp_path):
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(3); pathlib.Path({str(mark)!r}).touch()"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    with pytest.raises(ModelError, match=r"not answered in 0\.5 s"):
        command_model(python(code), timeout=0.5)("x")

    subprocess.run([sys.executable, "-c", "import time; time.sleep(3)"], check=True)
    assert not mark.exists()


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
