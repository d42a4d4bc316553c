"""The models this program knows: what each one is and where its file comes from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from clover_write.sources import HuggingFace, ModelScope, PackageIndex, Part, Source


@dataclass(frozen=True, slots=True)
class Model:
    """One entry of models.toml: a single GGUF file of `size` bytes, and its sources in order."""

    name: str
    title: str
    family: str
    license: str
    license_file: str
    file: str
    size: int
    sha256: str
    sources: tuple[Source, ...]

    @property
    def license_text(self) -> str:
        """The licence the weights come under, as its owner wrote it."""
        return (files("clover_write") / "licenses" / self.license_file).read_text(encoding="utf-8")


def known_models() -> dict[str, Model]:
    """The shipped models.toml, by name."""
    text = (files("clover_write") / "models.toml").read_text(encoding="utf-8")
    models = [_model(**entry) for entry in tomllib.loads(text)["models"]]
    return {model.name: model for model in models}


def _model(sources: list[dict[str, Any]], **facts: Any) -> Model:
    return Model(sources=tuple(_source(**source) for source in sources), **facts)


def _source(kind: str, **facts: Any) -> Source:
    match kind:
        case HuggingFace.kind:
            return HuggingFace(**facts)
        case ModelScope.kind:
            return ModelScope(**facts)
        case PackageIndex.kind:
            return PackageIndex(tuple(Part(**part) for part in facts["parts"]))
        case _:
            raise ValueError(f"models.toml: no source is of kind {kind!r}")
