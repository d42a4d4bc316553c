"""The tags in use in a folder of notes."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from clover_templates.tags import read_tags

log = logging.getLogger(__name__)

# a folder this large is no vault: what is read of it serves as well as all
MAX_NOTES = 10_000
MAX_NOTE_BYTES = 512 * 1024
# folders that hold other people's notes; hidden ones are passed over as well
_IGNORED = frozenset({"node_modules", "venv", "site-packages", "vendor", "target", "__pycache__"})
_SUFFIXES = (".md", ".markdown")
_MARKS = (".obsidian", ".git")


@dataclass(frozen=True, slots=True)
class _Note:
    """The tags of a note as it was when it had this time and this size."""

    mtime_ns: int
    size: int
    tags: tuple[str, ...]


@dataclass(slots=True)
class Vault:
    """A folder of Markdown notes; a note is read again only when it has changed."""

    folder: Path
    _read: dict[str, _Note] = field(default_factory=dict)

    def tags(self) -> dict[str, int]:
        """Each tag in use and in how many notes, written as most of them write it.

        Hidden notes, links and those of more than MAX_NOTE_BYTES are passed over, and so is what
        comes after MAX_NOTES; what cannot be read has no tags.
        """
        notes = islice(_notes(self.folder), MAX_NOTES)
        self._read = {path: self._current(path) for path in notes}
        spellings = Counter(tag for note in self._read.values() for tag in note.tags)
        counts: Counter[str] = Counter()
        for tag, count in spellings.items():
            counts[tag.casefold()] += count
        # the most common spelling comes last and stays
        names = {tag.casefold(): tag for tag, _ in reversed(spellings.most_common())}
        return {names[key]: count for key, count in counts.items()}

    def _current(self, path: str) -> _Note:
        try:
            stat = os.lstat(path)
            known = self._read.get(path)
            if known and (known.mtime_ns, known.size) == (stat.st_mtime_ns, stat.st_size):
                return known
            tags = _tags(path) if stat.st_size <= MAX_NOTE_BYTES else ()
        except (OSError, UnicodeDecodeError) as error:
            log.debug("a note of the vault cannot be read: %s", type(error).__name__)
            return _Note(0, 0, ())
        return _Note(stat.st_mtime_ns, stat.st_size, tags)


def vault_folder(note: Path) -> Path:
    """The folder of notes that `note` is in: the nearest that Obsidian or git has marked its own,
    else the one it stands in.
    """
    above = note.absolute().parents
    marked = (folder for mark in _MARKS for folder in above if (folder / mark).exists())
    return next(marked, above[0])


def _notes(folder: Path) -> Iterator[str]:
    """The notes below `folder`, those of a folder before those of its folders."""
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            log.debug("a folder of the vault cannot be read: %s", type(error).__name__)
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _IGNORED:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.name.lower().endswith(_SUFFIXES) and entry.is_file(follow_symlinks=False):
                yield entry.path


def _tags(path: str) -> tuple[str, ...]:
    source = Path(path).read_bytes()
    source.decode()
    return read_tags(source)
