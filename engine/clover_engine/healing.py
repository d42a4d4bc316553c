"""Token healing: a cursor inside a token must not force the model to spell on from a bad cut.

The last token or two before the cursor are taken back, and the first new tokens are only those
whose bytes agree with what was taken back: `retu` may become ` return`, one token.
"""

from __future__ import annotations

from collections.abc import Sequence

from clover_engine.tokenizer import Vocabulary


def heal(tokens: Sequence[int], vocabulary: Vocabulary) -> tuple[list[int], list[int]]:
    """Split the prefix's tokens into those that stay and the one or two to write again.

    Nothing is taken back after a line break (a longer token there would only add blank lines) nor
    where no other token continues the last one.
    """
    count = _taken_back(tokens, vocabulary)
    return list(tokens[: len(tokens) - count]), list(tokens[len(tokens) - count :])


def _taken_back(tokens: Sequence[int], vocabulary: Vocabulary) -> int:
    if not tokens:
        return 0
    last = vocabulary.token_bytes(tokens[-1])
    if not last or last.endswith((b"\n", b"\r")):
        return 0
    if len(tokens) > 1:
        previous = vocabulary.token_bytes(tokens[-2])
        if previous and _is_word(last[0]) and _is_word(previous[-1]):
            return 2
    return 1 if len(vocabulary.compatible(last)) > 1 else 0


def _is_word(byte: int) -> bool:
    """Letters, digits, underscore, and every byte of a character outside ASCII."""
    return byte >= 0x80 or chr(byte).isalnum() or byte == ord("_")
