"""What shapes a Clover: the numbers of its config.json, and the choices that are not published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal

from clover_engine.errors import ModelError
from clover_engine.kernels.reference import Readout

HYBRID = "qwen3.5"  # the backbone's name in families.toml


class Mixer(StrEnum):
    """What Gated DeltaNet layers do with a block that is denoised."""

    SELECTION = "selection"  # the history is one more key beside those of the block
    CAUSAL = "causal"  # what they do with any text, left to right (arcLM)


_SCALARS = ("temperature", "bias", "growth")
BETA: tuple[Literal["unused", "score", "value"], ...] = ("unused", "score", "value")


@dataclass(frozen=True, slots=True)
class Switches:
    """How blocks read the recurrent state, where the vendor does not say it: `scalars` names the
    learned numbers of `kernels.reference.History` in the order in which the checkpoint has them."""

    mixer: Mixer = Mixer.SELECTION
    scalars: tuple[str, ...] = _SCALARS
    readout: Readout = field(default_factory=Readout)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Switches:
        """From a table of the family data. Raises ModelError for what there is not."""
        chosen = dict(data)
        mixer = chosen.pop("mixer", Mixer.SELECTION)
        scalars = tuple(chosen.pop("scalars", _SCALARS))
        unknown = [name for name in chosen if name not in Readout.__dataclass_fields__]
        unknown += [f"scalar {name}" for name in scalars if name not in _SCALARS]
        if unknown or mixer not in list(Mixer) or chosen.get("beta", "unused") not in BETA:
            raise ModelError(
                f"switches of the block readout cannot be {dict(data)}: mixer is one of "
                f"{', '.join(Mixer)}, scalars are among {', '.join(_SCALARS)}, beta is one of "
                f"{', '.join(BETA)}, the others are {', '.join(Readout.__dataclass_fields__)}"
            )
        return cls(Mixer(mixer), scalars, Readout(**chosen))

    def table(self) -> dict[str, Any]:
        """What `of` reads."""
        return {"mixer": str(self.mixer), "scalars": list(self.scalars), **asdict(self.readout)}


@dataclass(frozen=True, slots=True)
class CloverConfig:
    """The numbers of a Qwen3.5 text model, named as in its Hugging Face config.

    `layer_types` says of each layer whether it is "linear_attention" or "full_attention". A model
    without experts (`num_experts` 0) has feed-forward layers of `intermediate_size`.
    """

    vocab_size: int
    hidden_size: int
    layer_types: tuple[str, ...]
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    shared_expert_intermediate_size: int
    intermediate_size: int
    rms_norm_eps: float
    rope_theta: float
    rotary_dim: int
    max_position_embeddings: int
    tie_word_embeddings: bool

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> CloverConfig:
        """From a config.json, whose text model may stand under `text_config`.

        Raises ModelError when it lacks something.
        """
        text = data.get("text_config", data)
        rope = text.get("rope_parameters") or text.get("rope_scaling") or {}

        def found(name: str, default: Any = None) -> Any:
            value = text.get(name, rope.get(name, default))
            if value is None:
                raise ModelError(f"config.json lacks {name}")
            return value

        layers, every = found("num_hidden_layers"), text.get("full_attention_interval", 4)
        types = text.get("layer_types") or [
            "linear_attention" if (number + 1) % every else "full_attention"
            for number in range(layers)
        ]
        head_dim = found("head_dim", found("hidden_size") // found("num_attention_heads"))
        derived = {
            "layer_types": tuple(types),
            "head_dim": head_dim,
            "rotary_dim": int(head_dim * found("partial_rotary_factor", 0.25)),
            "rope_theta": float(found("rope_theta", 1e7)),
            "tie_word_embeddings": bool(
                text.get("tie_word_embeddings", data.get("tie_word_embeddings", False))
            ),
        }
        optional: dict[str, int] = dict.fromkeys(
            (
                "num_experts",
                "num_experts_per_tok",
                "moe_intermediate_size",
                "shared_expert_intermediate_size",
                "intermediate_size",
            ),
            0,
        )
        names = [item.name for item in fields(cls) if item.name not in derived]
        return cls(**derived, **{name: found(name, optional.get(name)) for name in names})

    @property
    def key_dim(self) -> int:
        """Width of all keys of a Gated DeltaNet layer."""
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def value_dim(self) -> int:
        """Width of all its values."""
        return self.linear_num_value_heads * self.linear_value_head_dim

    @property
    def conv_dim(self) -> int:
        """Channels of its convolution: queries, keys, values."""
        return 2 * self.key_dim + self.value_dim

    def is_linear(self, number: int) -> bool:
        """Whether layer `number` is a Gated DeltaNet layer."""
        return self.layer_types[number] == "linear_attention"
