"""Prompt files put together from others: what each directive becomes, and everything that is refused."""

import os
import pickle
import socket

import pytest
from hypothesis import given
from strategies import texts

from experience.errors import IncludeError, InvalidInput
from experience.tell.include import DEEPEST, LARGEST, MOST_INCLUDES, check_flags, expand, referenced_flags


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "prompts"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("not for prompts\n")
    return folder


@pytest.fixture
def write(root):
    def write(**files):
        for name, text in files.items():
            path = root / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return root / "a.md"

    return write


def refused(call, *arguments, **options):
    with pytest.raises(IncludeError) as caught:
        call(*arguments, **options)
    return caught.value


def place(error):
    return error.kind, error.file, error.line


@given(texts)
def test_plain_text_is_kept_to_the_letter(tmp_path_factory, text):
    text = text.lstrip("\ufeff")
    path = tmp_path_factory.getbasetemp() / "plain.md"
    path.write_bytes(text.encode())

    assert expand(path) == text


def test_a_directive_becomes_the_lines_of_the_file(write):
    path = write(a_md="one\n  @include b.md \nthree", b_md="two\ntwo and a half")

    assert expand(path) == "one\ntwo\ntwo and a half\nthree"


def test_includes_nest_and_each_path_is_relative_to_the_file_it_stands_in(write):
    path = write(
        a_md="@include team/b.md\nend\n",
        team__b_md="b\n@include ./c.md\n@include ../shared/common.md\n",
        team__c_md="c",
        shared__common_md="common",
    )

    assert expand(path) == "b\nc\ncommon\nend\n"


def test_a_parent_folder_within_the_root_is_allowed(root, write):
    write(team__a_md="@include ../shared/common.md\n", shared__common_md="common\n")

    assert expand(root / "team" / "a.md", root) == "common\n"
    error = refused(expand, root / "team" / "a.md")  # without a root it is the folder of the file
    assert place(error) == ("Escapes", "a.md", 1)


@pytest.mark.parametrize(
    "line", ['@include "my part.md"', '\t@include\t"my part.md"\t', '@include(on)   "my part.md"', '@include(!off) "my part.md"']
)  # fmt: skip
def test_a_path_may_be_quoted(root, write, line):
    path = write(a_md=line)
    (root / "my part.md").write_text("part")

    assert expand(path, flags={"on": True, "off": False}) == "part\n"


def test_what_a_flag_turns_off_is_left_out_and_not_looked_at(write):
    path = write(a_md="x\n@include(dark) b.md\n@include(!dark) missing.md\ny\n", b_md="b\n")

    assert expand(path, flags={"dark": True}) == "x\nb\ny\n"
    error = refused(expand, path, flags={"dark": False})
    assert place(error) == ("Missing", "a.md", 3)


def test_an_empty_file_leaves_nothing_of_its_directive(write):
    assert expand(write(a_md="x\n@include b.md\ny", b_md="")) == "x\ny"


def test_no_line_break_is_added_where_there_is_one(write):
    path = write(a_md="@include b.md\n@include c.md\nend", b_md="@include c.md", c_md="c\n\n")

    assert expand(path) == "c\n\nc\n\nend"


def test_windows_line_ends_are_kept_and_hide_no_directive(write):
    path = write(a_md="one\r\n@include b.md\r\n@include(on) b.md\r\nthree\r\n", b_md="two\r\nmore")

    assert expand(path, flags={"on": True}) == "one\r\ntwo\r\nmore\ntwo\r\nmore\nthree\r\n"


def test_a_byte_order_mark_is_no_text_and_hides_no_directive(write):
    assert expand(write(a_md=b"\xef\xbb\xbf@include b.md\n", b_md=b"\xef\xbb\xbfb")) == "b\n"


@pytest.mark.parametrize("line", ["@includ b.md", "see @include b.md", "`@include b.md`", "@ include b.md", "#@include b.md", "@Include b.md", "x\u2028@include b.md", "x\r@include b.md"])  # fmt: skip
def test_what_is_nearly_a_directive_or_stands_within_a_line_is_text(write, line):
    assert expand(write(a_md=line)) == line


