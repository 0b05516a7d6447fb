"""Learnings: single sentences that runs found to be so, told to later runs until they lapse or are confirmed.

A proposal is told at once, since one that waits for approval is never used; what bounds it is that it lapses after twenty
runs that were told it, unless runs that were *not* told it find it again. A person may confirm or reject it at any time. A
learning is a log of events: nothing is changed, and how it stood at any moment can be worked out. Which learnings are told,
and in what words, is decided elsewhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from experience.episode import checked_name, checked_text, moment_from, moment_text
from experience.errors import InvalidInput, NotFound, shown
from experience.learn.claims import objection, same_claim, same_words
from experience.learn.learning import (
    ACTIVE,
    CONFIRM_AFTER,
    IMPACTS,
    MAX_TEXT,
    PROVISIONAL_RUNS,
    SELECT_LEARNINGS,
    Event,
    Learning,
    aged,
    corrected,
    learning_from,
)
from experience.learn.replies import (
    Confirmed,
    Corrected,
    Echo,
    Malformed,
    NotActive,
    Outdated,
    Rediscovered,
    Refused,
    Reply,
    Taken,
    Unacceptable,
)
from experience.masking import distinct, masked
from experience.store import SqliteStore

# Of several that say the same, the one that decides: what a person rejected first, then what is told.
_DECIDING = {"rejected": 0, "provisional": 1, "confirmed": 1, "corrected": 2, "lapsed": 3}


class Learnings:
    """The learnings of one store and namespace."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    # -- proposing -----------------------------------------------------------------------------------------------------

    def propose(
        self, text: str, *, agent: str = "", impact: str = "medium", run_id: str | None = None, by: str = ""
    ) -> Reply:
        """Propose what a run found to be so; for one agent, or with none for every agent of the namespace.

        With a `run_id` whose receipts are in the store, only what that run was told can be an echo; else everything that is
        active counts as told. Raises InvalidInput for an impact that is none.
        """
        text = checked_text("text", text).strip()
        if refusal := _refusal(text, impact):
            return refusal
        with self.store.write():
            found = self._same(text, self.all(agent))
            if found is not None:
                return self._met(found, text, impact, run_id, by)
            return Taken(self._add(agent, text, impact, run_id, by))

    def correct(
        self,
        which: int | str,
        text: str,
        *,
        agent: str = "",
        impact: str = "medium",
        run_id: str | None = None,
        by: str = "",
    ) -> Reply:
        """Say what is so in the place of an active learning, named as `find` takes it; provisional, whatever it corrects.

        While the correction stands the old learning is not told; if it lapses or is rejected, the old one is told again as
        it stood. An agent corrects its own learnings and those for all. Raises NotFound, InvalidInput.
        """
        text = checked_text("text", text).strip()
        with self.store.write():
            old = self.find(which, agent)
            if old.agent not in ("", agent) and agent:
                raise NotFound(f"the agent {agent!r} has no learning {old.id}; see: experience learn list")
            if not old.active:
                return NotActive(old.id, old.state)
            if refusal := _refusal(text, impact):
                return refusal
            if same_words(text, old.text):
                return Malformed(f"learning {old.id} says this in these words; say what is different")
            other = self._same(text, [one for one in self.all(old.agent) if one.id != old.id])
            if other is not None and other.state == "rejected":
                return Refused(other.id)
            # Saying nearly the same again must not give it more time.
            left = old.runs_left if old.runs_left and same_claim(text, old.text) else PROVISIONAL_RUNS
            new = (
                other.id if other is not None and other.active else self._add(old.agent, text, impact, run_id, by, left)
            )
            self._replace([old], new)
            return Corrected(new, old.id)

    def find(self, which: int | str, agent: str = "") -> Learning:
        """A learning by its id or by its words, as a run is told them; of those that an agent is told, the nearest in words.

        Raises NotFound.
        """
        if isinstance(which, int):
            return self.get(which)
        numbered = [one for one in self.all() if str(one.id) == which.strip()]
        told = self.active(agent)
        exact = [one for one in told if " ".join(one.text.split()) == " ".join(which.split())]
        found = numbered or exact or [one for one in told if same_claim(one.text, which)]
        if not found:
            raise NotFound(f"no learning that is told says {shown(which)}; see: experience learn list")
        return found[0]

    # -- a person's part -------------------------------------------------------------------------------------------------

    def confirm(self, id: int, *, by: str = "", note: str = "") -> Learning:
        """Let it be told for good. Raises NotFound; InvalidInput while another is told in its place."""
        with self.store.write():
            learning = self.get(id)
            if learning.state == "corrected":
                raise InvalidInput(
                    f"learning {id} was corrected by learning {learning.corrected_by}; reject that one, and {id} stands again"
                )
            told = self._same(learning.text, [one for one in self.all(learning.agent) if one.active and one.id != id])
            if told is not None:
                raise InvalidInput(f"learning {told.id} says the same and is told; confirm that one")
            self._write(replace(learning, state="confirmed", runs_left=0), "confirmed", None, by, note)
            return self.get(id)

    def reject(self, id: int, *, by: str = "", note: str = "") -> Learning:
        """Let it never be told again, nor any other that is told and claims the same to its agent; of one for all, to any.

        What it corrected is told again. Raises NotFound.
        """
        with self.store.write():
            learning = self.get(id)
            others = [one for one in self.all() if one.id != id]
            same = [
                one for one in others if one.active and _concerns(learning, one) and same_claim(one.text, learning.text)
            ]
            sql = (
                "SELECT learning_id FROM learning_corrections WHERE by_id = ? GROUP BY learning_id HAVING min(same) = 1"
            )
            covered = {old for (old,) in self.store.read(sql, (id,))}
            same += [one for one in others if one.id in covered and one.corrected_by == id]
            for one in (learning, *same):
                why = note if one.id == id else f"claims the same as learning {id}"
                self._write(replace(one, state="rejected", runs_left=0), "rejected", None, by, why)
            return self.get(id)

    # -- looking -------------------------------------------------------------------------------------------------------

    def get(self, id: int) -> Learning:
        """One learning as it stands. Raises NotFound."""
        found = [one for one in self.all() if one.id == id]
        if not found:
            raise NotFound(f"the namespace {self.store.namespace!r} has no learning {id}; see: experience learn list")
        return found[0]

    def all(self, agent: str | None = None, *, at: datetime | None = None) -> list[Learning]:
        """Every learning (None) or those that concern one agent, as they stand or stood `at` a moment, oldest first."""
        until = "9999" if at is None else moment_text(at)
        mine, parameters = ("", []) if agent is None else ("AND l.agent IN ('', ?)", [agent])
        sql = "SELECT learning_id, by_id FROM learning_corrections WHERE at <= ? ORDER BY id"
        with self.store.alone():
            rows = self.store.read(
                SELECT_LEARNINGS.format(mine=mine), (until, until, self.store.namespace, *parameters)
            )
            pairs = self.store.read(sql, (until,))
        return corrected([learning_from(row) for row in rows], [(old, new) for old, new in pairs])

    def active(self, agent: str = "", *, at: datetime | None = None) -> list[Learning]:
        """What an agent is told: its own and those for all; confirmed ones first, then the oldest, equally old ones by words."""
        found = [one for one in self.all(agent, at=at) if one.active]
        return sorted(found, key=lambda one: (one.state != "confirmed", one.first_at, one.text, one.id))

    def history(self, id: int) -> list[Event]:
        """Everything that happened to a learning, oldest first. Raises NotFound."""
        with self.store.alone():
            self.get(id)
            sql = "SELECT id, what, text, state, runs_left, run_id, by, note, at FROM learning_events WHERE learning_id = ? ORDER BY id"
            events = []
            for event, what, text, state, runs_left, run_id, by, note, at in self.store.read(sql, (id,)):
                events.append(Event(moment_from(at, "at"), what, text, state, runs_left, run_id, by, note))
                events += self._told(event, state, runs_left)
            pairs = self.store.read("SELECT by_id, at FROM learning_corrections WHERE learning_id = ?", (id,))
        for new, at in pairs:
            events.append(Event(moment_from(at, "at"), "corrected", "", "corrected", 0, None, "", f"by learning {new}"))
        return sorted(events, key=lambda one: one.at)

    def was_told_anything(self, run_id: str) -> bool:
        """Whether there is a receipt of a run, so that what it was not told can be known."""
        sql = "SELECT 1 FROM receipts WHERE namespace = ? AND run_id = ? LIMIT 1"
        return bool(self.store.read(sql, (self.store.namespace, distinct(run_id))))

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _same(self, text: str, among: Sequence[Learning]) -> Learning | None:
        """The one that claims the same; of several the one that decides."""
        same = [one for one in among if same_claim(one.text, text)]
        return min(same, key=lambda one: (_DECIDING[one.state], one.id), default=None)

    def _met(self, old: Learning, text: str, impact: str, run_id: str | None, by: str) -> Reply:
        """What a proposal becomes that claims the same as a learning that is there."""
        if old.state == "rejected":
            return Refused(old.id)
        if old.corrected_by is not None:
            return Outdated(old.id, old.corrected_by)
        told = self._was_told(old, run_id)
        if told or (told is None and old.active):
            return Echo(old.id)
        found = replace(old, proposals=old.proposals + 1, runs_left=PROVISIONAL_RUNS, state="provisional")
        if old.state != "confirmed":
            found = replace(found, text=text, impact=max(old.impact, impact, key=IMPACTS.index))
        if old.state == "confirmed" or found.proposals > CONFIRM_AFTER:
            found = replace(found, state="confirmed", runs_left=0)
        self._write(found, "rediscovered", run_id, by, "")
        if found.state == "confirmed" and old.state != "confirmed":
            return Confirmed(old.id)
        return Rediscovered(old.id, found.proposals)

    def _was_told(self, learning: Learning, run_id: str | None) -> bool | None:
        """Whether the run that proposes it had it in front of it, or proposed it before; None where that is not known."""
        if run_id is None or not self.was_told_anything(run_id):
            return None
        sql = """SELECT 1 FROM receipts r JOIN json_each(r.contents, '$.learnings') told
            WHERE r.namespace = ? AND r.run_id = ? AND json_extract(told.value, '$.id') = ?
            UNION ALL SELECT 1 FROM learning_events WHERE learning_id = ? AND run_id = ?"""
        return bool(
            self.store.read(sql, (self.store.namespace, distinct(run_id), learning.id, learning.id, distinct(run_id)))
        )

    def _told(self, event: int, state: str, runs_left: int) -> list[Event]:
        """The runs that were told a learning since an event, and that it lapsed when they were enough."""
        events = []
        told = self.store.read("SELECT run_id, at FROM tellings WHERE event_id = ? ORDER BY id", (event,))
        for number, (run, at) in enumerate(told, 1):
            left, state_then = aged(state, runs_left, number)
            moment = moment_from(at, "at")
            events.append(Event(moment, "told", "", state_then, left, run, "", ""))
            if state_then == "lapsed" and number == runs_left:
                events.append(Event(moment, "lapsed", "", "lapsed", 0, None, "", ""))
        return events

    def _add(
        self, agent: str, text: str, impact: str, run_id: str | None, by: str, runs_left: int = PROVISIONAL_RUNS
    ) -> int:
        with self.store.write() as db:
            row = (self.store.namespace, checked_text("agent", agent))
            id = int(db.execute("INSERT INTO learnings (namespace, agent) VALUES (?, ?)", row).lastrowid or 0)
            now = self.store.now()
            new = Learning(id, agent, text, impact, "provisional", 1, runs_left, now, now)
            self._write(new, "proposed", run_id, by, "")
        return id

    def _write(self, learning: Learning, what: str, run_id: str | None, by: str, note: str) -> None:
        note, _ = masked(note, personal=False)
        row = (
            learning.id, what, learning.text, learning.impact, learning.state, learning.proposals, learning.runs_left,
            None if run_id is None else distinct(checked_name("run_id", run_id)), checked_text("by", by), checked_text("note", note), moment_text(self.store.now()),
        )  # fmt: skip
        sql = f"""INSERT INTO learning_events (learning_id, what, text, impact, state, proposals, runs_left, run_id, by,
            note, at) VALUES ({", ".join("?" * len(row))})"""
        with self.store.write() as db:
            db.execute(sql, row)
            if learning.state in ACTIVE:
                self._cover(learning)

    def _cover(self, new: Learning) -> None:
        """Let it be told in the place of whatever claims the same to the same agent; of one for all, to any agent."""
        others = [one for one in self.all() if one.id != new.id and new.agent in ("", one.agent)]
        same = [one for one in others if one.state in (*ACTIVE, "corrected") and same_claim(one.text, new.text)]
        self._replace(same, new.id, same=True)

    def _replace(self, old: Sequence[Learning], new: int, *, same: bool = False) -> None:
        """Let one be told in the place of others, as long as it stands."""
        now = moment_text(self.store.now())
        rows = [(one.id, new, same, now) for one in old if one.corrected_by != new]
        with self.store.write() as db:
            sql = "INSERT INTO learning_corrections (learning_id, by_id, same, at) VALUES (?, ?, ?, ?)"
            db.conn.executemany(sql, rows)


def _concerns(learning: Learning, other: Learning) -> bool:
    """Whether another is told to an agent that the learning is for."""
    return not learning.agent or other.agent in ("", learning.agent)


def _refusal(text: str, impact: str) -> Malformed | Unacceptable | None:
    if impact not in IMPACTS:
        raise InvalidInput(f"the impact is {impact!r}; it needs one of {', '.join(IMPACTS)}")
    if not text:
        return Malformed("it is blank; say in one sentence what was found to be so")
    if len(text) > MAX_TEXT:
        return Malformed(f"it has {len(text)} characters; {MAX_TEXT} are the most: one thing, in one sentence")
    found = objection(text)
    return Unacceptable(*found) if found else None
