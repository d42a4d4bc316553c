"""All rules in their order, until an answer fits its place."""

from __future__ import annotations

from dataclasses import dataclass

from clover_lsp.place import Kind, Place
from clover_lsp.postprocess import (
    brackets,
    cjk,
    comments,
    fences,
    indentation,
    markdown_lines,
    overlap,
    repetition,
    scope,
    sentences,
    specials,
    whitespace,
)
from clover_lsp.postprocess.indentation import Indentation

# cutting can uncover what another rule cuts: so many rounds at most
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Measure:
    """How much may be shown: `one_line` of an answer, `one_sentence` of prose. `style` is how the
    document indents, None where nobody knows."""

    one_line: bool
    one_sentence: bool
    style: Indentation | None = None


def fitted(filled: str, place: Place, measure: Measure, *, broken: bool = False) -> str:
    """What of `filled` fits at `place`, line ends `\\n`; "" for nothing.

    `broken`: the model was not done when its time or its tokens were.
    """
    answer = specials.with_newlines(specials.without_specials(filled))
    if not place.fence:
        answer = fences.without_wrapper(answer, prose=place.is_prose)
    if broken:
        answer = whitespace.without_broken_word(answer)
    for _ in range(_ROUNDS):
        shaped = _round(answer, place, measure)
        if shaped == answer:
            break
        answer = shaped
    return answer


def _round(answer: str, place: Place, measure: Measure) -> str:
    answer = _begun(specials.without_specials(answer), place, measure.style)
    answer = _limited(answer, place, measure)
    answer = repetition.without_loops(answer)
    if place.kind is not Kind.TABLE:
        answer = repetition.without_line_above(answer, place.before, place.above)
    answer = _meeting(answer, place)
    closed = brackets.only_closers(place.rest)
    return whitespace.trimmed(answer, place.rest, at_line_end=closed, prose=place.is_prose)


def _begun(answer: str, place: Place, style: Indentation | None) -> str:
    """The answer's beginning and its lines', as the cursor's line and those above ask for."""
    before, above = place.before, place.above
    answer = whitespace.with_few_newlines(answer, before, above)
    answer = whitespace.without_double_blank(answer, before)
    comment = place.language.line_comment or ("*" if place.comment else "")
    answer = markdown_lines.without_marker(answer, before, comment, prose=place.is_prose)
    answer = indentation.continued(answer, before, above, style)
    answer = indentation.indented_as(answer, before, style)
    if place.is_prose:
        return markdown_lines.continued_items(answer, before, above)
    if place.comment:
        return comments.with_stars(answer, before, place.comment)
    return comments.with_line_comments(answer, before, place.language.line_comment)


def _limited(answer: str, place: Place, measure: Measure) -> str:
    """The answer as far as its line, sentence, paragraph, block or section goes."""
    if place.fence:
        answer = fences.within_fence(answer, place.fence)
    if place.comment:
        answer = comments.within_comment(answer, place.comment, closed=place.closed)
    answer = (whitespace.first_line if measure.one_line else whitespace.first_paragraph)(answer)
    if place.kind is Kind.CODE:
        return scope.within_block(answer, place.before)
    if place.kind is Kind.TABLE:
        return markdown_lines.within_table(
            answer, place.before, place.rest, place.above, place.below
        )
    if place.kind is Kind.FRONT_MATTER:
        return markdown_lines.without_rule(answer)
    if measure.one_sentence:
        answer = sentences.first_sentence(answer, place.before)
    return scope.within_section(answer, place.before)


def _meeting(answer: str, place: Place) -> str:
    """The answer as far as it goes with what stands right of the cursor and below."""
    before, rest, below = place.before, place.rest, place.below
    after = f"{rest}\n{below}"
    if brackets.only_closers(rest):
        answer = brackets.within_delimiter(answer, before, rest)
    else:
        answer = overlap.until_rest(answer, before, rest)
    answer = overlap.without_overlap(answer, after)
    answer = brackets.balanced(answer, place.above + before, after, words=place.is_words)
    answer = overlap.without_next_line(answer, before, below)
    answer = cjk.without_full_stop(answer, rest, words=place.is_words)
    return cjk.without_han_blanks(answer, before, rest)