@pytest.mark.parametrize(
    "line",
    [
        "@include", "@include ", "@include b.md c.md", "@includeb.md", "@included b.md", "@include()  b.md",
        "@include(1a) b.md", "@include(a-b) b.md", "@include(!!a) b.md", "@include( a ) b.md", "@include(a)b.md",
        "@include (a) b.md", '@include "b.md', '@include "b.md" c', '@include ""', '@include b"c.md', "@include(é) b.md",
        "@include(a b.md", "@include: b.md", "@include a\0b.md", "@include\u00a0b.md", "  @include", "@include(a,b) b.md",
    ],
)  # fmt: skip
def test_a_line_that_begins_like_a_directive_and_is_none_is_an_error(write, line):
    path = write(a_md=f"fine\n{line}\n", b_md="b")

    for call in (expand, referenced_flags):
        error = refused(call, path)
        assert place(error) == ("MalformedDirective", "a.md", 2)
        assert error.subject == line.strip()
        assert "is no directive; it needs @include path" in str(error)


def test_an_error_names_file_and_line(write):
    path = write(a_md="@include team/b.md", team__b_md="fine\n@include missing.md\n")

    error = refused(expand, path)
    assert str(error) == "'team/b.md', line 2: there is no 'missing.md'; create it, or correct the path"
    assert (error.kind, error.subject) == ("Missing", "missing.md")


def test_a_flag_that_nobody_knows_is_never_taken_for_false(write):
    path = write(a_md="fine\n@include(!dark) b.md\n", b_md="b")

    error = refused(expand, path, flags={"light": True})
    assert place(error) == ("UnknownFlag", "a.md", 2)
    assert error.subject == "dark"
    assert str(error).endswith("nobody knows the flag dark; set it to True or False (known: light)")
    assert "(known: none)" in str(refused(expand, path))


@pytest.mark.parametrize(
    ("flags", "message"),
    [({"a": 1}, "the flag a is '1'; it needs True or False"), ({"a": None}, "needs True or False"), ({"1a": True}, "the flag is '1a'; it needs a name"), ({"a\n": True}, "needs a name"), ({3: True}, "needs a name")],
)  # fmt: skip
def test_flags_are_names_with_true_or_false(write, flags, message):
    with pytest.raises(InvalidInput, match=message):
        expand(write(a_md="x"), flags=flags)


def test_a_file_that_includes_itself_is_a_cycle(root, write):
    assert place(refused(expand, write(a_md="x\n@include a.md\n"))) == ("Cycle", "a.md", 2)
    path = write(a_md="@include b.md", b_md="@include ./team/../c.md", c_md="\n@include a.md", team__x_md="")
    assert place(refused(expand, path)) == ("Cycle", "c.md", 2)
    (root / "again.md").symlink_to("a.md")
    assert place(refused(expand, write(a_md="@include again.md"))) == ("Cycle", "a.md", 1)


def chain(write, length):
    files = {f"f{number}_md": f"@include f{number + 1}.md\n" for number in range(1, length)}
    return write(a_md="@include f1.md\n", **files, **{f"f{length}_md": "deep\n"})


def test_includes_go_eight_files_deep_and_no_deeper(write):
    assert expand(chain(write, DEEPEST)) == "deep\n"
    for call in (expand, referenced_flags):
        assert place(refused(call, chain(write, DEEPEST + 1))) == ("TooDeep", "f8.md", 1)


def test_a_diamond_is_no_cycle(write):
    path = write(a_md="@include b.md\n@include c.md\n", b_md="@include d.md", c_md="@include d.md", d_md="d")

    assert expand(path) == "d\nd\n"
    assert referenced_flags(path) == frozenset()


