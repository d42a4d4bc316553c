"""The base protocol of LSP: message bodies out of a stream of bytes, wrong lengths survived."""

from __future__ import annotations

import re
from collections.abc import Iterator

# a document of 10 MB, were each of its bytes escaped
MAX_BODY_BYTES = 64 * 1024 * 1024
# headers longer than that are no headers
MAX_HEADER_BYTES = 8 * 1024
_LENGTH = re.compile(rb"content-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_END = b"\r\n\r\n"
_NAME = b"content-length:"
# a length that the end of a body cuts off
_CUT = re.compile(
    rb"(?:%s[ \t]*[0-9]*[ \t]*\r?|%s)\Z"
    % (_NAME, b"|".join(_NAME[:size] for size in range(len(_NAME) - 1, 0, -1))),
    re.IGNORECASE,
)


class Frames:
    """Cuts a stream into bodies. What stands before a `Content-Length` and is none is skipped, so
    that a body longer than was said costs itself alone; a body too large is dropped as it comes.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._to_drop = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that `data` completes."""
        self._held += data
        while (body := self._next()) is not None:
            yield body

    def put_back(self, body: bytes) -> bool:
        """Read the part of a broken body again that begins another message; False if none does."""
        other = _LENGTH.search(body) or _CUT.search(body)
        if other:
            self._held[:0] = body[other.start() :]
        return other is not None

    def _next(self) -> bytes | None:
        while True:
            self._drop()
            end = self._held.find(_END)
            if end < 0:
                # a header may have begun at the end
                del self._held[:-MAX_HEADER_BYTES]
                return None
            lengths = _LENGTH.findall(self._held, 0, end + 2)
            start, length = end + len(_END), int(lengths[-1]) if lengths else 0
            if not lengths or length > MAX_BODY_BYTES:
                del self._held[:start]
                self._to_drop = length
                continue
            if len(self._held) < start + length:
                return None
            body = bytes(self._held[start : start + length])
            del self._held[: start + length]
            return body

    def _drop(self) -> None:
        dropped = min(self._to_drop, len(self._held))
        del self._held[:dropped]
        self._to_drop -= dropped
