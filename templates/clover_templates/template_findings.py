"""What is wrong with a template (T-codes) or with a document that follows one (D-codes)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from clover_templates.masked_spans import place


class Severity(StrEnum):
    """An error keeps a template from use; a warning says what may surprise."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """The rules of `templates/README.md`, by the names that messages show."""

    T01 = "T01"  # settings that cannot be read
    T02 = "T02"  # settings of a slot the body lacks
    T03 = "T03"  # a slot name that is none
    T04 = "T04"  # "{{" without "}}"
    T05 = "T05"  # a slot in code
    T06 = "T06"  # a heading level is skipped
    T07 = "T07"  # nothing stands between two slots
    T08 = "T08"  # a required slot in an optional section
    T09 = "T09"  # a choice that is none
    T10 = "T10"  # a repetition without a slot
    T11 = "T11"  # two headings are the same
    T12 = "T12"  # more text than one canvas takes
    T13 = "T13"  # code of another template language
    T14 = "T14"  # an unknown setting
    D01 = "D01"  # a required text is missing
    D02 = "D02"  # a section stands in the wrong place
    D03 = "D03"  # a value outside its list
    D04 = "D04"  # a value of another format
    D05 = "D05"  # a value too long
    D06 = "D06"  # a heading the template lacks
    D07 = "D07"  # a hole is left
    D08 = "D08"  # text under the heading for leftovers
    D09 = "D09"  # written text where only source text may stand
    D10 = "D10"  # a locked item is changed
    D11 = "D11"  # a 公文 is written otherwise than is the rule or the practice


WARNINGS = frozenset(
    {Code.T05, Code.T06, Code.T07, Code.T11, Code.T13, Code.D07, Code.D08, Code.D11}
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about `[start, end)`: code points of a template, bytes of a document.

    `expected` is what could stand there instead, "" where there is no single answer. `rule` is the
    line of the template the finding goes back to, None where it is about the template itself.
    """

    code: Code
    start: int
    end: int
    message: str
    expected: str = ""
    rule: int | None = None

    @property
    def severity(self) -> Severity:
        """Whether the template can be used all the same."""
        return Severity.WARNING if self.code in WARNINGS else Severity.ERROR

    def overlaps(self, other: Finding) -> bool:
        """Whether both are about one text."""
        return self.start < other.end and other.start < self.end

    def shown(self, path: str, text: str) -> str:
        """The finding in one line, as compilers show them: `adr.md:12:4 [T04] …`; its offsets are
        code points of `text`."""
        return f"{path}:{place(text, self.start)} [{self.code}] {self.message}"


def errors_of(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that are errors, in order."""
    return tuple(item for item in findings if item.severity is Severity.ERROR)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The one of `words` that `word` is most likely meant to be, "" if none is near."""
    folded = {known.casefold(): known for known in words}
    near = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else ""


def suggestion(word: str, words: Iterable[str]) -> str:
    """`; did you mean "…"?`, or "" where nothing is near: the end of a message."""
    near = did_you_mean(word, words)
    return f'; did you mean "{near}"?' if near else ""
