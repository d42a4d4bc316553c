"""Prose from a model, under locks: sentences worded again, and slots written anew.

What breaks a promise is not taken: the sentence stays as it was, and the hole a hole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from clover_engine.api import MAX_HOLE_TOKENS, CanvasRequest, Ends, Finish, Hole, Literal, Priority
from clover_templates.blocks import Block, Kind
from clover_templates.document import Document
from clover_templates.engine_scorer import Filler
from clover_templates.measures import count
from clover_templates.normal import marks_end
from clover_templates.places import hints
from clover_templates.restructure import Proposal, proposal_of
from clover_templates.sentence_check import breaches
from clover_templates.source import Span
from clover_templates.template import Template
from clover_templates.template_settings import Mode, SlotSettings
from clover_templates.trace import Added, Why, Written
from clover_templates.wordings import REWRITE, Wording, rewording, writing

_LONGEST = 400  # characters of a sentence that is worded again
_EVIDENCE = 6000  # characters of a document that are read to write a text about it
_WRITTEN_TOKENS = 160
_SPARE = 16  # tokens more than a sentence has characters
_ATTEMPTS = 2
# a line end that a page shows
_HARD_BREAK = re.compile(r"(?:\\| {2})\r?\n")
_TOLD = re.compile(r"\w.*\w", re.DOTALL)


def _nothing(_: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, without its marks; worded again it is `slot`'s, and stands under
    the heading `place`."""

    span: Span
    text: str
    slot: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Worded:
    """What a model wrote, and why other words of it were not taken, a line each."""

    written: tuple[Written, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """Asks an engine for words; `progress` is told what share is done, 0 to 1."""

    engine: Filler
    progress: Callable[[float], None] = _nothing

    async def for_slots(self, proposal: Proposal, template: Template) -> Proposal:
        """The proposal with prose in the slots that take it; `refused` says what was not taken.

        Raises CloverError where the engine does.
        """
        sentences = tuple(_to_reword(proposal, template))
        holes = tuple(_to_write(proposal, template))
        if proposal.breaches or not (sentences or holes):
            return proposal
        lang = template.settings.lang
        worded = await self.reworded(sentences, rewording(REWRITE, lang))
        trace = proposal.trace.reworded(worded.written)
        for hole, settings in holes:
            if text := await self._written(proposal.source, settings, writing(lang)):
                trace = trace.filled(hole, Written(text.encode(), settings.name))
        new = proposal_of(proposal.source, template, proposal.placed, trace)
        if new.breaches:
            return replace(proposal, refused=tuple(map(str, new.breaches)))
        return replace(new, refused=worded.refused)

    async def reworded(self, sentences: Sequence[Sentence], how: Wording) -> Worded:
        """The sentences in other words, where these keep every promise. Raises CloverError."""
        written: list[Written] = []
        refused: list[str] = []
        for number, one in enumerate(sentences):
            self.progress(number / len(sentences))
            text, reason = await self._again(one, how)
            if text and not reason:
                written.append(Written(text.encode(), one.slot, (one.span,)))
            elif reason:
                refused.append(reason)
        return Worded(tuple(written), tuple(refused))

    async def _again(self, one: Sentence, how: Wording) -> tuple[str, str]:
        """A sentence in other words and what speaks against them; of two attempts, which begin
        differently, the first that nothing speaks against."""
        prompt, size = how.asked(text=one.text, place=one.place), len(one.text) + _SPARE
        tried: list[str] = []
        reason = ""
        while len(tried) < _ATTEMPTS:
            text = await self._asked(prompt, min(size, MAX_HOLE_TOKENS), tried)
            if text and text != " ".join(one.text.split()):
                found = next(breaches(one.text, text), None)
                if found is None:
                    return text, ""
                reason = reason or f"{found.metric}: {found.message}: {found.text}"
            tried.append(text or one.text)
        return "", reason

    async def _written(self, document: Document, settings: SlotSettings, how: Wording) -> str:
        """A paragraph about the document for a slot; empty where none came whole, or too much."""
        place = f"{settings.name} ({settings.hint})" if settings.hint else settings.name
        source = document.data.decode("utf-8-sig")[:_EVIDENCE]
        text = await self._asked(how.asked(source=source, place=place), _WRITTEN_TOKENS)
        limit = settings.maximum
        fits = limit is None or count(text, limit.measure) <= limit.count
        return text if fits and _is_paragraph(text) else ""

    async def _asked(self, prompt: str, tokens: int, unlike: Sequence[str] = ()) -> str:
        """The line that a model adds to a prompt; empty where it does not come to its end."""
        hole = Hole(tokens, stop=("\n",), unlike=tuple(f" {text}" for text in unlike))
        request = CanvasRequest(
            (Literal(prompt), hole),
            document="clover:prose",  # what prompts have in common is read once
            ends=Ends.NONE,
            priority=Priority.BACKGROUND,
        )
        fill = (await self.engine.fill(request)).fills[0]
        return fill.text.strip() if fill.finish is Finish.STOP else ""


def _is_paragraph(text: str) -> bool:
    return [block.kind for block in Document.of(text.encode()).blocks] == [Kind.PARAGRAPH]


def sentences_in(document: Document, span: Span, slot: str) -> Iterator[Sentence]:
    """The sentences of paragraphs and flat lists that `span` touches."""
    for block in document.blocks:
        if block.start < span.end and span.start < block.end:
            inside = _sentences(block, slot, "")
            yield from (one for one in inside if _touch(one.span, span))


def _touch(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _to_reword(proposal: Proposal, template: Template) -> Iterator[Sentence]:
    """The sentences that were placed in slots that a model may word."""
    for one in proposal.placed:
        slot = one.place and one.place.slot
        settings = template.slots.get(slot.name) if slot else None
        if one.place and settings and settings.mode is Mode.REWRITE:
            place = hints([one.place], template)[0].removeprefix("## ")
            for block in one.portion.blocks:
                yield from _sentences(block, settings.name, place)


def _to_write(proposal: Proposal, template: Template) -> Iterator[tuple[Added, SlotSettings]]:
    """The holes of slots that a model writes."""
    slots = (slot for slot in template.slots.values() if slot.mode is Mode.WRITE)
    wanted = {template.settings.hole(slot.name).encode(): slot for slot in slots}
    for piece in proposal.trace.pieces:
        if isinstance(piece, Added) and piece.why is Why.HOLE and piece.data in wanted:
            yield piece, wanted[piece.data]


def _sentences(block: Block, slot: str, place: str) -> Iterator[Sentence]:
    parts = [item for item in block.items if not item.nested] if block.items else [block]
    for part in parts:
        if part.kind not in (Kind.PARAGRAPH, Kind.LIST_ITEM):
            continue
        for span in part.sentences:
            raw = part.data[span.start : span.end].decode()
            text = raw[marks_end(raw) :].rstrip()
            start = span.start + len(raw[: marks_end(raw)].encode())
            if _TOLD.search(text) and len(text) <= _LONGEST and not _HARD_BREAK.search(raw):
                yield Sentence(Span(start, start + len(text.encode())), text, slot, place)
