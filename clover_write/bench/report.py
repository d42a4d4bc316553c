"""What a benchmark reports: the run, the machine, the figures."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clover_write import __version__
from clover_write.bench.figures import figures
from clover_write.bench.journal import Outcome
from clover_write.bench.rows import Row

CPUINFO = Path("/proc/cpuinfo")


def report(
    settings: Mapping[str, object],
    rows: Sequence[Row],
    about: Mapping[str, str],
    outcomes: Iterable[Outcome],
) -> dict[str, Any]:
    """Everything a table shows and `--json` writes, under the same names."""
    ours = [row.name for row in rows if row.ours]
    peers = [row.name for row in rows if not row.ours]
    return {
        "run": {"clover-write": __version__, "date": time.strftime("%Y-%m-%d"), **settings},
        "machine": machine(),
        "rows": dict(about),
        **figures(outcomes, ours, peers),
    }


def machine() -> dict[str, object]:
    """What the times depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    if CPUINFO.is_file():
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
