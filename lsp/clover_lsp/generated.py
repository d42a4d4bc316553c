"""Files that a program wrote: lock files, minified ones, and those that say so themselves."""

from __future__ import annotations

import re
from fnmatch import translate

from clover_lsp.documents import Document
from clover_lsp.languages import language
from clover_lsp.uris import paths

# compared in lower case with the file's name
NAMES = (
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "*.lockb",
    "*.lockfile",
    "go.sum",
    "*.min.js",
    "*.min.css",
    "*.min.mjs",
    "*.map",
    "*.bundle.js",
    "*_pb2.py",
    "*_pb2.pyi",
    "*_pb2_grpc.py",
    "*.pb.go",
    "*.pb.cc",
    "*.pb.h",
    "*.g.dart",
    "*.freezed.dart",
    "*.designer.cs",
    "*.g.cs",
    "*.generated.*",
)
_NAMED = re.compile("|".join(map(translate, NAMES)))
_HEAD = 2000  # characters in which a file says that it is generated
# characters a line has on average, in code that nobody typed
_LONG_LINES = 400
# only in a comment: code may well be about such words
_MARKER = re.compile(
    r"^[ \t]*(?:#|//|/?\*|--|;|<!--|%|\"\"\"|\(\*|\.\.|REM\b).*"
    r"(?:@generated\b|\bDO NOT (?:EDIT|MODIFY)\b"
    r"|(?i:\bgenerated (?:by|from|file|code)\b.*\bdo not (?:edit|modify|change)\b)"
    r"|(?i:\bdo not (?:edit|modify|change)\b.*\bgenerated\b)"
    r"|自动生成.*(?:请勿|不要|勿)(?:手动)?(?:修改|编辑|更改))",
    re.MULTILINE,
)


def is_generated(document: Document) -> bool:
    """Whether a program wrote this file, as far as its name, its head and its lines tell."""
    names = (re.split(r"[\\/]", path.lower())[-1] for path in paths(document.uri))
    if any(_NAMED.match(name) for name in names) or _MARKER.search(document.text[:_HEAD]):
        return True
    # a paragraph of prose is one line in many editors
    lines = len(document.content.starts)
    long = len(document.text) > _HEAD and len(document.text) / lines > _LONG_LINES
    return long and not language(document.language).prose
