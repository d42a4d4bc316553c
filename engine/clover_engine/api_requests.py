"""Requests as OpenAI's and llama.cpp's clients write them, and the answers they expect."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from clover_engine.api import (
    MAX_CONTEXT_BYTES,
    CanvasRequest,
    Context,
    Filled,
    Finish,
    Hole,
    Literal,
    Snippet,
)
from clover_engine.errors import RequestError

_REASONS = {Finish.STOP: "stop", Finish.LENGTH: "length", Finish.DEADLINE: "length"}
# a snippet's path, two line ends and what a path in the context costs
_ROOM = MAX_CONTEXT_BYTES - 64


class Style(Protocol):
    """One way of asking for an infill."""

    def request(self, body: Mapping[str, Any], document: str) -> CanvasRequest:
        """Raises RequestError for what is missing or of another type."""
        ...

    def answer(self, filled: Filled, model: str) -> dict[str, Any]:
        """The answer, also the only event of a streamed one."""
        ...


@dataclass(frozen=True, slots=True)
class Completions:
    """OpenAI's `/v1/completions` with `suffix`. Sampling parameters change nothing: texts are those
    the model holds likeliest."""

    def request(self, body: Mapping[str, Any], document: str) -> CanvasRequest:
        """`prompt`, `suffix`, `max_tokens` (16), `stop`."""
        hole = Hole(_number(body, "max_tokens", 16), _stops(body))
        left, right = Literal(_text(body, "prompt")), Literal(_text(body, "suffix"))
        return CanvasRequest((left, hole, right), document=document)

    def answer(self, filled: Filled, model: str) -> dict[str, Any]:
        """A `text_completion`."""
        fill, stats = filled.fills[0], filled.stats
        choice = {"index": 0, "text": fill.text, "logprobs": None}
        return {
            "id": f"cmpl-{uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": model,
            "choices": [choice | {"finish_reason": _REASONS[fill.finish]}],
            "usage": {
                "prompt_tokens": stats.prompt_tokens,
                "completion_tokens": stats.tokens,
                "total_tokens": stats.prompt_tokens + stats.tokens,
                "prompt_tokens_details": {"cached_tokens": stats.reused_tokens},
            },
        }


@dataclass(frozen=True, slots=True)
class Infill:
    """llama.cpp's `/infill`, as llama.vim and llama.vscode ask."""

    def request(self, body: Mapping[str, Any], document: str) -> CanvasRequest:
        """`input_prefix`, `prompt`, `input_suffix`, `n_predict` (64), `stop`, `input_extra`,
        `t_max_predict_ms`."""
        most = _number(body, "n_predict", 64)
        hole = Hole(64 if most < 0 else most, _stops(body))
        left = Literal(_text(body, "input_prefix") + _text(body, "prompt"))
        limit = _number(body, "t_max_predict_ms", 0)
        return CanvasRequest(
            (left, hole, Literal(_text(body, "input_suffix"))),
            document=document,
            context=_context(body.get("input_extra") or []),
            deadline_ms=limit or None,
        )

    def answer(self, filled: Filled, model: str) -> dict[str, Any]:
        """The last event of `/infill`, with the text."""
        fill, stats = filled.fills[0], filled.stats
        return {
            "content": fill.text,
            "stop": True,
            "stop_type": "eos" if fill.finish is Finish.STOP else "limit",
            "model": model,
            "tokens_predicted": stats.tokens,
            "tokens_evaluated": stats.prompt_tokens,
            "tokens_cached": stats.reused_tokens,
            "timings": {
                "prompt_n": stats.prompt_tokens - stats.reused_tokens,
                "prompt_ms": stats.prefill_ms,
                "predicted_n": stats.tokens,
                "predicted_ms": stats.decode_ms,
                "cache_n": stats.reused_tokens,
            },
        }


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RequestError(f"{name} is a string")
    return value


def _number(body: Mapping[str, Any], name: str, usual: int) -> int:
    value = body.get(name)
    if value is None:
        return usual
    if type(value) is not int:
        raise RequestError(f"{name} is a whole number")
    return value


def _stops(body: Mapping[str, Any]) -> tuple[str, ...]:
    value = body.get("stop") or []
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise RequestError("stop is a string or a list of strings")
    return tuple(stops)


def _context(extra: object) -> Context | None:
    """The first pieces, as many as a context takes whole."""
    if not isinstance(extra, list):
        raise RequestError("input_extra is a list")
    kept: list[Snippet] = []
    room = _ROOM
    for piece in extra:
        if not isinstance(piece, dict):
            raise RequestError("input_extra holds objects")
        snippet = Snippet(_text(piece, "filename"), _text(piece, "text"))
        room -= len(f"{snippet.path}\n{snippet.text}\n".encode("utf-8", "surrogatepass"))
        if room < 0:
            break
        kept.append(snippet)
    return Context(tuple(kept)) if kept else None
