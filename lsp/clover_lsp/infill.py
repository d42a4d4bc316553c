"""What to ask the engine at a cursor, and what of its answer to show. Shared with the CLI."""

from __future__ import annotations

import re
from enum import StrEnum

from clover_engine.api import CanvasRequest, Hole, Literal, Priority
from clover_lsp import postprocess as rules
from clover_lsp.canvas_text import left_text, right_text

# the canvas holds this much text at least (where there is so much) and a step more at most; its
# ends move by whole steps, so that a keystroke leaves the far ends where the cache has them
LEFT_CHARS = 48 * 1024
RIGHT_CHARS = 16 * 1024
STEP_CHARS = 16 * 1024
# how far right of the cursor an answer is compared with the document
LOOK_AHEAD_CHARS = 2000

PROSE = frozenset(
    {"markdown", "plaintext", "text", "latex", "tex", "restructuredtext", "rst", "org"}
)
_LINE_END = re.compile(r"\r\n|\n|\r")


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
    line in at most 1.2 s; asking gets up to a paragraph in at most 5 s, one line inside a line.
    """
    left, rest, right = _around(text, offset)
    # in prose a short continuation is right more often
    most = 32 if language in PROSE else 48
    if not rules.only_closers(rest):
        # no stop string: within a line the engine looks for the end that fits what follows
        hole = Hole(max_tokens=most, max_lines=1)
    elif one_line(trigger, rest):
        hole = Hole(max_tokens=most, stop=("\n",))
    else:
        hole = Hole(max_tokens=128, stop=("\n\n",))
    return CanvasRequest(
        (Literal(left), hole, Literal(right)),
        document=document,
        deadline_ms=1200 if trigger is Trigger.AUTOMATIC else 5000,
    )


def warm(text: str, offset: int, *, document: str = "") -> CanvasRequest:
    """The request that reads the context at `offset` into the cache and writes nothing."""
    left, _, right = _around(text, offset)
    return CanvasRequest(
        (Literal(left), Hole(max_tokens=0), Literal(right)),
        document=document,
        priority=Priority.BACKGROUND,
    )


def settle(
    text: str, offset: int, filled: str, *, trigger: Trigger = Trigger.AUTOMATIC
) -> str | None:
    """What to insert at `offset` of `text` when the hole was filled with `filled`; None: nothing.

    Line ends of the answer are `\\n`, whatever the document has.
    """
    before, rest, below = _line_around(text, offset)
    answer = rules.with_newlines(rules.without_specials(filled))
    closed = rules.only_closers(rest)
    answer = (rules.first_line if one_line(trigger, rest) else rules.first_paragraph)(answer)
    if closed:
        answer = rules.within_pairs(answer, before, rest)
    else:
        answer = rules.without_full_stop(rules.until_rest(answer, rest), rest)
    answer = rules.without_overlap(answer, f"{rest}\n{below}")
    answer = rules.without_next_line(answer, before, below)
    answer = rules.trimmed(answer, at_line_end=closed)
    return answer if answer.strip() else None


def one_line(trigger: Trigger, rest: str) -> bool:
    """Whether the hole ends with the line: while typing, and wherever text stands right of it."""
    return trigger is Trigger.AUTOMATIC or not rules.only_closers(rest)


def inside_word(text: str, offset: int) -> bool:
    """Whether letters of one alphabetic word stand on both sides: no place to begin by itself."""
    return _word_letter(text[offset - 1 : offset]) and _word_letter(text[offset : offset + 1])


def _word_letter(sign: str) -> bool:
    # Chinese and Japanese write no blanks: between two ideographs a word may begin
    return (sign.isalnum() and sign < "\u2e80") or sign == "_"


def _around(text: str, offset: int) -> tuple[str, str, str]:
    """The canvas' left literal, the line right of the cursor, the canvas' right literal.

    Closing brackets and quotes right of the cursor were put there by the editor: they stay out of
    the canvas, so that the literals are the same with and without them.
    """
    end = _line_end(text, offset)
    rest = text[offset:end]
    begin = end if rules.only_closers(rest) else offset
    start = max(offset - LEFT_CHARS, 0) // STEP_CHARS * STEP_CHARS
    spare = max(len(text) - begin - RIGHT_CHARS, 0) // STEP_CHARS * STEP_CHARS
    return left_text(text, start, offset), rest, right_text(text, begin, len(text) - spare)


def _line_around(text: str, offset: int) -> tuple[str, str, str]:
    """The line left of the cursor, right of it, and the text below as far as rules look."""
    end = _line_end(text, offset)
    above = rules.with_newlines(text[max(offset - LOOK_AHEAD_CHARS, 0) : offset])
    below = rules.with_newlines(text[end : end + LOOK_AHEAD_CHARS]).removeprefix("\n")
    return above.rpartition("\n")[2], text[offset:end], below


def _line_end(text: str, offset: int) -> int:
    found = _LINE_END.search(text, offset)
    return found.start() if found else len(text)
