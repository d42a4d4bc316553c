"""What trials of restructuring come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from clover_write.bench.restructuring import Trial


def figures(trials: Sequence[Trial]) -> dict[str, Any]:
    """Counts over all trials, shares of those that were applied, and refusals by kind."""
    applied = [trial for trial in trials if trial.applied]
    return {
        "documents": len({trial.path for trial in trials}),
        "trials": len(trials),
        "applied": len(applied) / len(trials),
        "files applied in every template": _share_of_files(trials),
        "sentences lost": sum(trial.sentences_lost for trial in applied),
        "locks changed": sum(trial.locks_changed for trial in applied),
        "second run edits": sum(not trial.rests for trial in applied),
        "parsed otherwise": sum(not trial.parsed_alike for trial in applied),
        "portions left a trial": fmean(trial.left for trial in applied) if applied else 0.0,
        "median ms a KB": median(trial.ms / (trial.size / 1024) for trial in trials),
        "slowest ms": max(trial.ms for trial in trials),
        "refusals": dict(Counter(kind for trial in trials for kind in trial.refused).most_common()),
        "refused": [_name(trial) for trial in trials if not trial.applied],
        "broken": [_name(trial) for trial in applied if _is_broken(trial)],
    }


def _name(trial: Trial) -> str:
    return f"{trial.path} ({trial.template})"


def _share_of_files(trials: Sequence[Trial]) -> float:
    """The share of files that every template could be applied to."""
    refused = {trial.path for trial in trials if not trial.applied}
    return 1 - len(refused) / len({trial.path for trial in trials})


def _is_broken(trial: Trial) -> bool:
    kept = trial.rests and trial.parsed_alike
    return bool(trial.sentences_lost or trial.locks_changed) or not kept
