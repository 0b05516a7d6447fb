"""Recorded text is not trusted: what must not reach a terminal, or an agent, as it is.

A terminal acts upon control characters, and a reader upon what looks like another text than it is. Both are shown as
escapes. An agent acts upon sentences; those that a skill has no reason to hold are found and named, for a person to
judge. It knows nothing of where text comes from or goes to.
"""

import re
import unicodedata
from typing import NamedTuple

from experience.errors import shown

# Controls other than the line break, line separators, direction marks, overrides and isolates, tag characters.
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
# What an agent reads and a person does not see: of the above without tabs, and characters of no width. Joiners between
# letters of other scripts and within emoji have their use.
_ALWAYS_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u115f\u1160\u061c\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
_STYLES = "\ufe0e\ufe0f"  # after a symbol: as text, as a picture
# Letters that joiners and styles have nothing to do with: those of Europe, of China, Japan and Korea.
_PLAIN = " -~\u00a1-\u058f\u10a0-\u10ff\u1e00-\u1fff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
# All that may stand unseen before what is seen, for a class of a pattern.
UNSEEN = f"{_ALWAYS_UNSEEN}{_JOINERS}{_STYLES}"
_KEYCAPS = "0-9#*"
_STRAY = f"(?<=[{_PLAIN}])[{_JOINERS}]|[{_JOINERS}](?=[{_PLAIN}])|(?<=[{_PLAIN}])(?<![{_KEYCAPS}\u00a9\u00ae])[{_STYLES}]|(?<=[{_STYLES}])[{_STYLES}]"
_UNSEEN = re.compile(f"[{_ALWAYS_UNSEEN}]|{_STRAY}")
# Of the same a whole run, so that what an escape puts beside a joiner does not count as its neighbour. Several joiners
# in a row join nothing.
_UNSEEN_RUN = re.compile(
    f"[{_ALWAYS_UNSEEN}{_JOINERS}]*[{_ALWAYS_UNSEEN}][{_ALWAYS_UNSEEN}{_JOINERS}]*|[{_JOINERS}]{{2,}}|{_STRAY}"
)

# The next three are compiled when something is first looked for (`re` remembers them): that takes as long as a whole query.
_OVERRIDE = r"""(?ix)
    \b(?:ignore|disregard|forget|override|bypass|do\s+not\s+follow|don['’]t\s+follow)\s+(?:\w+\s+){0,4}?
        (?:previous|prior|above|earlier|preceding|system|developer|safety|security|your|other|existing)\s+(?:\w+\s+){0,3}?
        (?:instruction|prompt|rule|guideline|direction|message|polic|restriction|guardrail|training|context)\w*
    | \b(?:you\s+are\s+now|from\s+now\s+on,?\s+you\s+are|pretend\s+(?:to\s+be|you\s+are)|act\s+as\s+(?:if\s+you\s+(?:are|were)\s+)?
        (?:an?\s+)?(?:unrestricted|jailbroken|developer\s+mode|dan))\b
    | \b(?:new|updated|real|hidden|secret)\s+(?:system\s+)?(?:instructions?|prompt)\s*:
    | \b(?:reveal|print|show|leak|repeat|output|exfiltrate)\s+(?:\w+\s+){0,3}?(?:system\s+prompt|hidden\s+instructions|initial\s+instructions)
    | \bwithout\s+(?:asking|telling|informing|notifying)\s+(?:the\s+)?(?:user|human|operator|owner)\b
    | \b(?:do\s+not|don['’]t|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to|notify)\s+(?:the\s+)?(?:user|human|operator|owner)\b
    | (?:忽略|无视|忘记|忘掉|不要遵守|無視)(?:.{0,12})(?:以上|指令|提示|规则|规定|說明|说明|指示)
    | (?:これまで|以前|上記|前)の?(?:.{0,8})(?:指示|命令|ルール)を?(?:無視|忘れ)
    | \b(?:ignor(?:ier\w*|a|e|ez|ar|a\s+todas)|vergiss|oublie\w*|olvida\w*)\s+(?:\w+\s+){0,4}?
        (?:anweisung\w*|regeln?|instru[cç]\w+|consignes?|règles?|reglas?|regras?|istruzioni)
    | \b(?:забудь\w*|(?:про)?игнорируй\w*|не\s+следуй\w*)\s+(?:\w+\s+){0,4}?(?:инструкци|указани|правил|команд)\w*
    | (?:تجاهل|انس|لا\s+تتبع)\s+(?:\w+\s+){0,4}?(?:ال)?(?:تعليمات|أوامر|قواعد|إرشادات)
    | \b(?:negeer|ignorera|zignoruj|pomiń|abaikan|bỏ\s+qua)\s+(?:\w+\s+){0,5}?(?:instruct\w*|instrukc\w*|instruksi\w*|regels|regler|aanwijzingen|hướng\s+dẫn|chỉ\s+dẫn|petunjuk)
    | (?:önceki|yukarıdaki)\s+(?:\w+\s+){0,3}?(?:talimat|kural|yönerge)\w*\s+(?:yok\s*say|göz\s*ardı|unut|görmezden)
    | (?:पिछले|पिछली|ऊपर\s+के)\s+(?:\S+\s+){0,3}?(?:निर्देश|नियम)\S*\s+(?:\S+\s+){0,2}?(?:अनदेखा|नज़रअंदाज़|भूल)
    | (?:이전|위의?|기존)\s*(?:의\s*)?(?:모든\s*)?(?:지시|명령|규칙|지침)\S*\s*(?:\S+\s*){0,2}?무시
    """
