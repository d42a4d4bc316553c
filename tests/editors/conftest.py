"""What tests of several editors share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where screenshots are kept, for people to look at."""
    return Path(__file__).parents[2] / ".artefacts"
