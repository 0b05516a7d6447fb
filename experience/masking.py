"""Secrets and personal values, found by their shape and replaced by what they are.

For text that is made from what was recorded and goes further than the store: drafts of skills, prompts for a model. It
prefers a miss to a false alarm where a shape is shared with harmless things (commit ids, UUIDs, hashes); what it
replaces it replaces whole. It knows nothing of where text comes from or goes to.
"""

import re
from collections import Counter
from collections.abc import Callable

_Check = Callable[[str], bool]


def _luhn(found: str) -> bool:
    """ISO/IEC 7812: the check digit of a payment card."""
    digits = [int(char) for char in found if char.isdigit()]
    doubled = (2 * digit - 9 * (digit > 4) for digit in digits[-2::-2])  # noqa: PLR2004 (above 4 doubling makes two digits)
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def _looks_random(found: str) -> bool:
    """A value after a telling name: with a digit in it, and no code, path, placeholder or plain number."""
    value = re.split(r"(?:=>|[:=]|\bis\b)\s*", found, maxsplit=1)[-1]
    quoted = value[:1] in "\"'"
    value = value.strip("\"'")
    if not _has_digit(value) or value.isdecimal() or value.startswith(("$", "<", "{", "%", "…", "[", "/", "~")):
        return False
    return quoted or not any(char in "()[]{}" for char in value)


def _has_digit(found: str) -> bool:
    return any(char.isdigit() for char in found)


def _elsewhere(found: str) -> bool:
    """An address of some machine, and not of this one or of all."""
    return not found.startswith(("0.", "127.")) and all(int(part) < 256 for part in found.split("."))  # noqa: PLR2004


_ANY: _Check = bool
# In this order: what stands earlier takes its text from what stands later.
_SHAPES: tuple[tuple[str, re.Pattern[str], _Check], ...] = (
    ("key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), _ANY),
    ("credentials", re.compile(r"(?<=://)[^\s/:@]{0,256}:[^\s/@]{1,256}(?=@)"), _ANY),
    (
        "token",
        re.compile(
            r"\b(?:sk-(?:[a-z0-9]{2,8}-){0,3}[A-Za-z0-9_]{16,}[\w-]*|(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
            r"|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}"
            r"|pypi-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|SG\.[\w-]{16,}\.[\w-]{16,}"
            r"|(?<!-)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        _ANY,
    ),
    ("token", re.compile(r"(?i)\b(?:bearer|basic)\s+[\w.~+/-]{16,}=*"), _has_digit),
    (
        "secret",
        re.compile(
            r"(?i)(?:passw(?:or)?d|passwort|pwd|passphrase|secret|api[-_ ]?key|access[-_ ]?key|auth[-_]?token|private[-_ ]?key|token)"
            r"[\"']?\s{0,4}(?:=>|=|:|\bis\b)\s{0,4}(?:\"[^\"\n]{6,200}\"|'[^'\n]{6,200}'|[^\s\"',;]{6,})"
        ),
        _looks_random,
    ),
    ("email", re.compile(r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"), _ANY),
    ("phone", re.compile(r"(?<!\w)\+\d{8,15}(?!\w)"), _ANY),
    ("card", re.compile(r"(?<![\w-])(?:\d{13,19}|\d{4}(?:[ -]\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{5})(?![\w-])"), _luhn),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"), _ANY),
    ("ssn", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), _ANY),
    ("phone", re.compile(r"(?<![\w+.-])(?:\+\d{1,3}[ .-]?(?:\(?\d{2,4}\)?[ .-]?)\d{3,4}[ .-]?\d{3,4}|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}-\d{3}-\d{4})(?![\w-])"), _ANY),
    ("address", re.compile(r"(?<![\w.])(?<!ersion )(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)"), _elsewhere),
)  # fmt: skip


def masked(text: str, allowed: str = "") -> tuple[str, Counter[str]]:
    """The text with each secret or personal value as `[kind]`, and how many of each kind there were.

    What stands in `allowed` too is left as it is: it is known already to whoever will read the text.
    """
    counts: Counter[str] = Counter()
    for kind, pattern, check in _SHAPES:

        def replace(found: re.Match[str], kind: str = kind, check: _Check = check) -> str:
            if not check(found.group()) or found.group() in allowed:
                return found.group()
            counts[kind] += 1
            return f"[{kind}]"

        text = pattern.sub(replace, text)
    return text, counts
