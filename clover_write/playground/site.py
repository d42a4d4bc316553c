"""The playground's files as a browser may ask for them: what is not in the list is not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from websockets.datastructures import Headers
from websockets.http11 import Response

from clover_engine.errors import CloverError

# a wheel on the Python package index with Monaco's own build, under Monaco's version
MONACO = "rocher==0.55.1"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
# Monaco makes style elements and attributes as it goes, has its icons as a font in its sheet, and
# starts workers by a blob, which can load scripts of this site alone
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:;"
    " connect-src 'self' ws://{host}; style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class MonacoMissing(CloverError):
    """The editor's files are not installed."""


class Site:
    """The page and Monaco, by URL path. Raises MonacoMissing."""

    def __init__(self) -> None:
        page = dict(_served(Path(str(files("clover_write.playground") / "page"))))
        self._files: Mapping[str, Path] = {
            "/": page["/index.html"],
            **page,
            **{f"/monaco{path}": file for path, file in _served(_monaco())},
        }

    def answer(self, path: str, host: str) -> Response:
        """What stands at `path`, for a browser that calls this server `host`."""
        file = self._files.get(path.partition("?")[0])
        if file is None:
            return _response(HTTPStatus.NOT_FOUND, b"nothing is here\n", TYPES[".txt"], host)
        return _response(HTTPStatus.OK, file.read_bytes(), TYPES[file.suffix], host)


def _monaco() -> Path:
    """Monaco's folder; the package around it is not imported."""
    spec = find_spec("rocher")
    if spec is None or not spec.submodule_search_locations:
        raise MonacoMissing(
            f"the editor of the page is not installed: run {sys.executable} -m pip install {MONACO}"
        )
    return Path(spec.submodule_search_locations[0]) / "vs"


def _served(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in folder.rglob("*"):
        if file.suffix in TYPES:
            yield f"/{file.relative_to(folder).as_posix()}", file


def _response(status: HTTPStatus, body: bytes, kind: str, host: str) -> Response:
    headers = Headers(
        {
            "Cache-Control": "no-store",
            "Connection": "close",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY.format(host=host),
            "Content-Type": kind,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
    )
    return Response(status.value, status.phrase, headers, body)
