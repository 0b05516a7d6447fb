"""From evidence to a skill: what is written, whether a model fills the fields or nobody does.

Code writes the file, always: a model answers with fields, and what it says is cleaned, cut to size and screened like
everything else. Without a model the words are those that the runs share, and every number is a count. Pure.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experience.errors import BadReply, shown
from experience.learn.evidence import Evidence, Pitfall, Step, ids_text, safe_tool
from experience.learn.ledger import Ledger
from experience.learn.lint import has_cue
from experience.learn.skill import LONGEST_DESCRIPTION, LONGEST_NAME, Skill, slug
from experience.learn.wording import weighty_words
from experience.learn.words import own_words, without
from experience.masking import masked

_TOOL_LIKE = re.compile(r"`([A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)*_[A-Za-z0-9_.-]+)`")
_UNUSABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_LONGEST_FIELD = 2000  # characters of a model's description or step
_MOST_LINES = 50
_ENUMERATION = re.compile(r"^\s*(?:\(?\d{1,3}[.)]|[-*•+])\s+")
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)|(.+?[。！？])", re.DOTALL)
_SHORT_DESCRIPTION = 60  # bytes
_MOST_STEPS = 20
_MOST_WORDS, _ENOUGH_WORDS = 4, 2  # of a name
_MOST_NAMED = 5  # tools in a description
_MOST_SAID = 4  # phrases in a description
_LONGEST_REPLY_SHOWN = 400


@dataclass(frozen=True, slots=True)
class Fields:
    """What is written about a kind of run, by whomever."""

    name: str
    title: str
    description: str
    applies: tuple[str, ...]
    """When the skill applies: paragraphs or bullets."""
    steps: tuple[str, ...]
    pitfalls: tuple[str, ...] = ()


def written(evidence: Evidence, taken: Collection[str] = ()) -> Fields:
    """The fields that the evidence itself fills. The name is none of those `taken`."""
    tools = [safe_tool(step.tool) for step in evidence.steps]
    name = _free(_name(evidence, tools), tools, taken)
    told = evidence.phrases[0].text if evidence.phrases else ""
    title = name.replace("-", " ").title() if told.isascii() else told  # in its own script
    doing = f"{title}: {_in_order(tools)}." if tools else f"{title}."
    return Fields(
        name,
        title,
        described(doing, _cue(evidence, tools)),
        tuple(_applies(evidence)),
        tuple(_step(step, len(evidence.worked)) for step in evidence.steps),
        tuple(pitfall_text(pitfall, len(evidence.failed), len(evidence.worked)) for pitfall in evidence.pitfalls),
    )


def replied(reply: str, evidence: Evidence) -> Fields:
    """The fields in a model's reply, without what only one of several runs said. Raises BadReply, which shows the reply."""
    data = reply_object(reply)
    own = own_words([episode.situation for episode in evidence.worked], evidence.casing)

    def cleaned(text: str) -> str:
        return _one_line(without(own, masked(text)[0]))

    steps = tuple(step for line in _lines(data.get("steps"), "steps", reply) if (step := cleaned(line)) != "…")
    if not 1 <= len(steps) <= _MOST_STEPS:
        raise bad_reply(f"it has {len(steps)} steps; 1 to {_MOST_STEPS} are needed", reply)
    tools = [safe_tool(step.tool) for step in evidence.steps]
    name = slug(cleaned(_text(data, "name"))) or _name(evidence, tools)
    if name.isdecimal():
        name = f"skill-{name}"  # a number alone names a draft
    description = described(cleaned(_text(data, "description")), _cue(evidence, tools))
    if len(description.encode()) < _SHORT_DESCRIPTION:
        description = described(f"{description} Runs that worked called {_in_order(tools)}.", _cue(evidence, tools))
    title = cleaned(_text(data, "title")) or name.replace("-", " ").title()
    pitfalls = tuple(map(cleaned, _lines(data.get("pitfalls"), "pitfalls", reply)))
    return Fields(name, title, description, tuple(_applies(evidence)), steps, pitfalls)


