"""A template's text line by line, and what becomes of a slot that stands in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from clover_templates.template import Literal, Part, Slot, Template, Unit
from clover_templates.template_settings import BUILTINS, Missing


def lines_of(parts: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Parts line by line; a repeated unit is a line for itself."""
    line: list[Part] = []
    for part in parts:
        if isinstance(part, Unit):
            if line:
                yield tuple(line)
            yield (part,)
            line = []
        elif isinstance(part, Literal):
            for text in part.text.splitlines(keepends=True):
                line.append(replace(part, text=text))
                if text.endswith("\n"):
                    yield tuple(line)
                    line = []
        else:
            line.append(part)
    if line:
        yield tuple(line)


def is_form(slot: Slot, template: Template) -> bool:
    """Whether a slot that is alone on its line takes a value there, not blocks."""
    settings = template.slots.get(slot.name)
    if slot.name in BUILTINS or settings is None:
        return True
    again = [piece for piece in template.pieces() if isinstance(piece, Slot)]
    named = sum(piece.name == slot.name for piece in again)
    return bool(settings.format or settings.one_of) or named > 1


def drops(slot: Slot, template: Template) -> bool:
    """Whether nothing stands where there is no value for a slot."""
    settings = template.slots.get(slot.name)
    missing = (settings and settings.missing) or template.settings.missing
    return missing is Missing.DROP


def is_dropped(line: Sequence[Part], template: Template) -> bool:
    """Whether a line is nothing but slots that may be left away, and words around them."""
    slots = [part for part in line if isinstance(part, Slot)]
    return bool(slots) and all(drops(slot, template) for slot in slots)


def keys_of(template: Template) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """The keys of the template's front matter, each with its line."""
    for line in [*lines_of(template.front_matter)][1:-1]:
        first = line[0]
        if isinstance(first, Literal) and ":" in first.text and first.text[0].isalpha():
            yield first.text.split(":")[0].strip(), line
