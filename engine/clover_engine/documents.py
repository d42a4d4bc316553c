"""Names under which documents' caches are kept: what one user calls a document is that user's."""

from __future__ import annotations

_BETWEEN = "\0"


def of_user(user: str, document: str) -> str:
    """The name of a user's document; unnamed documents, and those of the only user, stay as they
    are. No user can name a document of another: a user's name holds no NUL."""
    return f"{user}{_BETWEEN}{document}" if user and document else document


def owner_of(name: str) -> str:
    """Whose document it is; "" for the only user's."""
    user, between, _ = name.partition(_BETWEEN)
    return user if between else ""
