"""A model that knows no fill-in-the-middle is told in words what to write."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from clover_engine.remote.dialect import Ask, Capabilities, Chunk
from clover_engine.remote.openai_fim import common, read_choice

_FENCED = re.compile(r"\A```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)

_CAN = Capabilities()


@dataclass(frozen=True, slots=True)
class Instruct:
    """`/v1/chat/completions`, as SGLang, vLLM and OpenAI have it. Stop strings are looked for in
    the answer only: in a chat they would stop an introduction."""

    model: str
    path: str = "/v1/chat/completions"
    capabilities: Capabilities = _CAN

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The request."""
        words = _words()
        texts = {"left": ask.left, "right": ask.right}
        user = re.sub(r"\{(left|right)\}", lambda found: texts[found[1]], words["user"])
        body = common(self.model, ask)
        body.pop("stop", None)
        return body | {
            "messages": [
                {"role": "system", "content": words["system"]},
                {"role": "user", "content": user},
            ]
        }

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """An event."""
        return read_choice(event)


def bare(text: str, left: str, right: str) -> str:
    """The answer without a fence around it and without what it repeats of both sides: the line it
    continues, and the line that follows."""
    if fenced := _FENCED.match(text):
        text = fenced[1]
    line = left.rpartition("\n")[2]
    if line.strip() and text.startswith(line):
        text = text[len(line) :]
    following = right.partition("\n")[0]
    if following.strip() and text.endswith(following):
        text = text[: -len(following)]
    return text


@cache
def _words() -> dict[str, str]:
    data = tomllib.loads(
        files("clover_engine").joinpath("remote", "instruct.toml").read_text("utf-8")
    )
    return {name: text.lstrip("\n") for name, text in data.items()}
