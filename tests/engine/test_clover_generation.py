"""What Clover writes through the engine, against its decoding written a second time, slowly."""

from __future__ import annotations

import math
from codecs import getincrementaldecoder
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from clover_engine.api import CanvasRequest, Ends, Finish, Hole, Literal, infill_request
from clover_engine.checkpoint_tokenizer import read_tokenizer, vocabulary_of
from clover_engine.errors import CheckpointError
from clover_engine.models.clover_config import CloverConfig, Mixer, Switches
from clover_engine.opening import check_checkpoint, open_checkpoint
from tests.support.clover_torch import clover_logits
from tests.support.driving import close_at, random_document, run
from tests.support.tiny_checkpoint import write_tokenizer
from tests.support.tiny_clover import ODD, random_weights, write_checkpoint

if TYPE_CHECKING:
    from clover_engine.canvas_engine import CanvasEngine

ROOM = 40
BLOCK = 32
PINNED = 8
LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)
# nothing is taken back at a line's end, and nothing written twice: the tokens are the text
DOCUMENTS = [
    ("def name(self):\n", "\n    return self.value\n"),
    ("x = 1\ny = 2\n", ""),
    ("文字中的\n\n", "\nself name value\n" * 3),
    ("\n", "\n"),
]


class Both:
    """The engine over a random Clover, and the parts of the slow one."""

    def __init__(
        self, folder: Path, threshold: float, shift: bool = False, ends_holes: bool = True
    ) -> None:
        self.names = write_tokenizer(folder)
        self.mask, self.threshold, self.shift = self.names["<|mask|>"], threshold, shift
        self.ends_holes = ends_holes
        size = max(self.names.values()) + 6  # a model may have more tokens than its tokenizer
        numbers = {**ODD, "vocab_size": size, "mask_token_id": self.mask}
        self.config = CloverConfig.of(numbers)
        self.weights = random_weights(self.config, Switches())
        self.weights["lm_head.weight"] *= 8
        write_checkpoint(folder, numbers, self.weights)
        families = folder / "families.toml"
        families.write_text(
            f"[clover]\nremasking = {{ threshold = {threshold} }}\nshift = {str(shift).lower()}\n"
            f"ends_holes = {str(ends_holes).lower()}\n"
        )
        self.engine: CanvasEngine = open_checkpoint(
            folder, model="tiny", precision="float32", threads=1, families=families
        )
        self.tokenizer = read_tokenizer(folder)
        self.vocabulary = vocabulary_of(self.tokenizer, size, folder)
        self.ends = {self.names[name] for name in ("<|endoftext|>", "<|im_end|>")}
        self.forbidden = sorted(set(self.vocabulary.without_bytes().tolist()) - self.ends)
        self.steps: list[int] = []

    def prompt(self, prefix: str, suffix: str) -> tuple[list[int], list[int]]:
        encode, names = self.tokenizer.encode, self.names
        right = encode(suffix)
        prompt = [names["<|fim_prefix|>"], names["<|fim_suffix|>"], *right]
        return [*prompt, names["<|fim_middle|>"], *encode(prefix)], right[:PINNED]

    def rows(self, text: list[int], block: list[int]) -> torch.Tensor:
        """What tells each slot of a block behind a text."""
        both = clover_logits(
            self.weights,
            self.config,
            Switches(),
            torch.tensor([text]),
            torch.tensor([block]),
            len(text),
        )
        rows = both.block[0]
        if self.shift:
            rows = torch.cat((both.text[0, -1:], rows[:-1]))
        rows[:, self.forbidden] = -math.inf
        return rows

    def slow(self, prefix: str, suffix: str, room: int = ROOM) -> str:
        """Low confidence: what is sure enough is settled, at least the surest."""
        text, pinned = self.prompt(prefix, suffix)
        left = room if self.ends_holes else self._length(text, pinned, room)
        most = BLOCK - len(pinned) if self.ends_holes else BLOCK
        written: list[int] = []
        while left > 0:
            size = min(left, most)
            left -= size
            slots = [self.mask] * size
            while self.mask in slots:
                behind = pinned[: BLOCK - len(slots)]
                rows = self.rows([*text, *written], [*slots, *behind])
                sure = rows.softmax(-1).max(-1).values.tolist()
                masked = [place for place, token in enumerate(slots) if token == self.mask]
                settled = [place for place in masked if sure[place] >= self.threshold]
                settled = settled or [max(masked, key=lambda place: sure[place])]
                self.steps.append(len(settled))
                for place in settled:
                    slots[place] = int(rows[place].argmax())
                ended = [place for place, token in enumerate(slots) if token in self.ends]
                slots = slots[: ended[0] + 1] if ended else slots
            written += slots
            if written[-1] in self.ends:
                break
        return self._spelled(written)

    def _length(self, text: list[int], pinned: list[int], room: int) -> int:
        fits = {}
        for length in (length for length in LENGTHS if length <= room):
            behind = pinned[: BLOCK - length]
            rows = self.rows(text, [*[self.mask] * length, *behind])[:length]
            sure = float(rows.softmax(-1).max(-1).values.mean())
            usual = math.exp(-1.77 * length) + 0.56 * math.exp(-0.06 * length) + 0.24
            fits[length] = sure / usual
        return max(fits, key=lambda length: fits[length])

    def _spelled(self, tokens: Sequence[int]) -> str:
        kept = [token for token in tokens if token not in self.ends]
        data = b"".join(map(self.vocabulary.token_bytes, kept))
        return getincrementaldecoder("utf-8")("replace").decode(data)


