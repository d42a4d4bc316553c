"""The registry: checkpoints are recognised by what they say of themselves, never by type alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_engine.errors import ModelError, UnknownFamily
from clover_engine.family import Attention, Prefix, Signs, load_family, load_registry
from clover_engine.remasking import Order

MASKS = {"<|mask|>": 151666, "<|endoftext|>": 151643}
DREAM = {"architectures": ["DreamModel"], "model_type": "Dream"}


@pytest.mark.parametrize(
    ("config", "tokens", "family"),
    [
        (DREAM, MASKS, "dream"),
        (DREAM, MASKS | {"<|expand|>": 151667}, "dreamon"),
        ({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}, {"<M>": 9}, "open-dcoder"),
        ({"architectures": ["LLaDAModelLM"], "model_type": "llada"}, {"<|mdm_mask|>": 5}, "llada"),
        ({"architectures": ["LLaDAMoEModelLM"], "model_type": "llada"}, MASKS, "llada-moe"),
        ({"architectures": ["SDARForCausalLM"], "model_type": "sdar"}, {"x": 151669}, "sdar"),
        (
            {"auto_map": {"AutoModel": "modeling_dream.DreamModel"}, "model_type": "Dream"},
            MASKS,
            "dream",
        ),
    ],
)
def test_a_checkpoint_is_recognised(
    config: dict[str, object], tokens: dict[str, int], family: str
) -> None:
    assert load_registry().recognised(Signs(config, tokens)).name == family


@pytest.mark.parametrize("id", ["apple/DiffuCoder-7B-Base", "diffucoder-7b-base"])
def test_a_published_name_tells_what_a_config_cannot(id: str) -> None:
    assert load_registry().recognised(Signs(DREAM, MASKS, id)).name == "diffucoder"


def test_every_published_name_is_one_family_s() -> None:
    registry = load_registry()
    for family in registry:
        for known in family.models:
            config = {"architectures": list(family.architectures)}
            assert registry.recognised(Signs(config, {}, known.id)) is family
            # a name alone makes no other model one of them
            with pytest.raises(UnknownFamily):
                registry.recognised(Signs({"architectures": ["Other"]}, {}, known.id))


def test_a_model_type_alone_tells_nothing() -> None:
    # it says llama and is a diffusion model of its own
    config = {"architectures": ["StableDiffcoderForCausalLM"], "model_type": "llada"}
    with pytest.raises(UnknownFamily, match="StableDiffcoderForCausalLM") as caught:
        load_registry().recognised(Signs(config, MASKS | {"<|mdm_mask|>": 3}))
    assert "\n" not in str(caught.value)
    # it is the causal model that a diffusion model was made from
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    with pytest.raises(UnknownFamily, match="mask token"):
        load_registry().recognised(Signs(config, {"<|endoftext|>": 1}))


def test_an_unknown_architecture_is_told_the_nearest() -> None:
    config = {"architectures": ["SDARForCausalLM2"], "auto_map": {"AutoModel": "code.Other"}}
    with pytest.raises(UnknownFamily, match=r"never run.*nearest is SDARForCausalLM, family sdar"):
        load_registry().recognised(Signs(config, {}))
    with pytest.raises(UnknownFamily, match="nearest"):
        load_registry().recognised(Signs({}, {}))


def test_tables_of_the_user_change_families_and_describe_new_ones(tmp_path: Path) -> None:
    own = tmp_path / "families.toml"
    own.write_text(
        '[dream]\nmask = "<m>"\n'
        '[mine]\nlike = "sdar"\narchitectures = ["MyModel"]\nblock_length = 8\n'
    )
    registry = load_registry(own)
    assert registry.named("dream").mask == "<m>"
    assert registry.named("dream").shift
    mine = registry.recognised(
        Signs({"architectures": ["MyModel"], "model_type": "sdar"}, {"": 151669})
    )
    assert (mine.name, mine.block_length, mine.attention) == ("mine", 8, Attention.BLOCK)
    assert mine.prefix is Prefix.BLOCK
    assert not mine.models
    assert load_registry(tmp_path / "none.toml").named("dream").mask == "<|mask|>"


@pytest.mark.parametrize(
    "text",
    [
        "[dream",
        "dream = 3",
        "[dream]\nmasc = 3",
        '[dream]\nattention = "wide"',
        '[mine]\nlike = "nobody"',
        '[mine]\nlike = "mine"',
        "[mine]\nshift = true",
        '[dream]\nremasking = { order = "luck" }',
        '[dream]\nrenames = [["(", ""]]',
    ],
)
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    own = tmp_path / "families.toml"
    own.write_text(text)
    with pytest.raises(ModelError, match=r"families\.toml"):
        load_registry(own)


def test_families_take_over_what_they_are_like() -> None:
    coder, dream = load_family("dreamon"), load_family("dream")
    assert coder.infill == dream.infill
    assert coder.remasking.order is Order.ENTROPY
    assert coder.remasking.most == 1
    assert dream.remasking.most is None
