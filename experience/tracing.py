"""What a run did, noted while it does it.

A `Recorder` opens a `Run` for each run; tools and skills noted inside it land in that run's own buffers and nowhere else,
however many threads and tasks work at once, because which run is current is a context variable. What a tool was asked to
do and what became of it are two facts: a call that was denied is kept apart from one that was made, and one that failed
from one that worked. Skills are noted by the host, never guessed from text: a run that is labelled with a skill it did not
follow puts the blame on the wrong skill.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from experience.episode import Cost, Episode
from experience.errors import ExperienceError
from experience.memory import Memory
from experience.protocols import Filter
from experience.recalled import quoted

P = ParamSpec("P")
T = TypeVar("T")

_current: ContextVar["Run | None"] = ContextVar("experience_run", default=None)


class ToolCall(NamedTuple):
    """One call of a tool."""

    name: str
    allowed: bool = True
    """False when it was denied and so never made."""
    worked: bool | None = None
    """None when nobody has said."""


class ToolTrace:
    """The tool calls of one run, in order. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[ToolCall] = []

    def note(self, name: str, *, allowed: bool = True, worked: bool | None = None) -> None:
        """Add a call."""
        with self._lock:
            self._calls.append(ToolCall(name, allowed, worked))

    def snapshot(self) -> tuple[ToolCall, ...]:
        """The calls so far."""
        with self._lock:
            return tuple(self._calls)

    def drain(self) -> tuple[ToolCall, ...]:
        """The calls so far, which are then forgotten."""
        with self._lock:
            calls, self._calls = tuple(self._calls), []
        return calls


class SkillTrace:
    """The skills that one run followed, each once, in the order of first use. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, None] = {}

    def note(self, *names: str) -> None:
        """Add skills; blank names and ones noted before change nothing."""
        with self._lock:
            self._names.update(dict.fromkeys(name for name in names if name.strip()))

    def snapshot(self) -> tuple[str, ...]:
        """The skills so far."""
        with self._lock:
            return tuple(self._names)

    def drain(self) -> tuple[str, ...]:
        """The skills so far, which are then forgotten."""
        with self._lock:
            names, self._names = tuple(self._names), {}
        return names


class Run:
    """One run while it goes on. Set `outcome`, `success`, `cost` and `meta` on it before the block ends."""

    def __init__(self, memory: Memory, situation: str, run_id: str | None, tags: tuple[str, ...]) -> None:
        self.situation = situation
        self.tools = ToolTrace()
        self.skills = SkillTrace()
        self.tags = tags
        self.run_id = run_id
        self.outcome = ""
        self.success: bool | None = None
        self.evidence = ""
        """Why success is what it is; kept with the label."""
        self.cost = Cost()
        self.meta: dict[str, Any] = {}
        self.episode_id: int | None = None
        """The id of the recorded episode, once the block has ended."""
        self._memory = memory
        self._started_at = datetime.now(UTC)

    def recall(self, k: int = 3, where: Filter = Filter()) -> str:
        """Similar past runs as a block for the prompt; empty when there are none. Recording leaves the block out again."""
        return quoted(self._memory.recall(self.situation, k, where))

    def episode(self) -> Episode:
        """The run as an episode. Its tools are the calls that were made; denied ones are only in `meta`."""
        calls = self.tools.snapshot()
        seconds = (datetime.now(UTC) - self._started_at).total_seconds()
        notable = [call._asdict() for call in calls if not call.allowed or call.worked is False]
        return Episode(
            situation=self.situation,
            outcome=self.outcome,
            tools=tuple(call.name for call in calls if call.allowed),
            skills=self.skills.snapshot(),
            tags=self.tags,
            success=self.success,
            run_id=self.run_id,
            started_at=self._started_at,
            cost=self.cost if self.cost.seconds is not None else replace(self.cost, seconds=max(0.0, seconds)),
            meta={**self.meta, **({"tool_trouble": notable} if notable else {})},
        )


class Recorder:
    """Records runs into a memory, each from a `with` block of its own."""

    def __init__(self, memory: Memory, *, by: str = "recorder") -> None:
        self._memory = memory
        self._by = by

    @contextmanager
    def run(self, situation: str, *, run_id: str | None = None, tags: tuple[str, ...] = ()) -> Iterator[Run]:
        """A run that is recorded when the block ends.

        An exception inside it records a failure and goes on to the caller; an interruption (KeyboardInterrupt, SystemExit,
        a cancelled task) is recorded without a verdict, because it says nothing about the work.
        """
        run = Run(self._memory, situation, run_id, tags)
        token = _current.set(run)
        try:
            yield run
        except BaseException as error:
            _end_by(run, error)
            try:
                self._record(run)
            except ExperienceError as trouble:
                # The run's own error is the one its caller must see.
                error.add_note(f"and the run could not be recorded: {trouble}")
            raise
        else:
            self._record(run)
        finally:
            _current.reset(token)

    def _record(self, run: Run) -> None:
        run.episode_id = self._memory.record(run.episode(), by=self._by, evidence=run.evidence)


def current_run() -> Run | None:
    """The run that this thread or task is in, if any."""
    return _current.get()


def note_skill(*names: str) -> None:
    """Note skills in the current run; outside of one this does nothing."""
    if run := current_run():
        run.skills.note(*names)


def traced(name: str | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a tool, plain or async, so that each call is noted in the current run: worked, failed or denied.

    A PermissionError counts as denied. Outside of a run the tool simply runs. `asyncio.to_thread` takes the current run
    along; a bare thread does not, and needs `contextvars.copy_context().run`.
    """

    def decorate(tool: Callable[P, T]) -> Callable[P, T]:
        called = name or tool.__name__
        if inspect.iscoroutinefunction(tool):

            @functools.wraps(tool)
            async def waiting(*args: P.args, **kwargs: P.kwargs) -> Any:
                with _noted(called):
                    return await tool(*args, **kwargs)

            return cast("Callable[P, T]", waiting)

        @functools.wraps(tool)
        def calling(*args: P.args, **kwargs: P.kwargs) -> T:
            with _noted(called):
                return tool(*args, **kwargs)

        return calling

    return decorate


@contextmanager
def _noted(name: str) -> Iterator[None]:
    run = current_run()
    worked, allowed = False, True
    try:
        yield
        worked = True
    except PermissionError:
        allowed = False
        raise
    finally:
        if run:
            run.tools.note(name, allowed=allowed, worked=worked if allowed else None)


def _end_by(run: Run, error: BaseException) -> None:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    run.outcome = f"{run.outcome}\n{said}".strip()
    run.success = False if isinstance(error, Exception) else None
    run.evidence = said if isinstance(error, Exception) else ""
