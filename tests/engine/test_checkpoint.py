"""Checkpoint folders: read as published, refused with one error when they are not what they say."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from clover_engine.checkpoint import INDEX, SINGLE, Checkpoint
from clover_engine.errors import CheckpointError, ModelError

CPU = torch.device("cpu")
EXPERTS, WIDTH, INNER = 3, 5, 7
SHAPES = {
    "model.embed_tokens.weight": (11, WIDTH),
    "model.layers.0.mlp.experts.gate_up_proj": (EXPERTS, 2 * INNER, WIDTH),
    "model.layers.0.mlp.experts.down_proj": (EXPERTS, WIDTH, INNER),
    "model.norm.weight": (WIDTH,),
}


def values(shapes: Mapping[str, tuple[int, ...]] = SHAPES) -> dict[str, torch.Tensor]:
    """Random values, the same each time."""
    torch.manual_seed(3)
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def write(folder: Path, *shards: Mapping[str, torch.Tensor]) -> Path:
    """A checkpoint of these shards, with an index where there are several."""
    (folder / "config.json").write_text('{"model_type": "odd"}')
    if len(shards) == 1:
        save_file(dict(shards[0]), folder / SINGLE)
        return folder
    index: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(dict(shard), folder / file)
        index |= dict.fromkeys(shard, file)
    (folder / INDEX).write_text(json.dumps({"weight_map": index}))
    return folder


def split(tensors: Mapping[str, torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    """Two shards."""
    names = list(tensors)
    return [{name: tensors[name] for name in some} for some in (names[:2], names[2:])]


def apart(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same with each expert's matrices for themselves."""
    found: dict[str, torch.Tensor] = {}
    for name, value in tensors.items():
        stem = name.rpartition(".")[0]
        for number in range(EXPERTS if "experts" in name else 0):
            matrices = value[number].chunk(2) if "gate_up" in name else (value[number],)
            parts = ("gate_proj", "up_proj") if "gate_up" in name else ("down_proj",)
            for part, matrix in zip(parts, matrices, strict=True):
                found[f"{stem}.{number}.{part}.weight"] = matrix.clone()
        if "experts" not in name:
            found[name] = value
    return found


def test_shards_are_read_as_one(tmp_path: Path) -> None:
    tensors = values()
    with Checkpoint(write(tmp_path, *split(tensors))) as checkpoint:
        checkpoint.check(SHAPES)
        assert checkpoint.config == {"model_type": "odd"}
        assert checkpoint.shapes == SHAPES
        for name, value in tensors.items():
            assert torch.equal(checkpoint.read(name, CPU), value)
            assert checkpoint.read(name, CPU, torch.bfloat16).dtype is torch.bfloat16


def test_values_outlive_the_checkpoint(tmp_path: Path) -> None:
    with Checkpoint(write(tmp_path, values())) as checkpoint:
        norm = checkpoint.read("model.norm.weight", CPU)
    assert torch.equal(norm, values()["model.norm.weight"])


@pytest.mark.parametrize("name", [name for name in SHAPES if "experts" in name])
def test_experts_may_be_fused_or_apart(tmp_path: Path, name: str) -> None:
    with Checkpoint(write(tmp_path, apart(values()))) as checkpoint:
        checkpoint.check(SHAPES)
        read = checkpoint.experts(name, SHAPES[name], CPU)
    assert torch.equal(read, values()[name])
    fused = tmp_path / "fused"
    fused.mkdir()
    with Checkpoint(write(fused, values())) as checkpoint:
        assert torch.equal(checkpoint.experts(name, SHAPES[name], CPU), read)


def test_rows_are_joined(tmp_path: Path) -> None:
    with Checkpoint(write(tmp_path, values({"a": (2, 3), "b": (4, 3)}))) as checkpoint:
        whole = checkpoint.joined(["b", "a"], CPU, torch.float16)
        assert whole.dtype is torch.float16
        parts = [checkpoint.read(name, CPU) for name in ("b", "a")]
    assert torch.equal(whole, torch.cat(parts).half())


