"""The history of the schema. Read its migrations in order and you have the schema and how it came about."""

from sqlite_utils import Database, Migrations

from experience.migrations.learning import m003_skills, m004_learnings
from experience.migrations.remembering import (
    m001_episodes_and_labels,
    m002_what_is_derived,
    m006_what_filters_look_up,
    m007_spaces,
    m008_codes,
)
from experience.migrations.telling import m005_what_runs_are_told
from experience.migrations.words import m009_words

_HISTORY = (
    m001_episodes_and_labels,
    m002_what_is_derived,
    m003_skills,
    m004_learnings,
    m005_what_runs_are_told,
    m006_what_filters_look_up,
    m007_spaces,
    m008_codes,
    m009_words,
)

_migrations = Migrations("hardwon")
for _step in _HISTORY:
    _migrations()(_step)


def newer(db: Database) -> list[str]:
    """Migrations that the file has had and this release does not know."""
    return sorted(_applied(db) - {step.__name__ for step in _HISTORY})


def pending(db: Database) -> bool:
    """Whether the file lacks a migration of this release."""
    return bool({step.__name__ for step in _HISTORY} - _applied(db))


def migrate(db: Database) -> None:
    """Bring the file to this release's schema; call it inside a BEGIN IMMEDIATE transaction.

    By itself it would begin a deferred one, which fails with "database is locked" when processes open a fresh file
    together; inside another it only sets savepoints.
    """
    _migrations.apply(db)


def _applied(db: Database) -> set[str]:
    return {migration.name for migration in _migrations.applied(db)}
