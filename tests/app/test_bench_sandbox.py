"""Programs that misbehave end by themselves, touch nothing, and never pass."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from clover_write.bench.sandbox import Limits, Sandbox, SandboxError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part is Linux's")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return Sandbox(Limits(cpu_s=1, wall_s=2, memory=256 << 20))


def test_a_clean_program_passes(sandbox: Sandbox) -> None:
    program = "import decimal, encodings.idna, statistics\nassert statistics.mean([1, 3]) == 2\n"
    assert sandbox.run(program).passed


def test_a_program_in_any_script_passes(sandbox: Sandbox) -> None:
    assert sandbox.run("名 = '灯🎉'\nassert len(名) == 2\n").passed


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("assert False", "AssertionError"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import os\nos._exit(0)", "killed"),
        ("while True: pass", "timeout"),
        ("import time\ntime.sleep(60)", "timeout"),
        ("hog = bytearray(1 << 30)", "MemoryError"),
        ("while True: print('x' * 1000)", "timeout"),
        ("import sys\nsys.stdin.read(1)[0]", "IndexError"),
        ("'\ud800'.encode()", "UnicodeEncodeError"),
    ],
)
def test_a_bad_program_fails(sandbox: Sandbox, program: str, reason: str) -> None:
    verdict = sandbox.run(program)
    assert (verdict.passed, verdict.reason) == (False, reason)


def test_a_fork_bomb_does_not_go_off(sandbox: Sandbox) -> None:
    assert sandbox.run("import os\nwhile True: os.fork()").reason == "PermissionError"
    # the hook forbids forks; the kernel's own limit shows in threads, which the hook lets through
    thread = "import threading\nthreading.Thread(target=print).start()"
    assert sandbox.run(thread).reason == "RuntimeError"


@pytest.mark.parametrize(
    "action",
    [
        "open({path!r}, 'w')",
        "__import__('os').open({path!r}, __import__('os').O_CREAT)",
        "__import__('os').remove({path!r})",
        "__import__('os').rename({path!r}, {path!r} + '.gone')",
        "__import__('shutil').rmtree(__import__('os').path.dirname({path!r}))",
        "__import__('subprocess').run(['touch', {path!r}])",
        "__import__('ctypes').CDLL(None).unlink({path!r}.encode())",
    ],
)
def test_files_outside_stay_as_they_are(sandbox: Sandbox, tmp_path: Path, action: str) -> None:
    # others may come in and change what is there; the folders above are shared with other tests
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents[:2]:
        folder.chmod(0o711)
    kept = tmp_path / "kept.txt"
    kept.write_text("kept")
    kept.chmod(0o666)
    assert not sandbox.run(action.format(path=str(kept))).passed
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


def test_there_is_no_network(sandbox: Sandbox) -> None:
    connect = "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)"
    assert sandbox.run(connect).reason == "PermissionError"
    if "no network" in sandbox.isolation:
        names = "import socket\nassert [name for _, name in socket.if_nameindex()] == ['lo']"
        assert sandbox.run(names).passed


def test_the_program_runs_without_the_rights_of_root(sandbox: Sandbox) -> None:
    assert sandbox.run("import os\nassert os.getuid() != 0 and os.geteuid() != 0").passed
    if os.getuid() == 0:
        assert "as nobody" in sandbox.isolation


def test_what_holds_programs_in_is_said(sandbox: Sandbox) -> None:
    assert "network" in sandbox.isolation
    assert "resources limited" in sandbox.isolation


def test_no_environment_reaches_the_program(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "shh")
    assert sandbox.run("import os\nassert 'SECRET' not in os.environ").passed


def test_limits_too_small_for_python_are_refused() -> None:
    with pytest.raises(SandboxError, match="do not run here"):
        Sandbox(Limits(memory=1 << 20))
