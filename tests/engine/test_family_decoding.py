"""What each family's rules write, against the same rules written a second time, slowly."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from clover_engine.api import CanvasRequest, Ends, Finish, Hole, Literal
from clover_engine.canvas_engine import CanvasEngine
from clover_engine.checkpoint_tokenizer import read_tokenizer, vocabulary_of
from clover_engine.family import Family, load_registry
from clover_engine.opening import open_checkpoint
from clover_engine.tokenizer import TextTokenizer, Vocabulary
from tests.support.driving import run
from tests.support.slow_denoising import Logits, Slow, slow_blocks, slow_dreamon, slow_full
from tests.support.tiny_checkpoint import EXPAND, write_checkpoint

ROOM = 20
# nothing is taken back at a line's end, and nothing written twice: the tokens are the text
DOCUMENTS = [
    ("def name(self):\n", "\n    return self.value\n"),
    ("x = 1\ny = 2\n", ""),
    ("文字中的\n\n", "\nself name value\n" * 3),
    ("\n", "\n"),
    ("    self.name = value\n" * 4, "\nprint(name)\n"),
]


class Both:
    """A family's engine over a tiny checkpoint, and the parts of the slow one."""

    def __init__(self, folder: Path, own: str, kind: str, backbone: str, **given: Any) -> None:
        names = {"qwen2": "Qwen2", "qwen3": "Qwen3", "llama": "Llama"}
        architecture, model_type = kind.split()
        weights = write_checkpoint(folder, architecture, model_type, backbone, **given)
        families = folder / "families.toml"
        families.write_text(own)
        self.engine: CanvasEngine = open_checkpoint(
            folder, model="tiny", precision="float32", threads=1, families=families
        )
        self.tokenizer: TextTokenizer = read_tokenizer(folder)
        config = json.loads((folder / "config.json").read_text())
        self.vocabulary: Vocabulary = vocabulary_of(self.tokenizer, config["vocab_size"], folder)
        self._registry = load_registry(families)
        theirs = getattr(transformers, f"{names[backbone]}Config")(**config)
        self._model = getattr(transformers, f"{names[backbone]}ForCausalLM")(theirs).eval()
        self._model.load_state_dict(weights)

    def family(self, name: str) -> Family:
        return self._registry.named(name)

    def logits(self) -> Logits:
        def compute(tokens: list[int], visible: torch.Tensor) -> torch.Tensor:
            mask = torch.zeros(visible.shape).masked_fill_(~visible, -1e30)[None, None]
            with torch.no_grad():
                found: torch.Tensor = self._model(
                    torch.tensor([tokens]), attention_mask=mask, use_cache=False
                ).logits[0]
            return found

        return compute

    def slow(self, name: str, **rules: Any) -> Slow:
        """The slow model under a family's rules."""
        family = self.family(name)
        special = self.tokenizer.special
        written = [special(token) for token in (*family.end, family.expand, family.delete) if token]
        forbidden = set(self.vocabulary.without_bytes().tolist()) - set(written)
        return Slow(
            self.logits(),
            mask=special(family.mask),
            ends={special(token) for token in family.end},
            forbidden=sorted(forbidden),
            shift=family.shift,
            threshold=family.remasking.threshold,
            entropy=family.remasking.order == "entropy",
            temperature=family.sampling.temperature,
            top_p=family.sampling.top_p,
            **rules,
        )

    def write(self, prefix: str, suffix: str, room: int = ROOM) -> str:
        """What the engine writes."""
        return run(self.engine, asked(prefix, suffix, room)).text

    def text(self, slots: Sequence[int], ends: set[int]) -> str:
        """What the slow one's tokens spell, up to an end token."""
        data = b""
        for token in slots:
            if token in ends:
                break
            data += self.vocabulary.token_bytes(token)
        return getincrementaldecoder("utf-8")("replace").decode(data)


def asked(prefix: str, suffix: str, room: int = ROOM) -> CanvasRequest:
    """An infill whose end nothing but the model and its room decides."""
    return CanvasRequest((Literal(prefix), Hole(room), Literal(suffix)), ends=Ends.NONE)


@pytest.fixture(params=["dream", "llada", "open-dcoder"])
def full(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Both]:
    kind, backbone = {
        "dream": ("DreamModel Dream", "qwen2"),
        "llada": ("LLaDAModelLM llada", "llama"),
        "open-dcoder": ("Qwen2ForCausalLM qwen2", "qwen2"),
    }[request.param]
    own = f"[{request.param}]\nrefresh = 1\nsampling = {{}}\nbackbone = '{backbone}'\n"
    own += "remasking = { order = 'ORDER', threshold = 0.55 }\n".replace(
        "ORDER", "confidence" if request.param == "llada" else "entropy"
    )
    return request.param, Both(tmp_path, own, kind, backbone)


