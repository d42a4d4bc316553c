"""llama.cpp's server: `/infill` (tools/server/README.md of llama.cpp, build 11434)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clover_engine.api import Finish
from clover_engine.remote.dialect import Ask, Capabilities, Chunk


class LlamaCpp:
    """Greedy, its prompt cache on. Choices are kept to by a grammar (GBNF)."""

    path = "/infill"
    capabilities = Capabilities(choices=True, warming=True)

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The request."""
        hole = ask.hole
        body: dict[str, object] = {
            "input_prefix": ask.left,
            "input_suffix": ask.right,
            "prompt": "",
            "n_predict": hole.max_tokens,
            "stop": list(hole.stop),
            "temperature": 0.0,
            "samplers": ["temperature"],
            "cache_prompt": True,
            "stream": True,
        }
        if ask.context:
            body["input_extra"] = [
                {"filename": snippet.path, "text": snippet.text} for snippet in ask.context.snippets
            ]
        if hole.choices is not None:
            body["grammar"] = grammar(hole.choices)
        return body

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """An event; the last one has counts."""
        if not event["stop"]:
            return Chunk(str(event["content"]))
        timings = event.get("timings", {})
        reused = int(timings.get("cache_n", 0))
        return Chunk(
            str(event["content"]),
            finish=Finish.LENGTH if event["stop_type"] == "limit" else Finish.STOP,
            tokens=int(event["tokens_predicted"]),
            prompt_tokens=int(timings.get("prompt_n", 0)) + reused,
            reused_tokens=reused,
        )


def grammar(choices: Sequence[str]) -> str:
    """The GBNF grammar of exactly these texts; JSON's escapes are GBNF's."""
    return "root ::= " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
