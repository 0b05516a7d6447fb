"""`Memory`: the door that most users take. Record into a store, label, recall through a backend, forget.

It joins the two, and adds what neither can know: that a run's own brief is not recorded again, and that copies of one
episode must not fill an answer. What is rarer (deleting what has expired or a whole namespace, compacting, rebuilding) is
done on its `store`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from experience.choosing import Answer, Choosing, Wishes, distinct, in_order
from experience.echoes import without_recalled
from experience.episode import Episode
from experience.errors import InvalidInput
from experience.hygiene import MASKING, Masking
from experience.protocols import Backend, Encoder, Filter, Hit, Label, Match, Progress, Record, VectorBackend, check_k
from experience.store import SqliteStore, unmasked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_JUDGED = 10  # hits that are looked at, however few are asked for: whether anything fits must not hang on that
_DEEPER = 10  # hits beyond those asked for, that what is weighed in beside likeness may bring up


class Memory:
    """A store and the backend that ranks it. Usable from any thread; close it, or use it as a context manager."""

    def __init__(self, store: SqliteStore, backend: Backend, masking: Masking = MASKING) -> None:
        from experience.backends.floor import floor_under

        self.store = store
        self.backend = backend
        self.masking = masking
        self._floor = floor_under(store, backend)

    @classmethod
    def open(
        cls,
        path: Path | str,
        backend: str = "hybrid",
        encoder: Encoder | str | None = None,
        namespace: str = "default",
        *,
        create: bool = True,
        masking: Masking = MASKING,
    ) -> Self:
        """The memory in the file at `path`, made when it is not there and `create`.

        `backend` is keyword, embedding or hybrid; `encoder` an encoder, the name of a sentence-transformers model, or
        None for the one the store's vectors were made with (at first the packaged MiniLM). A memory sees one `namespace`
        only. `masking` says what is masked of what is recorded: secrets, by default (see `experience.hygiene`). Raises
        StoreError, InvalidInput, EncoderError, MissingPackage.
        """
        from experience.backends import open_backend

        store = SqliteStore(path, namespace, create=create)
        try:
            return cls(store, open_backend(backend, store, encoder), masking)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(
        self,
        episode: Episode,
        run_id: str | None = None,
        supersede: bool = False,
        *,
        kind: str = "host",
        by: str = "",
        evidence: str = "",
        expires_at: datetime | None = None,
        masking: Masking | None = None,
    ) -> int:
        """Record a run; its id.

        A `run_id` (given here or in the episode) makes it idempotent: the same content again is the same id, other content
        raises RunConflict, unless `supersede`, which lets a run that grew take its older self's place. When the episode
        says success or failure, that is a label of class `kind` by `by`, with `evidence`. From `expires_at` on the episode
        is hidden. Recalled blocks (see `experience.recalled`) are taken out first, then secrets are masked in every field, as
        this memory's `masking` or the one given here says; both are counted in `meta`.
        """
        if run_id is not None:
            episode = replace(episode, run_id=run_id)
        masking = self.masking if masking is None else masking
        told = without_recalled(episode)
        clean = masking.episode(told).episode
        how: dict[str, Any] = {"kind": kind, "by": by, "supersede": supersede, "expires_at": expires_at}
        return self.store.record(clean, evidence=masking.text(evidence), unmasked=unmasked(told, clean), **how).id

    def label(self, id: int, success: bool, *, kind: str = "host", by: str = "", evidence: str = "") -> Label:
        """Say whether a run worked, now or later. The latest label of the best class counts (see LABEL_CLASSES).

        Raises NotFound, InvalidInput.
        """
        return self.store.add_label(id, success, kind, by, self.masking.text(evidence))

    def withdraw(self, id: int, label_id: int | None = None, *, by: str = "", evidence: str = "") -> Label:
        """Take a label back: the one named, or the one that counts. It stays on record. Raises NotFound."""
        return self.store.withdraw(id, label_id, by, self.masking.text(evidence))

    def recall(self, situation: str, k: int = 3, where: Filter = Filter(), **wishes: Unpack[Wishes]) -> list[Match]:
        """At most k past runs that are similar to a situation, best first; none when nothing is.

        As `ask`, which also says what was left out.
        """
        return list(self.ask(situation, k, where, **wishes).matches)

    def ask(self, situation: str, k: int = 3, where: Filter = Filter(), **wishes: Unpack[Wishes]) -> Answer:
        """At most k past runs that are similar to a situation, best first, and what was left out.

        Only runs that pass `where` are ranked. Copies of one episode come once, as the newest of them. What does not reach
        the store's floor is left out and counted; `min_score` puts a score of your own in its place, and `floor=False`
        nothing. `diverse` gives near copies once, `prefer_success` puts what worked first among about equals, and
        `half_life` (days) what is fresh: they change the order by at most 0.1 and 0.05 of a score, never the score itself.
        Text without a word in it, and k = 0, give nothing; what goes wrong is raised. Raises InvalidInput for a negative k
        and for wishes that cannot be.
        """
        check_k(k)
        choosing = Choosing(**wishes)
        found, near = self._found(situation, k, where, choosing)
        failures: list[Match] = []
        if where.success and k and not found:
            failures, _ = self._found(situation, k, replace(where, success=False), choosing)
        return Answer(tuple(found), len(near), max((match.score for match in near), default=None), len(failures))

    def _found(self, situation: str, k: int, where: Filter, choosing: Choosing) -> tuple[list[Match], list[Match]]:
        """What is alike enough, and what of the k best is not."""
        weighed = choosing.prefer_success or choosing.half_life is not None
        depth = max(2 * k, k + _DEEPER) if weighed else k
        while True:
            judged = self.backend.recall(situation, max(depth, _JUDGED) if depth else 0, where)
            hits, fitting = judged[:depth], self._fits(situation, judged, choosing)
            records = self.store.get_many([hit.id for hit in hits])
            found = [
                (Match(hit.score, hit.why, records[hit.id]), fits)
                for hit, fits in zip(hits, fitting, strict=False)
                if hit.id in records
            ]
            alike = in_order([match for match, fits in found if fits], choosing, self.store.now())
            chosen = distinct(alike, diverse=choosing.diverse, most=k)
            # What lies deeper is less alike than what is not alike enough.
            if len(chosen) >= k or len(hits) < depth or len(alike) < len(found):
                missed = distinct((match for match, fits in found if not fits), diverse=choosing.diverse, most=k)
                return chosen, missed[: k - len(chosen)]
            depth *= 4

    def _fits(self, situation: str, hits: Sequence[Hit], choosing: Choosing) -> list[bool]:
        if choosing.min_score is not None:
            return [hit.score >= choosing.min_score for hit in hits]
        return self._floor.reached(situation, hits) if choosing.floor and hits else [True] * len(hits)

    def get(self, id: int) -> Record:
        """The record with this id. Raises NotFound."""
        return self.store.get(id)

    def records(self, where: Filter = Filter(), limit: int | None = None) -> list[Record]:
        """What passes the filter, newest first."""
        return self.store.records(where, limit)

    def labels(self, id: int) -> tuple[Label, ...]:
        """Everything that was said of a run's success, oldest first. Raises NotFound."""
        return self.store.labels(id)

    def count(self, where: Filter = Filter()) -> int:
        """How many episodes pass the filter."""
        return self.store.count(where)

    def get_run(self, run_id: str) -> Record:
        """The newest record of this run. Raises NotFound."""
        return self.store.get_run(run_id)

    def delete(self, *ids: int) -> tuple[int, ...]:
        """Forget runs, their older versions, index entries, vectors and labels; the ids that went. All or none.

        Raises NotFound.
        """
        return self.store.delete(*ids)

    def refresh(self, progress: Progress | None = None) -> int:
        """Let the backend take in what was recorded since the last time; how many episodes that were.

        The floor under what is similar is found out anew, and kept, when the store has twice as many as the last time.
        """
        taken = self.backend.refresh(progress)
        self._floor.calibrate()
        return taken

    def vectors(self) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Ids of the runs that can be found, ascending, and the unit vectors of their situations, a row each.

        Raises InvalidInput when the backend has none.
        """
        if not isinstance(self.backend, VectorBackend):
            raise InvalidInput("this needs vectors of situations; open the memory with the backend hybrid or embedding")
        return self.backend.vectors()
