"""The live window of a run: exchanges compacted one by one, each once, when all its calls were answered.

Compacting while results still land would part the budget among other texts than a rebuild sees. So the window and the
rebuild from raw steps share one boundary and one decision, and come to the same bytes. It knows no wire format.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from experience.errors import InvalidInput
from experience.tell.blocks import Exchange, Said, ToolResult, ToolUse
from experience.tell.budget import checked
from experience.tell.exchange import DEFAULT, CompactPolicy, compact
from experience.tell.offload import ContentStore


class Announced(NamedTuple):
    """A step: what the assistant said, with the calls it announced."""

    blocks: tuple[Said, ...]


class Landed(NamedTuple):
    """A step: what a tool answered."""

    result: ToolResult


Step = Announced | Landed


@dataclass(frozen=True, slots=True)
class Window:
    """What a run sees of its past; each step gives a new one. Raises InvalidInput for a negative budget."""

    budget: int
    """Of one exchange, in the unit that the policy counts."""
    policy: CompactPolicy = DEFAULT
    store: ContentStore | None = None
    closed: tuple[Exchange, ...] = ()
    """Exchanges that are over, compacted."""
    open: Exchange | None = None
    """The one whose calls are not all answered yet, as it is."""

    def __post_init__(self) -> None:
        checked(self.budget)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All of them in order, the open one last."""
        return self.closed if self.open is None else (*self.closed, self.open)

    def waiting(self) -> tuple[str | None, ...]:
        """The calls that are not answered yet, in the order they were announced."""
        if self.open is None:
            return ()
        calls = [block.id for block in self.open.assistant if isinstance(block, ToolUse)]
        for result in self.open.results:
            calls.remove(result.tool_use_id)
        return tuple(calls)

    def reply(self, *blocks: Said) -> "Window":
        """The window after a reply; one without calls closes at once.

        Raises InvalidInput while calls of the last reply wait.
        """
        if waiting := self.waiting():
            raise InvalidInput(f"{len(waiting)} calls wait for their results ({waiting[0]} first); land those first")
        return self._after(Exchange(blocks))

    def land(self, result: ToolResult) -> "Window":
        """The window after a result; the last one of a wave closes the exchange.

        Raises InvalidInput for a result that no call waits for.
        """
        if self.open is None or result.tool_use_id not in self.waiting():
            raise InvalidInput(f"no call waits for the result of {result.tool_use_id!r}; announce it in a reply first")
        return self._after(self.open.with_result(result))

    def _after(self, exchange: Exchange) -> "Window":
        opened = replace(self, open=exchange)
        if opened.waiting():
            return opened
        done = compact(exchange, self.budget, self.policy, self.store).exchange
        return replace(self, closed=(*self.closed, done), open=None)


class Rebuilt(NamedTuple):
    """A window made again from steps."""

    window: Window
    upto: int
    """How many steps are in it: those up to the last place where no call waited."""


def rebuild(
    steps: Sequence[Step],
    budget: int,
    policy: CompactPolicy = DEFAULT,
    upto: int | None = None,
    store: ContentStore | None = None,
) -> Rebuilt:
    """The window that a run had after its first `upto` steps, all of them by default, block for block.

    A wave that had not landed whole by then is left out whole. Raises InvalidInput for an `upto` past the end or
    below 0, and for steps that no window could have come from.
    """
    if upto is None:
        upto = len(steps)
    if not 0 <= upto <= len(steps):
        raise InvalidInput(f"the cut is at {upto}; it needs to be from 0 to {len(steps)}, where the steps end")
    window, safe = Window(budget, policy, store), 0
    last = window
    for number, step in enumerate(steps[:upto], 1):
        window = window.reply(*step.blocks) if isinstance(step, Announced) else window.land(step.result)
        if window.open is None:
            last, safe = window, number
    return Rebuilt(last, safe)
