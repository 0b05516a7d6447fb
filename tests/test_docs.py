"""The documentation is true: its examples run, and it names every command and option."""

import doctest
import json
import re
import shlex

import click
import pytest
from click.testing import CliRunner
from conftest import ROOT

from experience.cli import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECK = doctest.OutputChecker()


def same(expected, got):
    return CHECK.check_output(expected, got, doctest.ELLIPSIS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = FENCE.findall(page.read_text(encoding="utf-8"))
    for (language, code), (following, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=False):
        if language == "python":
            exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
            printed = capsys.readouterr().out
            if following == "text":
                assert same(shown, printed), printed


@pytest.mark.parametrize(("page", "least"), [("README.md", 4), ("docs/commands.md", 20)])
def test_shell_examples_run_and_print_what_is_shown(page, least, tmp_path, monkeypatch):
    monkeypatch.setenv("EXPERIENCE_DB", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    home_with_a_session(tmp_path / "home", monkeypatch)
    ran = 0
    for language, block in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        for command, shown in (
            re.findall(r"^\$ experience (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE) if language == "console" else []
        ):
            result = CliRunner().invoke(main, shlex.split(command), env={"COLUMNS": "100"})
            assert result.exit_code == 0, (command, result.output)
            assert not shown or same(shown, result.output), (command, result.output)
            ran += 1

    assert ran >= least


def home_with_a_session(home, monkeypatch):
    """What `experience import ~/.claude/projects` finds."""
    turns = [
        {"type": "user", "message": {"role": "user", "content": "Fix the date parser"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}]}},
    ]
    session = home / ".claude" / "projects" / "shop" / "s1.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text("".join(json.dumps({**turn, "sessionId": "s1"}) + "\n" for turn in turns), encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))


@pytest.mark.parametrize("name", main.list_commands(None))
def test_every_command_has_a_section_with_every_option_and_a_help(name):
    command = main.get_command(None, name)
    [section] = re.findall(rf"^### experience {name}\b.*?(?=^##|\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    documented(name, command, section)
    for under, part in getattr(command, "commands", {}).items():
        [row] = re.findall(rf"^\| `{name} {under}\b.*$", section, re.MULTILINE)
        documented(f"{name} {under}", part, row + section.split("Those that touch")[-1])


def documented(name, command, section):
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            for spelling in [*parameter.opts, *parameter.secondary_opts]:
                assert f"`{spelling}" in section, f"{name} {spelling}"


def test_every_option_of_the_group_is_in_the_table():
    for parameter in main.params:
        for spelling in parameter.opts:
            assert f"`{spelling}" in COMMANDS, spelling


def test_the_documentation_links_to_what_is_there():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_docstring_of_the_package_shows_code_that_runs(tmp_path, monkeypatch, capsys):
    import experience

    monkeypatch.chdir(tmp_path)
    code = "\n".join(line[4:] for line in experience.__doc__.splitlines() if line.startswith("    "))
    exec(compile(code, "experience", "exec"), {})

    assert "live after a retry" in capsys.readouterr().out