def test_holes_in_the_middle_are_filled_by_low_confidence(full: tuple[str, Both]) -> None:
    name, both = full
    written = []
    for prefix, suffix in DOCUMENTS:
        slow, family = both.slow(name), both.family(name)
        start = family.infill[: family.infill.index("{prefix}")]
        end = family.infill[family.infill.index("{suffix}") + 1 :]
        left = [*map(both.tokenizer.special, start), *both.tokenizer.encode(prefix)]
        right = [*both.tokenizer.encode(suffix), *map(both.tokenizer.special, end)]
        wanted = both.text(slow_full(slow, left, right, ROOM), slow.ends)
        assert both.write(prefix, suffix) == wanted
        written.append(wanted)
    assert len(set(written)) > 2


@pytest.mark.parametrize(
    ("sampling", "rooms"),
    [("{}", (3, ROOM, 40)), ("{ temperature = 0.2, top_p = 0.9 }", (3, ROOM))],
    ids=["likeliest", "drawn"],
)
def test_dreamon_expands_and_deletes(tmp_path: Path, sampling: str, rooms: Sequence[int]) -> None:
    own = f"[dreamon]\nexpand = '{EXPAND}'\nsampling = {sampling}\n"
    likely = {EXPAND: 2.2, "<|endoftext|>": 1.4}
    both = Both(tmp_path, own, "DreamModel Dream", "qwen2", likely=likely)
    special = both.tokenizer.special
    expanded = deleted = 0
    for prefix, suffix in DOCUMENTS:
        for room in rooms:
            slow = both.slow("dreamon")
            left = [special("<|beginoftext|>"), *both.tokenizer.encode(prefix)]
            right = [*both.tokenizer.encode(suffix), special("<|endoftext|>")]
            done = slow_dreamon(slow, left, right, room, special(EXPAND), special("<|endoftext|>"))
            assert both.write(prefix, suffix, room) == both.text(done.slots, set())
            expanded += done.expanded
            deleted += done.deleted
    assert expanded > 2
    assert deleted > 2


BLOCKS = {
    "sdar": ("SDARForCausalLM sdar", "qwen3", "block_length = 8\nmask = '<|mask|>'\n"),
    "fast-dllm-v2": (
        "Fast_dLLM_QwenForCausalLM Fast_dLLM_Qwen",
        "qwen2",
        "sub_block = 4\nblock_length = 16\n",
    ),
}


def block_prompt(both: Both, prefix: str, suffix: str) -> tuple[list[int], list[int]]:
    special, encode = both.tokenizer.special, both.tokenizer.encode
    right = encode(suffix)
    prompt = [special("<|fim_prefix|>"), special("<|fim_suffix|>"), *right]
    return [*prompt, special("<|fim_middle|>"), *encode(prefix)], right[:8]


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_filled_by_low_confidence(tmp_path: Path, name: str) -> None:
    kind, backbone, own = BLOCKS[name]
    own = f"[{name}]\n{own}remasking = {{ threshold = 0.4 }}\n"
    both = Both(tmp_path, own, kind, backbone)
    steps: list[int] = []
    for prefix, suffix in DOCUMENTS:
        slow, family = both.slow(name), both.family(name)
        prompt, pinned = block_prompt(both, prefix, suffix)
        found = slow_blocks(
            slow, prompt, pinned, ROOM, family.block_length, sub_block=family.sub_block
        )
        assert both.write(prefix, suffix) == both.text(found, slow.ends)
        steps += slow.steps
    assert max(steps) > 1
    assert min(steps) == 1


def test_placed_tokens_are_edited(tmp_path: Path) -> None:
    own = "[sdar]\nblock_length = 16\nmask = '<|mask|>'\nremasking = { threshold = 0.3 }\n"
    edits = "edits = { threshold = 0.5, steps = 3 }\n"
    (tmp_path / "edited").mkdir()
    both = Both(tmp_path / "edited", own + edits, "SDARForCausalLM sdar", "qwen3")
    changes = held = 0
    for prefix, suffix in DOCUMENTS:
        slow = both.slow("sdar")
        prompt, pinned = block_prompt(both, prefix, suffix)
        plain = slow_blocks(both.slow("sdar"), prompt, pinned, ROOM, 16)
        found = slow_blocks(slow, prompt, pinned, ROOM, 16, edit=(0.5, 3))
        freely = slow_blocks(both.slow("sdar"), prompt, pinned, ROOM, 16, edit=(0.0, 3))
        assert both.write(prefix, suffix) == both.text(found, slow.ends)
        changes += found != plain
        held += found != freely
    assert changes
    assert held


def test_time_that_is_up_leaves_what_is_whole(full: tuple[str, Both]) -> None:
    _, both = full
    prefix, suffix = DOCUMENTS[0]
    whole = run(both.engine, asked(prefix, suffix))
    for forward in range(len(whole.needs)):
        cut = run(both.engine, asked(prefix, suffix), forward)
        assert cut.filled.fills[0].finish is Finish.DEADLINE
        assert cut.text == ""
