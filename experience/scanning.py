"""Secrets that the public scanner detect-secrets finds by its named detectors: a second look, for who asks for one.

Its two entropy detectors stay off: they take words and commit ids for secrets. What its own filters call a template, a
sequence or a reference is none, nor is what `experience.secrecy` knows to be harmless. It is an extra, imported only when it is used.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from experience.errors import MissingPackage
from experience.secrecy import is_named

DETECT_SECRETS = "detect-secrets"
"""The name of the scanner."""
_LONGEST_LINE = 20_000  # characters that its patterns are let loose on; some of them go back and forth


def scanned(text: str) -> list[str]:
    """The secrets that stand in a text, longest first. Raises MissingPackage."""
    detectors, is_none = _scanner()
    found = {
        value
        for line in text.splitlines()
        for at in range(0, len(line), _LONGEST_LINE)
        for detector in detectors
        for value in _values(detector, line[at : at + _LONGEST_LINE])
        if not is_none(value, line)
    }
    return sorted(found, key=lambda value: (-len(value), value))


def _values(detector: Any, line: str) -> Iterator[str]:
    for one in detector.analyze_line("", line, 0):
        value = one.secret_value
        if value and value in line:
            yield value


@lru_cache(maxsize=1)
def _scanner() -> tuple[list[Any], Callable[[str, str], bool]]:
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.filters import heuristic
        from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
        from detect_secrets.plugins.ip_public import IPPublicDetector
        from detect_secrets.plugins.private_key import PrivateKeyDetector
    except ImportError as error:
        raise MissingPackage("pip install 'hardwon[secrets]'") from error
    kinds: Iterable[type[Any]] = get_mapping_from_secret_type_to_class().values()
    # Addresses are personal values, and of a private key it finds the first words only.
    left_out = (HighEntropyStringsPlugin, IPPublicDetector, PrivateKeyDetector)
    detectors = [kind() for kind in kinds if not issubclass(kind, left_out)]

    def is_none(value: str, line: str) -> bool:
        return bool(
            not is_named(value, words=False)
            or heuristic.is_templated_secret(value)
            or heuristic.is_sequential_string(value)
            or heuristic.is_not_alphanumeric_string(value)
            or heuristic.is_indirect_reference(line)
        )

    return detectors, is_none
