"""The training loop: one context a step, many blocks behind it; resumable at any checkpoint."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from time import monotonic

import torch
from torch.nn import functional

from clover_engine.adapt.backbone import Backbone, Context
from clover_engine.adapt.blocks import Block, Blocks, draft_block, pack, sample_blocks
from clover_engine.adapt.corpus import Document
from clover_engine.adapt.examples import KINDS, ExampleMaker
from clover_engine.adapt.reading import Reader, Reading
from clover_engine.adapt.weights import AdapterWeights
from clover_engine.family import load_family
from clover_engine.tokenizer import TextTokenizer
from clover_engine.weights import TOKENIZER_FILE, load_vocabulary

log = logging.getLogger(__name__)

CONTEXT_TOKENS = 640
WARM_UP = 100  # steps
HELD_OUT = 12  # readings the adapter is measured on and never learns from
SAVE_S = 600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made of; kept with its checkpoint."""

    rank: int = 32
    rows: int = 320  # block rows of a step
    rate: float = 6e-4  # AdamW's learning rate
    mask_rate: float = 3e-3  # for the mask's embedding
    decay: float = 0.995  # of the moving average that is shipped
    seed: int = 0


class Examples:
    """An endless stream of readings; document number n of 50 is held out."""

    def __init__(self, documents: Sequence[Document], folder: Path, seed: int) -> None:
        self._random = Random(seed)
        tokenizer = TextTokenizer(folder / TOKENIZER_FILE)
        self._maker = ExampleMaker(self._random)
        self._reader = Reader(load_family("qwen2"), tokenizer, load_vocabulary(folder))
        self._sources: dict[str, list[list[Document]]] = {
            language: _by_source(documents, language) for language in KINDS
        }

    def reseed(self, seed: int) -> None:
        """Draw other examples from here on."""
        self._random.seed(seed)

    def next(self) -> Reading:
        """The next reading: code three times of five."""
        while True:
            python = self._random.random() < 0.6
            sources = self._sources["python" if python else "markdown"]
            # small packages hold more variety for their size than large ones
            weights = [len(documents) ** 0.5 for documents in sources]
            documents = self._random.choices(sources, weights)[0]
            example = self._maker.cut(self._random.choice(documents))
            if example and (reading := self._reader.read(example, CONTEXT_TOKENS)):
                return reading


def _by_source(documents: Sequence[Document], language: str) -> list[list[Document]]:
    sources: dict[str, list[Document]] = {}
    for document in documents:
        if document.language == language:
            sources.setdefault(document.source, []).append(document)
    return list(sources.values())


