"""vLLM: `/v1/completions` with a fill-in-the-middle prompt (vllm 0.33.0; it refuses `suffix`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clover_engine.remote.dialect import Ask, Capabilities, Chunk
from clover_engine.remote.fim import FimPrompt
from clover_engine.remote.openai_fim import common, read_choice

_CAN = Capabilities(choices=True, pattern=True, warming=True)


@dataclass(frozen=True, slots=True)
class VLLM:
    """Choices and patterns are its structured outputs."""

    model: str
    prompt: FimPrompt
    path: str = "/v1/completions"
    capabilities: Capabilities = _CAN

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The request."""
        body = common(self.model, ask) | {"prompt": self.prompt.of(ask)}
        body["max_tokens"] = max(ask.hole.max_tokens, 1)
        body["stream_options"] = {"include_usage": True}
        if ask.hole.choices is not None:
            body["structured_outputs"] = {"choice": list(ask.hole.choices)}
        elif ask.hole.pattern is not None:
            body["structured_outputs"] = {"regex": ask.hole.pattern}
        return body

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """An event."""
        return read_choice(event)
