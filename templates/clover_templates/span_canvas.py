"""From masked spans to the engine's canvas, and from its fills back into the text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clover_engine.api import CanvasRequest, Fill, Hole, Literal, Priority, Segment
from clover_engine.errors import RequestError
from clover_templates.masked_spans import MaskedSpan, place

# what the canvas holds of the text left of the first span and right of the last
LEFT_CHARS = 48 * 1024
RIGHT_CHARS = 16 * 1024
_LINE_END = re.compile(r"\r\n|\r")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# beside these a fill needs no blanks of its own
_BLANK_LEFT = re.compile(r"(?:^|[\s(\[{（【「『“‘《，。：；、！？])\Z")
_BLANK_RIGHT = re.compile(r"(?:\Z|[\s.,;:!?)\]}）】」』”’》，。：；、！？])")


def canvas_request(
    text: str,
    spans: Sequence[MaskedSpan],
    *,
    document: str = "",
    priority: Priority = Priority.INTERACTIVE,
) -> CanvasRequest:
    """One canvas for `spans` of `text`, ordered and disjoint: a hole for each, literals between.

    Masks that are not among `spans` stay in the literals as they are. A hole ends with its line.
    `document` is the URI of the text. Raises RequestError when there is no span.
    """
    # under a name of its own: ghost text in the document does not end a fill, nor a fill that
    name = f"{document}#fill" if document else ""
    segments: list[Segment] = []
    at = max(spans[0].start - LEFT_CHARS, 0) if spans else 0
    for span in spans:
        segments += [_literal(text[at : span.start]), _hole(span)]
        at = span.end
    segments.append(_literal(text[at : at + RIGHT_CHARS]))
    kept = tuple(segment for segment in segments if segment != Literal(""))
    return CanvasRequest(kept, document=name, priority=priority)


def placed(error: RequestError, text: str, spans: Sequence[MaskedSpan]) -> RequestError:
    """The engine's error, with `line:column` of the span whose pattern it quotes, if any.

    Only the engine can tell that a pattern does not serve, and only the text where it stands.
    """
    for span in spans:
        if span.pattern and repr(span.pattern) in str(error):
            return RequestError(f"{place(text, span.start)}: {error}")
    return error


def written(
    text: str, spans: Sequence[MaskedSpan], fills: Sequence[Fill]
) -> tuple[str | None, ...]:
    """What to put in place of each span; None where nothing was written: the mask then stays."""
    pairs = zip(spans, fills, strict=True)
    return tuple(_settled(text, span, fill.text) or None for span, fill in pairs)


def apply(text: str, spans: Sequence[MaskedSpan], fills: Sequence[str | None]) -> str:
    """`text` with each span replaced by its fill, or left where that is None; no more changes."""
    parts: list[str] = []
    at = 0
    for span, fill in zip(spans, fills, strict=True):
        parts += [text[at : span.start], text[span.start : span.end] if fill is None else fill]
        at = span.end
    return "".join([*parts, text[at:]])


def _literal(text: str) -> Literal:
    # no tokenizer and no UTF-8 can hold half a surrogate pair
    return Literal(_LONE_SURROGATE.sub("\ufffd", _LINE_END.sub("\n", text)))


def _hole(span: MaskedSpan) -> Hole:
    return Hole(
        span.max_tokens,
        # a stop string could cut what has to match
        () if span.pattern else ("\n",),
        choices=span.choices,
        pattern=span.pattern,
        max_lines=1 if span.pattern else None,
        hint=span.hint,
    )


def _settled(text: str, span: MaskedSpan, fill: str) -> str:
    """The fill without blanks the text has already; a choice or match is taken to the letter."""
    if span.choices or span.pattern:
        return fill
    [line, *_] = re.split(r"[\n\r]", fill, maxsplit=1)
    if _BLANK_LEFT.search(text[max(span.start - 1, 0) : span.start]):
        line = line.lstrip()
    return line.rstrip() if _BLANK_RIGHT.match(text[span.end : span.end + 1]) else line
