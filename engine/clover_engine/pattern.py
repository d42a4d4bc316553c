"""A regular expression as a constraint: which tokens go on with a text that matches in the end.

The automaton is llguidance's (derivatives of the expression, walked over a trie of all tokens).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from clover_engine.errors import RequestError
from clover_engine.tokenizer import Vocabulary

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

Mask: TypeAlias = npt.NDArray[np.bool_]

_QUOTED = 200  # characters of a pattern or of a reason that an error line repeats
# makes a whole character of one to three continuation bytes, whichever they are
_LEADS = {0: b"", 1: b"\xc2", 2: b"\xe1", 3: b"\xf1"}


class Patterns:
    """Compiles patterns over one vocabulary.

    llguidance and its trie of the vocabulary are loaded with the first pattern (0.5 s).
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def compile(self, pattern: str, max_tokens: int, healed: bytes = b"") -> Pattern:
        """`healed`, then text that matches all of `pattern` (the syntax of Rust's regex crate).

        Raises RequestError for an invalid pattern, and for one that no text matches, or none of
        the length that `max_tokens` tokens can have.
        """
        _check_text(pattern)
        lead = _LEADS[len(healed) - len(healed.lstrip(_CONTINUATION))]
        matcher = self._matcher(_grammar(pattern, (lead + healed).decode()))
        _raise_error(matcher, pattern)
        self._check_length(pattern, max_tokens * self._tokens.longest)
        if lead:
            matcher.consume_token(self._tokens.spell(lead)[0])
        return Pattern(pattern, matcher, self._tokens.has_bytes)

    def _check_length(self, pattern: str, longest: int) -> None:
        """Whether any text of at most `longest` characters matches."""
        # a matcher of its own: counting characters would cost every mask of the real one
        matcher = self._matcher(_grammar(pattern, longest=longest))
        matcher.compute_bitmask()
        # any other error says that counting was too much: then it is not known here
        if matcher.get_error().startswith("NoExtension"):
            raise RequestError(
                f"no text that fits into the hole matches the pattern {_short(pattern)}"
            )

    def _matcher(self, grammar: str) -> LLMatcher:
        from llguidance import LLMatcher, LLParserLimits

        # nothing of the text goes to standard error or into an error's reason
        limits = LLParserLimits(verbose_errors=False)
        return LLMatcher(self._tokenizer, grammar, log_level=0, limits=limits)

    @cached_property
    def _tokens(self) -> _Tokens:
        return _Tokens(self._vocabulary)

    @cached_property
    def _tokenizer(self) -> LLTokenizer:
        from llguidance import LLTokenizer, TokenizerWrapper

        # without slices it loads in half the time; a new mask then takes 5 ms instead of 0.2
        return LLTokenizer(TokenizerWrapper(self._tokens), slices=[])


class Pattern:
    """The text so far goes on to a match of the pattern: a `constraints.Constraint`."""

    def __init__(self, pattern: str, matcher: LLMatcher, has_bytes: Mask) -> None:
        self._pattern = pattern
        self._matcher = matcher
        self._has_bytes = has_bytes
        self._mask: Mask | None = None

    @property
    def may_end(self) -> bool:
        """Whether the text matches."""
        return self._matcher.is_accepting()

    @property
    def must_end(self) -> bool:
        """Whether the text matches and no longer text does that begins with it."""
        return self.may_end and not self.allowed().any()

    def allowed(self) -> Mask:
        """bool [V]: the tokens that may come next.

        Raises RequestError when none may and the text does not match, and when the pattern is too
        complex to say.
        """
        if self._mask is None:
            self._mask = self._compute()
        return self._mask

    def advance(self, token: int) -> None:
        """Note that an allowed token was written."""
        if not self.allowed()[token] or self._matcher.try_consume_tokens([token]) != 1:
            raise ValueError("the pattern does not allow that token")
        self._mask = None

    def _compute(self) -> Mask:
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        _raise_error(self._matcher, self._pattern)
        fits = np.unpackbits(bits, count=len(self._has_bytes), bitorder="little").view(np.bool_)
        # llguidance allows an end token where the text matches
        mask: Mask = fits & self._has_bytes
        if not mask.any() and not self.may_end:
            raise RequestError(f"no token goes on with the pattern {_short(self._pattern)}")
        return mask


class _Tokens:
    """The vocabulary as llguidance's TokenizerWrapper reads it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = [vocabulary.token_bytes(token) for token in range(len(vocabulary))]
        self.has_bytes = np.array([bool(data) for data in self.tokens])
        self.special_token_ids: list[int] = vocabulary.without_bytes().tolist()
        self.eos_token_id = self.special_token_ids[0]
        self.bos_token_id = None
        self.longest = max(map(len, self.tokens))
        self._single = {data: i for i, data in enumerate(self.tokens) if len(data) == 1}

    def spell(self, data: bytes) -> list[int]:
        """`data` in tokens of one byte each."""
        return [self._single[data[i : i + 1]] for i in range(len(data))]

    # asked for only where a grammar forces text to be tokenised, which ours forbid
    __call__ = spell


_CONTINUATION = bytes(range(0x80, 0xC0))


def _grammar(pattern: str, before: str = "", longest: int | None = None) -> str:
    """llguidance's grammar of a text: `before`, then a match of at most `longest` characters."""
    from llguidance import regex_to_lark

    text = f"/{regex_to_lark(pattern, '')}/"
    if longest is not None:
        text += f" & /(?s:.){{0,{longest}}}/"
    literal = json.dumps(before, ensure_ascii=False) if before else ""
    # without no_forcing a text that must come may only come in one tokenisation
    return (
        f'%llguidance {{"no_forcing": true}}\nstart: TEXT\nTEXT: {literal} MATCH\nMATCH: {text}\n'
    )


def _check_text(pattern: str) -> None:
    """What llguidance does not find itself: it drops a last backslash and takes UTF-8 only."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise RequestError(f"the pattern {_short(pattern)} ends in an unfinished escape")
    if any("\ud800" <= letter <= "\udfff" for letter in pattern):
        raise RequestError(f"the pattern {_short(pattern)} holds half a character: a surrogate")


def _raise_error(matcher: LLMatcher, pattern: str) -> None:
    if matcher.is_error():
        reason = next(_reasons(matcher.get_error().splitlines()), "not a regular expression")
        raise RequestError(f"the pattern {_short(pattern)} does not serve: {reason[:_QUOTED]}")


def _reasons(lines: Sequence[str]) -> Iterator[str]:
    """What says why in llguidance's report, best first."""
    yield from (line.removeprefix("error: ") for line in lines if line.startswith("error: "))
    for line in lines:
        yield line.partition("(in regex): ")[2].partition(" in regex ")[0] or line


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= _QUOTED else pattern[:_QUOTED] + "…")
