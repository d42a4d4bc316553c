"""Where a model is loaded: cards and drivers are faked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from clover_engine import devices
from clover_engine.devices import CPU, best_device, load_on

CARD = torch.device("cuda")


def test_a_card_that_torch_can_use_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert best_device() == CARD


@pytest.mark.parametrize(
    ("version", "reason"), [("13.0", "driver is too old for CUDA 13.0"), (None, "CPU build")]
)
def test_a_card_that_torch_cannot_use_is_spoken_of(
    version: str | None,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", version)
    monkeypatch.setattr(devices, "_DRIVER", tmp_path / "version")
    assert best_device() == CPU
    assert not caplog.text  # no card, no word
    (tmp_path / "version").touch()
    assert best_device() == CPU
    assert reason in caplog.text


def test_a_model_that_does_not_fit_runs_on_the_cpu(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[torch.device] = []

    def load(device: torch.device) -> str:
        tried.append(device)
        if device == CARD:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. And so")
        return device.type

    assert load_on(CARD, load) == "cpu"
    assert tried == [CARD, CPU]
    assert "does not fit on cuda: running on the CPU (CUDA out of memory)" in caplog.text


def test_other_errors_of_loading_are_not_hidden() -> None:
    def load(device: torch.device) -> str:
        raise RuntimeError(device.type)

    with pytest.raises(RuntimeError, match="cuda"):
        load_on(CARD, load)
