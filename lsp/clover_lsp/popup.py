"""`textDocument/completion` for editors without inline completion: the same text in a popup."""

from __future__ import annotations

import re

from lsprotocol import types

from clover_lsp.documents import Document, Documents
from clover_lsp.infill import Trigger
from clover_lsp.inline_completion import Asker, InlineCompletion
from clover_lsp.postprocess import with_newlines

# editors filter by the word left of the cursor, and replace it
_WORD = re.compile(r"\w*\Z")
_LABEL_CHARS = 60


class PopupCompletion:
    """The feature, over the answers of inline completion."""

    def __init__(self, documents: Documents, inline: InlineCompletion) -> None:
        self._documents = documents
        self._inline = inline

    async def answer(
        self, document: Document | None, position: types.Position
    ) -> types.CompletionList:
        """At most one item. Typing and asking look the same here, so it is what typing gets."""
        found = await self._inline.answer(document, position, Trigger.AUTOMATIC, asker=Asker.POPUP)
        items = [self._item(document, each) for each in found.items] if document else []
        # what comes next depends on what is typed
        return types.CompletionList(is_incomplete=True, items=items)

    def _item(self, document: Document, inline: types.InlineCompletionItem) -> types.CompletionItem:
        assert inline.range
        text = str(inline.insert_text)
        at = self._documents.offset(document, inline.range.start) or 0
        line = document.content.line_content(inline.range.start.line)
        column = at - document.content.starts[inline.range.start.line]
        found = _WORD.search(line[:column])
        word = found.group() if found else ""
        start = self._documents.position(document, at - len(word))
        first, _, more = with_newlines(word + text).strip().partition("\n")
        label = first if len(first) <= _LABEL_CHARS and not more else f"{first[:_LABEL_CHARS]}…"
        return types.CompletionItem(
            label=label,
            kind=types.CompletionItemKind.Text,
            detail="Clover Write",
            # before what other servers offer; parsers of JSON, as Emacs's, may refuse a zero
            sort_text=" ",
            filter_text=word + text if word else first,
            insert_text_format=types.InsertTextFormat.PlainText,
            # its lines are indented already
            insert_text_mode=types.InsertTextMode.AsIs,
            text_edit=types.TextEdit(types.Range(start, inline.range.end), word + text),
            command=inline.command,
        )
