"""Checkpoints of hub repositories in the cache, as their makers publish them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeAlias

from clover_engine.errors import ModelError
from clover_engine.family import Registry
from clover_write import __version__
from clover_write.hub import LISTINGS, HubFile, Listing
from clover_write.sources import Download, SourceError
from clover_write.store import (
    MANIFEST,
    DiskError,
    ModelMissing,
    Progress,
    PullFailed,
    Silent,
    StoreError,
    UnknownModel,
    Workshop,
    folder_bytes,
)

_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_SHARDS_LEFT_OUT = "consolidated"  # the same weights once more, in another layout

Check: TypeAlias = Callable[[Path, str, bool], str]
"""Recognise the checkpoint in a folder by its id, and with its weights (true) check all tensors.
Returns the family's name. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """What stands beside a pulled checkpoint."""

    id: str
    family: str
    revision: str
    source: str
    license: str
    program: str


class Repositories:
    """Pulled checkpoints by their hub id, `OWNER/NAME`, and the published ones that are known."""

    def __init__(
        self, cache_dir: Path, sources: Sequence[str], registry: Registry, check: Check
    ) -> None:
        self._workshop = Workshop(cache_dir)
        self._folder = cache_dir / "models"
        self._sources = sources
        self._check = check
        self._known = {
            known.id: (known, family.name) for family in registry for known in family.models
        }

    def ids(self) -> list[str]:
        """Published models, and others that are in the cache."""
        manifests = sorted(self._folder.glob(f"*--*/{MANIFEST}"))
        pulled = [found.id for path in manifests if (found := _read(path))]
        return [*self._known, *(id for id in pulled if id not in self._known)]

    def _license(self, id: str) -> str:
        known = self._known.get(id)
        return known[0].license if known else "see the repository"

    def pulled(self) -> list[Checkpointed]:
        """All checkpoints in the cache."""
        manifests = sorted(self._folder.glob(f"*--*/{MANIFEST}"))
        return [found for path in manifests if (found := _read(path)) is not None]

    def facts(self, id: str) -> dict[str, str]:
        """What is known of a checkpoint, by label. Raises UnknownModel for what is no id."""
        manifest, known = self.manifest(id), self._known.get(id)
        nbytes = folder_bytes(self.path(id)) if manifest else known[0].nbytes if known else 0.0
        facts = {
            "family": manifest.family if manifest else known[1] if known else "told when pulled",
            "licence": self._license(id),
            "sources": ", ".join(LISTINGS),
        }
        if nbytes:
            facts["size"] = f"{nbytes / 1e9:.1f} GB in bf16"
            facts["device"] = device_for(nbytes)
        if manifest and manifest.revision:
            facts["revision"] = manifest.revision
        return facts

    def path(self, id: str) -> Path:
        """The folder of a checkpoint, there or not. Raises UnknownModel for what is no id."""
        if not _ID.fullmatch(id):
            raise UnknownModel(f"{id!r} is no hub id: write OWNER/NAME")
        return self._folder / id.replace("/", "--")

    def manifest(self, id: str) -> Checkpointed | None:
        """What a pulled checkpoint is; None while it is not pulled. Raises ModelError."""
        return _read(self.path(id) / MANIFEST)

    def require(self, id: str) -> Path:
        """The folder of a checkpoint that is ready to run. Raises ModelMissing."""
        if self.manifest(id) is None:
            raise ModelMissing(
                f"the model {id} is not on this machine: run `clover-write models pull {id}`"
            )
        return self.path(id)

    def pull(self, id: str, from_path: Path | None, progress: Progress) -> Checkpointed:
        """Get a checkpoint, unless it is there: its settings first, so that an unknown family is
        told before any weights are fetched. Raises StoreError, ModelError."""
        if manifest := self.manifest(id):
            return manifest
        name = self.path(id).name
        with self._workshop.locked(name, progress):
            if manifest := self.manifest(id):
                return manifest
            work = self._workshop.place(name)
            if from_path is not None:
                revision, source = "", "file"
                _copy(from_path, work, progress)
            else:
                listing = self._fetch(id, work, progress)
                revision, source = listing.source.revision, listing.source.kind
            family = self._checked(work, id)
            manifest = Checkpointed(
                id=id,
                family=family,
                revision=revision,
                source=source,
                license=self._license(id),
                program=__version__,
            )
            (work / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), encoding="utf-8")
            self._workshop.install(work, self.path(id))
            return manifest

    def remove(self, id: str) -> int:
        """Delete a checkpoint and what a broken pull of it left. Returns the bytes freed."""
        name = self.path(id).name
        with self._workshop.locked(name, Silent(), wait=False):
            folders = (self.path(id), self._workshop.place(name))
            freed = sum(map(folder_bytes, folders))
            for folder in filter(Path.exists, folders):
                shutil.rmtree(folder)
            return freed

    def _checked(self, work: Path, id: str) -> str:
        """The family of a whole checkpoint; one that is none is not kept."""
        try:
            return self._check(work, id, True)
        except ModelError:
            shutil.rmtree(work)
            raise

    def _fetch(self, id: str, work: Path, progress: Progress) -> Listing:
        """All files of the first source that serves them, each verified."""
        reasons: list[str] = []
        for kind, listing_of in LISTINGS.items():
            if kind not in self._sources:
                reasons.append(f"{kind} is turned off")
                continue
            progress.note(f"trying {kind}")
            try:
                listing = listing_of(id)
                self._fetch_files(listing, id, work, progress)
                return listing
            except SourceError as error:
                reasons.append(f"{kind}: {error}")
            progress.note(reasons[-1])
        raise PullFailed(
            f"no source served {id} ({'; '.join(reasons)}): check the name and the network, or get "
            "its files yourself and add --from FOLDER"
        )

    def _fetch_files(self, listing: Listing, id: str, work: Path, progress: Progress) -> None:
        settings = [file for file in listing.files if not file.is_weights]
        for file in settings:
            _fetch_one(listing, file, work, progress)
        self._check(work, id, False)
        weights = _shards(work, listing)
        missing = sum(file.size for file in weights) - folder_bytes(work)
        free = shutil.disk_usage(work).free
        if free < missing:
            raise DiskError(
                f"{id} needs {missing / 1e9:.1f} GB more, and {free / 1e9:.1f} GB are free: make "
                "room, or set CLOVER_WRITE_CACHE_DIR"
            )
        for file in weights:
            _fetch_one(listing, file, work, progress)


