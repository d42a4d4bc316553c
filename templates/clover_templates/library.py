"""Finds templates: those shipped with the program, the user's, and the workspace's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from clover_engine.errors import CloverError
from clover_templates.template import Template
from clover_templates.template_findings import did_you_mean, errors_of
from clover_templates.template_reader import Reading, read_template

MAX_BYTES = 256 * 1024
SUFFIXES = (".md", ".markdown", ".txt")
WORKSPACE_FOLDER = Path(".clover", "templates")
_BOM = b"\xef\xbb\xbf"
_SHIPPED = (Path(__file__).parent / "en", Path(__file__).parent / "zh")


class TemplateError(CloverError):
    """A template that is not there or cannot be used."""


class Origin(StrEnum):
    """Where a template comes from."""

    SHIPPED = "shipped"
    USER = "user"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of templates; each is named as its file is, without the suffix."""

    folder: Path
    origin: Origin

    def holds(self, path: Path) -> bool:
        """Whether this is a file of the shelf; a workspace may be anyone's, and a link in it that
        leads elsewhere is none."""
        inside = path.resolve().is_relative_to(self.folder.resolve())
        return path.is_file() and (inside or self.origin is not Origin.WORKSPACE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A template in the library: its file and what is in it."""

    path: Path
    origin: Origin
    reading: Reading

    @property
    def template(self) -> Template:
        """The template, which may have errors."""
        return self.reading.template

    @property
    def names(self) -> tuple[str, ...]:
        """What it is found by: its name first, its title and its aliases."""
        settings = self.template.settings
        return (self.template.name, self.template.title, *settings.aliases)


@dataclass(frozen=True, slots=True)
class Library:
    """The templates of some shelves; on the first that has a name it is looked for."""

    shelves: tuple[Shelf, ...]

    @classmethod
    def of(cls, user_folder: Path | None = None, workspaces: Sequence[Path] = ()) -> Library:
        """Workspace templates stand before the user's, and those before the shipped ones."""
        shelves = [Shelf(folder / WORKSPACE_FOLDER, Origin.WORKSPACE) for folder in workspaces]
        if user_folder:
            shelves.append(Shelf(user_folder, Origin.USER))
        return cls((*shelves, *(Shelf(folder, Origin.SHIPPED) for folder in _SHIPPED)))

    def entries(self) -> tuple[Entry, ...]:
        """Every template that can be read as text, by name; of several of a name the first.

        Raises TemplateError for a file that is no text.
        """
        found = {name: load(path, origin) for name, path, origin in self._files()}
        return tuple(found[name] for name in sorted(found))

    def find(self, name: str) -> Entry:
        """The template of this name, title or alias, in any case.

        Raises TemplateError when there is none, with the name that is most like it, and when it
        has errors.
        """
        for known, path, origin in self._files():
            if known == name:
                return _usable(load(path, origin))
        entries = self.entries()
        wanted = name.strip().casefold()
        for entry in entries:
            if wanted in (known.casefold() for known in entry.names):
                return _usable(entry)
        near = did_you_mean(name, [known for entry in entries for known in entry.names])
        advice = f'did you mean "{near}"?' if near else "`clover-write templates list` has all"
        raise TemplateError(f'there is no template "{name}"; {advice}')

    def _files(self) -> Iterator[tuple[str, Path, Origin]]:
        seen: set[str] = set()
        for shelf in self.shelves:
            if not shelf.folder.is_dir():
                continue
            for path in sorted(shelf.folder.iterdir()):
                if path.suffix in SUFFIXES and shelf.holds(path) and path.stem not in seen:
                    seen.add(path.stem)
                    yield path.stem, path, shelf.origin


def load(path: Path, origin: Origin = Origin.USER) -> Entry:
    """Read the template of a file. Raises TemplateError where that is no text."""
    try:
        stat = path.stat()
        if stat.st_size > MAX_BYTES:
            raise TemplateError(f"{path} is larger than {MAX_BYTES // 1024} KB: no template is")
        return Entry(path, origin, _read(path, stat.st_mtime_ns, stat.st_size))
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path} cannot be read as a template: {error}") from error


@lru_cache(maxsize=256)
def _read(path: Path, _mtime: int, _size: int) -> Reading:
    """The template of a file as it was at a time: editors ask for all of them again and again."""
    return read_template(path.read_bytes().removeprefix(_BOM).decode(), path.stem)


def _usable(entry: Entry) -> Entry:
    if errors := errors_of(entry.reading.findings):
        raise TemplateError(errors[0].shown(str(entry.path), entry.template.text))
    return entry
