"""Records as ATIF v1.8 trajectories (Agent Trajectory Interchange Format), one JSON document a line.

The situation is the user's step, the tools are one step of calls, the outcome is the last step's message. Where nobody
asked anything and a stand-in makes the situation, there is no user's step: what the agent said first is its own, and a
list of calls is no step, but kept under `extra.hardwon`. Arguments,
results, reasoning and the time of each step were never recorded, and none are made up; what we know beyond the format
stands under `extra.hardwon`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from experience.episode import Episode, moment_text
from experience.lines import KEY, line_of
from experience.protocols import Label, Record
from experience.store import SqliteStore
from experience.transfer import exported

VERSION = "ATIF-v1.8"
_UNKNOWN = "unknown"
_NOTES = (
    "Made from a record of the run, which holds what was asked, the names of the tools in order and the final account; "
    "arguments, results, reasoning and the times of steps were not recorded."
)
_FROM, _AGENT, _CALLS = "situation_from", "agent", "calls"  # in `meta`, where importers found nothing that was asked
_IN_STEPS = ("situation", "tools", "outcome")


def atif_lines(store: SqliteStore) -> Iterator[str]:
    """One trajectory a record of the store's namespace, superseded ones too, oldest first, without the line end.

    Expired records are left out.
    """
    for record, labels, supersedes in exported(store):
        yield json.dumps(trajectory(record, labels, supersedes), ensure_ascii=False)


def trajectory(record: Record, labels: Iterable[Label], supersedes: str | None) -> dict[str, Any]:
    """The trajectory of one record; `extra.hardwon` holds its verdict, labels, skills, tags, run_id, cost, meta and times."""
    line = line_of(record, labels, supersedes)
    elsewhere = {KEY, *_IN_STEPS} - ({"situation"} if record.episode.meta.get(_FROM) == _CALLS else set())
    beyond = {key: value for key, value in line.items() if key not in elsewhere}
    return {
        "schema_version": VERSION,
        "session_id": record.episode.run_id or record.uid,
        "trajectory_id": record.uid,
        "agent": _agent(record.episode),
        "steps": _steps(record.episode),
        "notes": _NOTES,
        "extra": {KEY: {**line[KEY], **beyond}},
    }


def _agent(episode: Episode) -> dict[str, str]:
    """Who ran it, as far as `meta` says so under the names that importers give."""
    known = {key: value for key, value in episode.meta.items() if isinstance(value, str) and value}
    agent = {"name": known.get("agent", _UNKNOWN), "version": known.get("agent_version", _UNKNOWN)}
    return {**agent, "model_name": known["model"]} if "model" in known else agent


def _steps(episode: Episode) -> list[dict[str, Any]]:
    calls = [
        {"tool_call_id": f"call-{number}", "function_name": name, "arguments": {}}
        for number, name in enumerate(episode.tools, 1)
    ]
    called = [{"source": "agent", "message": "", "tool_calls": calls}] if calls else []
    steps = [*_opening(episode), *called, {"source": "agent", "message": episode.outcome}]
    if episode.started_at is not None:
        steps[0] = {**steps[0], "timestamp": moment_text(episode.started_at)}
    return [{"step_id": number, **step} for number, step in enumerate(steps, 1)]


def _opening(episode: Episode) -> list[dict[str, Any]]:
    """What was asked; where nobody did, what the agent said first, unless that is all that it said."""
    whose = episode.meta.get(_FROM)
    if whose == _CALLS or (whose == _AGENT and episode.situation == episode.outcome):
        return []
    return [{"source": "agent" if whose == _AGENT else "user", "message": episode.situation}]
