"""Inline completion: one answer to every request, the latest wins, what is shown stays."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from functools import partial

from lsprotocol import types

from clover_lsp import infill
from clover_lsp.answers import Written
from clover_lsp.client import Client
from clover_lsp.cursor import Cursor, Cursors
from clover_lsp.desk import Desk
from clover_lsp.documents import Document, Documents
from clover_lsp.editor_config import layout_of
from clover_lsp.exclusions import refusal
from clover_lsp.graphemes import without_half
from clover_lsp.infill import Trigger
from clover_lsp.lazy_client import LazyClient
from clover_lsp.notebooks import Notebooks
from clover_lsp.offers import Course, Offer, Offers
from clover_lsp.placement import behind_closers
from clover_lsp.postprocess import with_newlines
from clover_lsp.settings import Mode, Settings
from clover_lsp.status import Status
from clover_lsp.writing import Writer

log = logging.getLogger(__name__)

# a command the editor runs once it has put an item's text in
ACCEPTED = "clover.accepted"
# so many different answers to one who asks
MOST_ANSWERS = 3
# opened files and cursor moves come in bursts: only where the cursor rests is read ahead
REST_S = 0.15
# an editor does not wait long for its server to leave
LEAVE_S = 0.5


class Asker(StrEnum):
    """Requests of one kind take each other's place; those of two kinds share their jobs."""

    INLINE = "inline"
    POPUP = "popup"


