"""Learnings, their events and the answers to proposals, as text for people and as JSON for programs. Pure."""

from dataclasses import asdict

from experience.episode import moment_text
from experience.learn.counts import Counts
from experience.learn.learning import Event, Learning
from experience.learn.replies import Reply
from experience.screen import visible


def learning_json(learning: Learning, told: Counts) -> dict[str, object]:
    """A learning, and how the runs ended that were told it."""
    data = asdict(learning) | {"first_at": moment_text(learning.first_at), "last_at": moment_text(learning.last_at)}
    return {**data, "told": asdict(told)}


def learning_line(learning: Learning, told: Counts) -> str:
    """The same in one line."""
    left = f"{learning.runs_left} runs left" if learning.state == "provisional" else ""
    by = f"by {learning.corrected_by}" if learning.corrected_by else ""
    runs = f"told {told.total}: {told.worked} worked, {told.failed} failed" if told.total else ""
    notes = ", ".join(note for note in (learning.agent, learning.impact, left, by, runs) if note)
    head = f"{learning.id:>4}  {learning.state:<11}  "
    return head + visible(f"{' '.join(learning.text.split())}  ({notes})")


def reply_json(reply: Reply) -> dict[str, object]:
    """What became of a proposal: its name, its numbers, and itself as a sentence."""
    return {"reply": type(reply).__name__, **asdict(reply), "text": str(reply)}


def event_json(event: Event) -> dict[str, object]:
    """Something that happened to a learning."""
    return asdict(event) | {"at": moment_text(event.at)}


def event_line(event: Event) -> str:
    """The same in one line."""
    said = [event.what, event.state if event.state != event.what else "", f"run {event.run_id}" if event.run_id else "", event.by, event.note]  # fmt: skip
    line = f"{moment_text(event.at)[:19]}  {', '.join(part for part in said if part)}"
    return visible(" ".join(f"{line}{f': {event.text}' if event.text else ''}".split()))
