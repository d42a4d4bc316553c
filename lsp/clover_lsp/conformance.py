"""What is wrong with open documents that follow a template, and with open templates."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError
from clover_lsp.documents import Document, Documents
from clover_lsp.languages import language
from clover_lsp.template_shelves import TemplateShelves

# what reads documents is imported where it is used: an editor waits for the server to start
if TYPE_CHECKING:
    from clover_templates.library import Entry
    from clover_templates.template_findings import Finding

# a document is looked at once it has rested for so long
REST_S = 0.3
MAX_CHARS = 512 * 1024
_NAMED = re.compile(r"^template[ \t]*:[^\r\n]*", re.MULTILINE)
_HEAD_CHARS = 8192


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a snapshot; offsets are code points.

    `entry` is the template it follows; None for a template itself, and where `problem` says why
    the one that is named cannot be used.
    """

    document: Document
    findings: tuple[Finding, ...] = ()
    entry: Entry | None = None
    problem: str = ""


class Conformance:
    """Checks documents in a thread; what was found last in each open document is kept."""

    def __init__(self, documents: Documents, shelves: TemplateShelves) -> None:
        self._documents = documents
        self._shelves = shelves
        self._checks: dict[str, tuple[Document, asyncio.Task[Checked]]] = {}

    async def checked(self, document: Document) -> Checked:
        """What is wrong with this snapshot, found once."""
        known = self._checks.get(document.uri)
        if known is None or known[0] is not document:
            task = asyncio.create_task(asyncio.to_thread(self._check, document))
            self._checks[document.uri] = known = document, task
        return await asyncio.shield(known[1])

    async def rested(self, uri: str) -> Checked | None:
        """What is wrong with the document once nobody types in it; None if it is closed then."""
        document = self._documents.get(uri)
        while document is not None:
            await asyncio.sleep(REST_S)
            latest = self._documents.get(uri)
            if latest is document:
                return await self.checked(document)
            document = latest
        return None

    def forget(self, uri: str | None = None) -> None:
        """Look at a document anew when it is asked for, or at all of them: a template changed."""
        for each in [uri] if uri else list(self._checks):
            self._checks.pop(each, None)

    def _check(self, document: Document) -> Checked:
        if not language(document.language).prose or len(document.text) > MAX_CHARS:
            return Checked(document)
        if self._shelves.holds(document.uri):
            from clover_templates.template_language import diagnose

            return Checked(document, diagnose(document.text))
        # most documents follow none, and need not be read
        by_settings = self._shelves.named_by_settings(document.uri)
        if not by_settings and not _NAMED.search(document.text, 0, _HEAD_CHARS):
            return Checked(document)
        name = self._shelves.named(document)
        return self._held_against(document, name) if name else Checked(document)

    def _held_against(self, document: Document, name: str) -> Checked:
        from clover_templates.conformance import in_characters
        from clover_templates.conforming import findings
        from clover_templates.document import Document as Parsed

        try:
            entry = self._shelves.library().find(name)
            source = Parsed.of(document.text.encode("utf-8", "surrogatepass"))
        except CloverError as error:
            # static site generators have `template: page.html` in front matter
            ours = "." not in name and "/" not in name
            return Checked(document, problem=str(error) if ours else "")
        found = in_characters(findings(source, entry.template), source.data)
        return Checked(document, found, entry)
