"""The sizes of the model whose step is counted, compiled and measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A Clover model; the defaults are Clover-35B-A3B (its base is Qwen3.6-35B-A3B)."""

    hidden: int = 2048
    delta_layers: int = 30
    attention_layers: int = 10
    heads: int = 16
    kv_heads: int = 2
    head_width: int = 256
    rotary_width: int = 64
    key_heads: int = 16
    value_heads: int = 32
    delta_width: int = 128
    taps: int = 4
    experts: int = 256
    top: int = 8
    expert_width: int = 512
    vocabulary: int = 248_320
    group: int = 128  # columns that share a scale, in int4

    @property
    def layers(self) -> int:
        return self.delta_layers + self.attention_layers

    @property
    def channels(self) -> int:
        """Columns of the convolution: queries, keys and values of Gated DeltaNet."""
        return (2 * self.key_heads + self.value_heads) * self.delta_width

    @property
    def parameters(self) -> int:
        """Of the layers, the embedding and the head; norms and other small parts left out."""
        value_width, head_width = self.value_heads * self.delta_width, self.heads * self.head_width
        delta = self.channels + 2 * value_width + 2 * self.value_heads
        attention = 3 * head_width + 2 * self.kv_heads * self.head_width
        experts = 3 * (self.experts + 1) * self.expert_width + self.experts + 1
        columns = self.delta_layers * delta + self.attention_layers * attention
        return self.hidden * (columns + self.layers * experts + 2 * self.vocabulary)

    def touched(self, rows: int) -> float:
        """How many experts `rows` rows reach in a layer, if each chooses evenly."""
        return self.experts * (1 - (1 - self.top / self.experts) ** rows)


CLOVER = Shape()
TINY = Shape(
    hidden=64,
    delta_layers=3,
    attention_layers=1,
    heads=4,
    kv_heads=2,
    head_width=32,
    rotary_width=8,
    key_heads=2,
    value_heads=4,
    delta_width=16,
    experts=8,
    top=2,
    expert_width=32,
    vocabulary=600,
    group=32,
)