_TOOL_CALL = r"""(?ixm)
    </?\s*(?:antml:)?(?:tool_?calls?|tool_?use|tool_?results?|function_?calls?|function_?results?|invoke|parameter|system(?:-reminder)?|assistant)\b[^>\n]{0,200}>
    | <\|[\w ]{1,40}\|> | \[/?INST\] | \[TOOL_(?:CALLS|RESULTS)\] | <</?SYS>>
    | "(?:tool_calls|function_call|tool_use_id|tool_call_id)"\s*: | "type"\s*:\s*"(?:tool_use|tool_call|function_call)" | <(?:start|end)_of_turn>
    | ^[ \t]*(?:\#{1,6}[ \t]*)?(?:assistant|human|developer)\s*:\s
    """
_URL = (
    r"(?i)\b(?:https?|ftp|file|data|javascript|ssh|git)\s?:(?://|[a-z]+/[a-z0-9.+-]+[;,])\S+|\bwww\.\S+\.\S+"
    r"|\]\(\s?//\S+|\b(?:curl|wget|scp)\s+(?:-\S+\s+){0,5}[\w@-]+\.\S+"
)


_STYLED = re.compile(r"[^\x00-\x7f\s]{1,64}")
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0370-\u04ff])\w{1,64}\b")
_LOOK_ALIKES = str.maketrans(
    "аеорсхуіјѕԁһӏАВЕКМНОРСТХІЈЅοαρνκιΑΒΕΗΙΚΜΝΟΡΤΧΥΖ", "aeopcxyijsdhlABEKMHOPCTXIJSoapvkiABEHIKMNOPTXYZ"
)
_APART = re.compile(r"(?<!\w)(?:[^\W\d_] ){3,}[^\W\d_](?!\w)")


class Hazard(NamedTuple):
    """Something in a text that an agent might obey, follow or give away."""

    kind: str
    """One of override, unseen, tool-call, url, secret."""
    found: str
    """The first of it, quoted and short; of a secret only what it is."""


def visible(text: str) -> str:
    """The text with everything a terminal would act upon as a Python escape; line breaks are kept."""
    return _HIDDEN.sub(_spelled_out, text)


def revealed(text: str) -> str:
    """The text with everything a reader would not see as a Python escape: what `visible` escapes but for tabs, and
    characters of no width.

    Line breaks (`\\n`) and tabs are kept, so nothing but `\\n` parts lines in what comes back. A joiner stays where
    letters of other scripts and emoji need it. What reads like an escape already is left as it is: this is for reading,
    and does not lead back.
    """  # noqa: D205
    return _UNSEEN_RUN.sub(_spelled_out, text)


def visible_json(written: str) -> str:
    """The same for JSON, with JSON's escapes: it stays the same data."""
    return _HIDDEN.sub(_spelled_out_in_json, written)


def hazards(text: str) -> tuple[Hazard, ...]:
    """What a text that an agent will follow has no reason to hold: at most one of a kind, in a fixed order.

    Sentences that set other instructions aside (in a few languages) or hide from the user, characters nobody sees, what
    looks like a call of a tool or a turn of a conversation, addresses, secrets. Shapes, not meaning: it misses what is
    put in other words, and a person still has to read.
    """
    from experience.masking import masked

    found = []
    seen = _UNSEEN.sub("", text)  # what hides between letters must not hide a sentence
    read = as_read(seen)
    for kind, pattern, where in (
        ("override", _OVERRIDE, read),
        ("unseen", _UNSEEN, text),
        ("tool-call", _TOOL_CALL, read),
        ("url", _URL, seen),
    ):
        if match := re.search(pattern, where):
            found.append(Hazard(kind, shown(visible(match.group().strip() or match.group()))))
    _, secrets = masked(seen)
    if secrets:
        found.append(Hazard("secret", ", ".join(sorted(secrets))))
    return tuple(found)


def revealed_json(written: str) -> str:
    """JSON with all that `revealed` escapes as JSON's escapes: it stays the same data."""
    return _UNSEEN_RUN.sub(_spelled_out_in_json, written)


def without_unseen(text: str) -> str:
    """The text without what a reader does not see of it."""
    return _UNSEEN_RUN.sub("", text)


def as_read(text: str) -> str:
    """The text as a reader takes it: wide and styled letters as plain ones, borrowed ones in a Latin word as Latin, letters
    that stand apart as a word.
    """  # noqa: D205
    if not text.isascii():
        text = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)
        text = _MIXED.sub(lambda found: found.group().translate(_LOOK_ALIKES), text)
    return _APART.sub(lambda found: found.group().replace(" ", ""), text)


def _spelled_out(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()


def _spelled_out_in_json(found: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(found.group()))


def _utf16(char: str) -> list[int]:
    units = char.encode("utf-16-be")
    return [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
