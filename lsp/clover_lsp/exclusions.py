"""Documents that get no completions: secrets, excluded languages, binary and very large text."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from urllib.parse import unquote

from clover_lsp.documents import Document
from clover_lsp.settings import Settings

MAX_BYTES = 10 * 1024 * 1024
# compared in lower case with the file's name
SECRET_NAMES = (
    ".env",
    ".env.*",
    ".envrc",
    "*.env",
    ".dev.vars",
    "*.pem",
    "*.key",
    "*.crt",
    "*.cert",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ovpn",
    "*.tfvars",
    "*.tfstate",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "credentials.y*ml",
    "secrets.json",
    "secrets.toml",
    "secrets.y*ml",
)
SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"})


def refusal(document: Document, settings: Settings) -> str | None:
    """Why `document` gets no completions, in words for the user; None if it does."""
    if not settings.enabled:
        return "completions are switched off"
    if is_secret(document.uri, settings.secret_files):
        return "no completions in a file that may hold secrets"
    if document.language in settings.excluded_languages:
        return f"no completions in {document.language} documents"
    if _larger_than(document.text, MAX_BYTES):
        return "no completions in a document over 10 MB"
    if "\0" in document.text:
        return "no completions in a binary file"
    return None


def is_secret(uri: str, patterns: tuple[str, ...] = ()) -> bool:
    """Whether the file's name, or that of the file it links to, is one that secrets have."""
    path = unquote(re.sub(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?", "", re.split("[?#]", uri)[0]))
    return any(_named_secret(each, patterns) for each in (path, _link_target(uri, path)))


def _link_target(uri: str, path: str) -> str:
    if not uri.startswith("file:"):
        return path
    try:
        return os.path.realpath(path)
    except ValueError:
        # no file can have such a name: a NUL or half a surrogate pair
        return path


def _named_secret(path: str, patterns: tuple[str, ...]) -> bool:
    *folders, name = re.split(r"[\\/]", path.lower())
    if not SECRET_FOLDERS.isdisjoint(folders):
        return True
    return any(fnmatchcase(name, pattern.lower()) for pattern in (*SECRET_NAMES, *patterns))


def _larger_than(text: str, limit: int) -> bool:
    if len(text) > limit or 4 * len(text) <= limit:
        return len(text) > limit
    return len(text.encode("utf-8", "surrogatepass")) > limit
