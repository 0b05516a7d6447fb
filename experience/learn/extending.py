"""What runs show that a skill does not say, added to it: a few bullets, the rest of the file untouched. Pure."""

import re

from experience.learn.drafting import pitfall_claim, pitfall_text
from experience.learn.evidence import LARGEST_P, Evidence, safe_tool
from experience.learn.skill import Skill, with_bullets

_ENOUGH_RUNS = 4  # that worked, before a tool that a skill does not name is missed in it


def extended(skill: Skill, evidence: Evidence) -> Skill | None:
    """The skill with what it lacks: pitfalls that tell failures from successes, and tools that most successes used.

    None when it lacks nothing. Tools are only missed in a skill that speaks of tools at all. What stands there is kept.
    Raises InvalidSkill.
    """
    body = with_bullets(skill.body, "Pitfalls", missing_pitfalls(skill, evidence))
    runs = len(evidence.worked)
    if runs >= _ENOUGH_RUNS and any(named(skill.body, step.tool) for step in evidence.steps):
        steps = [
            f"`{safe_tool(step.tool)}` was called too in {step.runs} of {runs} runs that worked."
            for step in evidence.steps
            if not named(body, step.tool)
        ]
        body = with_bullets(body, "Steps", steps)
    return None if body == skill.body else skill.changed(body=body)


def missing_pitfalls(skill: Skill, evidence: Evidence) -> list[str]:
    """Pitfalls that the skill does not name yet, in numbers; the numbers alone are nothing new."""
    found = []
    for pitfall in evidence.pitfalls:
        if pitfall.p_value > LARGEST_P:
            continue  # enough for a draft of its own runs, not to change what stands
        text = pitfall_text(pitfall, len(evidence.failed), len(evidence.worked))
        if pitfall_claim(pitfall) not in skill.body:
            found.append(text)
    return found


def named(text: str, tool: str) -> bool:
    """Whether a text speaks of a tool: its name as a word of its own, and not within another."""
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in {tool, safe_tool(tool)} if name)
