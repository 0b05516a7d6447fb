"""`Skill`: one SKILL.md of the Agent Skills standard (agentskills.io), read leniently and written strictly.

The text is the truth and the fields are a view of it, so that whatever else stands in the frontmatter (other people's
keys, comments, their order) survives every rewrite: a change edits the frontmatter's own YAML. It knows no folder and
no store.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from io import StringIO
from types import MappingProxyType
from typing import Any, Self

from ruamel.yaml.error import YAMLError

from experience.episode import checked_text
from experience.errors import InvalidSkill, shown

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
LONGEST_TEXT = 1_000_000  # characters; no skill is as long, and YAML takes its time

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_BARE_VALUE = re.compile(r"^(name|description|license|compatibility|allowed-tools):[ \t]+(?![\"'|>\[{&*! \t])(.*)$", re.MULTILINE)  # fmt: skip
_SCALARS = (str, int, float, date)
_LONGEST_FRONT = 64_000  # characters of frontmatter
_DEEPEST = 20  # collections within one another
_NO_YAML = (YAMLError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)  # all are raised


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as its file says it. Made by `parse` and `new`; a changed skill is a new value."""

    text: str
    """The whole file: no byte order mark, lines ended by \\n."""
    name: str = field(compare=False)
    description: str = field(compare=False)
    body: str = field(compare=False)
    """What follows the frontmatter, without outer white space."""
    license: str | None = field(compare=False)
    compatibility: str | None = field(compare=False)
    allowed_tools: str | None = field(compare=False)
    metadata: Mapping[str, str] = field(compare=False)
    """Text to text; what is not text in the file is shown as JSON."""
    original: bytes = field(compare=False)
    """The bytes that it was read from."""

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """The skill in a SKILL.md. Raises InvalidSkill when there is no frontmatter, or no name and description in it.

        Lenient: a byte order mark, CRLF, unknown keys, values that are no text, a description that is too long and a colon
        in an unquoted value are no errors here (`lint` tells of them). The name must be one, since it becomes a path.
        """
        original = text if isinstance(text, bytes) else text.encode(errors="replace")
        text = _normal(text)
        front, body = _split(text)
        data = _load(front)
        name, description = (_checked(_text_of(data, key) or "") for key in ("name", "description"))
        checked_skill_name(name)
        if not description.strip():
            raise InvalidSkill(
                f"the skill {name} has no description; say in one sentence what it does and when to use it"
            )
        return cls(
            text=text,
            name=name,
            description=description,
            body=body.strip(),
            license=_text_of(data, "license"),
            compatibility=_text_of(data, "compatibility"),
            allowed_tools=_text_of(data, "allowed-tools"),
            metadata=MappingProxyType(_flat(data.get("metadata"))),
            original=original,
        )

    @classmethod
    def new(
        cls,
        name: str,
        description: str,
        body: str,
        *,
        license: str | None = None,
        compatibility: str | None = None,
        allowed_tools: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Self:
        """A skill of one's own, keys in the standard's order. Raises InvalidSkill for what the standard does not allow."""
        optional = {"license": license, "compatibility": compatibility, "allowed-tools": allowed_tools}
        data: dict[str, Any] = {"name": name, "description": description}
        data |= {key: value for key, value in optional.items() if value is not None}
        return cls._written(data, body, metadata or {})

    def changed(
        self, *, body: str | None = None, description: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> Self:
        """The same skill with another body or description, or with these entries set in its metadata; all else as it was.

        Raises InvalidSkill for what the standard does not allow.
        """
        data = _load(_split(self.text)[0])
        if description is not None:
            data["description"] = description
        return self._written(data, self.body if body is None else body, metadata or {})

    @classmethod
    def _written(cls, data: Any, body: str, metadata: Mapping[str, str]) -> Self:
        """The frontmatter checked and dumped, then read again: what cannot be read is not written."""
        for key, longest in (("description", LONGEST_DESCRIPTION), ("compatibility", LONGEST_COMPATIBILITY)):
            value = data.get(key)
            if isinstance(value, str) and len(value) > longest:
                raise InvalidSkill(f"{key} has {len(value)} characters; it needs {longest} at most")
        checked_skill_name(data["name"])
        for value in (*data.values(), body, *metadata.values()):
            if isinstance(value, str):
                _checked(value)
        if metadata:
            if data.get("metadata") is None:
                data["metadata"] = {}
            if not isinstance(data["metadata"], dict):
                raise InvalidSkill(f"the metadata of {data['name']} is no mapping; make it one, of text to text")
            from ruamel.yaml.scalarstring import DoubleQuotedScalarString

            for key, value in metadata.items():
                data["metadata"][key] = DoubleQuotedScalarString(value)
        return cls.parse(f"---\n{_dump(data)}---\n{body.strip()}\n")


def checked_skill_name(name: object) -> str:
    """The name, when it is one: 1 to 64 of a-z and 0-9 with single hyphens within. Raises InvalidSkill."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InvalidSkill(
            f"a skill's name is {shown(str(name))}; it needs 1 to {LONGEST_NAME} of a-z and 0-9, with single hyphens within"
        )
    return name


def front_keys(skill: Skill) -> tuple[str, ...]:
    """The keys of a skill's frontmatter, in the file's order."""
    return tuple(str(key) for key in _load(_split(skill.text)[0]))


def slug(text: str) -> str:
    """A skill's name out of a text, empty when nothing is left: letters of other scripts become Latin ones.

    What is neither a letter nor a digit becomes one hyphen; what is too long is cut at a hyphen.
    """
    from anyascii import anyascii

    latin = text if text.isascii() else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", "".join(map(_spelled(anyascii), text)))
    words = re.findall(r"[a-z0-9]+", latin.lower())
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:LONGEST_NAME]
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name


def _spelled(anyascii: Any) -> Any:
    """Syllables of a script without spaces, each as a word of its own; other letters as they are."""

    def spell(char: str) -> str:
        latin = str(anyascii(char))
        return latin if char.isascii() or len(latin) == 1 or not latin[:1].isupper() else f"-{latin}-"

    return spell


def with_bullets(body: str, heading: str, bullets: list[str]) -> str:
    """The body with these bullets at the end of the section `## heading`, which is made when there is none.

    Bullets that the body holds already are left out.
    """
    new = [f"- {bullet}" for bullet in bullets if f"- {bullet}" not in body.split("\n")]
    if not new:
        return body
    lines = body.rstrip().split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip().lower() == f"## {heading}".lower()), None)
    if start is None:
        return "\n".join([*lines, "", f"## {heading}", "", *new])
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"#{1,2} ", lines[at])), len(lines))
    kept = lines[:end]
    while not kept[-1].strip():
        kept.pop()
    gap = [] if kept[-1].startswith("- ") else [""]
    return "\n".join([*kept, *gap, *new, *([""] if end < len(lines) else []), *lines[end:]])


def _normal(text: str | bytes) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidSkill(f"a SKILL.md is not UTF-8: {error.reason} at byte {error.start}") from error
    if len(text) > LONGEST_TEXT:
        raise InvalidSkill(f"a SKILL.md has {len(text)} characters; it needs {LONGEST_TEXT} at most")
    return _checked(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def _checked(text: str) -> str:
    try:
        return checked_text("a SKILL.md", text)
    except ValueError as error:
        raise InvalidSkill(str(error)) from error


def _split(text: str) -> tuple[str, str]:
    """Frontmatter and body. The closing line is a whole line, so one that is indented within a block does not count."""
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end() + 1) if opening else None
    if opening is None or closing is None:
        raise InvalidSkill(
            f"a SKILL.md begins with {shown(text)}; it needs a line ---, YAML, and another line --- first"
        )
    front = text[opening.end() + 1 : closing.start()]
    if len(front) > _LONGEST_FRONT:
        raise InvalidSkill(f"a SKILL.md has {len(front)} characters of frontmatter; it needs {_LONGEST_FRONT} at most")
    return front, text[closing.end() + 1 :]


def _load(front: str) -> Any:
    try:
        return _mapping(front)
    except _NO_YAML as error:
        # An unquoted value with a colon in it is no YAML, and common: many readers take it as it is meant.
        quoted = _BARE_VALUE.sub(lambda found: f"{found[1]}: {json.dumps(found[2].strip(), ensure_ascii=False)}", front)
        try:
            return _mapping(quoted)
        except _NO_YAML:
            said = str(getattr(error, "problem", None) or error).split("\n", 1)[0]
            raise InvalidSkill(f"a SKILL.md's frontmatter is not YAML ({said}); quote values with colons") from error


def _mapping(front: str) -> Any:
    """What the YAML says; aliases and depth are bounded, since a few lines of them make a world of data."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in _yaml().parse(StringIO(front)):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _DEEPEST or isinstance(event, AliasEvent):
            raise ValueError("it has aliases, or lists within lists without end")
    data = _yaml().load(front)
    if not isinstance(data, dict):
        raise InvalidSkill("a SKILL.md's frontmatter is no mapping; it needs lines such as name: my-skill")
    return data


def _dump(data: Any) -> str:
    out = StringIO()
    _yaml().dump(data, out)
    return out.getvalue()


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")  # keeps comments, quotes and order
    yaml.preserve_quotes = True
    yaml.width = 1_000_000  # a long value stays on its line
    return yaml


def _text_of(data: Any, key: str) -> str | None:
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    if isinstance(value, _SCALARS):
        return _scalar(value)
    if key in ("name", "description"):
        raise InvalidSkill(f"{key} in a SKILL.md is {shown(str(value))}; it needs text")
    return json.dumps(value, default=str, ensure_ascii=False)


def _flat(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, dict):
        return {}
    return {
        str(key): _scalar(value) if isinstance(value, _SCALARS) else json.dumps(value, default=str, ensure_ascii=False)
        for key, value in metadata.items()
    }


def _scalar(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
