"""What stands inside `<fill …>`: attributes, and free words that are the hint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clover_engine.api import MAX_HOLE_TOKENS

_WORD = re.compile(
    r"""
      (?P<name>[A-Za-z_][\w-]*)[ \t]*=[ \t]*
      (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<bare>[^\s"']\S*)? )
    | \S+
    """,
    re.VERBOSE,
)
_ATTRIBUTES = ("choices", "pattern", "max")


class Unreadable(Exception):
    """Why a masked span cannot be read, without the place: its finder knows that."""


@dataclass(frozen=True, slots=True)
class Tag:
    """The parts of a `<fill …>`; `max_tokens` None where it does not say."""

    hint: str = ""
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    max_tokens: int | None = None


def parse_tag(body: str) -> Tag:
    """Read the text between `<fill` and `>`. Raises Unreadable.

    `choices="a|b"` is a closed set, `pattern="[0-9]+"` a regular expression, `max=8` a number of
    tokens; values without blanks need no quotes. All other words are the hint.
    """
    values: dict[str, str] = {}
    words: list[str] = []
    for found in _WORD.finditer(body.removesuffix("/")):
        name = found["name"]
        if name is None:
            words.append(found[0])
        elif name not in _ATTRIBUTES:
            raise Unreadable(
                f"<fill> knows no {name}=: use {', '.join(_ATTRIBUTES)} or plain words"
            )
        elif name in values:
            raise Unreadable(f"<fill> has {name}= twice: keep one")
        else:
            values[name] = found["double"] or found["single"] or found["bare"] or ""
    if "choices" in values and "pattern" in values:
        raise Unreadable("<fill> has choices= and pattern=: keep one")
    return Tag(
        " ".join(words),
        _choices(values["choices"]) if "choices" in values else None,
        _pattern(values["pattern"]) if "pattern" in values else None,
        _max_tokens(values["max"]) if "max" in values else None,
    )


def _choices(value: str) -> tuple[str, ...]:
    choices = tuple(choice.strip() for choice in value.split("|"))
    if not all(choices):
        raise Unreadable('<fill> has an empty choice: write choices="yes|no"')
    return choices


def _pattern(value: str) -> str:
    if not value:
        raise Unreadable('<fill> has an empty pattern: write pattern="[0-9]+"')
    return value


def _max_tokens(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= MAX_HOLE_TOKENS:
        raise Unreadable(f"<fill> takes max=1 to max={MAX_HOLE_TOKENS} tokens, not {value!r}")
    return int(value)