def asked(prefix: str, suffix: str, room: int = ROOM) -> CanvasRequest:
    """An infill whose end nothing but the model and its room decides."""
    return CanvasRequest((Literal(prefix), Hole(room), Literal(suffix)), ends=Ends.NONE)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A Clover that settles now one, now several slots a step."""
    return Both(tmp_path_factory.mktemp("clover"), 0.4)


def test_blocks_are_filled_by_low_confidence(both: Both) -> None:
    written = []
    for prefix, suffix in DOCUMENTS:
        wanted = both.slow(prefix, suffix)
        assert run(both.engine, asked(prefix, suffix)).text == wanted
        written.append(wanted)
    assert len(set(written)) > 2
    assert max(both.steps) > 1
    assert min(both.steps) == 1


@pytest.mark.parametrize(
    ("threshold", "shift", "ends_holes"),
    [(0.95, False, True), (0.4, True, True), (0.4, False, False)],
)
def test_a_family_decides_threshold_shift_and_length(
    tmp_path: Path, threshold: float, shift: bool, ends_holes: bool
) -> None:
    both = Both(tmp_path, threshold, shift, ends_holes)
    for prefix, suffix in DOCUMENTS[:2]:
        assert run(both.engine, asked(prefix, suffix, 12)).text == both.slow(prefix, suffix, 12)


def test_a_kept_cache_and_a_fresh_one_write_the_same(both: Both) -> None:
    """The document grows, shrinks and is cut into: what is reused changes nothing."""
    prefix, suffix = "x = self.value\n" * 12, "\nprint(name)\n"
    reused = []
    for cut in (0, 7, 40, 8, 41, 150, 0):
        left = prefix[: len(prefix) - cut]
        kept = run(both.engine, infill_request(left, suffix, document="kept", max_tokens=6))
        fresh = run(both.engine, infill_request(left, suffix, max_tokens=6))
        assert kept.text == fresh.text
        reused.append(kept.filled.stats.reused_tokens)
    assert reused[0] == 0
    assert min(reused[1:]) > 0


def test_interruptions_leave_a_valid_cache(both: Both) -> None:
    prefix, suffix = random_document(3)
    wanted = run(both.engine, infill_request(prefix, suffix, max_tokens=8)).text
    whole = run(both.engine, infill_request(prefix, suffix, max_tokens=8))
    for forward in range(0, len(whole.needs), 2):
        name = f"cut {forward}"
        asked_for = infill_request(prefix, suffix, document=name, max_tokens=8)
        assert run(both.engine, asked_for, forward).filled.fills[0].finish is Finish.DEADLINE
        assert run(both.engine, asked_for).text == wanted
        name = f"closed {forward}"
        asked_for = infill_request(prefix, suffix, document=name, max_tokens=8)
        assert close_at(both.engine, asked_for, forward, computed=True)
        assert run(both.engine, asked_for).text == wanted


def test_choices_and_patterns_hold(both: Both) -> None:
    hole = Hole(12, choices=("value", "name"))
    asked_for = CanvasRequest((Literal("self."), hole, Literal(" = 1\n")))
    assert run(both.engine, asked_for).text in ("value", "name")
    digits = CanvasRequest((Literal("x = "), Hole(12, pattern="[0-9]{3}")))
    assert run(both.engine, digits).text.isdigit()


def test_a_checkpoint_that_is_none_says_all_that_is_wrong(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    weights = random_weights(CloverConfig.of(ODD), Switches())
    scalars = "model.layers.0.linear_attn.bd_gdn_softmax_scalars"
    weights[scalars] = torch.zeros(4, 6)
    del weights["model.layers.2.linear_attn.bd_gdn_conv_right_weight"]
    write_checkpoint(tmp_path, ODD, weights)
    with pytest.raises(CheckpointError) as caught:
        check_checkpoint(tmp_path, "tiny", whole=True)
    assert f"{scalars} is [4, 6], not [3, 6]" in str(caught.value)
    assert "bd_gdn_conv_right_weight is missing" in str(caught.value)


def test_scalars_may_be_stored_the_other_way_round(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    weights = random_weights(CloverConfig.of(ODD), Switches())
    for name, value in weights.items():
        if name.endswith("bd_gdn_softmax_scalars"):
            weights[name] = value.T
        elif name.endswith("bd_gdn_conv_right_weight"):
            weights[name] = value[:, None]
    write_checkpoint(tmp_path, ODD, weights)
    assert check_checkpoint(tmp_path, "tiny", whole=True) == "clover"


def test_a_mask_that_nothing_names_is_asked_for(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    unnamed = {key: value for key, value in ODD.items() if key != "mask_token_id"}
    write_checkpoint(tmp_path, unnamed, random_weights(CloverConfig.of(ODD), Switches()))
    with pytest.raises(CheckpointError, match="models calibrate"):
        open_checkpoint(tmp_path, model="tiny")


def test_a_recurrence_that_reads_left_to_right_needs_nothing_of_clover(tmp_path: Path) -> None:
    names = write_tokenizer(tmp_path)
    numbers = {
        **ODD,
        "architectures": ["A2DQwen3_5LMHeadModel"],
        "model_type": "a2d-qwen3_5",
        "vocab_size": max(names.values()) + 1,
        "mask_token_id": names["<|mask|>"],
    }
    write_checkpoint(
        tmp_path, numbers, random_weights(CloverConfig.of(numbers), Switches(mixer=Mixer.CAUSAL))
    )
    assert check_checkpoint(tmp_path, "tiny", whole=True) == "arclm"
    engine = open_checkpoint(tmp_path, model="tiny", precision="float32", threads=1)
    for prefix, suffix in DOCUMENTS[:2]:
        kept = run(engine, infill_request(prefix * 9, suffix, document="d", max_tokens=20))
        assert kept.text == run(engine, infill_request(prefix * 9, suffix, max_tokens=20)).text
