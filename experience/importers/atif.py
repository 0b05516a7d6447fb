"""Trajectories in the Agent Trajectory Interchange Format, ATIF 1.0 to 1.8: one document, or one a line.

Read as plain JSON, leniently: a field of a later version is no trouble. An embedded sub-agent's trajectory is a session
of its own that names its parent; one in another file is that file's.
"""

from collections.abc import Iterator
from typing import Any

from experience.episode import Cost
from experience.importers.chat import user_turn
from experience.importers.documents import documents
from experience.importers.lenient import (
    amount,
    count,
    digest,
    fields,
    items,
    known,
    moment,
    text,
    total,
    words,
)
from experience.importers.session import Format, Session, Trouble
from experience.importers.source import Source
from experience.importers.turns import SYSTEM, UNREADABLE, Answer, Called, Turn, session_of
from experience.importers.verdicts import of_reward

_TIMELESS = ("swe-agent-traj",)
"""Formats without times: a trajectory made of one has those of the conversion."""
COPIED, EVENT = "copied from an earlier trajectory", "a system event"


def _recognises(value: Any) -> bool:
    return _is_trajectory(value[0] if isinstance(value, list) and value else value)


def _is_trajectory(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and text(value.get("schema_version")).startswith("ATIF")
        and isinstance(value.get("steps"), list)
    )


def _sessions(source: Source) -> Iterator[Session | Trouble]:
    for document in documents(source):
        if isinstance(document, Trouble):
            yield document
            continue
        for found in document.value if isinstance(document.value, list) else [document.value]:
            if _is_trajectory(found):
                yield from _family(found)
            else:
                yield Trouble(
                    document.line, "no ATIF trajectory: it needs a schema_version of ATIF and a list of steps"
                )


def _family(trajectory: dict[str, Any]) -> Iterator[Session]:
    """The trajectory and those of its sub-agents, and of theirs."""
    waiting = [(trajectory, "")]
    while waiting:
        one, parent = waiting.pop()
        made = _session(one, parent)
        yield made
        subs = [sub for sub in items(one.get("subagent_trajectories")) if isinstance(sub, dict)]
        waiting += [(sub, made.id) for sub in reversed(subs)]


def _session(trajectory: dict[str, Any], parent: str) -> Session:
    agent, metrics = fields(trajectory.get("agent")), fields(trajectory.get("final_metrics"))
    steps = items(trajectory.get("steps"))
    tokens = total((metrics.get("total_prompt_tokens"), metrics.get("total_completion_tokens")))
    timeless = fields(agent.get("extra")).get("original_format") in _TIMELESS
    moments = [] if timeless else [at for at in (moment(fields(step).get("timestamp")) for step in steps) if at]
    took = (max(moments) - min(moments)).total_seconds() if len(moments) > 1 else None
    return session_of(
        _id(trajectory, steps, parent),
        _turns(steps),
        finding=of_reward(fields(trajectory.get("extra")).get("reward")),
        started_at=moments[0] if moments else None,
        cost=lambda turns: Cost(steps=turns, tokens=tokens, seconds=took, money=amount(metrics.get("total_cost_usd"))),
        meta=known(
            agent=text(agent.get("name")),
            agent_version=text(agent.get("version")),
            model=text(agent.get("model_name")),
            schema=text(trajectory.get("schema_version")),
            transcript_id=text(trajectory.get("session_id")) or text(trajectory.get("trajectory_id")),
            parent=parent,
            continued_in=text(trajectory.get("continued_trajectory_ref")),
            notes=text(trajectory.get("notes")),
            reported_steps=count(metrics.get("total_steps")),
        ),
    )


def _id(trajectory: dict[str, Any], steps: list[Any], parent: str) -> str:
    """Segments of one run may share a session_id, and sub-agents that of their parent; then what they begin with tells."""
    names = [text(trajectory.get(key)) for key in ("session_id", "trajectory_id")]
    own = [fields(step) for step in steps if fields(step).get("is_copied_context") is not True]
    begins = [text(fields(own[0]).get("timestamp")), words(fields(own[0]).get("message"))] if own else []
    if names[1]:
        return "/".join(filter(None, [parent, *names] if not names[0] else names))
    if names[0] and not parent and len(own) == len(steps):
        return names[0]
    return "/".join(filter(None, [parent, names[0], digest(*begins)]))


def _turns(steps: list[Any]) -> Iterator[Turn]:
    asks = [fields(step).get("source") == "user" for step in steps]
    copied = [fields(step).get("is_copied_context") is True for step in steps]
    own_request = any(ask and not old for ask, old in zip(asks, copied, strict=True))
    found = own_request
    for step, ask, old in zip(steps, asks, copied, strict=True):
        if old and ask and not found:
            found = True  # a continued trajectory has its request among what was copied
            yield _turn(step)
        elif old:
            yield Turn("other", drop=COPIED)
        else:
            yield _turn(step)


def _turn(step: Any) -> Turn:
    if not isinstance(step, dict):
        return Turn("other", drop=UNREADABLE)
    source, message = step.get("source"), step.get("message")
    answers = tuple(map(_answer, map(fields, items(fields(step.get("observation")).get("results")))))
    if source == "user":
        return user_turn(message, answers)
    if source == "agent":
        calls = tuple(map(_called, map(fields, items(step.get("tool_calls")))))
        return Turn("agent", words(message), calls, _of_one(calls[0], step, answers) if len(calls) == 1 else answers)
    if source == "system":
        named = any(answer.call for answer in answers)
        return Turn("tool", answers=answers) if named else Turn("other", drop=EVENT if answers else SYSTEM)
    return Turn("other", drop=UNREADABLE)


def _of_one(call: Called, step: dict[str, Any], answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """The answers of a step with one call: those that name none are its, and the step may say that it failed."""
    failed = fields(step.get("extra")).get("tool_result_is_error")
    told = None if not isinstance(failed, bool) else not failed
    return tuple(
        one._replace(call=one.call or call.id or call.name, worked=told if one.worked is None else one.worked)
        for one in answers
    )


def _called(call: dict[str, Any]) -> Called:
    name = text(call.get("function_name")) or "unnamed"
    return Called(name, call.get("arguments"), text(call.get("tool_call_id")))


def _answer(result: dict[str, Any]) -> Answer:
    """An answer; of `extra` an `is_error` and an `exit_code` are heard: anything but 0 is a failure."""
    extra = fields(result.get("extra"))
    code, error = extra.get("exit_code"), extra.get("is_error")
    worked = not error if isinstance(error, bool) else code == 0 if type(code) is int else None
    return Answer(text(result.get("source_call_id")), words(result.get("content")), worked)


FORMAT = Format("atif", "ATIF trajectory", _recognises, _sessions)
