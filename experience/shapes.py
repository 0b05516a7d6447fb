"""How secrets and personal values look: data, in the order in which they are looked for.

A shape names what it finds, what has to stand in a text that holds one (so that most texts are never looked at closely),
how it reads, and what decides whether it is one. Patterns take time that grows with the text: parts that repeat are
bounded or give nothing back. Shared shapes (commit ids, UUIDs, hashes) count only beside a name that tells.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from experience.secrecy import is_code, is_key, is_login, is_named, is_password, is_placeholder, looks_drawn


class Shape(NamedTuple):
    """One kind of value, and how it is found."""

    kind: str
    anchors: tuple[str, ...]
    """What it begins with, one of them; in small letters where case does not matter. None: it may begin anywhere."""
    pattern: re.Pattern[str]
    """What is replaced is the group `value`, or the first of `quoted` and `bare` that took part, or else all of it."""
    is_one: Callable[[re.Match[str]], bool] = bool
    hints: tuple[str, ...] = ()
    """One of these stands in any text that holds one; where there are none, an anchor does."""
    long: bool = False
    """Whether it is a word of at least LONG characters, or stands in one, so that short words need not be searched."""


JUDGED = 160
"""Characters of a value that are looked at; a longer one is what its beginning is."""
_TAIL = re.compile(r"[\w-]++")
LONG = 15
"""Characters without white space from which on a word is long."""


def span(found: re.Match[str]) -> tuple[int, int]:
    """Where the value itself stands."""
    for name in ("value", "quoted", "bare"):
        if name in found.re.groupindex and found[name] is not None:
            start, end = found.span(name)
            rest = _REST.get(name)
            longer = rest.match(found.string, end) if rest is not None and end - start >= JUDGED else None
            return start, longer.end() if longer else end
    start, end = found.span()
    longer = _TAIL.match(found.string, end) if end - start >= JUDGED else None
    return start, longer.end() if longer else end


def value(found: re.Match[str]) -> str:
    """The value itself, or as much of it as is judged by."""
    for name in ("value", "quoted", "bare"):
        if name in found.re.groupindex and found[name] is not None:
            return str(found[name])
    return str(found[0])


# -- vendors' tokens: what they begin with, and what follows ---------------------------------------------------------------

_VENDORS = (
    *((f"sk-{who}-", r"[\w-]{16,}") for who in ("ant", "proj", "svcacct", "admin", "or", "lf", "None")),
    *((f"gh{kind}_", r"[A-Za-z0-9]{20,}") for kind in "pousr"),
    ("github_pat_", r"\w{20,}"),
    *((f"gl{kind}-", r"[\w-]{16,}") for kind in ("pat", "oas", "dt", "rt", "rtr", "cbt", "ptt", "ft", "imt", "agent", "soat", "ffct")),
    ("GR1348941", r"[\w-]{20,}"),
    *((f"xox{kind}-", r"[\w-]{10,}") for kind in "abeoprs"),
    ("xoxe.", r"xox[bp]-[\w-]{10,}"), ("xapp-", r"\d-[\w-]{10,}"),
    *((kind, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for kind in ("AKIA", "ASIA", "ABIA", "ACCA")),
    ("AIza", r"[\w-]{30,}"), ("GOCSPX-", r"[\w-]{20,}"), ("ya29.", r"[\w-]{20,}"), ("1//0", r"[\w-]{30,}"),
    *((f"{kind}_{mode}_", r"[A-Za-z0-9]{10,}") for kind in ("sk", "rk", "pk") for mode in ("live", "test")),
    ("whsec_", r"[A-Za-z0-9+/]{20,}={0,2}"),
    ("SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"), ("SG.", r"[\w-]{16,}\.[\w-]{16,}"), ("key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("npm_", r"[A-Za-z0-9]{30,}"), ("pypi-A", r"[\w-]{20,}"), ("hf_", r"[A-Za-z0-9]{20,}"), ("api_org_", r"[A-Za-z0-9]{30,}"),
    ("rubygems_", r"[0-9a-f]{40,}"), ("dckr_", r"(?:pat|oat)_[\w-]{20,}"), ("AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    *((f"do{kind}_v1_", r"[0-9a-f]{40,}") for kind in "opr"), *((f"shp{kind}_", r"[0-9a-fA-F]{30,}") for kind in ("at", "ca", "pa", "ss")),
    ("dapi", r"[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"), ("hvs.", r"[\w-]{20,}"), ("hvb.", r"[\w-]{20,}"), ("lin_api_", r"[A-Za-z0-9]{30,}"), ("ntn_", r"[A-Za-z0-9]{40,}"),
    ("figd_", r"[\w-]{30,}"), ("PMAK-", r"[0-9a-f-]{40,}"), ("NRAK-", r"[A-Z0-9]{20,}"), ("glsa_", r"\w{30,}"), ("glc_", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("sntrys_", r"[\w+/=-]{40,}"), ("sntryu_", r"[0-9a-f]{40,}"), ("sbp_", r"[0-9a-f]{40}"), ("pscale_tkn_", r"[\w.-]{30,}"), ("pscale_pw_", r"[\w.-]{30,}"),
    ("gsk_", r"[A-Za-z0-9]{30,}"), ("xai-", r"[A-Za-z0-9]{40,}"), ("r8_", r"[A-Za-z0-9]{30,}"), ("pplx-", r"[A-Za-z0-9]{30,}"), ("pcsk_", r"\w{30,}"),
    ("lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_\w+"), ("tskey-", r"[a-z]+-[\w-]{16,}"), ("ATATT3", r"[\w=-]{40,}"), ("ATCTT3", r"[\w=-]{40,}"), ("sq0atp-", r"[\w-]{20,}"),
    ("sq0csp-", r"[\w-]{20,}"), ("EAA", r"[A-Za-z0-9]{60,}"), ("CCIPAT_", r"\w{20,}"), ("bkua_", r"[0-9a-f]{40}"), ("fm2_", r"[\w+/=,-]{40,}"), ("dp.", r"(?:pt|st|ct|scim|audit)\.[\w.-]{40,}"),
    ("eyJ", r"[\w-]{8,}\.[\w-]{8,}\.[\w-]*(?:\.[\w-]+){0,2}"), ("sk.eyJ", r"[\w-]{20,}\.[\w-]{10,}"), ("PRIVATE-TOKEN-", r"[\w-]{20,}"),
)  # fmt: skip


BEFORE_TOKEN = re.compile(
    r"\\(?:[nrtbfv0]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}|=[0-9A-F]{2}|\[[\d;]{1,8}m|[^\x00-\x7f]+"
)
"""What may stand right before a token and looks like a part of it: an escape, a colour, a letter of another script."""
_BEGINS = (
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbfv0])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<==[0-9A-F]{2})|(?<=\[\dm)|(?<=\[\d\dm)|(?<=;\dm)|(?<=;\d\dm))"
)


def _vendor(prefix: str, rest: str) -> Shape:
    bounded = rest.replace(",}", f",{JUDGED}}}")
    tail = re.compile(f"{_BEGINS}{re.escape(prefix)}(?P<rest>{bounded})")
    return Shape("token", (prefix,), tail, lambda found: not is_placeholder(found["rest"]), long=True)


def _has_drawn(found: re.Match[str]) -> bool:
    return looks_drawn(value(found))


def _is_no_placeholder(found: re.Match[str]) -> bool:
    return not is_placeholder(value(found))


# -- names that tell -------------------------------------------------------------------------------------------------------

_PASSWORDS = ("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "pwd", "contraseña", "senha", "пароль", "密码", "密碼", "パスワード", "비밀번호")  # fmt: skip
_ANCHORS = ("pass", "kennwort", "pwd", "contraseña", "senha", "пароль", "密码", "密碼", "パスワード", "비밀번호")  # fmt: skip
_TELLING = (
    "passw",
    "passphrase",
    "passcode",
    "-pass ",
    *(f"pass{end}" for end in ("=", ":", '"', "'", "\\", "`", ">", "]", " =", " :")),
)
_KEYS = ("secret", "key", "_auth", "token")
_PASS_OF = re.compile(
    r"(?i)(?:db|user|become|smtp|mysql|pg|postgres|redis|mail|email|ftp|ssh|root|admin|sudo|login|mongo|rabbitmq|basic|auth|proxy|wifi|sasl)[-_]?\Z|[\"']\Z"
)
_KEY_OF = re.compile(
    r"(?i)(?:secret|api|access|auth|private|encryption|signing|master|account|storage|subscription|service|role|anon|license|deploy|hmac|aes|session|cookie|app|shared|webhook|client)[-_ ]?\Z"
)
_TOKEN_OF = re.compile(
    r"(?i)(?:auth|access|refresh|api|bot|id|session|csrf|xsrf|bearer|security|app|client|user|identity|github|gitlab|slack|npm|hf|oauth|deploy|push|reset|verification|vault|registry|my|jwt)\Z"
)
_NO_TOKEN_OF = re.compile(
    r"(?i)(?:page|next|continuation|pagination|public[-_ ]?key|cancellation|sync|cursor|unexpected|stop)[-_ ]?\Z"
)
_FLAG = re.compile(r"(?<![\w-])--?(?:[A-Za-z0-9]{1,20}[-_]){0,3}\Z")
_TAG = re.compile(r"<[\w:.-]{0,40}\Z")
_BEFORE = 44  # characters before a word that may belong to its name

_QUOTED = rf"(?P<quote>\\{{0,3}}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n])){{1,{JUDGED}}}+)"
_UNQUOTED = r"(?:[^\s\"'`,;&<>\\]|&(?![\w.-]{1,40}=)|\\(?![nrtu\"'\\]))"
_VALUE = rf"[bru]?(?:{_QUOTED}|(?P<bare>{_UNQUOTED}{{4,{JUDGED}}}+))"
_REST = {
    "bare": re.compile(f"{_UNQUOTED}++"),
    "value": re.compile(r"[\w.~+/=%:@-]++"),
    "quoted": re.compile(r"(?:\\.|[^\n\"'`\\])++"),
}
_WORDS = "|".join(map(re.escape, (*_PASSWORDS, *_KEYS, "pass")))
_NAME = rf"(?P<name>{_WORDS})(?:[-_]?base|-data)?"
_ASSIGNED = re.compile(
    rf"(?i){_NAME}(?P<sep>\\{{0,3}}[\"'`]?\]?(?:[ ]\[[^\]\n]{{0,24}}\])?[ \t]{{0,4}}(?:=>|:=|={{1,3}}|:|(?<=[ \t])is(?=[ \t]))[ \t]{{0,4}}|[ \t]{{1,4}}(?!-)|>){_VALUE}"
)
_NAMED = re.compile(
    rf"(?i)\bname\\{{0,3}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\{{0,3}}[\"']?(?P<named>[\w.-]{{3,80}}+)\\{{0,3}}[\"']?[ \t]{{0,4}},?(?:\s|\\n){{0,24}}"
    rf"\\{{0,3}}[\"']?value\\{{0,3}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}{_VALUE}"
)


def is_telling(name: str) -> bool:
    """Whether a name by itself says that its value is a secret: `api_key`, `DB_PASSWORD`; not `max_tokens`, `token_type`."""
    small = name.lower()
    word = next((word for word in (*_PASSWORDS, *_KEYS, "pass") if small.endswith(word)), None)
    return word is not None and _belongs(word, name, len(name) - len(word), alone=True)


def is_secret_of(name: str, text: str) -> bool:
    """Whether a value that stands under a name, both by themselves, is a secret."""
    return is_telling(name) and is_named(text, words=name.lower().endswith("token"))


def _belongs(word: str, text: str, at: int, *, alone: bool = False) -> bool:
    """Whether a word at a place in a text is the end of a telling name: `jsonwebtoken` is a package's, `primary_key` tells nothing."""
    before = text[max(at - _BEFORE, 0) : at]
    if word == "pass":
        return bool(_PASS_OF.search(before)) or (alone and not before[-1:].isalpha())
    if word == "key":
        return bool(_KEY_OF.search(before))
    if word == "_auth":
        return not before[-1:].isalnum()
    if word == "token" and _NO_TOKEN_OF.search(before):
        return False
    if word == "token" and before[-1:].isalpha():
        return (text[at].isupper() and before[-1].islower()) or bool(_TOKEN_OF.search(before))
    return True


