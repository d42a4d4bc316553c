"""The tiny model, written and converted once, and the engines over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.free_rows import FreeRows

if TYPE_CHECKING:
    from clover_engine.engine import LocalEngine
    from tests.support.tiny_model import TinyModel


@pytest.fixture(scope="session")
def exact_rows() -> bool:
    """Whether a row of an int8 forward is to the bit the same beside any others.

    With AVX-512 it is; smaller units of MKL sum attention in an order that depends on the rows:
    last bits differ, which now and then turns the rounding of a byte, and rarely a token.
    """
    import torch

    return torch.backends.cpu.get_cpu_capability().startswith("AVX512")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    """The tiny model's GGUF, its converted folder and its weights."""
    import torch

    from tests.support.tiny_model import make_tiny_model

    torch.set_num_threads(1)  # more of them only get in each other's way on matrices this small
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def flat_curve() -> Iterator[None]:
    """Every forward costs the same, so that drafting does not hang on this machine's mood."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clover_engine.engine.measure", lambda *_: FreeRows())
        yield


@pytest.fixture(scope="session")
def int8_engine(tiny_model: TinyModel, flat_curve: None) -> LocalEngine:
    """The int8 engine over the tiny model, as it ships; tests name their own documents."""
    from clover_engine.engine import load_engine

    return load_engine(tiny_model.folder, model="tiny", threads=1)


@pytest.fixture(scope="session")
def bf16_engine(tiny_model: TinyModel, flat_curve: None) -> LocalEngine:
    """The bf16 engine over the tiny GGUF."""
    from clover_engine.engine import load_reference

    return load_reference(tiny_model.gguf, tiny_model.folder, model="tiny", threads=1)


@pytest.fixture(scope="session")
def float_engine(tiny_model: TinyModel, flat_curve: None) -> LocalEngine:
    """The engine over float32 layers, in which the number of rows changes last bits only."""
    import torch

    from clover_engine.engine import LocalEngine
    from clover_engine.kernels.dispatch import kernels_for
    from clover_engine.tokenizer import TextTokenizer
    from clover_engine.weights import load_vocabulary
    from tests.support.float_model import load_float

    return LocalEngine(
        "tiny",
        "float32",
        load_float(tiny_model.gguf, kernels_for(torch.device("cpu"))),
        TextTokenizer(tiny_model.folder / "tokenizer.json"),
        load_vocabulary(tiny_model.folder),
    )


@pytest.fixture(scope="session")
def adapter_file(tiny_model: TinyModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A block adapter for the tiny model that learned nothing: its masks say anything."""
    import torch

    from clover_engine.adapt.weights import AdapterWeights, export
    from clover_engine.weights import MODEL_FILE, read_config

    torch.manual_seed(7)
    config = read_config(tiny_model.folder / MODEL_FILE)
    weights = AdapterWeights(config, 4, torch.randn(config.hidden_size))
    for up in weights.up.values():
        torch.nn.init.normal_(up, std=0.3)
    path = tmp_path_factory.mktemp("adapter") / "tiny-block.safetensors"
    export(weights.state_dict(), path, {}, rank=4)
    return path


@pytest.fixture
def block_engine(tiny_model: TinyModel, flat_curve: None, adapter_file: Path) -> LocalEngine:
    """The int8 engine over the tiny model with the block adapter, which has not learned yet that
    its masks are of no use."""
    import torch

    from clover_engine.engine import LocalEngine
    from clover_engine.weights import load_folder, load_vocabulary

    torch.set_num_threads(1)
    model, tokenizer = load_folder(tiny_model.folder, "int8", torch.device("cpu"), adapter_file)
    return LocalEngine("tiny", "int8", model, tokenizer, load_vocabulary(tiny_model.folder))
