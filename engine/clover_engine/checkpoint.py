"""A checkpoint folder as its makers publish it: safetensors shards, their index, JSON, never code.

Nothing is unpickled and no Python file of the folder is ever read. Shards are memory-mapped; a
tensor goes from the file to its device without a copy in between. Names are those of the family's
text model: what other exports call them, or keep apart, is joined here.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import torch
from safetensors import SafetensorError, safe_open

from clover_engine.errors import CheckpointError

log = logging.getLogger(__name__)

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
CONFIG = "config.json"
GENERATION = "generation_config.json"

Shape: TypeAlias = tuple[int, ...]
Rename: TypeAlias = tuple[re.Pattern[str], str]

_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# parts of multimodal and multi-token exports that no text model has, and buffers that are computed
_SKIPPED = re.compile(r"(model\.)?(visual|vision_tower|mtp)\.|.*\.rotary_emb\.inv_freq$")
_NESTED = re.compile(r"^model\.language_model\.")
_EXPERTS = re.compile(r"(.*\.experts)\.(gate_up_proj|down_proj)$")


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a tensor lies: a shard, its name there, its shape and type."""

    shard: str
    name: str
    shape: Shape
    dtype: str


class Checkpoint:
    """The tensors and settings of one folder. Use as a context manager; values outlive it."""

    def __init__(self, folder: Path, renames: Sequence[Rename] = ()) -> None:
        """Open the shards and read their headers; `renames` turn stored names into the family's.

        Raises CheckpointError, which lists all that is wrong.
        """
        self.folder = folder
        self.config = read_json(folder / CONFIG)
        self.generation = read_json(folder / GENERATION) if (folder / GENERATION).exists() else {}
        self._open = ExitStack()
        self._device: tuple[torch.device, dict[str, Any]] | None = None
        self._not_numbers: list[str] = []
        self._stored = _headers(folder, renames)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()
        if self._not_numbers:
            count, first = len(self._not_numbers), self._not_numbers[0]
            log.warning(
                "%s: %d tensors hold values that are no finite numbers, %s first; "
                "what the model writes may be nonsense: pull it again",
                self.folder.name,
                count,
                first,
            )

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """The shape of every tensor by its name."""
        return {name: stored.shape for name, stored in self._stored.items()}

    def check(self, wanted: Mapping[str, Shape], spare: Collection[str] = ()) -> None:
        """Compare with what a model wants, both ways; `spare` tensors may be there or not.

        Fused experts (`….experts.gate_up_proj` [E, 2F, H], `….experts.down_proj` [E, H, F]) may be
        stored one by one. Raises CheckpointError, which lists all that is wrong.
        """
        problems: list[str] = []
        used = set(spare)
        for name, shape in wanted.items():
            parts = self._parts(name, shape)
            used |= parts.keys()
            problems += (found for part in parts.items() if (found := self._problem(*part)))
        problems += (f"{name} is unexpected" for name in self._stored if name not in used)
        if problems:
            raise CheckpointError.of(self.folder.name, *problems)

    def read(
        self, name: str, device: torch.device, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """One tensor on a device, in its stored type or `dtype`."""
        value = self._value(name, device)
        return value if dtype is None else value.to(dtype)

    def joined(
        self, names: Sequence[str], device: torch.device, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """Tensors of one width below one another, each copied to its place: [sum of rows, …]."""
        first, rows = self._stored[names[0]], [self._stored[name].shape[0] for name in names]
        size = (sum(rows), *first.shape[1:])
        whole = torch.empty(size, device=device, dtype=dtype or _TYPES[first.dtype])
        for name, place in zip(names, torch.split(whole, rows), strict=True):
            place.copy_(self._value(name, device))
        return whole

    def experts(
        self, name: str, shape: Shape, device: torch.device, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """The weights of all experts, [E, out, in], which the file has fused or one by one."""
        if name in self._stored:
            return self.read(name, device, dtype)
        return self.joined(list(self._parts(name, shape)), device, dtype).view(shape)

    def _value(self, name: str, device: torch.device) -> torch.Tensor:
        stored = self._stored[name]
        value: torch.Tensor = self._shard(stored.shard, device).get_tensor(stored.name)
        if not value.sum(dtype=torch.float32).isfinite() and not value.isfinite().all():
            self._not_numbers.append(name)
        return value

    def _shard(self, name: str, device: torch.device) -> Any:
        """A shard mapped for a device; changing devices opens the shards again."""
        if self._device is None or self._device[0] != device:
            self._device = device, {}
        shards = self._device[1]
        if name not in shards:
            file = safe_open(self.folder / name, framework="pt", device=str(device))
            shards[name] = self._open.enter_context(file)
        return shards[name]

    def _parts(self, name: str, shape: Shape) -> dict[str, Shape]:
        """The stored tensors that make up a wanted one, with the shapes they must have."""
        experts = _EXPERTS.match(name)
        if name in self._stored or not experts:
            return {name: shape}
        kinds = ("gate_proj", "up_proj") if experts[2] == "gate_up_proj" else ("down_proj",)
        count, rows, width = shape
        return {
            f"{experts[1]}.{number}.{kind}.weight": (rows // len(kinds), width)
            for number in range(count)
            for kind in kinds
        }

    def _problem(self, name: str, shape: Shape) -> str | None:
        stored = self._stored.get(name)
        if stored is None:
            return f"{name} is missing"
        if stored.shape != shape:
            return f"{name} is {list(stored.shape)}, not {list(shape)}"
        if stored.dtype not in _TYPES:
            return f"{name} is {stored.dtype}, not one of {', '.join(_TYPES)}"
        return None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a checkpoint. Raises CheckpointError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError.of(path.parent.name, f"{path.name} is missing") from error
    except (OSError, ValueError) as error:
        raise CheckpointError.of(path.parent.name, f"{path.name} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError.of(path.parent.name, f"{path.name} holds no object")
    return value


def shard_names(folder: Path) -> dict[str, list[str] | None]:
    """The shards of a folder, each with the tensors its index says it has, or None without one."""
    if (folder / INDEX).exists():
        index = read_json(folder / INDEX).get("weight_map")
        if not isinstance(index, dict) or not index:
            raise CheckpointError.of(folder.name, f"{INDEX} has no weight_map")
        shards: dict[str, list[str] | None] = {}
        for name, shard in index.items():
            if Path(str(shard)).name != shard or not shard.endswith(".safetensors"):
                raise CheckpointError.of(
                    folder.name, f"{INDEX} names {shard!r}: no safetensors file"
                )
            names = shards.setdefault(shard, [])
            if names is not None:
                names.append(name)
        return shards
    if (folder / SINGLE).exists():
        return {SINGLE: None}
    pickled = sorted(path.name for kind in _PICKLED for path in folder.glob(kind))
    if pickled:
        raise CheckpointError.of(
            folder.name, f"only {pickled[0]} is here: pickle files can run code and are never read"
        )
    raise CheckpointError.of(folder.name, f"neither {SINGLE} nor {INDEX} is here")


def _headers(folder: Path, renames: Sequence[Rename]) -> dict[str, Stored]:
    """All tensors that belong to the text model."""
    found: dict[str, Stored] = {}
    problems: list[str] = []
    for shard, indexed in shard_names(folder).items():
        try:
            stored = list(_header(folder / shard))
        except FileNotFoundError:
            problems.append(f"{shard} is missing")
            continue
        except (OSError, SafetensorError) as error:
            problems.append(f"{shard} is cut short or damaged ({error})")
            continue
        problems += _index_problems(shard, stored, indexed)
        for one in stored:
            name = _canonical(one.name, renames)
            if name in found:
                problems.append(f"{name} is in {found[name].shard} and in {shard}")
            elif name is not None:
                found[name] = one
    if problems:
        raise CheckpointError.of(folder.name, *problems)
    return found


def _header(path: Path) -> Iterator[Stored]:
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118, it is no mapping
            part = file.get_slice(name)
            yield Stored(path.name, name, tuple(part.get_shape()), part.get_dtype())


def _index_problems(
    shard: str, stored: Sequence[Stored], indexed: Sequence[str] | None
) -> Iterator[str]:
    if indexed is None:
        return
    there, named = {one.name for one in stored}, set(indexed)
    yield from (f"{name} is not in {shard}, where {INDEX} has it" for name in sorted(named - there))
    yield from (f"{name} of {shard} is not in {INDEX}" for name in sorted(there - named))


def _canonical(name: str, renames: Sequence[Rename]) -> str | None:
    """The family's name of a stored tensor; None for what no text model has."""
    if _SKIPPED.match(name):
        return None
    name = _NESTED.sub("model.", name)
    if _SKIPPED.match(name):
        return None
    for pattern, replacement in renames:
        name, count = pattern.subn(replacement, name)
        if count:
            break
    return name
