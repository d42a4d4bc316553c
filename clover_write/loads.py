"""What the last load of each model cost on this machine: `models info` shows it."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Load:
    """Seconds from disk to ready, imports included, and the most memory the process needed, in
    bytes; None where the system does not tell."""

    seconds: float
    peak_bytes: int | None
    gpu_bytes: int
    precision: str
    device: str

    def __str__(self) -> str:
        peak = "unknown" if self.peak_bytes is None else f"{self.peak_bytes / 1e9:.2f} GB"
        gpu = f", {self.gpu_bytes / 1e9:.2f} GB of it on the GPU" if self.gpu_bytes else ""
        return (
            f"ready in {self.seconds:.1f} s, peak memory {peak}{gpu} "
            f"({self.precision} on {self.device})"
        )


def note(cache_dir: Path, model: str, load: Load) -> None:
    """Remember a load; a cache that cannot be written to is no reason not to serve."""
    path = _path(cache_dir, model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(load)), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        log.info("%s cannot be written: %s", path, error)


def last(cache_dir: Path, model: str) -> Load | None:
    """The last load of a model; None if there was none."""
    try:
        facts = json.loads(_path(cache_dir, model).read_text(encoding="utf-8"))
        return Load(**{item.name: facts[item.name] for item in fields(Load)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(cache_dir: Path, model: str) -> Path:
    name = re.sub(r"[^\w.-]", "-", model)
    return cache_dir / "loads" / f"{name}.json"
