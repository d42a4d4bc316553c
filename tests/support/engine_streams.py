"""What engines stream, as their published interfaces say: events, or texts sent as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def llama(*texts: str, stop_type: str = "eos") -> Iterable[Any]:
    """A stream of `/infill` (tools/server/README.md)."""
    for text in texts:
        yield {"content": text, "stop": False}
    timings = {"prompt_n": 5, "cache_n": 7}
    yield {
        "content": "",
        "stop": True,
        "stop_type": stop_type,
        "tokens_predicted": len(texts),
        "timings": timings,
    }


def completions(*texts: str, reason: str = "stop") -> Iterable[Any]:
    """A stream of `/v1/completions`."""
    for text in texts:
        yield {"choices": [{"index": 0, "text": text, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "text": "", "finish_reason": reason}]}
    usage: dict[str, Any] = {
        "prompt_tokens": 12,
        "completion_tokens": len(texts),
        "prompt_tokens_details": {"cached_tokens": 7},
    }
    yield {"choices": [], "usage": usage}
    yield "data: [DONE]\n\n"


def chat(*texts: str) -> Iterable[Any]:
    """A stream of `/v1/chat/completions`, and of Codestral's `/v1/fim/completions`."""
    yield {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
    for text in texts:
        yield {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield "data: [DONE]\n\n"


def generated(*texts: str) -> Iterable[Any]:
    """A stream of SGLang's `/generate`: each event has all of the text."""
    for number in range(len(texts)):
        so_far = {"completion_tokens": number + 1, "finish_reason": None}
        yield {"text": "".join(texts[: number + 1]), "meta_info": so_far}
    meta = {
        "completion_tokens": len(texts),
        "prompt_tokens": 12,
        "cached_tokens": 7,
        "finish_reason": {"type": "stop", "matched": 1},
    }
    yield {"text": "".join(texts), "meta_info": meta}
    yield "data: [DONE]\n\n"
