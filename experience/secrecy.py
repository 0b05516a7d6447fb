"""Whether what stands where a secret might stand is one: judgement on a value, by the look of it alone.

After a telling name stand secrets, and also code, types, words, placeholders, paths and versions. A password may be any
word, so its name has to be nearly proof; a token is drawn by a machine, so it has to look like it. It knows no names of
vendors and no text around the value but for what ties the two together.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from itertools import pairwise

_FEWEST = 6  # characters of a secret after a telling name
_FEWEST_DRAWN = 8  # of one that a machine has drawn
_LONG_DRAWN = 20  # from which on letters alone may have been drawn
_TURNS = 4  # changes between small and capital letters that no word has
_FEW_LETTERS = 2  # different ones of what only fills a place: xxxx, ****, 0-0-0

_REFERENCE = re.compile(
    r"\$[\w{(]|[<{\[…*]|%[({%\w]*[)}%s]|(?:https?|file|arn|vault|op|ssm|secretsmanager|keyring|env):|~|\.{1,2}/|!\w|@\w*[({]|ENC\["
)
_TEMPLATE = re.compile(r"\$?\{[^{}]{0,80}\}|%\(\w+\)s|%s|<[a-z][\w -]{0,40}>|[xX]{8}|\*{4}|\$\(\w")
_FILLED_IN = re.compile(
    r"(?i)(?:your|insert|enter|replace)[-_ .]|(?:the|an?|some|any|put|use|see|choose|type|provide|set|this) |your(?:api|secret|pass|token|key)"
    r"|change[-_ ]?(?:me|it|this)|replace[-_ ]?me|example|placeholder|dummy|fake|redacted|masked|hidden|removed|omitted|todo\b|fixme|tbd\b|abc123\Z"
)
_PROSE = re.compile(
    r"(?i)\b(?:must|at least|is|are|be|to|of|or|not|for|your|please|should|characters|in|has|with|was)\b"
)
_PATH = re.compile(r"/?(?:[\w.@{}$-]+/)+[\w.@{}$-]*\Z|/[\w.-]+\Z|[A-Za-z]:\\")
_FILE = re.compile(
    r"(?i)[\w./ -]+\.(?:txt|json5?|ya?ml|toml|ini|cfg|conf|env|pem|key|crt|cer|pub|p12|py|[jt]sx?|go|rs|rb|java|sh|md|html?|xml|csv|log|lock|db|tmpl|j2|enc|asc|gpg)\Z"
)
_VERSION = re.compile(r"[v^~<>=! ]*\d+(?:\.(?:\d+|[x*]))+(?:[-+.][\w.+-]*)?\Z")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}")
_NAME = r"[A-Za-z_]+(?:\d{1,5}[A-Za-z_]+){0,3}\d{0,5}"
_ATTRIBUTE = re.compile(rf"{_NAME}(?:(?:\??\.|::|->){_NAME})+[.!?]?\Z")
_PIECES = re.compile(r"[-_./:+|@\s]+")
_WORD = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)*\d{0,3}|[A-Z]+\d{0,3}|[vV]?\d{1,4}")
_ALGORITHM = re.compile(
    r"(?i)(?:sha-?\d+|md5|base\d+|utf-?(?:8|16|32)|argon2\w*|pbkdf2|bcrypt|scrypt|aes-?\d*|[rhep]s\d{3}|ed25519|x509|oauth2?|pkcs\d+|ascii|int\d+|float\d+|uuid\d?|v\d+)(?:[-_:/ ]?\w+)?\Z"
)
_PLAIN_WORDS = frozenset(
    "a abc access account admin api app auth bad bar basic baz bearer client code cookie credential credentials csrf data db default "
    "empty expired field foo good hash header id incorrect input int invalid is jwt key login match mismatch missing mock my name new next no "
    "none not null nil number object old optional pass passphrase passwd password private pwd refresh required reset sample secret "
    "sent session set some str string super test text the token true false type undefined unknown unset user username valid value "
    "wrong yes example header bytes boolean bool any self env environ varchar unexpected prompt needed shown above below "
    "rotated rotate disabled enabled identifier literal newline keyword operator punctuation eof whitespace comment".split()
)


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret that is filled in elsewhere: `$TOKEN`, `<your-key>`, `xxxx`, `changeme`."""
    return bool(
        _REFERENCE.match(value)
        or _FILLED_IN.match(value)
        or _TEMPLATE.search(value)
        or len(set(value.lower()) - set("-_. ")) <= _FEW_LETTERS
    )


