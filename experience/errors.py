"""Every error the library raises, as one tree, each also a built-in.

    ExperienceError(Exception)
    ├── InvalidEpisode(ValueError)      an episode, its text or its JSON breaks the format
    ├── InvalidInput(ValueError)        any other argument that cannot be used
    ├── RunConflict(ValueError)         a run_id that already names another episode
    ├── NotFound(LookupError)           no such episode or label in this namespace
    ├── StoreError(OSError)             the file cannot be opened, read or written
    │   └── NewerSchema                 it was written by a newer release
    ├── EncoderError(RuntimeError)      weights that are not what they should be, or vectors of the wrong shape
    └── MissingPackage(ImportError)     something optional is not installed

A message says what was got, what was needed and what to do. Code that wants one kind of trouble catches the leaf; code
that wants all of ours catches the root; code that never heard of us catches the built-in.
"""

_LONGEST_SHOWN = 60


def shown(text: str) -> str:
    """A text as an error quotes it: its first line, not too much of it, its oddities escaped."""
    first = text.split("\n", 1)[0]
    return repr(first if len(first) <= _LONGEST_SHOWN else first[: _LONGEST_SHOWN - 1] + "…")


class ExperienceError(Exception):
    """The root of everything this library raises on purpose."""


class InvalidEpisode(ExperienceError, ValueError):
    """An episode, its text or its JSON breaks the format."""


class InvalidInput(ExperienceError, ValueError):
    """An argument that cannot be used: a negative k, a naive datetime, an unknown name."""


class RunConflict(ExperienceError, ValueError):
    """The run_id already names an episode with other content."""


class NotFound(ExperienceError, LookupError):
    """No such episode or label in this namespace."""


class StoreError(ExperienceError, OSError):
    """The store's file cannot be opened, read or written."""


class NewerSchema(StoreError):
    """The file was written by a newer release; this one must not touch it."""


class EncoderError(ExperienceError, RuntimeError):
    """Weights that are not what they should be, or vectors of the wrong shape."""


class MissingPackage(ExperienceError, ImportError):
    """Something optional is not installed; the message is the command that installs it."""
