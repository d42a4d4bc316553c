"""An engine asked on behalf of a document."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clover_engine.api import CanvasRequest, Filled
from clover_templates.engine_scorer import Filler


@dataclass(frozen=True, slots=True)
class OnBehalf:
    """Its requests name the document at `uri` as the origin of their text: rules about what may
    leave the machine look at that. With `private` it goes to no other."""

    engine: Filler
    uri: str
    private: bool = False

    async def fill(self, request: CanvasRequest) -> Filled:
        """Raises CloverError."""
        private = request.private or self.private
        return await self.engine.fill(replace(request, origin=self.uri, private=private))
