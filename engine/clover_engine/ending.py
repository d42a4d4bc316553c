"""Where a hole ends that nothing limits: the end head proposes, the text right of it decides.

The head says at every token how likely the hole ends with it. Where that is likely but not certain,
the model is asked how well the right text follows there: its likelihood tells right ends from wrong
ones far better than anything else does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clover_engine.api import Ends
from clover_engine.seam import beginning, overhang

PLAUSIBLE = 0.2  # the chance from which an end is put to the test
CERTAIN = 0.98  # the chance from which the end head is believed untested
_ALONE = 0.6  # and from which it is where too little stands right of the hole for a test
COMPARED = 4  # tokens of the right text that are to follow
PATIENCE = 6.0  # how much unlikelier a text gets before all its ends are tested
MOST_TESTED = 16  # ends at a time, those that the head holds likeliest
FITTING = -4.0  # their log-likelihood where they do
_LEAST_TEST = 8  # characters of right text that such a test needs
_PROBE = 24  # characters of the right text that are looked for in the hole
_LONG_PROBE = 64  # and where the head finds ends too: repetitive text has the beginning elsewhere
_LEAST_PROBE = 6  # of them must be more than blanks
# a line of another block: neither a closing bracket nor what goes on with the block before
_UNINDENTED = re.compile(r"(?!(?:else|elif|except|finally)\b)(?:\w+\W|[^\w\s)\]}])")


@dataclass(frozen=True, slots=True)
class End:
    """A place where a hole may end: behind so many tokens, its text so many characters long, which
    the end head holds likely with `chance`; `right` is what stands right of it then."""

    tokens: int
    length: int
    chance: float
    right: str


class Ending:
    """Decides, token by token, whether the hole is finished and where its text ends."""

    def __init__(self, left: str, right: str, ends: Ends) -> None:
        self._right = right
        testable = len(right.strip()) >= _LEAST_TEST
        self._plausible, self._certain = (PLAUSIBLE, CERTAIN) if testable else (_ALONE, _ALONE)
        self._learned = ends in (Ends.LEARNED, Ends.BOTH)
        probe = right[: _LONG_PROBE if self._learned else _PROBE]
        ruled = ends in (Ends.RULES, Ends.BOTH) and len(probe.strip()) >= _LEAST_PROBE
        self._probe = probe if ruled else ""
        self._line = left[left.rfind("\n") + 1 :]
        self._scoped = ends in (Ends.RULES, Ends.BOTH) and _in_block(self._line, right)

    def by_rule(self, written: str) -> int | None:
        """The length of the hole's text where the right text begins to be written again."""
        found = written.find(self._probe) if self._probe else -1
        return found if found >= 0 else None

    def by_scope(self, written: str) -> int | None:
        """The length of the hole's text where the indented lines that it belongs to, or has begun,
        are over, while nothing stands right of it or more of those lines do."""
        return _dedent(self._line, written) if self._scoped else None

    def place(self, tokens: int, written: str, last: int, chance: float) -> End | None:
        """The end behind the last of so many tokens, which brought `last` characters, with its
        chance, which is that of a text that begins what stands right of it again. None where no
        end is looked for."""
        if not self._learned or not written:
            return None
        beyond = overhang(written, self._right, last)
        if beyond is None:
            return End(tokens, len(written), 0.0, self._right) if self.is_testable else None
        if self.is_testable and not self._right[beyond:].strip():
            return None
        return End(tokens, len(written) - beyond, chance, self._right[beyond:])

    def is_plausible(self, end: End) -> bool:
        """Whether an end is to be tested, or believed, while there may be others."""
        return end.chance >= self._plausible

    def is_certain(self, end: End) -> bool:
        """Whether a plausible end needs no test."""
        return end.chance >= self._certain

    @property
    def is_testable(self) -> bool:
        """Whether enough stands right of the hole to tell how well it follows."""
        return self._certain > self._plausible

    @property
    def is_line_end(self) -> bool:
        """Whether the hole ends with its line, as the right text has it."""
        return self._right[:1] in ("", "\n")

    def again(self, written: str) -> int:
        """How many characters at the end of `written` repeat the beginning of the right text."""
        repeated = beginning(self._right)
        return len(repeated) if written.endswith(repeated) else 0

    def beyond(self, written: str, last: int) -> int:
        """How many characters of the last token may stand right of the hole already."""
        return overhang(written, self._right, last) or 0


def _in_block(line: str, right: str) -> bool:
    """Whether the first line right of the hole, which begins with `line`, is indented or missing;
    what is left of the hole's own line does not count."""
    lines = right.split("\n")
    lines[0] = line + lines[0] if line.isspace() or not line else ""
    return next((text[0].isspace() for text in lines if text.strip()), True)


def _dedent(line: str, written: str) -> int | None:
    """Where the text ends before a line that is not indented, behind one that is and begins with
    `line`; None where there is none."""
    indented = line[:1].isspace()
    start = 0
    for number, text in enumerate(written.split("\n")):
        if number or not line:
            if _UNINDENTED.match(text):
                if indented:
                    return len(written[:start].rstrip())
            elif text.strip():
                indented = True
        start += len(text) + 1
    return None
