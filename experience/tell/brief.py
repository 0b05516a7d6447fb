"""The brief: what earlier experience says about a task, within a budget.

What does not depend on the task stands first and stays the same from run to run, so that a provider's prompt cache keeps it:
how to propose a learning, how to ask for help, and the learnings as long as all of them fit. Every remembered text is a JSON
string on one line, in which nothing hides, so none can open a section or end the brief. The same store and the same question
give the same bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from experience import recalled
from experience.episode import checked_text
from experience.errors import InvalidInput
from experience.learn.learning import Learning
from experience.memory import Memory
from experience.protocols import Match
from experience.screen import revealed
from experience.tell.budget import Count, estimate_tokens, fair_shares
from experience.tell.contents import FIXED_PARTS, PARTS, Contents, Item, in_order
from experience.tell.sources import FittingSkill, Sources, by_task, sources_for

MAX_LEARNINGS = 25
_LENGTHS = (600, 240, 90)  # characters of a recalled text, tried in turn until all runs of a part fit
_LEARNINGS_SHARE = 0.4  # of what the fixed parts leave: while all learnings take no more, they stand in the stable part
_FIXED_SHARE = 1 / 3  # of the budget, that a fixed part may take; one that takes more is left out

_INTROS = {
    "learnings": recalled.LEARNED_INTRO,
    "worked": recalled.WORKED_INTRO,
    "failed": recalled.FAILED_INTRO,
    "unknown": recalled.UNKNOWN_INTRO,
    "skills": recalled.SKILLS_INTRO,
}
_NO_ROOM = "no room"
_MOST_ASKED = 20_000  # characters of a task that is looked for


@dataclass(frozen=True, slots=True)
class Blocker:
    """A kind of trouble that a run may ask a person about."""

    slug: str
    description: str


BLOCKERS = (
    Blocker("access", "a permission, account or secret is missing"),
    Blocker("tooling", "a tool is broken, missing or does something other than it says"),
    Blocker("ambiguity", "the request can be read in several ways, and the difference matters"),
    Blocker("environment", "the machine, network or service is not in a state to work with"),
    Blocker("decision", "a choice has to be made that belongs to a person"),
    Blocker("other", "anything else"),
)
"""The usual kinds, for a caller who has none of their own."""


@dataclass(frozen=True, slots=True)
class BriefPolicy:
    """How much is told, and in what terms."""

    budget: int = 2000
    """What the brief may cost, as `count` counts."""
    count: Count = estimate_tokens
    worked: int = 3
    """Runs that worked, at most; likewise the two below."""
    failed: int = 2
    unknown: int = 2
    skills: int = 3
    learn_tool: str = "propose_learning"
    """What a run proposes learnings with."""
    correct_tool: str = "correct_learning"
    """What it corrects them with."""
    blockers: tuple[Blocker, ...] = ()
    """The kinds of trouble to ask for help about; with none, help is not spoken of."""
    help_tool: str = "ask_for_help"

    def __post_init__(self) -> None:
        blockers = [text for one in self.blockers for text in (one.slug, one.description)]
        for text in (self.learn_tool, self.correct_tool, self.help_tool, *blockers):
            checked_text("the name of a tool or a blocker", text)
        if type(self.budget) is not int or self.budget < 1:
            raise InvalidInput(f"the budget is {self.budget!r}; it needs a whole number of at least 1")
        for name in ("worked", "failed", "unknown", "skills"):
            if type(number := getattr(self, name)) is not int or number < 0:
                raise InvalidInput(f"{name} is {number!r}; it needs a whole number, 0 for none")


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief, and what it tells and leaves out."""

    text: str
    """Empty when there was no room for anything."""
    cost: int = 0
    """As the policy counts."""
    contents: Contents = field(default_factory=Contents)
    stable: int = 0
    """Characters at the beginning that do not depend on the task."""
    agent: str = ""
    """Whom it tells."""
    made_of: "tuple[Sources, str, BriefPolicy] | None" = field(default=None, repr=False, compare=False)
    """What it was laid out from, for laying it out anew; without it, a brief is cut by its lines like any other text."""


def brief(memory: Memory, task: str, *, agent: str = "", policy: BriefPolicy = BriefPolicy()) -> Brief:
    """What the store says about a task to an agent. It writes nothing and ages nothing.

    Of a task its first 20,000 characters count; one without words gets the learnings alone. Raises StoreError, EncoderError, InvalidInput.
    """
    task = task[:_MOST_ASKED]
    sources = sources_for(
        memory, task, agent, worked=policy.worked, failed=policy.failed, unknown=policy.unknown, skills=policy.skills
    )
    return laid_out(sources, task, policy, agent)


