"""A text file that may enter a prompt: read whole, written back byte for byte."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError

if TYPE_CHECKING:
    from clover_lsp.documents import Document

MAX_BYTES = 10 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class FileError(CloverError):
    """The file cannot be read as text, must not be, or cannot be written."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read: its bytes, and the document an editor would show."""

    path: Path
    data: bytes
    document: Document

    def encoded(self, text: str) -> bytes:
        """The bytes of `text` as this file holds it: with its byte order mark, if it has one."""
        return (BOM if self.data.startswith(BOM) else b"") + text.encode()

    def diff(self, text: str) -> bytes:
        """What changes if `text` takes its place, as `patch` reads it."""
        from clover_templates.diff import unified_diff

        diff = unified_diff(self.document.text, text, str(self.path))
        return diff.encode("utf-8", "surrogateescape")

    def replace(self, text: str) -> None:
        """Put `text` in its place in one step; it keeps its mode, and a link keeps its target.

        Raises FileError, and leaves the file alone, if it changed since it was read.
        """
        path = self.path.resolve()
        try:
            if path.read_bytes() != self.data:
                raise FileError(
                    f"{self.path} has changed meanwhile: nothing was written, try again"
                )
            if not os.access(path, os.W_OK):
                raise FileError(
                    f"{self.path} is read-only: make it writable, or print to a new file"
                )
            _write_atomically(path, self.encoded(text))
        except OSError as error:
            raise FileError(f"{self.path} cannot be written: {error}") from error


def read_text_file(path: Path) -> TextFile:
    """The file as an editor would show it. Raises FileError for what is no text to work on."""
    from clover_lsp.documents import Document
    from clover_lsp.exclusions import private
    from clover_lsp.positions import IndexedText

    if path.is_dir():
        raise FileError(f"{path} is a folder: name a file in it")
    try:
        uri = path.absolute().as_uri()
        if reason := private(uri):
            raise FileError(f"{path} {reason}: such files are never read into a prompt")
        if path.stat().st_size > MAX_BYTES:
            raise FileError(f"{path} is larger than 10 MB: work in a smaller file")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist: check the path") from error
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    if b"\0" in data:
        raise FileError(f"{path} is a binary file, it has NUL bytes: name a text file")
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not UTF-8, see byte {error.start}: convert it to UTF-8 first"
        ) from error
    return TextFile(path, data, Document(uri, "", 0, IndexedText.of(text)))


def _write_atomically(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=".clover-write-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o7777)
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise
