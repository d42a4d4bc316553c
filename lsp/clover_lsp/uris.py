"""What a document's URI says about its file: where it lies, and every name it may go by."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from pygls.uris import to_fs_path

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*)?")
_MAX_LINKS = 40  # as many as Linux follows


def local_path(uri: str) -> Path | None:
    """The absolute path of a `file:` URI; None for any other, and for names no file can have.

    Not all clients escape `#` and `?`: in a path they are letters like any other.
    """
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri.replace("#", "%23").replace("?", "%3F"))
    if not path or "\0" in path or not os.path.isabs(path):
        return None
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half a surrogate pair
        return None
    return Path(path)


def files(uri: str) -> list[Path]:
    """The local file of a document and each file it leads to as a link; empty if there is none."""
    path = local_path(uri)
    if path is None:
        return []
    found = [path, Path(os.path.realpath(path))]
    while len(found) < _MAX_LINKS and path.is_symlink():
        path = path.parent / path.readlink()
        found.append(path)
    return list(dict.fromkeys(found))


def paths(uri: str) -> Iterator[str]:
    """Every path that a document of any scheme may stand for, with those it links to: with what
    follows a `#` or `?`, which need not be escaped, and without."""
    found = _SCHEME.match(uri)
    whole = uri[found.end() :] if found else uri
    yield unquote(re.split("[?#]", whole)[0])
    yield unquote(whole)
    yield from map(str, files(uri))
