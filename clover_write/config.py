"""What a user can set: config.toml, then the environment; flags of a command go on top."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from clover_engine.errors import CloverError
from clover_write.profiles import LOCAL, Profile, order, read_profile

APP = "clover-write"
ENGINES = ("process", "inproc", "fake")
PRECISIONS = ("int8", "bf16")


class ConfigError(CloverError):
    """A setting has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of this user on this machine; an opened workspace cannot change them.

    `profile` is the engine that is asked first, "local" or one of `profiles`; files that match
    `never_send` go to none on another machine.
    `threads=0` means one per physical core, at most 8. `cache_mb` bounds what a converted model
    keeps of documents it has read (about 0.025 MB a token); `sources=None` allows every kind of
    source.
    """

    model: str = "coder-0.5b"
    engine: str = "process"
    precision: str = "int8"
    threads: int = 0
    cache_mb: int = 64
    idle_exit_s: float = 900.0
    cache_dir: Path = field(default_factory=lambda: platformdirs.user_cache_path(APP))
    sources: tuple[str, ...] | None = None
    profile: str = LOCAL
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    never_send: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(
            self.engine in ENGINES, f"engine is one of {', '.join(ENGINES)}, not {self.engine!r}"
        )
        _check(
            self.precision in PRECISIONS,
            f"precision is one of {', '.join(PRECISIONS)}, not {self.precision!r}",
        )
        order(self.profile, self.profiles)
        _check(0 <= self.threads <= 256, f"threads is 0 (automatic) to 256, not {self.threads}")
        _check(self.cache_mb > 0, f"cache_mb is 1 or more, not {self.cache_mb}")
        _check(self.idle_exit_s >= 0, f"idle_exit_s is 0 (never) or more, not {self.idle_exit_s}")

    def with_engine(self, engine: str | None, model: str | None = None) -> Config:
        """The local engine, run as `engine` says with `model`, where either says anything."""
        if not engine and not model:
            return self
        return replace(self, engine=engine or self.engine, model=model or self.model, profile=LOCAL)


def config_path() -> Path:
    """Where config.toml is looked for."""
    return platformdirs.user_config_path(APP) / "config.toml"


def families_path() -> Path:
    """Where the user's own families of models are looked for."""
    return config_path().with_name("families.toml")


def load_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Read config.toml and CLOVER_WRITE_* variables. Raises ConfigError naming the setting."""
    values = _read(config_path()) | _from_environment(environment)
    unknown = sorted(set(values) - {item.name for item in fields(Config)})
    _check(not unknown, f"unknown setting {', '.join(unknown)} in {config_path()}")
    converted: dict[str, Any] = {name: _convert(name, value) for name, value in values.items()}
    return Config(**converted)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = {f"CLOVER_WRITE_{item.name.upper()}": item.name for item in fields(Config)}
    return {names[key]: value for key, value in environment.items() if key in names}


def _convert(name: str, value: object) -> object:
    """Bring a TOML value or an environment string to the setting's type."""
    try:
        match name:
            case "threads" | "cache_mb":
                return int(str(value))
            case "idle_exit_s":
                return float(str(value))
            case "cache_dir":
                return Path(str(value)).expanduser()
            case "sources" | "never_send":
                return tuple(value.split(",") if isinstance(value, str) else _strings(value))
            case "profiles":
                return _profiles(value)
            case _:
                return str(value)
    except ValueError as error:
        raise ConfigError(f"setting {name} cannot be {value!r}: {error}") from error


def _profiles(value: object) -> dict[str, Profile]:
    if not isinstance(value, dict):
        raise ValueError("tables are wanted: [profiles.NAME]")
    _check(LOCAL not in value, f"the profile {LOCAL} is this machine's engine: rename yours")
    return {str(name): read_profile(str(name), data) for name, data in value.items()}


def _strings(value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError("a list of names is wanted")
    return [str(item) for item in value]


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)
