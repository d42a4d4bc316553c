"""Reads settings from the tree of a settings comment; what is wrong becomes findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

import re2

from clover_templates.dates import is_date_format
from clover_templates.settings_yaml import Value
from clover_templates.template_findings import Code, Finding, suggestion
from clover_templates.template_settings import (
    BUILTINS,
    DocumentSettings,
    Format,
    FormatKind,
    Headings,
    Leftover,
    Limit,
    Measure,
    Missing,
    Mode,
    Numbering,
    Repeat,
    SlotSettings,
)

_LIMIT = re.compile(r"([0-9]{1,6}) *(chars|words|sentences|items)")
_REPEAT = re.compile(r"([0-9]{1,4})(\.\.([0-9]{1,4})?)?")
_Named = TypeVar("_Named", bound=StrEnum)


class _BadValue(Exception):
    """What a setting takes; its key and place are added where it is caught."""

    def __init__(self, expected: str, code: Code = Code.T14) -> None:
        super().__init__(expected)
        self.code = code


@dataclass(frozen=True, slots=True)
class SectionSettings:
    """What settings may say of a section that has more slots than one, or none."""

    hint: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(slots=True)
class SettingsReader:
    """Reads one settings comment whose YAML begins at offset `base` of the template."""

    root: Value | None
    base: int
    findings: list[Finding] = field(default_factory=list)

    def document(self, lang: str, numbering: Numbering) -> DocumentSettings:
        """The settings of the document; `lang` and `numbering` are what the text looks like."""
        settings = DocumentSettings(lang=lang, numbering=numbering)
        entries = [(key, value) for key, value in self._entries(self.root) if value.entries is None]
        return replace(settings, **self._fields(entries, _DOCUMENT))

    def slots(
        self, known: Mapping[str, SlotSettings], headings: Collection[str]
    ) -> tuple[dict[str, SlotSettings], dict[str, SectionSettings]]:
        """The settings of the slots, by name, and of the sections that are named by heading.

        Entries that are no mapping belong to the document, if it knows them.
        """
        slots, sections = dict(known), dict[str, SectionSettings]()
        for key, value in self._entries(self.root):
            name = key.text or ""
            if value.entries is None:
                self._check_document_key(key, known)
            elif name in slots:
                slots[name] = replace(slots[name], **self._fields(self._entries(value), _SLOT))
            elif name in headings:
                fields = self._fields(self._entries(value), _SECTION, "of a section")
                sections[name] = SectionSettings(**fields)
            else:
                self._report(Code.T02, key, _lacking(name, [*slots, *headings]))
        return slots, sections

    def _check_document_key(self, key: Value, slots: Collection[str]) -> None:
        name = key.text or ""
        if name in _DOCUMENT:
            return
        message = f'unknown setting "{name}"{suggestion(name, _DOCUMENT)}'
        if name in slots:
            message = f'settings of the slot "{name}" are a mapping: write {name}: {{…: …}}'
        self._report(Code.T14, key, message)

    def _entries(self, value: Value | None) -> Sequence[tuple[Value, Value]]:
        """The pairs of a mapping, each key once; a settings comment that is none is a finding."""
        if value is None:
            return ()
        if value.entries is None:
            self._report(Code.T01, value, "settings are a mapping: write name: value")
            return ()
        pairs: dict[str, tuple[Value, Value]] = {}
        for key, entry in value.entries:
            if key.text is None:
                self._report(Code.T01, key, "the name of a setting is plain text")
            elif key.text in pairs:
                self._report(Code.T01, key, f'"{key.text}" is set twice: keep one')
            else:
                pairs[key.text] = (key, entry)
        return tuple(pairs.values())

    def _fields(
        self, entries: Sequence[tuple[Value, Value]], known: Mapping[str, _Setting], of: str = ""
    ) -> dict[str, Any]:
        """The values of the known settings among `entries`, by the field they go to."""
        fields: dict[str, Any] = {}
        for key, value in entries:
            name = key.text or ""
            if name not in known:
                # the document's unknown keys are told by `slots`, which knows the slots' names
                if known is not _DOCUMENT:
                    no = f'"{name}" is no setting {of}' if of else f'unknown setting "{name}"'
                    self._report(Code.T14, key, no + suggestion(name, known))
                continue
            target, read = known[name]
            try:
                fields |= {target: read(value)} if target else read(value)
            except _BadValue as bad:
                self._report(bad.code, value, f'"{name}" takes {bad}')
        return fields

    def _report(self, code: Code, value: Value, message: str) -> None:
        # one finding for one place: a comment that is read twice is reported once
        found = Finding(code, self.base + value.start, self.base + value.end, message)
        if found not in self.findings:
            self.findings.append(found)


def read_repeat(text: str) -> Repeat | None:
    """`2..5`, `0..`, `3`; None for what is none of these."""
    found = _REPEAT.fullmatch(text.strip())
    if not found:
        return None
    least = int(found[1])
    most = (int(found[3]) if found[3] else None) if found[2] else least
    return None if most is not None and (most < least or most == 0) else Repeat(least, most)


def _lacking(name: str, names: Collection[str]) -> str:
    if name in BUILTINS:
        return f'"{name}" is filled by the program and takes no settings'
    return f'settings name the slot "{name}", which the body lacks{suggestion(name, names)}'


def _text(value: Value) -> str:
    if value.text is None:
        raise _BadValue("text")
    return " ".join(value.text.split())


def _texts(value: Value) -> tuple[str, ...]:
    texts = [_text(item) for item in value.items] if value.items is not None else [_text(value)]
    if not all(texts):
        raise _BadValue("a list of texts, none of them empty: [first, second]")
    return tuple(dict.fromkeys(texts))


def _yes_or_no(value: Value) -> bool:
    if value.text not in ("true", "false"):
        raise _BadValue("true or false")
    return value.text == "true"


def _one(kind: type[_Named]) -> Callable[[Value], _Named]:
    def read(value: Value) -> _Named:
        for member in kind:
            if value.text == member:
                return member
        raise _BadValue(f"{' | '.join(kind)}{suggestion(value.text or '', list(kind))}")

    return read


def _lang(value: Value) -> str:
    if value.text not in ("en", "zh"):
        raise _BadValue("en | zh")
    return value.text


def _limit(value: Value) -> Limit:
    found = _LIMIT.fullmatch(value.text or "")
    if not found or int(found[1]) == 0:
        raise _BadValue("a number and chars | words | sentences | items: 4 sentences")
    return Limit(int(found[1]), Measure(found[2]))


def _repeat(value: Value) -> Repeat:
    repeat = read_repeat(value.text or "")
    if repeat is None:
        raise _BadValue("how often, as 2..5, 0.. or 3")
    return repeat


def _choices(value: Value) -> dict[str, Any]:
    if value.text == "vault":
        return {"from_vault": True}
    choices = [_text(item) for item in value.items or ()]
    if len(set(choices)) != len(choices) or len(choices) < 2 or not all(choices):
        raise _BadValue("two different values or more: [open, closed], or vault", Code.T09)
    return {"one_of": tuple(choices)}


def _format(value: Value) -> Format:
    form = value.text or ""
    if form in ("date", "url", "int"):
        return Format(FormatKind(form))
    if is_date_format(form):
        return Format(FormatKind.DATE, form)
    if not form or pattern(form) is None:
        raise _BadValue("date | url | int, a date format (YYYY-MM-DD) or a regular expression")
    return Format(FormatKind.PATTERN, form)


def pattern(form: str) -> Any | None:
    """The expression compiled by RE2, whose time is linear in the text: templates come with
    workspaces, and those may be anyone's. None where it is no expression."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(form, options)
    except re2.error:
        return None


_Setting = tuple[str, Callable[[Value], Any]]
_SECTION: dict[str, _Setting] = {"hint": ("hint", _text), "aliases": ("aliases", _texts)}
_SLOT: dict[str, _Setting] = {
    **_SECTION,
    "mode": ("mode", _one(Mode)),
    "required": ("required", _yes_or_no),
    "one of": ("", _choices),
    "format": ("format", _format),
    "max": ("maximum", _limit),
    "missing": ("missing", _one(Missing)),
    "repeat": ("repeat", _repeat),
}
_DOCUMENT: dict[str, _Setting] = {
    "title": ("title", _text),
    "description": ("description", _text),
    "aliases": ("aliases", _texts),
    "lang": ("lang", _lang),
    "numbering": ("numbering", _one(Numbering)),
    "leftover": ("leftover", _one(Leftover)),
    "leftover heading": ("leftover_heading", _text),
    "missing": ("missing", _one(Missing)),
    "headings": ("headings", _one(Headings)),
}
SLOT_SETTINGS = tuple(_SLOT)
DOCUMENT_SETTINGS = tuple(_DOCUMENT)
