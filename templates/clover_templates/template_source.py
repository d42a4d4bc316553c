"""The text of a template taken apart: its layout, its marks, and what its settings say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clover_templates.language import language_of
from clover_templates.settings_reader import SettingsReader
from clover_templates.settings_yaml import SettingsUnreadable, read_yaml
from clover_templates.template import Note, NoteKind
from clover_templates.template_findings import Code, Finding
from clover_templates.template_layout import (
    COMMENT,
    Layout,
    guess_numbering,
    line_at,
    read_layout,
)
from clover_templates.template_pieces import note_of, widened
from clover_templates.template_settings import DocumentSettings, Numbering
from clover_templates.template_tokens import Token, TokenKind, read_tokens

_CLOVER = re.compile(r"<!--\s*clover\b[ \t]*")
# under a heading of a template without slots: a quote, or a paragraph all in italics
_PROSE_HINT = re.compile(
    r"\s*(?P<all>(?:>[^\n]*(?:\n(?=>)|(?=\n)|\Z))+|(?P<sign>[*_])[^\s*_](?:[^*_]|\n(?!\r?\n))*(?P=sign))"
    r"(?=[ \t\r]*(?:\n[ \t\r]*(?:\n|\#)|\n?\Z))"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A template's text, cut at no place yet. `marks` are its slots, escapes and notes in order;
    `settings` those of the document, and `reader` knows those of the slots."""

    text: str
    layout: Layout
    marks: tuple[Token | Note, ...]
    reader: SettingsReader
    settings: DocumentSettings
    findings: tuple[Finding, ...]

    @property
    def spaced(self) -> bool:
        """Whether headings stand between blank lines."""
        ends = (heading.end for heading in self.layout.headings)
        return any(end < len(self.text) and not self._line(end).strip() for end in ends)

    def _line(self, offset: int) -> str:
        return self.text[slice(*line_at(self.text, offset))]

    @classmethod
    def of(cls, text: str) -> Source:
        """Take `text` apart; raises nothing."""
        layout, tokens, findings, numbering = _lexed(text, guess_numbering(text))
        reader = _settings_reader(text, tokens)
        settings = reader.document(language_of(COMMENT.sub("", text)), numbering)
        if settings.numbering is not numbering:
            layout, tokens, findings, _ = _lexed(text, settings.numbering)
        marks, misread = _marks(text, tokens, layout)
        if not marks:
            marks = _prose_hints(text, layout)
        return cls(text, layout, tuple(marks), reader, settings, (*findings, *misread))


def _lexed(text: str, numbering: Numbering) -> tuple[Layout, list[Token], list[Finding], Numbering]:
    layout = read_layout(text, numbering)
    return layout, *read_tokens(text, layout.code), numbering


def _settings_reader(text: str, tokens: Sequence[Token]) -> SettingsReader:
    """The reader of the last settings comment; earlier ones and unreadable ones are findings."""
    comments = [token for token in tokens if _is_settings(text, token)]
    findings = [
        Finding(Code.T01, token.start, token.end, "settings stand twice: keep the last comment")
        for token in comments[:-1]
    ]
    if not comments:
        opened = _CLOVER.search(COMMENT.sub(lambda comment: "#" * len(comment[0]), text))
        if opened and not any(token.start <= opened.start() < token.end for token in tokens):
            message = 'the settings are never closed: end them with "-->"'
            findings.append(Finding(Code.T01, *opened.span(), message))
        return SettingsReader(None, 0, findings)
    last = comments[-1]
    opened = _CLOVER.match(text, last.start)
    base = opened.end() if opened else last.start
    try:
        return SettingsReader(read_yaml(text[base : last.end - 3]), base, findings)
    except SettingsUnreadable as error:
        at = base + error.offset
        findings.append(Finding(Code.T01, at, at, f"the settings cannot be read: {error}"))
        return SettingsReader(None, base, findings)


def _is_settings(text: str, token: Token) -> bool:
    return token.kind is TokenKind.COMMENT and _CLOVER.match(text, token.start) is not None


def _marks(
    text: str, tokens: Sequence[Token], layout: Layout
) -> tuple[list[Token | Note], list[Finding]]:
    marks: list[Token | Note] = []
    findings: list[Finding] = []
    floor = 0
    for token in tokens:
        note = note_of(token) if token.kind is TokenKind.COMMENT else token
        if isinstance(note, Finding):
            findings.append(note)
        elif note:
            marks.append(widened(text, note, floor, layout) if isinstance(note, Note) else note)
            floor = marks[-1].end
    return marks, findings


def _prose_hints(text: str, layout: Layout) -> list[Token | Note]:
    """What a template without any slot or comment of ours says in prose under its headings."""
    hints: list[Token | Note] = []
    for heading in layout.headings:
        found = _PROSE_HINT.match(text, heading.end)
        if found:
            said = re.sub(r"^> ?|[*_]|\s+", " ", found["all"], flags=re.MULTILINE)
            note = Note(*found.span("all"), NoteKind.HINT, " ".join(said.split()))
            hints.append(widened(text, note, heading.end, layout))
    return hints
