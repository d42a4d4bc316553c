"""Checkpoints by hub id: pulled from a real server, checked, listed, described, removed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clover_write import hub
from clover_write.cli import main
from clover_write.config import load_config
from clover_write.loads import Load, last, note
from clover_write.models import repositories
from clover_write.repositories import device_for
from clover_write.sources import ModelScope
from tests.support.tiny_checkpoint import write_checkpoint

ID = "JetLM/SDAR-1.7B-Chat"
COMMIT = "c" * 40


class Hub:
    """A repository as both hubs show it, and what was fetched of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = ID
        self.fetched: list[str] = []
        self.spoilt: set[str] = set()
        self.cut: dict[str, int] = {}  # bytes after which a file's connection breaks, once
        self.answers_huggingface = True

    def answer(self, path: str) -> bytes | None:
        names = sorted(item.name for item in self.folder.iterdir())
        if path == f"/api/models/{self.id}?blobs=true" and self.answers_huggingface:
            siblings = [self.sibling(name) for name in names]
            return json.dumps({"sha": COMMIT, "siblings": siblings}).encode()
        if path.startswith(f"/api/v1/models/{self.id}/repo/files"):
            files = [
                {"Path": name, "Size": len(data), "Sha256": sha256(data), "Type": "blob"}
                for name in names
                for data in [self.data(name)]
            ]
            return json.dumps({"Data": {"Files": files}}).encode()
        for prefix in (f"/{self.id}/resolve/{COMMIT}/", f"/models/{self.id}/resolve/master/"):
            if path.startswith(prefix):
                name = path.removeprefix(prefix)
                self.fetched.append(name)
                data = self.data(name)
                return b"\0" * len(data) if name in self.spoilt else data
        return None

    def data(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def sibling(self, name: str) -> dict[str, object]:
        data = self.data(name)
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        found: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": blob}
        if name.endswith((".safetensors", ".bin")):
            found["lfs"] = {"sha256": sha256(data), "size": len(data)}
        return found


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def __init__(self, served: Hub, *args: object) -> None:
        self.served = served
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        body = self.served.answer(self.path)
        span = self.headers["Range"]
        start = int(span.removeprefix("bytes=").rstrip("-")) if span else 0
        if body is None:
            self.send_response(404)
            body = b""
        elif start:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        rest = body[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        name = self.path.rpartition("/")[2]
        self.wfile.write(rest[: self.served.cut.pop(name, len(rest))])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one repository, which has code and pickles too, and a cache of its own."""
    folder = tmp_path / "repository"
    folder.mkdir()
    write_checkpoint(folder, "SDARForCausalLM", "sdar", "qwen3")
    own = tmp_path / "clover-write"
    own.mkdir()
    own.joinpath("families.toml").write_text("[sdar]\nmask = '<|mask|>'\n")
    for name in ("modeling_sdar.py", "pytorch_model.bin", "README.md"):
        (folder / name).write_text("raise SystemExit('this code was run')")
    hub_ = Hub(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub_))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("CLOVER_WRITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
        url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(hub, "ModelScope", partial(ModelScope, endpoint=url))
    yield hub_
    server.shutdown()
    server.server_close()


Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*words: str, status: int = 0) -> str:
        assert main(["models", *words]) == status
        out, err = capsys.readouterr()
        return err.splitlines()[-1] if status else out

    return run


def test_a_checkpoint_is_pulled_described_and_removed(
    served: Hub, tmp_path: Path, said: Said
) -> None:
    assert "not pulled" in next(line for line in said("list").splitlines() if ID in line)
    assert "8 GB GPU" in said("info", ID)
    assert "source: huggingface" in said("pull", ID)
    folder = tmp_path / "cache" / "models" / "JetLM--SDAR-1.7B-Chat"
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "tokenizer.json", "model.safetensors", "manifest.json"}
    assert not {"modeling_sdar.py", "pytorch_model.bin"} & set(served.fetched)
    assert "already" in said("pull", ID)
    assert "ready" in next(line for line in said("list").splitlines() if ID in line)
    described = said("info", ID)
    assert f"revision   {COMMIT}" in described
    assert "not loaded yet" in described
    assert "removed" in said("rm", ID)
    assert not folder.exists()


def test_an_unknown_family_is_told_before_any_weights(served: Hub, said: Said) -> None:
    config = json.loads(served.data("config.json"))
    config["architectures"] = ["SDARForSomethingElse"]
    (served.folder / "config.json").write_text(json.dumps(config))
    served.id = "somebody/else"
    message = said("pull", served.id, status=1)
    assert "nearest is SDARForCausalLM" in message
    assert "model.safetensors" not in served.fetched


def test_a_checkpoint_with_other_tensors_is_not_kept(
    served: Hub, tmp_path: Path, said: Said
) -> None:
    config = json.loads(served.data("config.json"))
    config["hidden_size"] = 96
    (served.folder / "config.json").write_text(json.dumps(config))
    assert "cannot be loaded" in said("pull", ID, status=1)
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_other_bytes_are_not_kept_and_the_next_hub_is_asked(served: Hub, said: Said) -> None:
    served.spoilt.add("model.safetensors")
    message = said("pull", ID, status=1)
    assert "huggingface: model.safetensors arrived with other bytes" in message
    assert "modelscope: model.safetensors arrived with other bytes" in message
    served.spoilt.clear()
    served.answers_huggingface = False
    assert "source: modelscope" in said("pull", ID)


def test_a_broken_download_goes_on(served: Hub, said: Said) -> None:
    served.cut["model.safetensors"] = 1000
    said("pull", ID)
    assert served.fetched.count("model.safetensors") == 2


def test_a_folder_serves_without_a_network(
    served: Hub, tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_SOURCES", "package-index")
    assert "huggingface is turned off" in said("pull", ID, status=1)
    assert "source: file" in said("pull", ID, "--from", str(served.folder))
    assert not served.fetched
    assert not (tmp_path / "cache/models/JetLM--SDAR-1.7B-Chat/modeling_sdar.py").exists()
    assert "no folder" in said("pull", "some/other", "--from", str(tmp_path / "none"), status=1)


def test_names_that_are_none_are_refused(served: Hub, said: Said) -> None:
    for name in ("a/b/c", "../etc", "a/b c"):
        assert "OWNER/NAME" in said("info", name, status=1)


def test_pulled_models_that_nobody_listed_are_listed(served: Hub, said: Said) -> None:
    said("pull", "somebody/mine", "--from", str(served.folder))
    assert "family sdar" in next(line for line in said("list").splitlines() if "mine" in line)
    assert repositories(load_config()).require("somebody/mine").is_dir()


def test_a_load_is_remembered_by_model(tmp_path: Path) -> None:
    load = Load(1.5, 2_000_000_000, 0, "bf16", "cpu")
    assert last(tmp_path, ID) is None
    note(tmp_path, ID, load)
    assert last(tmp_path, ID) == load
    assert str(load) == "ready in 1.5 s, peak memory 2.00 GB (bf16 on cpu)"


@pytest.mark.parametrize(
    ("gigabytes", "device"), [(1.0, "CPU"), (15.2, "24 GB GPU"), (69.3, "80 GB GPU"), (300, "none")]
)
def test_a_model_is_told_the_device_it_fits(gigabytes: float, device: str) -> None:
    assert device_for(gigabytes * 1e9).startswith(device)
