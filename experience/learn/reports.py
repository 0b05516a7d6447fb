"""What was learned, as text for people and as JSON for programs. Pure; recorded text goes through `screen.visible`."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import click

from experience.episode import moment_text
from experience.learn.batch import Report
from experience.learn.evidence import ids_text
from experience.learn.health import SkillHealth
from experience.learn.oversight import Standing
from experience.learn.statistics import Rate
from experience.learn.versions import Draft, Version
from experience.screen import visible

_MOST_IDS = 20  # runs named in a line


def reason_json(refusal: Any) -> dict[str, object]:
    """A refusal: its name, its numbers, and itself as a sentence."""
    return {"reason": type(refusal).__name__, **asdict(refusal), "text": str(refusal)}


def report_json(report: Report) -> dict[str, object]:
    """What `distill_all` did."""
    return {
        "runs": report.runs,
        "successes": report.successes,
        "groups": report.groups,
        "nothing_new": report.nothing_new,
        "drafts": [draft_json(draft) for draft in report.drafts],
        "skipped": [{**reason_json(skipped.refusal), "runs": list(skipped.runs)} for skipped in report.skipped],
        "errors": report.errors,
    }


def report_lines(report: Report) -> Iterable[str]:
    """What came of each kind, for people: drafts, and reasons with how often each was given; nothing when nothing is new."""
    if report.nothing_new:
        return
    for draft in report.drafts:
        yield draft_line(draft)
    counts: dict[str, list[str]] = {}
    for skipped in report.skipped:
        counts.setdefault(type(skipped.refusal).__name__, []).append(str(skipped.refusal))
    for name, reasons in sorted(counts.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield visible(f"{len(reasons):>5}  {name}: {reasons[0]}" + (" ..." if len(set(reasons)) > 1 else ""))


def draft_json(draft: Draft) -> dict[str, object]:
    """A draft with its text, its evidence and what should be looked at."""
    return {
        "draft": draft.id,
        "skill": draft.name,
        "kind": draft.kind,
        "state": draft.state,
        "description": draft.skill.description,
        "base": draft.base,
        "evidence": draft.citation.to_json(),
        "flag": draft.flag,
        "note": draft.note,
        "hazards": [hazard._asdict() for hazard in draft.hazards],
        "made_at": moment_text(draft.made_at),
        "by": draft.by,
        "reason": draft.reason,
        "decided_at": moment_text(draft.decided_at) if draft.decided_at else None,
        "text": draft.content.decode(),
    }


def draft_line(draft: Draft) -> str:
    """A draft in one line."""
    cited = f"{len(draft.citation.worked)} worked, {len(draft.citation.failed)} failed"
    line = f"draft {draft.id:<4} {draft.kind:<10} {draft.name}  ({cited})"
    if draft.state != "waiting":
        line += f"  {draft.state}{f': {draft.reason}' if draft.reason else ''}"
    hazards = f"  look at: {', '.join(hazard.kind for hazard in draft.hazards)}" if draft.hazards else ""
    return visible(line) + click.style(hazards, fg="red")


def draft_page(draft: Draft) -> str:
    """Everything about a draft."""
    lines = [draft_line(draft)]
    lines += [click.style(visible(f"  {hazard.kind}: {hazard.found}"), fg="red") for hazard in draft.hazards]
    if draft.note:
        lines.append(visible(f"  {draft.note}"))
    lines += ["", visible(draft.diff() if draft.base_content else draft.content.decode())]
    return "\n".join(lines)


def standing_json(standing: Standing) -> dict[str, object]:
    """How a skill stands; without a version when the store has none."""
    kept = version_json(standing.version) if standing.version else {"skill": standing.name, "version": None}
    return {**kept, "state": standing.state, "description": standing.description}


def standing_line(standing: Standing, width: int) -> str:
    """The same in one line."""
    number = f"version {standing.version.number}" if standing.version else "-"
    line = f"{standing.name:<32} {number:<11} {standing.state:<16} {standing.description}"
    return visible(line if len(line) <= width else f"{line[: width - 1]}…")


def version_json(version: Version, *, text: bool = False) -> dict[str, object]:
    """A version of a skill."""
    return {
        "skill": version.name,
        "version": version.number,
        "origin": version.origin,
        "parent": version.parent,
        "description": version.description,
        "by": version.by,
        "note": version.note,
        "at": moment_text(version.at),
        "evidence": version.citation.to_json(),
        **({"text": version.content.decode(errors="replace")} if text else {}),
    }


def version_line(version: Version) -> str:
    """A version in one line."""
    came = f" from {version.parent}" if version.parent else ""
    by, note = f" by {version.by}" if version.by else "", f": {version.note}" if version.note else ""
    return visible(f"{version.number:>4}  {version.at:%Y-%m-%d}  {version.origin}{came}{by}{note}")


def health_json(health: SkillHealth) -> dict[str, object]:
    """What the runs say of a skill; rates are probabilities of success."""
    return {
        "skill": health.skill,
        "convicted": health.convicted,
        "verdict": health.verdict,
        "verdict_probability": _round(health.causes[health.verdict]) if health.verdict else None,
        "verdict_text": health.verdict_text,
        "verdicts": {name: _round(share) for name, share in health.causes.items()},
        "probability_of_harm": _round(health.probability_of_harm),
        "q_value": _round(health.q_value),
        "followed": health.followed.total,
        "worked": health.followed.worked,
        "failed": health.followed.failed,
        "unknown": health.followed.unknown,
        "followed_earlier_text": health.earlier,
        "similar_not_followed": health.similar.total,
        "similar_worked": health.similar.worked,
        "similar_failed": health.similar.failed,
        "similar_unknown": health.similar.unknown,
        "compared_with": health.compared_with,
        "success_rate": _rate_json(health.success_rate),
        "compared_success_rate": _rate_json(health.compared_rate) if health.compared_rate else None,
        "difference": None if health.difference is None else _round(health.difference),
        "blame": {"log_odds": _round(health.blame.effect), "error": _round(health.blame.error), "p_value": _round(health.blame.p_value)},
        "changes": {name: _rate_json(ratio) for name, ratio in health.changes.items()},
        "rollback_to": health.rollback_to,
        "evidence": list(health.evidence),
    }  # fmt: skip


def health_lines(health: SkillHealth) -> Iterable[str]:
    """The same for people: what happened, what it is compared with, what it looks like."""
    mark = click.style("FLAGGED ", fg="red", bold=True) if health.convicted else ""
    yield mark + click.style(visible(health.skill), bold=True)
    followed, similar = health.followed, health.similar
    rate = health.success_rate
    yield (
        f"  followed {followed.total}: {followed.worked} worked, {followed.failed} failed, {followed.unknown} unknown;"
        f" success {rate.mean:.0%} ({rate.low:.0%} to {rate.high:.0%})"
    )
    if health.earlier:
        yield f"  and {health.earlier} that followed an earlier text of it"
    yield f"  similar, not followed {similar.total}: {similar.worked} worked, {similar.failed} failed, {similar.unknown} unknown"
    if health.compared_rate and health.difference is not None:
        whom = "like runs, weighted" if health.compared_with == "similar" else "all others, none being like them"
        yield f"  against {whom}: {health.compared_rate.mean:.0%}, difference {health.difference:+.0%}"
    yield f"  probability of harm {health.probability_of_harm:.3f}, q {health.q_value:.3f}"
    for name, ratio in health.changes.items():
        yield f"  {name} x{ratio.mean:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    if health.verdict:
        yield f"  looks like: {health.verdict_text} ({health.causes[health.verdict]:.0%} sure)"
        yield f"  runs that failed: {ids_text(health.evidence, _MOST_IDS)}"
    if health.rollback_to:
        yield f"  failures rose since the last revision: experience skills rollback {visible(health.skill)} {health.rollback_to}"


def _rate_json(rate: Rate) -> dict[str, float]:
    return {"mean": _round(rate.mean), "low": _round(rate.low), "high": _round(rate.high)}


def _round(number: float) -> float:
    return round(number, 6)