def _read(path: Path) -> Checkpointed | None:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return Checkpointed(**{item.name: facts[item.name] for item in fields(Checkpointed)})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is damaged: remove its folder and pull again") from error


def _shards(work: Path, listing: Listing) -> list[HubFile]:
    """The weights to fetch: those of the index where there is one."""
    index = work / "model.safetensors.index.json"
    weights = [file for file in listing.files if file.is_weights]
    if index.exists():
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return [file for file in weights if file.name in named]
    return [file for file in weights if not file.name.startswith(_SHARDS_LEFT_OUT)]


def _fetch_one(listing: Listing, file: HubFile, work: Path, progress: Progress) -> None:
    path = work / file.name
    if path.exists() and path.stat().st_size > file.size:
        path.unlink()
    download = Download(
        file.name, file.size, path, lambda done: progress.step(file.name, done, file.size)
    )
    listing.source.fetch(download)
    if not file.is_whole(path):
        path.unlink()
        raise SourceError(f"{file.name} arrived with other bytes than the hub has")


def _copy(folder: Path, work: Path, progress: Progress) -> None:
    """Take a checkpoint from a folder: settings and weights, no code."""
    if not folder.is_dir():
        raise StoreError(f"{folder} is no folder: --from takes one that holds config.json")
    kinds = ("*.json", "*.safetensors", "merges.txt")
    for path in sorted(path for kind in kinds for path in folder.glob(kind)):
        if path.name != MANIFEST:
            shutil.copyfile(path, work / path.name)
            progress.step(path.name, path.stat().st_size, path.stat().st_size)


# memory of graphics cards, in GB, that people have
_CARDS = (8, 12, 16, 24, 32, 48, 80, 96, 141, 192)
_BESIDE = 1.5  # GB that caches, activations and the CUDA context take beside the weights
_SMALL = 2.5  # GB of weights with which a CPU answers while one waits


def device_for(nbytes: float) -> str:
    """The smallest device that weights of so many bytes fit."""
    gigabytes = nbytes / 1e9
    if gigabytes <= _SMALL:
        return "CPU"
    need = gigabytes + _BESIDE
    card = next((card for card in _CARDS if card >= need), None)
    return f"{card} GB GPU" if card else "none alone"
