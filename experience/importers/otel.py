"""Spans of the GenAI conventions of OpenTelemetry, of now and of before: a conversation, or else a trace, is a session.

Spans of a trace may lie anywhere in a file, and so what they say is held until its end, in short. What runs inside
another agent's run is that sub-agent's, and is counted but not told.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from experience.episode import Cost
from experience.importers.documents import documents
from experience.importers.generations import Told, told_by
from experience.importers.lenient import known, text, total
from experience.importers.session import Finding, Format, Session, Trouble
from experience.importers.source import Source
from experience.importers.spans import Event, Span, looks_like_spans, spans_in
from experience.importers.turns import Called, Turn, session_of, tool_turn
from experience.importers.verdicts import Verdict, agreed, is_of_rightness, of_label, of_number

SUB_AGENT, AROUND, OTHER = "a sub-agent's", "a span around others", "a span of something else"
_CHATS = ("chat", "generate_content", "text_completion")
_AGENTS = ("invoke_agent", "invoke_workflow")
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)


class Seen(NamedTuple):
    """What is held of a span."""

    span: Span
    """Without its attributes and events."""
    does: str
    """Its operation; empty for a span of something else."""
    conversation: str
    tool: Called | None
    result: str
    told: Told
    tokens: int | None
    verdicts: tuple[Verdict, ...]
    names: dict[str, str]
    """The agent's and the model's."""


def _sessions(source: Source) -> Iterator[Session | Trouble]:
    traces: dict[str, dict[str, Seen]] = defaultdict(dict)
    for document in documents(source):
        if isinstance(document, Trouble):
            yield document
        elif not looks_like_spans(document.value):
            yield Trouble(document.line, "no span of OpenTelemetry, and no export of spans")
        else:
            for number, span in enumerate(spans_in(document.value)):
                key = span.id or f"{document.line} {number}"
                traces[span.trace][key] = _joined(traces[span.trace].get(key), _seen(span))
    silent = 0
    for id, seen in _by_session(traces).items():
        if not id:
            yield Trouble(None, f"spans that name no trace: {len(seen)}")
        elif any(one.does for one in seen):
            yield _session(id, seen)
        else:
            silent += len(seen)
    if silent:
        yield Trouble(None, f"spans that say nothing of an agent or a model, in traces of their own: {silent}")


def _seen(span: Span) -> Seen:
    has = span.attributes
    does = _operation(span)
    tool = None
    if does == "execute_tool":
        name = text(has.get("gen_ai.tool.name")) or text(has.get("traceloop.entity.name")) or span.name
        failed = True if "error.type" in has else span.failed
        arguments = has.get("gen_ai.tool.call.arguments")
        worked = None if failed is None else not failed
        tool = Called(name or "unnamed", arguments, text(has.get("gen_ai.tool.call.id")), worked)
    usage = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")
    return Seen(
        span._replace(attributes={}, events=[], message=span.message or text(has.get("error.type"))),
        does,
        text(has.get("gen_ai.conversation.id")),
        tool,
        text(has.get("gen_ai.tool.call.result")),
        told_by(span),
        total(has.get(f"gen_ai.usage.{kind}") for kind in usage) if does in _CHATS else None,
        tuple(_verdicts(span)),
        known(
            agent=text(has.get("gen_ai.agent.name")),
            model=text(has.get("gen_ai.response.model")) or text(has.get("gen_ai.request.model")),
            provider=text(has.get("gen_ai.provider.name")) or text(has.get("gen_ai.system")),
        ),
    )


def _operation(span: Span) -> str:
    """What a span does, by the conventions' name for it; of before they had one, by what it carries."""
    has = span.attributes
    if named := text(has.get("gen_ai.operation.name")):
        return named
    if kind := {"tool": "execute_tool", "agent": "invoke_agent", "workflow": "invoke_workflow"}.get(
        text(has.get("traceloop.span.kind"))
    ):
        return kind
    if "gen_ai.tool.name" in has:
        return "execute_tool"
    return "chat" if "gen_ai.request.model" in has or "gen_ai.system" in has else ""


def _joined(one: Seen | None, other: Seen) -> Seen:
    """One span with what a log record adds to it, whichever came first."""
    if one is None:
        return other
    main, added = (one, other) if one.span.started or not other.span.started else (other, one)
    return main._replace(told=main.told.with_more(added.told), verdicts=(*main.verdicts, *added.verdicts))


