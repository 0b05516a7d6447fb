"""Runs of LangSmith: exports of runs in a list, in a tree or one a line, and the batches that an SDK sends.

The runs of a trace are a session. They may lie anywhere in a file, and so what they say is held until its end. A trace
is labelled only by feedback of 0 or 1 on its outermost run, under a key that is one for being right.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from experience.episode import Cost
from experience.importers.documents import documents
from experience.importers.langchain import reply_in, request_in
from experience.importers.lenient import fields, items, known, moment, parsed, text, total
from experience.importers.session import Finding, Format, Session, Trouble
from experience.importers.source import Source
from experience.importers.turns import Called, Turn, session_of, tool_turn
from experience.importers.verdicts import Verdict, agreed, is_of_rightness, of_number

AROUND = "a run around others"
_HELD = (
    "name",
    "run_type",
    "start_time",
    "end_time",
    "dotted_order",
    "error",
    "session_name",
    "feedback_stats",
    "feedback",
)
_TOKENS = (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"))


class Run(NamedTuple):
    """What is held of a run, and its place in the tree."""

    id: str
    trace: str
    parent: str
    has: dict[str, Any]


def _recognises(value: Any) -> bool:
    one = value[0] if isinstance(value, list) and value else value
    if not isinstance(one, dict):
        return False
    if isinstance(one.get("runs"), list):
        one = one["runs"][0] if one["runs"] else {}
    return _is_run(one) or any(_is_run(run) for key in ("post", "patch") for run in items(one.get(key))[:1])


def _is_run(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    named = "run_type" in value or ("trace_id" in value and "dotted_order" in value)
    return named and ("inputs" in value or "outputs" in value)


def _sessions(source: Source) -> Iterator[Session | Trouble]:
    runs: dict[str, Run] = {}
    for document in documents(source):
        if isinstance(document, Trouble):
            yield document
            continue
        found = list(_runs(document.value))
        if not found:
            yield Trouble(document.line, "no run of LangSmith: it needs a run_type and inputs or outputs")
        for number, run in enumerate(found):
            key = run.id or f"{document.line} {number}"
            runs[key] = _patched(runs[key], run) if key in runs else run
    traces: dict[str, list[Run]] = {}
    for run in runs.values():
        traces.setdefault(_trace(run, runs), []).append(run)
    for trace, members in traces.items():
        yield _session(trace, members) if trace else Trouble(None, f"runs without an id: {len(members)}")


def _runs(value: Any) -> Iterator[Run]:
    """The runs of a document, of trees too."""
    waiting: list[tuple[Any, str, str]] = [(value, "", "")]
    while waiting:
        one, parent, trace = waiting.pop()
        if isinstance(one, list):
            waiting += [(inner, parent, trace) for inner in reversed(one)]
        if not isinstance(one, dict):
            continue
        waiting += [(one[key], "", "") for key in ("patch", "post", "runs") if isinstance(one.get(key), list)]
        if _is_run(one):
            id = text(one.get("id"))
            inner = text(one.get("trace_id")) or trace
            yield Run(id, inner, text(one.get("parent_run_id")) or parent, _short(one))
            waiting.append((one.get("child_runs"), id, inner or id))


def _short(run: dict[str, Any]) -> dict[str, Any]:
    """What is held of a run: for its inputs and outputs, what they say."""
    inputs, outputs = fields(run.get("inputs")), fields(run.get("outputs"))
    short = {key: run[key] for key in _HELD if key in run}
    output = fields(outputs.get("output"))
    message = fields(output.get("kwargs")) or output
    reply = reply_in(outputs)
    return {
        **short,
        "asked": request_in(inputs),
        "reply": reply if reply.text or reply.calls else None,
        "tokens": _tokens(outputs) or _tokens(run),
        "model": text(fields(fields(run.get("extra")).get("metadata")).get("ls_model_name")),
        "thread": _thread(fields(fields(run.get("extra")).get("metadata"))),
        "given": fields(parsed(inputs.get("input"))) or inputs if run.get("run_type") == "tool" else None,
        "answers": text(message.get("tool_call_id")),
        "answer": text(message.get("content")) or text(outputs.get("output")),
        "failed": bool(run.get("error")) or message.get("status") == "error",
    }


def _thread(metadata: dict[str, Any]) -> str:
    return text(metadata.get("thread_id")) or text(metadata.get("session_id"))


def _tokens(holder: dict[str, Any]) -> int | None:
    usage = fields(holder.get("usage_metadata")) or fields(holder.get("usage")) or holder
    return next(filter(None, (total(map(usage.get, names)) for names in _TOKENS)), None)


def _patched(run: Run, later: Run) -> Run:
    """A run with what a later message adds to it or changes; what that leaves empty stays."""
    added = {key: value for key, value in later.has.items() if value not in (None, {}, [], "", False)}
    return Run(run.id, run.trace or later.trace, run.parent or later.parent, {**run.has, **added})


def _trace(run: Run, runs: dict[str, Run]) -> str:
    """The trace of a run; without one, the outermost run that is known."""
    passed = {run.id}
    while not run.trace and run.parent in runs and run.parent not in passed:
        run = runs[run.parent]
        passed.add(run.id)
    return run.trace or run.id


def _session(trace: str, runs: list[Run]) -> Session:
    order = sorted(runs, key=lambda run: (text(run.has.get("start_time")), text(run.has.get("dotted_order"))))
    root = next((run for run in order if run.id == trace or not run.parent), order[0])
    started, ended = moment(root.has.get("start_time")), moment(root.has.get("end_time"))
    error = text(root.has.get("error"))
    models = [run for run in order if run.has.get("run_type") == "llm"]
    return session_of(
        trace,
        _turns(order, root),
        asked=next((run.has["asked"] for run in (root, *order) if run.has["asked"]), ""),
        ended=f"The run ended with an error: {error}" if error else "",
        finding=None if error else _finding(root),
        started_at=started,
        cost=Cost(
            steps=len(models) or None,
            tokens=total(run.has["tokens"] for run in models),
            seconds=max(0.0, (ended - started).total_seconds()) if started and ended else None,
        ),
        meta=known(
            agent=text(root.has.get("name")),
            model=next((run.has["model"] for run in models if run.has["model"]), ""),
            thread=root.has["thread"],
            project=text(root.has.get("session_name")),
            runs=len(order),
        ),
    )


def _turns(order: list[Run], root: Run) -> Iterator[Turn]:
    models_speak = any(_reply(run).text for run in order if run.has.get("run_type") == "llm")
    expected: list[Called] = []
    for run in order:
        if run.has.get("run_type") == "tool":
            yield _tool_turn(run, expected)
        elif run.has.get("run_type") == "llm":
            expected += _reply(run).calls
            yield _reply(run)
        elif run is root and not models_speak and _reply(run).text:
            yield Turn("agent", _reply(run).text)
        else:
            yield Turn("other", drop=AROUND)


def _reply(run: Run) -> Turn:
    return run.has["reply"] or Turn("agent")


def _tool_turn(run: Run, expected: list[Called]) -> Turn:
    name, worked = text(run.has.get("name")) or "unnamed", False if run.has["failed"] else None
    called = Called(name, run.has["given"], run.has["answers"], worked)
    return tool_turn(called, run.has["answer"], expected, run.id)


def _finding(root: Run) -> Finding | None:
    """What feedback says: of a person where it came from the app, else the host's word, since nothing says whose."""
    verdicts = []
    for name, stats in fields(root.has.get("feedback_stats")).items():
        counted = fields(stats).get("n")
        if is_of_rightness(name) and type(counted) is int and counted > 0:
            average = fields(stats).get("avg")
            verdicts.append(Verdict(of_number(average), f"feedback {name} = {average}", "host"))
    for one in map(fields, items(root.has.get("feedback"))):
        score = one.get("score", one.get("value"))
        if is_of_rightness(one.get("key")) and score is not None:
            by = text(fields(one.get("feedback_source")).get("type"))
            said = f"feedback {one['key']} = {score}"
            verdicts.append(Verdict(of_number(score), said, "human" if by == "app" else "host"))
    return agreed(verdicts)


FORMAT = Format("langsmith", "LangSmith runs", _recognises, _sessions)