def unknown_tools(fields: Fields, evidence: Evidence) -> tuple[str, ...]:
    """What a model's steps name like a tool (`word_word`, in back-ticks) and no run called."""
    called = {safe_tool(tool) for episode in (*evidence.worked, *evidence.failed) for tool in episode.tools}
    named = (found for step in fields.steps for found in _TOOL_LIKE.findall(step))
    return tuple(dict.fromkeys(tool for tool in named if tool not in called))


def assembled(fields: Fields, evidence: Evidence) -> Skill:
    """The skill: founding layout, evidence last, its ledger at zero. All of it masked. Raises InvalidSkill."""
    parts = [f"# {fields.title}", fields.description, "## When this applies", "\n".join(fields.applies)]
    parts += ["## Steps", "\n".join(f"{number}. {step}" for number, step in enumerate(fields.steps, 1))]
    if fields.pitfalls:
        parts += ["## Pitfalls", "\n".join(f"- {pitfall}" for pitfall in fields.pitfalls)]
    if evidence.citation.ids:
        parts += ["## Evidence", "\n".join(evidence_lines(evidence))]
    body, _ = masked("\n\n".join(parts))
    description, _ = masked(fields.description)
    return Skill.new(
        fields.name, fit(description, LONGEST_DESCRIPTION), body, metadata=Ledger(origin="distilled").entries()
    )


def described(text: str, cue: str) -> str:
    """A description of one line that says when to use the skill and fits, the cue never cut off."""
    text = _one_line(text).replace("---", "–")  # some readers take it for the end of the frontmatter
    cue = _one_line(cue).replace("---", "–")
    if has_cue(text) and len(text.encode()) >= _SHORT_DESCRIPTION:
        return fit(text, LONGEST_DESCRIPTION)
    if text and text[-1] not in ".!?。！？":
        text += "."
    return f"{fit(text, LONGEST_DESCRIPTION - len(cue.encode()) - 1)} {cue}".strip()


