"""A skill that misleads, revised: flag first, then a proposal that has to pass, then a person's word.

A try costs one of a skill's revisions whether anything comes of it or not, so that nothing rewrites a skill over and
over. What is proposed keeps the name, the licence and every other key, still covers what the skill was built on, and
waits as a draft with the flag and the runs that caused it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from experience.episode import Episode
from experience.errors import InvalidInput, InvalidSkill
from experience.learn.causes import WRONG_SITUATION
from experience.learn.distill import Complete
from experience.learn.drafting import bad_reply, fit, reply_object
from experience.learn.evidence import Citation, Evidence, episode_of
from experience.learn.extending import missing_pitfalls, named
from experience.learn.ledger import Ledger
from experience.learn.prompts import revise_prompt
from experience.learn.refusals import (
    DailyCapReached,
    EpisodeSucceeded,
    LifetimeCapReached,
    LosesSteps,
    NothingToChange,
    RevisionRefusal,
    SkillNotUsedInEpisode,
    TooLarge,
)
from experience.learn.skill import LONGEST_DESCRIPTION, Skill, with_bullets
from experience.learn.wording import shared_phrases
from experience.learn.words import Casing
from experience.masking import masked
from experience.protocols import Record

_SHORTEST_BODY = 50  # bytes
_ROOM = 500  # characters that any body may grow by
_FRONT = re.compile(r"\A\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RevisePolicy:
    """How often a skill may be revised, and how far."""

    max_total_revisions: int = 10
    max_revisions_per_day: int = 2
    require_skill_in_episode: bool = True
    refuse_when_episode_succeeded: bool = True
    max_growth: float = 1.5
    """Times the size it had, and 500 characters, that a revised body may have."""
    max_output_tokens: int = 3000

    def __post_init__(self) -> None:
        for name in ("max_total_revisions", "max_revisions_per_day"):
            if type(value := getattr(self, name)) is not int or value < 0:
                raise InvalidInput(f"{name} is {value!r}; it needs a whole number from 0 on")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A revision may be tried."""

    current_revision: int
    revisions_today: int


@dataclass(frozen=True, slots=True)
class Request:
    """A skill, what is wrong with it, and the runs that tell."""

    skill: Skill
    skill_name: str
    """The folder's name, or what the caller calls it; it has to be the skill's."""
    episode: Episode
    """A run that followed it and did not work."""
    complaint: str = ""
    """What a person says is wrong; it counts most."""
    attempts: Sequence[date] = ()
    """The days on which revisions were tried before."""
    worked: Sequence[Record | Episode] = ()
    """Runs that followed it and worked, or that it was built on."""
    failed: Sequence[Record | Episode] = ()
    """Runs that followed it and failed."""
    like: Sequence[Record | Episode] = ()
    """Runs in like situations that did not follow it and worked."""
    verdict: str = ""
    """What its failures look like, see `experience.learn.causes`."""
    casing: Casing | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Revision:
    """A proposal that has passed."""

    skill: Skill
    rationale: str
    citation: Citation


