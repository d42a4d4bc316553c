"""An answer ends with the block or the section it is in."""

from __future__ import annotations

import re

from clover_lsp.postprocess.indentation import blanks

# how a line of code ends that opens a block, and how one begins that ends a block or parts it
_OPENERS = (":", "{", "(", "[", "=>", "->", "then", "do", "else", "begin")
_CLOSING = re.compile(r"[ \t]*(?:[)\]}]|end\b|fi\b|done\b|esac\b|</)")
_PARTING = re.compile(
    r"[ \t]*(?:}[ \t]*)?(?:else|elif|elsif|except|finally|catch|case|default|rescue|ensure|when)\b"
)
# what begins another section of prose
_SECTION = re.compile(r" {0,3}(?:#{1,6}[ \t]|(?:[-*_][ \t]*){3,}$|={3,}[ \t]*$)")


def within_block(answer: str, before: str) -> str:
    """The answer up to the first line that leaves the block of code the cursor is in.

    Where the cursor's line opens a block, that block is meant, with the line that closes it.
    """
    lines = answer.split("\n")
    first = before + lines[0]
    base = len((blanks(first) if first.strip() else before).expandtabs(4))
    opened = bool(before.strip()) and first.rstrip().endswith(_OPENERS)
    inside = False
    for number, line in enumerate(lines[1:], 1):
        if not line.strip():
            continue
        depth = len(blanks(line).expandtabs(4))
        ends = opened and inside and depth == base and not _parts(line)
        if ends or depth < base:
            return "\n".join(lines[: number + bool(ends and _CLOSING.match(line))])
        inside = inside or depth > base
    return answer


def _parts(line: str) -> bool:
    """Whether the line ends one part of a block and begins the next: `except:`, `} else {`."""
    goes_on = _CLOSING.match(line) and line.rstrip().endswith(_OPENERS)
    return bool(goes_on or _PARTING.match(line))


def within_section(answer: str, before: str) -> str:
    """The answer up to the first line of prose that begins another section or block.

    On a blank line the answer may be a heading, but nothing behind it.
    """
    lines = answer.split("\n")
    begun = bool(before.strip())
    for number, line in enumerate(lines):
        if begun and number and _SECTION.match(line):
            return "\n".join(lines[:number])
        begun = begun or bool(line.strip())
    return answer
