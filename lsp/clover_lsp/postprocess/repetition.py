"""Answers that go round in circles."""

from __future__ import annotations

import re

from clover_lsp.postprocess.cjk import is_ideograph
from clover_lsp.postprocess.overlap import is_telling

# so often a text stands behind itself before it is a loop, short ones and long ones
_TIMES, _TIMES_LONG, _LONG = 4, 3, 10
_LINES_TIMES = 3
_LONGEST = 60
_MOST_LINES = 10


def without_line_loop(line: str) -> str:
    """A line that ends in the same words over and over, with them once.

    Signs and digits may repeat, and one letter: a rule, a row of zeros, `XXXX`.
    """
    for size in range(2, min(_LONGEST, len(line) // 2) + 1):
        unit = line[-size:]
        if unit != line[-2 * size : -size] or len(set(filter(str.isalpha, unit))) < 2:
            continue
        start = len(line) - size
        while start and line[start - 1] == line[start - 1 + size]:
            start -= 1
        times = _TIMES_LONG if size >= _LONG else _TIMES
        # the blank before the first time may be missing
        if len(line) - start + 1 >= times * size:
            return line[: start + size]
    return line


def without_loops(answer: str) -> str:
    """The answer with what repeats, in a line or line after line, once; what follows is cut."""
    lines = answer.split("\n")
    for number, line in enumerate(lines):
        shorter = without_line_loop(line)
        if shorter != line:
            return "\n".join([*lines[:number], shorter])
    for size in range(1, min(_MOST_LINES, len(lines) // _LINES_TIMES) + 1):
        for start in range(len(lines) - _LINES_TIMES * size + 1):
            block = lines[start : start + size]
            whole = block * _LINES_TIMES
            if lines[start : start + len(whole)] == whole and any(map(is_telling, block)):
                return "\n".join(lines[: start + size])
    return answer


def without_line_above(answer: str, before: str, above: str) -> str:
    """The answer without the lines it begins with that stand right above it already.

    `before` is the line left of the cursor, `above` the lines above. What the cursor's line holds
    is not written again either. Lines that tell nothing may repeat.
    """
    begun = before.strip()
    if _is_echo(begun, answer):
        return answer.lstrip().removeprefix(begun)
    if begun and not answer.startswith("\n"):
        return answer
    upper = [line.strip() for line in (above + before).split("\n") if line.strip()]
    lines = answer.split("\n")
    full = [number for number, line in enumerate(lines) if line.strip()]
    written = [lines[number].strip() for number in full]
    for count in range(min(len(upper), len(written), _MOST_LINES), 0, -1):
        if written[:count] == upper[-count:] and any(map(is_telling, written[:count])):
            kept = lines[full[count - 1] + 1 :]
            return "\n".join(["", *kept] if begun and kept else kept)
    return answer


def _is_echo(begun: str, answer: str) -> bool:
    """Whether `answer` begins like its line did. Fewer than three signs agree by chance, of
    ideographs fewer than two; ` for` does with ` forward`."""
    rest = answer.lstrip().removeprefix(begun)
    if not is_telling(begun) or sum(1 + is_ideograph(sign) for sign in begun) < 3:
        return False
    new_word = answer[:1].isspace() and begun[-1].isalnum() and not is_ideograph(begun[-1])
    return len(rest) < len(answer.lstrip()) and not (new_word and re.match(r"\w", rest))
