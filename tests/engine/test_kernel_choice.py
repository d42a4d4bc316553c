"""Which kernels run where, and what happens where they cannot: cards are faked."""

from __future__ import annotations

import ast
import importlib.util
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch

from clover_engine.errors import ModelError
from clover_engine.kernels import reference
from clover_engine.kernels.dispatch import OPERATIONS, OVERRIDE, kernels_for
from clover_engine.kernels.fallback import Fallback, why_not
from tests.support.interpreted import twins

CARD = torch.device("cuda")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Callable[[tuple[int, int]], None]:
    """Pretend that there is a card of a compute capability."""

    def of(capability: tuple[int, int]) -> None:
        monkeypatch.delenv(OVERRIDE, raising=False)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Fake 1000")

    return of


def test_a_card_gets_the_triton_kernels(card: Any, caplog: pytest.LogCaptureFixture) -> None:
    card((9, 0))
    with caplog.at_level(logging.INFO):
        kernels = kernels_for(CARD)
    assert isinstance(kernels.route, Fallback)
    assert kernels.to_rows is reference.to_rows  # int8 rows are for CPUs
    assert "18 from triton, 5 by their definition" in caplog.text


def test_every_twin_is_of_an_operation() -> None:
    assert set(twins.__all__) <= set(OPERATIONS)
    assert set(OPERATIONS) <= set(reference.__all__)


def test_a_card_that_is_too_old_runs_the_definitions(
    card: Any, caplog: pytest.LogCaptureFixture
) -> None:
    card((7, 5))
    assert kernels_for(CARD).route is reference.route
    assert "Fake 1000 is of compute capability 7.5, the kernels need 8.0" in caplog.text


def test_without_triton_the_definitions_run(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    card((9, 0))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert kernels_for(CARD).route is reference.route
    assert "not installed" in (why_not(CARD) or "")
    monkeypatch.setenv(OVERRIDE, "triton")
    with pytest.raises(ModelError, match="not installed"):
        kernels_for(CARD)


def test_one_operation_can_be_taken_from_another_set(
    card: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    card((9, 0))
    monkeypatch.setenv(OVERRIDE, "route=reference")
    kernels = kernels_for(CARD)
    assert kernels.route is reference.route
    assert isinstance(kernels.sort_pairs, Fallback)


def failing(error: Exception) -> tuple[Fallback, list[int]]:
    """`rms_norm` of a set whose every call fails, and its calls."""
    calls: list[int] = []

    def fast(*_: Any) -> torch.Tensor:
        calls.append(1)
        raise error

    return Fallback(fast, reference.rms_norm), calls


def launch_errors() -> list[Exception]:
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError

    errors: list[Exception] = [
        OutOfResources(200_000, 101_376, "shared memory"),
        PTXASError("target sm_200 is unknown"),
        CompilationError("kernel", ast.Pass(lineno=1, col_offset=0), "no such thing"),
        RuntimeError("Triton Error [CUDA]: the provided PTX was compiled with an unsupported tool"),
    ]
    return errors


@pytest.mark.parametrize("error", launch_errors(), ids=lambda error: type(error).__name__)
def test_a_kernel_that_cannot_run_gives_way_once_and_says_why(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    operation, calls = failing(error)
    x, weight = torch.randn(2, 8), torch.randn(8)
    for _ in range(3):
        assert torch.equal(operation(x, weight, 1e-6), reference.rms_norm(x, weight, 1e-6))
    assert len(calls) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "rms_norm runs its definition" in caplog.text


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("out of memory"), RuntimeError("shapes"), ValueError("ours")]
)
def test_other_errors_are_not_hidden(error: Exception) -> None:
    operation, calls = failing(error)
    for _ in range(2):
        with pytest.raises(type(error)):
            operation(torch.randn(2, 8), torch.randn(8), 1e-6)
    assert len(calls) == 2


def test_the_chosen_kernels_run_in_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, "triton")
    kernels = kernels_for(torch.device("cpu"))
    x, weight = torch.randn(2, 8), torch.randn(8)
    torch.testing.assert_close(
        kernels.rms_norm(x, weight, 1e-6), reference.rms_norm(x, weight, 1e-6)
    )