def test_no_more_than_a_thousand_includes_are_followed(write):
    path = write(a_md="@include b.md\n" * MOST_INCLUDES, b_md="b")
    assert expand(path) == "b\n" * MOST_INCLUDES

    path = write(a_md="@include b.md\n" * (MOST_INCLUDES + 1))
    for call in (expand, referenced_flags):
        assert place(refused(call, path)) == ("TooWide", "a.md", MOST_INCLUDES + 1)


def test_files_that_double_at_every_level_end_too(write):
    files = {f"f{number}_md": f"@include f{number + 1}.md\n" * 10 for number in range(1, 6)}

    assert refused(expand, write(a_md="@include f1.md\n", **files, f6_md="x")).kind == "TooWide"


@pytest.mark.parametrize("path", ["../secret.md", "team/../../secret.md", "../prompts/b.md", "..", "../../../../etc/hostname"])  # fmt: skip
def test_no_path_climbs_out_of_the_root(write, path):
    for call in (expand, referenced_flags):
        error = refused(call, write(a_md=f"\n@include {path}\n", b_md="b", team__x_md=""))
        assert place(error) == ("Escapes", "a.md", 2)
        assert "climbs out" in str(error)


def test_no_path_is_absolute(root, write):
    write(b_md="b")

    for target in (root / "b.md", root.parent / "secret.md", "/etc/hostname", "//host/share"):
        error = refused(expand, write(a_md=f"@include {target}"))
        assert place(error) == ("Escapes", "a.md", 1)
        assert "is absolute" in str(error)


def test_no_link_leads_out_of_the_root(root, write):
    (root / "file.md").symlink_to("../secret.md")
    (root / "folder").symlink_to("..", target_is_directory=True)
    (root / "twice.md").symlink_to("file.md")
    (root / "nowhere.md").symlink_to("../missing.md")
    (root / "far.md").symlink_to("/etc/hostname")

    for target in ("file.md", "folder/secret.md", "folder/missing.md", "twice.md", "nowhere.md", "far.md"):
        error = refused(expand, write(a_md=f"@include {target}"))
        assert (place(error), "by a link" in str(error)) == (("Escapes", "a.md", 1), True), target


def test_a_link_within_the_root_is_followed_and_paths_are_relative_to_what_it_leads_to(root, write):
    path = write(a_md="@include here.md\n@include team/x.md", teams__red__b_md="@include x.md", teams__red__x_md="red")
    (root / "here.md").symlink_to("teams/red/b.md")
    (root / "team").symlink_to("teams/red", target_is_directory=True)

    assert expand(path) == "red\nred\n"


def test_the_first_file_lies_within_the_root_as_well(root, write):
    path = write(a_md="x")
    (root / "out.md").symlink_to("../secret.md")
    (root / "team").mkdir()

    assert refused(expand, root.parent / "secret.md", root).kind == "Escapes"
    assert refused(expand, path, root / "team").kind == "Escapes"
    error = refused(expand, root / "out.md")
    assert place(error) == ("Escapes", str(root / "out.md"), None)
    assert place(refused(expand, root / "missing.md")) == ("Missing", str(root / "missing.md"), None)
    assert str(refused(expand, root / "missing.md")).startswith(f"'{root}/missing.md': there is no ")


def test_the_root_may_be_a_link_itself(root, write, tmp_path):
    write(a_md="@include b.md", b_md="b")
    (tmp_path / "link").symlink_to(root, target_is_directory=True)

    assert expand(tmp_path / "link" / "a.md") == "b\n"
    assert expand(root / "a.md", tmp_path / "link") == "b\n"


def test_a_path_without_a_folder_lies_in_the_present_one(write, monkeypatch, root):
    write(a_md="@include b.md", b_md="b")
    monkeypatch.chdir(root)

    assert expand("a.md") == expand("a.md", ".") == "b\n"


@pytest.mark.parametrize("path", ["missing.md", "a.md/b.md", "missing/b.md", '"no such.md"', "~/b.md", "$HOME/b.md"])
def test_a_file_that_is_not_there_is_missing(write, path):
    assert place(refused(expand, write(a_md=f"@include {path}"))) == ("Missing", "a.md", 1)


