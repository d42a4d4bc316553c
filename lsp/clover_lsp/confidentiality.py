"""Documents that are marked as secret: their text is sent to no other machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from clover_engine.api import CanvasRequest, Draft, EngineClient, EngineInfo, Filled

# the grades of GB/T 9704 in a line of their own, with a term (`机密★1年`) or without, after a label
# or in front matter; as heading, in bold or in a cell of a table. No two runs of signs that could
# share some stand side by side: no line takes longer than it is long
_AROUND = r"[ \t\r\u3000\xa0#>*_|\"'-]*"
_MARK = re.compile(
    rf"^{_AROUND}(?:(?:密[ \u3000]*级|保密等级|classification)[ \t*_]*[:：|]{_AROUND})?"
    rf"(?:绝[ \u3000]*密|机[ \u3000]*密|秘[ \u3000]*密)[ \u3000]*(?:[★☆].*|级)?{_AROUND}$",
    re.MULTILINE | re.IGNORECASE,
)


def is_marked(text: str) -> bool:
    """Whether a line of the text says that it is 绝密, 机密 or 秘密."""
    return "密" in text and _MARK.search(text) is not None


class DiscreetClient:
    """An `EngineClient` that calls requests private whose document is marked, wherever in it the
    mark stands; `text_of` has the whole text of an open document."""

    def __init__(self, engine: EngineClient, text_of: Callable[[str], str | None]) -> None:
        self._engine = engine
        self._text_of = text_of

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas."""
        text = self._text_of(request.origin or request.document)
        if text is not None and is_marked(text):
            request = replace(request, private=True)
        return await self._engine.fill(request, on_draft)

    async def info(self) -> EngineInfo:
        """What the engine is."""
        return await self._engine.info()

    async def close(self) -> None:
        """Let go of the engine."""
        await self._engine.close()
