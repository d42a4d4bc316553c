"""Finds by likelihood what nothing public says of a Clover: how blocks read the state, the mask.

Slots of blocks of a known text are masked. Under the right choice the model says what stands there;
the likelihood of wrong ones is worse by nats, not by hundredths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import torch

from clover_engine.block_canvas import block_layout
from clover_engine.checkpoint import Checkpoint
from clover_engine.checkpoint_tokenizer import read_tokenizer
from clover_engine.engine import prepare
from clover_engine.errors import ModelError
from clover_engine.family import Family
from clover_engine.kernels.reference import Readout
from clover_engine.models.clover import Clover
from clover_engine.models.clover_config import BETA, HYBRID, Mixer, Switches
from clover_engine.models.clover_weights import load_clover
from clover_engine.models.parts import MASK, Part
from clover_engine.opening import TYPES, recognise
from clover_engine.recurrent_cache import RecurrentCache
from clover_engine.tokenizer import TextTokenizer

_BLOCKS = 8  # of the text
_CONTEXT = 128  # tokens before each of them
_SHARE = 0.15  # of a block that is masked
_FINALISTS = 2  # masks that are tried with every way of reading; the others with the usual one
_SEED = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to read a checkpoint."""

    switches: Switches
    shift: bool
    mask: int

    def table(self) -> dict[str, Any]:
        """What families.toml says of it."""
        return {"mask": self.mask, "shift": self.shift, "switches": self.switches.table()}


@dataclass(frozen=True, slots=True)
class Score:
    """How surprised the model is by a masked token under a choice, in nats."""

    choice: Choice
    surprise: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """All choices, the best first, and how surprised the model is by a token that it reads
    causally, which no choice changes: a high value says that something else is wrong."""

    family: str
    scores: tuple[Score, ...]
    causal: float


@dataclass(frozen=True, slots=True)
class _Sample:
    """A block behind a text: the cache holds all of that but its last token."""

    cache: RecurrentCache
    last: int
    block: tuple[int, ...]
    masked: tuple[int, ...]


def calibrate(
    folder: Path,
    text: str,
    *,
    model: str,
    masks: Sequence[int] = (),
    families: Path | None = None,
    precision: str = "bf16",
) -> Calibration:
    """Try all choices on a text; `masks` are the ids to try in place of those that the checkpoint
    hints at. Raises ModelError."""
    device, dtype = prepare(0), TYPES.get(precision, torch.bfloat16)
    tokenizer = read_tokenizer(folder)
    family = recognise(folder, tokenizer, model, families)
    if family.backbone != HYBRID or Switches.of(family.switches).mixer is not Mixer.SELECTION:
        raise ModelError(f"nothing is to be found out about models of the family {family.name}")
    with Checkpoint(folder, family.renames) as checkpoint:
        tried = list(masks) or mask_candidates(checkpoint.config, tokenizer)
        loaded = load_clover(checkpoint, device, dtype, switches=Switches(), mask=tried[0])
    tokens = tokenizer.encode(text)
    samples, causal = _read(loaded, tokens, family)
    return Calibration(family.name, tuple(_ranked(loaded, samples, tried)), causal)


def mask_candidates(config: Mapping[str, Any], tokenizer: TextTokenizer) -> list[int]:
    """What may be the mask: the token that config.json says, those called so, or else all that the
    model has and the tokenizer has not. Raises ModelError where there is none."""
    if config.get("mask_token_id") is not None:
        return [int(config["mask_token_id"])]
    names = tokenizer.names()
    called = sorted(token for name, token in names.items() if "mask" in name.lower())
    size = int(config.get("text_config", config).get("vocab_size", 0))
    found = called or list(range(max(names.values()) + 1, size))
    if not found:
        raise ModelError("nothing hints at the mask token: name ids to try with --mask")
    return found


def ways() -> Iterator[Switches]:
    """Every way in which blocks may read the state."""
    flags = (False, True)
    for scalars, decay, content, beta, delta in product(
        permutations(Switches().scalars), flags, flags, BETA, flags
    ):
        yield Switches(scalars=scalars, readout=Readout(decay, content, beta, delta))


def _read(model: Clover, tokens: Sequence[int], family: Family) -> tuple[list[_Sample], float]:
    """Read what stands before each block; also how surprising that is."""
    length = family.block_length
    if len(tokens) < 4 * length:
        raise ModelError(
            f"{len(tokens)} tokens tell too little: give a text of {4 * length} tokens or more"
        )
    random = Random(_SEED)
    starts = range(length, len(tokens) - length + 1, max(1, (len(tokens) - length) // _BLOCKS))
    samples, surprise, count = list[_Sample](), 0.0, 0
    for start in islice(starts, _BLOCKS):
        before = tokens[max(0, start - _CONTEXT) : start]
        cache = model.new_cache()
        [output] = model.forward([Part(before[:-1], cache, len(before) - 1)])
        chances = output.logits.log_softmax(-1)
        surprise -= float(chances[torch.arange(len(before) - 1), torch.tensor(before[1:])].sum())
        count += len(before) - 1
        masked = sorted(random.sample(range(length), max(1, round(length * _SHARE))))
        block = tuple(tokens[start : start + length])
        samples.append(_Sample(cache, before[-1], block, tuple(masked)))
    return samples, surprise / count


def _ranked(model: Clover, samples: Sequence[_Sample], masks: Sequence[int]) -> list[Score]:
    scores = [score for mask in masks for score in _scored(model, Switches(), samples, mask)]
    scores.sort(key=lambda score: score.surprise)
    best = list(dict.fromkeys(score.choice.mask for score in scores))[:_FINALISTS]
    for switches in ways():
        if switches != Switches():
            for mask in best:
                scores += _scored(model, switches, samples, mask)
    return sorted(scores, key=lambda score: score.surprise)


def _scored(
    model: Clover, switches: Switches, samples: Sequence[_Sample], mask: int
) -> Iterator[Score]:
    """The scores of one way and one mask, without and with a shift."""
    reading = model.reading(switches, mask)
    outputs = reading.forward([_part(sample) for sample in samples])
    surprise = [0.0, 0.0]
    for sample, output in zip(samples, outputs, strict=True):
        sample.cache.truncate(len(sample.cache) - 1 - len(sample.block))
        chances = output.logits.log_softmax(-1)
        for place in sample.masked:
            # the first row is that of the token before the block
            for shift, row in enumerate((place + 1, place)):
                surprise[shift] -= float(chances[row, sample.block[place]])
    count = sum(len(sample.masked) for sample in samples)
    for shift, total in enumerate(surprise):
        yield Score(Choice(switches, bool(shift), mask), total / count)


def _part(sample: _Sample) -> Part:
    masked = [MASK if n in sample.masked else token for n, token in enumerate(sample.block)]
    layout = block_layout([sample.last], [len(masked)], len(sample.cache), 1)
    return Part([sample.last, *masked], sample.cache, 1 + len(masked), layout)
