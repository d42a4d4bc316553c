"""The model store: pulls a model once, keeps it converted in the cache, finds it again."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Protocol, TypeAlias

from filelock import FileLock, Timeout

from clover_engine.errors import CloverError, ModelError
from clover_write import __version__
from clover_write.catalog import Model, known_models
from clover_write.sources import KINDS, Download, SourceError

MANIFEST = "manifest.json"
LICENSE = "LICENSE.txt"
# room the converted model takes, per byte of the file: about 1.5 for int8 made from Q4_K_M
CONVERTED_RATIO = 1.6


class StoreError(CloverError):
    """The store cannot do what was asked."""


class UnknownModel(StoreError):
    """No model has this name."""


class ModelMissing(ModelError):
    """The model is known but has not been pulled."""


class PullFailed(StoreError):
    """No source served the file; bytes that arrived are kept and continued next time."""


class Damaged(StoreError):
    """The file is not the one models.toml names: cut short, or other bytes."""


class DiskError(StoreError):
    """No space left, or the cache folder cannot be written."""


class Progress(Protocol):
    """Who is told how a pull goes."""

    def note(self, line: str) -> None:
        """Something happened that the user should know: a source is tried, or gave up."""
        ...

    def step(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` bytes of a stage ("downloading", ...) are through."""
        ...


class Silent:
    """Tells nobody."""

    def note(self, line: str) -> None:
        """Drop the line."""

    def step(self, stage: str, done: int, total: int) -> None:
        """Drop the figures."""


_SILENT = Silent()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands beside a pulled model: which file it was made from, by whom served, and how."""

    name: str
    file: str
    sha256: str
    source: str
    format: int
    license: str
    program: str


Convert: TypeAlias = Callable[[Path, Path, Callable[[float], None]], int]
"""Make a model folder from a GGUF file, telling the fraction done; returns the format's version."""


def engine_convert(gguf: Path, folder: Path, progress: Callable[[float], None]) -> int:
    """The engine's converter. Raises ModelError for a file it does not know."""
    # imports torch, which nothing but a conversion needs here
    from clover_engine.convert import FORMAT, convert_gguf

    convert_gguf(gguf, folder, progress)
    return FORMAT


