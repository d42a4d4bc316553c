"""What the tests of documents share."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from clover_templates.document import Document
from clover_templates.source import DocumentError
from tests.support.documents import found_documents


@pytest.fixture(scope="session")
def documents(request: pytest.FixtureRequest) -> dict[Path, Document]:
    """The readable Markdown and text files of `--documents`, or else of what is installed."""
    given = request.config.getoption("--documents")
    installed = (sysconfig.get_path("purelib"), "/usr/share/doc")
    found: dict[Path, Document] = {}
    for path in found_documents(Path(folder) for folder in given or installed):
        try:
            found[path] = Document.of(path.read_bytes())
        except DocumentError:
            # what other programs left there need not be UTF-8
            continue
    if not found:
        pytest.skip("no Markdown or text file: name folders that hold some with --documents")
    return found
