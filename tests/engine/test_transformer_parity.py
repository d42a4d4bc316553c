"""The float transformer against transformers' own models, on small random weights of odd sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

from clover_engine.checkpoint import Checkpoint
from clover_engine.errors import ModelError
from clover_engine.family import load_family
from clover_engine.kv_cache import KVCache
from clover_engine.models.backbones import read_config
from clover_engine.models.loading import load_transformer
from clover_engine.models.parts import Layout, Part
from clover_engine.models.transformer import Transformer
from tests.support import llada2_torch

CPU = torch.device("cpu")
RELATIVE = 1e-4
COMMON: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 60,
    "intermediate_size": 83,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
MIXTURE = {"num_experts": 7, "num_experts_per_tok": 3}
# by backbone: the class, and what its config says beside the common numbers
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen2": ("Qwen2ForCausalLM", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 14, "tie_word_embeddings": False}),
    "llama": ("LlamaForCausalLM", {"rope_theta": 5e5, "tie_word_embeddings": False}),
    "olmoe": ("OlmoeForCausalLM", MIXTURE | {"norm_topk_prob": False}),
    "qwen3-moe": (
        "Qwen3MoeForCausalLM",
        MIXTURE | {"head_dim": 14, "moe_intermediate_size": 29, "norm_topk_prob": True},
    ),
}


class Pair:
    """One model twice: theirs, and ours loaded from what theirs saved."""

    def __init__(self, backbone: str, folder: Path) -> None:
        torch.manual_seed(5)
        name, settings = MODELS[backbone]
        model = getattr(transformers, name)
        config = model.config_class(**(COMMON | settings))
        config._attn_implementation = config._experts_implementation = "eager"
        self.theirs = model(config).eval()
        with torch.no_grad():
            for parameter in self.theirs.parameters():
                # norms and biases begin as ones and zeros, which would hide what they do
                parameter += torch.randn_like(parameter) * 0.2
        self.theirs.save_pretrained(folder)
        with Checkpoint(folder) as checkpoint:
            self.ours = load_transformer(checkpoint, backbone, CPU, torch.float32, mask=3)

    def their_logits(self, tokens: list[int], visible: torch.Tensor) -> torch.Tensor:
        """With an explicit mask: bool [M, M]."""
        mask = torch.zeros(visible.shape).masked_fill_(~visible, torch.finfo(torch.float32).min)
        with torch.no_grad():
            found: torch.Tensor = self.theirs(
                torch.tensor([tokens]), attention_mask=mask[None, None], use_cache=False
            ).logits[0]
        return found


@pytest.fixture(scope="module", params=list(MODELS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(request.param, tmp_path_factory.mktemp("theirs"))


def some_tokens(count: int) -> list[int]:
    found: list[int] = np.random.default_rng(9).integers(0, 97, count).tolist()
    return found


def read(model: Transformer, tokens: list[int], visible: torch.Tensor | None) -> torch.Tensor:
    layout = None if visible is None else Layout(torch.arange(len(tokens)), visible)
    part = Part(tokens, KVCache(model.cache_shape), len(tokens), layout)
    return model.forward([part])[0].logits


def assert_close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert float((ours - theirs).abs().max()) <= RELATIVE * float(theirs.abs().max())


@pytest.mark.parametrize("kind", ["causal", "full", "blocks"])
def test_logits_are_theirs(pair: Pair, kind: str) -> None:
    tokens = some_tokens(37)
    place = torch.arange(len(tokens))
    visible = {
        "causal": place[None] <= place[:, None],
        "full": torch.ones(len(tokens), len(tokens), dtype=torch.bool),
        "blocks": place[None] // 8 <= place[:, None] // 8,
    }[kind]
    ours = read(pair.ours, tokens, None if kind == "causal" else visible)
    assert_close(ours, pair.their_logits(tokens, visible))


def test_a_cache_and_other_jobs_change_nothing(pair: Pair) -> None:
    tokens, others = some_tokens(30), some_tokens(11)
    place = torch.arange(len(tokens))
    visible = place[None] <= place[:, None]
    cache, beside = KVCache(pair.ours.cache_shape), KVCache(pair.ours.cache_shape)
    found = []
    for some in (tokens[:7], tokens[7:8], tokens[8:]):
        parts = [Part(others, beside, 2), Part(some, cache, len(some))]
        found.append(pair.ours.forward(parts)[1].logits)
    assert_close(torch.cat(found), pair.their_logits(tokens, visible))
    assert cache.tokens == tokens


def test_rows_may_stand_in_any_order(pair: Pair) -> None:
    """What stands at a place is told by its position: full attention has no order of rows."""
    tokens = some_tokens(23)
    order = torch.randperm(len(tokens), generator=torch.Generator().manual_seed(4))
    visible = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    shuffled = [tokens[place] for place in order.tolist()]
    part = Part(shuffled, KVCache(pair.ours.cache_shape), len(tokens), Layout(order, visible))
    ours = pair.ours.forward([part])[0].logits
    assert_close(ours, pair.their_logits(tokens, visible)[order])


@pytest.mark.parametrize(
    "setting",
    [
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}},
        {"hidden_act": "gelu"},
        {"use_sliding_window": True},
        {"decoder_sparse_step": 2},
        {"clip_qkv": 8.0},
    ],
)
def test_what_no_layer_computes_is_refused(setting: dict[str, Any]) -> None:
    read_config("qwen2", COMMON)
    with pytest.raises(ModelError, match="no layer here computes"):
        read_config("qwen2", COMMON | setting)


def test_a_checkpoint_of_another_backbone_is_refused(tmp_path: Path) -> None:
    Pair("qwen2", tmp_path)
    with Checkpoint(tmp_path) as checkpoint, pytest.raises(ModelError) as caught:
        load_transformer(checkpoint, "qwen3", CPU, torch.float32, mask=0)
    assert "q_norm.weight is missing" in str(caught.value)
    assert "bias is unexpected" in "".join(getattr(caught.value, "problems", ()))


def test_llada2_is_what_its_layers_say(tmp_path: Path) -> None:
    """Partial rotation, grouped routing by the logistic function, a shared and a dense layer."""
    weights = llada2_torch.random_weights()
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(llada2_torch.CONFIG))
    with Checkpoint(tmp_path, load_family("llada2").renames) as checkpoint:
        ours = load_transformer(checkpoint, "llada2", CPU, torch.float32, mask=3)
    tokens = some_tokens(29)
    place = torch.arange(len(tokens))
    visible = place[None] // 8 <= place[:, None] // 8
    assert_close(read(ours, tokens, visible), llada2_torch.logits(weights, tokens, visible))


LLADA_NAMES = {
    "model.embed_tokens.": "model.transformer.wte.",
    "model.norm.": "model.transformer.ln_f.",
    "lm_head.": "model.transformer.ff_out.",
    "model.layers.": "model.transformer.blocks.",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
    "self_attn.o_proj": "attn_out",
    "self_attn.": "",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
}


def test_llada_is_llama_under_other_names(tmp_path: Path) -> None:
    pair = Pair("llama", tmp_path)
    weights: dict[str, torch.Tensor] = {}
    for name, value in pair.theirs.state_dict().items():
        for ours, theirs in LLADA_NAMES.items():
            name = name.replace(ours, theirs)
        weights[name] = value
    save_file(weights, tmp_path / "model.safetensors")
    config = {
        "d_model": 60,
        "n_layers": 3,
        "n_heads": 6,
        "n_kv_heads": 2,
        "mlp_hidden_size": 83,
        "vocab_size": 95,
        "embedding_size": 97,
        "max_sequence_length": 256,
        "rms_norm_eps": 1e-5,
        "rope_theta": 5e5,
        "activation_type": "silu",
        "weight_tying": False,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with Checkpoint(tmp_path, load_family("llada").renames) as checkpoint:
        model = load_transformer(checkpoint, "llada", CPU, torch.float32, mask=3)
    tokens = some_tokens(19)
    visible = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    assert_close(read(model, tokens, visible), pair.their_logits(tokens, visible))
