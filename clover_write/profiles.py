"""Profiles: the engines that a user may have text sent to, and what is never sent."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from clover_engine.errors import CloverError

ENGINE = "engine"
KINDS = (ENGINE, "llama.cpp", "openai", "sglang", "vllm")
LOCAL = "local"
_SCHEMES = {True: ("ws", "wss"), False: ("http", "https")}


class ProfileError(CloverError):
    """A profile cannot be used like this."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One engine beside the local one.

    `kind` is "engine" for `clover-write engine --listen`, else what serves there. `token` says
    where the secret is, never what: `env:NAME` or `keyring:SERVICE/NAME`. `model` and `path` are
    for servers with several; `ca_file` holds certificates trusted beside the system's. `fallback`
    are the profiles that are asked in turn where this one does not answer. Raises ProfileError.
    """

    name: str
    url: str
    kind: str = ENGINE
    token: str = ""
    model: str = ""
    path: str = ""
    ca_file: Path | None = None
    fallback: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            self._refuse(f"kind is one of {', '.join(KINDS)}, not {self.kind!r}")
        url = urlsplit(self.url)
        allowed = _SCHEMES[self.kind == ENGINE]
        if url.scheme not in allowed or not url.hostname or url.username or url.password:
            schemes = " or ".join(f"{scheme}://" for scheme in allowed)
            self._refuse(f"url begins with {schemes} and holds no password")
        if url.scheme in ("ws", "http") and not self.is_local:
            self._refuse(f"{url.scheme}:// sends text in the clear: use {url.scheme}s://")
        if self.token and self.token.partition(":")[0] not in ("env", "keyring"):
            self._refuse("token says where it is: env:NAME or keyring:SERVICE/NAME")

    @property
    def host(self) -> str:
        """The machine, as the status names it."""
        return urlsplit(self.url).netloc

    @property
    def is_local(self) -> bool:
        """Whether its engine runs on this machine: nothing leaves it then."""
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def secret(self, environment: Mapping[str, str] = os.environ) -> str:
        """The token itself. Raises ProfileError where it cannot be had."""
        kind, _, place = self.token.partition(":")
        if not kind:
            return ""
        found = environment.get(place) if kind == "env" else self._from_keyring(place)
        if not found or not found.isascii() or not found.isprintable():
            self._refuse(f"there is no token in {self.token}")
        return found

    def _from_keyring(self, place: str) -> str | None:
        try:
            import keyring
            from keyring.errors import KeyringError
        except ImportError:
            self._refuse(f"{self.token} needs the keyring package: pip install keyring")
        service, _, name = place.rpartition("/")
        try:
            return keyring.get_password(service, name)
        except KeyringError as error:
            self._refuse(f"the keyring does not open: {error}")

    def _refuse(self, why: str) -> NoReturn:
        raise ProfileError(f"profile {self.name}: {why}")


def read_profile(name: str, data: object) -> Profile:
    """A table of config.toml. Raises ProfileError."""
    if not isinstance(data, dict):
        raise ProfileError(f"profile {name}: a table is wanted")
    known = {item.name for item in fields(Profile)} - {"name"}
    if unknown := sorted(set(data) - known):
        raise ProfileError(f"profile {name}: unknown setting {', '.join(unknown)}")
    if "url" not in data:
        raise ProfileError(f"profile {name}: url is missing")
    return Profile(name, **{key: _read(name, key, value) for key, value in data.items()})


def _read(name: str, key: str, value: object) -> Any:
    if key == "fallback":
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ProfileError(f"profile {name}: fallback is a list of names")
    if not isinstance(value, str):
        raise ProfileError(f"profile {name}: {key} is a string")
    return Path(value).expanduser() if key == "ca_file" else value


def order(profile: str, profiles: Mapping[str, Profile]) -> list[str]:
    """The names of the engines that are asked in turn, each once. Raises ProfileError."""
    names = [profile]
    for name in names:
        if name == LOCAL:
            continue
        if name not in profiles:
            raise ProfileError(f"there is no profile {name!r} in config.toml")
        names += [other for other in profiles[name].fallback if other not in names]
    return names
