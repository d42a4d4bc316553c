"""What is known of a language by its LSP id: how its comments look, or that it is prose."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Language:
    """One language. `block_comments` are pairs of opener and closer, equal for docstrings."""

    id: str
    prose: bool = False
    line_comment: str = ""
    block_comments: tuple[tuple[str, str], ...] = ()
    suffixes: tuple[str, ...] = ()


def language(name: str) -> Language:
    """The language of that id; one that is not known is code without comments."""
    return _known().get(name) or Language(name)


def language_of(path: PurePath) -> str:
    """The id of the language that files so named are written in, "" if none is known."""
    suffix = path.suffix
    return next((each.id for each in _known().values() if suffix in each.suffixes), "")


@cache
def _known() -> dict[str, Language]:
    tables = tomllib.loads((files("clover_lsp") / "languages.toml").read_text("utf-8"))
    return {
        name: Language(
            name,
            prose=table.get("prose", False),
            line_comment=table.get("line_comment", ""),
            block_comments=tuple((start, end) for start, end in table.get("block_comments", ())),
            suffixes=tuple(table.get("suffixes", ())),
        )
        for name, table in tables.items()
    }
