"""How a pull is shown while it goes on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from clover_write.store import Progress

PLAIN_EVERY_S = 5.0


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Bars with rate and time left on a terminal, a line now and then elsewhere; on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.progress import TransferSpeedColumn as SpeedColumn

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield Lines()
        return
    label = TextColumn("{task.description:<12}")
    columns = (label, BarColumn(), DownloadColumn(), SpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console) as bars:
        yield Terminal(bars)


class Terminal:
    """Shows a pull as one bar per stage."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._stages: dict[str, TaskID] = {}

    def note(self, line: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(line, markup=False)

    def step(self, stage: str, done: int, total: int) -> None:
        """Move the stage's bar, which appears with its first step."""
        if stage not in self._stages:
            self._stages[stage] = self._bars.add_task(stage, total=total, completed=done)
        self._bars.update(self._stages[stage], completed=done)


class Lines:
    """Tells of a pull in plain lines: each stage's end, and every few seconds how far it is."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = (0.0, 0)
        self._told = 0.0

    def note(self, line: str) -> None:
        """Write the line."""
        print(line, file=sys.stderr, flush=True)

    def step(self, stage: str, done: int, total: int) -> None:
        """Write a line if the stage is through, or if the last one is some seconds old."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._told = stage, (now, done), now
        elif done >= total or now - self._told >= PLAIN_EVERY_S:
            self._told = now
            rate = (done - self._began[1]) / max(now - self._began[0], 1e-3)
            left = (total - done) / rate if rate > 0 else 0.0
            self.note(
                f"{stage} {done / total:4.0%} of {total / 1e6:.0f} MB, "
                f"{rate / 1e6:.0f} MB/s, {left:.0f} s left"
            )


class JsonLines:
    """Tells a program of a pull: an object a line on stdout for each percent; notes on stderr."""

    def __init__(self) -> None:
        self._told = ("", -1)

    def note(self, line: str) -> None:
        """Write the line."""
        print(line, file=sys.stderr, flush=True)

    def step(self, stage: str, done: int, total: int) -> None:
        """Write how far the stage is, unless that was told."""
        percent = 100 * done // max(total, 1)
        if (stage, percent) != self._told:
            self._told = stage, percent
            print(json.dumps({"stage": stage, "done": done, "total": total}), flush=True)
