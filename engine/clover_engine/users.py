"""The users of a network engine, each known by a secret token."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from clover_engine.errors import CloverError

_NAME = re.compile(r"[\w.@-]{1,64}", re.ASCII)
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
SHORTEST = 24  # characters of a token: shorter ones can be guessed


class UsersError(CloverError):
    """The list of users cannot be read, or a line of it is wrong."""


class Users:
    """Who may use the engine. Of tokens only their SHA-256 is kept."""

    def __init__(self, by_hash: Mapping[str, str]) -> None:
        self._by_hash = by_hash

    def __len__(self) -> int:
        return len(set(self._by_hash.values()))

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Users:
        """Lines `NAME TOKEN` or `NAME sha256:HEX`; empty ones and those with `#` first are nothing.
        Raises UsersError, which quotes no token."""
        by_hash: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            fields = line.split()
            if not fields or fields[0].startswith("#"):
                continue
            if len(fields) != 2 or not _NAME.fullmatch(fields[0]):
                raise UsersError(f"line {number} of the users is not NAME TOKEN")
            name, token = fields
            if len(token) < SHORTEST:
                raise UsersError(f"the token of {name} is shorter than {SHORTEST} characters")
            hashed = _HASH.fullmatch(token)
            by_hash[hashed[1] if hashed else _hashed(token)] = name
        if not by_hash:
            raise UsersError("there are no users: nobody could ask this engine anything")
        return cls(by_hash)

    @classmethod
    def read(cls, path: Path) -> Users:
        """The users in a file. Raises UsersError."""
        try:
            return cls.parse(path.read_text(encoding="utf-8").splitlines())
        except (OSError, UnicodeDecodeError) as error:
            raise UsersError(f"{path} cannot be read: {error}") from error

    def known_by(self, authorization: str) -> str | None:
        """The user whose token the value of an Authorization header holds."""
        scheme, _, token = authorization.partition(" ")
        # looked up by its hash, so that how long it takes tells nothing of the tokens there are
        return self._by_hash.get(_hashed(token)) if scheme.lower() == "bearer" else None


def new_token(name: str) -> tuple[str, str]:
    """A token for a new user, and the line for the file of users, which does not hold it."""
    if not _NAME.fullmatch(name):
        raise UsersError(f"{name!r} is no name: letters, digits and . _ @ - only, 64 at most")
    token = secrets.token_urlsafe(32)
    return token, f"{name} sha256:{_hashed(token)}"


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
