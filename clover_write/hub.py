"""What a model hub says is in a repository: names, sizes and checksums of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_write import __version__
from clover_write.sources import CONNECT_S, READ_S, HuggingFace, ModelScope, SourceError

# what a checkpoint is made of; code, pickles and other formats of the same weights stay there
_WANTED = frozenset(
    {
        "config.json",
        "generation_config.json",
        "model.safetensors.index.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
        "merges.txt",
        "added_tokens.json",
    }
)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository: its sha256, or where the hub keeps none, git's sha1 of it."""

    name: str
    size: int
    sha256: str
    sha1: str = ""

    @property
    def is_weights(self) -> bool:
        """Whether it is a shard."""
        return self.name.endswith(".safetensors")

    def is_whole(self, path: Path) -> bool:
        """Whether a file on disk is this one, to the byte."""
        if path.stat().st_size != self.size:
            return False
        with path.open("rb") as file:
            if self.sha256:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
            digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            return digest.hexdigest() == self.sha1


@dataclass(frozen=True, slots=True)
class Listing:
    """What a repository has at one revision, and from where its files are fetched."""

    source: HuggingFace | ModelScope
    files: tuple[HubFile, ...]


def huggingface_listing(id: str) -> Listing:
    """The newest revision on the Hugging Face hub. Raises SourceError."""
    from huggingface_hub import get_token
    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        raise SourceError("HF_HUB_OFFLINE is set")
    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    found = _json(f"{ENDPOINT}/api/models/{id}?blobs=true", headers)
    try:
        files = tuple(
            HubFile(
                name=entry["rfilename"],
                size=int(entry["size"]),
                sha256=(entry.get("lfs") or {}).get("sha256", ""),
                sha1=entry.get("blobId", ""),
            )
            for entry in found["siblings"]
            if _is_wanted(entry["rfilename"])
        )
        return Listing(HuggingFace(id, found["sha"]), files)
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"the hub's list of {id} cannot be read: {error!r}") from error


def modelscope_listing(id: str) -> Listing:
    """The newest revision on ModelScope. Raises SourceError."""
    source = ModelScope(id, "master")
    url = f"{source.endpoint}/api/v1/models/{id}/repo/files?Revision=master&Recursive=false"
    found = _json(url, {})
    try:
        files = tuple(
            HubFile(name=entry["Path"], size=int(entry["Size"]), sha256=entry["Sha256"])
            for entry in found["Data"]["Files"]
            if entry["Type"] == "blob" and _is_wanted(entry["Path"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(f"the hub's list of {id} cannot be read: {error!r}") from error
    return Listing(source, files)


LISTINGS = {HuggingFace.kind: huggingface_listing, ModelScope.kind: modelscope_listing}


def _is_wanted(name: str) -> bool:
    # a name with a folder in it is a variant, or none of ours
    return name in _WANTED or (name.endswith(".safetensors") and Path(name).name == name)


def _json(url: str, headers: Mapping[str, str]) -> Any:
    import httpx2

    timeout = httpx2.Timeout(READ_S, connect=CONNECT_S)
    agent = {"User-Agent": f"clover-write/{__version__}"}
    try:
        with httpx2.Client(follow_redirects=True, timeout=timeout) as client:
            response = client.get(url, headers={**headers, **agent})
        if not response.is_success:
            raise SourceError(f"{response.url.host} answered {response.status_code}")
        return response.json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise SourceError(str(error) or type(error).__name__) from error
