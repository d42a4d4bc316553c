"""SGLang: `/generate` (sglang 0.5.23: docs of the native API), with a fill-in-the-middle prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clover_engine.api import Finish
from clover_engine.remote.dialect import Ask, Capabilities, Chunk
from clover_engine.remote.fim import FimPrompt

_CAN = Capabilities(choices=True, pattern=True, warming=True)


@dataclass(frozen=True, slots=True)
class SGLang:
    """Events bring all of the text so far. A model decoded by `--dllm-algorithm` ignores `regex`:
    what comes is matched with the pattern here, as everything is."""

    prompt: FimPrompt
    path: str = "/generate"
    capabilities: Capabilities = _CAN

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The request."""
        hole = ask.hole
        sampling: dict[str, object] = {
            "temperature": 0.0,
            "max_new_tokens": max(hole.max_tokens, 1),
            "stop": list(hole.stop),
        }
        if expression := expression_of(ask):
            sampling["regex"] = expression
        return {"text": self.prompt.of(ask), "sampling_params": sampling, "stream": True}

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """An event."""
        said = event["meta_info"]
        reason = said.get("finish_reason")
        kinds = {"length": Finish.LENGTH}
        return Chunk(
            str(event["text"]),
            whole=True,
            finish=kinds.get(reason["type"], Finish.STOP) if reason else None,
            tokens=int(said.get("completion_tokens", 0)),
            prompt_tokens=int(said.get("prompt_tokens", 0)),
            reused_tokens=int(said.get("cached_tokens", 0)),
        )


def expression_of(ask: Ask) -> str | None:
    """The regular expression that the hole's text matches, if there is one."""
    import re2

    if ask.hole.choices is not None:
        return "|".join(f"({re2.escape(choice)})" for choice in ask.hole.choices)
    return ask.hole.pattern
