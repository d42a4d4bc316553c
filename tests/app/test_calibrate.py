"""Calibration finds the choices a model was made with, and keeps them for the user."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from clover_engine.calibration import calibrate, ways
from clover_engine.family import load_registry
from clover_engine.models.clover_config import Switches
from clover_write.cli import main
from clover_write.config import families_path
from tests.support.tiny_clover import TRAINED, toy_text


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("CLOVER_WRITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """What the trained model knows how to write."""
    path = tmp_path / "toy.txt"
    path.write_text(toy_text(), encoding="utf-8")
    return path


def test_the_mask_and_the_shift_of_the_training_win(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clover_engine.calibration.ways", lambda: iter(()))
    own = families_path()
    own.parent.mkdir(parents=True)
    own.write_text("# mine\n[clover]\nremasking = { threshold = 0.9 }\n", encoding="utf-8")
    before = own.read_text("utf-8")
    asked = ["models", "calibrate", str(TRAINED), "--text", str(text)]
    asked += [word for token in (264, 265, 32) for word in ("--mask", str(token))]
    assert main([*asked, "--dry-run"]) == 0
    assert own.read_text("utf-8") == before
    assert main(asked) == 0
    assert own.read_text("utf-8").startswith(before)  # comments and other settings stay
    table = tomllib.loads(own.read_text("utf-8"))["clover"]
    assert (table["mask"], table["shift"]) == (265, False)
    family = load_registry(own).named("clover")
    assert (family.mask, family.remasking.threshold) == (265, 0.9)
    assert Switches.of(family.switches) == Switches()


@pytest.mark.slow
def test_wrong_readouts_and_shifts_are_unlikely(monkeypatch: pytest.MonkeyPatch) -> None:
    usual_way = Switches()
    some = [
        way
        for way in ways()
        if way.scalars == usual_way.scalars or way.readout == usual_way.readout
    ]
    monkeypatch.setattr("clover_engine.calibration.ways", lambda: iter(some))
    found = calibrate(TRAINED, toy_text(), model="tiny", precision="float32")
    assert len(found.scores) == 2 * len(some)
    best = found.scores[0]
    usual = next(score for score in found.scores if score.choice.switches == Switches())
    assert not best.choice.shift
    # so small a model tells some readouts apart by hundredths only
    assert usual.surprise - best.surprise < 0.2
    assert found.scores[-1].surprise - best.surprise > 1.0
    others = [score for score in found.scores if score.choice.shift]
    assert min(score.surprise for score in others) - best.surprise > 1.0


def test_a_text_that_is_too_short_tells_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.txt"
    short.write_text("1+1=2\n", encoding="utf-8")
    assert main(["models", "calibrate", str(TRAINED), "--text", str(short)]) == 1
    assert "128 tokens or more" in capsys.readouterr().err
    assert main(["models", "calibrate", str(TRAINED), "--text", str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err
