"""Trajectories of SWE-agent: the `.traj` file of one attempt at one issue.

What was asked is the issue alone, without the instructions around it and without the demonstration before it. That an
attempt was submitted does not say that it solved the issue, so that no `.traj` says whether it worked unless a report
of its tests stands in it.
"""

from collections.abc import Iterator
from typing import Any

from experience.episode import Cost
from experience.errors import InvalidInput
from experience.importers.lenient import amount, digest, fields, items, known, parsed, text, total, words
from experience.importers.naming import WRAPPED, command_name
from experience.importers.session import Finding, Format, Session, Trouble
from experience.importers.source import Source
from experience.importers.turns import SYSTEM, UNREADABLE, Answer, Called, Turn, session_of

DEMONSTRATION = "a demonstration"
_AROUND = (
    ("ISSUE:\n", "\n\nINSTRUCTIONS:\n"),
    ("<pr_description>\n", "\n</pr_description>"),
    ("<issue>\n", "\n</issue>"),
)
"""What the public templates put before and after the issue."""


def _recognises(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("trajectory"), list):
        return False
    steps = value["trajectory"]
    acts = bool(steps) and all(isinstance(step, dict) and "action" in step for step in steps[:20])
    return acts or (not steps and isinstance(value.get("history"), list) and isinstance(value.get("info"), dict))


def _sessions(source: Source) -> Iterator[Session | Trouble]:
    try:
        run = source.document()
    except InvalidInput as error:
        yield Trouble(None, str(error))
        return
    if isinstance(run, dict) and isinstance(run.get("trajectory"), list):
        yield _session(run)
    else:
        yield Trouble(None, "no SWE-agent trajectory: it needs an object with a list under trajectory")


def _session(run: dict[str, Any]) -> Session:
    config, info = fields(parsed(run.get("replay_config"))), fields(run.get("info"))
    problem = fields(config.get("problem_statement"))
    steps = run["trajectory"]
    first = fields(steps[0]) if steps else {}
    before = _before(items(run.get("history")) or items(first.get("query")))
    whole = next((words(fields(one).get("content")) for one in before if _asks(one)), "")
    issue = text(problem.get("text")).strip() or _issue_in(whole)
    stats, status = fields(info.get("model_stats")), text(info.get("exit_status"))
    model = fields(fields(config.get("agent")).get("model"))
    return session_of(
        _id(run, text(problem.get("id")), issue, first),
        [*_opening(before, bool(issue)), *(_turn(number, step) for number, step in enumerate(steps))],
        asked=issue,
        ended="" if not status or status.startswith("submitted") else f"The run ended with: {status}",
        finding=_finding(info),
        cost=lambda _: Cost(
            steps=len(steps),
            tokens=total((stats.get("tokens_sent"), stats.get("tokens_received"))) or None,
            money=amount(stats.get("instance_cost")) or None,
        ),
        meta=known(
            agent="swe-agent",
            model=text(model.get("name")),
            environment=text(run.get("environment")),
            transcript_id=text(problem.get("id")),
            exit_status=status,
        ),
    )


def _id(run: dict[str, Any], problem: str, issue: str, first: dict[str, Any]) -> str:
    """A name out of how a run began; how long its first command took tells attempts at one issue apart."""
    begun = (_reply(first), text(first.get("action")), str(amount(first.get("execution_time")) or ""))
    return digest(text(run.get("environment")), problem, issue, *begun)


def _before(history: list[Any]) -> list[Any]:
    """What stands in the history before the first action: the system prompt, demonstrations, the request."""
    for number, one in enumerate(history):
        if fields(one).get("role") == "assistant" and not _shows(one):
            return history[:number]
    return history


def _shows(message: Any) -> bool:
    one = fields(message)
    tags = items(one.get("tags"))
    return one.get("is_demo") is True or one.get("message_type") == "demonstration" or "demonstration" in tags


def _asks(message: Any) -> bool:
    return fields(message).get("role") == "user" and not _shows(message)


def _issue_in(request: str) -> str:
    """The issue out of a request that a public template made; the whole request where none of them did."""
    for start, end in _AROUND:
        begins, ends = request.find(start), request.rfind(end)
        if begins >= 0 and begins + len(start) <= ends:
            return request[begins + len(start) : ends].strip()
    return request.strip()


def _opening(before: list[Any], asked: bool) -> Iterator[Turn]:
    """The turns before the first action; a request whose words are nowhere in the history is a turn too."""
    for message in before:
        if _shows(message):
            yield Turn("other", drop=DEMONSTRATION)
        elif _asks(message):
            yield Turn("user", words(fields(message).get("content")))
        else:
            yield Turn("other", drop=SYSTEM if fields(message).get("role") == "system" else UNREADABLE)
    if asked and not any(map(_asks, before)):
        yield Turn("user", "asked")


def _turn(number: int, step: Any) -> Turn:
    if not isinstance(step, dict):
        return Turn("other", drop=UNREADABLE)
    action, id = text(step.get("action")), f"step {number}"
    name = command_name(action) or WRAPPED
    calls = (Called(name, {"command": action}, id),) if action.strip() else ()
    return Turn("agent", _reply(step), calls, (Answer(id, text(step.get("observation"))),) if calls else ())


def _reply(step: dict[str, Any]) -> str:
    return text(step.get("response")) or text(step.get("thought"))


def _finding(info: dict[str, Any]) -> Finding | None:
    """What a report of the tests says, where an evaluation wrote one into the file."""
    for place, report in (("report", fields(info.get("report"))), ("info", info)):
        if isinstance(resolved := report.get("resolved"), bool):
            return Finding(resolved, "verifier", f"{place}.resolved = {str(resolved).lower()}")
    return None


FORMAT = Format("swe_agent", "SWE-agent trajectory", _recognises, _sessions)