def is_wordy(value: str) -> bool:
    """Whether a value is words and small numbers, joined: `read-only`, `step_2`, `AccessToken`."""
    return all(_WORD.fullmatch(piece) for piece in _PIECES.split(value) if piece)


def looks_drawn(value: str) -> bool:
    """Whether a machine may have drawn it: letters and digits that make no words, or letters of changing size."""
    if len(value) < _FEWEST_DRAWN or is_placeholder(value) or (_PATH.match(value) and is_wordy(value)):
        return False
    digits = sum(char.isdigit() for char in value)
    if digits and digits < len(value):
        return not is_wordy(value) and not _VERSION.match(value) and not _MOMENT.match(value)
    turns = sum(one.islower() != other.islower() for one, other in pairwise(value))
    return not digits and len(value) >= _LONG_DRAWN and turns >= _TURNS and not is_wordy(value)


def is_code(value: str) -> bool:
    """Whether it is a call, an element or an attribute of something."""
    return any(char in "()[]{}|" for char in value) or _ATTRIBUTE.match(value) is not None


def is_login(value: str) -> bool:
    """Whether it is a name and a password in base64, as HTTP and docker have them."""
    try:
        login = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (NotBase64, ValueError):
        return False
    return ":" in login and login.isprintable()


def is_password(value: str, *, quoted: bool, tight: bool) -> bool:
    """Whether the value after a name for passwords is one.

    `quoted`: it stood in quotes. `tight`: after an equals sign of a line that is no code (`DB_PASSWORD=value`).
    """
    value = value if quoted else value.rstrip(".")
    if _is_harmless(value, quoted=quoted, tight=tight or quoted):
        return False
    if any(char.isdigit() for char in value):
        sure = quoted or tight
        return (not value.isdecimal() or sure) and (sure or not (_PIECES.search(value) and is_wordy(value)))
    if " " in value or not (quoted or tight):
        return False
    return bool(re.search(r"[!@#$%^&*?+]", value)) or (
        len(value) >= _FEWEST_DRAWN and not (is_wordy(value) and not tight and "_" in value)
    )


def is_key(value: str, *, quoted: bool, tight: bool) -> bool:
    """The same for a name for tokens and keys."""
    value = value if quoted else value.rstrip(".")
    if _is_harmless(value, quoted=quoted, tight=tight) or " " in value:
        return False
    if looks_drawn(value) or (tight and value.isalpha() and len(value) >= _FEWEST_DRAWN and not value.isupper()):
        return True
    mixed = any(char.isdigit() for char in value) and not value.isdecimal()
    return mixed and len(value) >= _FEWEST_DRAWN and (quoted or tight) and not _PIECES.search(value)


def is_named(value: str, *, words: bool) -> bool:
    """Whether a value is a secret that a field holds whose name tells; `words`: plain words may stand there too."""
    if words or " " in value:
        return (is_key if words else is_password)(value, quoted=True, tight=True)
    return not _is_harmless(value, quoted=True, tight=True)


def _is_harmless(value: str, *, quoted: bool, tight: bool) -> bool:
    """What is too short, a placeholder, a reference, code, a path, a version, an algorithm, or a word that says what is meant."""
    if (
        len(value) < _FEWEST
        or is_placeholder(value)
        or _VERSION.match(value)
        or _MOMENT.match(value)
        or _ALGORITHM.match(value)
    ):
        return True
    if " " in value and _PROSE.search(value):
        return True
    if _FILE.match(value) or (_PATH.match(value) and is_wordy(value)):
        return True
    if not quoted and is_code(value):
        return True
    if value.isalpha() and value.lower().endswith(("password", "passwd", "secret", "token", "key")):
        return True
    digits = sum(char.isdigit() for char in value)
    words = [word.lower() for piece in _PIECES.split(value) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", piece)]
    return digits <= (not tight) and bool(words) and set(words) <= _PLAIN_WORDS