class Trainer:
    """One run: its adapter, optimizer, moving average and progress."""

    def __init__(
        self, backbone: Backbone, documents: Sequence[Document], folder: Path, settings: Settings
    ) -> None:
        torch.manual_seed(settings.seed)
        held, kept = documents[::50], [d for n, d in enumerate(documents) if n % 50]
        self._backbone = backbone
        self._settings = settings
        self._random = Random(settings.seed)
        self._examples = Examples(kept, folder, settings.seed)
        measured = Examples(held, folder, seed=1)
        self._held_out = [measured.next() for _ in range(HELD_OUT)]
        mask = backbone.head.float().mean(0)
        self.weights = AdapterWeights(backbone.config, settings.rank, mask)
        self.average = {name: p.detach().clone() for name, p in self.weights.named_parameters()}
        parameters = dict(self.weights.named_parameters())
        low_rank = [p for name, p in parameters.items() if name != "mask"]
        self._optimizer = torch.optim.AdamW(
            [
                {"params": low_rank, "lr": settings.rate, "rate": settings.rate},
                {"params": [parameters["mask"]], "lr": 0.0, "rate": settings.mask_rate},
            ],
            betas=(0.9, 0.95),
            weight_decay=0.0,
        )
        self.step = 0
        self.masks = 0

    def train(self, out: Path, seconds: float) -> None:
        """Train for so long; checkpoints and measurements go to `out`."""
        started = saved = monotonic()
        losses: list[tuple[float, float]] = []
        while monotonic() - started < seconds:
            losses.append(self._step())
            if monotonic() - saved > SAVE_S:
                self._report(out, losses)
                self.save(out)
                losses, saved = [], monotonic()
        self.save(out)

    def _step(self) -> tuple[float, float]:
        reading = self._examples.next()
        context = self._backbone.read(reading.tokens)
        blocks = pack(
            sample_blocks(reading, self._settings.rows, self._random), len(reading.tokens)
        )
        draft_loss, infill_loss = self._losses(context, blocks)
        torch.autograd.backward((draft_loss, infill_loss))
        torch.nn.utils.clip_grad_norm_(self.weights.parameters(), 1.0)
        self.step += 1
        for group in self._optimizer.param_groups:
            group["lr"] = group["rate"] * min(1.0, self.step / WARM_UP)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        keep = min(self._settings.decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, parameter in self.weights.named_parameters():
                self.average[name].lerp_(parameter, 1 - keep)
        self.masks += len(blocks.targets)
        return draft_loss.item(), infill_loss.item()

    def _losses(self, context: Context, blocks: Blocks) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross entropies a mask: against the base's predictions, and against the true text."""
        hidden = self._backbone.denoise(context, blocks, self.weights)
        soft = blocks.targets < 0
        count = len(blocks.targets)
        drafted = self._backbone.logits(hidden[soft]).float().log_softmax(-1)
        with torch.no_grad():
            taught = context.last[-1 - blocks.targets[soft]]
            wanted = self._backbone.logits(taught).float().softmax(-1)
        draft_loss = -(wanted * drafted).sum() / count
        logits = self._backbone.logits(hidden[~soft]).float()
        infill_loss = functional.cross_entropy(logits, blocks.targets[~soft], reduction="sum")
        return draft_loss, infill_loss / count

    @torch.no_grad()
    def acceptance(self, masks: int = 4) -> list[float]:
        """How often the first k masks of an all-masked block are all as the base would write them
        on held-out text, k = 1 .. masks, by the averaged weights."""
        trained = {name: p.detach().clone() for name, p in self.weights.named_parameters()}
        self.weights.load_state_dict(self.average)
        right = torch.zeros(masks)
        count = 0
        for reading in self._held_out:
            context = self._backbone.read(reading.tokens)
            last = len(reading.tokens) - masks - 2
            blocks: list[Block] = [
                draft_block(reading, anchor, masks) for anchor in range(reading.first, last, 9)
            ]
            if not blocks:
                continue
            packed = pack(blocks, len(reading.tokens))
            hidden = self._backbone.denoise(context, packed, self.weights)
            drafts = self._backbone.logits(hidden).argmax(-1)
            wanted = self._backbone.logits(context.last[-1 - packed.targets]).argmax(-1)
            right += (drafts == wanted).view(-1, masks).long().cumprod(1).float().sum(0)
            count += len(blocks)
        self.weights.load_state_dict(trained)
        return (right / max(count, 1)).tolist()

    def _report(self, out: Path, losses: Sequence[tuple[float, float]]) -> None:
        drafts, infills = zip(*losses, strict=True)
        line = {
            "step": self.step,
            "masks": self.masks,
            "draft loss": sum(drafts) / len(drafts),
            "infill loss": sum(infills) / len(infills),
            "acceptance": [round(share, 4) for share in self.acceptance()],
        }
        log.info("%s", line)
        with (out / "progress.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def save(self, out: Path) -> None:
        """Write the checkpoint whole or not at all."""
        state = {
            "settings": asdict(self._settings),
            "step": self.step,
            "masks": self.masks,
            "weights": self.weights.state_dict(),
            "average": self.average,
            "optimizer": self._optimizer.state_dict(),
        }
        unfinished = out / "checkpoint.pt.part"
        torch.save(state, unfinished)
        os.replace(unfinished, out / "checkpoint.pt")

    def resume(self, out: Path) -> None:
        """Go on from the checkpoint in `out`, with other examples than before it."""
        state = torch.load(out / "checkpoint.pt", weights_only=True)
        self.weights.load_state_dict(state["weights"])
        self.average = state["average"]
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.masks = state["step"], state["masks"]
        self._random.seed(self.step)
        self._examples.reseed(self.step)
