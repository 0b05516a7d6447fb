"""Whether most of a text is data of which half is worth nothing: JSON with or without something around it, XML, blobs.

A parser decides where the text is not too big for one, and how it begins and ends where it is: a megabyte that was made
into objects takes ten. It knows no other kinds and errs towards data, which only stays whole.
"""

import json
import re
from collections.abc import Iterator, Sequence

_HEAD_CHARS = 65_536
_PARSED_CHARS = 2**20
_PLACES = 16  # at which data is looked for; a text that has more before its data is no data with a line before it
_TAGS = 4  # fewer may be a sentence in a tag
_CLOSED = 2  # without these they are names: who says something
_BLOB_LINES = 2
_BLOB_WIDTH = 16
_WHOLE_WORDS = 60  # characters: no word is as long

_JSON = json.JSONDecoder(parse_int=str, parse_float=str)  # numbers of any length, and none computed
_BEGINS_JSON = re.compile(r"""\{\s*["'}]|\[\s*(?:[{"']|\[[^\]\n[ ]*[,\[{"\]])""")
_NUMBERS = re.compile(r"[\[\]\s\d.,eE+-]*")
_AT_LINE = re.compile(r"^[ \t]*(?:[\w.$]{1,80}\()?([{\[])", re.MULTILINE)
_ANYWHERE = re.compile(r"[{\[]")
_LINE_OF_TAGS = re.compile(r"^<", re.MULTILINE)
_XML = re.compile(r"<(?:\?xml|!--|!DOCTYPE (?!html)|([A-Za-z_][\w.:-]*))", re.IGNORECASE)
_OF_PAGES = frozenset(
    "html head body div span p a b i em strong h1 h2 h3 h4 h5 h6 ul ol li table tr td br hr img pre code script style "
    "section article main nav form header footer button input label details summary blockquote".split()
)
_LETTERS = re.compile(r"[A-Za-z0-9+/]+=*")
_HEX = re.compile(r"(?:[0-9a-fA-F]{4,16}:?[ \t]{1,2})?(?:[0-9a-fA-F]{2,8}[ \t]{1,2}){4}")


def is_structured(text: str) -> bool:
    """Whether a text that begins with no white space is JSON, lines of it or XML, or has little else around it."""
    if text.startswith("<"):
        return _is_xml(text)
    if _BEGINS_JSON.match(text) or (text.startswith(("[", '"')) and _is_json_lines(text)):
        return True  # also cut off, or written by something that is nearly JSON
    tag = _LINE_OF_TAGS.search(text, 0, _HEAD_CHARS)
    if tag and 2 * tag.start() < len(text) and _is_xml(text[tag.start() :]):
        return True
    return any(_is_most(text, at) for at in _places(text))


def _places(text: str) -> Iterator[int]:
    """Where data may begin: at the beginning of a line or of a call first, then anywhere near the beginning."""
    if "{" not in text[:_HEAD_CHARS] and "[" not in text[:_HEAD_CHARS]:
        return
    found = [one.start(1) for one, _ in zip(_AT_LINE.finditer(text, 0, _HEAD_CHARS), range(_PLACES), strict=False)]
    yield from found
    for one, _ in zip(_ANYWHERE.finditer(text, 0, _HEAD_CHARS), range(_PLACES), strict=False):
        if one.start() not in found:
            yield one.start()


def _is_most(text: str, at: int) -> bool:
    """Whether data begins there that is more than half of the text."""
    if 2 * (len(text) - at) <= len(text):
        return False
    if len(text) - at > _PARSED_CHARS:
        return _is_big_data(text, at)
    try:
        end = _JSON.raw_decode(text, at)[1]
    except ValueError:
        return False
    except RecursionError:  # brackets in brackets without end
        return True
    if 2 * (end - at) > len(text):
        return True
    return text[end : end + 2].strip(" \r").startswith("\n") and _is_json_lines(text[at:].rstrip())


def _is_big_data(text: str, at: int) -> bool:
    end = max(text.rfind("}"), text.rfind("]"))
    numbers = _NUMBERS.fullmatch(text, at, at + _HEAD_CHARS) is not None
    return 2 * (end - at) > len(text) and (numbers or _BEGINS_JSON.match(text, at) is not None)


def _is_json_lines(text: str) -> bool:
    """Whether each line is a JSON value, as far as it is looked at; of one line, whether it is one."""
    lines = text[:_HEAD_CHARS].split("\n")
    if len(text) > _HEAD_CHARS:
        lines = lines[:-1]
    try:
        for line in filter(None, map(str.strip, lines)):
            _JSON.decode(line)
    except ValueError:
        return False
    except RecursionError:
        return True
    return bool(lines)


def _is_xml(text: str) -> bool:
    found = _XML.match(text)
    if not found or (found[1] or "").lower() in _OF_PAGES:
        return False
    closed = text.count("</", 0, _HEAD_CHARS) + text.count("/>", 0, _HEAD_CHARS)
    return not found[1] or (closed >= _CLOSED and text.count("<", 0, _HEAD_CHARS) >= _TAGS and _has_many_tags(text))


def _has_many_tags(text: str) -> bool:
    lines = [line.strip() for line in text[:_HEAD_CHARS].split("\n") if line.strip()]
    return 2 * sum(line.startswith("<") for line in lines) > len(lines)


def is_blob(lines: Sequence[str]) -> bool:
    """Whether lines are bytes in letters or hexadecimal digits: all as long, without a space, or in columns."""
    lines = [line for line in lines if not line.startswith("-----")]
    if len(lines) < _BLOB_LINES:
        return False
    hexed = sum(1 for line in lines if _HEX.match(line.strip() + " "))
    if 5 * hexed >= 4 * len(lines):
        return any(char in "abcdefABCDEF" for line in lines for char in line[:40]) or lines[0].startswith("0000")
    letters = sum(len(line) for line in lines if len(line) >= _WHOLE_WORDS and _LETTERS.fullmatch(line))
    if 2 * letters > sum(map(len, lines)):
        return True
    return (
        len(lines[0]) >= _BLOB_WIDTH
        and {len(line) for line in lines[:-1]} == {len(lines[0])}
        and len(lines[-1]) <= len(lines[0])
        and all(map(_LETTERS.fullmatch, lines))
    )
