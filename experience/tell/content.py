"""What kind of text something is, told from how it begins: what to keep of it depends on that.

Shapes decide, never meaning: patterns for the lines of logs, code and tables, the number of words for
sentences, scripts that put no spaces between words counted by their characters. What was cut by us before is looked at
without our marks. It errs towards kinds that may be cut only where half of the text is still worth reading.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from unicodedata import category

from experience.tell import marks
from experience.tell.founding import detect_founding
from experience.tell.kinds import Content
from experience.tell.structured import is_blob, is_structured
from experience.tokens import UNSPACED_RUN

__all__ = ["Content", "detect", "detect_founding"]

_HEAD_LINES = 40
_HEAD_CHARS = 8_000
_PROSE_WORDS = 5
_PROSE_CHARS = 10  # of scripts without spaces: about five words
_LISTED_LINES = 5
_TABLE_LINES = 4
_OUTPUT_LINES = 3
_ALIKE_WORDS = 2
_ALIKE_CHARS = 60
_NUMBERED_LINES = 3
_TWICE = 2  # once may be chance
_LOOKED_AT = 300  # characters of one line
_LISTED_WIDTH = 160  # characters; paths are long

_RUN = re.compile(r"[ \t]{2,}")
_QUOTED = re.compile(r'"[^"]*"')
_WORD = re.compile(r"[(\"'“‘«*_`]{0,3}[^\W\d_]+(?:[-'’][^\W\d_]+){0,3}[.,;:!?)\"'”’»*_`]{0,3}")
_PLACED = re.compile(r"\S*:\d|\S*[/\\:(]\S*[:)\d]\s|\s*(?:at|from)\s\S*[.:/(]")  # a file and a place in it
_DIGITS = re.compile(r"\d+")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NUMBERED = re.compile(r"\s*(\d{1,7})(?:\t|→|\s?\|\s?|:|$)")
_HTML = re.compile(r"<(?:!doctype html|html)\b", re.IGNORECASE)
_DIFF = re.compile(r"^(?:diff --git |Index: \S+\n=|--- \S[^\n]*\n\+\+\+ \S|@@ -\d+(?:,\d+)? \+\d+)", re.MULTILINE)
_DIFF_SIGNS = ("diff --git ", "Index: ", "--- ", "@@ ")
_LATEX = re.compile(r"^\\(?:documentclass|begin\{document\}|(?:sub)?section\b|chapter\b)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6} \S")
_RULE = re.compile(r"^[ \t]*\|?[ \t:]*[-=]{3,}[ \t:]*(?:[|+][ \t:]*[-=]{2,}[ \t:]*)+[|+]?[ \t]*$", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*(?:\+[-=]{3}[-=+]*\+|[┌╭┏╔][─━═┬┳╦]+)", re.MULTILINE)
_BOX_STARTS = ("+-", "+=", "┌", "╭", "┏", "╔")
_ROW = re.compile(r"\s*\|.*\|\s*")

_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}"
_DAY = r"\d{4}[-/.]\d{2}[-/.]\d{2}"
_LOGGED = re.compile(
    rf"""(?x)
    {_DAY}[T ]{_CLOCK}                                   # 2024-01-05 10:00:00
    | {_DAY}[ \t]+\[?{_LEVEL}\b
    | \(?{_CLOCK}\b
    | [A-Z][a-z]{{2}}\s+\d{{1,2}}\s{_CLOCK}              # Jan  5 10:00:00
    | \[(?!\s*\]|[xX]\]|\d+\])[^\]\n\[(]{{1,60}}\](?=[\s:\[])  # [build], [12:00:01], but no [ ], [x] or [12]
    | \[?{_LEVEL}\b[\]:|]
    | {_LEVEL}[ \t]+(?=\S)
    | [IWEF]\d{{4}}\s{_CLOCK}
    | (?:\d{{1,3}}\.){{3}}\d{{1,3}}\s\S+\s\S+\s\[        # a web server's access
    | \d{{9,13}}(?:\.\d+)?[ \t]                          # seconds since 1970
    | npm\s(?:ERR!|WARN|notice) | make(?:\[\d+\])?:\s | \#\d+\s(?:\[|DONE|\d+\.\d+\s) | (?:Compiling|Downloading|Collecting)\s\S
    """
)
_TRACED = re.compile(r"Traceback \(most recent call last\)|={5,} test session starts|Exception in thread|panic: ")
_STRONG = re.compile(
    r"""(?x)\s*(?:
    (?:async\s+)?def\s+\w+\s*[(\[] | class\s+\w+\s*(?:[:({<]|extends\b|implements\b|$) | (?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+\w+\s*[<(]
    | import\s+(?:[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+)*\s*;?$|[{*"'(]|\w+\s*,?\s*(?:\{.*\}\s*)?from\s+["']|static\b)
    | from\s+[\w.]+\s+import\s | use\s+[\w:]+(?:::[\w{*].*)?;$ | \#(?:include\s*[<"]|define\s|ifndef\s|ifdef\s|pragma\s) | \#!/
    | package\s+[\w.]+;?$ | (?:export\s+)?(?:default\s+)?(?:async\s+)?function\b[\s*]*(?:\w+\s*)?\( | func\s+(?:\([^)]*\)\s*)?\w+\s*\(
    | (?:public|private|protected|static)\s+[\w<>\[\],\s]+[({;=] | (?:export\s+)?(?:const|let|var)\s+[\w{\[][^=\n]*= | namespace\s+[\w:\\]+\s*[{;]
    | SELECT\s.+\sFROM\s | (?:CREATE|ALTER)\s+TABLE\s | <\?php
    )"""
)
_OPENS = ("{", "}", "):", "=>")
_ASSIGNED_WORDS = 4  # before the sign: a type, a name
_ENDS = re.compile(
    r"""(?x)\s*(?:[\w.:>-]+\(.*\)|return\b.*|break|continue|[\w.\[\]]+(?:\+\+|--));$
    | \s*\w[\w<>*&\s]{0,40}\s\**\w+(?:\[\d*\])?;$(?<!\w\s\w\s\w;)"""
)
_BLOCK = re.compile(
    r"""(?x)\s*(?:if|for|while|switch)\s*\(.*\)\s*\{?
    | \s*(?:@\w+|return|elif|else|try|with|for|if|while)\b[^.]*:?$"""
)
_COMMENT = re.compile(r"\s*(?://|/\*|\*(?:\s|/|$)|#|--\s|\"\"\"|''')")
_LISTED = re.compile(
    r"[-dlcbps][-rwxsStT]{9}|total \d+$|[0-9a-f]{7,40}\s|\S+:\d+:|[ MADRCU?!]{2} \S|\s*\d+(?:\.\d+)?[KMGT]?\t\S"
)
_SENTENCE_END = re.compile(r"[.!?,;:…)\"'”’]$")


def detect(text: str) -> Content:
    """What kind of text this is.

    Our own marks are looked past, and never make a kind that may be cut of one that may not: anybody can write them.
    """
    marked = marks.leading(text) or marks.trailing(text)
    if marked is None:
        return _detect(text)
    whole = marked.before or marked.after
    found = _detect(whole) if whole else Content.LOG
    end_was_kept = bool(marked.after) and found not in (Content.STRUCTURED, Content.UNKNOWN)
    return Content.LOG if end_was_kept else found  # the end of a text is kept of logs only


def _detect(text: str) -> Content:
    start = len(text) - len(text.removeprefix("\ufeff").lstrip())
    if start == len(text):
        return Content.UNKNOWN
    lines = _looked_at(text[start : start + _HEAD_CHARS])
    if numbered := _without_numbers(lines):
        return _by_lines(numbered, numbered=True)
    if is_structured(text[start:] if start else text):
        return Content.STRUCTURED
    found = _by_lines(lines, numbered=False)
    ends_alike = _ENDS_ALIKE.get(found)
    if ends_alike is None or (len(text) - start <= _HEAD_CHARS and found is not Content.PROSE):
        return found
    last = _looked_at("\n".join(text[max(len(text) // 2, len(text) - _HEAD_CHARS) :].split("\n")[1:][-_HEAD_LINES:]))
    return found if len(last) < _OUTPUT_LINES or ends_alike(last) else Content.LINES


def _looked_at(part: str) -> list[str]:
    """The first lines of a part without what colours them, none longer than it takes to know it."""
    if "\x1b" in part:
        part = _ANSI.sub("", part)
    lines = [line[:_LOOKED_AT].rstrip() for line in part.split("\n", _HEAD_LINES)[:_HEAD_LINES]]
    if "[truncated: " in part:
        return [line for line in lines if not marks.is_marker(line)] or lines
    return lines


def _squeezed(text: str) -> str:
    """A text with one space for any run of them, so that no two patterns share a run."""
    return _RUN.sub(" ", text) if "  " in text or "\t" in text else text


def _without_numbers(lines: Sequence[str]) -> list[str]:
    """The lines of a file as tools show it, each behind its number; empty for any other text."""
    found = [match for match in map(_NUMBERED.match, lines) if match]
    if len(found) < _NUMBERED_LINES or 3 * len(found) < 2 * sum(map(bool, lines)):
        return []
    numbers = [int(match[1]) for match in found]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return []
    return [match.string[match.end() :] for match in found]


def _by_lines(all_lines: Sequence[str], *, numbered: bool) -> Content:
    head = _squeezed("\n".join(all_lines))
    lines = [line for line in head.split("\n") if line and not line.isspace()]
    if not lines or (is_blob(lines) and not numbered):
        return Content.UNKNOWN
    questions = (
        (Content.DIFF, lambda: any(sign in head for sign in _DIFF_SIGNS) and _DIFF.search(head)),
        (Content.LOG, lambda: not numbered and _is_log(lines)),
        (Content.MARKUP, lambda: _is_markup(all_lines, lines, head)),
        (Content.TABLE, lambda: _is_table(lines, head)),
        (Content.CODE, lambda: _is_code(lines)),
        (Content.LINES, lambda: _is_listing(lines) or _is_output(lines)),
        (Content.PROSE, lambda: any(map(_has_words, lines)) or _unspaced(head) >= _PROSE_CHARS),
        (Content.LINES, lambda: len(lines) >= _TWICE),
    )
    return next((content for content, answer in questions if answer()), Content.UNKNOWN)


def _is_output(lines: Sequence[str]) -> bool:
    """Whether most of some lines, by their length, are no sentences, or begin alike: what a program said.

    Its end matters as much as its beginning, so where this and prose are hard to tell apart, it is not taken for prose.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < _OUTPUT_LINES:
        return False
    told = sum(len(line) for line in lines if _is_told(line))
    return 2 * told < sum(map(len, lines)) or _begin_alike(lines)


def _begin_alike(lines: Sequence[str]) -> bool:
    """Whether the greater part of some lines has the same first words, but for digits, and ends like no sentence."""
    opened = [line for line in lines if not _SENTENCE_END.search(line)]
    starts = Counter(tuple(_DIGITS.sub("0", line[:_ALIKE_CHARS]).split()[:_ALIKE_WORDS]) for line in opened)
    return len(lines) > _OUTPUT_LINES and 2 * max(starts.values(), default=0) > len(lines)


def _is_told(line: str) -> bool:
    """Whether a line is a sentence, or a part of one: words, with hardly anything between them that is none."""
    if _unspaced(line) >= _PROSE_CHARS:
        return True
    words = line.split()
    if not words or category(words[0][0]) in ("So", "Sm"):  # a check mark, an arrow
        return False
    plain = sum(1 for word in words if _WORD.fullmatch(word))
    return len(words) >= _PROSE_WORDS and 5 * plain >= 4 * len(words) and not _PLACED.match(line)


def _is_log(lines: Sequence[str]) -> bool:
    logged = sum(1 for line in lines if _LOGGED.match(line))
    return (logged >= _TWICE and 2 * logged >= len(lines)) or bool(_TRACED.match(lines[0]))


def _is_markup(all_lines: Sequence[str], lines: Sequence[str], head: str) -> bool:
    if ("\\" in head and _LATEX.search(head)) or _HTML.match(head):
        return True
    if head.count("#") < _TWICE:
        return False
    titles = [at for at, line in enumerate(all_lines) if _HEADING.match(line)]
    apart = sum(1 for at in titles if not all([*all_lines[max(at - 1, 0) : at], *all_lines[at + 1 : at + 2]]))
    told = apart >= _TWICE or any(_has_words(line) for line in lines if not line.startswith("#"))
    return len(titles) >= _TWICE and told and not _is_code(lines)


def _is_table(lines: Sequence[str], head: str) -> bool:
    if (any(line.lstrip().startswith(_BOX_STARTS) for line in lines) and _BOX.search(head)) or _is_separated(lines):
        return True
    if "|" not in head and "+" not in head:
        return False
    rows = sum(1 for line in lines if _ROW.fullmatch(line))
    return bool(_RULE.search(head)) or rows >= max(_TABLE_LINES, len(lines) // 2)


def _is_separated(lines: Sequence[str]) -> bool:
    """Values with commas or tabs between them, as many on every line."""
    lines = [_QUOTED.sub("", line) for line in lines]
    return len(lines) >= _TABLE_LINES and any(
        lines[0].count(sign) >= _TWICE and len({line.count(sign) for line in lines[:-1]}) == 1 for sign in ",\t;"
    )


def _is_code(lines: Sequence[str]) -> bool:
    strong = weak = plain = 0
    for line in lines:
        if _STRONG.match(line):
            strong += 1
        elif _COMMENT.match(line):
            continue
        elif _looks_like_code(line):
            weak += 1
        else:
            plain += _has_words(line)
    return lines[0].startswith("#!") or (bool(strong or weak >= _TWICE) and 2 * strong + weak > plain)


def _looks_like_code(line: str) -> bool:
    """Whether a line is code's, cheap questions first."""
    return (
        line.endswith(_OPENS)
        or _assigns(line)
        or bool(line.endswith(";") and _ENDS.match(line))
        or bool(_BLOCK.match(line))
    )


def _assigns(line: str) -> bool:
    name, sign, value = line.partition("=")
    name, last = name.rstrip(" \t+-*/|&:"), line[-1:]
    named = name[-1:].isalnum() or name.endswith(("_", ")", "]", '"', "'"))
    return bool(sign and value.strip() and named) and len(name.split()) <= _ASSIGNED_WORDS and last not in ".!?,:"


def _is_listing(lines: Sequence[str]) -> bool:
    if len(lines) < _LISTED_LINES:
        return False
    listed = sum(1 for line in lines if len(line) <= _LISTED_WIDTH and (_LISTED.match(line) or _is_short(line)))
    return 5 * listed >= 4 * len(lines)


def _is_short(line: str) -> bool:
    return not (_has_words(line) or _SENTENCE_END.search(line) or _unspaced(line) >= _PROSE_CHARS)


def _has_words(line: str) -> bool:
    return len(line.split(None, _PROSE_WORDS)) >= _PROSE_WORDS


def _unspaced(text: str) -> int:
    return 0 if text.isascii() else sum(map(len, UNSPACED_RUN.findall(text)))


_ENDS_ALIKE: dict[Content, Callable[[Sequence[str]], bool]] = {
    Content.PROSE: lambda last: not _is_output(last),
    Content.TABLE: lambda last: _is_table(last, "\n".join(last)) or 2 * sum("|" in line for line in last) > len(last),
    Content.UNKNOWN: is_blob,
}
"""Of the kinds that lose their end, or cannot be cut: whether the last lines of a text are of the kind too."""
