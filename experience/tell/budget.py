"""How much a text costs, and how a budget is parted among several that want some of it.

A tokeniser belongs to one model, so a caller who has one passes its counter in; the estimate here needs none and errs
on the side of too many. It knows nothing of what the texts are.
"""

import re
from collections.abc import Callable, Sequence

from experience.errors import InvalidInput
from experience.tell.shorten import size_of
from experience.tokens import UNSPACED_RUN

Count = Callable[[str], int]
"""What a text costs, in tokens or in bytes."""

_ASCII_A_TOKEN = 4  # of English and code, as providers say
_BEYOND = re.compile("[\U00010000-\U0001ffff]")  # emoji and rare scripts take several tokens a character


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: four characters of ASCII each, one without spaces, two of others, half an emoji."""
    ascii_only = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_only
    if not others:
        return -(-ascii_only // _ASCII_A_TOKEN)
    unspaced = sum(map(len, UNSPACED_RUN.findall(text)))
    beyond = len(_BEYOND.findall(text))
    quarters = ascii_only + 4 * unspaced + 8 * beyond + 2 * (others - unspaced - beyond)
    return -(-quarters // 4)


count_bytes = size_of
"""How many bytes a text is in UTF-8; half a surrogate pair is three, as wherever texts are cut."""


def checked(budget: int) -> int:
    """The budget; raises InvalidInput for anything but a whole number, 0 or more."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"the budget is {budget!r}; it needs to be a whole number, 0 or more")
    return budget


def fair_shares(needs: Sequence[int], total: int) -> list[int]:
    """What each gets of a total: all that it needs or, when there is not enough, as much as the others that go short.

    What the small ones leave is handed on (max-min fairness); what cannot be parted evenly goes to the first. The sum
    is `total`, or what all need together where that is less.
    """
    shares = [0] * len(needs)
    ordered = sorted(range(len(needs)), key=lambda at: (needs[at], at))
    left, waiting = max(total, 0), len(ordered)
    for at in ordered:
        if needs[at] > left // waiting:
            break
        shares[at] = needs[at]
        left -= needs[at]
        waiting -= 1
    for number, at in enumerate(sorted(ordered[len(ordered) - waiting :])):
        shares[at] = left // waiting + (number < left % waiting)
    return shares
