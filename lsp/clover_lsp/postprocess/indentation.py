"""How a document indents, and answers that do it otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

_WIDTHS = (2, 3, 4, 8)
# what a line that opens a block ends with: the next one is indented by one step
_OPENERS = (":", "{", "(", "[")
# arguments on lines of their own are indented as one likes
_BLOCK_OPENERS = (":", "{")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")


@dataclass(frozen=True, slots=True)
class Indentation:
    """One step of indentation: a tab, shown `width` columns wide, or so many blanks."""

    tabs: bool
    width: int = 4

    @classmethod
    def of(cls, step: str | None) -> Indentation | None:
        """The indentation whose step is a tab or so many blanks, None for none."""
        return cls("\t" in step, 4 if "\t" in step else len(step)) if step else None

    @property
    def step(self) -> str:
        """The signs of one step."""
        return "\t" if self.tabs else " " * self.width


def blanks(line: str) -> str:
    """The blanks and tabs a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def indentation_of(lines: list[str]) -> Indentation | None:
    """How most of the indented lines do it, None where too little is indented to tell."""
    heads = [blanks(line) for line in lines if line.strip()]
    tabs = sum(head.startswith("\t") for head in heads)
    spaces = sum(head.startswith("  ") for head in heads)
    if not tabs and not spaces:
        return None
    if tabs >= spaces:
        return Indentation(tabs=True)
    widths = [len(head) for head in heads if not head.startswith("\t")]
    deeper = Counter(b - a for a, b in pairwise(widths) if b - a in _WIDTHS)
    if deeper:
        return Indentation(tabs=False, width=deeper.most_common(1)[0][0])
    least = min(width for width in widths if width >= 2)
    return Indentation(tabs=False, width=least) if least in _WIDTHS else None


def indented_as(answer: str, before: str, style: Indentation | None) -> str:
    """The answer with its lines indented in the document's style.

    `before` is the line left of the cursor. Blocks of code in an answer keep theirs, and so does
    what is aligned with something above it.
    """
    if style is None or ("\n" not in answer and before.strip()):
        return answer
    lines = answer.split("\n")
    # of the line the cursor is in, indentation is what is not yet followed by text
    whole = [before + lines[0], *lines[1:]]
    convert = _to_tabs(whole, style) if style.tabs else _to_spaces(whole, style)
    made: list[str] = []
    fenced = False
    for number, line in enumerate(lines):
        fence = bool(_FENCE.match(line))
        if line.strip() and not (fenced and not fence) and (number or not before.strip()):
            line = convert(line) if number or not before else _first(line, before, convert)
        fenced ^= fence
        made.append(line)
    return "\n".join(made)


def _first(line: str, before: str, convert: Callable[[str], str]) -> str:
    """The first line's part of an indentation that begins left of the cursor."""
    whole = convert(before + line)
    return whole.removeprefix(before) if whole.startswith(before) else line


def _to_tabs(lines: list[str], style: Indentation) -> Callable[[str], str]:
    step = _step(lines, style.width) or style.width

    def convert(line: str) -> str:
        head, text = blanks(line), line.lstrip(" \t")
        spaces = head.count(" ")
        if not spaces:
            return line
        # ` * ` goes on with a block comment
        star = " " if text.startswith("*") and spaces % step == 1 else ""
        tabs = head.count("\t") + -(-(spaces - len(star)) // step)
        return "\t" * tabs + star + text

    return convert


def _to_spaces(lines: list[str], style: Indentation) -> Callable[[str], str]:
    base, step = _width(lines[0], style.width), _step(lines, style.width)
    widths = [_width(line, style.width) for line in lines[1:] if line.strip()]
    scaled = step and step != style.width and all((width - base) % step == 0 for width in widths)

    def convert(line: str) -> str:
        head, text = blanks(line), line.lstrip(" \t")
        if " " in head and "\t" in head:
            return line  # aligned with something, whatever a tab's width is there
        head = head.expandtabs(style.width)
        deeper = len(head) - base
        if scaled and step and deeper > 0:
            head = " " * (base + deeper // step * style.width)
        return head + text

    return convert


def _width(line: str, tab: int) -> int:
    return len(blanks(line).expandtabs(tab))


def _step(lines: list[str], tab: int) -> int | None:
    """By how many blanks the lines indent a block, None where they open none or do not agree."""
    steps = {
        _width(lower, tab) - _width(upper, tab)
        for upper, lower in pairwise(line for line in lines if line.strip())
        if upper.rstrip().endswith(_BLOCK_OPENERS) or (_ITEM.match(upper) and _ITEM.match(lower))
    }
    steps = {step for step in steps if step > 0}
    return steps.pop() if len(steps) == 1 else None


def continued(answer: str, before: str, above: str, style: Indentation | None) -> str:
    """The answer without the indentation that stands left of the cursor already.

    Where the line is still blank, a model may begin it anew: what it writes of blanks counts only
    as far as the line above asks for a deeper block than the cursor's.
    """
    lead = blanks(answer)
    if before.strip() or not before or not lead or answer.startswith("\n"):
        return answer
    upper = next((line for line in reversed(above.split("\n")) if line.strip()), "")
    wanted = blanks(upper)
    if upper.rstrip().endswith(_OPENERS):
        wanted += (style or Indentation(tabs="\t" in wanted)).step
    missing = wanted.removeprefix(before) if wanted.startswith(before) else ""
    if len(lead) < len(missing):
        missing = ""
    return missing + answer.removeprefix(lead)