class InlineCompletion:
    """The feature, over the open documents and an engine."""

    def __init__(
        self,
        documents: Documents,
        engine: LazyClient,
        status: Status,
        notebooks: Notebooks | None = None,
        settings_of: Callable[[str], Settings] = lambda _: Settings(),
    ) -> None:
        self.client = Client()
        self.offers = Offers()
        # told of an offer that goes before the user: its id, document, language and text
        self.on_offer: Callable[[int, str, str, str], None] = lambda *_: None
        self._documents = documents
        self._cursors = Cursors(documents, notebooks or Notebooks(documents))
        self._settings_of = settings_of
        self._status = status
        self._writer = Writer(engine, status)
        self._desks: defaultdict[str, Desk] = defaultdict(Desk)
        self._answers: set[asyncio.Task[list[types.InlineCompletionItem]]] = set()
        self._warming: asyncio.Task[None] | None = None

    async def answer(
        self,
        document: Document | None,
        position: types.Position,
        trigger: Trigger,
        selected: types.SelectedCompletionInfo | None = None,
        asker: Asker = Asker.INLINE,
    ) -> types.InlineCompletionList:
        """The completions at `position` of `document` as it was when the request came.

        Raises nothing but CancelledError: a failure is an empty list and a status.
        """
        if document is None:
            return types.InlineCompletionList([])
        task = asyncio.create_task(self._items(document, position, trigger, selected, asker))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)
        task.add_done_callback(self._writer.report)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        failed = task.cancelled() or task.exception()
        return types.InlineCompletionList([] if failed else task.result())

    def changed(self, document: Document) -> None:
        """The document changed: a job whose draft does not agree with that ends now."""
        if desk := self._desks.get(document.uri):
            desk.changed(document, self.offers)

    def closed(self, uri: str) -> None:
        """The document was closed: what goes on in it ends."""
        if desk := self._desks.pop(uri, None):
            desk.clear()
        self._writer.answers.forget(uri)

    def reconsider(self) -> None:
        """Other settings are in force: what goes on where they want nothing ends."""
        for uri, desk in self._desks.items():
            document = self._documents.get(uri)
            if document is None or self._refusal(document, Trigger.INVOKED):
                desk.clear()

    def warm(self, document: Document | None, position: types.Position) -> None:
        """Read the text around `position` into the cache, once the cursor rests there."""
        if self._warming:
            self._warming.cancel()
        if document is not None:
            self._warming = asyncio.create_task(self._warm(document.uri, position))
            self._warming.add_done_callback(self._writer.report)

    async def close(self) -> None:
        """Answer what is open with nothing, end the jobs, let go of the engine."""
        for task in self._answers:
            task.cancel()
        for uri in list(self._desks):
            self.closed(uri)
        if self._warming:
            self._warming.cancel()
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._writer.close()
        except TimeoutError:
            log.warning("the engine did not let go in time")

    async def _items(
        self,
        document: Document,
        position: types.Position,
        trigger: Trigger,
        selected: types.SelectedCompletionInfo | None,
        asker: Asker,
    ) -> list[types.InlineCompletionItem]:
        if self._documents.get(document.uri) is not document:
            return []
        if reason := self._refusal(document, trigger):
            self._status.inactive(reason)
            return []
        self._status.active()
        desk = self._desks[document.uri]
        stale = desk.open_request(asker)
        cursor = self._cursors.find(document, position, selected)
        if cursor is None or not self._is_wanted(cursor, trigger):
            desk.offers = ()
            return []
        offers = await self._offered(desk, cursor, trigger, stale)
        # an answer to an older text would stand in the wrong place
        if stale.done() or self._documents.get(document.uri) is not document:
            return []
        desk.offers = offers
        if offers:
            # of several the editor shows the first
            self.on_offer(offers[0].id, document.uri, document.language, offers[0].text)
            self._look_ahead(desk, cursor, offers[0])
        if self._status.is_failing:
            # what was kept says nothing of the engine, and who waits types nothing: ask how it is
            self.warm(document, position)
        return [self._item(cursor, offer) for offer in offers]

    async def _offered(
        self, desk: Desk, cursor: Cursor, trigger: Trigger, stale: asyncio.Future[None]
    ) -> list[Offer]:
        """What to offer: while typing what is shown already, if it still fits, else what the
        engine writes."""
        document = cursor.document
        automatic = trigger is Trigger.AUTOMATIC
        if automatic and not cursor.selected and (shown := self._still_shown(desk, cursor)):
            return [shown]
        request = infill.plan(
            cursor.text, cursor.at, document.language, trigger=trigger, document=document.uri
        )
        course = Course(cursor.before, cursor.selected, cursor.after)
        if automatic:
            texts = await self._writer.texts(desk, request, course, stale)
            least = self._settings_of(document.uri).min_confidence
            texts = tuple(each for each in texts if each.confidence >= least)[:1]
        else:
            texts = await self._writer.several(desk, request, course, stale, MOST_ANSWERS)
        offers = {
            offer.text: offer for each in texts if (offer := self._new(cursor, each, trigger))
        }
        return list(offers.values())

    def _still_shown(self, desk: Desk, cursor: Cursor) -> Offer | None:
        """What is left of the text that was offered last, if it goes on at the cursor."""
        for offer in desk.offers:
            if left := offer.ahead(cursor.before, cursor.after):
                text, covered = left
                course = Course(cursor.before, text, cursor.after.removeprefix(covered))
                if course == offer.course:
                    return offer
                rest = self.offers.add(cursor.document.uri, course, covered)
                rest.shown = offer.shown
                return rest
        return None

    def _new(self, cursor: Cursor, written: Written, trigger: Trigger) -> Offer | None:
        """The offer of what the engine wrote; None where nothing of it fits, or it was dismissed
        there too often."""
        document, settings = cursor.document, self._settings_of(cursor.document.uri)
        layout = layout_of(document.uri)
        settle = partial(
            infill.settle,
            language=document.language,
            trigger=trigger,
            finish=written.finish,
            indent=layout.indent if layout else None,
        )
        text = settle(cursor.text, cursor.at, written.text) or ""
        text, covered = without_half(text), ""
        if not text.strip():
            return None
        if self.client.may_replace(settings) and not cursor.selected:
            text, covered = behind_closers(cursor, text, written.text, settle)
        text = cursor.selected + text.replace("\n", document.eol)
        course = Course(cursor.before, text, cursor.after.removeprefix(covered))
        if self.offers.is_dismissed(document.uri, course):
            return None
        return self.offers.add(document.uri, course, covered)

    def _item(self, cursor: Cursor, offer: Offer) -> types.InlineCompletionItem:
        document = cursor.document
        end = len(document.text) - len(offer.course.after)
        start = self._documents.position(document, len(cursor.before))
        return types.InlineCompletionItem(
            insert_text=offer.text if self.client.keeps_eol else with_newlines(offer.text),
            range=types.Range(start, self._documents.position(document, end)),
            command=types.Command("Accepted", ACCEPTED, arguments=[offer.id]),
        )

    def _look_ahead(self, desk: Desk, cursor: Cursor, offer: Offer) -> None:
        """Have written what comes behind the offer, as if it were accepted."""
        document, settings = cursor.document, self._settings_of(cursor.document.uri)
        if not settings.prefetch or settings.mode(document.language) is not Mode.AUTOMATIC:
            return
        put = offer.text.removeprefix(cursor.selected)
        text = f"{cursor.text[: cursor.at]}{put}{cursor.text[cursor.at + len(offer.covered) :]}"
        at = cursor.at + len(put)
        if infill.inside_word(text, at):
            return
        request = infill.plan(text, at, document.language, document=document.uri)
        self._writer.look_ahead(desk, request, offer.course)

    def _is_wanted(self, cursor: Cursor, trigger: Trigger) -> bool:
        if trigger is Trigger.INVOKED:
            return True
        mode = self._settings_of(cursor.document.uri).mode(cursor.document.language)
        return mode is Mode.AUTOMATIC and not infill.inside_word(cursor.text, cursor.at)

    def _refusal(self, document: Document, trigger: Trigger) -> str | None:
        """Why the document gets no completions, None if it does."""
        settings = self._settings_of(document.uri)
        if reason := refusal(document, settings, trigger):
            return reason
        if settings.mode(document.language) is Mode.OFF:
            return f"completions are switched off in {document.language} documents"
        return None

    async def _warm(self, uri: str, position: types.Position) -> None:
        await asyncio.sleep(REST_S)
        document, desk = self._documents.get(uri), self._desks.get(uri)
        # a job reads the text itself, and work behind it would take the place of one ahead
        if document is None or (desk and desk.is_busy):
            return
        if self._refusal(document, Trigger.AUTOMATIC):
            return
        if cursor := self._cursors.find(document, position):
            await self._writer.read(infill.warm(cursor.text, cursor.at, document=uri))
