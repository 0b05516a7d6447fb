"""Records as CSV (RFC 4180, UTF-8), a row each, for spreadsheets and data frames.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula and carries it out, and what agents recorded
is not trusted; some first drop white space and what is not seen. So such a cell gets an apostrophe in front, and so does one that begins with an apostrophe: who reads the
file takes one leading apostrophe off and has every value back. `raw` leaves them out.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from io import StringIO

from experience.episode import moment_text
from experience.protocols import Label, Record
from experience.screen import UNSEEN
from experience.store import SqliteStore
from experience.transfer import exported

COLUMNS = (
    "id", "uid", "run_id", "situation", "tools", "skills", "tags", "outcome", "success", "label_class", "label_by", "label_evidence",
    "started_at", "recorded_at", "expires_at", "superseded", "supersedes", "steps", "tokens", "seconds", "money", "meta", "labels",
)  # fmt: skip
# What a spreadsheet acts upon, the wide forms too, also behind white space and what nobody sees; and our own mark.
_ACTS = re.compile(rf"[\s{UNSEEN}]*[=+\-@＝＋－＠]|[\t\r\n']")


def csv_lines(store: SqliteStore, *, raw: bool = False) -> Iterator[str]:
    """A header and one row a record of the store's namespace, superseded ones too, oldest first, each with its line end.

    Lists, `meta` and `labels` are JSON, verdicts `true` and `false`; what is not known is empty. Expired records are left out.
    """
    yield _line(COLUMNS)
    for record, labels, supersedes in exported(store):
        values = cells(record, labels, supersedes)
        yield _line(values if raw else map(harmless, values))


def cells(record: Record, labels: Iterable[Label], supersedes: str | None) -> list[str]:
    """The values of one record, in the order of COLUMNS."""
    episode, label = record.episode, record.label
    values = (
        record.id, record.uid, episode.run_id, episode.situation, list(episode.tools), list(episode.skills), list(episode.tags),
        episode.outcome, episode.success, *((label.kind, label.by, label.evidence) if label else (None, None, None)),
        episode.started_at and moment_text(episode.started_at), moment_text(record.recorded_at),
        record.expires_at and moment_text(record.expires_at), record.superseded, supersedes,
        episode.cost.steps, episode.cost.tokens, episode.cost.seconds, episode.cost.money, dict(episode.meta),
        [one.to_json() for one in labels],
    )  # fmt: skip
    return [_text(value) for value in values]


def harmless(cell: str) -> str:
    """The same with an apostrophe in front where a spreadsheet would act upon it, or where one stands there already."""
    return f"'{cell}" if _ACTS.match(cell) else cell


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(values: Iterable[str]) -> str:
    written = StringIO(newline="")
    csv.writer(written, lineterminator="\r\n").writerow(values)
    return written.getvalue()
