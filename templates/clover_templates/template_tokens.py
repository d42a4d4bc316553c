"""What stands out in the text of a template: slots, comments, escapes, and code that is not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clover_templates.code_regions import Region
from clover_templates.template_findings import Code, Finding


class TokenKind(StrEnum):
    """What a token is."""

    SLOT = "slot"
    COMMENT = "comment"
    ESCAPE = "escape"


@dataclass(frozen=True, slots=True)
class Token:
    """A token at `[start, end)`: a slot's `text` is its name and `form` what follows the colon, a
    comment's `text` is what stands inside it."""

    start: int
    end: int
    kind: TokenKind
    text: str = ""
    form: str = ""


_SLOT = re.compile(r"\{\{([^{}\n\r]*+)\}\}")
NAME = re.compile(r"[^\W_][\w.-]*|_[\w.-]+")
# a formula is read as pandoc does: no blank inside at its ends, no digit behind it
_SIGNS = re.compile(
    r"""
      (?P<comment> <!--(?P<said>(?:(?!-->|<!--).)*+)--> )
    | (?P<escape>  \\\{\{ )
    | (?P<math>    \$\$.*?\$\$
                 | (?<![\\$\w])\$(?=[^\s$])(?:[^$\n\r]*[^\s$\\])?\$(?![\d$]) )
    | (?P<other>   \{{3,} )
    | (?P<slot>    \{\{(?P<inside>[^{}\n\r]*+)\}\} )
    | (?P<open>    \{\{ )
    | (?P<code>    <%(?:(?!<%|%>)[^\n\r])*+%> | \{%(?:(?!\{%|%\})[^\n\r])*+%\} )
    """,
    re.VERBOSE | re.DOTALL,
)


def read_tokens(text: str, code: Sequence[Region]) -> tuple[list[Token], list[Finding]]:
    """The tokens outside `code` (ordered, disjoint) and formulas, and what cannot be read."""
    tokens: list[Token] = []
    findings: list[Finding] = []
    opaque = list(code)
    for start, end in _between(code, len(text)):
        for found in _SIGNS.finditer(text, start, end):
            token = _token(found)
            if isinstance(token, Finding):
                findings.append(token)
            elif token:
                tokens.append(token)
            elif found["math"]:
                opaque.append(found.span())
    findings += [finding for region in opaque for finding in _slots_in_code(text, region)]
    return tokens, findings


def _slots_in_code(text: str, region: Region) -> Iterator[Finding]:
    for found in _SLOT.finditer(text, *region):
        if NAME.fullmatch(found[1].partition(":")[0].strip()):
            message = f"{found[0]} in code or a formula stays as it is"
            yield Finding(Code.T05, found.start(), found.end(), message)


def _between(regions: Sequence[Region], length: int) -> Iterator[Region]:
    at = 0
    for start, end in regions:
        yield at, start
        at = end
    yield at, length


def _token(found: re.Match[str]) -> Token | Finding | None:
    start, end = found.span()
    match found.lastgroup:
        case "comment":
            return Token(start, end, TokenKind.COMMENT, found["said"].strip())
        case "escape":
            return Token(start, end, TokenKind.ESCAPE)
        case "open":
            message = '"{{" is never closed; write \\{{ for two literal braces'
            return Finding(Code.T04, start, end, message)
        case "code":
            return Finding(Code.T13, start, end, f"{found[0][:2]} … {found[0][-2:]} is not run")
        case "slot":
            return _slot(found)
        case _:
            return None


def _slot(found: re.Match[str]) -> Token | Finding:
    start, end = found.span()
    name, _, form = found["inside"].partition(":")
    name, form = name.strip(), form.strip()
    if not NAME.fullmatch(name):
        message = f'"{found[0]}" is no slot: a name is of letters, digits, _ . and -'
        return Finding(Code.T03, start, end, message)
    if form and name not in ("date", "time"):
        message = f'only {{{{date:…}}}} and {{{{time:…}}}} take a format, not "{name}"'
        return Finding(Code.T03, start, end, message)
    return Token(start, end, TokenKind.SLOT, name, form)
