"""Sessions made into episodes and recorded, many in one transaction; the longer account of a session wins.

A session that comes again is known; one that has grown takes its older self's place; a shorter copy of it changes nothing,
however often and in whatever order they come. An episode is masked while it is whole and shortened after that, so that no
half of a secret is left behind.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from experience.admission import Newcomer, admit_all, prepare, taken
from experience.echoes import STRIPPED, without_recalled
from experience.episode import Episode
from experience.errors import InvalidInput, NotFound
from experience.hygiene import MASKING, Masking
from experience.importers.episodes import TURNS, episode_of, lost, shortened, storable
from experience.importers.labelling import Judge
from experience.importers.report import NOBODY, Tally
from experience.importers.session import COURSE, COURSE_STEP, Session, Trouble, counted, without_texts
from experience.protocols import Label, Record
from experience.store import SqliteStore
from experience.tell.shorten import Strategy, shorten

_EVIDENCE = 500  # bytes of a label's
_SAID = 200  # things a label command says that are told apart
_BATCH = 250  # sessions in a transaction
_LARGEST_BATCH = 4_000_000  # characters, from which on it is whole


ANOTHERS = "another's"
"""What becomes of a session whose run_id is an episode that no import has written."""


class _Waiting(NamedTuple):
    """A session that is ready to be recorded."""

    path: str
    new: Newcomer
    labels: tuple[Label, ...]
    """What the transcript itself says."""
    source: str
    """Where that comes from, for the report."""
    session: Session
    """What its turns were, for the report; its texts are gone."""


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
        now, found = self._store.now(), session.finding
        try:
            episode, masked = self._masking.episode(without_recalled(episode_of(session, format, self._tags)))
            episode = shortened(episode)
            evidence = self._evidence(found.evidence) if found else ""
            labels = (Label(0, found.success, found.kind, f"{format} transcript", evidence, now),) if found else ()
            new = prepare(self._store.namespace, episode, None, now, None, labels=labels)
        except InvalidInput as error:
            self._tally.trouble(path, Trouble(None, f"session {session.id[:80]}: {error}"))
            self._tally.refused(session)
            return
        self._tally.masked.update(masked)
        texts, missing = lost(episode)
        self._tally.shortened.update(texts=texts, bytes=missing)
        self._tally.echoes += int(episode.meta.get(STRIPPED, 0))
        source = f"{format}: {found.kind}" if found else f"{format}: {NOBODY}"
        self._waiting.append(_Waiting(path, new, labels, source, without_texts(session)))
        self._size += len(episode.situation) + len(episode.outcome) + 20 * len(episode.tools)
        if len(self._waiting) >= _BATCH or self._size >= _LARGEST_BATCH:
            self.flush()

    def flush(self) -> None:
        """Record what waits."""
        if not self._waiting:
            return
        # The user's command takes its time, and nobody is to wait for the file meanwhile.
        waiting = self._judged(self._told_apart(self._waiting))
        fates: list[str] = []
        troubles: list[tuple[str, Trouble]] = []
        with self._store.write() as db:
            names = taken(db, self._store.namespace, [one.new for one in waiting])
            alone: list[Newcomer] = []
            for one in waiting:
                if names.stand_in_the_way_of(one.new):
                    admit_all(db, self._store.namespace, alone, self._store.now())
                    alone = []
                    fates.append(self._meet(one, troubles))
                else:
                    alone.append(one.new._replace(labels=one.labels))
                    fates.append("new")
                names.add(one.new)
            admit_all(db, self._store.namespace, alone, self._store.now())
        self._waiting, self._size = [], 0
        for one, fate in zip(waiting, fates, strict=True):
            if fate == ANOTHERS:
                self._tally.refused(one.session)
            else:
                self._tally.fates[fate] += 1
                self._tally.turns_of(one.session)
                self._tally.labels[one.source] += 1
        for path, trouble in troubles:
            self._tally.trouble(path, trouble)

    def _evidence(self, text: str) -> str:
        return shorten(self._masking.text(storable(text)), Strategy.HEAD, _EVIDENCE).text

    def _told_apart(self, waiting: Sequence[_Waiting]) -> list[_Waiting]:
        """With a name of its own for each that begins as another of its name and goes on differently."""
        courses: dict[str, str] = {}
        apart: list[_Waiting] = []
        for given in waiting:
            one = given
            while (at := _parting(_course(one.new.episode), self._course_of(one, courses))) is not None:
                one = self._renamed(one, at)
            name, course = str(one.new.episode.run_id), _course(one.new.episode)
            courses[name] = max(course, courses.get(name, ""), key=len)
            apart.append(one)
        return apart

    def _course_of(self, one: _Waiting, courses: dict[str, str]) -> str:
        """The longest course of its name so far: the store's, or one of those that wait."""
        name = str(one.new.episode.run_id)
        if name not in courses:
            before = self._newest(one.new) if _course(one.new.episode) else None
            courses[name] = "" if before is None else _course(before.episode)
        return courses[name]

    def _renamed(self, one: _Waiting, at: int) -> _Waiting:
        episode = one.new.episode
        course = hashlib.sha256(_course(episode)[:at].encode()).hexdigest()
        named = replace(episode, run_id=f"{episode.run_id}-{course[:8]}")
        return one._replace(new=prepare(self._store.namespace, named, None, self._store.now(), None, labels=one.labels))

    def _judged(self, waiting: Sequence[_Waiting]) -> list[_Waiting]:
        """With what the user's command says of the longest account of each session that is new or has grown."""
        if self._judge is None:
            return list(waiting)
        longest: dict[str | None, int] = {}
        for number, one in enumerate(waiting):
            there = longest.setdefault(one.new.episode.run_id, number)
            if one.new.episode.meta[TURNS] > waiting[there].new.episode.meta[TURNS]:
                longest[one.new.episode.run_id] = number
        chosen = set(longest.values())
        return [self._with_verdict(self._judge, one) if at in chosen else one for at, one in enumerate(waiting)]

    def _with_verdict(self, judge: Judge, one: _Waiting) -> _Waiting:
        if self._fate(one.new.episode, self._newest(one.new)) not in {"new", "grown"}:
            return one
        verdict = judge(one.new.episode)
        evidence = self._evidence(verdict.evidence)
        said = {True: "worked", False: "failed", None: f"nothing: {evidence}"}[verdict.success]
        counted(self._tally.judged, said, _SAID)
        if verdict.success is None:
            return one
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
            return "grown" if self._supersede else ANOTHERS
        return "grown" if turns > had or (self._supersede and _differs(episode, before.episode)) else "known"

    def _meet(self, one: _Waiting, troubles: list[tuple[str, Trouble]]) -> str:
        """Record a session whose name is there already; what became of it."""
        episode, before = one.new.episode, self._newest(one.new)
        fate = self._fate(episode, before)
        if fate == ANOTHERS:
            reason = f"run_id {episode.run_id} is an episode that no import has written; --supersede lets this one take its place"
            troubles.append((one.path, Trouble(None, reason)))
        elif fate == "known" and before is not None:
            if episode.meta[TURNS] == before.episode.meta.get(TURNS):  # a shorter account knows less of how it ended
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


def _course(episode: Episode) -> str:
    course = episode.meta.get(COURSE, "")
    return course if isinstance(course, str) else ""


def _parting(one: str, other: str) -> int | None:
    """Up to where the courses of two sessions have to be read to see that they differ; None where one is the other's beginning."""
    for at in range(0, min(len(one), len(other)), COURSE_STEP):
        if one[at : at + COURSE_STEP] != other[at : at + COURSE_STEP]:
            return at + COURSE_STEP
    return None


def _differs(one: Episode, other: Episode) -> bool:
    return one.with_success(None).content != other.with_success(None).content or one.meta != other.meta
