"""Experience for AI agents: record what runs did, recall the similar ones before the next.

    from experience import Episode, Memory

    with Memory.open("runs.db") as memory:
        memory.record(Episode("deploy the site", "live after a retry", tools=("shell",), success=True))
        for match in memory.recall("publish the website"):
            print(match.score, match.episode.outcome)

Importing this package does nothing and loads nothing heavy: each name is resolved when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Backend": "protocols",
    "Cost": "episode",
    "Encoder": "protocols",
    "EncoderError": "errors",
    "Episode": "episode",
    "ExperienceError": "errors",
    "Filter": "protocols",
    "Hit": "protocols",
    "InvalidEpisode": "errors",
    "InvalidInput": "errors",
    "LABEL_CLASSES": "protocols",
    "Label": "protocols",
    "Match": "protocols",
    "Memory": "memory",
    "MissingPackage": "errors",
    "NewerSchema": "errors",
    "NotFound": "errors",
    "Record": "protocols",
    "Recorder": "tracing",
    "Run": "tracing",
    "RunConflict": "errors",
    "SkillTrace": "tracing",
    "SqliteStore": "store",
    "StoreError": "errors",
    "ToolCall": "tracing",
    "ToolDenied": "errors",
    "ToolTrace": "tracing",
    "current_run": "tracing",
    "export_lines": "transfer",
    "import_lines": "transfer",
    "note_skill": "tracing",
    "parse_founding": "text",
    "quoted": "recalled",
    "traced": "tracing",
}

__all__ = [
    "LABEL_CLASSES",
    "Backend",
    "Cost",
    "Encoder",
    "EncoderError",
    "Episode",
    "ExperienceError",
    "Filter",
    "Hit",
    "InvalidEpisode",
    "InvalidInput",
    "Label",
    "Match",
    "Memory",
    "MissingPackage",
    "NewerSchema",
    "NotFound",
    "Record",
    "Recorder",
    "Run",
    "RunConflict",
    "SkillTrace",
    "SqliteStore",
    "StoreError",
    "ToolCall",
    "ToolDenied",
    "ToolTrace",
    "current_run",
    "export_lines",
    "import_lines",
    "note_skill",
    "parse_founding",
    "quoted",
    "traced",
]

if TYPE_CHECKING:
    from experience.episode import Cost, Episode
    from experience.errors import (
        EncoderError,
        ExperienceError,
        InvalidEpisode,
        InvalidInput,
        MissingPackage,
        NewerSchema,
        NotFound,
        RunConflict,
        StoreError,
        ToolDenied,
    )
    from experience.memory import Memory
    from experience.protocols import LABEL_CLASSES, Backend, Encoder, Filter, Hit, Label, Match, Record
    from experience.recalled import quoted
    from experience.store import SqliteStore
    from experience.text import parse_founding
    from experience.tracing import Recorder, Run, SkillTrace, ToolCall, ToolTrace, current_run, note_skill, traced
    from experience.transfer import export_lines, import_lines


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
