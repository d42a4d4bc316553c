"""Families of models as data: how each is recognised, asked and decoded (families.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from clover_engine.errors import ModelError, UnknownFamily
from clover_engine.remasking import Order, Remasking


class Attention(StrEnum):
    """What a token of the canvas sees."""

    CAUSAL = "causal"  # what stands left of it
    FULL = "full"  # both sides
    BLOCK = "block"  # finished blocks, and all of its own


class Prefix(StrEnum):
    """How a block family reads prompts and finished blocks."""

    CAUSAL = "causal"  # as a causal model: blocks may begin anywhere
    BLOCK = "block"  # block by block: blocks begin at multiples of their length


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn for a mask: the likeliest at temperature 0."""

    temperature: float = 0.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Edits:
    """Placed tokens that a block's later steps may change (LLaDA2.1's joint threshold): where
    another token is likelier than `threshold`, for at most `steps` steps behind the last mask."""

    threshold: float = 0.0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """A published model of a family: its hub id, parameters in billions, and licence."""

    id: str
    billions: float
    license: str

    @property
    def nbytes(self) -> float:
        """What its weights take in bf16, in which all of them are published."""
        return self.billions * 2e9

    def is_called(self, id: str) -> bool:
        """Whether an id or a folder's name is this model's."""
        return self.id.rpartition("/")[2].lower() == id.rpartition("/")[2].lower()


@dataclass(frozen=True, slots=True)
class Family:
    """How models of one family are recognised, asked and decoded; families.toml says more.

    Tokens are named as in the tokenizer, or by id where the name is not known.
    """

    name: str
    infill: tuple[str, ...]
    end: tuple[str | int, ...]
    architectures: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    backbone: str = ""
    attention: Attention = Attention.CAUSAL
    prefix: Prefix = Prefix.CAUSAL
    block_length: int = 0
    sub_block: int = 0
    refresh: int = 1
    shift: bool = False
    ends_holes: bool = False
    mask: str | int = ""
    expand: str | int = ""
    delete: str | int = ""
    project: str = ""
    file: str = ""
    remasking: Remasking = field(default_factory=Remasking)
    sampling: Sampling = field(default_factory=Sampling)
    edits: Edits = field(default_factory=Edits)
    switches: Mapping[str, Any] = field(default_factory=dict)
    renames: tuple[tuple[re.Pattern[str], str], ...] = ()
    models: tuple[Known, ...] = ()


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a checkpoint's family: its config.json, its tokens by name, and its hub id or the
    name of its folder."""

    config: Mapping[str, Any]
    tokens: Mapping[str, int]
    id: str = ""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that config.json names, under `architectures` or else in `auto_map`."""
        named = self.config.get("architectures") or self.config.get("auto_map", {}).values()
        return tuple(str(one).rpartition(".")[2] for one in named)


class Registry:
    """All families by name: those that ship, changed and joined by the user's own."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = {family.name: family for family in families}

    def __iter__(self) -> Iterator[Family]:
        return iter(self._families.values())

    def named(self, name: str) -> Family:
        """One family. Raises UnknownFamily."""
        if name not in self._families:
            raise UnknownFamily(
                f"no family is called {name!r}: choose from {', '.join(self._families)}"
            )
        return self._families[name]

    def recognised(self, signs: Signs) -> Family:
        """The family of a checkpoint, by its class; of several that have it the one that has
        published it, else the first whose model type and tokens agree. A model type alone tells
        nothing: other models call themselves llama or qwen2 too. Raises UnknownFamily, which names
        the nearest.
        """
        candidates = [
            family
            for family in self._families.values()
            if not set(signs.classes).isdisjoint(family.architectures)
        ]
        if not candidates:
            raise UnknownFamily(self._unknown(signs))
        for family in candidates:
            if any(known.is_called(signs.id) for known in family.models):
                return family
        kind = signs.config.get("model_type")
        for family in candidates:
            if _agrees(family, kind, signs.tokens):
                return family
        wanted = ", ".join(f"{one.name} has {one.mask!r}" for one in candidates)
        raise UnknownFamily(
            f"this {' '.join(signs.classes)} of type {kind!r} lacks the mask token of a family "
            f"({wanted}): without one a model cannot denoise"
        )

    def _unknown(self, signs: Signs) -> str:
        found = ", ".join(signs.classes) or "none"
        code = "; the code it brings along is never run" if "auto_map" in signs.config else ""
        known = {name: one for one in self._families.values() for name in one.architectures}
        nearest = get_close_matches(found, known, n=1, cutoff=0.0)[0]
        return (
            f"no family has the architecture {found}{code}: the nearest is {nearest}, family "
            f"{known[nearest].name}; a families.toml beside config.toml can describe another"
        )


def load_registry(own: Path | None = None) -> Registry:
    """The families that ship; tables of the user's TOML file change them or describe new ones.

    Raises ModelError naming the file and what is wrong in it.
    """
    text = files("clover_engine").joinpath("families.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    if own is not None and own.is_file():
        try:
            for name, table in tomllib.loads(own.read_text("utf-8")).items():
                tables[name] = tables.get(name, {}) | table
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
            raise ModelError(f"{own} is no table of families: {error}") from error
    try:
        return Registry([_family(name, tables) for name in tables])
    except (TypeError, ValueError, KeyError, re.error) as error:
        raise ModelError(f"{own or 'families.toml'}: a family cannot be read: {error}") from error


def load_family(name: str) -> Family:
    """One of the families that ship. Raises UnknownFamily."""
    return load_registry().named(name)


def _agrees(family: Family, kind: str | None, tokens: Mapping[str, int]) -> bool:
    wanted = [token for token in (family.mask, family.expand) if token != ""]
    known = not family.model_types or kind in family.model_types
    return known and all(token in tokens or token in tokens.values() for token in wanted)


def _family(name: str, tables: Mapping[str, Mapping[str, Any]]) -> Family:
    """A table as a family; what it leaves out is as in the one it is `like`."""
    table = dict(tables[name])
    for _ in tables:
        if "like" in table:
            base = tables[table.pop("like")]
            table = {key: base[key] for key in base if key != "models"} | table
    unknown = table.keys() - {item.name for item in fields(Family)}
    if unknown:
        raise ValueError(f"{name} has no setting {sorted(unknown)[0]!r}")
    return Family(name=name, **{key: _setting(key, value) for key, value in table.items()})


def _setting(key: str, value: Any) -> Any:
    match key:
        case "attention":
            return Attention(value)
        case "prefix":
            return Prefix(value)
        case "remasking":
            return Remasking(**(value | {"order": Order(value.get("order", Order.CONFIDENCE))}))
        case "sampling":
            return Sampling(**value)
        case "edits":
            return Edits(**value)
        case "renames":
            return tuple((re.compile(pattern), to) for pattern, to in value)
        case "models":
            return tuple(Known(**one) for one in value)
        case _:
            return tuple(value) if isinstance(value, list) else value