def check(request: Request, today: date, policy: RevisePolicy = RevisePolicy()) -> Allowed | RevisionRefusal:
    """Whether a revision may be tried; the first reason against it counts. A run whose end is unknown may be a reason.

    Tries count, and what the file's own ledger counts, whichever is more. Raises InvalidSkill when the ledger cannot be
    read, or when the skill in the file has another name.
    """
    if request.skill.name != request.skill_name:
        raise InvalidSkill(
            f"the file calls itself {request.skill.name} and not {request.skill_name}; give both one name"
        )
    ledger = Ledger.of(request.skill)
    if policy.refuse_when_episode_succeeded and request.episode.success:
        return EpisodeSucceeded()
    if policy.require_skill_in_episode and request.skill_name not in request.episode.skills:
        return SkillNotUsedInEpisode(request.skill_name)
    tried = max(len(request.attempts), ledger.revision)
    if tried >= policy.max_total_revisions:
        return LifetimeCapReached(tried, policy.max_total_revisions)
    in_file = ledger.revisions_today if ledger.revised_on == today else 0
    tried_today = max(sum(day == today for day in request.attempts), in_file)
    if tried_today >= policy.max_revisions_per_day:
        return DailyCapReached(tried_today, policy.max_revisions_per_day, today.isoformat())
    return Allowed(ledger.revision, tried_today)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to change, before it is checked."""

    body: str
    rationale: str
    description: str | None = None
    dropped: frozenset[str] = frozenset()
    """Tools that are left out on purpose, each with a reason in the rationale."""


def revise(
    request: Request, today: date, policy: RevisePolicy = RevisePolicy(), complete: Complete | None = None
) -> Revision | RevisionRefusal:
    """A proposal for a request, or why there is none; `check` comes first and costs no call of the model.

    Without a model the evidence speaks: pitfalls that tell failures from successes, and situations it is not for. Raises
    BadReply, ModelError, InvalidSkill.
    """
    if not isinstance(allowed := check(request, today, policy), Allowed):
        return allowed
    proposal = _from_evidence(request) if complete is None else _from_model(request, policy, complete)
    skill = request.skill
    if proposal.body.strip() == skill.body and proposal.description in (None, skill.description):
        return NothingToChange(proposal.rationale or "the runs support no change")
    if refusal := _uncovered(request, proposal, policy):
        return refusal
    changed = skill.changed(
        body=proposal.body, description=proposal.description, metadata=Ledger.of(skill).bumped(today).entries()
    )
    citation = Citation.of(*([r for r in runs if isinstance(r, Record)] for runs in (request.worked, request.failed)))
    return Revision(changed, proposal.rationale, citation)


def _uncovered(request: Request, proposal: Proposal, policy: RevisePolicy) -> LosesSteps | TooLarge | None:
    """Why a proposal does not do what the skill did: tools of its successes are gone, or it has outgrown its bound."""
    tools = {tool for run in request.worked for tool in episode_of(run).tools}
    text = f"{proposal.description or request.skill.description}\n{proposal.body}"
    lost = {tool for tool in tools if named(request.skill.text, tool) and not named(text, tool)} - proposal.dropped
    if lost:
        return LosesSteps(tuple(sorted(lost)))
    most = int(policy.max_growth * len(request.skill.body)) + _ROOM
    return TooLarge(len(proposal.body), most) if len(proposal.body) > most else None


def _from_evidence(request: Request) -> Proposal:
    evidence = _evidence(request)
    pitfalls = missing_pitfalls(request.skill, evidence) if evidence else []
    body = with_bullets(request.skill.body, "Pitfalls", pitfalls)
    reasons = ["what runs that failed did differently is named"] if pitfalls else []
    if request.complaint.strip():
        said, _ = masked(" ".join(request.complaint.split()))
        body = with_bullets(body, "Pitfalls", [said])
        reasons.append("the complaint is noted")
    if request.verdict == WRONG_SITUATION and (narrower := _not_for(request)):
        body = with_bullets(body, "When this applies", [narrower])
        reasons.append("it says what it is not for")
    return Proposal(body, "; ".join(reasons))


def _evidence(request: Request) -> Evidence | None:
    """What tells the runs that failed from those that worked, whether they followed the skill or were only like them."""
    worked = (*request.worked, *request.like)
    return Evidence.of(worked, request.failed, request.casing) if worked and request.failed else None


def _not_for(request: Request) -> str | None:
    """What situations speak of in which the skill failed, and those in which it worked do not."""
    worked, failed = ([episode_of(run).situation for run in runs] for runs in (request.worked, request.failed))
    casing = request.casing or Casing([*worked, *failed])
    fine = {word for text in worked for word in text.casefold().split()}
    phrases = [p for p in shared_phrases(failed, casing) if not set(p.text.split()) <= fine] if failed else []
    if not phrases:
        return None
    said = ", ".join(f'"{phrase.text}" ({phrase.support} of {len(failed)} runs that failed)' for phrase in phrases)
    return f"Not when the situation speaks of {said}."


def _from_model(request: Request, policy: RevisePolicy, complete: Complete) -> Proposal:
    evidence = _evidence(request)
    prompt = revise_prompt(request.skill, request.episode, request.complaint, evidence, policy.max_output_tokens)
    reply = complete(prompt)
    data = reply_object(reply)
    body = data.get("body")
    if not isinstance(body, str) or len(_FRONT.sub("", body).strip().encode()) < _SHORTEST_BODY:
        raise bad_reply(f"it has no body of at least {_SHORTEST_BODY} bytes", reply)
    known = request.skill.text  # what stands in the skill already is not masked away
    body, _ = masked(_FRONT.sub("", body).strip(), known)
    change = data.get("description_change")
    new, why = (str(change.get(key) or "").strip() for key in ("new", "why")) if isinstance(change, dict) else ("", "")
    description = fit(masked(" ".join(new.split()), known)[0], LONGEST_DESCRIPTION)
    dropped = data.get("dropped")
    left_out = (
        {tool: why for tool, why in dropped.items() if str(why or "").strip()} if isinstance(dropped, dict) else {}
    )
    rationale = data.get("rationale")
    told = [rationale.strip() if isinstance(rationale, str) else "", *(f"without {tool}: {why}" for tool, why in left_out.items())]  # fmt: skip
    return Proposal(body, "; ".join(filter(None, told)), description if new and why else None, frozenset(left_out))
