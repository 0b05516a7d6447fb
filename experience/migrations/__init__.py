"""The migrations, one wing's a module: what is remembered, its words, what is learned from it, what runs are told.

A released migration is never edited; another is added, and a file of the older schema is kept among the tests. Their order
stands in `experience.schema`.
"""

from sqlite_utils import Database


def run(db: Database, *statements: str) -> None:
    """Execute statements in order; what they begin in is the caller's business."""
    for statement in statements:
        db.execute(statement)
