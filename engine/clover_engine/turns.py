"""Whose job begins next, so that users who share an engine are served evenly."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clover_engine.job import Job


class Turns:
    """Counts the forwards that each user's jobs took part in (start-time fair queueing).

    Only users with jobs are remembered: who comes, or comes back, is level with the least served
    of those at work, so that nobody saves turns up by waiting.
    """

    def __init__(self) -> None:
        self._served: dict[str, int] = {}

    def first(self, waiting: Sequence[Job], running: Sequence[Job]) -> Job | None:
        """The job to begin: interactive ones before background ones, then those whose user has the
        fewest running, then was served least, then the one that came first."""
        busy = [job.user for job in running]

        def urgency(job: Job) -> tuple[bool, int, int]:
            return not job.is_interactive, busy.count(job.user), self._served.get(job.user, 0)

        return min(waiting, key=urgency, default=None)

    def arrived(self, user: str, present: Collection[str]) -> None:
        """`user` has a new job; `present` are those who had some already."""
        if user in present:
            return
        known = {name: count for name, count in self._served.items() if name in present}
        self._served = known | {user: min(known.values(), default=0)}

    def served(self, users: Sequence[str]) -> None:
        """A forward was run for jobs of these users, one entry a job."""
        for user in users:
            self._served[user] = self._served.get(user, 0) + 1
