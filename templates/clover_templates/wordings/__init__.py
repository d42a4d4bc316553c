"""Ways to word a text, each a prompt in a file beside this one: `en/tighten.md`, `write/zh.md`.

The first line of a file is what people see. The last one is where the model goes on; `{{text}}`,
`{{place}}` and `{{source}}` stand for what it is told. A new file is a new way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from clover_engine.errors import CloverError

REWRITE = "rewrite"
_MARK = re.compile(r"\{\{(\w+)\}\}")


class UnknownWording(CloverError):
    """No file is called so; nothing is done."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A way to word a text. `title` says it in the language of the prompt."""

    name: str
    title: str
    prompt: str

    def asked(self, **told: str) -> str:
        """The prompt with what the model is told, each on one line."""
        return _MARK.sub(lambda mark: " ".join(told[mark[1]].split()), self.prompt)


@cache
def rewordings(lang: str) -> tuple[Wording, ...]:
    """The ways to word a text again in a language, `en` or `zh`, by name."""
    return tuple(sorted(_read(lang), key=lambda wording: wording.name))


def rewording(name: str, lang: str) -> Wording:
    """Raises UnknownWording."""
    for each in rewordings(lang):
        if each.name == name:
            return each
    known = ", ".join(each.name for each in rewordings(lang))
    raise UnknownWording(f'no way to word a text is called "{name}"; there are {known}')


def writing(lang: str) -> Wording:
    """How a text is written from what a document says."""
    return _wording(files(__name__).joinpath("write", f"{lang}.md"))


def _read(lang: str) -> Iterator[Wording]:
    return map(_wording, files(__name__).joinpath(lang).iterdir())


def _wording(path: Traversable) -> Wording:
    prompt = path.read_text(encoding="utf-8").rstrip()
    title = prompt.split("\n", 1)[0].removeprefix("# ")
    return Wording(path.name.removesuffix(".md"), title, prompt)
