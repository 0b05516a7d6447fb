"""A cut says exactly what is missing, and never makes a text longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.tell.kinds import Content
from experience.tell.shorten import (
    Place,
    Shortened,
    Strategy,
    Untouched,
    gap,
    least,
    marker,
    parts,
    plan,
    shorten,
    size_of,
)

PROSE = "lorem ipsum dolor sit amet " * 400
LOG = "".join(f"INFO line {number}\n" for number in range(400))
DOCUMENT = "".join(f"## Section {number}\n{'words of this section ' * 5}\n\n" for number in range(200))
AWKWARD = ["", "x", "x" * 4000, LOG, "fn main() {\n" * 300, '{"a": 1}' * 400, "部" * 1000, "# A\n" * 900, DOCUMENT]


@pytest.mark.parametrize(
    ("content", "decided"),
    [
        (Content.UNKNOWN, Untouched.MUST_LEAVE),
        (Content.STRUCTURED, Untouched.MUST_LEAVE),
        (Content.LOG, Strategy.TAIL),
        (Content.CODE, Strategy.ENDS),
        (Content.DIFF, Strategy.ENDS),
        (Content.LINES, Strategy.ENDS),
        (Content.PROSE, Strategy.HEAD),
        (Content.TABLE, Strategy.HEAD),
        (Content.MARKUP, Strategy.SECTIONS),
    ],
)
def test_each_kind_is_cut_in_its_way_and_kept_where_it_fits(content, decided):
    assert plan(content, 101, 100) == decided
    assert plan(content, 100, 100) == Untouched.FITS


def test_the_beginning_is_kept_and_the_marker_says_what_is_missing():
    assert shorten("a" * 100, Strategy.HEAD, 50) == ("a" * 28 + "[truncated: 72 bytes]", 72, Place.TAIL)
    assert shorten("a" * 1000, Strategy.HEAD, 50).text == "a" * 27 + "[truncated: 973 bytes]"


def test_the_end_of_a_log_is_kept():
    cut = shorten(LOG, Strategy.TAIL, 512)

    assert cut.text.endswith("INFO line 399\n")
    assert (cut.text.startswith(marker(cut.dropped)), cut.place) == (True, Place.HEAD)
    assert LOG.endswith(cut.text.removeprefix(marker(cut.dropped)))


def test_both_ends_are_kept_with_a_gap_between():
    cut = shorten("a" * 500 + "b" * 500, Strategy.ENDS, 125)

    assert cut == ("a" * 50 + gap(900) + "b" * 50, 900, Place.MIDDLE)
    assert shorten("a" * 1000, Strategy.ENDS, 25) == (f"aa{marker(998)}", 998, Place.TAIL)


def test_a_document_keeps_whole_sections_and_then_headings():
    cut = shorten(DOCUMENT, Strategy.SECTIONS, 600)
    before, _, after = cut.text.partition(gap(cut.dropped))

    assert DOCUMENT.startswith(before)
    assert DOCUMENT[len(before) :].startswith("## Section")
    assert after.splitlines() == [
        f"## Section {before.count('##') + number}" for number in range(len(after.splitlines()))
    ]
    assert cut.text.count("## ") >= 5
    assert cut.place is Place.MIDDLE


@pytest.mark.parametrize(
    ("text", "limit"),
    [("# One\n" + "x" * 900, 200), ("y" * 300 + "\n# A\n" + "x" * 900 + "\n# B\n", 200), (DOCUMENT, 30)],
    ids=["one heading", "a long preamble", "no room"],
)
def test_what_has_no_sections_to_keep_keeps_its_beginning(text, limit):
    assert shorten(text, Strategy.SECTIONS, limit) == shorten(text, Strategy.HEAD, limit)


def test_headings_of_latex_are_headings_and_partial_derivatives_are_not():
    text = "\\section{One}\n" + "x" * 300 + "\n\\partial y\n\\paragraph{Two}\n" + "z" * 300

    assert shorten(text, Strategy.SECTIONS, 120).text == gap(612) + "\\section{One}\n\\paragraph{Two}\n"


def test_what_would_not_come_out_shorter_is_left_alone():
    assert shorten("short", Strategy.HEAD, 0) == Shortened("short", 0, Place.NOTHING)
    assert len(marker(21)) == 21
    assert shorten("x" * 21, Strategy.HEAD, 0) == Shortened("x" * 21, 0, Place.NOTHING)
    assert shorten("x" * 22, Strategy.HEAD, 0).text == marker(22)
    assert shorten("", Strategy.TAIL, 0) == Shortened("", 0, Place.NOTHING)


@pytest.mark.parametrize("text", AWKWARD, ids=range(len(AWKWARD)))
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("limit", [-1, 0, 1, 8, 21, 64, 511, 512, 4095, 4096])
def test_a_cut_never_makes_longer_and_stays_below_its_limit(text, strategy, limit):
    accounted(text, strategy, limit)


@given(texts.map(lambda text: text * 3), st.sampled_from(Strategy), st.integers(-5, 400))
def test_any_text_is_accounted_for_to_the_byte(text, strategy, limit):
    accounted(text, strategy, limit)


def accounted(text, strategy, limit):
    cut, size = shorten(text, strategy, limit), size_of(text)

    assert size_of(cut.text) <= size
    assert cut.text.encode().decode() == cut.text
    if cut.place is Place.NOTHING:
        assert (cut.text, cut.dropped) == (text, 0)
    else:
        mark = gap(cut.dropped) if cut.place is Place.MIDDLE else marker(cut.dropped)
        assert mark in cut.text
        assert size_of(cut.text) - len(mark) + cut.dropped == size
        assert size_of(cut.text) < size
    if limit >= least(text):
        assert size_of(cut.text) <= max(limit, least(text))
        assert size_of(cut.text) <= limit or (cut.text == text and size <= limit)
    assert cut == shorten(text, strategy, limit)


@given(texts, st.integers(-10, 200), st.integers(-10, 200))
def test_any_two_offsets_leave_parts_that_make_the_whole(text, upto, since):
    data = text.encode()
    before, after, dropped = parts(data, upto, since)

    assert len(before) + len(after) + dropped == len(data)
    assert data.startswith(before)
    assert data.endswith(after)
    assert before.decode() + data[len(before) : len(before) + dropped].decode() + after.decode() == text
    if upto >= since >= 0 and upto <= len(data):
        assert dropped == 0 or len(before) < upto  # only what makes half a character is missing


def test_half_a_surrogate_pair_is_three_bytes_and_comes_out_again():
    text = "\ud800" * 100

    assert size_of(text) == 300
    assert shorten(text, Strategy.HEAD, 100).text == "\ud800" * 26 + marker(222)
