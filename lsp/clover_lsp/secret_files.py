"""Files that may hold secrets, by their names and those of their folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase, translate

from clover_lsp.uris import paths

# compared in lower case with the file's name
NAMES = (
    ".env",
    ".env.*",
    ".env-*",
    ".envrc",
    "*.env",
    ".dev.vars",
    "*.pem",
    "*.key",
    "*.crt",
    "*.cert",
    "*.cer",
    "*.der",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.gpg",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ovpn",
    "*.tfvars",
    "*.tfvars.json",
    "*.tfstate",
    "*.tfstate.backup",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    "kubeconfig",
    "credentials",
    "credentials.json",
    "credentials.y*ml",
    "secret.json",
    "secret.y*ml",
    "secrets.json",
    "secrets.toml",
    "secrets.y*ml",
    "service-account*.json",
)
FOLDERS = frozenset(
    {".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".password-store"}
)
# how editors call such a text, also before it has a name
LANGUAGES = frozenset({"dotenv", "env", "pem"})
_NAMED = re.compile("|".join(map(translate, NAMES)))
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def is_secret(uri: str, patterns: Sequence[str] = ()) -> bool:
    """Whether the document, or a file it links to, has a name that secrets have.

    The user's `patterns` are compared with the names of the file and of its folders; those with a
    slash with the end of its path (`private/*.md`), or its beginning up to a folder (`private/`).
    """
    lowered = tuple(pattern.lower() for pattern in patterns)
    return any(_named_secret(path.lower(), lowered) for path in paths(uri))


def holds_key(text: str) -> bool:
    """Whether a private key stands in the text, in the form of RFC 7468."""
    return _KEY.search(text) is not None


def _named_secret(path: str, patterns: Sequence[str]) -> bool:
    *folders, name = re.split(r"[\\/]", path)
    # Windows opens `.env.` and `.env ` as `.env`
    name = name.rstrip(" .")
    if not FOLDERS.isdisjoint(folders) or _NAMED.match(name):
        return True
    return any(_fits(pattern, folders, name) for pattern in patterns)


def _fits(pattern: str, folders: Sequence[str], name: str) -> bool:
    if "/" not in pattern:
        return any(fnmatchcase(each, pattern) for each in (*folders, name))
    whole = "/".join(("", *folders, name))
    inside = "*" if pattern.endswith("/") else ""
    return fnmatchcase(whole, f"*/{pattern.lstrip('/')}{inside}")
