"""The stable text of an episode: what is indexed, shown and exchanged.

One line a field, the outcome last because it runs to the end; the optional lines stand before it so that readers older
than those lines still find everything they know. What is plain is written as the founding systems wrote it, byte for
byte; what is not plain is folded or quoted, so that `parse(render(e))` gives the six fields back for *any* text and no
value can pose as a label. This module never reads success from text on behalf of a store: the record is the truth.
"""

import json
import re
from typing import NamedTuple

from experience.episode import WHITE_SPACE, Episode
from experience.errors import InvalidEpisode, shown

_NONE = "(none)"
_FOLD = "\n  "
_RESULT = {True: "success", False: "failure"}
_SUCCESS = {word: success for success, word in _RESULT.items()}
_FOUNDING_WORD = "Outcome: "  # readers of the old kind look for it anywhere, even inside a quoted item
_LABELS = ("Tools used: ", "Skills used: ", "Result: ", "Tags: ")  # in this order, between Situation and Outcome
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # Unicode's Cc, Zl and Zp: a closed set
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^,]*')


def render(episode: Episode) -> str:
    """The stable text: UTF-8-safe, no trailing newline, the same bytes for the same six fields."""
    lines = [
        "Situation: " + episode.situation.replace("\n", _FOLD),
        "Tools used: " + write_items(episode.tools),
    ]
    if episode.skills:
        lines.append("Skills used: " + write_items(episode.skills))
    if episode.success is not None:
        lines.append("Result: " + _RESULT[episode.success])
    if episode.tags:
        lines.append("Tags: " + write_items(episode.tags))
    lines.append("Outcome: " + episode.outcome)
    return "\n".join(lines)


def parse(text: str) -> Episode:
    """The episode that `render` wrote.

    Strict: labels at the start of a line, in order, each at most once; `Situation:` and `Outcome:` required (a bare
    `Outcome:` is an empty outcome); list items written exactly as `render` writes them. Nothing after `Outcome:` is a
    label. Raises InvalidEpisode, naming the line.
    """
    lines = _lines(text)
    if not lines[0].startswith("Situation: "):
        raise InvalidEpisode(f"line 1 is {shown(lines[0])}; the text needs to begin with 'Situation: '")
    end = 1
    while end < len(lines) and lines[end].startswith("  "):
        end += 1
    situation = "\n".join([lines[0].removeprefix("Situation: "), *(line[2:] for line in lines[1:end])])
    found: dict[str, str] = {}
    for label in _LABELS:
        if end < len(lines) and lines[end].startswith(label):
            found[label] = lines[end].removeprefix(label)
            end += 1
    if end == len(lines) or not (lines[end].startswith("Outcome: ") or lines[end] == "Outcome:"):
        got = shown(lines[end]) if end < len(lines) else "the end of the text"
        raise InvalidEpisode(
            f"line {end + 1} is {got}; after the situation the labels are {', '.join(label.strip() for label in _LABELS)} "
            "and Outcome:, in this order, each at most once"
        )
    result = found.get("Result: ", "")
    if "Result: " in found and result not in _SUCCESS:
        raise InvalidEpisode(f"Result is {shown(result)}; it needs success or failure, or no line at all")
    return Episode(
        situation=situation,
        outcome="\n".join([lines[end][len("Outcome: ") :], *lines[end + 1 :]]),
        tools=_read_items(found.get("Tools used: ", _NONE)),
        skills=_read_items(found.get("Skills used: ", _NONE)),
        tags=_read_items(found.get("Tags: ", _NONE)),
        success=_SUCCESS.get(result),
    )


class Founding(NamedTuple):
    """What `parse_founding` made of a text that others left behind."""

    episode: Episode
    guesses: tuple[str, ...]
    """One sentence for each thing that the text did not settle; empty when it settled everything."""