class Store:
    """The models under one cache folder: `models/NAME/` ready to run, `pulling/` on their way.

    `sources` names the kinds of source that may be used; None allows all.
    """

    def __init__(
        self,
        cache_dir: Path,
        sources: tuple[str, ...] | None = None,
        *,
        models: Mapping[str, Model] | None = None,
        convert: Convert = engine_convert,
    ) -> None:
        self._cache_dir = cache_dir
        self._workshop = Workshop(cache_dir)
        self._sources = KINDS if sources is None else sources
        self._models = known_models() if models is None else models
        self._convert = convert
        if unknown := sorted(set(self._sources) - set(KINDS)):
            raise StoreError(f"no source is called {unknown[0]!r}: choose from {', '.join(KINDS)}")

    def models(self) -> tuple[Model, ...]:
        """Every model that can be pulled."""
        return tuple(self._models.values())

    def model(self, name: str) -> Model:
        """The entry of that name. Raises UnknownModel."""
        if name not in self._models:
            raise UnknownModel(
                f"no model is called {name!r}: choose from {', '.join(self._models)}"
            )
        return self._models[name]

    def path(self, name: str) -> Path:
        """The model's folder, whether it is there yet or not. Raises UnknownModel."""
        return self._cache_dir / "models" / self.model(name).name

    def manifest(self, name: str) -> Manifest | None:
        """What the pulled model is; None while it is not pulled, or pulled from another file."""
        path = self.path(name) / MANIFEST
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            manifest = Manifest(**{item.name: facts[item.name] for item in fields(Manifest)})
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _disk_error(error, self._cache_dir) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{path} is damaged: run `clover-write models rm {name}` and pull again"
            ) from error
        return manifest if manifest.sha256 == self.model(name).sha256 else None

    def facts(self, name: str) -> dict[str, str]:
        """What is known of a model, by label. Raises UnknownModel."""
        model, manifest = self.model(name), self.manifest(name)
        facts = {
            "title": model.title,
            "family": model.family,
            "licence": model.license,
            "file": f"{model.file}, {model.size} bytes",
            "sha256": model.sha256,
            "sources": ", ".join(source.kind for source in model.sources),
        }
        return facts | ({"format": str(manifest.format)} if manifest else {})

    def require(self, name: str) -> Path:
        """The folder of a model that is ready to run. Raises UnknownModel, ModelMissing."""
        if self.manifest(name) is None:
            raise ModelMissing(
                f"the model {name} is not on this machine: run `clover-write models pull {name}`"
            )
        return self.path(name)

    def pull(
        self, name: str, from_path: Path | None = None, progress: Progress = _SILENT
    ) -> Manifest:
        """Get the model, unless it is there: download or read `from_path`, verify, convert.

        `from_path` is the GGUF file or a folder that holds it. Raises StoreError, ModelError.
        """
        model = self.model(name)
        if manifest := self.manifest(name):
            return manifest
        with self._workshop.locked(name, progress):
            # another process may have pulled it while this one waited
            if manifest := self.manifest(name):
                return manifest
            with self._workplace(model) as work:
                if from_path is not None:
                    return self._pull_from_file(model, from_path, work, progress)
                return self._pull_from_sources(model, work, progress)

    def remove(self, name: str) -> int:
        """Delete a model and what a broken pull of it left. Returns the bytes freed."""
        target = self.path(name)
        with self._workshop.locked(name, Silent(), wait=False):
            folders = (target, self._cache_dir / "pulling" / name)
            freed = sum(folder_bytes(folder) for folder in folders)
            for folder in filter(Path.exists, folders):
                shutil.rmtree(folder)
            return freed

    def _pull_from_file(self, model: Model, path: Path, work: Path, progress: Progress) -> Manifest:
        gguf = _local_file(model, path, progress)
        self._check_space(model, work)
        return self._install(model, gguf, "file", work, progress)

    def _pull_from_sources(self, model: Model, work: Path, progress: Progress) -> Manifest:
        part = work / model.file
        self._check_space(model, work, model.size - (part.stat().st_size if part.exists() else 0))
        try:
            source = self._download(model, part, progress)
            manifest = self._install(model, part, source, work, progress)
        except (OSError, ModelError):
            # give the space back: these bytes cannot be continued
            part.unlink(missing_ok=True)
            raise
        part.unlink()
        return manifest

    def _download(self, model: Model, part: Path, progress: Progress) -> str:
        """Complete and verify `part`. Returns the kind of source that served it."""
        reasons: list[str] = []
        download = Download(
            model.file,
            model.size,
            part,
            lambda done: progress.step("downloading", done, model.size),
        )
        for source in model.sources:
            if source.kind not in self._sources:
                reasons.append(f"{source.kind} is turned off")
                continue
            progress.note(f"trying {source.kind}")
            before = download.have
            try:
                source.fetch(download)
                _verify(model, part, progress)
                return source.kind if download.have > before else "earlier pull"
            except SourceError as error:
                reasons.append(f"{source.kind}: {error}")
            except Damaged as error:
                part.unlink()
                reasons.append(f"{source.kind}: {error}")
            progress.note(reasons[-1])
        raise PullFailed(
            f"no source served {model.name} ({'; '.join(reasons)}): check the network and run it "
            f"again, or get {model.file} yourself and add --from PATH"
        )

    def _install(
        self, model: Model, gguf: Path, source: str, work: Path, progress: Progress
    ) -> Manifest:
        """Convert into a folder of its own, then put it in place by one rename."""
        folder = work / "converted"
        folder.mkdir()
        version = self._convert(
            gguf,
            folder,
            lambda part: progress.step("converting", int(part * model.size), model.size),
        )
        manifest = Manifest(
            name=model.name,
            file=model.file,
            sha256=model.sha256,
            source=source,
            format=version,
            license=model.license,
            program=__version__,
        )
        (folder / LICENSE).write_text(model.license_text, encoding="utf-8")
        (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), encoding="utf-8")
        self._workshop.install(folder, self.path(model.name))
        return manifest

    def _check_space(self, model: Model, work: Path, missing: int = 0) -> None:
        """Refuse to begin what cannot end: `missing` bytes to download and the converted model."""
        need = missing + int(model.size * CONVERTED_RATIO)
        free = shutil.disk_usage(work).free
        if free < need:
            raise DiskError(
                f"{model.name} needs {need / 1e9:.1f} GB free in {self._cache_dir} while it is "
                f"pulled, and {free / 1e9:.1f} GB are: make room, or set CLOVER_WRITE_CACHE_DIR"
            )

    @contextmanager
    def _workplace(self, model: Model) -> Iterator[Path]:
        """A folder for one pull; of a pull that broke off, only the bytes to continue stay."""
        folder = self._workshop.place(model.name)
        _clear(folder, keep=model.file)
        try:
            yield folder
        finally:
            _clear(folder, keep=model.file)
            if not any(folder.iterdir()):
                folder.rmdir()


