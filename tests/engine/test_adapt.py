"""What the adapter is trained on, and that training computes what the engine computes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.adapt.blocks import Block, draft_block, infill_block, pack, sample_blocks
from clover_engine.adapt.corpus import Benchmark, Document, notes, packages
from clover_engine.adapt.examples import KINDS, Example, ExampleMaker
from clover_engine.adapt.reading import Reader, Reading
from clover_engine.block_rows import rows_of
from clover_engine.family import load_family
from clover_engine.kv_cache import KVCache
from clover_engine.models.parts import MASK, Part
from clover_engine.seam import beginning
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from clover_engine.weights import TOKENIZER_FILE, load_vocabulary

if TYPE_CHECKING:
    from clover_engine.adapt.backbone import Backbone
    from clover_engine.engine import LocalEngine
    from tests.support.tiny_model import TinyModel

CODE = "def name(self, value):\n    if value:\n        return self.name(value)\n    return None\n"


@pytest.fixture(scope="module")
def vocabulary(tiny_model: TinyModel) -> Vocabulary:
    return load_vocabulary(tiny_model.folder)


@pytest.fixture(scope="module")
def reader(tiny_model: TinyModel, vocabulary: Vocabulary) -> Reader:
    tokenizer = TextTokenizer(tiny_model.folder / TOKENIZER_FILE)
    return Reader(load_family("qwen2"), tokenizer, vocabulary)


@pytest.fixture(scope="module")
def backbone(tiny_model: TinyModel) -> Backbone:
    from clover_engine.adapt.backbone import Backbone

    return Backbone(tiny_model.folder)


def reading(length: int = 40, middle: int = 30) -> Reading:
    """A reading of so many different tokens."""
    return Reading(tuple(range(length)), 5, middle, (900, 901, 902), 900, end_token=999)


def test_only_permissive_packages_are_learned_from(tmp_path: Path) -> None:
    for name, licence in (("good", "MIT"), ("bad", "GPL-3.0-only")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(CODE * 6)
        (tmp_path / name / "broken.py").write_text("def (" * 100)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n"
        )
        (info / "RECORD").write_text(f"{name}/a.py,,\n{name}/broken.py,,\n{name}/gone.py,,\n")
    [document] = packages(tmp_path)
    assert document == Document("good 1.0", "MIT", "python", CODE * 6)


def test_notes_name_their_folder(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "a.md").write_text("笔记。" * 200, encoding="utf-8")
    [document] = notes(tmp_path, "Apache-2.0")
    assert (document.source, document.language) == ("notes zh", "markdown")


def test_texts_of_the_benchmark_are_found_out(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(20))
    benchmark = Benchmark([words])
    assert benchmark.overlaps(f"before\n{words[:100]} after")
    assert not benchmark.overlaps(" ".join(words.split()[:12]))
    assert not benchmark.overlaps(json.dumps({"other": "text"}))


@pytest.mark.parametrize("language", KINDS)
def test_examples_are_cut_from_their_document(language: str) -> None:
    maker = ExampleMaker(Random(1))
    text = (
        CODE * 20
        if language == "python"
        else "# 标题\n\nA sentence. Another one!\n\n- 项目。\n" * 30
    )
    document = Document("some", "MIT", language, text)
    made = [example for _ in range(300) if (example := maker.cut(document))]
    assert len({example.kind for example in made}) >= 5
    for example in made:
        assert example.middle.strip()
        assert example.prefix + example.middle + example.suffix in text or not example.suffix


@given(
    prefix=st.text("ab (\n中", min_size=20, max_size=40),
    middle=st.text("ab ):\n中", min_size=1, max_size=12),
    suffix=st.text("ab ):\n中", max_size=20),
)
@settings(max_examples=100, deadline=None)
def test_a_reading_ends_with_the_token_the_hole_ends_in(
    reader: Reader, vocabulary: Vocabulary, prefix: str, middle: str, suffix: str
) -> None:
    made = reader.read(Example("any", prefix, middle, suffix), 200)
    if made is None:
        return

    def spell(tokens: tuple[int, ...]) -> bytes:
        return b"".join(vocabulary.token_bytes(token) for token in tokens)

    whole = (prefix + middle + suffix).encode()
    needed = len((prefix + middle + beginning(suffix)).encode())
    written = spell(made.tokens[made.first :])
    assert whole.startswith(written)
    assert len(written) >= needed > len(spell(made.tokens[made.first : -1]))
    assert prefix.encode().startswith(spell(made.tokens[made.first : made.middle]))
    assert whole.startswith(written + spell(made.right))


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_rows_see_their_context_and_their_block_only(seed: int) -> None:
    text = reading()
    blocks = sample_blocks(text, 60, Random(seed))
    packed = pack(blocks, len(text.tokens))
    start = 0
    for block in blocks:
        rows = range(start, start + len(block.tokens))
        for number, row in enumerate(rows):
            seen = packed.visible[row].nonzero()[:, 0].tolist()
            context = [at for at in seen if at < len(text.tokens)]
            beside = [at - len(text.tokens) for at in seen if at >= len(text.tokens)]
            assert context == list(range(block.seen))
            masked = block.tokens[number] == MASK
            if masked:
                assert beside == list(rows)
            else:
                assert beside == [r for r in rows if r <= row and not packed.masks[r]]
            assert packed.positions[row] == block.start + number - masked
        start += len(block.tokens)
    assert len(packed.targets) == int(packed.masks.sum())


def test_a_draft_learns_what_the_base_predicts() -> None:
    block = draft_block(reading(), anchor=20, size=3)
    assert block == Block(22, 21, (MASK,) * 3, (-22, -23, -24))  # from positions 21, 22, 23


@given(st.integers(0, 10_000), st.integers(25, 39), st.sampled_from([4, 8, 16]))
def test_an_infill_learns_the_text_and_where_it_ends(seed: int, anchor: int, size: int) -> None:
    text = reading()
    block = infill_block(text, anchor, size, Random(seed))
    targets = iter(block.targets)
    slots = [next(targets) if token == MASK else token for token in block.tokens[:size]]
    known = text.tokens[anchor + 1 : anchor + 1 + size]
    assert slots == [*known, *[text.end_token] * (size - len(known))]
    assert block.tokens[size:] == text.right[: len(block.tokens) - size]


def test_training_reads_what_the_engine_reads(
    backbone: Backbone, int8_engine: LocalEngine, tiny_model: TinyModel
) -> None:
    from clover_engine.weights import load_folder

    tokens = list(range(40, 100))
    context = backbone.read(tokens)
    model, _ = load_folder(tiny_model.folder, "bf16", torch.device("cpu"))
    [output] = model.forward([Part(tokens, KVCache(model.cache_shape), len(tokens))])
    logits = backbone.logits(context.last).float()
    error = (logits - output.logits).norm() / output.logits.norm()
    assert error < 0.05


def test_an_untrained_mask_stands_where_the_base_predicts_its_slot(backbone: Backbone) -> None:
    from clover_engine.adapt.weights import AdapterWeights

    torch.manual_seed(0)
    adapter = AdapterWeights(backbone.config, 4, torch.randn(backbone.config.hidden_size))
    tokens = list(range(40, 80))
    context = backbone.read(tokens)
    # a mask whose embedding is a token's, and whose adapter adds nothing yet, is that token
    adapter.mask.data = backbone.head[tokens[30]].float()
    blocks = pack([Block(31, 30, (MASK,), (0,))], len(tokens))
    with torch.no_grad():
        hidden = backbone.denoise(context, blocks, adapter)
    assert torch.allclose(hidden[0].float(), context.last[30].float(), atol=0.1)


def test_the_engine_denoises_what_training_does(
    backbone: Backbone, tiny_model: TinyModel, tmp_path: Path
) -> None:
    from clover_engine.adapt.weights import AdapterWeights, export
    from clover_engine.weights import load_folder

    torch.manual_seed(0)
    adapter = AdapterWeights(backbone.config, 4, torch.randn(backbone.config.hidden_size))
    for up in adapter.up.values():
        torch.nn.init.normal_(up, std=0.2)
    export(adapter.state_dict(), tmp_path / "block.safetensors", {"steps": "0"}, rank=4)
    model, _ = load_folder(
        tiny_model.folder, "bf16", torch.device("cpu"), tmp_path / "block.safetensors"
    )
    tokens = list(range(40, 100))
    block = [MASK, 50, MASK, MASK, 51, 52]
    with torch.no_grad():
        context = backbone.read(tokens)
        packed = pack([Block(60, 60, tuple(block), (0, 0, 0))], len(tokens))
        wanted = backbone.logits(backbone.denoise(context, packed, adapter)).float()
    cache = KVCache(model.cache_shape)
    model.forward([Part(tokens[:50], cache, 0)])
    # of two blocks side by side, each is denoised as if it were alone
    rows = rows_of([[MASK] * 5, block], tokens[50:], len(cache))
    part = Part(rows.tokens, cache, rows.masks[1], rows.layout)
    got = model.forward([part])[0].logits
    assert (got - wanted).norm() / wanted.norm() < 0.05
    # and the adapter does make a difference
    plain, _ = load_folder(tiny_model.folder, "bf16", torch.device("cpu"))
    assert not plain.denoises


def test_an_exported_adapter_keeps_what_it_does_most(backbone: Backbone, tmp_path: Path) -> None:
    from clover_engine.adapt.weights import AdapterWeights, export

    torch.manual_seed(0)
    adapter = AdapterWeights(backbone.config, 6, torch.randn(backbone.config.hidden_size))
    for up in adapter.up.values():
        # two directions of six do nearly all
        torch.nn.init.normal_(up[:, :2])
        torch.nn.init.normal_(up[:, 2:], std=0.01)
    export(adapter.state_dict(), tmp_path / "block.safetensors", {}, rank=2)
    stored = safetensors.torch.load_file(tmp_path / "block.safetensors")
    assert torch.equal(stored["mask"], adapter.mask.data)
    for name, up in adapter.up.items():
        layer, _, part = name.partition("_")
        down, wide = (
            stored[f"layers.{layer}.{part}.{side}.weight"].float()
            * stored[f"layers.{layer}.{part}.{side}.scale"][:, None]
            for side in ("down", "up")
        )
        assert (len(down), wide.shape[1]) == (2, 2)
        wanted = (up @ adapter.down[name]).detach()
        assert (wide @ down - wanted).norm() / wanted.norm() < 0.05
