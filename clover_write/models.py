"""Where a model's name leads: to a converted model, a pulled checkpoint, or a folder."""

from __future__ import annotations

from pathlib import Path

from clover_engine.family import load_registry
from clover_write.config import Config, families_path
from clover_write.repositories import Repositories
from clover_write.sources import KINDS
from clover_write.store import Store, UnknownModel


def model_name(name: str) -> str:
    """A name as the user types it: that of a folder becomes its full path, for the engine runs
    elsewhere."""
    path = Path(name).expanduser()
    return str(path.resolve()) if (path / "config.json").is_file() else name


def model_folder(config: Config) -> Path:
    """The folder of the configured model. Raises UnknownModel, ModelMissing."""
    path = Path(config.model).expanduser()
    if path.is_absolute():
        if not (path / "config.json").is_file():
            raise UnknownModel(f"{path} is no checkpoint folder: it has no config.json")
        return path
    if is_hub_id(config.model):
        return repositories(config).require(config.model)
    return Store(config.cache_dir, config.sources).require(config.model)


def is_hub_id(name: str) -> bool:
    """Whether a name is OWNER/NAME, and not that of a converted model."""
    return "/" in name


def repositories(config: Config) -> Repositories:
    """The checkpoints in the cache; new ones are checked by the engine."""
    sources = KINDS if config.sources is None else config.sources
    return Repositories(config.cache_dir, sources, load_registry(families_path()), check)


def check(folder: Path, id: str, whole: bool) -> str:
    """The engine's check. Raises ModelError."""
    # imports torch, which nothing but a pull needs here
    from clover_engine.opening import check_checkpoint

    return check_checkpoint(folder, id, whole, families_path())
