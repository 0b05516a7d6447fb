"""Spans of OpenTelemetry, whichever way they were written down: by an SDK, or in OTLP's JSON.

Attributes come out as plain JSON and ids as hexadecimal digits, so that one span written both ways is one span. What a
span means is left to `otel`.
"""

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from experience.importers.lenient import fields, items, moment, moment_of_nanoseconds, text

_DEEPEST = 20
"""Levels of an attribute's value that are read."""
_HEX = frozenset("0123456789abcdef")
_IDS = {24: 16, 12: 8}
"""How many bytes an id of so many base64 letters holds."""


class Event(NamedTuple):
    """Something that happened during a span, or a log record that names it."""

    name: str
    attributes: dict[str, Any]
    body: Any = None


class Span(NamedTuple):
    """A span, or what one log record adds to one: then without a name and without times."""

    trace: str
    id: str
    parent: str
    name: str
    attributes: dict[str, Any]
    events: list[Event]
    started: datetime | None = None
    ended: datetime | None = None
    failed: bool | None = None
    """None where the status is unset."""
    message: str = ""
    """What its status says."""


def looks_like_spans(value: Any) -> bool:
    """Whether a value is a span, an export of spans or of log records, or a list of such."""
    one = value[0] if isinstance(value, list) and value else value
    if not isinstance(one, dict):
        return False
    if any(isinstance(one.get(key), list) for key in ("resourceSpans", "resource_spans", "resourceLogs", "scopeSpans")):
        return True
    context = fields(one.get("context"))
    sdk = "trace_id" in context and "span_id" in context and "attributes" in one
    return sdk or ("attributes" in one and "traceId" in one and "spanId" in one)


def spans_in(value: Any) -> Iterator[Span]:
    """The spans of an export, in no order; what is none is passed over."""
    for one in value if isinstance(value, list) else [value]:
        outer = fields(one)
        for resource in (*_under(outer, "resourceSpans", "resource_spans"), outer):
            for scope in _under(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                yield from map(_otlp, _under(scope, "spans"))
        for resource in _under(outer, "resourceLogs", "resource_logs"):
            for scope in _under(resource, "scopeLogs", "scope_logs"):
                yield from map(_logged, _under(scope, "logRecords", "log_records"))
        if isinstance(outer.get("context"), dict):
            yield _sdk(outer)
        elif "traceId" in outer:
            yield _otlp(outer)


def _under(value: dict[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    for key in keys:
        yield from (one for one in items(value.get(key)) if isinstance(one, dict))


def _sdk(span: dict[str, Any]) -> Span:
    context, status = fields(span.get("context")), fields(span.get("status"))
    code = text(status.get("status_code"))
    events = [
        Event(text(one.get("name")), fields(one.get("attributes")), one.get("body")) for one in _under(span, "events")
    ]
    return Span(
        _id(context.get("trace_id")), _id(context.get("span_id")), _id(span.get("parent_id")), text(span.get("name")),
        fields(span.get("attributes")), events, moment(span.get("start_time")), moment(span.get("end_time")),
        {"ERROR": True, "OK": False}.get(code), text(status.get("description")),
    )  # fmt: skip


def _otlp(span: dict[str, Any]) -> Span:
    status = fields(span.get("status"))
    code = status.get("code")
    failed = True if code in (2, "STATUS_CODE_ERROR") else False if code in (1, "STATUS_CODE_OK") else None
    events = [Event(text(one.get("name")), _attributes(one)) for one in _under(span, "events")]
    return Span(
        _id(span.get("traceId")), _id(span.get("spanId")), _id(span.get("parentSpanId")), text(span.get("name")),
        _attributes(span), events, moment_of_nanoseconds(span.get("startTimeUnixNano")),
        moment_of_nanoseconds(span.get("endTimeUnixNano")), failed, text(status.get("message")),
    )  # fmt: skip


def _logged(record: dict[str, Any]) -> Span:
    attributes = _attributes(record)
    name = text(record.get("eventName")) or text(attributes.get("event.name"))
    event = Event(name, attributes, _plain(record.get("body")))
    return Span(_id(record.get("traceId")), _id(record.get("spanId")), "", "", {}, [event])


def _attributes(holder: dict[str, Any], deep: int = 0) -> dict[str, Any]:
    given = holder.get("attributes", holder.get("values"))
    if isinstance(given, dict):
        return given
    pairs = (one for one in items(given) if isinstance(one, dict))
    return {one["key"]: _plain(one.get("value"), deep) for one in pairs if isinstance(one.get("key"), str)}


def _plain(value: Any, deep: int = 0) -> Any:
    """A typed value of OTLP as JSON; None for one that nests too deep."""
    if not isinstance(value, dict) or deep > _DEEPEST:
        return None
    for key, inner in value.items():
        if key == "intValue" and isinstance(inner, str):
            digits = inner.removeprefix("-")
            return int(inner) if digits.isascii() and digits.isdecimal() and len(inner) <= 20 else None  # noqa: PLR2004
        if key == "arrayValue":
            return [_plain(one, deep + 1) for one in items(fields(inner).get("values"))]
        if key == "kvlistValue":
            return _attributes(fields(inner), deep + 1)
        if key in ("stringValue", "boolValue", "doubleValue", "intValue"):
            return inner
    return None


def _id(value: Any) -> str:
    """An id as its digits, out of hexadecimal digits or out of base64."""
    given = text(value).strip()
    bare = given.lower().removeprefix("0x")
    if given.endswith("=") and len(given) in _IDS:
        try:
            return base64.b64decode(given, validate=True).hex()
        except (binascii.Error, ValueError):
            return given
    return bare if _HEX.issuperset(bare) else given
