"""`clover-write doctor`: healthy, or what is missing and what to do."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from clover_write.cli import main
from clover_write.commands import doctor


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOVER_WRITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CLOVER_WRITE_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("CLOVER_WRITE_ENGINE", "fake")


def test_healthy_with_the_fake_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "MISSING" not in printed
    assert "torch 2" in printed
    assert "fake" in printed
    assert "first answer after" in printed


def test_fast_leaves_the_self_test_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--fast"]) == 0
    assert "self-test" not in capsys.readouterr().out


def test_a_missing_model_is_said_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_ENGINE", "inproc")
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "clover-write models pull coder-0.5b" in printed
    # without a model there is nothing to test
    assert "self-test" not in printed
    assert not (tmp_path / "cache").exists()


def test_a_missing_package_is_said_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def version(name: str) -> str:
        if name == "pygls":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("importlib.metadata.version", version)
    assert main(["doctor", "--fast"]) == 1
    assert "pip install pygls" in capsys.readouterr().out


def test_an_engine_that_fails_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clover_engine.errors import EngineUnavailable

    def connect(config: object) -> object:
        raise EngineUnavailable("the engine did not start: out of memory")

    monkeypatch.setattr("clover_write.app.connect", connect)
    assert main(["doctor"]) == 1
    assert "MISSING self-test  the engine did not start: out of memory" in capsys.readouterr().out


def test_settings_that_cannot_be_used_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLOVER_WRITE_THREADS", "many")
    assert main(["doctor", "--fast"]) == 1
    assert "setting threads" in capsys.readouterr().err


def test_a_running_engine_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from clover_engine.address import Note, default_place

    place = default_place("fake")
    place.write(Note(place.address(), "", 4711))
    assert main(["doctor", "--fast"]) == 0
    assert "no engine runs" in capsys.readouterr().out
    with place.occupied():
        assert main(["doctor", "--fast"]) == 0
    assert "the engine fake runs as process 4711" in capsys.readouterr().out


def test_every_package_it_names_is_one_we_need() -> None:
    from importlib.metadata import version

    assert all(version(name) for name in doctor.PACKAGES)
