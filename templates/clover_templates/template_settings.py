"""What the settings of a template say, typed: of the document, and of each slot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# filled by the program, see builtins.py
BUILTINS = ("date", "time", "title", "n")


class Numbering(StrEnum):
    """How headings are marked: `##`, `一、（一）1.（1）`, or not at all."""

    MD = "md"
    GONGWEN = "gongwen"
    NONE = "none"


class Mode(StrEnum):
    """Who may word a slot's text."""

    VERBATIM = "verbatim"  # the source's bytes alone
    REWRITE = "rewrite"  # a model may rephrase them
    WRITE = "write"  # a model writes anew


class Missing(StrEnum):
    """What stands where nothing was found for a slot."""

    HOLE = "hole"  # a visible hole: 【待补：X】, TODO(X)
    DROP = "drop"  # nothing


class Leftover(StrEnum):
    """What becomes of text that fits no slot."""

    KEEP = "keep"  # it stands under a heading of its own
    REFUSE = "refuse"  # nothing is done


class Headings(StrEnum):
    """Whose headings a document gets."""

    EXACT = "exact"  # the template's
    KEEP_SOURCE = "keep-source"  # the source's own, where an alias maps them to the template's


class Measure(StrEnum):
    """What a slot's `max` counts: characters that are no blanks, words, sentences, list items."""

    CHARS = "chars"
    WORDS = "words"
    SENTENCES = "sentences"
    ITEMS = "items"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` of `measure`."""

    count: int
    measure: Measure

    def __str__(self) -> str:
        return f"{self.count} {self.measure}"


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often: `least` to `most` times, without end where `most` is None."""

    least: int = 1
    most: int | None = None

    def __str__(self) -> str:
        return f"{self.least}..{'' if self.most is None else self.most}"


ONCE = Repeat(1, 1)


class FormatKind(StrEnum):
    """How a `format` is read."""

    DATE = "date"
    URL = "url"
    INT = "int"
    PATTERN = "pattern"  # a regular expression, in the syntax of RE2


@dataclass(frozen=True, slots=True)
class Format:
    """How a value is written. `form` is the date's format ("" for any) or the expression."""

    kind: FormatKind
    form: str = ""

    def __str__(self) -> str:
        return self.form or self.kind


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """What a slot takes. `missing` None leaves it to the document's settings; `from_vault` limits
    the values to the names of the vault's notes; `line` is the first line that names it, from 1."""

    name: str
    line: int = 1
    implicit: bool = False
    mode: Mode = Mode.VERBATIM
    required: bool = False
    one_of: tuple[str, ...] = ()
    from_vault: bool = False
    format: Format | None = None
    maximum: Limit | None = None
    hint: str = ""
    aliases: tuple[str, ...] = ()
    missing: Missing | None = None
    repeat: Repeat | None = None


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """What holds for the whole template. `aliases` are other names the template is found by."""

    title: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    lang: str = "en"
    numbering: Numbering = Numbering.MD
    leftover: Leftover = Leftover.KEEP
    leftover_heading: str = ""
    missing: Missing = Missing.HOLE
    headings: Headings = Headings.EXACT

    @property
    def unplaced(self) -> str:
        """The heading over text that fits no slot."""
        return self.leftover_heading or ("未归类内容" if self.lang == "zh" else "Unplaced")

    def hole(self, name: str) -> str:
        """What stands where nothing was found for `name`."""
        return f"【待补：{name}】" if self.lang == "zh" else f"TODO({name})"
