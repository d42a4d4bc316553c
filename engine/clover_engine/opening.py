"""From a model's folder to the engine that runs it."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from clover_engine.api import Engine
from clover_engine.canvas_engine import CanvasEngine
from clover_engine.checkpoint import CONFIG, Checkpoint, read_json
from clover_engine.checkpoint_tokenizer import read_tokenizer, vocabulary_of
from clover_engine.devices import load_on
from clover_engine.engine import CACHE_BYTES, load_engine, prepare
from clover_engine.errors import CheckpointError
from clover_engine.family import Attention, Family, Prefix, Signs, load_registry
from clover_engine.models.backbones import read_config, spare_tensors, tensors_of
from clover_engine.models.clover_config import HYBRID, CloverConfig, Switches
from clover_engine.models.clover_weights import check_clover, load_clover
from clover_engine.models.loading import load_transformer
from clover_engine.models.parts import Model
from clover_engine.tokenizer import TextTokenizer

log = logging.getLogger(__name__)

TYPES = {"bf16": torch.bfloat16, "float32": torch.float32}
_BLOCK_LENGTHS = ("block_length", "block_size", "bd_size")


def open_engine(
    folder: Path,
    *,
    model: str,
    precision: str = "int8",
    threads: int = 0,
    families: Path | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Engine:
    """Load a converted model, which keeps at most `cache_bytes` of documents it has read, or a
    checkpoint as its makers publish it, whose family is told by what stands in it and in the
    user's own `families`. Raises ModelError."""
    if not (folder / CONFIG).exists():
        return load_engine(
            folder, model=model, precision=precision, threads=threads, cache_bytes=cache_bytes
        )
    return open_checkpoint(
        folder, model=model, precision=precision, threads=threads, families=families
    )


def open_checkpoint(
    folder: Path,
    *,
    model: str,
    precision: str = "bf16",
    threads: int = 0,
    families: Path | None = None,
) -> CanvasEngine:
    """The engine of a checkpoint, in bf16 or float32, on the GPU when there is one."""
    return load_on(prepare(threads), partial(_open, folder, model, precision, families))


def _open(
    folder: Path, model: str, precision: str, families: Path | None, device: torch.device
) -> CanvasEngine:
    if precision not in TYPES:
        log.info("%s is for converted models: running bf16 on %s", precision, device)
        precision = "bf16"
    tokenizer = read_tokenizer(folder)
    family = recognise(folder, tokenizer, model, families)
    with Checkpoint(folder, family.renames) as checkpoint:
        mask = _mask(checkpoint, family, tokenizer)
        family = replace(family, end=(*family.end, *_ends(checkpoint)))
        loaded = _load(checkpoint, family, device, TYPES[precision], mask)
    vocabulary = vocabulary_of(tokenizer, loaded.vocabulary, folder)
    return CanvasEngine(model, precision, loaded, family, tokenizer, vocabulary)


def _load(
    checkpoint: Checkpoint, family: Family, device: torch.device, dtype: torch.dtype, mask: int
) -> Model:
    """The model of the family's backbone."""
    if family.backbone == HYBRID:
        switches = Switches.of(family.switches)
        return load_clover(checkpoint, device, dtype, switches=switches, mask=mask)
    block = family.block_length if family.prefix is Prefix.BLOCK else 1
    return load_transformer(checkpoint, family.backbone, device, dtype, mask=mask, block=block)


def recognise(
    folder: Path, tokenizer: TextTokenizer, model: str, families: Path | None = None
) -> Family:
    """The family of a checkpoint folder, which is called `model` or by a hub id; its block length
    is what config.json says, if it does. Raises UnknownFamily, CheckpointError."""
    config = read_json(folder / CONFIG)
    family = load_registry(families).recognised(Signs(config, tokenizer.names(), model))
    lengths = [config[name] for name in _BLOCK_LENGTHS if config.get(name)]
    if family.attention is Attention.BLOCK and lengths:
        return replace(family, block_length=int(lengths[0]))
    return family


def _mask(checkpoint: Checkpoint, family: Family, tokenizer: TextTokenizer) -> int:
    """The id of the mask token, on which family and checkpoint must agree. Where the family knows
    none, the checkpoint must."""
    stated = checkpoint.config | checkpoint.generation
    mask = tokenizer.special(family.mask) if family.mask != "" else stated.get("mask_token_id")
    if mask is None:
        raise CheckpointError.of(
            checkpoint.folder.name,
            "nothing says which token is the mask: `clover-write models calibrate` finds it",
        )
    for settings in (checkpoint.config, checkpoint.generation):
        if settings.get("mask_token_id", mask) not in (mask, None):
            raise CheckpointError.of(
                checkpoint.folder.name,
                f"its mask token is {settings['mask_token_id']}, that of the family {family.name} "
                f"is {mask}: set `mask` of the family in families.toml beside config.toml",
            )
    return int(mask)


def _ends(checkpoint: Checkpoint) -> tuple[int, ...]:
    """The tokens with which the checkpoint says that a text ends."""
    ends = checkpoint.generation.get("eos_token_id")
    return tuple(ends) if isinstance(ends, list) else () if ends is None else (int(ends),)


def check_checkpoint(folder: Path, model: str, whole: bool, families: Path | None = None) -> str:
    """Recognise a checkpoint by its settings and, where it is `whole`, check all tensors' names,
    shapes and types. Returns its family's name. Raises ModelError."""
    family = recognise(folder, read_tokenizer(folder), model, families)
    config = read_json(folder / CONFIG)
    is_hybrid = family.backbone == HYBRID
    sizes = CloverConfig.of(config) if is_hybrid else read_config(family.backbone, config)
    if whole:
        with Checkpoint(folder, family.renames) as checkpoint:
            if isinstance(sizes, CloverConfig):
                check_clover(checkpoint, sizes, Switches.of(family.switches))
            else:
                checkpoint.check(tensors_of(sizes), spare=spare_tensors(sizes))
    return family.name