class Workshop:
    """Where pulls work: one at a time on each model, moved into place when they are through."""

    def __init__(self, cache_dir: Path) -> None:
        self._cache_dir = cache_dir

    def place(self, name: str) -> Path:
        """The folder for a pull, which a broken one leaves for the next."""
        folder = self._cache_dir / "pulling" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def install(self, folder: Path, target: Path) -> None:
        """Put a finished folder in place by one rename."""
        _flush(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        folder.replace(target)

    @contextmanager
    def locked(self, name: str, progress: Progress, wait: bool = True) -> Iterator[None]:
        """One process at a time works on a model; also turns disk errors into typed ones."""
        try:
            (self._cache_dir / "pulling").mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._cache_dir / "pulling" / f"{name}.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                if not wait:
                    raise StoreError(f"{name} is being pulled: try again later") from error
                progress.note(f"{name} is being pulled by another process: waiting for it")
                lock.acquire()
            try:
                yield
            finally:
                lock.release()
        except OSError as error:
            raise _disk_error(error, self._cache_dir) from error


def folder_bytes(folder: Path) -> int:
    """What a folder's files hold, in bytes; 0 for a folder that is not there."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _local_file(model: Model, path: Path, progress: Progress) -> Path:
    gguf = path / model.file if path.is_dir() else path
    if not gguf.is_file():
        raise StoreError(f"there is no file {gguf}: --from takes {model.file} or its folder")
    try:
        _verify(model, gguf, progress)
    except Damaged as error:
        raise Damaged(f"{gguf} is not the file of {model.name} ({error}): get it again") from error
    return gguf


def _verify(model: Model, path: Path, progress: Progress) -> None:
    """Compare size and sha256; the latter alone makes a file the right one. Raises Damaged."""
    size = path.stat().st_size
    if size != model.size:
        raise Damaged(f"{size} bytes where {model.size} belong")
    progress.step("verifying", 0, size)
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    progress.step("verifying", size, size)
    if found != model.sha256:
        raise Damaged(f"wrong sha256 {found}")


def _clear(folder: Path, keep: str) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != keep:
            path.unlink()


def _flush(folder: Path) -> None:
    """Bring the files to disk before the rename does, or a power cut could leave empty ones."""
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _disk_error(error: OSError, cache_dir: Path) -> DiskError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskError(
            f"no space left in {cache_dir}: make room, or point CLOVER_WRITE_CACHE_DIR elsewhere"
        )
    return DiskError(
        f"cannot use {error.filename or cache_dir}: {error.strerror or error}; "
        "check its permissions, or set CLOVER_WRITE_CACHE_DIR to another folder"
    )
