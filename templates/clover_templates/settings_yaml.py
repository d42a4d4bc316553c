"""The YAML of a settings comment as a tree with places. Scalars stay text: `no` is no boolean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

MAX_CHARS = 64 * 1024
MAX_DEPTH = 8


class SettingsUnreadable(Exception):
    """Why the YAML cannot be read, and the offset in it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar (`text`), a list (`items`) or a mapping (`entries`) at `[start, end)`."""

    start: int
    end: int
    text: str | None = None
    items: tuple[Value, ...] | None = None
    entries: tuple[tuple[Value, Value], ...] | None = None


def read_yaml(text: str) -> Value | None:
    """The tree of a YAML document, None for an empty one. Raises SettingsUnreadable.

    Only plain YAML is read: no aliases (a few lines of them make gigabytes), no tags, one document
    and no more than MAX_DEPTH levels.
    """
    if len(text) > MAX_CHARS:
        raise SettingsUnreadable(f"settings are longer than {MAX_CHARS} characters", 0)
    try:
        return _tree(yaml.parse(text, yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        # "could not find expected ':'" and the like: PyYAML's words say what to do
        problem = " ".join((error.problem or "this is not YAML").split())
        place = _index(error.problem_mark or error.context_mark)
        raise SettingsUnreadable(problem, place) from error
    except yaml.YAMLError as error:
        raise SettingsUnreadable("a character that YAML does not allow", 0) from error
    except (ValueError, OverflowError) as error:  # of an escape for no character: "\UFFFFFFFF"
        raise SettingsUnreadable("an escape that stands for no character", 0) from error


def _tree(events: Iterator[yaml.Event]) -> Value | None:
    roots: list[Value] = []
    # of each open collection its start and the values in it
    opened: list[tuple[int, list[Value]]] = [(0, roots)]
    for event in events:
        start, end = _index(event.start_mark), _index(event.end_mark)
        if isinstance(event, yaml.AliasEvent):
            raise SettingsUnreadable("aliases (*name) are not read: write the value again", start)
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise SettingsUnreadable("tags (!name) are not read: write plain values", start)
        if isinstance(event, yaml.DocumentStartEvent) and roots:
            raise SettingsUnreadable("a second document begins here: keep one", start)
        if isinstance(event, yaml.ScalarEvent):
            opened[-1][1].append(Value(start, end, text=event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((start, []))
            if len(opened) > MAX_DEPTH:
                raise SettingsUnreadable(f"values nest deeper than {MAX_DEPTH} levels", start)
        elif isinstance(event, yaml.CollectionEndEvent):
            start, values = opened.pop()
            opened[-1][1].append(_collection(event, start, end, tuple(values)))
    return roots[0] if roots else None


def _collection(event: yaml.Event, start: int, end: int, values: tuple[Value, ...]) -> Value:
    if isinstance(event, yaml.SequenceEndEvent):
        return Value(start, end, items=values)
    return Value(start, end, entries=tuple(zip(values[::2], values[1::2], strict=True)))


def _index(mark: Any) -> int:
    # the stubs do not agree on the type of a mark
    return int(mark.index) if mark else 0