def is_assigned(found: re.Match[str]) -> bool:
    """Whether what follows a telling name is a secret."""
    text, at, word, sep = found.string, found.start(), found["name"].lower(), found["sep"]
    before = text[max(at - _BEFORE, 0) : at]
    if sep.isspace() and not _FLAG.search(before):
        return False
    if sep == ">" and not (_TAG.search(before) and text.startswith("</", found.end())):
        return False
    if (sep == ":" and before.endswith(":")) or not _belongs(word, text, at):
        return False  # one of several that colons part, as in an address of a cloud; or no name of a secret
    tight = sep == "=" and (found["name"].isupper() or before.endswith(("?", "&", ";", "-")))
    if word == "pass" and not any(char.isdigit() for char in value(found)):
        return False
    judge = is_password if word in _PASSWORDS or word == "pass" else is_key
    return judge(value(found), quoted=found["quote"] is not None or sep == ">", tight=tight)


def _is_named(found: re.Match[str]) -> bool:
    return is_secret_of(found["named"], value(found))


# -- all of them, in order -------------------------------------------------------------------------------------------------

_BLOCK = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
_BODY = r"(?:(?!-----)[\s\S]){1,20000}+"
_BASE64_LINES = r"(?:(?:\\[nrt]|[\s\"'+,>|\\])*+(?:[A-Za-z][\w-]{2,20}: [^\n\\]{0,200}|[A-Za-z0-9+/=]{20,}+))+"
_TOOLS = (
    "mysql",
    "mariadb",
    "sshpass",
    "docker login",
    "podman login",
    "az login",
    "registry login",
    "redis-cli",
    "ldapsearch",
)
_PARAMETERS = ("key", "auth", "sig", "signature", "jwt", "sid", "session", "security-token", "x-goog-signature", "hmac")


