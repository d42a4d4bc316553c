"""From the text around a hole to the tokens the model reads."""

from __future__ import annotations

import tomllib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from clover_engine.api import Hole
from clover_engine.ending import COMPARED
from clover_engine.errors import RequestError
from clover_engine.healing import heal
from clover_engine.remasking import Order, Remasking
from clover_engine.seam import beginning
from clover_engine.tokenizer import TextTokenizer, Vocabulary


@dataclass(frozen=True, slots=True)
class Family:
    """How models of one family are asked: the infill prompt's parts, the end tokens' names, and how
    blocks of masks are denoised."""

    infill: tuple[str, ...]
    end: tuple[str, ...]
    remasking: Remasking

    def infill_text(self, prefix: str, suffix: str) -> str:
        """The infill prompt as one string, special tokens spelled out."""
        texts = {"{prefix}": prefix, "{suffix}": suffix}
        return "".join(texts.get(part, part) for part in self.infill)


def load_family(name: str) -> Family:
    """One entry of families.toml. Raises KeyError for a family nobody described."""
    data = tomllib.loads(files("clover_engine").joinpath("families.toml").read_text("utf-8"))[name]
    remasking = data.get("remasking", {})
    order = Order(remasking.pop("order", Order.CONFIDENCE))
    return Family(tuple(data["infill"]), tuple(data["end"]), Remasking(order, **remasking))


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads: `tokens`, then the bytes `healed` that its first tokens must spell.

    `removed` are the tokens that spelled those bytes when the text was cut at the cursor; `right`
    are the first tokens right of the hole, and `follows` is the first of them or an end token.
    """

    tokens: tuple[int, ...]
    removed: tuple[int, ...]
    healed: bytes
    right: tuple[int, ...]
    follows: int


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes of a window in UTF-8 bytes (about three to a token): it is cut to `target` when it
    would exceed `most`, and then stands still until it exceeds `most` or falls under `least`."""

    least: int
    target: int
    most: int


PREFIX_BUDGET = Budget(least=1024, target=2048, most=3072)
SUFFIX_BUDGET = Budget(least=384, target=768, most=1152)
RIGHT = 8  # tokens right of a hole that masks may see
_FIT = 24  # characters of the suffix by which choices are compared
_ANCHOR = 64  # characters by which a window's far edge is found again


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a window began last time: how many characters it left away, and what stood there."""

    place: int = 0
    anchor: str = ""

    def find(self, text: str) -> int:
        """Where the anchor stands now, nearest to its old place; -1 where it is gone."""
        before = text.rfind(self.anchor, 0, self.place + len(self.anchor))
        after = text.find(self.anchor, self.place)
        found = (place for place in (before, after) if place >= 0)
        return min(found, key=lambda place: abs(place - self.place), default=-1)


class Windows:
    """Cuts the text around a hole to a budget, at far edges that move in coarse steps.

    Each document's last edges are remembered by the text that stands at them, so that typing, an
    inserted bracket or a line moved elsewhere keep the edges, and with them the cache.
    """

    def __init__(self, documents: int = 64) -> None:
        self._edges: OrderedDict[str, tuple[Edge, Edge]] = OrderedDict()
        self._documents = documents

    def cut(self, document: str, prefix: str, suffix: str) -> tuple[str, str]:
        """The near end of the prefix and the near start of the suffix."""
        head, tail = self._edges.pop(document, (Edge(), Edge()))
        backwards = suffix[::-1]
        near_prefix = cut_prefix(prefix, head, PREFIX_BUDGET)
        near_suffix = cut_prefix(backwards, tail, SUFFIX_BUDGET)
        if document:
            self._edges[document] = (_edge(prefix, near_prefix), _edge(backwards, near_suffix))
            if len(self._edges) > self._documents:
                self._edges.popitem(last=False)
        return near_prefix, near_suffix[::-1]


def _edge(text: str, near: str) -> Edge:
    return Edge(len(text) - len(near), near[:_ANCHOR])


def cut_prefix(text: str, edge: Edge, budget: Budget) -> str:
    """The end of `text` that fits the budget, starting at the old edge where it still may."""
    if edge.anchor and (found := edge.find(text)) >= 0:
        size = _size(text[found:])
        if size <= budget.most and (size >= budget.least or found == 0):
            return text[found:]
    if _size(text[-budget.most :]) <= budget.most and len(text) <= budget.most:
        return text
    near = _last_bytes(text, budget.target)
    line = near.find("\n") + 1
    return near[line:] if 0 < line < len(near) // 2 else near


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _last_bytes(text: str, size: int) -> str:
    """The longest end of `text` of at most `size` UTF-8 bytes."""
    tail = text[-size:].encode("utf-8", "surrogatepass")[-size:]
    while tail and tail[0] & 0xC0 == 0x80:
        tail = tail[1:]
    return tail.decode("utf-8", "surrogatepass")


class PromptBuilder:
    """Builds prompts of one family with one tokenizer."""

    def __init__(self, family: Family, tokenizer: TextTokenizer, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._parts = [
            part if part in ("{prefix}", "{suffix}") else tokenizer.special(part)
            for part in family.infill
        ]
        self._end = tokenizer.special(family.end[0])

    def infill(self, prefix: str, suffix: str) -> Prompt:
        """The prompt of a hole between `prefix` and `suffix`, ready to continue the prefix.

        The word or signs that the suffix begins with are left out: see `seam`.
        """
        kept, removed = heal(self._tokenizer.encode(prefix), self._vocabulary)
        right = self._tokenizer.encode(suffix[len(beginning(suffix)) :])
        texts: dict[str, Sequence[int]] = {"{prefix}": kept, "{suffix}": right}
        tokens: list[int] = []
        for part in self._parts:
            tokens.extend(texts[part] if isinstance(part, str) else (part,))
        healed = b"".join(self._vocabulary.token_bytes(token) for token in removed)
        follows = right[0] if right else self._end
        return Prompt(tuple(tokens), tuple(removed), healed, tuple(right[:RIGHT]), follows)

    def follow(self, right: str) -> list[int]:
        """The first tokens of a right text, as many as are compared where a hole may end."""
        return self._tokenizer.encode(right[:_ANCHOR])[:COMPARED]

    def branches(self, prompt: Prompt, hole: Hole, suffix: str) -> list[list[int]]:
        """The tokens of each choice with the beginning of the suffix behind it, so that how well
        both sides fit can be compared. Raises RequestError when a choice is too long for the hole.
        """
        choices = hole.choices or ()
        longest = max(choices, key=len, default="")
        if len(self._tokenizer.encode(longest)) > hole.max_tokens:
            raise RequestError(f"{hole.max_tokens} tokens are too few for the longest choice")
        end = [self._end] if len(suffix) < _FIT else []
        return [self._behind(prompt, choice + suffix[:_FIT]) + end for choice in choices]

    def _behind(self, prompt: Prompt, text: str) -> list[int]:
        """The tokens of what healing took back and `text`."""
        try:
            return self._tokenizer.encode(prompt.healed.decode() + text)
        except UnicodeDecodeError:  # it begins inside a character
            return [*prompt.removed, *self._tokenizer.encode(text)]
