"""The local engine: loads a model, turns canvas requests into steps, runs their forwards."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter

import torch

from clover_engine.api import (
    CanvasRequest,
    Decoding,
    Drafting,
    Ends,
    EngineInfo,
    Hole,
    Need,
    Result,
    Steps,
)
from clover_engine.choosing import choose
from clover_engine.company import Company
from clover_engine.constraints import Constraints
from clover_engine.cost import CostCurve, measure
from clover_engine.denoise import fill_hole
from clover_engine.devices import best_device, load_on
from clover_engine.diffusion import fill_by_diffusion
from clover_engine.drafting import Drafter, Experience
from clover_engine.end_head import EndHead, likelihoods, load_end_head, tapped
from clover_engine.ending import Ending
from clover_engine.errors import ModelError, RequestError
from clover_engine.family import load_family
from clover_engine.hole_text import HoleText
from clover_engine.holes import fill_holes
from clover_engine.kv_cache import CacheStore
from clover_engine.lookup import Lookup
from clover_engine.models.parts import MASK, Output, Part
from clover_engine.models.qwen2 import Qwen2
from clover_engine.prompt import PromptBuilder
from clover_engine.sampler import Sampler
from clover_engine.steps import Forward, HoleSteps, Seen
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.weights import TOKENIZER_FILE, load_folder, load_gguf, load_vocabulary
from clover_engine.windows import Windows

log = logging.getLogger(__name__)

CACHE_BYTES = 64 << 20
FAMILY = "qwen2"
ORDINARY_CONTEXT = 256  # tokens
LAST_ANSWER = 64  # tokens of a document's last canvas that drafts are looked up in


class LocalEngine:
    """One model in this process. Implements `clover_engine.api.Engine`; not thread-safe."""

    def __init__(
        self,
        name: str,
        precision: str,
        model: Qwen2,
        tokenizer: TextTokenizer,
        vocabulary: Vocabulary,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        family = load_family(FAMILY)
        end = [tokenizer.special(token) for token in family.end]
        self._name = name
        self._remasking = family.remasking
        self._end_head = load_end_head(name)
        self._precision = precision
        self._model = model
        self._vocabulary = vocabulary
        self._prompts = PromptBuilder(family, tokenizer, self._vocabulary)
        forbidden = set(self._vocabulary.without_bytes().tolist()) - set(end)
        self._sampler = Sampler(forbidden, end, model.device)
        self._windows = Windows()
        self._constraints = Constraints(vocabulary)
        self._caches = CacheStore(model.new_cache, cache_bytes)
        self._experience = Experience()
        self._company = Company()
        self._curve = self._measure()

    @property
    def info(self) -> EngineInfo:
        """What runs here."""
        threads = torch.get_num_threads()
        detail = f"{threads} threads, torch {torch.__version__}, {self._curve}"
        return EngineInfo(self._name, self._precision, str(self._model.device), detail)

    def start(self, request: CanvasRequest) -> Steps:
        """The steps of one canvas. Raises RequestError when a hole asks for what cannot be."""
        masks = request.decoding is Decoding.DIFFUSION or request.drafting is Drafting.MASKS
        if masks and not self._model.denoises:
            raise RequestError(f"{self._name} has no block adapter: it cannot denoise")
        return self._company.joined(fill_holes(request, self._constraints, self._shared_steps))

    def forward(self, needs: Sequence[Need]) -> Sequence[Result]:
        """Run all forwards that the jobs need, together where they can be."""
        asked = [one for need in needs for one in need]
        seen: dict[int, Seen] = {}
        for some in _sharing(asked):
            seen |= zip(map(id, some), self._forward(some), strict=True)
        return [tuple(seen[id(one)] for one in need) for need in needs]

    def _shared_steps(
        self, request: CanvasRequest, number: int, hole: Hole, left: str, right: str
    ) -> HoleSteps:
        return self._company.portions(self._steps(request, number, hole, left, right))

    def _steps(
        self, request: CanvasRequest, number: int, hole: Hole, left: str, right: str
    ) -> HoleSteps:
        prefix, suffix = self._windows.cut(request.document, left, right)
        prompt = self._prompts.infill(prefix, suffix, request.context)
        # before the cache is taken, which cuts the document's last answer off
        drafter = self._drafter(request, prompt.tokens)
        # the last token is always read again: its logits begin the hole
        cache = self._caches.take(request.document, prompt.tokens[:-1])
        if hole.choices is not None:
            branches = self._prompts.branches(prompt, hole, suffix)
            return choose(number, hole.choices, branches, prompt, cache)
        constraint = self._constraints.of(hole, prompt.healed)
        # what matches a pattern is taken to the letter: nothing of it may be cut off
        free = hole.pattern is None
        ending = Ending(prefix, suffix if free else "", request.ends if free else Ends.NONE)
        text = HoleText(hole, prompt.healed, ending, constraint, self._vocabulary, request.watch)
        if request.decoding is Decoding.DIFFUSION and free:
            known_length = request.ends in (Ends.NONE, Ends.RULES)
            return fill_by_diffusion(
                number, prompt, text, cache, self._sampler, self._remasking, known_length
            )
        return fill_hole(number, prompt, text, cache, self._sampler, drafter, self._prompts.follow)

    def _drafter(self, request: CanvasRequest, context: Sequence[int]) -> Drafter:
        lookup = None
        if request.drafting in (Drafting.LOOKUP, Drafting.BOTH):
            # while the user types along, the last answer of the document is the best guess
            answered = self._caches.last_tokens(request.document)[-LAST_ANSWER:]
            lookup = Lookup(context, answered)
        masks = request.drafting in (Drafting.MASKS, Drafting.BOTH) and self._model.denoises
        if request.drafting is Drafting.BOTH and not self._company.is_one:
            masks = False  # forwards with masks are not shared
        return Drafter(lookup, masks, self._curve, self._experience)

    def _forward(self, asked: Sequence[Forward]) -> list[Seen]:
        """One forward of the model for all that is asked."""
        started = perf_counter()
        head = self._end_head if any(one.follows is not None for one in asked) else None
        parts = [Part(one.tokens, one.cache, one.rows, one.layout) for one in asked]
        taps = tapped(self._model.config.num_hidden_layers) if head else ()
        outputs = self._model.forward(parts, taps)
        seen = [_seen(one, output, head) for one, output in zip(asked, outputs, strict=True)]
        if len(asked) == 1:  # shared ones cost more than their rows
            [one] = asked
            milliseconds = (perf_counter() - started) * 1000
            self._curve.observe(len(one.tokens), milliseconds, MASK in one.tokens)
        return seen

    def _measure(self) -> CostCurve:
        """Time a forward behind a context of ordinary length."""
        cache = self._model.new_cache()
        cache.pretend(ORDINARY_CONTEXT)

        def forward(rows: int) -> None:
            self._model.forward([Part([0] * rows, cache, rows)])
            cache.truncate(ORDINARY_CONTEXT)

        curve = measure(forward)
        log.info("cost of a forward: %s", curve)
        return curve


def _sharing(asked: Sequence[Forward]) -> Iterator[Sequence[Forward]]:
    """Forwards that the model can run as one: with masks each alone."""
    plain = [one for one in asked if MASK not in one.tokens]
    if plain:
        yield plain
    yield from ([one] for one in asked if MASK in one.tokens)


def _seen(one: Forward, output: Output, head: EndHead | None) -> Seen:
    causal = slice(one.rows - one.tokens.count(MASK))
    logits = output.logits[causal]
    ends: Sequence[float] = ()
    if head and one.rows and one.follows is not None:
        chances = likelihoods(logits, one.follows)
        ends = head(torch.cat((output.states[causal], chances), 1)).tolist()
    return Seen(logits, output.logits[causal.stop :], ends)


def load_engine(
    folder: Path,
    *,
    model: str,
    precision: str = "int8",
    threads: int = 0,
    cache_bytes: int = CACHE_BYTES,
) -> LocalEngine:
    """Load a converted model folder, on the GPU when there is one (seconds). Raises ModelError."""
    return load_on(prepare(threads), partial(_load, folder, model, precision, cache_bytes))


def _load(
    folder: Path, model: str, precision: str, cache_bytes: int, device: torch.device
) -> LocalEngine:
    adapter = files("clover_engine").joinpath("adapters", f"{model}-block.safetensors")
    if precision == "int8" and device.type != "cpu":
        log.info("int8 kernels are for CPUs: running bf16 on %s", device)
        precision = "bf16"
    with as_file(adapter) as path:
        weights, tokenizer = load_folder(folder, precision, device, path if path.exists() else None)
    vocabulary = load_vocabulary(folder)
    return LocalEngine(model, precision, weights, tokenizer, vocabulary, cache_bytes)


def load_reference(gguf: Path, folder: Path, *, model: str, threads: int = 0) -> LocalEngine:
    """The bf16 engine straight from the GGUF that `folder` was converted from, for comparisons."""
    if not gguf.is_file():
        raise ModelError(f"{gguf} is not there: the bf16 reference reads the original GGUF")
    weights = load_gguf(gguf, prepare(threads))
    tokenizer = TextTokenizer(folder / TOKENIZER_FILE)
    return LocalEngine(model, "bf16", weights, tokenizer, load_vocabulary(folder))


def prepare(threads: int) -> torch.device:
    """Set the number of threads, 0 for a good one; the device that models run on."""
    torch.set_num_threads(threads or min(8, physical_cores()))
    return best_device()


def physical_cores() -> int:
    """Cores this process may use, hardware threads counted once where the system tells."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    siblings = Path("/sys/devices/system/cpu/smt/active")
    doubled = siblings.is_file() and siblings.read_text().strip() == "1"
    return max(1, usable // 2 if doubled else usable)
