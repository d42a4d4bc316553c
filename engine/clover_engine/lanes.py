"""Names for documents of clients that name none, so that what was read is found again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Lanes:
    """Each open request of a user has a lane of its own, the lowest that is free: requests that
    follow one another share caches, those at the same time do not supersede each other."""

    def __init__(self) -> None:
        self._taken: defaultdict[str, set[int]] = defaultdict(set)

    @contextmanager
    def taken(self, user: str) -> Iterator[str]:
        """A document's name for the time of one request."""
        taken = self._taken[user]
        lane = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(lane)
        try:
            yield f"lane {lane}"
        finally:
            taken.discard(lane)
