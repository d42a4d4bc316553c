"""Where a completion is asked for: the text the engine is to see, and what an item replaces."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types

from clover_lsp.documents import Document, Documents
from clover_lsp.graphemes import is_boundary
from clover_lsp.notebooks import Notebooks


@dataclass(frozen=True, slots=True)
class Cursor:
    """A cursor in `document`: an item replaces what stands between `before` and `after` there.

    `text` is what the engine is to see, the other cells of a notebook and the `selected` entry of
    the editor's popup in it, and `at` the place (in code points) behind that entry.
    """

    document: Document
    before: str
    after: str
    text: str
    at: int
    selected: str = ""


class Cursors:
    """Finds cursors in the open documents."""

    def __init__(self, documents: Documents, notebooks: Notebooks) -> None:
        self._documents = documents
        self._notebooks = notebooks

    def find(
        self,
        document: Document,
        position: types.Position,
        selected: types.SelectedCompletionInfo | None = None,
    ) -> Cursor | None:
        """The cursor at `position`, with that entry of the popup; None where nothing may be put:
        beyond the text, inside a character, or where the entry replaces more than the line."""
        offset = self._documents.offset(document, position)
        if offset is None or not is_boundary(document.text, offset):
            return None
        start = end = offset
        if selected:
            start, end = self._replaced(document, selected.range, position) or (-1, -1)
            if start < 0 or not start <= offset <= end:
                return None
        entry = selected.text if selected else ""
        above, below = self._notebooks.around(document)
        before, after = document.text[:start], document.text[end:]
        text = f"{above}{before}{entry}{after}{below}"
        return Cursor(document, before, after, text, len(above) + start + len(entry), entry)

    def _replaced(
        self, document: Document, range: types.Range, position: types.Position
    ) -> tuple[int, int] | None:
        if not range.start.line == range.end.line == position.line:
            return None
        start = self._documents.offset(document, range.start)
        end = self._documents.offset(document, range.end)
        return None if start is None or end is None else (start, end)
