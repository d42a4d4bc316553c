"""Table of contents and tags in the editor: the actions that offer them, and what they do."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from clover_engine.errors import CloverError
from clover_lsp.documents import Document, Documents
from clover_lsp.settings import Settings
from clover_lsp.span_filling import KIND, MARKDOWN, wanted
from clover_lsp.workspace_edits import EditRefused, apply_edits, text_edits

# what reads documents is imported where it is used: an editor waits for the server to start
if TYPE_CHECKING:
    from clover_templates.edit import Edit
    from clover_templates.vault import Vault

log = logging.getLogger(__name__)

TOC = "clover-write.toc"
TAGS = "clover-write.tags"
# for a menu of source actions, or on save; unasked they are offered on a line about them alone
TOC_KIND = "source.toc"
TAGS_KIND = "source.tags"
_TOC_LINE = re.compile(r"\s*<!--\s*(?:/?toc|tocstop|start doctoc|end doctoc)\b", re.I)
_TAGS_LINE = re.compile(r"[\"']?tags?[\"']?\s*:", re.I)
_ACTIONS = (
    ("Update the table of contents", TOC, (), TOC_KIND, _TOC_LINE),
    ("Suggest tags", TAGS, (None,), TAGS_KIND, _TAGS_LINE),
)
_QUESTION = "Add which tag to this note?"
_ALL = "All of them"


class OrganisingRefused(CloverError):
    """Nothing was changed, and why."""


class Organising:
    """The feature, over the open documents. `show` puts a message before the user."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        settings: Callable[[str], Settings],
        show: Callable[[str], None],
    ) -> None:
        self._server = server
        self._documents = documents
        self._settings = settings
        self._show = show
        self._vaults: dict[Path, Vault] = {}

    def actions(
        self,
        document: Document | None,
        selected: types.Range,
        only: Sequence[types.CodeActionKind | str] | None,
    ) -> list[types.CodeAction]:
        """In a Markdown document: those asked for by kind, and what a selected line is about."""
        if document is None or document.language not in MARKDOWN:
            return []
        first, last = selected.start.line, min(selected.end.line, len(document.content.starts) - 1)
        lines = [document.content.line_content(line) for line in range(first, last + 1)]
        offered: list[types.CodeAction] = []
        for title, command, more, kind, about in _ACTIONS:
            near = wanted(only, KIND.value) and any(map(about.match, lines))
            if near or (only and wanted(only, kind)):
                does = types.Command(title, command, arguments=[document.uri, *more])
                offered.append(types.CodeAction(title, KIND if near else kind, command=does))
        return offered

    async def update_toc(self, uri: str) -> None:
        """Insert or update the table of contents by one edit; tells the user what prevents it."""
        from clover_templates.toc import TocOptions, toc_edit

        with self._telling():
            document = self._open(uri)
            options = TocOptions(self._settings(uri).toc.style)
            edit = await asyncio.to_thread(toc_edit, _source(document), options)
            await self._apply(document, edit, "Update the table of contents")

    async def toc_on_save(self, document: Document | None) -> list[types.TextEdit]:
        """What brings the table between two markers up to date, if the user wants that on save."""
        from clover_templates.toc import TocError, TocOptions, toc_edit

        if document is None or document.language not in MARKDOWN:
            return []
        settings = self._settings(document.uri).toc
        if not settings.update_on_save:
            return []
        options = TocOptions(settings.style)
        try:
            edit = await asyncio.to_thread(toc_edit, _source(document), options, insert=False)
        except TocError as reason:
            log.info("no table of contents was updated on save: %s", reason)
            return []
        same = self._documents.get(document.uri) is document
        return text_edits(self._documents, document, [edit]) if edit and same else []

    async def add_tags(self, uri: str, names: list[str] | None) -> None:
        """Add `names` to the front matter by one edit, or what the user picks of suggestions."""
        from clover_templates.tags import tag_edit

        with self._telling():
            document = self._open(uri)
            source = _source(document)
            names = names or await self._picked(document, source)
            await self._apply(document, tag_edit(source, names), "Add tags")

    async def _picked(self, document: Document, source: bytes) -> list[str]:
        """Those of the suggested tags that the user wants; raises OrganisingRefused for none."""
        from clover_templates.tag_suggestions import suggest_tags
        from clover_templates.vault import Vault, vault_folder

        path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
        if not path:
            raise OrganisingRefused("no tags to suggest: save the note where its vault is")
        folder = vault_folder(Path(path))
        vault = self._vaults.setdefault(folder, Vault(folder))
        vocabulary = await asyncio.to_thread(vault.tags)
        found = await asyncio.to_thread(suggest_tags, source, vocabulary)
        if not found:
            raise OrganisingRefused(
                f"no tags to suggest: of the {len(vocabulary)} tags in use in {folder.name} the"
                " note has no words but those of tags it has"
            )
        choices = [*(f"#{name}" for name in found), *([_ALL] if len(found) > 1 else [])]
        params = types.ShowMessageRequestParams(
            types.MessageType.Info, _QUESTION, [types.MessageActionItem(each) for each in choices]
        )
        answer = await self._server.window_show_message_request_async(params)
        if not answer:
            return []
        return found if answer.title == _ALL else [answer.title.removeprefix("#")]

    def _open(self, uri: str) -> Document:
        document = self._documents.get(uri)
        if document is None:
            raise OrganisingRefused("nothing was changed: the document is not open")
        return document

    async def _apply(self, document: Document, edit: Edit | None, label: str) -> None:
        if edit is None:
            return
        edits = text_edits(self._documents, document, [edit])
        await apply_edits(self._server, self._documents, document, edits, label)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except EditRefused as reason:
            self._show(f"nothing was changed: {reason}")
        except CloverError as error:
            self._show(str(error))


def _source(document: Document) -> bytes:
    return document.text.encode("utf-8", "surrogatepass")