def parse_founding(text: str) -> Founding:
    """Read text in the founding systems' format, which escapes nothing, and say what had to be guessed.

    The outcome begins at the first line that starts with `Outcome: `; the fields are the nearest lines above it, in the
    order in which they were written; all else below `Situation: ` belongs to the situation. So a label inside the
    situation or the outcome forges nothing. Raises InvalidEpisode only when no line starts with `Situation: `, or when
    that line is blank.
    """
    lines = _lines(text)
    start = next((number for number, line in enumerate(lines) if line.startswith("Situation: ")), None)
    if start is None:
        raise InvalidEpisode("no line starts with 'Situation: '; this is not the text of an episode")
    guesses = [f"{start} lines before 'Situation: ' were left out"] if start else []
    header, outcome = _split_outcome(lines[start:], guesses)
    found: dict[str, str] = {}
    for label in ("Result: ", "Skills used: ", "Tools used: "):
        if len(header) > 1 and header[-1].startswith(label):
            found[label] = header.pop().removeprefix(label).strip(WHITE_SPACE)
    if "Tools used: " not in found:
        guesses.append("no 'Tools used: ' line stands above the outcome: read as none")
    if len(header) > 1:
        guesses.append(f"{len(header) - 1} more lines were read as part of the situation")
    if any(line.startswith(("Result: ", "Skills used: ", "Tools used: ")) for line in outcome.split("\n")):
        guesses.append("a label below 'Outcome: ' was left in the outcome")
    result = found.get("Result: ", "")
    if "Result: " in found and result not in _SUCCESS:
        guesses.append(f"the result {shown(result)} was read as unknown")
    episode = Episode(
        situation="\n".join([header[0].removeprefix("Situation: "), *header[1:]]),
        outcome=outcome,
        tools=_founding_items(found.get("Tools used: ", ""), guesses),
        skills=_founding_items(found.get("Skills used: ", ""), guesses),
        success=_SUCCESS.get(result),
    )
    return Founding(episode, tuple(guesses))


def _lines(text: str) -> list[str]:
    # Split on \n alone: str.splitlines also breaks at U+0085, U+2028, \v and \f, which values may hold.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _is_plain(item: str) -> bool:
    return not (
        item in ("", _NONE)
        or item.startswith('"')
        or item != item.strip(WHITE_SPACE)
        or "," in item
        or _FOUNDING_WORD in item
        or _CONTROL.search(item)
    )


def quote(text: str) -> str:
    """A JSON string on one line: every control and line separator escaped, other scripts as they are."""
    quoted = json.dumps(text, ensure_ascii=False).replace(_FOUNDING_WORD, "Outcome\\u003a ")
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def _write_item(item: str) -> str:
    return item if _is_plain(item) else quote(item)


def write_items(items: tuple[str, ...]) -> str:
    """Names as the stable text lists them; (none) for none."""
    return ", ".join(map(_write_item, items)) if items else _NONE


def _read_items(value: str) -> tuple[str, ...]:
    if value == _NONE:
        return ()
    items: list[str] = []
    at = 0
    while True:
        match = _ITEM.match(value, at)
        written = match.group() if match else ""
        items.append(_read_item(written))
        at += len(written)
        if at == len(value):
            return tuple(items)
        if not value.startswith(", ", at):
            raise InvalidEpisode(f"a list reads {shown(value)}; items are parted by a comma and a space")
        at += 2


def _read_item(written: str) -> str:
    try:
        item = json.loads(written) if written.startswith('"') else written
    except ValueError as error:
        raise InvalidEpisode(f"the item {shown(written)} is not a JSON string: {error}") from error
    if _write_item(item) != written:
        raise InvalidEpisode(f"the item {shown(written)} needs to be written {shown(_write_item(item))}")
    return str(item)


def _split_outcome(lines: list[str], guesses: list[str]) -> tuple[list[str], str]:
    """The lines above the outcome, and the outcome."""
    for number, line in enumerate(lines):
        if number and (line.startswith("Outcome: ") or line == "Outcome:"):
            return lines[:number], "\n".join([line[len("Outcome: ") :], *lines[number + 1 :]])
    head, word, tail = "\n".join(lines).partition(_FOUNDING_WORD)
    guesses.append("'Outcome: ' stands inside a line" if word else "there is no outcome")
    return head.rstrip("\n").split("\n"), tail


def _founding_items(value: str, guesses: list[str]) -> tuple[str, ...]:
    if value in ("", _NONE):
        return ()
    if re.search(r"[(\[{\"']", value):
        guesses.append(f"the list {shown(value)} was split at every comma")
    return tuple(item for item in (part.strip(WHITE_SPACE) for part in value.split(",")) if item)
