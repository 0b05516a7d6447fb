"""`compose`: the whole payload of a run, from files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import (
    Settings,
    count,
    print_json,
    remark,
    text_from,
    text_of,
    wants_json,
    write_exactly,
)
from experience.commands.telling import (
    keep_receipt,
    policy_from,
    remark_left_out,
    telling,
    told_memory,
)
from experience.errors import ExperienceError, InvalidInput

if TYPE_CHECKING:
    from experience.tell.compose import Payload

_MOST_BYTES = 16 * 1024 * 1024  # of a file that goes into a payload


@click.command()
@click.option("--agent", required=True, metavar="NAME", help="Who the run is.")
@click.option(
    "--instructions",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How it works; may @include other files of its folder.",
)
@click.option("--flag", "flags", multiple=True, metavar="NAME[=no]", help="A flag that includes test; repeatable.")
@click.option("--memory", type=click.Path(path_type=Path), metavar="FILE", help="What it wrote down itself.")
@click.option(
    "--memory-tool",
    default="memory_read",
    show_default=True,
    metavar="NAME",
    help="What gives it all of that, when only the end is told.",
)
@click.option(
    "--handover", type=click.Path(path_type=Path), metavar="FILE", help="How this attempt came about, as JSON."
)
@click.option("--task", metavar="TEXT", help="What to recall for.  [default: BODY]")
@click.option(
    "--brief/--no-brief", "briefed", default=True, help="Whether to tell what earlier runs say.  [default: told]"
)
@click.option(
    "--brief-budget",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Tokens that the brief may cost.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="Tokens that the whole may cost.  [default: no limit]"
)
@telling
@wants_json
@click.argument("body", required=False)
@click.pass_obj
def compose(settings: Settings, /, body: str | None, task: str | None, *, run_id: str | None, **named: Any) -> None:
    """Print the payload of a run that is asked BODY; - reads it from standard input.

    Without --run-id it is a preview, byte for byte what the run would be told.
    """
    from experience.tell.compose import Run
    from experience.tell.compose import compose as composed

    if body is None and task is None:
        raise click.UsageError("say what is asked: BODY, or - for standard input, or --task")
    asked = text_from(body) if body is not None else task or ""
    policy = policy_from(
        named["brief_budget"], *(named[name] for name in ("learn_tool", "correct_tool", "help_tool", "blockers"))
    )
    agent = named["agent"]
    run = Run(
        agent,
        _instructions(named["instructions"], named["flags"]),
        asked,
        memory=_file(named["memory"]) if named["memory"] else None,
        handover=_handover(named["handover"]) if named["handover"] else None,
    )
    payload = composed(run, budget=named["budget"], memory_tool=named["memory_tool"])
    if named["briefed"] or run_id is not None:
        with told_memory(settings, create=run_id is not None) as (memory, _):
            if named["briefed"]:
                from experience.tell.brief import brief as brief_for

                run = replace(run, brief=brief_for(memory, asked if task is None else task, agent=agent, policy=policy))
                payload = composed(run, budget=named["budget"], memory_tool=named["memory_tool"])
            if run_id is not None:
                keep_receipt(memory, run_id, payload)
    if settings.json:
        print_json(_payload_json(payload))
    else:
        write_exactly(payload.text)
        _remark_payload(payload)


def _instructions(path: Path, flags: tuple[str, ...]) -> str:
    from experience.tell.include import expand

    given = {}
    for flag in flags:
        name, _, value = flag.partition("=")
        if value not in ("", "yes", "no", "true", "false"):
            raise click.UsageError(f"--flag {flag}: a flag is NAME, NAME=yes or NAME=no")
        given[name] = value not in ("no", "false")
    return expand(path, flags=given)


def _handover(path: Path) -> str:
    from experience.tell.handover import handover_from_json

    try:
        return handover_from_json(json.loads(_file(path))).text
    except ValueError as error:
        if isinstance(error, ExperienceError):
            raise
        raise InvalidInput(f"{path} is no JSON: {error}; a handover is an object with a cause") from error
    except RecursionError as error:
        raise InvalidInput(f"{path} is nested too deep; a handover is an object with a cause") from error


def _file(path: Path) -> str:
    """The text of a file that goes into a payload."""
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no regular file; name one")
    with path.open("rb") as file:
        text = text_of(file.read(_MOST_BYTES + 1), str(path), _MOST_BYTES, "shorten it")
    if "\0" in text:
        raise InvalidInput(f"{path} holds a NUL; it needs to be a text")
    return text


def _remark_payload(payload: "Payload") -> None:
    size = len(payload.text.encode())
    remark(f"payload {payload.hash[:12]}: {size} bytes, about {payload.cost} tokens")
    for part in payload.parts:
        if part.cut:
            remark(f"{part.name}: {part.cut} bytes were cut")
        if part.quoted:
            remark(f"{part.name}: {count(part.quoted, 'line')} had to be quoted")
    remark_left_out(payload.contents)


def _payload_json(payload: "Payload") -> dict[str, Any]:
    return {
        "text": payload.text,
        "hash": payload.hash,
        "cost": payload.cost,
        "parts": payload.parts_json(),
        **payload.contents.to_json(),
    }
