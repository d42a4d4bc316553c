"""The YAML of a settings comment as a tree with places. Scalars stay text: `no` is no boolean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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

    Only plain YAML is read: no aliases (a few lines of them make gigabytes), no tags, and no more
    than MAX_DEPTH levels.
    """
    if len(text) > MAX_CHARS:
        raise SettingsUnreadable(f"settings are longer than {MAX_CHARS} characters", 0)
    try:
        _refuse(yaml.parse(text, yaml.SafeLoader))
        root = yaml.compose(text, yaml.SafeLoader)
    except (ValueError, OverflowError) as error:  # of an escape for no character: "\UFFFFFFFF"
        raise SettingsUnreadable("an escape that stands for no character", 0) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsUnreadable(_problem(error), mark.index if mark else 0) from error
    except yaml.YAMLError as error:
        raise SettingsUnreadable("a character that YAML does not allow", 0) from error
    return None if root is None else _value(root)


def _refuse(events: Iterator[yaml.Event]) -> None:
    depth = 0
    for event in events:
        at = event.start_mark.index if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise SettingsUnreadable("aliases (*name) are not read: write the value again", at)
        if getattr(event, "tag", None):
            raise SettingsUnreadable("tags (!name) are not read: write plain values", at)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise SettingsUnreadable(f"values are nested deeper than {MAX_DEPTH} levels", at)


def _problem(error: yaml.MarkedYAMLError) -> str:
    # "could not find expected ':'" and the like: PyYAML's words say what to do
    return " ".join((error.problem or "this is not YAML").split())


def _value(node: yaml.Node) -> Value:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.MappingNode):
        pairs = tuple((_value(key), _value(value)) for key, value in node.value)
        return Value(start, end, entries=pairs)
    if isinstance(node, yaml.SequenceNode):
        return Value(start, end, items=tuple(_value(item) for item in node.value))
    return Value(start, end, text=str(node.value))
