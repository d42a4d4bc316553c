"""From a GGUF to the folder the engine maps; files that are not what they should be are told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import load_file, save_file

from clover_engine.convert import GgufModel, convert_gguf, quantise_rows
from clover_engine.engine import load_engine, load_reference
from clover_engine.errors import ModelError
from clover_engine.weights import MODEL_FILE, load_folder, load_vocabulary
from tests.support.tiny_model import (
    LAYERS,
    SPECIALS,
    byte_letters,
    vocabulary,
    write_gguf,
)

if TYPE_CHECKING:
    from tests.support.tiny_model import TinyModel

CPU = torch.device("cpu")


@pytest.fixture
def copied(tiny_model: TinyModel, tmp_path: Path) -> Path:
    """A converted folder that a test may damage."""
    return Path(shutil.copytree(tiny_model.folder, tmp_path / "tiny"))


def test_progress_runs_from_nothing_to_all(tiny_model: TinyModel, tmp_path: Path) -> None:
    told: list[float] = []
    convert_gguf(tiny_model.gguf, tmp_path, told.append)
    assert told == sorted(told)
    assert len(told) >= 5 * LAYERS
    assert told[-1] == 1.0
    assert {path.name for path in tmp_path.iterdir()} == {MODEL_FILE, "tokenizer.json"}


def test_weights_are_kept_to_half_a_step(tiny_model: TinyModel) -> None:
    stored = load_file(tiny_model.folder / MODEL_FILE)
    for layer in range(LAYERS):
        down = torch.from_numpy(tiny_model.weights[f"blk.{layer}.ffn_down.weight"])
        scale = stored[f"layers.{layer}.down.scale"][:, None]
        assert ((stored[f"layers.{layer}.down.weight"] * scale - down).abs() <= scale * 0.501).all()
        norm = torch.from_numpy(tiny_model.weights[f"blk.{layer}.attn_norm.weight"])
        assert torch.equal(stored[f"layers.{layer}.attn_norm"], norm)


def test_a_channel_of_zeros_is_kept() -> None:
    weight, scale = quantise_rows(torch.tensor([[0.0, 0.0], [1.0, -0.5]]))
    assert weight.tolist() == [[0, 0], [127, -64]]
    assert (scale > 0).all()  # nothing is ever divided by zero


def test_the_byte_table_is_the_vocabulary(tiny_model: TinyModel) -> None:
    tokens, types, _ = vocabulary()
    table = load_vocabulary(tiny_model.folder)
    letters = {letter: byte for byte, letter in enumerate(byte_letters())}
    assert len(table) == len(tokens)
    for number, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        wanted = bytes(letters[letter] for letter in token) if kind == 1 else b""
        assert table.token_bytes(number) == wanted
    assert table.token_bytes(tokens.index(SPECIALS[0])) == b""


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all" * 100])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.gguf is not a readable GGUF file"):
        GgufModel(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_refused(tiny_model: TinyModel, tmp_path: Path, share: float) -> None:
    path = tmp_path / "model.gguf"
    content = tiny_model.gguf.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError):
        convert_gguf(path, tmp_path, lambda _: None)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", architecture="llama")
    with pytest.raises(ModelError, match="'llama' model; qwen2 is what runs here"):
        GgufModel(tmp_path / "model.gguf")


def test_what_a_file_lacks_is_named(tiny_model: TinyModel) -> None:
    model = GgufModel(tiny_model.gguf)
    with pytest.raises(ModelError, match="lacks general\\.nothing"):
        model.field("general.nothing")
    with pytest.raises(ModelError, match="lacks the tensor blk\\.9"):
        model.linear(9, "down")


def test_a_folder_of_another_format_says_what_to_do(copied: Path) -> None:
    stored = load_file(copied / MODEL_FILE)
    save_file(stored, copied / MODEL_FILE, metadata={"format": "0"})
    with pytest.raises(ModelError, match="has format 0, not 1: remove the model and pull it again"):
        load_folder(copied, "int8", CPU)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
def test_a_damaged_folder_says_what_to_do(copied: Path, share: float) -> None:
    content = (copied / MODEL_FILE).read_bytes()
    (copied / MODEL_FILE).write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match="remove the model and pull it again"):
        load_engine(copied, model="tiny", threads=1)


def test_a_missing_file_says_what_to_do(copied: Path, tmp_path: Path) -> None:
    (copied / MODEL_FILE).unlink()
    with pytest.raises(ModelError, match="remove the model and pull it again"):
        load_engine(copied, model="tiny", threads=1)
    with pytest.raises(ModelError, match="reads the original GGUF"):
        load_reference(tmp_path / "nowhere.gguf", copied, model="tiny")
