"""Template files in the editor: what a slot, a flag or a setting means, and which there are."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from clover_lsp.documents import Document, Documents
from clover_lsp.template_shelves import TemplateShelves


class TemplateFiles:
    """Hover and completion, in the open documents that are templates."""

    def __init__(self, documents: Documents, shelves: TemplateShelves) -> None:
        self._documents = documents
        self._shelves = shelves

    def patterns(self) -> list[str]:
        """Globs of template files, as an editor takes them."""
        return self._shelves.patterns()

    async def hover(
        self, document: Document | None, position: types.Position
    ) -> types.Hover | None:
        """What there is to say about the slot, comment or setting at `position`."""
        offset = await self._offset(document, position)
        if document is None or offset is None:
            return None
        from clover_templates.template_language import hover

        found = await asyncio.to_thread(hover, document.text, offset)
        if found is None:
            return None
        markdown = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
        return types.Hover(markdown, self._range(document, found.start, found.end))

    async def completions(
        self, document: Document | None, position: types.Position
    ) -> types.CompletionList | None:
        """What can stand at `position`; None in a document that is no template."""
        offset = await self._offset(document, position)
        if document is None or offset is None:
            return None
        from clover_templates.template_language import complete

        found = await asyncio.to_thread(complete, document.text, offset)
        items = [
            types.CompletionItem(
                label=each.label,
                kind=types.CompletionItemKind.Property,
                detail=each.detail or None,
                text_edit=types.TextEdit(self._range(document, each.start, each.end), each.insert),
            )
            for each in found
        ]
        return types.CompletionList(is_incomplete=False, items=items)

    async def _offset(self, document: Document | None, position: types.Position) -> int | None:
        if document is None or not await asyncio.to_thread(self._shelves.holds, document.uri):
            return None
        return self._documents.offset(document, position)

    def _range(self, document: Document, start: int, end: int) -> types.Range:
        return types.Range(
            self._documents.position(document, start), self._documents.position(document, end)
        )
