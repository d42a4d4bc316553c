"""The open documents: immutable snapshots, replaced as the editor changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lsprotocol import types

from clover_lsp.positions import Encoding, IndexedText


@dataclass(frozen=True, slots=True)
class Document:
    """One document as the editor showed it at `version`. `language` is the LSP language id."""

    uri: str
    language: str
    version: int
    content: IndexedText

    @property
    def text(self) -> str:
        """The whole text, line ends as the editor sent them."""
        return self.content.text

    @property
    def eol(self) -> str:
        """The line end of the first line, `\\n` for a text of one line."""
        first = self.content.starts[1] if len(self.content.starts) > 1 else 0
        ending = self.text[max(first - 2, 0) : first]
        return "\r\n" if ending == "\r\n" else ending[-1:] or "\n"


class Documents:
    """The store of open documents by URI, of any scheme.

    The server's own: pygls' workspace breaks lines where LSP does not, and applies a change twice
    if it is sent twice.
    """

    def __init__(self) -> None:
        self.encoding = Encoding.UTF16
        self._open: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        """All that are open, as they stand now."""
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """The document as it stands now, None if it is not open."""
        return self._open.get(uri)

    def text_of(self, uri: str) -> str | None:
        """Its text as it stands now, None if it is not open."""
        document = self._open.get(uri)
        return document.text if document else None

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        """Take up a document; one already open starts afresh with this text."""
        document = Document(uri, language, version, IndexedText.of(text))
        self._open[uri] = document
        return document

    def change(
        self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> Document | None:
        """Apply changes in order, each to the text the one before left.

        A version that is not newer was applied already and changes nothing; nor does a change of
        a document that is not open. Returns the document if it changed.
        """
        document = self._open.get(uri)
        if document is None or version <= document.version:
            return None
        content = document.content
        for change in changes:
            content = self._applied(content, change)
        self._open[uri] = changed = replace(document, version=version, content=content)
        return changed

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._open.pop(uri, None)

    def offset(self, document: Document, position: types.Position) -> int | None:
        """The offset of a position, None beyond the last line: the position is stale."""
        if position.line >= len(document.content.starts):
            return None
        return document.content.offset(position.line, position.character, self.encoding)

    def position(self, document: Document, offset: int) -> types.Position:
        """The position of an offset in the client's units."""
        return types.Position(*document.content.position(offset, self.encoding))

    def _applied(
        self, content: IndexedText, change: types.TextDocumentContentChangeEvent
    ) -> IndexedText:
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return IndexedText.of(change.text)
        ends = change.range.start, change.range.end
        start, end = sorted(content.offset(at.line, at.character, self.encoding) for at in ends)
        return content.replaced(start, end, change.text)
