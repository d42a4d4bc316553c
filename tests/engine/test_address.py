"""Where engine and clients meet: addresses, private folders, notes and locks."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from clover_engine import address
from clover_engine.address import (
    MAX_SOCKET_PATH,
    Note,
    Place,
    TcpAddress,
    UnixAddress,
    default_place,
    parse_address,
    places,
    runtime_folder,
)
from clover_engine.errors import EngineUnavailable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(address.RUNTIME_DIR, str(tmp_path / "run"))
    return tmp_path / "run"


@pytest.fixture
def place(folder: Path) -> Place:
    return default_place("coder-0.5b", "int8")


@pytest.mark.parametrize(
    "written",
    [UnixAddress(Path("/run/a b/c:d.sock")), TcpAddress("127.0.0.1", 80), TcpAddress("::1", 8080)],
)
def test_addresses_are_read_as_they_are_written(written: UnixAddress | TcpAddress) -> None:
    assert parse_address(str(written)) == written


@pytest.mark.parametrize(
    "text", ["", "unix:", "tcp:host", "tcp::1", "tcp:h:99999", "tcp:h:²", "x:y"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(EngineUnavailable, match="tcp:HOST:PORT"):
        parse_address(text)


def test_the_folder_is_the_users_alone(folder: Path) -> None:
    assert runtime_folder() == folder
    assert mode(folder) == 0o700


def test_a_folder_open_to_others_is_refused(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o750)
    with pytest.raises(EngineUnavailable, match="chmod 700"):
        runtime_folder()


def test_a_folder_that_others_can_replace_is_refused(folder: Path) -> None:
    folder.parent.chmod(0o777)
    with pytest.raises(EngineUnavailable, match="replace"):
        runtime_folder()


def test_a_link_or_a_file_in_its_place_is_refused(folder: Path) -> None:
    target = folder.with_name("elsewhere")
    target.mkdir(0o700)
    folder.symlink_to(target)
    with pytest.raises(EngineUnavailable, match="remove it"):
        runtime_folder()
    folder.unlink()
    folder.touch()
    with pytest.raises(EngineUnavailable, match="cannot be used"):
        runtime_folder()


def test_without_a_session_folder_it_lies_in_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(address.RUNTIME_DIR, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert runtime_folder() == tmp_path / f"clover-write-{os.getuid()}"
    assert mode(runtime_folder()) == 0o700
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "clover-write"


def test_a_long_folder_gets_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    deep = tmp_path / ("文" * 40)
    short, long, other = Place(tmp_path, "a"), Place(deep, "a"), Place(deep, "b")
    monkeypatch.setattr(address, "MAX_SOCKET_PATH", len(os.fsencode(tmp_path)) + 10)
    assert short.address() == UnixAddress(tmp_path / "a.sock")
    paths = {place.address() for place in (short, long, other)}
    assert len(paths) == 3
    for path in paths:
        assert isinstance(path, UnixAddress)
        assert len(os.fsencode(path.path)) <= MAX_SOCKET_PATH


def test_each_model_has_a_place_of_its_own(place: Place, folder: Path) -> None:
    assert place.address() == UnixAddress(folder / "coder-0.5b-int8.sock")
    assert default_place("coder-0.5b", "bf16") != place
    assert default_place("../up").folder == folder
    assert "/" not in default_place("../up").name


def test_a_note_is_read_as_written_and_for_its_user_only(place: Place, folder: Path) -> None:
    assert place.read() is None
    note = Note(TcpAddress("127.0.0.1", 80), "secret", 12)
    place.write(note)
    place.write(note)
    assert place.read() == note
    assert places() == [place]
    assert [mode(path) for path in folder.glob("*.json*")] == [0o600]
    place.clear()
    assert place.read() is None


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", "{}", '{"address": "x", "token": "", "pid": 1}']
)
def test_a_damaged_note_counts_as_none(place: Place, folder: Path, damaged: str) -> None:
    (folder / f"{place.name}.json").write_text(damaged)
    assert place.read() is None


def test_a_place_takes_one_engine_and_one_starter(place: Place) -> None:
    assert place.wait_free(0)
    with place.occupied(), place.turn() as mine, place.turn() as also_mine:
        assert (mine, also_mine) == (True, False)
        assert not place.wait_free(0)
    with place.occupied():
        pass