def test_only_regular_files_are_read(root, write, monkeypatch):
    monkeypatch.chdir(root)  # a socket's path has to be short
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    (root / "round.md").symlink_to("round.md")
    (root / "device.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.md")

    for target in ("pipe.md", "folder.md", "s.md", "round.md", "."):
        error = refused(expand, write(a_md=f"@include {target}"))
        assert (place(error), "no regular file" in str(error)) == (("Unreadable", "a.md", 1), True), target
        assert refused(expand, root / target, root).kind == "Unreadable"
    assert refused(expand, write(a_md="@include device.md")).kind == "Escapes"
    assert refused(expand, "/dev/zero").kind == "Unreadable"


def test_a_file_that_is_no_utf_8_or_too_large_or_has_too_long_a_name_cannot_be_read(root, write):
    for text in (b"caf\xe9", "text".encode("utf-16"), b"\xed\xa0\x80"):
        error = refused(expand, write(a_md="\n@include b.md", b_md=text))
        assert (place(error), "is not UTF-8 at byte" in str(error)) == (("Unreadable", "a.md", 2), True)
    assert len(expand(write(a_md="@include b.md", b_md="a" * LARGEST))) == LARGEST + 1
    error = refused(expand, write(a_md="@include b.md", b_md="a" * (LARGEST + 1)))
    assert (place(error), "more than 1048576 bytes" in str(error)) == (("Unreadable", "a.md", 1), True)
    assert refused(expand, write(a_md=f"@include {'a' * 300}.md")).kind == "Unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_cannot_be_read(root, write):
    path = write(a_md="@include b.md", b_md="b")
    (root / "b.md").chmod(0)

    assert place(refused(expand, path)) == ("Unreadable", "a.md", 1)


def test_a_path_with_nul_is_refused(root):
    with pytest.raises(InvalidInput, match="NUL"):
        expand(f"{root}/a\0.md")


def test_flags_are_found_in_every_branch(write):
    path = write(
        a_md="@include(one) b.md\n@include(!two) c.md\n@include(one) c.md\n",
        b_md="@include(three) c.md",
        c_md="@include(!four) d.md",
        d_md="@include d2.md",
        d2_md="no @include(five) here",
    )

    assert referenced_flags(path) == {"one", "two", "three", "four"}
    assert expand(path, flags=dict.fromkeys(["one", "two", "three", "four"], True)) == ""


def test_a_branch_that_cannot_be_followed_is_found_whatever_its_flag(write):
    path = write(a_md="@include(one) b.md", b_md="\n@include(!one) missing.md")

    assert expand(path, flags={"one": True}) == "\n"
    assert place(refused(referenced_flags, path)) == ("Missing", "b.md", 2)


def test_every_flag_that_is_tested_has_to_be_declared(write):
    path = write(
        a_md="@include(one) b.md", b_md="\n@include(!two) c.md\n@include(three) c.md\n@include(two) c.md", c_md=""
    )

    check_flags(path, {"one", "two", "three", "spare"})
    error = refused(check_flags, path, ["one"])
    assert place(error) == ("UnknownFlag", "b.md", 2)
    assert str(error) == "'b.md', line 2: nobody knows the flag two; declare it (declared: one)"
    assert refused(check_flags, path, iter(["two", "one"])).subject == "three"
    with pytest.raises(InvalidInput, match="needs a name"):
        check_flags(path, ["one", "t-wo"])
    with pytest.raises(InvalidInput, match="declared is 'one'; it needs a list of names"):
        check_flags(path, "one")


def test_an_error_is_the_same_after_a_journey(write):
    error = refused(expand, write(a_md="@include(on) b.md"))
    again = pickle.loads(pickle.dumps(error))

    assert (str(again), place(again), again.subject) == (str(error), place(error), "on")
