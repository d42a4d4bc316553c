"""Engines over models that only denoise: limits, choices, patterns, caches, interruptions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clover_engine.api import CanvasRequest, Finish, Hole, Literal, infill_request
from clover_engine.canvas_engine import CanvasEngine
from clover_engine.checkpoint_tokenizer import read_tokenizer
from clover_engine.errors import CheckpointError, RequestError, UnknownFamily
from clover_engine.full_canvas import VICINITY
from clover_engine.models.parts import MASK
from clover_engine.opening import open_checkpoint, open_engine
from tests.support.driving import close_at, random_document, run
from tests.support.tiny_checkpoint import EXPAND, write_checkpoint

FAMILIES = {
    "dream": ("DreamModel", "Dream", "qwen2"),
    "dreamon": ("DreamModel", "Dream", "qwen2"),
    "llada-moe": ("LLaDAMoEModelLM", "llada", "llada-moe"),
    "sdar": ("SDARForCausalLM", "sdar", "qwen3"),
    "fast-dllm-v2": ("Fast_dLLM_QwenForCausalLM", "Fast_dLLM_Qwen", "qwen2"),
    "llada2": ("LLaDA2MoeModelLM", "llada2_moe", "llada2"),
}
MIXTURE: dict[str, Any] = {
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "expert_intermediate_size": 24,
}
OWN = f"""
[sdar]
mask = "<|mask|>"
[dreamon]
expand = "{EXPAND}"
"""


def open_tiny(folder: Path, name: str, own: str = OWN, **given: Any) -> CanvasEngine:
    architecture, model_type, backbone = FAMILIES[name]
    settings = (MIXTURE if name == "llada-moe" else {}) | given
    write_checkpoint(folder, architecture, model_type, backbone, **settings)
    families = folder / "families.toml"
    families.write_text(own)
    model = "DreamOn-v0-7B" if name == "dreamon" else "Dream-v0-Base-7B" if name == "dream" else ""
    return open_checkpoint(folder, model=model, precision="float32", threads=1, families=families)


@pytest.fixture(scope="module", params=list(FAMILIES))
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> CanvasEngine:
    engine = open_tiny(tmp_path_factory.mktemp(request.param), request.param)
    assert f"family {request.param}," in engine.info.detail
    return engine


@pytest.mark.parametrize("seed", range(4))
def test_a_hole_is_filled_within_its_limits(engine: CanvasEngine, seed: int) -> None:
    prefix, suffix = random_document(seed)
    for max_tokens in (0, 1, 5, 20):
        done = run(engine, infill_request(prefix, suffix, max_tokens=max_tokens))
        fill, stats = done.filled.fills[0], done.filled.stats
        assert stats.tokens <= max_tokens
        assert 0.0 <= fill.confidence <= 1.0
        assert stats.forwards == len(done.needs)
        assert not max_tokens or done.drafts[-1] == done.text
        assert not re.search(r"<\|?\w+\|?>", done.text)


def test_the_same_request_gets_the_same_answer(engine: CanvasEngine) -> None:
    asked = infill_request("def name(self):\n    return ", "\n\nx = 1\n", max_tokens=12)
    first = run(engine, replace(asked, document="one")).text
    assert run(engine, replace(asked, document="one")).text == first
    assert run(engine, replace(asked, document="two")).text == first


def test_masks_are_seen_between_both_sides(engine: CanvasEngine) -> None:
    asked = infill_request("x = 1\n", "\nself.name = value\n", max_tokens=6)
    masked = [need for need in run(engine, asked).needs if MASK in need.tokens]
    assert masked
    for need in masked:
        assert need.layout is not None
        rows = [row for row, token in enumerate(need.tokens) if token == MASK]
        # every mask sees the one before it and the one behind it
        for left, right in pairwise(rows):
            if need.layout.positions[right] == need.layout.positions[left] + 1:
                assert need.layout.visible[right, left]


def test_lines_stops_and_patterns_hold(engine: CanvasEngine) -> None:
    for seed in range(3):
        prefix, suffix = random_document(seed)
        hole = Hole(12, max_lines=1)
        asked = CanvasRequest((Literal(prefix), hole, Literal(suffix)))
        assert "\n" not in run(engine, asked).text
        asked = CanvasRequest((Literal(prefix), Hole(12, pattern="[0-9]{3}x"), Literal(suffix)))
        assert re.fullmatch("[0-9]{3}x", run(engine, asked).text)
    asked = CanvasRequest((Literal("x = "), Hole(2, pattern="[0-9]{9}")))
    with pytest.raises(RequestError, match="too few"):
        run(engine, asked)


def test_one_of_the_choices_is_taken_with_scores(engine: CanvasEngine) -> None:
    choices = ("name", "value", "文字", "")
    hole = Hole(16, choices=choices)
    done = run(engine, CanvasRequest((Literal("self."), hole, Literal(" = 1\n"))))
    fill = done.filled.fills[0]
    assert fill.text == choices[max(range(4), key=fill.scores.__getitem__)]
    assert len(fill.scores) == 4
    assert all(score < 0 for score in fill.scores)
    with pytest.raises(RequestError, match="too few"):
        run(engine, CanvasRequest((Hole(1, choices=("name self value",)),)))


def test_several_holes_are_filled_together(engine: CanvasEngine) -> None:
    segments = (Literal("a = "), Hole(4), Literal("\nb = "), Hole(4), Literal("\n"))
    filled = run(engine, CanvasRequest(segments)).filled
    assert len(filled.fills) == 2
    assert filled.stats.tokens <= 8


def test_interruptions_leave_a_valid_cache(engine: CanvasEngine) -> None:
    prefix, suffix = "def name(self):\n    return self.value\n" * 5, "    return val\n"
    asked = infill_request(prefix, suffix, max_tokens=10)
    whole = run(engine, asked)
    for place in range(0, len(whole.needs), 3):
        named = replace(asked, document=f"cut {place}")
        assert run(engine, named, place).filled.fills[0].finish is Finish.DEADLINE
        assert run(engine, named).text == whole.text
    for place in range(0, 2 * len(whole.needs), 5):
        named = replace(asked, document=f"closed {place}")
        if close_at(engine, named, place, computed=True):
            assert run(engine, named).text == whole.text


@pytest.mark.parametrize("name", ["sdar", "fast-dllm-v2"])
def test_typing_on_reads_only_the_last_blocks(tmp_path: Path, name: str) -> None:
    engine = open_tiny(tmp_path, name)
    unit = 4 if name == "sdar" else 32
    prefix = "def name(self):\n    return self.value\n" * 9
    suffix = "    return val\n"
    read_ahead = run(engine, infill_request(prefix, suffix, document="a", max_tokens=0))
    assert read_ahead.text == ""
    for typed in ("x", "x = 1\n"):
        asked = infill_request(prefix + typed, suffix, document="a", max_tokens=4)
        warm = run(engine, asked)
        assert warm.filled.stats.prompt_tokens - warm.filled.stats.reused_tokens < 2 * unit + 8
        assert warm.filled.stats.reused_tokens % unit == 0
        assert warm.text == run(engine, replace(asked, document="")).text
    # what stands in a block depends on all of it: a change in its middle costs the whole block
    for place in range(60, 75):
        changed = f"{prefix[:place]}#{prefix[place + 1 :]}"
        asked = infill_request(changed, suffix, document="a", max_tokens=4)
        warm = run(engine, asked)
        assert warm.filled.stats.reused_tokens % unit == 0
        assert warm.text == run(engine, replace(asked, document="")).text


def test_far_text_keeps_its_keys_between_refreshes(tmp_path: Path) -> None:
    (tmp_path / "often").mkdir()
    (tmp_path / "seldom").mkdir()
    rule = "remasking = { order = 'entropy', threshold = 1.0, most = 1 }\n"
    often = open_tiny(tmp_path / "often", "dream", f"[dream]\nrefresh = 1\n{rule}")
    seldom = open_tiny(tmp_path / "seldom", "dream", f"[dream]\nrefresh = 3\n{rule}")
    asked = infill_request("x = 1\n" * 40, "\nself.name = value\n" * 20, max_tokens=8)
    needs = run(seldom, asked).needs
    everything = max(len(need.tokens) for need in needs)
    rows = [len(need.tokens) for need in needs]
    near = [count for count in rows if count < everything / 2]
    assert all(count <= 2 * VICINITY + 8 for count in near)
    # behind the probe, one look in three reads all of the text
    assert 0 < len(near) <= 2 * (len(rows) - len(near))
    assert all(len(need.tokens) > everything / 2 for need in run(often, asked).needs)
    # where nothing is far, nothing is kept: both write the same
    for seed in range(6):
        prefix, suffix = (text[:10] for text in random_document(seed))
        asked = infill_request(prefix, suffix, max_tokens=8)
        assert run(often, asked).text == run(seldom, asked).text


def test_a_hole_of_another_length_is_read_with_all_text(tmp_path: Path) -> None:
    own = f"[dreamon]\nexpand = '{EXPAND}'\nrefresh = 1000\nsampling = {{}}\n"
    likely = {EXPAND: 4.0, "<|endoftext|>": 3.0}
    engine = open_tiny(tmp_path, "dreamon", own, likely=likely)
    asked = infill_request("x = 1\n" * 40, "\nself.name = value\n" * 20, max_tokens=24)
    needs = run(engine, asked).needs
    everything = max(len(need.tokens) for need in needs)
    lengths = [need.rows for need in needs]
    assert len(set(lengths)) > 2
    for before, need in pairwise(needs):
        is_whole = len(need.tokens) > everything / 2
        assert is_whole == (need.rows != before.rows)


def test_code_of_a_checkpoint_is_never_run(tmp_path: Path) -> None:
    write_checkpoint(
        tmp_path, "DreamModel", "Dream", "qwen2", auto_map={"AutoModel": "modeling_x.DreamModel"}
    )
    trap = tmp_path / "sprung"
    (tmp_path / "modeling_x.py").write_text(f"open({str(trap)!r}, 'w')\n")
    open_engine(tmp_path, model="x", threads=1)
    write_checkpoint(
        tmp_path, "Unheard", "Dream", "qwen2", auto_map={"AutoModel": "modeling_x.DreamModel"}
    )
    with pytest.raises(UnknownFamily, match="never run"):
        open_engine(tmp_path, model="x", threads=1)
    assert not trap.exists()


def test_a_tokenizer_of_other_bytes_is_refused(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    write_checkpoint(tmp_path, "DreamModel", "Dream", "qwen2")
    tokenizer = Tokenizer(models.BPE(vocab={"▁a": 0, "<|mask|>": 1}, merges=[]))
    tokenizer.add_special_tokens(["<|mask|>", "<|endoftext|>", "<|beginoftext|>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="no byte-level BPE"):
        open_engine(tmp_path, model="x", threads=1)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"neither tokenizer\.json"):
        open_engine(tmp_path, model="x", threads=1)


def test_a_mask_that_family_and_checkpoint_call_otherwise_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, "DreamModel", "Dream", "qwen2", mask_token_id=5)
    with pytest.raises(CheckpointError, match="its mask token is 5"):
        open_engine(tmp_path, model="x", threads=1)
    own = tmp_path / "families.toml"
    own.write_text("[dream]\nmask = 5\n[dreamon]\nmask = 5\n")
    open_engine(tmp_path, model="Dream-v0-Base-7B", threads=1, families=own)


def test_what_a_checkpoint_ends_texts_with_ends_holes(tmp_path: Path) -> None:
    engine = open_tiny(tmp_path, "sdar")
    asked = infill_request("x = 1\n", "\ny = 2\n", max_tokens=8)
    whole = run(engine, asked).text
    assert len(whole) > 1
    first = read_tokenizer(tmp_path).encode(whole)[0]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [first]}))
    ended = open_checkpoint(
        tmp_path, model="", precision="float32", threads=1, families=tmp_path / "families.toml"
    )
    assert not run(ended, asked).text.startswith(whole[0])


def test_a_tokenizer_in_older_files_is_the_same(tmp_path: Path) -> None:
    engine = open_tiny(tmp_path, "dream")
    asked = infill_request("def name(self):\n    return ", "\n文字\n", max_tokens=12)
    wanted = run(engine, asked).text
    file = tmp_path / "tokenizer.json"
    stored = json.loads(file.read_text())
    added = {entry["content"]: entry["id"] for entry in stored["added_tokens"]}
    words = {name: id for name, id in stored["model"]["vocab"].items() if name not in added}
    merges = stored["model"]["merges"]
    pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in merges]
    file.unlink()
    (tmp_path / "vocab.json").write_text(json.dumps(words))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(pairs) + "\n")
    for name, content in {
        "added_tokens.json": added,
        "tokenizer_config.json": {
            "added_tokens_decoder": {str(id): {"content": name} for name, id in added.items()}
        },
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
        opened = open_checkpoint(
            tmp_path,
            model="Dream-v0-Base-7B",
            precision="float32",
            threads=1,
            families=tmp_path / "families.toml",
        )
        assert run(opened, asked).text == wanted
        (tmp_path / name).unlink()
