"""Fill-in-the-middle as plain text, for servers that only complete prompts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clover_engine.errors import RequestError
from clover_engine.remote.dialect import Ask

_PLACES = re.compile(r"(\{prefix\}|\{suffix\})")


@dataclass(frozen=True, slots=True)
class FimPrompt:
    """One entry of fim.toml."""

    models: tuple[str, ...]
    prompt: str
    specials: tuple[str, ...]

    def of(self, ask: Ask) -> str:
        """The prompt. Raises RequestError for text that the server would take for commands."""
        if any(special in ask.left or special in ask.right for special in self.specials):
            raise RequestError("the text holds special tokens of this remote's model: not sent")
        texts = {"{prefix}": ask.left, "{suffix}": ask.right}
        return "".join(texts.get(part, part) for part in _PLACES.split(self.prompt))


def prompt_for(model: str) -> FimPrompt | None:
    """How a model of that name is asked; None where its family is not known."""
    name = model.lower().replace("_", "-")
    found = (entry for entry in _known() if any(part in name for part in entry.models))
    return next(found, None)


@cache
def _known() -> tuple[FimPrompt, ...]:
    data = tomllib.loads(files("clover_engine").joinpath("remote", "fim.toml").read_text("utf-8"))
    return tuple(
        FimPrompt(tuple(entry["models"]), entry["prompt"], tuple(entry["specials"]))
        for entry in data.values()
    )
