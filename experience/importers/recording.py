"""Sessions made into episodes and recorded, many in one transaction; the longer account of a session wins.

A session that comes again is known; one that has grown takes its older self's place; a shorter copy of it changes nothing,
however often and in whatever order they come. An episode is masked while it is whole and shortened after that, so that no
half of a secret is left behind.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from experience.admission import Newcomer, admit_all, prepare, taken
from experience.caps import CUT, capped
from experience.echoes import STRIPPED, without_recalled
from experience.episode import Episode
from experience.errors import InvalidInput, NotFound
from experience.hygiene import MASKING, Masking
from experience.importers.labelling import Judge
from experience.importers.report import NOBODY, Tally
from experience.importers.session import Session, Trouble
from experience.protocols import Label, Record
from experience.store import SqliteStore
from experience.tell.shorten import Strategy, encoded, shorten, size_of

SITUATION_CAP = 16_000
OUTCOME_CAP = 8_000
"""Bytes, the mark of what is missing counted."""

TURNS = "turns"
"""The key in `meta` that says how long the session was, which tells the longer of two accounts of it."""
FROM_AGENT = {"situation_from": "agent"}
"""What `meta` says where the transcript holds no request and the agent's own first words stand for the situation."""

FROM_CALLS = {"situation_from": "calls"}
"""The same where it holds no words at all, as of those who record no content, and the calls are all that is known."""

_META_CAP = 2_000  # bytes of one text in meta
_NAME_CAP = 200
_TROUBLE_LISTED = 200  # calls that failed
_BATCH = 250  # sessions in a transaction
_LARGEST_BATCH = 4_000_000  # characters, from which on it is whole


def episode_of(session: Session, format: str, tags: Sequence[str] = ()) -> Episode:
    """The episode of a session, whole: neither masked nor shortened.

    Its run_id is the format's name and the session's. Raises InvalidEpisode for a session in which nobody says anything.
    """
    asked = _storable(session.asked).strip()
    failed = [
        {"name": _name(call.name), "allowed": True, "worked": False} for call in session.calls if call.worked is False
    ]
    meta: dict[str, Any] = {
        **_storable_json(dict(session.meta)),
        "format": format,
        TURNS: session.kept if session.length is None else session.length,
    }
    if not asked:
        meta |= FROM_AGENT if session.first_words.strip() else FROM_CALLS
    if failed:
        meta["tool_trouble"] = failed[:_TROUBLE_LISTED]
    if more := len(failed[_TROUBLE_LISTED:]):
        meta["tool_trouble_more"] = more
    if session.skills:
        meta["skill_evidence"] = {_name(use.name): _storable_json(use.evidence) for use in session.skills}
    names = {call.name: _name(call.name) for call in session.calls}
    return Episode(
        situation=asked or _storable(session.first_words).strip() or _called(session),
        outcome=_storable(session.account),
        tools=tuple([names[call.name] for call in session.calls]),
        skills=tuple(dict.fromkeys(_name(use.name) for use in session.skills)),
        tags=tuple(tags),
        success=None,
        run_id=run_id_of(format, session.id),
        started_at=session.started_at,
        cost=session.cost,
        meta=meta,
    )


def _called(session: Session) -> str:
    names = dict.fromkeys(_name(call.name) for call in session.calls)
    return f"No words were captured. Called: {', '.join(names)}" if names else ""


def run_id_of(format: str, session: str) -> str:
    """The run_id of the episode that a session of a format becomes."""
    return f"{format}:{_identity(session)}"


def shortened(episode: Episode) -> tuple[Episode, int, int]:
    """The episode within its bounds, how many of its fields were shortened, and the bytes that they lost."""
    situation = shorten(episode.situation, Strategy.HEAD, SITUATION_CAP)
    outcome = shorten(episode.outcome, Strategy.ENDS, OUTCOME_CAP)
    lost = [text.dropped for text in (situation, outcome) if text.dropped]
    if lost:
        episode = replace(episode, situation=situation.text, outcome=outcome.text)
    if (short := capped(episode)) is not episode:
        lost += short.meta[CUT].values()
    return short, len(lost), sum(lost)


class _Waiting(NamedTuple):
    """A session that is ready to be recorded."""

    path: str
    new: Newcomer
    labels: tuple[Label, ...]
    """What the transcript itself says."""
    source: str
    """Where that comes from, for the report."""


