"""Learnings: single sentences that runs found to be so, told to later runs until they lapse or are confirmed.

A proposal is told at once, since one that waits for approval is never used; what bounds it is that it lapses after twenty
runs that were told it, unless runs that were *not* told it find it again. A person may confirm or reject it at any time. A
learning is a log of events: nothing is changed, and how it stood at any moment can be worked out. Which learnings are told,
and in what words, is decided elsewhere.
"""

from dataclasses import replace
from datetime import datetime

from experience.episode import checked_text, moment_from, moment_text
from experience.errors import InvalidInput, NotFound, shown
from experience.learn.claims import objection, same_claim
from experience.learn.learning import (
    CONFIRM_AFTER,
    IMPACTS,
    MAX_TEXT,
    PROVISIONAL_RUNS,
    SELECT_LEARNINGS,
    Event,
    Learning,
    aged,
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
            found = next((one for one in self._by_decision(agent) if same_claim(one.text, text)), None)
            if found is None:
                return Taken(self._add(agent, text, impact, None, run_id, by))
            return self._met(found, text, impact, run_id, by)

    def correct(
        self, id: int, text: str, *, agent: str = "", impact: str = "medium", run_id: str | None = None, by: str = ""
    ) -> Reply:
        """Say what is so in the place of an active learning; the correction is provisional, whatever it corrects.

        While the correction stands the old learning is not told; if it lapses or is rejected, the old one is told again as
        it stood. An agent corrects its own learnings and those for all. Raises NotFound, InvalidInput.
        """
        text = checked_text("text", text).strip()
        with self.store.write():
            old = self.get(id)
            if old.agent not in ("", agent) and agent:
                raise NotFound(f"the agent {agent!r} has no learning {id}; see: experience learn list")
            if not old.active:
                return NotActive(id, old.state)
            if refusal := _refusal(text, impact):
                return refusal
            if " ".join(text.split()) == " ".join(old.text.split()):
                return Malformed(f"learning {id} says exactly this; say what is different")
            others = [one for one in self._by_decision(old.agent) if one.id != id and same_claim(one.text, text)]
            if others and others[0].state == "rejected":
                return Refused(others[0].id)
            return Corrected(self._add(old.agent, text, impact, id, run_id, by), id)

    def find(self, which: str, agent: str = "") -> Learning:
        """A learning by its id or by its words, as a run is told them; of those that an agent is told, the nearest in words.

        Raises NotFound.
        """
        if which.strip().isdecimal():
            return self.get(int(which))
        said = " ".join(which.split())
        told = self.active(agent)
        exact = [one for one in told if " ".join(one.text.split()) == said]
        found = exact or [one for one in told if same_claim(one.text, said)]
        if not found:
            raise NotFound(f"no learning that is told says {shown(which)}; see: experience learn list")
        return found[0]

    # -- a person's part -------------------------------------------------------------------------------------------------

    def confirm(self, id: int, *, by: str = "", note: str = "") -> Learning:
        """Let it be told for good. Raises NotFound; InvalidInput while another learning corrects it."""
        return self._decide(id, "confirmed", by, note)

    def reject(self, id: int, *, by: str = "", note: str = "") -> Learning:
        """Let it never be told again, in any wording. Raises NotFound."""
        return self._decide(id, "rejected", by, note)

    # -- looking -------------------------------------------------------------------------------------------------------

    def get(self, id: int) -> Learning:
        """One learning as it stands. Raises NotFound."""
        found = [one for one in self._all(None, None) if one.id == id]
        if not found:
            raise NotFound(f"the namespace {self.store.namespace!r} has no learning {id}; see: experience learn list")
        return found[0]

    def all(self, agent: str | None = None, *, at: datetime | None = None) -> list[Learning]:
        """Every learning (None) or those that concern one agent, as they stand or stood `at` a moment, oldest first."""
        return self._all(agent, at)

    def active(self, agent: str = "", *, at: datetime | None = None) -> list[Learning]:
        """What an agent is told: its own and those for all; confirmed ones first, then by when they were first proposed."""
        found = [one for one in self._all(agent, at) if one.active]
        return sorted(found, key=lambda one: (one.state != "confirmed", one.first_at, one.id))

    def history(self, id: int) -> list[Event]:
        """Everything that happened to a learning, oldest first. Raises NotFound."""
        learning = self.get(id)
        sql = "SELECT id, what, text, state, runs_left, run_id, by, note, at FROM learning_events WHERE learning_id = ? ORDER BY id"
        events = []
        for event, what, text, state, runs_left, run_id, by, note, at in self.store.read(sql, (id,)):
            events.append(Event(moment_from(at, "at"), what, text, state, runs_left, run_id, by, note))
            told = self.store.read("SELECT run_id, at FROM tellings WHERE event_id = ? ORDER BY id", (event,))
            for number, (run, when) in enumerate(told, 1):
                left, state_then = aged(state, runs_left, number)
                moment = moment_from(when, "at")
                events.append(Event(moment, "told", "", state_then, left, run, "", ""))
                if state_then == "lapsed" and number == runs_left:
                    events.append(Event(moment, "lapsed", "", "lapsed", 0, None, "", ""))
        for one in self._all(None, None):
            if one.corrects == learning.id:
                note = f"learning {one.id}, which is {one.state}"
                events.append(Event(one.first_at, "corrected", one.text, one.state, 0, None, "", note))
        return sorted(events, key=lambda one: one.at)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _met(self, old: Learning, text: str, impact: str, run_id: str | None, by: str) -> Reply:
        """What a proposal becomes that claims the same as a learning that is there."""
        if old.state == "rejected":
            return Refused(old.id)
        if old.state == "corrected":
            return Outdated(old.id, old.corrected_by or 0)
        if old.active and self._was_told(old, run_id):
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

    def _was_told(self, learning: Learning, run_id: str | None) -> bool:
        """Whether the one who proposes had it in front of them, or proposed it before in the same run."""
        if run_id is None:
            return True
        namespace = self.store.namespace
        contents = self.store.read(
            """SELECT json_extract(told.value, '$.id') FROM receipts r LEFT JOIN json_each(r.contents, '$.learnings') told
            WHERE r.namespace = ? AND r.run_id = ?""",
            (namespace, run_id),
        )
        if not contents:
            return True
        own = self.store.read(
            "SELECT 1 FROM learning_events WHERE learning_id = ? AND run_id = ?", (learning.id, run_id)
        )
        return bool(own) or (learning.id,) in contents

    def _decide(self, id: int, state: str, by: str, note: str) -> Learning:
        with self.store.write():
            learning = self.get(id)
            if state == "confirmed" and learning.state == "corrected":
                raise InvalidInput(
                    f"learning {id} was corrected by learning {learning.corrected_by}; reject that one, and {id} stands again"
                )
            self._write(replace(learning, state=state, runs_left=0), state, None, by, note)
            return self.get(id)

    def _add(self, agent: str, text: str, impact: str, corrects: int | None, run_id: str | None, by: str) -> int:
        with self.store.write() as db:
            row = (self.store.namespace, checked_text("agent", agent), corrects)
            cursor = db.execute("INSERT INTO learnings (namespace, agent, corrects) VALUES (?, ?, ?)", row)
            id, now = int(cursor.lastrowid or 0), self.store.now()
            new = Learning(id, agent, text, impact, "provisional", 1, PROVISIONAL_RUNS, now, now, corrects)
            note = "" if corrects is None else f"corrects learning {corrects}"
            self._write(new, "proposed", run_id, by, note)
        return id

    def _write(self, learning: Learning, what: str, run_id: str | None, by: str, note: str) -> None:
        row = (
            learning.id, what, learning.text, learning.impact, learning.state, learning.proposals, learning.runs_left,
            run_id, checked_text("by", by), checked_text("note", note), moment_text(self.store.now()),
        )  # fmt: skip
        sql = f"""INSERT INTO learning_events (learning_id, what, text, impact, state, proposals, runs_left, run_id, by,
            note, at) VALUES ({", ".join("?" * len(row))})"""
        with self.store.write() as db:
            db.execute(sql, row)

    def _by_decision(self, agent: str) -> list[Learning]:
        return sorted(self._all(agent, None), key=lambda one: (_DECIDING[one.state], one.id))

    def _all(self, agent: str | None, at: datetime | None) -> list[Learning]:
        """Learnings oldest first, each by its last event and the runs that were told it since, corrections applied."""
        until = "9999" if at is None else moment_text(at)
        mine, parameters = ("", []) if agent is None else ("AND l.agent IN ('', ?)", [agent])
        rows = self.store.read(
            SELECT_LEARNINGS.format(mine=mine), (until, until, self.store.namespace, *parameters, until)
        )
        found = [learning_from(row) for row in rows]
        standing = {one.id: one for one in found}
        for one in reversed(found):  # a correction is younger than what it corrects, and is settled before it
            by = standing[one.id]
            old = standing.get(by.corrects or 0)
            if old is not None and old.active and (by.active or by.state == "corrected"):
                standing[old.id] = replace(old, state="corrected", corrected_by=by.id)
        return [standing[one.id] for one in found]


def _refusal(text: str, impact: str) -> Malformed | Unacceptable | None:
    if impact not in IMPACTS:
        raise InvalidInput(f"the impact is {impact!r}; it needs one of {', '.join(IMPACTS)}")
    if not text:
        return Malformed("it is blank; say in one sentence what was found to be so")
    if len(text) > MAX_TEXT:
        return Malformed(f"it has {len(text)} characters; {MAX_TEXT} are the most: one thing, in one sentence")
    found = objection(text)
    return Unacceptable(*found) if found else None