def _verdicts(span: Span) -> Iterator[Verdict]:
    """What evaluations say: by their label; by a score of 0 or 1 alone only where its name is one for being right."""
    for has in (span.attributes, *(event.attributes for event in map(_evaluation, span.events) if event)):
        name, label = text(has.get("gen_ai.evaluation.name")), has.get("gen_ai.evaluation.score.label")
        score = has.get("gen_ai.evaluation.score.value")
        if label is None and score is None:
            continue
        says, scored = of_label(label), of_number(score) if is_of_rightness(name) else None
        if says is None and not is_of_rightness(name):
            continue
        agree = says is None or scored is None or says is scored
        shown = label if says is not None else score
        yield Verdict((scored if says is None else says) if agree else None, f"evaluation {name} = {shown}")


def _evaluation(event: Event) -> Event | None:
    return event if event.name.startswith("gen_ai.evaluation") else None


def _by_session(traces: dict[str, dict[str, Seen]]) -> dict[str, list[Seen]]:
    """The spans of each session: of a conversation where they, or a span around them, name one; else of the trace."""
    sessions: dict[str, list[Seen]] = defaultdict(list)
    for trace, spans in traces.items():
        named = {one.conversation for one in spans.values()} - {""}
        for one in spans.values():
            own = one.conversation or (next(iter(named)) if len(named) == 1 else "")
            if not own and named:
                own = next((above.conversation for above in _above(one, spans) if above.conversation), "")
            sessions[own or trace].append(one)
    return sessions


def _above(one: Seen, spans: dict[str, Seen]) -> Iterator[Seen]:
    """The spans around a span, from the inside out; a ring of them is walked once."""
    passed = {one.span.id}
    while (above := spans.get(one.span.parent)) and above.span.id not in passed:
        passed.add(above.span.id)
        yield above
        one = above


def _session(id: str, seen: list[Seen]) -> Session:
    order = sorted(seen, key=lambda one: (one.span.started or _NEVER, one.tool is not None, one.span.id))
    spans = {one.span.id: one for one in order}
    inner = [
        sum(above.does == "invoke_agent" for above in _above(one, spans)) + (one.does == "invoke_agent") > 1
        for one in order
    ]
    own = [one for one, sub in zip(order, inner, strict=True) if not sub]
    root = next((one for one in own if one.does in _AGENTS), None)
    starts = [one.span.started for one in own if one.span.started]
    ends = [one.span.ended for one in own if one.span.ended]
    took = max(0.0, (max(ends) - min(starts)).total_seconds()) if starts and ends else None
    failed = root is not None and root.span.failed
    names: dict[str, str] = {}
    for one in (root, *own):
        names = {**(one.names if one else {}), **names}
    return session_of(
        id,
        _turns(own, root, sum(inner)),
        asked=next((one.told.asked for one in (root, *own) if one and one.told.asked), ""),
        ended=f"The run ended with an error: {root.span.message or 'unknown'}" if failed and root else "",
        finding=_finding(own),
        started_at=min(starts, default=None),
        cost=Cost(
            steps=sum(one.does in _CHATS for one in own) or None,
            tokens=total(one.tokens for one in order),
            seconds=took,
        ),
        meta={**names, "spans": len(order)},
    )


def _turns(own: list[Seen], root: Seen | None, inner: int) -> Iterator[Turn]:
    models_speak = any(one.told.said for one in own if one.does in _CHATS)
    expected: list[Called] = []
    early: set[str] = set()
    for one in own:
        told = one.told
        if one.tool:
            turn = tool_turn(one.tool, one.result, expected)
            early |= {call.id for call in turn.calls}
            yield turn
        elif one.does in _CHATS:
            calls = tuple(call for call in told.calls if not call.id or call.id not in early)
            expected += calls
            yield Turn("agent", told.said, calls, told.answers)
        elif one is root and told.said and not models_speak:
            yield Turn("agent", told.said)
        else:
            yield Turn("other", drop=AROUND if one.does in _AGENTS else OTHER)
    for _ in range(inner):
        yield Turn("other", drop=SUB_AGENT)


def _finding(own: list[Seen]) -> Finding | None:
    return agreed(verdict for one in own for verdict in one.verdicts)


FORMAT = Format("otel", "OpenTelemetry GenAI spans", looks_like_spans, _sessions)
