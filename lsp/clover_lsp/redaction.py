"""Text whose words cannot be read any more, in the shape it had."""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections.abc import Iterator

# words of so many letters stay: `if`, `def`, `the`; ideographs never do, a name has two
SHORT = 3
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
IDEOGRAPHS = "天地人日月山水火木土石田禾竹米"
# what holds parts of a name, an address or a key together
JOINTS = frozenset("-./@:+=%~#&?$\\")
_SUPPLEMENTARY = "𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀇𠀈𠀉"


class Redaction:
    """Replaces letters and digits of long words, the same word by the same signs.

    Length in every encoding but UTF-8, white space, line ends, brackets and punctuation are kept.
    The key is this object's own and forgotten with it: a mask cannot be looked up.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(16)

    def masked(self, text: str) -> str:
        """`text` with every letter and digit of a long word another one of its kind."""
        return "".join(map(self._mask, _words(text)))

    def _mask(self, word: str) -> str:
        if sum(map(str.isalnum, word)) <= SHORT and not any(map(_is_ideograph, word)):
            return word
        draws = self._draws(word)
        return "".join(_other(sign, next(draws)) for sign in word)

    def _draws(self, word: str) -> Iterator[int]:
        """Numbers that the key and the word decide."""
        counter, encoded = 0, word.encode("utf-8", "surrogatepass")
        while True:
            yield from hmac.digest(self._key, b"%d %s" % (counter, encoded), "sha256")
            counter += 1


def _words(text: str) -> Iterator[str]:
    """`text` in pieces: words with the signs that join their parts, and what stands between."""
    start, in_word = 0, False
    for at, sign in enumerate(text):
        belongs = _in_words(sign) or (
            in_word and sign in JOINTS and _in_words(text[at + 1 : at + 2])
        )
        if belongs != in_word:
            yield text[start:at]
            start, in_word = at, belongs
    yield text[start:]


def _other(sign: str, draw: int) -> str:
    """Another sign of the same kind; one that is neither letter nor digit stays."""
    if not sign.isalnum():
        return sign
    others = _kind(sign).replace(sign, "")
    return others[draw % len(others)]


def _kind(sign: str) -> str:
    if ord(sign) > 0xFFFF:
        return _SUPPLEMENTARY
    if sign.isnumeric() and not sign.isalpha():
        return DIGITS
    if _is_ideograph(sign):
        return IDEOGRAPHS
    return UPPER if sign.isupper() else LOWER


def _in_words(sign: str) -> bool:
    # a combining mark belongs to its letter
    return sign.isalnum() or sign == "_" or (bool(sign) and unicodedata.combining(sign) > 0)


def _is_ideograph(sign: str) -> bool:
    # and all that is written without blanks between words
    return sign >= "\u2e80" and sign.isalnum()
