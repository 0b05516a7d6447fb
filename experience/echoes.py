"""How what a prompt was told is kept from being recorded as if it were the run's own.

A run whose prompt held a recalled block or a brief may repeat it in its own account, and a store that learns its own echo
fills with copies of it. So blocks are taken out before an episode is recorded: whole ones by their marks; those that were
cut short, wrapped, numbered, quoted, escaped or put on one line also by how their lines read. What stands between marks
and reads like nothing of a block's is somebody's own words, and stays.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experience.episode import Episode
from experience.errors import InvalidEpisode
from experience.recalled import CLOSING, OPENING, SENTENCES, TITLES

STRIPPED = "recalled_blocks_stripped"
"""The key in `meta` that says how many blocks were taken out."""

_ENDS = "\n\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE = re.compile(f"([^{_ENDS}]*)([{_ENDS}]|$)")
_QUOTING = " \t\xa0>|-*+#/:`│»\\\\"  # what people, models and programs put around the lines of a text that they quote
_NUMBERED = re.compile(r"^[\s>|]*\d{1,6}(?:[.):|\t]|\s)\s*")
_GAP = 4  # lines of a wrapped sentence that read like nothing, before one that does

_ITEM = re.compile(
    r'\d+\. situation: \\?"|(?:^|\s)(?:situation: \\?"|outcome: \\?"|result: (?:worked|failed|nobody)|(?:tools|skills) used: [("\\])'
    r'|(?:^|\s)\[(?:established|provisional)\] \\?"|(?:^|\s)skill `[a-z0-9-]+` \(version|\d+ runs followed it: |no run has followed it yet'
    rf"|\(left out for want of room: |== (?:{'|'.join(map(re.escape, TITLES.values()))}) =="
)
"""How a line of a block reads, whatever it was indented, numbered or quoted with."""
_WEAK = re.compile(r"(?:^|[\s>|])- `[^`\n]{0,64}(?:`|` .*)?$|(?:^|[\s>|])(?:\d+\. )?skill `[^`\n]{0,64}`?[ (versio]*$")
_STARTS = (
    *SENTENCES, *(f"== {title} ==" for title in TITLES.values()),
    'situation: "', "result: worked, says the agent itself", "result: failed", "result: nobody has said", "tools used: ",
    "skills used: ", 'outcome: "', "[established] ", "[provisional] ", "skill `", "runs followed it: ", "no run has followed it yet",
    "(left out for want of room: ", CLOSING[:-1],
)  # fmt: skip
"""How the lines of a block begin, for telling one of which only the beginning is there."""
_LONG_PART = 40
_SAID = "\n".join(part for sentence in SENTENCES for part in re.split(r"[`]?\{\w+\}[`]?", sentence))
_SAID_PARTS = tuple(part for part in _SAID.split("\n") if len(part) > _LONG_PART)
_LEAST_SAID = 16  # characters of a piece of a sentence that was wrapped, from which on it is known


def strip_recalled(text: str) -> tuple[str, int]:
    """The text without recalled blocks and briefs, and how many there were."""
    blocks = 0
    while OPENING in text or CLOSING in text:  # what stood around a block may make another one
        stripped, found = _strip_once(text)
        if not found:
            break
        text, blocks = stripped, blocks + found
    return text, blocks


def without_recalled(episode: Episode) -> Episode:
    """The episode without recalled blocks in its texts and its `meta`, which says how many were taken out.

    Raises InvalidEpisode when the situation was nothing else.
    """
    situation, in_situation = strip_recalled(episode.situation)
    outcome, in_outcome = strip_recalled(episode.outcome)
    meta, in_meta = _strip_json(dict(episode.meta))
    if not (blocks := in_situation + in_outcome + in_meta):
        return episode
    if not situation.strip():
        raise InvalidEpisode(
            "the situation is nothing but a recalled block; an episode needs what was asked in this run"
        )
    return replace(episode, situation=situation, outcome=outcome, meta={**meta, STRIPPED: blocks})


def _strip_json(value: Any) -> tuple[Any, int]:
    """The same in every text of a value; names stay as they are."""
    if isinstance(value, str):
        return strip_recalled(value)
    if isinstance(value, dict):
        parts = {key: _strip_json(part) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(found for _, found in parts.values())
    if isinstance(value, list | tuple):
        items = [_strip_json(part) for part in value]
        return [part for part, _ in items], sum(found for _, found in items)
    return value, 0


def _strip_once(text: str) -> tuple[str, int]:
    lines, blocks = _parted(text)
    gone = _blocks([line for line, _ in lines])
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line, end = lines[at]
        last = gone.get(at)
        before = line.partition(OPENING)[0].rstrip() if last is not None and OPENING in line else ""
        if last is None:
            kept.append(line + end)
        elif before.strip(_QUOTING):
            kept.append(before + lines[last][1])
        elif last == len(lines) - 1 and kept:
            kept[-1] = kept[-1].rstrip("\n")
        at = at + 1 if last is None else last + 1
    return "".join(kept), blocks + len(gone)


def _parted(text: str) -> tuple[list[tuple[str, str]], int]:
    """Lines and what ends them, without blocks that stand within one of them (and how many those were).

    Nothing follows a closing mark on its line.
    """
    lines: list[tuple[str, str]] = []
    blocks = 0
    for match in _LINE.finditer(text):
        line, end = match.groups()
        if not match.group() and match.start() == len(text) and lines and lines[-1][1] == "":
            break
        left, found = _strip_inline(line)
        blocks += found
        before, mark, after = left.partition(CLOSING)
        if mark and after.strip(_QUOTING):
            lines += [(before + mark, "\n"), (after, end)]
        else:
            lines.append((before + mark, end))
    return lines, blocks


def _strip_inline(line: str) -> tuple[str, int]:
    """A block whose line ends were escaped, as in a JSON string, stands within one line."""
    pieces: list[str] = []
    at = blocks = 0
    while (start := line.find(OPENING, at)) >= 0 and (end := line.find(CLOSING, start)) >= 0:
        block = _reads_like_one(line[start:end])
        pieces.append(line[at : start if block else end + len(CLOSING)])
        at, blocks = end + len(CLOSING), blocks + block
    return "".join([*pieces, line[at:]]), blocks


def _blocks(lines: Sequence[str]) -> dict[int, int]:
    """The last line of each block, by its first.

    A block ends with its closing mark, unless another one opens before that or there is none: then it was cut short, and
    ends with the last line that reads like one of a block's. Where the beginning was cut off it is the other way round.
    """
    found: dict[int, int] = {}
    last = max((at for at, line in enumerate(lines) if line.strip()), default=-1)
    mark = closing = len(lines)  # the next line below with a mark of either kind; with a closing one
    opened: set[int] = set()
    for at in range(len(lines) - 1, -1, -1):
        if CLOSING in lines[at]:
            mark = closing = at
        elif OPENING in lines[at]:
            whole = mark == closing < len(lines)
            if _opens(lines, at):
                end = closing if whole else _last_like_one(lines, at, mark, last)
                if any(_reads_like_one(lines[line]) or _is_cut_off(lines, line, last) for line in range(at, end + 1)):
                    found[at] = end
                    opened.add(end)
            mark = at
    for at, line in enumerate(lines):
        if CLOSING in line and at not in opened and (start := _first_like_one(lines, at)) < at:
            found.setdefault(start, at)
    return found


def _opens(lines: Sequence[str], at: int) -> bool:
    """Whether a block begins at this line: nothing else stands behind the mark, or what a block begins with follows."""
    after = lines[at].rpartition(OPENING)[2]
    following = next((line for line in lines[at + 1 :] if line.strip(_QUOTING)), "")
    return not after.strip(_QUOTING) or _reads_like_one(after) or _reads_like_one(following)


def _last_like_one(lines: Sequence[str], at: int, before: int, last: int) -> int:
    end = at
    while end + 1 < before:
        ahead = range(end + 1, min(end + 2 + _GAP, before))
        if not lines[end + 1].strip(_QUOTING) or _is_weakly_one(lines, end + 1, last):
            end += 1
        elif (strong := next((line for line in ahead if _reads_like_one(lines[line])), None)) is not None:
            end = strong
        else:
            break
    return end


def _first_like_one(lines: Sequence[str], at: int) -> int:
    """The first line of a block whose beginning was cut off, by its closing line; that line itself when nothing is like one."""
    start = first = at
    while start > 0:
        above = lines[start - 1]
        if _reads_like_one(above):
            first = start = start - 1
        elif not above.strip(_QUOTING) or _WEAK.search(above):
            start -= 1
        else:
            break
    return first


def _reads_like_one(line: str) -> bool:
    bare = _NUMBERED.sub("", line).strip(_QUOTING)
    said = len(bare) >= _LEAST_SAID and (bare in _SAID or any(part in line for part in _SAID_PARTS))
    return said or bool(_ITEM.search(line))


def _is_weakly_one(lines: Sequence[str], at: int, last: int) -> bool:
    """A line that a block may hold, and other texts too: it belongs to one only beside others."""
    bare = _NUMBERED.sub("", lines[at] + " ").strip(_QUOTING)
    return not bare or bool(_WEAK.search(lines[at])) or _is_cut_off(lines, at, last)


def _is_cut_off(lines: Sequence[str], at: int, last: int) -> bool:
    """Whether the text ends with this line (but for blank ones), and the line is how one of a block's begins."""
    if at != last:
        return False
    line = lines[at].strip(_QUOTING)
    rest = re.sub(r"^\d+\.? ?", "", line)
    return bool(rest) and any(start.startswith(rest) for start in _STARTS)