class Inflow:
    """Records sessions as they come, a batch in a transaction, and counts what became of them."""

    def __init__(
        self,
        store: SqliteStore,
        tally: Tally,
        *,
        judge: Judge | None = None,
        tags: Sequence[str] = (),
        supersede: bool = False,
        masking: Masking = MASKING,
    ) -> None:
        """`supersede` lets a session take the place of any other account of it, a longer one too."""
        self._store = store
        self._tally = tally
        self._judge = judge
        self._tags = tuple(tags)
        self._supersede = supersede
        self._masking = masking
        self._waiting: list[_Waiting] = []
        self._size = 0

    def take(self, path: str, format: str, session: Session) -> None:
        """A session out of a file; it may be recorded now or with others. One that cannot be is counted as trouble."""
        self._tally.turns_of(session)
        now = self._store.now()
        try:
            episode, masked = self._masking.episode(without_recalled(episode_of(session, format, self._tags)))
            episode, texts, lost = shortened(episode)
            found = session.finding
            by = f"{format} transcript"
            evidence = self._masking.text(_storable(found.evidence)) if found else ""
            labels = (Label(0, found.success, found.kind, by, evidence, now),) if found else ()
            new = prepare(self._store.namespace, episode, None, now, None, labels=labels)
        except InvalidInput as error:
            self._tally.trouble(path, Trouble(None, f"session {session.id[:80]}: {error}"))
            return
        self._tally.masked.update(masked)
        self._tally.shortened.update(texts=texts, bytes=lost)
        self._tally.echoes += int(episode.meta.get(STRIPPED, 0))
        source = f"{format}: {found.kind}" if found else f"{format}: {NOBODY}"
        self._waiting.append(_Waiting(path, new, labels, source))
        self._size += len(episode.situation) + len(episode.outcome) + 20 * len(episode.tools)
        if len(self._waiting) >= _BATCH or self._size >= _LARGEST_BATCH:
            self.flush()

    def flush(self) -> None:
        """Record what waits."""
        if not self._waiting:
            return
        # The user's command takes its time, and nobody is to wait for the file meanwhile.
        waiting = [self._judged(one) for one in self._waiting]
        fates: Counter[str] = Counter()
        troubles: list[tuple[str, Trouble]] = []
        with self._store.write() as db:
            names = taken(db, self._store.namespace, [one.new for one in waiting])
            alone: list[Newcomer] = []
            for one in waiting:
                if names.stand_in_the_way_of(one.new):
                    admit_all(db, self._store.namespace, alone, self._store.now())
                    alone = []
                    fates[self._meet(one, troubles)] += 1
                else:
                    alone.append(one.new._replace(labels=one.labels))
                    fates["new"] += 1
                names.add(one.new)
            admit_all(db, self._store.namespace, alone, self._store.now())
        self._waiting, self._size = [], 0
        self._tally.fates.update(fates)
        for path, trouble in troubles:
            self._tally.trouble(path, trouble)
        self._tally.labels.update(one.source for one in waiting)

    def _judged(self, one: _Waiting) -> _Waiting:
        """With what the user's command says, where the session is new or has grown."""
        if self._judge is None or self._fate(one.new.episode, self._newest(one.new)) not in {"new", "grown"}:
            return one
        verdict = self._judge(one.new.episode)
        said = {True: "worked", False: "failed", None: f"nothing: {verdict.evidence}"}[verdict.success]
        if len(self._tally.judged) < _TROUBLE_LISTED or said in self._tally.judged:
            self._tally.judged[said] += 1
        if verdict.success is None:
            return one
        evidence = self._masking.text(verdict.evidence)
        label = Label(0, verdict.success, "verifier", "label command", evidence, self._store.now())
        source = one.source if one.labels else "label command: verifier"
        return one._replace(labels=(*one.labels, label), source=source)

    def _newest(self, new: Newcomer) -> Record | None:
        try:
            return self._store.get_run(str(new.episode.run_id))
        except NotFound:
            return None

    def _fate(self, episode: Episode, before: Record | None) -> str:
        if before is None:
            return "new"
        turns, had = episode.meta[TURNS], before.episode.meta.get(TURNS)
        if before.episode.meta.get("format") != episode.meta["format"] or type(had) is not int:
            return "grown" if self._supersede else "another's"
        return "grown" if turns > had or (self._supersede and _differs(episode, before.episode)) else "known"

    def _meet(self, one: _Waiting, troubles: list[tuple[str, Trouble]]) -> str:
        """Record a session whose name is there already; what became of it."""
        episode, before = one.new.episode, self._newest(one.new)
        fate = self._fate(episode, before)
        if fate == "another's":
            reason = f"run_id {episode.run_id} is an episode that no import has written; --supersede lets this one take its place"
            troubles.append((one.path, Trouble(None, reason)))
        elif fate == "known" and before is not None:
            self._add_missing(before, one.labels)
        else:
            self._store.add(episode, supersede=True, labels=one.labels)
        return fate

    def _add_missing(self, known: Record, labels: Iterable[Label]) -> None:
        """What a transcript says about success may be written into it later than the rest."""
        for label in labels:
            said = {(old.value, old.kind, old.by, old.evidence) for old in self._store.labels(known.id)}
            if (label.value, label.kind, label.by, label.evidence) not in said:
                self._store.add_label(known.id, label.value, label.kind, label.by, label.evidence)


def _differs(one: Episode, other: Episode) -> bool:
    return one.with_success(None).content != other.with_success(None).content or one.meta != other.meta


def _storable(text: str) -> str:
    """The text with what no store can hold replaced: NUL, and halves of surrogate pairs."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _identity(id: str) -> str:
    """A name that stays what it is, unless it is longer than any program makes one."""
    return _storable(id) if len(id) <= _NAME_CAP else hashlib.sha256(encoded(id)).hexdigest()


def _name(text: str) -> str:
    return shorten(_storable(text), Strategy.HEAD, _NAME_CAP).text


def _storable_json(value: Any) -> Any:
    if isinstance(value, str):
        text = _storable(value)
        return text if size_of(text) <= _META_CAP else shorten(text, Strategy.HEAD, _META_CAP).text
    if isinstance(value, dict):
        return {_name(str(key)): _storable_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_json(part) for part in value]
    return value
