"""A session as it is put together, turn by turn, out of a transcript of lines.

It keeps what an episode will need and no more, so that a long transcript takes little memory: no answer of a tool, no text
that was said in between. It counts every turn that it is handed, and can take back what a rewound conversation gave up.
"""

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

from experience.episode import Cost, moment_from
from experience.errors import InvalidEpisode
from experience.importers.followed import skill_of
from experience.importers.naming import tool_name
from experience.importers.session import LATER_LISTED, Call, Leftover, Session, SkillUse, counted, later_request

if TYPE_CHECKING:
    from datetime import datetime

GIVEN_UP = "given up: the conversation was taken back to before it"
NO_ANSWER = "answer to a call that is not here"
WORDLESS = "of a session in which nobody says anything"

_POINTS = 200  # requests to which a conversation can be taken back
_REASONS = 50  # kinds of lines that are told apart; any program may write ever new ones
_MESSAGES = 256  # messages whose cost may still change
_LONGEST_KIND = 40
_REMEMBERED = 50_000  # names


class LastNames:
    """The last 50,000 names of many, by which a line that comes again is known."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._order: deque[str] = deque()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: object) -> bool:
        """False where it was there; what is no name is always new."""
        if not isinstance(name, str):
            return True
        if name in self._names:
            return False
        self._names.add(name)
        self._order.append(name)
        if len(self._order) > _REMEMBERED:
            self._names.discard(self._order.popleft())
        return True


@dataclass(frozen=True, slots=True)
class _Point:
    """What stood before a request was made."""

    key: str | None
    calls: int
    later: int
    requests: int
    kept: int
    asked: str
    account: list[str]
    pieces: int
    """How many of them there were; a message may get more."""


class Draft:
    """One session so far."""

    def __init__(self, id: str, **meta: Any) -> None:
        self.id = id
        self.meta: dict[str, Any] = meta
        self.started_at: datetime | None = None
        self.tokens = 0
        self.steps = 0
        self._asked = self._first_words = ""
        self._account: list[str] = []  # pieces of one message
        self._later: list[str] = []
        self._requests = self._kept = self._given_up = 0
        self._names: list[str] = []
        self._worked: list[bool | None] = []
        self._open: dict[str, int] = {}
        self._skills: list[tuple[int, SkillUse]] = []
        self._dropped: Counter[str] = Counter()
        self._points: deque[_Point] = deque(maxlen=_POINTS)
        self._saying: str | None = None
        self._costs: OrderedDict[str, int] = OrderedDict()

    # -- turns: each is counted once ---------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Count a turn as kept: what was said, called or answered in it was handed over."""
        self._kept += 1

    def drop(self, reason: str, turns: int = 1) -> None:
        """Count turns as dropped."""
        counted(self._dropped, reason, _REASONS, turns)

    def drop_unknown(self, kind: object) -> None:
        """Count a turn of a kind that the format's module does not know."""
        self.drop(f"unknown kind of line: {str(kind)[:_LONGEST_KIND]}")

    # -- what is in them ---------------------------------------------------------------------------------------------------

    def ask(self, text: str, key: str | None = None) -> None:
        """A request. `key` names the place in the conversation behind which it was made, where the format has such names."""
        self._points.append(
            _Point(
                key,
                len(self._names),
                len(self._later),
                self._requests,
                self._kept,
                self._asked,
                self._account,
                len(self._account),
            )
        )
        self._requests += 1
        if not self._asked:
            self._asked = text
        elif len(self._later) < LATER_LISTED:
            self._later.append(later_request(text))

    def say(self, text: str, message: str | None = None) -> None:
        """Words of the agent; those of one message, which some formats write piece by piece, belong together."""
        if not text.strip():
            return
        same = message is not None and message == self._saying
        self._account = self._account if same else []
        self._account.append(text)
        self._saying = message
        self._first_words = self._first_words or text

    def skill(self, use: SkillUse) -> None:
        """A skill that something other than a call shows to be followed."""
        self._skills.append((-1, use))

    def call(self, id: str | None, name: str, arguments: Any, worked: bool | None = None) -> None:
        """A call of a tool. `id` is what its answer will name."""
        at = len(self._names)
        self._names.append(intern(tool_name(name, arguments)))
        self._worked.append(worked)
        if id is not None:
            self._open[id] = at
        if use := skill_of(name, arguments):
            self._skills.append((at, use))

    def answer(self, id: object, worked: bool | None) -> bool:
        """What came of a call; False where there is no such call, or it was answered before."""
        at = self._open.pop(id, None) if isinstance(id, str) else None
        if at is None:
            return False
        if worked is not None:
            self._worked[at] = worked
        return True

    def spent(self, message: str, tokens: int) -> None:
        """What a message has cost; said again of the same one, the later figure counts."""
        if message not in self._costs:
            self.steps += 1
            if len(self._costs) >= _MESSAGES:
                self._costs.popitem(last=False)
        self.tokens += tokens - self._costs.get(message, 0)
        self._costs[message] = tokens

    def began(self, stamp: object) -> None:
        """A time of the transcript, the first of which is when the run began; one that cannot be read is none."""
        if self.started_at is None and isinstance(stamp, str):
            try:
                self.started_at = moment_from(stamp, "timestamp")
            except InvalidEpisode:
                return

    def note(self, **meta: object) -> None:
        """What else is worth keeping; what was noted first stands, and only text that says something."""
        for name, value in meta.items():
            if isinstance(value, str) and value.strip() not in {"", "unknown"}:
                self.meta.setdefault(name, value)

    # -- taking back -------------------------------------------------------------------------------------------------------

    def take_back_to(self, key: str) -> None:
        """A request is about to be made from where another was made before: that one, and what came of it, was given up."""
        for back, point in enumerate(reversed(self._points), 1):
            if point.key == key:
                self.take_back(back)
                return

    def take_back(self, requests: int) -> None:
        """The last requests, and what came of them, were given up."""
        if not 0 < requests <= len(self._points):
            return
        for _ in range(requests):
            point = self._points.pop()
        self._dropped[GIVEN_UP] += self._kept - point.kept
        self._given_up += self._kept - point.kept
        self._kept, self._requests = point.kept, point.requests
        self._asked, self._account, self._saying = point.asked, point.account[: point.pieces], None
        del self._later[point.later :], self._names[point.calls :], self._worked[point.calls :]
        self._open = {id: at for id, at in self._open.items() if at < point.calls}
        self._skills = [(at, use) for at, use in self._skills if at < point.calls]

    # -- the whole ---------------------------------------------------------------------------------------------------------

    def finished(self) -> Session | Leftover:
        """The session; where nobody says anything in it, only what its turns were."""
        if not (self._asked or self._first_words):
            dropped = Counter(self._dropped)
            dropped[WORDLESS] += self._kept
            return Leftover(dict(+dropped))
        skills = {use.name: use for at, use in reversed(self._skills) if at < 0 or self._worked[at] is not False}
        return Session(
            id=self.id,
            asked=self._asked,
            later=tuple(self._later),
            requests=self._requests,
            account="\n\n".join(self._account),
            first_words=self._first_words,
            calls=tuple(Call(name, worked) for name, worked in zip(self._names, self._worked, strict=True)),
            skills=tuple(reversed(skills.values())),
            started_at=self.started_at,
            cost=Cost(steps=self.steps or None, tokens=max(self.tokens, 0) or None),
            meta=self.meta,
            kept=self._kept,
            dropped=dict(self._dropped),
            length=self._kept + self._given_up,
        )
