"""What to ask the engine at a cursor, and what of its answer to show. Shared with the CLI."""

from __future__ import annotations

from enum import StrEnum

from clover_engine.api import CanvasRequest, Finish, Hole, Literal, Priority
from clover_lsp.canvas_text import left_text, right_text
from clover_lsp.place import Place, line_end, place_at
from clover_lsp.postprocess import only_closers, with_newlines
from clover_lsp.postprocess.indentation import Indentation, indentation_of
from clover_lsp.postprocess.pipeline import Measure, fitted
from clover_lsp.postprocess.whitespace import is_worth_showing

# the canvas holds this much text at least (where there is so much) and a step more at most; its
# ends move by whole steps, so that a keystroke leaves the far ends where the cache has them
LEFT_CHARS = 48 * 1024
RIGHT_CHARS = 16 * 1024
STEP_CHARS = 16 * 1024
# so much of a document's beginning tells how it indents, where nothing near the cursor does
HEAD_CHARS = 16 * 1024


class Trigger(StrEnum):
    """Why a completion is wanted: typing goes on, or the user asked for it."""

    AUTOMATIC = "automatic"
    INVOKED = "invoked"


def plan(
    text: str,
    offset: int,
    language: str = "",
    *,
    trigger: Trigger = Trigger.AUTOMATIC,
    document: str = "",
) -> CanvasRequest:
    """The canvas to fill at `offset` (in code points) of `text`.

    `language` is an LSP language id, `document` the name its cache is kept under. Typing gets one
    line in at most 1.2 s; asking gets up to a paragraph in at most 5 s, but one line inside a line
    and where lines stand alone (headings, tables, quotes, front matter).
    """
    left, right = _around(text, offset)
    place = place_at(text, offset, language)
    # in prose a short continuation is right more often
    most = 32 if place.is_prose else 48
    if not only_closers(place.rest):
        # no stop string: within a line the engine looks for the end that fits what follows
        hole = Hole(max_tokens=most, max_lines=1)
    elif one_line(trigger, place):
        hole = Hole(max_tokens=most, stop=("\n",))
    else:
        fence = (f"\n{place.fence}",) if place.fence else ()
        hole = Hole(max_tokens=128, stop=("\n\n", *fence))
    return CanvasRequest(
        (Literal(left), hole, Literal(right)),
        document=document,
        deadline_ms=1200 if trigger is Trigger.AUTOMATIC else 5000,
    )


def warm(text: str, offset: int, *, document: str = "") -> CanvasRequest:
    """The request that reads the context at `offset` into the cache and writes nothing."""
    left, right = _around(text, offset)
    return CanvasRequest(
        (Literal(left), Hole(max_tokens=0), Literal(right)),
        document=document,
        priority=Priority.BACKGROUND,
    )


def settle(
    text: str,
    offset: int,
    filled: str,
    language: str = "",
    *,
    trigger: Trigger = Trigger.AUTOMATIC,
    finish: Finish = Finish.STOP,
    indent: str | None = None,
) -> str | None:
    """What to insert at `offset` of `text` when the hole was filled with `filled`; None: nothing.

    Line ends of the answer are `\\n`, whatever the document has. `finish` says why the hole ended:
    an answer that was cut off ends with its last whole word. `indent` is one level of indentation
    (a tab, or blanks) as the editor or the project asks for; it counts where the document itself
    shows none.
    """
    place = place_at(text, offset, language)
    measure = Measure(
        one_line=one_line(trigger, place),
        one_sentence=trigger is Trigger.AUTOMATIC,
        style=_style(place, text) or Indentation.of(indent),
    )
    answer = fitted(filled, place, measure, broken=finish is not Finish.STOP)
    return answer if is_worth_showing(answer, asked=trigger is Trigger.INVOKED) else None


def one_line(trigger: Trigger, place: Place) -> bool:
    """Whether the hole ends with the line: while typing, and wherever text stands right of it or
    lines of that kind do not go on."""
    return trigger is Trigger.AUTOMATIC or place.is_single_line or not only_closers(place.rest)


def inside_word(text: str, offset: int) -> bool:
    """Whether letters of one alphabetic word stand on both sides: no place to begin by itself."""
    return _word_letter(text[offset - 1 : offset]) and _word_letter(text[offset : offset + 1])


def _word_letter(sign: str) -> bool:
    # Chinese and Japanese write no blanks: between two ideographs a word may begin
    return (sign.isalnum() and sign < "\u2e80") or sign == "_"


def _style(place: Place, text: str) -> Indentation | None:
    """How a list is indented as far as it is there, or else the lines near the cursor, or else
    those the document begins with."""
    begun = place.above.rpartition("\n\n")[2].split("\n") if place.is_prose else []
    near = indentation_of(begun) or indentation_of(place.lines)
    if near or place.fence:
        return near
    return indentation_of(with_newlines(text[:HEAD_CHARS]).split("\n"))


def _around(text: str, offset: int) -> tuple[str, str]:
    """The canvas' left and right literal.

    Closing brackets and quotes right of the cursor were put there by the editor: they stay out of
    the canvas, so that the literals are the same with and without them.
    """
    end = line_end(text, offset)
    begin = end if only_closers(text[offset:end]) else offset
    start = max(offset - LEFT_CHARS, 0) // STEP_CHARS * STEP_CHARS
    spare = max(len(text) - begin - RIGHT_CHARS, 0) // STEP_CHARS * STEP_CHARS
    return left_text(text, start, offset), right_text(text, begin, len(text) - spare)