def laid_out(sources: Sources, task: str, policy: BriefPolicy, agent: str = "") -> Brief:
    """The brief that these sources make: pure, and never more costly than the budget."""
    stable = _stable_blocks(sources, policy)
    learned = any(block.part == "learnings" for block in stable)
    room = policy.budget - policy.count(_joined(stable, ()))
    task_blocks = _task_blocks(sources, task, policy, with_learnings=not learned, room=room)
    while (text := _joined(stable, task_blocks)) and policy.count(text) > policy.budget:
        # Costs of parts need not add up to the cost of the whole.
        shrinking = task_blocks if any(block.items for block in task_blocks) else stable
        full = [at for at, block in enumerate(shrinking) if block.items]
        at = max(full, key=lambda at: (_cost(policy, shrinking[at]), at))
        shrinking[at] = shrinking[at].without_last()
    told = [item for block in (*stable, *task_blocks) for item in block.told]
    contents = Contents(tuple(told), tuple(_left_out(stable, task_blocks)))
    same = len("\n".join([recalled.OPENING, *(block.text for block in stable if block.items)])) if text else 0
    return Brief(text, policy.count(text) if text else 0, contents, same, agent, (sources, task, policy))


@dataclass(frozen=True, slots=True)
class _Block:
    """A part with its heading, the items that fit and those that do not."""

    part: str
    head: str
    items: tuple[str, ...] = ()
    told: tuple[Item, ...] = ()
    left_out: tuple[Item, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join([self.head, *self.items])

    def without_last(self) -> "_Block":
        gone = tuple(replace(item, why=_NO_ROOM) for item in self.told[-1:] or [Item(self.part, 1)])
        return replace(self, items=self.items[:-1], told=self.told[:-1], left_out=(*gone, *self.left_out))


def _stable_blocks(sources: Sources, policy: BriefPolicy) -> list[_Block]:
    """What does not depend on the task: the fixed parts, and the learnings if all of them find room."""
    propose = recalled.PROPOSE.format(tool=_ticked(policy.learn_tool), correct=_ticked(policy.correct_tool))
    fixed = [_Block("propose", _heading("propose"), (propose,))]
    if policy.blockers:
        kinds = [f"- {_ticked(one.slug)} — {_plain(one.description)}" for one in policy.blockers]
        text = "\n".join([recalled.HELP.format(tool=_ticked(policy.help_tool)), *kinds])
        fixed.append(_Block("help", _heading("help"), (text,)))
    fixed = [block if _cost(policy, block) <= policy.budget * _FIXED_SHARE else block.without_last() for block in fixed]
    learned = _learned([(None, one) for one in sources.learnings], len(sources.learnings))
    left = policy.budget - policy.count(_joined(fixed, ()))
    fits = len(sources.learnings) <= MAX_LEARNINGS and _cost(policy, learned) <= left * _LEARNINGS_SHARE
    return [*fixed, learned] if sources.learnings and fits else fixed


def _task_blocks(sources: Sources, task: str, policy: BriefPolicy, *, with_learnings: bool, room: int) -> list[_Block]:
    """What depends on the task: each part gets a fair share, and what one leaves goes to the others."""
    makers: list[tuple[str, Sequence[object], Callable[[int, int], _Block]]] = []
    if with_learnings:
        ranked = list[tuple[float | None, Learning]](by_task(sources.learnings, task))
        makers.append(("learnings", ranked[:MAX_LEARNINGS], lambda number, _: _learned(ranked, number)))
    for part, matches in (("worked", sources.worked), ("failed", sources.failed), ("unknown", sources.unknown)):
        makers.append((part, matches, lambda n, longest, p=part, m=matches: _runs(p, m, n, longest)))  # type: ignore[misc]
    makers.append(("skills", sources.skills, lambda number, longest: _skills(sources.skills, number, longest)))
    whole = [make(len(things), _LENGTHS[0]) for _, things, make in makers]
    needs = [_cost(policy, block) for block in whole]
    if sum(needs) > room:
        room -= policy.count(_left_out_line([item for block in whole for item in block.told]))
    shares = fair_shares(needs, room)
    return [_fitted(make, len(things), share, policy) for (_, things, make), share in zip(makers, shares, strict=True)]


def _fitted(make: Callable[[int, int], _Block], number: int, share: int, policy: BriefPolicy) -> _Block:
    """All items, in shorter words if need be; or, in the shortest, as many as fit."""
    for longest in _LENGTHS:
        if _cost(policy, (block := make(number, longest))) <= share:
            return block
    while number and _cost(policy, make(number, _LENGTHS[-1])) > share:
        number -= 1
    return make(number, _LENGTHS[-1])


def _learned(ranked: Sequence[tuple[float | None, Learning]], number: int) -> _Block:
    items = [
        Item("learnings", at, one.id, standing=one.standing, score=score) for at, (score, one) in enumerate(ranked, 1)
    ]
    lines = [
        f"{at}. [{one.standing}] {recalled.as_data(_flat(one.text))}" for at, (_, one) in enumerate(ranked[:number], 1)
    ]
    return _block("learnings", lines, items, number)


def _runs(part: str, matches: Sequence[Match], number: int, longest: int) -> _Block:
    items = [Item(part, at, one.id, score=round(one.score, 6), why=one.why) for at, one in enumerate(matches, 1)]
    lines = [
        recalled.episode_lines(at, one.episode, longest, recalled.result_of(one))
        for at, one in enumerate(matches[:number], 1)
    ]
    return _block(part, lines, items, number)


def _skills(skills: Sequence[FittingSkill], number: int, longest: int) -> _Block:
    items = [
        Item("skills", at, name=one.version.name, version=one.version.number, score=one.score, why=one.why)
        for at, one in enumerate(skills, 1)
    ]
    lines = []
    for at, one in enumerate(skills[:number], 1):
        description = recalled.as_data(_flat(one.description)[:longest])
        lines.append(
            f"{at}. skill `{one.version.name}` (version {one.version.number}): {description}\n   {_health(one)}"
        )
    return _block("skills", lines, items, number)


def _block(part: str, lines: Sequence[str], items: Sequence[Item], number: int) -> _Block:
    head = f"{_heading(part)}\n{_INTROS[part]}"
    left_out = tuple(replace(item, why=_NO_ROOM) for item in items[number:])
    return _Block(part, head, tuple(lines), tuple(items[:number]), left_out)


def _heading(part: str) -> str:
    return f"\n== {recalled.TITLES[part]} =="


def _health(skill: FittingSkill) -> str:
    counts = skill.followed
    said = f"{counts.total} runs followed it: {counts.worked} worked, {counts.failed} failed, {counts.unknown} unknown"
    if not counts.total:
        said = "no run has followed it yet"
    return said + ("; suspected of misleading: a revision of it waits" if skill.suspected else "")


def _left_out_line(left_out: Sequence[Item]) -> str:
    """What did not fit, counted."""
    names = {"propose": "how to propose a learning", "help": "how to ask for help", "learnings": "learnings", "skills": "skills", "worked": "runs that worked", "failed": "runs that failed", "unknown": "runs whose end nobody confirmed"}  # fmt: skip
    fixed = [names[item.part] for item in left_out if item.part in FIXED_PARTS]
    counts = [(sum(item.part == part for item in left_out), names[part]) for part in PARTS]
    said = ", ".join([*fixed, *(f"{count} {name}" for count, name in counts if count)])
    return f"\n(left out for want of room: {said})" if said else ""


def _joined(stable: Sequence[_Block], task_blocks: Sequence[_Block]) -> str:
    parts = [block.text for block in (*stable, *task_blocks) if block.items]
    line = _left_out_line(_left_out(stable, task_blocks))
    return "\n".join([recalled.OPENING, *parts, *([line] if line else []), recalled.CLOSING]) if parts else ""


def _left_out(stable: Sequence[_Block], task_blocks: Sequence[_Block]) -> list[Item]:
    found = [item for block in (*stable, *task_blocks) for item in block.left_out]
    return sorted(found, key=in_order)


def _cost(policy: BriefPolicy, block: _Block) -> int:
    return policy.count(block.text) if block.items else 0


def _flat(text: str) -> str:
    return " ".join(text.split())


def _ticked(name: str) -> str:
    """A caller's name in backticks, on one line and without others."""
    return f"`{_plain(name).replace('`', '')}`"


def _plain(text: str) -> str:
    """A caller's words on one line, with neither mark in them."""
    return revealed(_flat(text)).replace(recalled.OPENING, "").replace(recalled.CLOSING, "")