def fit(text: str, most: int) -> str:
    """A text of at most so many UTF-8 bytes: cut at a word, where there are words, and ended by …."""
    if len(text.encode()) <= most:
        return text
    cut = text.encode()[: most - len("…".encode())].decode(errors="ignore")
    at_word = cut[: cut.rfind(" ")] if " " in cut[most // 2 :] else cut
    return f"{at_word.rstrip(' ,;:')}…"


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence: one before white space, so that deploy.toml stays whole."""
    text = _one_line(text)
    match = _SENTENCE.match(text)
    return match.group() if match else text


def unnumbered(line: str) -> str:
    """A step without the number or bullet that it came with; "3 retries", "2fa" and "--release" are text and stay."""
    return _ENUMERATION.sub("", line).strip()


def reply_object(reply: str) -> dict[str, Any]:
    """The JSON object in a reply: all of it, or within a code fence, or from the first { to the last }. Raises BadReply."""
    fenced = re.match(r"\s*```\w*\n(.*?)\n\s*```", reply, re.DOTALL)
    tries = [reply, fenced.group(1) if fenced else "", reply[reply.find("{") : reply.rfind("}") + 1]]
    for text in filter(None, tries):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            return data
    raise bad_reply("there is no JSON object in it", reply)


def bad_reply(why: str, reply: str) -> BadReply:
    """The error that shows a reply."""
    text = reply if len(reply) <= _LONGEST_REPLY_SHOWN else f"{reply[:_LONGEST_REPLY_SHOWN]}… ({len(reply)} characters)"
    return BadReply(f"the model's reply cannot be used, {why}: {text!r}")


def pitfall_claim(pitfall: Pitfall) -> str:
    """What a pitfall says, without its numbers."""
    did = {"skipped": "was left out", "used": "was called", "trouble": "failed or was denied"}
    return f"`{safe_tool(pitfall.tool)}` {did[pitfall.kind]}"


def pitfall_text(pitfall: Pitfall, failed: int, worked: int) -> str:
    """One difference, in numbers."""
    return f"{pitfall_claim(pitfall)} in {pitfall.failed} of {failed} runs that failed, and in {pitfall.worked} of {worked} that worked."


def evidence_lines(evidence: Evidence) -> list[str]:
    """What a skill was built on, as bullets."""
    cited = evidence.citation
    days = " to ".join(dict.fromkeys(day.isoformat() for day in (cited.first, cited.last) if day))
    lines = [f"- Runs that worked: {len(cited.worked)} ({ids_text(cited.worked)}), {days}."]
    if len(evidence.worked) > 1 and len({episode.situation for episode in evidence.worked}) == 1:
        lines.append("- All of these had the same situation, word for word.")
    if cited.failed:
        lines.append(f"- Similar runs that failed: {len(cited.failed)} ({ids_text(cited.failed)}).")
    return lines


def _cue(evidence: Evidence, tools: Sequence[str]) -> str:
    said = [f'"{phrase.text}"' for phrase in evidence.phrases[:_MOST_SAID]]
    if said:
        return f"Use when a situation speaks of {_listed(said)}."
    return f"Use when the task calls for {_listed(tools[-2:])}."


def _applies(evidence: Evidence) -> list[str]:
    runs = len(evidence.worked)
    shares = [
        f'"{phrase.text}"' + (f" ({phrase.support} of {runs})" if runs > 1 else "") for phrase in evidence.phrases
    ]
    lines = [f"- The situation speaks of {_listed(shares)}."] if shares else []
    if evidence.example:
        lines.append(f"- It reads like: {evidence.example}")
    return lines or [f"- The task calls for {_listed([f'`{safe_tool(step.tool)}`' for step in evidence.steps])}."]


def _step(step: Step, runs: int) -> str:
    share = f" ({step.runs} of {runs} runs{f', {step.repeated} of them more than once' if step.repeated else ''})"
    return f"Call `{safe_tool(step.tool)}`{share if runs > 1 else ' more than once' if step.repeated else ''}."


def _name(evidence: Evidence, tools: Sequence[str]) -> str:
    words: list[str] = []
    for phrase in evidence.phrases:
        if len(words) >= _ENOUGH_WORDS:
            break
        words += [word for part in weighty_words(phrase.text) if (word := slug(part)) and word not in words]
    if len(words) < _ENOUGH_WORDS and tools:
        words += [word for word in slug(tools[-1]).split("-") if word not in words]
    name = slug(" ".join(words[:_MOST_WORDS])) or slug(" ".join(tools[:_ENOUGH_WORDS]))
    return name or f"skill-{hashlib.sha256(evidence.worked[0].situation.encode()).hexdigest()[:6]}"


def _free(name: str, tools: Sequence[str], taken: Collection[str]) -> str:
    longer = slug(f"{name} {tools[-1]}") if tools else name
    numbered = (f"{name[: LONGEST_NAME - 5].rstrip('-')}-{number}" for number in range(2, 1000))
    return next((free for free in (name, longer, *numbered) if free not in taken), name)


def _listed(items: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def _in_order(tools: Sequence[str]) -> str:
    if not tools:
        return "no tool that most of them used"
    named = [f"`{tool}`" for tool in tools[:_MOST_NAMED]]
    rest = " and so on" if len(tools) > _MOST_NAMED else ""
    return ", then ".join(filter(None, (", ".join(named[:-1]), named[-1]))) + rest


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return _usable(value) if isinstance(value, str) else ""


def _usable(text: str) -> str:
    """A model's text as far as a file can hold it, and not too much of it."""
    return _UNUSABLE.sub("", text[:_LONGEST_FIELD])


def _lines(value: object, key: str, reply: str) -> tuple[str, ...]:
    """A list of texts, or lines of one text, cleaned; nothing and blanks are left out."""
    items = value.split("\n") if isinstance(value, str) else value if isinstance(value, list) else []
    for item in items:
        if item is not None and not isinstance(item, str):
            raise bad_reply(f"{key} holds {shown(str(item))}; texts are needed", reply)
    return tuple(line for item in items[:_MOST_LINES] if item and (line := _one_line(unnumbered(_usable(item)))))


def _one_line(text: str) -> str:
    return " ".join(text.split())
