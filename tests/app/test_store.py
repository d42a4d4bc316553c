"""The model store: what a pull leaves behind when it works, and when it does not."""

from __future__ import annotations

import errno
import hashlib
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clover_engine.errors import CloverError, ModelError
from clover_write.catalog import Model, known_models
from clover_write.sources import Download, HuggingFace, PackageIndex, Source, SourceError
from clover_write.store import (
    Damaged,
    DiskError,
    ModelMissing,
    PullFailed,
    Store,
    StoreError,
    UnknownModel,
)

DATA = bytes(range(256)) * 400
READY = ["LICENSE.txt", "manifest.json", "model.safetensors", "tokenizer.json"]


class Serves:
    """A source that appends what is missing of `data`, then raises `error` if there is one."""

    kind: ClassVar[str] = "huggingface"

    def __init__(self, data: bytes = DATA, error: Exception | None = None) -> None:
        self.data, self.error = data, error
        self.began_at: list[int] = []

    def fetch(self, download: Download) -> None:
        self.began_at.append(download.have)
        with download.path.open("ab") as file:
            file.write(self.data[download.have :])
        download.tell(len(self.data))
        if self.error:
            raise self.error


class AlsoServes(Serves):
    kind: ClassVar[str] = "modelscope"


class Heard:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[tuple[str, int, int]] = []

    def note(self, line: str) -> None:
        self.notes.append(line)

    def step(self, stage: str, done: int, total: int) -> None:
        self.steps.append((stage, done, total))