def test_multimodal_exports_give_their_text_model(tmp_path: Path) -> None:
    others = ("model.visual.blocks.0.weight", "visual.merger.weight", "mtp.norm.weight")
    nested = {f"model.language_{name}": value for name, value in values().items()}
    nested |= values(dict.fromkeys(others, (2,)))
    nested["model.language_model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(2)
    with Checkpoint(write(tmp_path, nested)) as checkpoint:
        checkpoint.check(SHAPES)
        assert torch.equal(checkpoint.read("model.norm.weight", CPU), values()["model.norm.weight"])


def test_all_that_is_wrong_is_listed_at_once(tmp_path: Path) -> None:
    tensors = apart(values())
    del tensors["model.layers.0.mlp.experts.1.up_proj.weight"]
    tensors["model.norm.weight"] = torch.ones(WIDTH + 1)
    tensors["model.embed_tokens.weight"] = tensors["model.embed_tokens.weight"].to(torch.int8)
    tensors["model.layers.9.extra"] = torch.ones(1)
    folder = write(tmp_path, tensors)
    with Checkpoint(folder) as checkpoint, pytest.raises(CheckpointError) as caught:
        checkpoint.check(SHAPES)
    assert set(caught.value.problems) == {
        "model.layers.0.mlp.experts.1.up_proj.weight is missing",
        f"model.norm.weight is [{WIDTH + 1}], not [{WIDTH}]",
        "model.embed_tokens.weight is I8, not one of F32, F16, BF16",
        "model.layers.9.extra is unexpected",
    }
    assert "\n" not in str(caught.value)


def test_spare_tensors_may_be_there(tmp_path: Path) -> None:
    with Checkpoint(write(tmp_path, values())) as checkpoint:
        wanted = {name: shape for name, shape in SHAPES.items() if name != "model.norm.weight"}
        checkpoint.check(wanted, spare=["model.norm.weight", "lm_head.weight"])
        with pytest.raises(CheckpointError, match=r"model\.norm\.weight is unexpected"):
            checkpoint.check(wanted)


def test_a_shard_cut_short_and_a_missing_one_are_told_together(tmp_path: Path) -> None:
    folder = write(tmp_path, *({name: value} for name, value in values().items()))
    first, second = sorted(folder.glob("*.safetensors"))[:2]
    first.write_bytes(first.read_bytes()[:-8])
    second.unlink()
    with pytest.raises(CheckpointError) as caught:
        Checkpoint(folder)
    assert len(caught.value.problems) == 2
    assert f"{first.name} is cut short or damaged" in caught.value.problems[0]
    assert caught.value.problems[1] == f"{second.name} is missing"


def test_an_index_that_disagrees_with_its_shards_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, *split(values()))
    index = json.loads((folder / INDEX).read_text())
    file = index["weight_map"].pop("model.norm.weight")
    index["weight_map"]["model.other.weight"] = file
    (folder / INDEX).write_text(json.dumps(index))
    with pytest.raises(CheckpointError) as caught:
        Checkpoint(folder)
    assert len(caught.value.problems) == 2
    assert "model.other.weight is not in" in caught.value.problems[0]
    assert "model.norm.weight of" in caught.value.problems[1]


@pytest.mark.parametrize("shard", ["../stolen.safetensors", "pytorch_model.bin", 7, None])
def test_an_index_names_safetensors_files_beside_it(tmp_path: Path, shard: object) -> None:
    folder = write(tmp_path, *split(values()))
    (folder / INDEX).write_text(json.dumps({"weight_map": {"model.norm.weight": shard}}))
    with pytest.raises(CheckpointError, match=r"no safetensors file"):
        Checkpoint(folder)


@pytest.mark.parametrize("text", ["", "[]", '{"weight_map": []}', "{", "\xff"])
def test_json_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path, *split(values()))
    (folder / INDEX).write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError):
        Checkpoint(folder)


def test_a_tensor_twice_is_refused(tmp_path: Path) -> None:
    twice = values() | {"model.language_model.norm.weight": torch.ones(WIDTH)}
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight is in .* and in"):
        Checkpoint(write(tmp_path, twice))


def test_pickle_files_are_refused_and_not_opened(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    trap = tmp_path / "sprung"
    code = f"cos\nsystem\n(S'touch {trap}'\ntR."  # what pickle would run
    (tmp_path / "pytorch_model.bin").write_bytes(code.encode())
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin .* never read"):
        Checkpoint(tmp_path)
    (tmp_path / SINGLE).write_bytes(code.encode())  # under a name that is trusted
    with pytest.raises(CheckpointError, match="cut short or damaged"):
        Checkpoint(tmp_path)
    assert not trap.exists()


def test_an_empty_folder_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        Checkpoint(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match="neither"):
        Checkpoint(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_warned_of(
    tmp_path: Path, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    tensors = values()
    tensors["model.norm.weight"][2] = value
    with caplog.at_level(logging.WARNING), Checkpoint(write(tmp_path, tensors)) as checkpoint:
        for name in SHAPES:
            checkpoint.read(name, CPU)
    assert len(caplog.records) == 1
    assert "model.norm.weight" in caplog.text


def test_large_finite_values_are_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write(tmp_path, {"a": torch.full((4,), 3e38)})
    with caplog.at_level(logging.WARNING), Checkpoint(folder) as checkpoint:
        checkpoint.read("a", CPU)
    assert not caplog.records


def test_an_error_travels_as_one_line() -> None:
    error = CheckpointError.of("folder", *(f"problem {number}" for number in range(20)))
    assert len(error.problems) == 20
    assert "problem 7; and 12 more" in str(error)
    assert isinstance(CheckpointError(str(error)), ModelError)
