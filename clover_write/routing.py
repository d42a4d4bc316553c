"""Which engine a request goes to: the first that answers, of those its text may go to."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clover_engine.api import (
    CanvasRequest,
    Context,
    Draft,
    EngineClient,
    EngineInfo,
    Filled,
    Hole,
    Literal,
)
from clover_engine.errors import CloverError, EngineError, ModelError, Unsupported
from clover_lsp.confidentiality import is_marked
from clover_lsp.exclusions import private
from clover_lsp.secret_files import holds_key, is_secret

log = logging.getLogger(__name__)

REST_S = 30.0  # an engine that did not answer is not asked again for so long


class StaysHere(CloverError):
    """The text may not leave this machine, and no engine on it is among those to be asked."""


@dataclass(slots=True)
class Route:
    """One engine; `where` names it for the user, "" for the local one."""

    name: str
    where: str
    is_local: bool
    client: EngineClient
    _rests_until: float = field(default=0.0)

    @property
    def is_resting(self) -> bool:
        """Whether it failed a moment ago."""
        return time.monotonic() < self._rests_until

    def rest(self) -> None:
        """It failed."""
        self._rests_until = time.monotonic() + REST_S


@dataclass(frozen=True, slots=True)
class Rules:
    """What never leaves this machine: files that match `paths` (as `secret_files` of the language
    server), what is marked as secret, text of no known document."""

    paths: tuple[str, ...] = ()

    def against(self, request: CanvasRequest) -> str | None:
        """Why a request may not leave, in words; None if it may."""
        origin = request.origin or request.document
        text = "\n".join(_texts(request))
        if not origin or origin.startswith("clover:"):  # a name that the program gave
            return "text of no named document stays on this machine"
        if reason := private(origin, self.paths):
            return f"the file {reason}"
        if request.private or is_marked(text):
            return "the document is marked as secret"
        return "a private key stands in the text" if holds_key(text) else None

    def reduced(self, context: Context | None) -> Context | None:
        """The context without snippets that may not leave."""
        if context is None:
            return None
        kept = [
            snippet
            for snippet in context.snippets
            if not is_secret(snippet.path, self.paths)
            and not is_marked(snippet.text)
            and not holds_key(snippet.text)
        ]
        return replace(context, snippets=tuple(kept)) if kept else None


def _texts(request: CanvasRequest) -> Iterator[str]:
    """All that is a document's in a canvas: its literals in one, the choices of its holes."""
    yield "".join(part.text for part in request.segments if isinstance(part, Literal))
    for part in request.segments:
        if isinstance(part, Hole):
            yield from part.choices or ()


class Router:
    """An `EngineClient` over several, asked in order. What rules forbid is decided before any of
    them is reached; an engine that fails or cannot do what is asked leaves the request to the next.
    """

    def __init__(self, routes: Sequence[Route], rules: Rules) -> None:
        self._routes = routes
        self._rules = rules

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        """Fill the canvas. Raises StaysHere, or the last engine's CloverError."""
        *earlier, last = self._allowed(request)
        for route in earlier:
            if route.is_resting:
                continue
            try:
                return await self._ask(route, request, on_draft)
            except Unsupported as error:
                log.info("%s: asking the next engine", error)
            except (EngineError, ModelError) as error:
                log.warning("%s: asking the next engine", error)
                route.rest()
        return await self._ask(last, request, on_draft)

    async def info(self) -> EngineInfo:
        """What the first engine is that answers. Raises CloverError."""
        *earlier, last = self._routes
        for route in earlier:
            try:
                return await route.client.info()
            except (EngineError, ModelError) as error:
                log.warning("%s: asking the next engine", error)
        return await last.client.info()

    async def close(self) -> None:
        """Let go of all engines."""
        for route in self._routes:
            await route.client.close()

    def _allowed(self, request: CanvasRequest) -> list[Route]:
        reason = self._rules.against(request)
        if reason is None:
            return list(self._routes)
        if here := [route for route in self._routes if route.is_local]:
            return here
        names = ", ".join(route.name for route in self._routes)
        raise StaysHere(f'{reason}: not sent to {names}; add "local" to the profile\'s fallback')

    async def _ask(
        self, route: Route, request: CanvasRequest, on_draft: Callable[[Draft], None] | None
    ) -> Filled:
        if not route.is_local:
            request = replace(request, context=self._rules.reduced(request.context))
        filled = await route.client.fill(request, on_draft)
        return replace(filled, where=route.where)
