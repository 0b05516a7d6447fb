"""From turns to a session: what was asked, said, called and answered, and an account of each turn.

Every format here makes `Turn`s of what it reads, and this says once what becomes of them. It knows no format and no file.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from experience.episode import Cost
from experience.importers.followed import skill_of
from experience.importers.naming import says_it_failed, tool_name
from experience.importers.session import LATER_LISTED, Call, Finding, Session, SkillUse, later_request

_INJECTED = re.compile(
    r"\s*<(system-reminder|environment_context|user_instructions|ide_opened_file|ide_selection|local-command-caveat)>"
)
SYSTEM, ON_THE_WAY, WORDLESS, REASONING, STRAY, UNREADABLE, INJECTED = (
    "a system prompt",
    "said on the way",
    "without words",
    "reasoning",
    "an answer to no open call",
    "unreadable",
    "injected context",
)
"""Why a turn is dropped."""


class Called(NamedTuple):
    """A call as a turn has it."""

    name: str
    arguments: Any = None
    id: str = ""
    """Empty where the format names none."""
    worked: bool | None = None
    """Where the call itself says so; else its answer does."""


class Answer(NamedTuple):
    """What a tool answered."""

    call: str
    """The call's id, or else its name."""
    text: str
    worked: bool | None = None
    """None where only the text can say: see `naming.says_it_failed`."""


class Turn(NamedTuple):
    """One turn of a transcript."""

    who: str
    """`user`, `agent` or `tool`; the rest is dropped."""
    text: str = ""
    calls: tuple[Called, ...] = ()
    answers: tuple[Answer, ...] = ()
    drop: str = ""
    """Why nothing of it is heard; empty where it is."""


def without_injected(words: str) -> str:
    """A user's text without the elements before it that a host put there, such as `<system-reminder>`."""
    at = 0
    while (found := _INJECTED.match(words, at)) and (end := words.find(f"</{found[1]}>", found.end())) >= 0:
        at = end + len(found[1]) + 3
    return words[at:].lstrip() if at else words


class _Hearing:
    """What was heard so far, turn by turn."""

    def __init__(self) -> None:
        self.asked = self.first_words = self.account = ""
        self.later: list[str] = []
        self.requests = 0
        self.calls: list[Call] = []
        self.shown: list[tuple[int, SkillUse]] = []
        """Skills, each with the number of the call that shows it."""
        self.kept = 0
        self.dropped: Counter[str] = Counter()
        self._open: dict[str, list[int]] = {}
        """The calls that wait for an answer, by their id and by their name."""
        self._keys: list[set[str]] = []
        self._said: list[bool] = []
        """For each turn in which the agent said something, whether it is kept for more than its words."""

    def hear(self, turn: Turn) -> None:
        reason = turn.drop or {"user": self._user, "agent": self._agent, "tool": self._tool}[turn.who](turn)
        if reason:
            self.dropped[reason] += 1
        elif reason is not None:
            self.kept += 1

    def _user(self, turn: Turn) -> str:
        answered = self._answered(turn)
        if turn.text.strip():
            self.requests += 1
            if not self.asked:
                self.asked = turn.text
            elif len(self.later) < LATER_LISTED:
                self.later.append(later_request(turn.text))
            return ""
        return "" if answered else STRAY if turn.answers else WORDLESS

    def _agent(self, turn: Turn) -> str | None:
        """None for a turn of words alone: whether it is kept is known when all is heard."""
        for call in turn.calls:
            name = tool_name(call.name, call.arguments)
            self._keys.append({call.id, call.name} - {""})
            for key in self._keys[-1]:
                self._open.setdefault(key, []).append(len(self.calls))
            if use := skill_of(call.name, call.arguments):
                self.shown.append((len(self.calls), use))
            self.calls.append(Call(name, call.worked))
        more = bool(self._answered(turn) or turn.calls)
        if turn.text.strip():
            self.first_words = self.first_words or turn.text
            self.account = turn.text
            self._said.append(more)
            return "" if more else None
        return "" if more else WORDLESS

    def _tool(self, turn: Turn) -> str:
        return "" if self._answered(turn) else STRAY

    def _answered(self, turn: Turn) -> bool:
        """Notes the answers of a turn; whether one of them belongs to a call."""
        return sum(map(self._note, turn.answers)) > 0

    def _note(self, answer: Answer) -> bool:
        waiting = self._open.get(answer.call)
        if not waiting:
            return False
        number = waiting[-1]
        for key in self._keys[number]:
            self._open[key].remove(number)
        worked = answer.worked
        if worked is None:
            worked = False if says_it_failed(answer.text) else self.calls[number].worked
        self.calls[number] = self.calls[number]._replace(worked=worked)
        return True

    def settle(self, request: str) -> None:
        """Counts the turns of words alone: the last is the account, the first stands in for a request."""
        alone = [number for number, more in enumerate(self._said) if not more]
        needed = {len(self._said) - 1} | (set() if request else {0})
        self.kept += sum(number in needed for number in alone)
        if on_the_way := sum(number not in needed for number in alone):
            self.dropped[ON_THE_WAY] += on_the_way


def tool_turn(tool: Called, result: str, expected: list[Called], own_id: str = "") -> Turn:
    """What a tool did by its own account answers the call that a model made, which is then `expected` no more.

    Where no model is seen to have made it, it is the call itself, under `own_id` if it names no call.
    """
    for call in expected:
        if (tool.id and call.id == tool.id) or (not (tool.id and call.id) and call.name == tool.name):
            expected.remove(call)
            return Turn("tool", answers=(Answer(call.id or call.name, result, tool.worked),))
    called = tool if tool.id else tool._replace(id=own_id)
    return Turn("agent", calls=(called,), answers=(Answer(called.id or called.name, result, tool.worked),))


def session_of(
    id: str,
    turns: Iterable[Turn],
    *,
    asked: str = "",
    ended: str = "",
    finding: Finding | None = None,
    started_at: datetime | None = None,
    cost: Callable[[int], Cost] | Cost = Cost(),
    meta: Mapping[str, Any] | None = None,
) -> Session:
    """The session that turns make.

    `asked` goes before what the first turn of the user says, and `ended`, such as the error that a run ended with,
    comes after what the agent said last. `cost` may want to know how many turns the agent took.
    """
    heard = _Hearing()
    agents = 0
    for turn in turns:
        agents += turn.who == "agent" and not turn.drop
        heard.hear(turn)
    request = asked if asked.strip() else heard.asked
    heard.settle(request)
    skills = [use for number, use in heard.shown if heard.calls[number].worked is not False]
    return Session(
        id=id,
        asked=request,
        later=tuple(heard.later),
        requests=max(heard.requests, 1),
        account="\n\n".join(filter(None, (heard.account, ended))),
        first_words="" if request else heard.first_words,
        calls=tuple(heard.calls),
        skills=tuple({use.name: use for use in reversed(skills)}.values())[::-1],
        finding=finding,
        started_at=started_at,
        cost=cost if isinstance(cost, Cost) else cost(agents),
        meta=dict(meta or {}),
        kept=heard.kept,
        dropped=dict(heard.dropped),
    )
