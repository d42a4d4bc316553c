"""`clover-write playground`: what it serves, and whom."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from clover_write.cli import main
from clover_write.playground.site import POLICY, Site
from tests.support.wire import PATIENCE_S, Wire

COMMAND = [sys.executable, "-m", "clover_write", "playground", "--engine", "fake"]
# all tests share a server, and with it an event loop
shared = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    """The URL that the command prints."""
    server = await Wire.start(COMMAND)
    assert server.process.stdout
    line = (await server.process.stdout.readline()).decode()
    found = re.fullmatch(
        r"the playground is at (http://127\.0\.0\.1:\d+/#token=[\w-]{40,})\n", line
    )
    assert found
    yield found[1]
    await server.kill()


def port_of(url: str) -> int:
    return int(url.split(":")[2].split("/")[0])


async def get(url: str, path: str, host: str = "", method: str = "GET") -> tuple[int, str, str]:
    """Status, head and body of the answer to a request as it stands."""
    port = port_of(url)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{method} {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}\r\n\r\n"
    writer.write(head.encode())
    async with asyncio.timeout(PATIENCE_S):
        answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]) if head else 0, head, body


def entering(url: str, origin: str | None, token: str | None = None) -> connect:
    address, given = url.replace("http:", "ws:").split("#token=")
    offers = [Subprotocol("lsp"), Subprotocol(f"token.{given if token is None else token}")]
    return connect(address, subprotocols=offers, origin=Origin(origin) if origin else None)


@shared
async def test_the_page_and_all_it_names_are_there(url: str) -> None:
    status, head, page = await get(url, "/")
    assert (status, "Content-Type: text/html" in head) == (200, True)
    names = re.findall(r'(?:src|href)="([^:"]+)"', page)
    samples = [f"samples/{name}.txt" for name in re.findall(r'value="(\w+)" data-name', page)]
    assert len(names) == 3
    assert len(samples) == 3
    for name in [*names, *samples, "monaco/editor/editor.main.js"]:
        assert (await get(url, f"/{name}"))[0] == 200, name


@shared
async def test_every_answer_says_what_the_page_may_do(url: str) -> None:
    host = f"127.0.0.1:{port_of(url)}"
    for path in ("/", "/playground.js", "/monaco/loader.js", "/nothing"):
        _, head, _ = await get(url, path)
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        assert headers["Content-Security-Policy"] == POLICY.format(host=host)
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in headers


def test_the_policy_lets_in_nothing_from_elsewhere() -> None:
    rules = (rule.partition(" ") for rule in POLICY.split("; "))
    allowed = {name: sources for name, _, sources in rules}
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == "'self'"
    assert allowed["connect-src"] == "'self' ws://{host}"
    assert allowed["frame-ancestors"] == "'none'"
    assert "http" not in POLICY


@pytest.mark.parametrize(
    "path",
    [
        "/../site.py",
        "/%2e%2e/site.py",
        "/monaco/../../pip/__init__.py",
        "//etc/passwd",
        "/samples/../../site.py",
        "/samples/",
        "/index.html/",
        "/..\\site.py",
        "\0",
    ],
)
@shared
async def test_what_is_not_in_the_list_is_not_there(url: str, path: str) -> None:
    status, _, body = await get(url, path)
    assert status in (0, HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    assert "import" not in body


@pytest.mark.parametrize("path", ["/", "/playground.js"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:1"])
@shared
async def test_by_another_name_nothing_is_served(url: str, host: str, path: str) -> None:
    status, _, body = await get(url, path, host.format(port=port_of(url)))
    assert (status, body) == (403, "unknown host\n")


@pytest.mark.parametrize(
    ("origin", "let_in"),
    [
        (None, True),
        ("http://127.0.0.1:{port}", True),
        ("http://localhost:{port}", False),  # it called the server by another name
        ("http://127.0.0.1:1", False),
        ("http://localhost:5173", False),
        ("https://127.0.0.1:{port}", False),
        ("https://evil.example", False),
        ("http://127.0.0.1:{port}.evil.example", False),
        ("null", False),
    ],
)
@shared
async def test_no_other_page_is_let_in_even_with_the_token(
    url: str, origin: str | None, let_in: bool
) -> None:
    entry = entering(url, origin.format(port=port_of(url)) if origin else None)
    if let_in:
        async with entry as connection:
            assert connection.subprotocol == "lsp"
    else:
        with pytest.raises(InvalidStatus) as refused:
            await entry
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize("token", ["", "wrong"])
@shared
async def test_nor_the_page_itself_without_it(url: str, token: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await entering(url, f"http://127.0.0.1:{port_of(url)}", token)
    assert refused.value.response.status_code == 401


@shared
async def test_the_token_stands_in_nothing_that_is_served(url: str) -> None:
    token = url.split("#token=")[1]
    for path in ("/", "/playground.js", f"/?{token}"):
        _, head, body = await get(url, path)
        assert token not in head + body


def test_without_monaco_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("clover_write.playground.site.find_spec", lambda _: None)
    assert main(["playground"]) == 1
    assert capsys.readouterr().err == (
        "clover-write: the editor of the page is not installed:"
        f" run {sys.executable} -m pip install rocher==0.55.1\n"
    )


def test_the_same_monaco_is_asked_for_and_installed() -> None:
    from importlib.metadata import version

    from clover_write.playground.site import MONACO

    assert f"rocher=={version('rocher')}" == MONACO
    assert Site().answer("/monaco/loader.js?x", "127.0.0.1:1").status_code == 200
