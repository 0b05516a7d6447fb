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
    "Answer": "choosing",
    "Backend": "protocols",
    "BadReply": "errors",
    "Blocker": "tell.brief",
    "Brief": "tell.brief",
    "brief": "tell.brief",
    "BriefPolicy": "tell.brief",
    "command_model": "learn.models",
    "compact": "tell.exchange",
    "Complete": "learn.distill",
    "compose": "tell.compose",
    "ContentStore": "tell.offload",
    "Conversation": "tell.messages",
    "Cost": "episode",
    "current_run": "tracing",
    "distill": "learn.distill",
    "distill_all": "learn.batch",
    "DistillPolicy": "learn.gate",
    "Drafted": "learn.distill",
    "Encoder": "protocols",
    "EncoderError": "errors",
    "Episode": "episode",
    "ExperienceError": "errors",
    "export_lines": "transfer",
    "Filter": "protocols",
    "health_of_skills": "learn.oversight",
    "HealthPolicy": "learn.health",
    "Hit": "protocols",
    "import_lines": "transfer",
    "IncludeError": "errors",
    "InvalidEpisode": "errors",
    "InvalidInput": "errors",
    "InvalidSkill": "errors",
    "keep_receipt": "tell.receipts",
    "Label": "protocols",
    "LABEL_CLASSES": "protocols",
    "Learnings": "learn.learnings",
    "Match": "protocols",
    "Memory": "memory",
    "MissingPackage": "errors",
    "ModelError": "errors",
    "NewerSchema": "errors",
    "note_skill": "tracing",
    "NotFound": "errors",
    "parse_founding": "text",
    "Payload": "tell.compose",
    "propose": "learn.oversight",
    "quoted": "recalled",
    "Receipts": "tell.receipts",
    "Record": "protocols",
    "Recorder": "tracing",
    "RevisePolicy": "learn.revise",
    "Run": "tracing",
    "RunConflict": "errors",
    "Skill": "learn.skill",
    "skill_health": "learn.health",
    "SkillConflict": "errors",
    "SkillFolder": "learn.folder",
    "SkillLibrary": "learn.library",
    "SkillTrace": "tracing",
    "SqliteStore": "store",
    "StoreError": "errors",
    "ToolCall": "tracing",
    "ToolDenied": "errors",
    "ToolTrace": "tracing",
    "traced": "tracing",
}

__all__ = [
    "LABEL_CLASSES",
    "Answer",
    "Backend",
    "BadReply",
    "Blocker",
    "Brief",
    "BriefPolicy",
    "Complete",
    "ContentStore",
    "Conversation",
    "Cost",
    "DistillPolicy",
    "Drafted",
    "Encoder",
    "EncoderError",
    "Episode",
    "ExperienceError",
    "Filter",
    "HealthPolicy",
    "Hit",
    "IncludeError",
    "InvalidEpisode",
    "InvalidInput",
    "InvalidSkill",
    "Label",
    "Learnings",
    "Match",
    "Memory",
    "MissingPackage",
    "ModelError",
    "NewerSchema",
    "NotFound",
    "Payload",
    "Receipts",
    "Record",
    "Recorder",
    "RevisePolicy",
    "Run",
    "RunConflict",
    "Skill",
    "SkillConflict",
    "SkillFolder",
    "SkillLibrary",
    "SkillTrace",
    "SqliteStore",
    "StoreError",
    "ToolCall",
    "ToolDenied",
    "ToolTrace",
    "brief",
    "command_model",
    "compact",
    "compose",
    "current_run",
    "distill",
    "distill_all",
    "export_lines",
    "health_of_skills",
    "import_lines",
    "keep_receipt",
    "note_skill",
    "parse_founding",
    "propose",
    "quoted",
    "skill_health",
    "traced",
]

if TYPE_CHECKING:
    from experience.choosing import Answer
    from experience.episode import Cost, Episode
    from experience.errors import (
        BadReply,
        EncoderError,
        ExperienceError,
        IncludeError,
        InvalidEpisode,
        InvalidInput,
        InvalidSkill,
        MissingPackage,
        ModelError,
        NewerSchema,
        NotFound,
        RunConflict,
        SkillConflict,
        StoreError,
        ToolDenied,
    )
    from experience.learn.batch import distill_all
    from experience.learn.distill import Complete, Drafted, distill
    from experience.learn.folder import SkillFolder
    from experience.learn.gate import DistillPolicy
    from experience.learn.health import HealthPolicy, skill_health
    from experience.learn.learnings import Learnings
    from experience.learn.library import SkillLibrary
    from experience.learn.models import command_model
    from experience.learn.oversight import health_of_skills, propose
    from experience.learn.revise import RevisePolicy
    from experience.learn.skill import Skill
    from experience.memory import Memory
    from experience.protocols import LABEL_CLASSES, Backend, Encoder, Filter, Hit, Label, Match, Record
    from experience.recalled import quoted
    from experience.store import SqliteStore
    from experience.tell.brief import Blocker, Brief, BriefPolicy, brief
    from experience.tell.compose import Payload, compose
    from experience.tell.exchange import compact
    from experience.tell.messages import Conversation
    from experience.tell.offload import ContentStore
    from experience.tell.receipts import Receipts, keep_receipt
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
