"""Every error the library raises, as one tree, each also a built-in.

    ExperienceError(Exception)
    ├── InvalidInput(ValueError)        an argument that cannot be used
    │   ├── InvalidEpisode              an episode, its text or its JSON breaks the format
    │   ├── InvalidSkill                a SKILL.md, its name or its ledger breaks the format
    │   └── IncludeError                a prompt file includes what it cannot
    ├── RunConflict(ValueError)         a run_id or uid that already names another episode
    ├── SkillConflict(ValueError)       a skill changed while something else was being done with it
    ├── BadReply(ValueError)            a language model answered something that cannot be used
    ├── ModelError(RuntimeError)        a language model did not answer
    ├── NotFound(LookupError)           no such episode, label, skill or draft in this namespace
    ├── ToolDenied(PermissionError)     a tool was not allowed to run
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


class InvalidInput(ExperienceError, ValueError):
    """An argument that cannot be used: a negative k, a naive datetime, an unknown name."""


class InvalidEpisode(InvalidInput):
    """An episode, its text or its JSON breaks the format."""


class InvalidSkill(InvalidInput):
    """A SKILL.md, its name or its ledger breaks the format."""


class IncludeError(InvalidInput):
    """A prompt file cannot be put together; nothing of it is given back."""

    def __init__(self, kind: str, file: str, line: int | None, subject: str, message: str) -> None:
        super().__init__(kind, file, line, subject, message)  # all of them, so that it can be pickled
        self.kind = kind
        """Missing, Unreadable, Escapes, MalformedDirective, UnknownFlag, Cycle, TooDeep or TooWide."""
        self.file = file
        """The file whose line it is, relative to the root; of the first file of all, as it was given."""
        self.line = line
        """From 1 on; None when it is the first file itself that cannot be read."""
        self.subject = subject
        """The path, the flag or the line that it is about."""
        self.message = message

    def __str__(self) -> str:
        place = repr(self.file) if self.line is None else f"{self.file!r}, line {self.line}"
        return f"{place}: {self.message}"


class RunConflict(ExperienceError, ValueError):
    """The run_id or uid already names an episode with other content."""


class SkillConflict(ExperienceError, ValueError):
    """A skill is not what it was when something was decided about it; nothing was written."""


class BadReply(ExperienceError, ValueError):
    """A language model answered something that cannot be used; the message shows the reply."""


class ModelError(ExperienceError, RuntimeError):
    """A language model did not answer: it failed, or took too long."""


class ToolDenied(ExperienceError, PermissionError):
    """A tool was not allowed to run; raise it in a traced tool, and the call is noted as denied."""


class NotFound(ExperienceError, LookupError):
    """No such episode, label, skill or draft in this namespace."""


class StoreError(ExperienceError, OSError):
    """The store's file cannot be opened, read or written."""


class NewerSchema(StoreError):
    """The file was written by a newer release; this one must not touch it."""


class EncoderError(ExperienceError, RuntimeError):
    """Weights that are not what they should be, or vectors of the wrong shape."""


class MissingPackage(ExperienceError, ImportError):
    """Something optional is not installed; the message is the command that installs it."""
