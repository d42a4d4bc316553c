"""What an editor shows in a template file: findings, hover and completion. Offsets are code
points."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clover_templates.template import Note, NoteKind, Slot, Template
from clover_templates.template_findings import Finding
from clover_templates.template_reader import read_template
from clover_templates.template_settings import BUILTINS, SlotSettings

_HELP = Path(__file__).with_name("template_help.toml")
_OPEN_SLOT = re.compile(r"(?<!\\)\{\{[ \t]*(?P<typed>[\w.-]*)\Z")
_OPEN_COMMENT = re.compile(r"<!--[ \t]*(?P<typed>[a-z:]*)\Z")
_OPEN_SETTINGS = re.compile(r"<!--\s*clover\b(?P<yaml>(?:(?!-->).)*)\Z", re.DOTALL)
_VALUE = re.compile(r"(?P<key>[a-z]+(?: [a-z]+)?):[ \t]+(?P<typed>[^\s{}\[\],:]*)\Z")
_ENTRY = re.compile(r"(?P<key>[^\s:{}\[\]'\"][^:{}\[\]\n]*):")
_WORD = re.compile(r"one of|leftover heading|[\w.-]+")


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about `[start, end)`."""

    start: int
    end: int
    markdown: str


@dataclass(frozen=True, slots=True)
class Completion:
    """`insert` in place of `[start, end)`; `detail` is one line about it."""

    label: str
    detail: str
    start: int
    end: int
    insert: str


def diagnose(text: str, name: str = "") -> tuple[Finding, ...]:
    """What is wrong with the template, in the order of the text."""
    return read_template(text, name).findings


def hover(text: str, offset: int) -> Hover | None:
    """What there is to say about the slot, comment or setting at `offset`."""
    template = read_template(text).template
    for piece in template.pieces():
        if not piece.start <= offset < piece.end:
            continue
        if isinstance(piece, Slot):
            return Hover(piece.start, piece.end, _about_slot(template, piece.name))
        if isinstance(piece, Note) and piece.kind is NoteKind.SETTINGS:
            return _setting_at(template, offset)
        if isinstance(piece, Note):
            word = "hint:" if piece.kind is NoteKind.HINT else piece.text.partition(" ")[0]
            return Hover(piece.start, piece.end, f"**{word}** {texts()['flag'][word]}")
    return None


def complete(text: str, offset: int) -> tuple[Completion, ...]:
    """What can stand at `offset`: slot names, flags, settings and their values."""
    before = text[:offset]
    if settings := _OPEN_SETTINGS.search(before):
        return tuple(_settings(text, offset, settings["yaml"]))
    if slot := _OPEN_SLOT.search(before):
        return tuple(_slots(text, offset, slot["typed"]))
    if comment := _OPEN_COMMENT.search(before):
        end = "" if text[offset:].lstrip(" \t").startswith("-->") else " -->"
        return tuple(_offered(texts()["flag"], comment["typed"], offset, end))
    return ()


@cache
def texts() -> Mapping[str, Any]:
    """What is said about built-in slots, flags, settings and their values, by kind and name."""
    return tomllib.loads(_HELP.read_text(encoding="utf-8"))


def _slots(text: str, offset: int, typed: str) -> Iterator[Completion]:
    end = "" if text.startswith("}}", offset) else "}}"
    # without the name that is being typed
    slots = read_template(text[: offset - len(typed)] + text[offset:]).template.slots
    named = {name: _summary(slot) for name, slot in slots.items() if not slot.implicit}
    for name, detail in {**named, **texts()["builtin"]}.items():
        if name.startswith(typed):
            yield Completion(name, detail, offset - len(typed), offset, name + end)


def _settings(text: str, offset: int, yaml: str) -> Iterator[Completion]:
    line = yaml.rpartition("\n")[2]
    inside = _is_inside(line)
    typed = re.split(r"[{,]", line)[-1].lstrip() if inside else line
    if value := _VALUE.search(line):
        for choice in texts()["values"].get(value["key"], ()):
            if choice.startswith(value["typed"]):
                yield Completion(choice, "", offset - len(value["typed"]), offset, choice)
    elif ":" not in typed:
        yield from _offered(texts()["slot"] if inside else _keys(text), typed, offset, ": ")


def _keys(text: str) -> dict[str, str]:
    """What can stand at the beginning of a line of settings."""
    template = read_template(text).template
    sections = {s.heading: "the section" for s in template.walk() if s.heading}
    slots = {name: _summary(slot) for name, slot in template.slots.items()}
    return {**texts()["document"], **sections, **slots}


def _is_inside(line: str) -> bool:
    """Whether the end of a line of settings is inside a slot's mapping."""
    return line.count("{") > line.count("}") or line[:1] in (" ", "\t")


def _offered(words: Mapping[str, str], typed: str, offset: int, end: str) -> Iterator[Completion]:
    for word, detail in words.items():
        if word.startswith(typed):
            yield Completion(word, detail, offset - len(typed), offset, word + end)


def _setting_at(template: Template, offset: int) -> Hover | None:
    text = template.text
    start = text.rfind("\n", 0, offset) + 1
    key = _ENTRY.match(text, start)
    if key and offset < key.end("key"):
        name = key["key"].strip()
        if name in template.slots:
            about = _about_slot(template, name)
        else:
            about = texts()["document"].get(name, "")
        return Hover(key.start("key"), key.end("key"), about) if about else None
    for word in _WORD.finditer(text, start):
        if word.start() > offset:
            break
        about = texts()["slot"].get(word[0])
        if word.start() <= offset < word.end() and about:
            return Hover(word.start(), word.end(), f"**{word[0]}** {about}")
    return None


def _about_slot(template: Template, name: str) -> str:
    if name in BUILTINS:
        return f"**{name}** {texts()['builtin'][name]}"
    return f"**{name}** {_summary(template.slots[name])}"


def _summary(slot: SlotSettings) -> str:
    """A slot's settings in one line."""
    facts = [
        slot.hint,
        str(slot.mode),
        "required" if slot.required else "",
        f"one of {' | '.join(slot.one_of)}" if slot.one_of else "",
        "a name of the vault" if slot.from_vault else "",
        f"written as {slot.format}" if slot.format else "",
        f"at most {slot.maximum}" if slot.maximum else "",
        f"repeated {slot.repeat}" if slot.repeat else "",
        f"from {', '.join(slot.aliases)}" if slot.aliases else "",
    ]
    return "; ".join(fact for fact in facts if fact)