def _is_block(found: re.Match[str]) -> bool:
    """Whether it is a key, and not talk of where one begins and ends: its lines, or much of it."""
    return re.search(r"-----(?:\\{1,4}[nr]|[\r\n])|[A-Za-z0-9+/]{24}", found[0]) is not None


def _is_userinfo(found: re.Match[str]) -> bool:
    password = found["password"]
    return "[" not in value(found) and not is_placeholder(password)


def _is_login(found: re.Match[str]) -> bool:
    return is_login(value(found))


def _is_header(found: re.Match[str]) -> bool:
    return is_login(value(found)) or (looks_drawn(value(found)) and not is_code(value(found)))


def _is_quoted(found: re.Match[str]) -> bool:
    return is_password(value(found), quoted=True, tight=False)


def _is_argument(found: re.Match[str]) -> bool:
    return is_password(value(found), quoted=False, tight=True)


_TOOL_HINTS = (" -p", " -a", " -w")
_OF_TOOL = r"(?:[^\n|;&]{0,200}?\s)??-(?:p|a|w)"
SECRETS = (
    Shape("key", ("-----BEGIN ",), re.compile(rf"-----BEGIN {_BLOCK}-----(?:{_BODY}-----END {_BLOCK}-----|{_BASE64_LINES})"), _is_block),
    Shape("key", ("Private-Lines",), re.compile(rf"Private-Lines: \d{{1,4}}{_BASE64_LINES}")),
    Shape("credentials", ("://",), re.compile(r"://(?P<value>[^\s/:@\"'<>]{0,256}:(?P<password>[^\s/\"'<>]{1,256}))(?=@[\w\[.$/-])"), _is_userinfo, long=True),
    Shape("credentials", ("://",), re.compile(r"://(?P<value>[A-Za-z0-9_-]{16,256})(?=@[\w\[.-])"), _has_drawn, long=True),
    Shape("token", ("hooks.slack.com/", "/api/webhooks/", "webhook.office.com/", "api.telegram.org/bot"), re.compile(r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/|webhook\.office\.com/webhookb2/|api\.telegram\.org/bot)(?P<value>[\w/@:%.+-]{20,300}+)"), _has_drawn, long=True),
    Shape("secret", ("AKIA", "ASIA"), re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"'\s,:;|]{1,5}(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"), _has_drawn, long=True),
    *(_vendor(prefix, rest) for prefix, rest in _VENDORS),
    Shape("token", ("sk-",), re.compile(rf"(?<!-){_BEGINS}sk-(?:[a-z0-9]{{2,8}}-){{0,3}}[A-Za-z0-9_]{{16,300}}+[\w-]*"), _has_drawn, long=True),
    Shape("token", ("pat",), re.compile(r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"), long=True),
    Shape("token", ("MT", "MD", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"), re.compile(r"(?<![\w.-])[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w.-])"), _has_drawn, long=True),
    Shape("token", (), re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}\b"), hints=("-us",), long=True),
    Shape("token", (), re.compile(r"(?<![0-9A-Za-z])\d{8,10}:AA[\w-]{32,34}(?![\w-])"), hints=(":AA",), long=True),
    Shape("token", (), re.compile(r"(?<![0-9A-Za-z])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{30,}"), hints=(".atlasv1.",), long=True),
    Shape("token", ("bearer",), re.compile(r"(?i)(?<!\w)bearer[\s:]{1,4}[\"']?(?P<value>[\w.~+/-]{16,300}+=*)"), _has_drawn),
    Shape("token", ("basic",), re.compile(r"(?i)(?<!\w)basic\s{1,4}(?P<value>[A-Za-z0-9+/]{8,300}+={0,2})"), _is_login),
    Shape("token", ("authorization",), re.compile(r"(?i)authorization\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?(?:(?:bearer|token|apikey|api-key|key|digest|negotiate|basic|splunk|bot|oauth)[ \t]+)?(?P<value>[^\s\"'\\,;]{8,300}+)"), _is_header),
    Shape("secret", ("signature=",), re.compile(r"(?i)signature=(?P<value>[0-9a-f]{64})(?![0-9a-f])")),
    Shape("secret", ("cookie",), re.compile(r"(?i)cookie[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:[^\s=;\"']{1,60}=[^\s=;\"']{0,60};\s{0,2}){0,20}?[^\s=;\"']{0,60}(?:sess|sid|auth|token|jwt|login|remember|csrf|xsrf|secure|id)[^\s=;\"']{0,30}=(?P<value>[^\s;\"']{8,300}+)"), _has_drawn),
    Shape("secret", ("phpsessid=", "jsessionid=", "asp.net_sessionid=", "connect.sid="), re.compile(r"(?i)[\w.]{9,18}=(?P<value>[^\s;\"'&]{8,300}+)"), _has_drawn, hints=("sess", "connect.sid")),
    Shape("secret", tuple(f"{name}=" for name in _PARAMETERS), re.compile(rf"(?i)(?<=[?&;])(?:{'|'.join(_PARAMETERS)})=(?P<value>[^&\s\"'<>#;]{{16,300}}+)"), _has_drawn),
    Shape("secret", ("name",), _NAMED, _is_named, hints=("value",)),
    Shape("secret", (*_ANCHORS, *_KEYS), _ASSIGNED, is_assigned, hints=(*_TELLING, *_ANCHORS[1:], "secret", "key", "token", "_auth")),
    Shape("secret", ('auth"', "auth'", "auth\\"), re.compile(r"(?<=[\"'])auth\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"'](?P<value>[A-Za-z0-9+/]{8,300}+={0,2})"), _is_login),
    Shape("secret", ("identified", "password '"), re.compile(r"(?i)(?:identified\s{1,4}by|password)\s{1,4}(?:password\s{1,4})?'(?P<value>[^'\n]{4,200})'"), _is_quoted, hints=("identified", "password '")),
    Shape("secret", ("machine", "login"), re.compile(r"(?i)\b(?:machine|login)\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<value>\S{4,200})"), _is_no_placeholder, hints=("password",)),
    Shape("secret", (), re.compile(r"(?m)^[\w.*-]{1,100}+:(?:54\d\d|6432|\*):(?:[A-Za-z_][\w-]{0,60}|\*):[\w.*-]{1,60}:(?P<value>(?:[^\s:\\]|\\.){4,200})$"), _is_no_placeholder, hints=(":54", ":6432:", ":*:"), long=True),
    Shape("secret", _TOOLS, re.compile(rf"(?:{'|'.join(_TOOLS)})\w{{0,10}}\s{_OF_TOOL}(?P<value>(?!\w+=)[^\s\"'-][^\s\"']{{3,100}})"), _is_argument, hints=_TOOL_HINTS),
    Shape("secret", _TOOLS[2:], re.compile(rf"(?:{'|'.join(_TOOLS[2:])})\s{_OF_TOOL}[ =]{{1,2}}[\"']?(?P<value>[^\s\"'-][^\s\"']{{3,100}})"), _is_argument, hints=_TOOL_HINTS),
    Shape("credentials", ("curl ", "wget ", "http ", "https "), re.compile(r"(?:(?:curl|wget)\b[^\n]{0,300}?\s(?:-u|--user|--proxy-user)|https?\b[^\n]{0,300}?\s(?:-a|--auth))[ =]?[\"']?(?P<value>[^\s:\"'$<]{1,100}:(?P<password>[^\s\"']{3,200}))"), _is_userinfo, hints=(" -u", " --user", " --proxy-user", " -a ", " --auth ")),
    Shape("secret", ("echo ", "printf "), re.compile(r"(?:echo|printf)\s{1,4}(?:-n\s{1,4})?[\"']?(?:[\w.-]{1,60}:)?(?P<value>[^\s\"'|:$<]{4,200})[\"']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4}(?:-S|chpasswd)|chpasswd|[^\n|]{0,200}--password-stdin)"), _is_no_placeholder, hints=("|",)),
)  # fmt: skip


def _luhn(found: re.Match[str]) -> bool:
    """ISO/IEC 7812: the check digit of a payment card."""
    digits = [int(char) for char in found[0] if char.isdigit()]
    doubled = (2 * digit - 9 * (digit > 4) for digit in digits[-2::-2])  # noqa: PLR2004 (above 4 doubling makes two digits)
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def _elsewhere(found: re.Match[str]) -> bool:
    """An address of some machine, and not of this one or of all."""
    return not found[0].startswith(("0.", "127.")) and all(int(part) < 256 for part in found[0].split("."))  # noqa: PLR2004


PERSONAL = (
    Shape("email", (), re.compile(r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"), hints=("@",)),
    Shape("phone", ("+",), re.compile(r"(?<!\w)\+\d{8,15}(?!\w)")),
    Shape("card", (), re.compile(r"(?<![\w-])(?:\d{13,19}|\d{4}(?:[ -]\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{5})(?![\w-])"), _luhn),
    Shape("iban", (), re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    Shape("ssn", (), re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), hints=("-",)),
    Shape("phone", (), re.compile(r"(?<![\w+.-])(?:\+\d{1,3}[ .-]?(?:\(?\d{2,4}\)?[ .-]?)\d{3,4}[ .-]?\d{3,4}|\(\d{2,4}\)[ .-]?\d{3,4}[ .-]\d{3,4}|\d{3}-\d{3}-\d{4})(?![\w-])"), hints=("+", "(", "-")),
    Shape("address", (), re.compile(r"(?<![\w.])(?<!ersion )(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)"), _elsewhere, hints=(".",)),
)  # fmt: skip