class Cache(NamedTuple):
    folder: Path

    def store(
        self, *sources: Source, allowed: tuple[str, ...] | None = None, broken: bool = False
    ) -> Store:
        model = Model(
            name="tiny",
            title="Tiny",
            family="qwen2",
            license="Apache-2.0",
            license_file="Qwen2.5-Coder.LICENSE.txt",
            file="tiny.gguf",
            size=len(DATA),
            sha256=hashlib.sha256(DATA).hexdigest(),
            sources=sources,
        )
        convert = refuse if broken else convert_to_files
        return Store(self.folder, allowed, models={"tiny": model}, convert=convert)

    @property
    def files(self) -> list[str]:
        """Every file under the cache but the lock, by its path from there."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(
            str(path.relative_to(self.folder)) for path in found if path.suffix != ".lock"
        )


def convert_to_files(gguf: Path, folder: Path, progress: Callable[[float], None]) -> int:
    (folder / "model.safetensors").write_bytes(gguf.read_bytes())
    (folder / "tokenizer.json").write_text("{}")
    progress(1.0)
    return 7


def refuse(gguf: Path, folder: Path, progress: Callable[[float], None]) -> int:
    (folder / "model.safetensors").write_bytes(b"half")
    raise ModelError("not a file the engine knows")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def one_line(error: pytest.ExceptionInfo[CloverError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_pull_leaves_the_converted_model_and_nothing_else(cache: Cache) -> None:
    store, heard = cache.store(Serves()), Heard()
    manifest = store.pull("tiny", progress=heard)
    assert cache.files == [f"models/tiny/{name}" for name in READY]
    assert store.require("tiny") == cache.folder / "models" / "tiny"
    assert (store.require("tiny") / "model.safetensors").read_bytes() == DATA
    assert "Alibaba" in (store.require("tiny") / "LICENSE.txt").read_text()
    assert (manifest.source, manifest.format) == ("huggingface", 7)
    assert manifest.sha256 == hashlib.sha256(DATA).hexdigest()
    assert store.manifest("tiny") == manifest
    for stage in ("downloading", "verifying", "converting"):
        assert (stage, len(DATA), len(DATA)) in heard.steps


def test_a_present_model_asks_no_source(cache: Cache) -> None:
    cache.store(Serves()).pull("tiny")
    never = Serves(error=AssertionError("asked"))
    store = cache.store(never, broken=True)
    assert store.pull("tiny").source == "huggingface"
    assert store.require("tiny").is_dir()
    assert never.began_at == []


def test_the_next_source_takes_over_where_one_gave_up(cache: Cache) -> None:
    first, second = Serves(DATA[:1000], SourceError("gone")), AlsoServes()
    heard = Heard()
    assert cache.store(first, second).pull("tiny", progress=heard).source == "modelscope"
    assert second.began_at == [1000]
    assert "huggingface: gone" in heard.notes


def test_a_broken_download_is_continued_by_the_next_pull(cache: Cache) -> None:
    with pytest.raises(PullFailed) as error:
        cache.store(Serves(DATA[:1000], SourceError("no route"))).pull("tiny")
    assert "no route" in one_line(error)
    assert "--from" in one_line(error)
    assert cache.files == ["pulling/tiny/tiny.gguf"]
    again = Serves()
    cache.store(again).pull("tiny")
    assert again.began_at == [1000]
    assert cache.files == [f"models/tiny/{name}" for name in READY]


@pytest.mark.parametrize("data", [DATA[:-1], DATA + b"!", DATA[:-1] + b"!", b""])
def test_other_bytes_are_refused_and_leave_nothing(cache: Cache, data: bytes) -> None:
    store = cache.store(Serves(data))
    with pytest.raises(PullFailed) as error:
        store.pull("tiny")
    assert "huggingface: " in one_line(error)
    assert cache.files == []
    with pytest.raises(ModelMissing):
        store.require("tiny")


def test_a_source_with_other_bytes_does_not_spoil_the_next(cache: Cache) -> None:
    second = AlsoServes()
    cache.store(Serves(DATA[:-1] + b"!"), second).pull("tiny")
    assert second.began_at == [0]


def test_too_little_space_is_told_before_a_byte_is_fetched(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real._replace(free=len(DATA)))
    source = Serves()
    with pytest.raises(DiskError) as error:
        cache.store(source).pull("tiny")
    assert "make room" in one_line(error)
    assert source.began_at == []
    assert cache.files == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_refuses_gets_its_bytes_back(cache: Cache, code: int) -> None:
    with pytest.raises(DiskError) as error:
        cache.store(Serves(DATA[:1000], OSError(code, "refused"))).pull("tiny")
    assert "CLOVER_WRITE_CACHE_DIR" in one_line(error)
    assert cache.files == []


def test_a_cache_that_is_no_folder_is_named(cache: Cache) -> None:
    cache.folder.write_text("a file")
    store = cache.store(Serves())
    for ask in (store.pull, store.require, store.remove):
        with pytest.raises(DiskError) as error:
            ask("tiny")
        assert str(cache.folder) in one_line(error)


def test_a_failed_conversion_leaves_nothing(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a file the engine knows"):
        cache.store(Serves(), broken=True).pull("tiny")
    assert cache.files == []
    gguf = tmp_path / "tiny.gguf"
    gguf.write_bytes(DATA)
    with pytest.raises(ModelError, match="not a file the engine knows"):
        cache.store(broken=True).pull("tiny", gguf)
    assert cache.files == []


def test_what_a_killed_pull_left_is_cleared(cache: Cache) -> None:
    junk = cache.folder / "pulling" / "tiny" / "converted"
    junk.mkdir(parents=True)
    (junk / "model.safetensors").write_bytes(b"half")
    cache.store(Serves()).pull("tiny")
    assert cache.files == [f"models/tiny/{name}" for name in READY]


@pytest.mark.parametrize("folder", [True, False])
def test_a_local_file_serves_without_any_source(cache: Cache, tmp_path: Path, folder: bool) -> None:
    gguf = tmp_path / "tiny.gguf"
    gguf.write_bytes(DATA)
    never = Serves(error=AssertionError("asked"))
    manifest = cache.store(never).pull("tiny", tmp_path if folder else gguf)
    assert manifest.source == "file"
    assert gguf.read_bytes() == DATA
    assert cache.files == [f"models/tiny/{name}" for name in READY]


@pytest.mark.parametrize("data", [DATA[:-1], DATA[:-1] + b"!"])
def test_a_wrong_local_file_is_refused_and_kept(cache: Cache, tmp_path: Path, data: bytes) -> None:
    gguf = tmp_path / "mine.gguf"
    gguf.write_bytes(data)
    with pytest.raises(Damaged) as error:
        cache.store().pull("tiny", gguf)
    assert str(gguf) in one_line(error)
    assert gguf.read_bytes() == data
    assert cache.files == []


def test_a_local_file_that_is_not_there_is_named(cache: Cache, tmp_path: Path) -> None:
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(StoreError) as error:
            cache.store().pull("tiny", path)
        assert "tiny.gguf" in one_line(error)


def test_a_source_turned_off_is_not_asked(cache: Cache) -> None:
    first, second = Serves(), AlsoServes()
    cache.store(first, second, allowed=("modelscope",)).pull("tiny")
    assert (first.began_at, second.began_at) == ([], [0])


def test_with_all_sources_off_the_error_says_what_else_works(cache: Cache) -> None:
    with pytest.raises(PullFailed, match=r"turned off.*--from PATH"):
        cache.store(Serves(), allowed=()).pull("tiny")


def test_names_that_mean_nothing_are_answered_with_those_that_do(cache: Cache) -> None:
    store = cache.store(Serves())
    for ask in (store.pull, store.require, store.manifest, store.remove):
        with pytest.raises(UnknownModel, match="tiny"):
            ask("../tiny")
    with pytest.raises(StoreError, match="huggingface, modelscope, package-index"):
        cache.store(allowed=("hugging face",))


def test_a_missing_model_says_how_to_get_it(cache: Cache) -> None:
    with pytest.raises(ModelMissing, match="clover-write models pull tiny"):
        cache.store().require("tiny")


def test_two_pulls_at_once_download_once(cache: Cache) -> None:
    both_here = threading.Event()

    class Waits(Heard):
        def note(self, line: str) -> None:
            super().note(line)
            if "waiting" in line:
                both_here.set()

    class Slow(Serves):
        def fetch(self, download: Download) -> None:
            assert both_here.wait(timeout=10)
            super().fetch(download)

    source = Slow()
    with ThreadPoolExecutor() as pool:
        pulls = [
            pool.submit(lambda: cache.store(source).pull("tiny", progress=Waits()))
            for _ in range(2)
        ]
    assert pulls[0].result() == pulls[1].result()
    assert source.began_at == [0]


def test_removing_frees_the_model_and_its_rests(cache: Cache) -> None:
    store = cache.store(Serves())
    store.pull("tiny")
    rest = cache.folder / "pulling" / "tiny" / "tiny.gguf"
    rest.parent.mkdir()
    rest.write_bytes(DATA)
    assert store.remove("tiny") > 2 * len(DATA)
    assert cache.files == []
    assert store.remove("tiny") == 0


def test_a_model_being_pulled_is_not_removed(cache: Cache) -> None:
    class Meanwhile(Serves):
        def fetch(self, download: Download) -> None:
            with pytest.raises(StoreError, match="being pulled"):
                cache.store().remove("tiny")
            super().fetch(download)

    assert cache.store(Meanwhile()).pull("tiny").name == "tiny"


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda value: repr(value).encode("utf-8", "replace"))
)
def test_a_damaged_manifest_is_told_and_can_be_removed(cache: Cache, damage: bytes) -> None:
    store = cache.store(Serves())
    store.pull("tiny")
    (store.path("tiny") / "manifest.json").write_bytes(damage)
    with pytest.raises(ModelError, match="models rm tiny"):
        store.require("tiny")
    store.remove("tiny")
    assert store.pull("tiny") == store.manifest("tiny")


def test_a_model_made_from_another_file_is_pulled_anew(cache: Cache) -> None:
    store = cache.store(Serves())
    sha256 = store.pull("tiny").sha256
    manifest = store.path("tiny") / "manifest.json"
    manifest.write_text(manifest.read_text().replace(sha256, "0" * 64))
    with pytest.raises(ModelMissing):
        store.require("tiny")
    assert store.pull("tiny").sha256 == sha256


def test_the_shipped_models_are_complete() -> None:
    models = known_models()
    assert models["coder-0.5b"].size == 491_400_064
    assert "coder-3b" not in models
    for name, model in models.items():
        assert model.name == name
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.license == "Apache-2.0"
        assert "Apache License" in model.license_text
        assert [source.kind for source in model.sources][:2] == ["huggingface", "modelscope"]
        for source in model.sources:
            if isinstance(source, HuggingFace):
                assert len(bytes.fromhex(source.revision)) == 20
            if isinstance(source, PackageIndex):
                assert sum(part.size for part in source.parts) == model.size
