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
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast, overload

from experience.episode import Cost, Episode
from experience.errors import ExperienceError, ToolDenied
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
        self.memory = memory
        self._started_at = memory.store.now()
        self._ticks = time.monotonic()
        self.episode()  # what could not be recorded is refused now, not after the work is done

    def recall(self, k: int = 3, where: Filter = Filter()) -> str:
        """Similar past runs as a block for the prompt; empty when there are none. Recording leaves the block out again."""
        return quoted(self.memory.recall(self.situation, k, where))

    def episode(self) -> Episode:
        """The run as an episode. Its tools are the calls that were made; denied ones are only in `meta`."""
        calls = self.tools.snapshot()
        notable = [call._asdict() for call in calls if not call.allowed or call.worked is False]
        episode = Episode(
            situation=self.situation,
            outcome=self.outcome,
            tools=tuple(call.name for call in calls if call.allowed),
            skills=self.skills.snapshot(),
            tags=self.tags,
            success=self.success,
            run_id=self.run_id,
            started_at=self._started_at,
            cost=self.cost,
            meta=self.meta,
        )
        seconds = time.monotonic() - self._ticks if episode.cost.seconds is None else episode.cost.seconds
        meta = {**episode.meta, **({"tool_trouble": notable} if notable else {})}
        return replace(episode, cost=replace(episode.cost, seconds=seconds), meta=meta)


class Recorder:
    """Records runs into a memory, each from a `with` block of its own."""

    def __init__(self, memory: Memory, *, by: str = "recorder") -> None:
        self._memory = memory
        self._by = by

    @contextmanager
    def run(
        self,
        situation: str,
        *,
        run_id: str | None = None,
        supersede: bool = False,
        kind: str = "host",
        tags: tuple[str, ...] = (),
    ) -> Iterator[Run]:
        """A run that is recorded when the block ends; its success as a label of class `kind`.

        A run_id that was recorded before with another account raises RunConflict at the end, unless `supersede`: then this
        run takes its place. `kind="self_claim"` is for a success that the agent itself decides.
        An exception inside it records a failure and goes on to the caller; an interruption (KeyboardInterrupt, SystemExit,
        a cancelled task) is recorded without a verdict, because it says nothing about the work.
        """
        run = Run(self._memory, situation, run_id, tags)
        how: dict[str, Any] = {"supersede": supersede, "kind": kind, "by": self._by}
        token = _current.set(run)
        try:
            yield run
        except BaseException as error:
            _end_by(run, error)
            try:
                self._record(run, how)
            except ExperienceError as trouble:
                # The run's own error is the one its caller must see.
                error.add_note(f"and the run could not be recorded: {trouble}")
            raise
        else:
            self._record(run, how)
        finally:
            # A generator may be closed in another context than the one it began in; there is nothing to put back there.
            with suppress(ValueError):
                _current.reset(token)

    def _record(self, run: Run, how: dict[str, Any]) -> None:
        run.episode_id = self._memory.record(run.episode(), evidence=run.evidence, **how)


def current_run() -> Run | None:
    """The run that this thread or task is in, if any."""
    return _current.get()


def note_skill(*names: str) -> None:
    """Note skills in the current run; outside of one this does nothing."""
    if run := current_run():
        run.skills.note(*names)


@overload
def traced(name: Callable[P, T]) -> Callable[P, T]: ...
@overload
def traced(name: str | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def traced(name: str | Callable[P, T] | None = None) -> Any:
    """Decorate a tool, plain or async, so that each call is noted in the current run: worked, failed or denied.

    Works as `@traced`, `@traced()` and `@traced("another name")`.
    A tool says that it was not allowed to run by raising ToolDenied. Outside of a run the tool simply runs.
    `asyncio.to_thread` takes the current run along; a bare thread or a pool does not, and needs
    `contextvars.copy_context().run`. A generator is noted as it is made, not as it is read.
    """
    if callable(name):
        return traced()(name)

    def decorate(tool: Callable[P, T]) -> Callable[P, T]:
        called = name if isinstance(name, str) else getattr(tool, "__name__", type(tool).__name__)
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
    except ToolDenied:
        allowed = False
        raise
    finally:
        if run:
            run.tools.note(name, allowed=allowed, worked=worked if allowed else None)


def _end_by(run: Run, error: BaseException) -> None:
    # However an exception behaves, and whatever bytes it holds, what it says can be recorded.
    said = "".join(traceback.format_exception_only(error)).strip().removeprefix(f"{type(error).__module__}.")
    said = said.encode(errors="backslashreplace").decode().replace("\0", "\\x00")
    run.outcome = f"{run.outcome}\n{said}".strip()
    run.success = False if isinstance(error, Exception) else None
    run.evidence = said if isinstance(error, Exception) else ""
