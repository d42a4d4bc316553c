"""What the tests of documents share."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from tests.support.documents import found_documents


@pytest.fixture(scope="session")
def documents(request: pytest.FixtureRequest) -> list[Path]:
    """The Markdown and text files of `--documents`, or else of installed packages and programs."""
    given = request.config.getoption("--documents")
    installed = (sysconfig.get_path("purelib"), "/usr/share/doc", "/usr/lib/node_modules")
    found = found_documents(Path(folder) for folder in given or installed)
    if not found:
        pytest.skip("no Markdown or text file: name folders that hold some with --documents")
    return found
