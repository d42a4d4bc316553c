"""What the other open files tell about a hole: the context of a request."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from clover_engine.api import (
    MAX_CONTEXT_BYTES,
    CanvasRequest,
    Context,
    Hole,
    Literal,
)
from clover_lsp.canvas_text import canvas_text
from clover_lsp.documents import Document
from clover_lsp.exclusions import stays_out_of_prompts
from clover_lsp.ignore_files import repository
from clover_lsp.settings import Settings
from clover_lsp.snippets import Piece, Place, pieces, size, telling, terms
from clover_lsp.uris import local_path

MAX_NEIGHBOURS = 6
MAX_CHARS = 128 * 1024  # longer files are not read for snippets
# lines a hole may move before the snippets are chosen anew, which costs a whole prefill
STEP_LINES = 80
# characters left and right of a hole whose names are looked up
LEFT_CHARS, RIGHT_CHARS = 1500, 500
HEAD_CHARS = 2000
MAX_PATH_CHARS = 100
# languages whose files go together; any other goes with itself alone
_FAMILIES = (
    {"c", "cpp", "objective-c", "objective-cpp", "cuda-cpp"},
    {"javascript", "javascriptreact", "typescript", "typescriptreact", "vue", "svelte"},
    {"css", "scss", "sass", "less"},
    {"markdown", "mdx", "plaintext", "quarto", "rmd"},
)
_FAMILY_OF = {language: min(family) for family in _FAMILIES for language in family}

# a document's pieces, and the document as it was when they were made
_Read: TypeAlias = tuple[Document, Sequence[Piece]]


@dataclass(frozen=True, slots=True)
class _Moment:
    """What a choice depends on: the hole's line in the canvas, how many edits other files have
    seen, the settings, and which related files are open."""

    line: int
    edits: int
    settings: Settings
    related: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A context and the URIs it quotes, chosen at a moment."""

    context: Context | None
    quoted: Sequence[str]
    moment: _Moment

    def holds(self, now: _Moment) -> bool:
        """Whether nothing has happened that asks for another."""
        if abs(now.line - self.moment.line) > STEP_LINES:
            return False
        if (now.edits, now.settings) != (self.moment.edits, self.moment.settings):
            return False
        return self.context is not None or now.related == self.moment.related


class Neighbours:
    """The open files by the time they were touched last, and the context last chosen for each.

    A context keeps its bytes while one types: it stands at the beginning of the prompt. It is
    chosen anew when the hole has moved far, when another file was edited meanwhile, when one it
    quotes is closed or may no longer be read, and, where there was none, when others open.
    """

    def __init__(self, settings_of: Callable[[str], Settings]) -> None:
        self._settings_of = settings_of
        self._recent: OrderedDict[str, Document] = OrderedDict()
        self._read: Mapping[str, _Read] = {}
        self._chosen: dict[str, _Choice] = {}
        self._edits: Counter[str] = Counter()
        self._all_edits = 0
        self._choosing = asyncio.Lock()

    def changed(self, document: Document) -> None:
        """The document was opened or edited."""
        if document.uri in self._recent:
            self._edits[document.uri] += 1
            self._all_edits += 1
        self._recent[document.uri] = document
        self._recent.move_to_end(document.uri)

    def closed(self, uri: str) -> None:
        """The document was closed: nothing of it is kept."""
        self._recent.pop(uri, None)
        self._edits.pop(uri, None)
        self._chosen.pop(uri, None)
        self._read = {name: read for name, read in self._read.items() if name != uri}

    async def equip(self, request: CanvasRequest) -> CanvasRequest:
        """An infill of an open file with its context, any other request as it is."""
        document = self._recent.get(request.document)
        match request.segments:
            case (Literal(left), Hole(), Literal(right)) if document:
                async with self._choosing:
                    context = await self._context(document, left, right)
                return replace(request, context=context)
            case _:
                return request

    async def _context(self, document: Document, left: str, right: str) -> Context | None:
        settings = self._settings_of(document.uri)
        if not settings.open_files or local_path(document.uri) is None:
            return None
        related = self._related(document)
        now = _Moment(
            line=left.count("\n"),
            edits=self._all_edits - self._edits[document.uri],
            settings=settings,
            related=[each.uri for each in related],
        )
        before = self._chosen.get(document.uri)
        if before and before.holds(now) and self._readable(before, settings):
            return before.context
        neighbours = [each for each in related if not stays_out_of_prompts(each, settings)]
        self._read, choice = await asyncio.to_thread(
            _choose, document, _place(document, left, right), neighbours, self._read, now
        )
        if document.uri in self._recent:
            self._chosen[document.uri] = choice
        return choice.context

    def _readable(self, choice: _Choice, settings: Settings) -> bool:
        """Whether all that a choice quotes is open and may still be read."""
        quoted = [self._recent.get(uri) for uri in choice.quoted]
        return all(each and not stays_out_of_prompts(each, settings) for each in quoted)

    def _related(self, document: Document) -> list[Document]:
        """The open files that go together with `document`, those touched last first.

        Whether they may be read is for the file system to say: only so many are asked about.
        """
        family = _family(document)
        related = (
            other
            for other in reversed(self._recent.values())
            if other.uri != document.uri
            and _family(other) == family
            and len(other.text) <= MAX_CHARS
        )
        return list(islice(related, MAX_NEIGHBOURS))


def _choose(
    document: Document,
    place: Place,
    neighbours: Sequence[Document],
    known: Mapping[str, _Read],
    moment: _Moment,
) -> tuple[Mapping[str, _Read], _Choice]:
    """All neighbours' pieces, those `known` not made again, and what is chosen from them."""
    read = {each.uri: _pieces(each, known.get(each.uri)) for each in neighbours}
    root = _root(document)
    project, path = root.name[-MAX_PATH_CHARS:], _shown(document, root)
    # the file touched last comes first when there is little room, and nearest to the canvas
    uris = {_shown(each, root): each.uri for each in reversed(neighbours)}
    files = {name: read[uri][1] for name, uri in uris.items()}
    room = MAX_CONTEXT_BYTES - size(project) - size(path)
    snippets = telling(place, files, room)
    context = Context(snippets, project, path) if snippets else None
    return read, _Choice(context, [uris[snippet.path] for snippet in snippets], moment)


def _pieces(document: Document, known: _Read | None) -> _Read:
    if known and known[0] is document:
        return known
    return document, pieces(canvas_text(document.text))


def _place(document: Document, left: str, right: str) -> Place:
    around = terms(left[-LEFT_CHARS:] + "\n" + right[:RIGHT_CHARS])
    return Place(frozenset(around), frozenset(terms(document.text[:HEAD_CHARS])))


def _family(document: Document) -> str:
    return _FAMILY_OF.get(document.language, document.language)


def _root(document: Document) -> Path:
    """The document's repository, or else its folder."""
    path = _path(document)
    return repository(path) or path.parent


def _path(document: Document) -> Path:
    return Path(local_path(document.uri) or "")


def _shown(document: Document, root: Path) -> str:
    """The file's path as the model sees it: from the root, or the end of it."""
    path = _path(document)
    inside = path.relative_to(root).parts if path.is_relative_to(root) else path.parts[-2:]
    return "/".join(inside)[-MAX_PATH_CHARS:]
