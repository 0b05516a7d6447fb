"""The kinds of text that are cut in different ways. Names, and nothing else."""

from enum import StrEnum


class Content(StrEnum):
    """What kind of text something is, as far as it matters for cutting."""

    UNKNOWN = "unknown"
    """Nothing that is known: data in letters, a few words; never cut."""
    DIFF = "diff"
    STRUCTURED = "structured"
    """JSON, a JSON value a line, XML: half of it is worse than none; never cut."""
    MARKUP = "markup"
    """Markdown or LaTeX with headings."""
    TABLE = "table"
    LOG = "log"
    """What a program said as time went by; the end matters most."""
    CODE = "code"
    PROSE = "prose"
    LINES = "lines"
    """A listing: many short lines that are no sentences. The founding system had no such kind."""
