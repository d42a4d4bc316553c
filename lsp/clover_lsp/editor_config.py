"""What a project's `.editorconfig` files ask of a document."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import editorconfig
from editorconfig.exceptions import EditorConfigError

from clover_lsp.uris import local_path

log = logging.getLogger(__name__)

_NAME = ".editorconfig"
_LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_MAX_WIDTH = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """How the text of a file is laid out; None where nothing is asked.

    `indent` is one level of indentation (a tab, or blanks), `tab_width` the columns of a tab.
    """

    indent: str | None = None
    tab_width: int | None = None
    eol: str | None = None
    max_line_length: int | None = None


def layout_of(uri: str) -> Layout | None:
    """The layout that holds for a document (editorconfig.org); None if nothing is asked of it."""
    path = local_path(uri)
    if path is None:
        return None
    files = tuple(_stamp(f"{folder}/{_NAME}") for folder in path.parents)
    return _read(path, files) if any(files) else None


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(file)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=256)
def _read(path: Path, files: tuple[tuple[int, int] | None, ...]) -> Layout | None:
    """The layout of a file while the `.editorconfig` files above it stay as they are."""
    try:
        asked = editorconfig.get_properties(str(path))
    except (EditorConfigError, OSError, UnicodeDecodeError) as error:
        log.warning("an .editorconfig file cannot be read: %s", type(error).__name__)
        return None
    tab_width = _number(asked.get("tab_width"), _MAX_WIDTH)
    layout = Layout(
        indent=_indent(asked.get("indent_style"), asked.get("indent_size"), tab_width),
        tab_width=tab_width,
        eol=_LINE_ENDS.get(asked.get("end_of_line", "")),
        max_line_length=_number(asked.get("max_line_length"), 10_000),
    )
    return None if layout == Layout() else layout


def _indent(style: str | None, size: str | None, tab_width: int | None) -> str | None:
    if style == "tab":
        return "\t"
    width = tab_width if size == "tab" else _number(size, _MAX_WIDTH)
    return " " * width if style == "space" and width else None


def _number(value: str | None, most: int) -> int | None:
    """A number from 1 to `most`; None for `off`, `unset` and whatever else stands there."""
    if value is None or not value.isascii() or not value.isdigit():
        return None
    return int(value) if len(value) < 6 and 1 <= int(value) <= most else None
