"""The engine over models that only denoise: full canvases and blocks, by their family's rules."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clover_engine.api import (
    CanvasRequest,
    Ends,
    EngineInfo,
    Hole,
    Need,
    Result,
    Steps,
)
from clover_engine.block_canvas import BlockCanvas
from clover_engine.constraints import Constraints
from clover_engine.ending import Ending
from clover_engine.family import Attention, Family, Prefix
from clover_engine.full_canvas import FullCanvas
from clover_engine.hole_text import HoleText
from clover_engine.holes import fill_holes
from clover_engine.infilling import choose_masked, fill_blocks, fill_in_order, fill_whole
from clover_engine.kv_cache import CacheStore
from clover_engine.mask_sampler import MaskSampler
from clover_engine.models.parts import Model, Part
from clover_engine.prompt import PromptBuilder
from clover_engine.slots import Rules
from clover_engine.steps import Forward, HoleSteps, Meter, Seen
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.windows import Windows

CACHE_BYTES = 1 << 30


class CanvasEngine:
    """One model in this process. Implements `clover_engine.api.Engine`; not thread-safe.

    These models write in one way: what a request says of decoding and drafting is for others.
    """

    def __init__(
        self,
        name: str,
        precision: str,
        model: Model,
        family: Family,
        tokenizer: TextTokenizer,
        vocabulary: Vocabulary,
    ) -> None:
        self._name, self._precision = name, precision
        self._model, self._family = model, family
        self._vocabulary = vocabulary
        self._prompts = PromptBuilder(family, tokenizer, vocabulary)
        self._end = [tokenizer.special(token) for token in family.end]
        self._rules = _rules(family, tokenizer)
        written = {*self._end, self._rules.expand, self._rules.delete}
        self._forbidden = set(vocabulary.without_bytes().tolist()) - written
        self._windows = Windows()
        self._constraints = Constraints(vocabulary)
        self._caches = CacheStore(model.new_cache, CACHE_BYTES)

    @property
    def info(self) -> EngineInfo:
        """What runs here."""
        detail = f"family {self._family.name}, torch {torch.__version__}"
        return EngineInfo(self._name, self._precision, str(self._model.device), detail)

    def start(self, request: CanvasRequest) -> Steps:
        """The steps of one canvas. Raises RequestError when a hole asks for what cannot be."""
        return fill_holes(request, self._constraints, self._steps)

    def forward(self, needs: Sequence[Need]) -> Sequence[Result]:
        """Run all forwards that the jobs need as one."""
        asked: list[Forward] = [one for need in needs for one in need]
        outputs = self._model.forward(
            [Part(one.tokens, one.cache, one.rows, one.layout) for one in asked]
        )
        seen = iter([Seen(output.logits, output.logits[:0]) for output in outputs])
        return [tuple(next(seen) for _ in need) for need in needs]

    def _steps(
        self, request: CanvasRequest, number: int, hole: Hole, left: str, right: str
    ) -> HoleSteps:
        prefix, suffix = self._windows.cut(request.document, left, right)
        if self._family.attention is Attention.FULL:
            return self._in_the_middle(request, number, hole, prefix, suffix)
        return self._in_blocks(request, number, hole, prefix, suffix)

    def _in_the_middle(
        self, request: CanvasRequest, number: int, hole: Hole, prefix: str, suffix: str
    ) -> HoleSteps:
        branches: list[list[int]] = []
        if hole.choices is not None:
            branches, suffix = self._prompts.branches_around(hole, suffix)
        before, behind = self._prompts.around(prefix, suffix)
        meter = Meter(len(before) + len(behind), reused=0)
        canvas = FullCanvas(
            before,
            behind,
            self._model.new_cache(),
            meter,
            shift=self._family.shift,
            refresh=self._family.refresh,
        )
        if hole.choices is not None:
            return choose_masked(number, hole.choices, branches, canvas, meter)
        # the masks see where the right text begins: nothing of it is written again
        ending = Ending("", "", Ends.NONE)
        constraint = self._constraints.of(hole)
        text = HoleText(hole, b"", ending, constraint, self._vocabulary, request.watch)
        sampler = self._sampler()
        if hole.pattern is not None:
            return fill_in_order(number, canvas, text, sampler, meter)
        return fill_whole(number, canvas, text, self._rules, sampler, meter)

    def _in_blocks(
        self, request: CanvasRequest, number: int, hole: Hole, prefix: str, suffix: str
    ) -> HoleSteps:
        family = self._family
        prompt = self._prompts.infill(prefix, suffix, request.context)
        cache = self._caches.take(request.document, prompt.tokens[:-1])
        unit = family.block_length if family.prefix is Prefix.BLOCK else 1
        cache.truncate(cache.restorable(len(cache) // unit * unit))
        meter = Meter(len(prompt.tokens), reused=len(cache))
        canvas = BlockCanvas(
            prompt.tokens,
            prompt.right,
            cache,
            meter,
            length=family.block_length,
            unit=unit,
            shift=family.shift,
        )
        if hole.choices is not None:
            branches = self._prompts.branches(prompt, hole, suffix)
            return choose_masked(number, hole.choices, branches, canvas, meter)
        constraint = self._constraints.of(hole, prompt.healed)
        free = hole.pattern is None
        ending = Ending(prefix, suffix if free else "", request.ends if free else Ends.NONE)
        text = HoleText(hole, prompt.healed, ending, constraint, self._vocabulary, request.watch)
        sampler = self._sampler()
        if not free:
            return fill_in_order(number, canvas, text, sampler, meter)
        return fill_blocks(number, canvas, text, prompt.removed, self._rules, sampler, meter)

    def _sampler(self) -> MaskSampler:
        family = self._family
        return MaskSampler(
            self._forbidden, self._end, self._model.device, family.sampling, family.remasking.order
        )


def _rules(family: Family, tokenizer: TextTokenizer) -> Rules:
    """How slots are denoised, with the family's tokens as ids."""
    return Rules(
        family.remasking,
        family.edits,
        family.sub_block,
        family.ends_holes,
        expand=tokenizer.special(family.expand) if family.expand else None,
        delete=tokenizer.special(family.delete) if family.delete else None,
    )
