"""What Claude Code is told when a session begins or something is asked, and what becomes of a session that has ended.

A host calls a hook with a JSON object that says which session, where, and what was asked. What is told is kept as a receipt
of the run that the session's transcript will be imported as. A session's end takes the transcript's file in,
and those of its sub-agents, which lie in a folder of its name.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experience.errors import InvalidInput
from experience.hosts.claude_code import EVENTS
from experience.importers.claude_code import FORMAT
from experience.importers.episodes import run_id_of
from experience.importers.importing import import_paths
from experience.memory import Memory
from experience.store import SqliteStore
from experience.tell.brief import Brief, BriefPolicy, brief, laid_out
from experience.tell.receipts import Receipts
from experience.tell.sources import sources_for

_LARGEST = 16 * 2**20
_AT_START, _AT_PROMPT = 1500, 1200  # tokens: a host shortens what has more than ten thousand characters
_MOST_ASKED = 20_000  # characters of a prompt that is looked for


def heard(data: bytes) -> Mapping[str, Any]:
    """What a host says to a hook. Raises InvalidInput for anything but a JSON object."""
    if len(data) > _LARGEST:
        raise InvalidInput(f"the hook was told more than {_LARGEST} bytes; it needs a JSON object of a session")
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the hook was told no JSON: {error}; it is for a host to call") from error
    if not isinstance(said, dict):
        raise InvalidInput(f"the hook was told {type(said).__name__}; it needs a JSON object")
    return said


def at_session_start(memory: Memory, said: Mapping[str, Any], command: str) -> dict[str, Any] | None:
    """What a session is told at its beginning: learnings, and runs that speak of the folder by its name.

    `command` is how a shell calls ours, for proposing learnings. What the session is about is not known yet.
    """
    folder = Path(_text(said, "cwd", "") or ".").name
    told = brief(memory, folder, policy=_policy(said, _AT_START, command))
    return _told(memory, said, told, "session-start")


def at_prompt(memory: Memory, said: Mapping[str, Any], command: str) -> dict[str, Any] | None:
    """What a session is told of a prompt: similar runs and skills; learnings it was told at its beginning. None for none."""
    prompt = _text(said, "prompt")[:_MOST_ASKED]
    policy = _policy(said, _AT_PROMPT, command)
    found = sources_for(
        memory, prompt, "", worked=policy.worked, failed=policy.failed, unknown=policy.unknown, skills=policy.skills
    )
    told = laid_out(replace(found, learnings=()), prompt, policy)
    return _told(memory, said, told, "user-prompt-submit") if told.contents.told else None


def at_session_end(store: SqliteStore, said: Mapping[str, Any]) -> None:
    """Import the transcript of a session that has ended. Raises InvalidInput where there is none, and what importing raises."""
    transcript = Path(_text(said, "transcript_path")).expanduser()
    if not transcript.is_file():
        raise InvalidInput(f"there is no transcript at {transcript}; nothing was imported")
    subagents = transcript.with_suffix("")  # where their transcripts lie, if there are any
    import_paths(store, [transcript, *([subagents] if subagents.is_dir() else [])])


def _told(memory: Memory, said: Mapping[str, Any], told: Brief, event: str) -> dict[str, Any] | None:
    """A brief as the host takes it, once its receipt is kept."""
    if not told.text:
        return None
    if session := _text(said, "session_id", ""):
        Receipts(memory.store).add(run_id_of(FORMAT.name, session), told)
    return {"hookSpecificOutput": {"hookEventName": EVENTS[event], "additionalContext": told.text}}


def _policy(said: Mapping[str, Any], budget: int, command: str) -> BriefPolicy:
    session = _text(said, "session_id", "")
    of_run = f" --run-id {shlex.quote(run_id_of(FORMAT.name, session))}" if session else ""
    propose = f"{command} learn propose 'SENTENCE' --impact medium{of_run}"
    return BriefPolicy(budget, learn_tool=propose, correct_tool=f"{command} learn correct NUMBER 'SENTENCE'{of_run}")


def _text(said: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = said.get(key, default)
    if not isinstance(value, str):
        raise InvalidInput(f"the hook was told {type(value).__name__} as {key}; it needs text")
    return value
