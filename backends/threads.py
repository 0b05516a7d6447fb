"""One thread for linear algebra, while it is ours.

A query's matrices are small: sharing them out costs more than it saves, and on a busy machine a product on two threads
takes five times as long as on one. The limit is a setting of the whole process, so it is set when the first of our
computations begins and put back when the last one ends.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneThread:
    """Counts the blocks that are open, so that the setting survives blocks that overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Linear algebra on one thread inside the block."""
        with self._lock:
            if self._open == 0:
                # Looking at every loaded library takes a millisecond, so it is done once.
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if self._open == 0:
                    self._limit.restore_original_limits()


one_thread = _OneThread()
