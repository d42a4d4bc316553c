"""What a kind of remote engine can do, how it is asked, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from clover_engine.api import Context, Finish, Hole


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What can be asked beside plain holes: that a hole takes one of its choices, that its text
    matches a pattern, that a prompt is only read."""

    choices: bool = False
    pattern: bool = False
    warming: bool = False

    def __str__(self) -> str:
        can = {"holes": True, "choices": self.choices, "pattern": self.pattern}
        return ", ".join(name if it_can else f"no {name}" for name, it_can in can.items())


@dataclass(frozen=True, slots=True)
class Ask:
    """One hole: the text on both sides, what may stand in it, other files that tell about it."""

    left: str
    right: str
    hole: Hole
    context: Context | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """What an event brings: further text, or with `whole` all of it so far, and how it ended.
    Token counts are those so far, 0 where the event does not say."""

    text: str = ""
    whole: bool = False
    finish: Finish | None = None
    tokens: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0


class Dialect(Protocol):
    """One way of asking. `path` is below the endpoint's URL."""

    @property
    def path(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def body(self, ask: Ask) -> Mapping[str, object]:
        """The JSON to post. Raises RequestError for what cannot be asked like this."""
        ...

    def read(self, event: Mapping[str, Any]) -> Chunk:
        """What an event of the answer says. Raises KeyError, TypeError, IndexError or ValueError
        for one that is none."""
        ...
