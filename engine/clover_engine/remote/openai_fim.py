"""Any route that takes `prompt` and `suffix`: OpenAI's legacy completions, Codestral, Mercury."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clover_engine.api import Finish
from clover_engine.remote.dialect import Ask, Capabilities, Chunk

MOST_STOPS = 4  # more are refused by some; the others are looked for in the answer

_CAN = Capabilities()


@dataclass(frozen=True, slots=True)
class OpenAiFim:
    """`path` is `/v1/completions`, or `/v1/fim/completions` where that is the route."""

    model: str
    path: str = "/v1/completions"
    capabilities: Capabilities = _CAN

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The request."""
        return {**common(self.model, ask), "prompt": ask.left, "suffix": ask.right}

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """An event."""
        return read_choice(event)


def common(model: str, ask: Ask) -> dict[str, object]:
    """What all OpenAI-like routes take."""
    body: dict[str, object] = {
        "model": model,
        "max_tokens": ask.hole.max_tokens,
        "temperature": 0.0,
        "stream": True,
    }
    if ask.hole.stop:
        body["stop"] = list(ask.hole.stop[:MOST_STOPS])
    return body


def read_choice(event: Mapping[str, Any]) -> Chunk:
    """The first choice, as completions (`text`) or as chats (`delta.content`) have it."""
    usage = event.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    counted = Chunk(
        tokens=int(usage.get("completion_tokens") or 0),
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        reused_tokens=int(details.get("cached_tokens") or 0),
    )
    if not event["choices"]:  # the last event may bring usage alone
        return counted
    choice = event["choices"][0]
    text = choice["text"] if "text" in choice else choice.get("delta", {}).get("content")
    reason = choice.get("finish_reason")
    finish = {None: None, "length": Finish.LENGTH}.get(reason, Finish.STOP)
    return replace(counted, text=str(text or ""), finish=finish)
