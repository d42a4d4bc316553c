"""Runs untrusted test programs: few resources, no rights, no network, a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clover_engine.errors import CloverError

GUARD = Path(__file__).with_name("guard.py")
PROBE = "import bisect, collections, heapq, hashlib, math, random, re, string, typing\n"


class SandboxError(CloverError):
    """This machine cannot run test programs safely."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use: seconds of processor, seconds by the clock, bytes of memory."""

    cpu_s: int = 5
    wall_s: int = 10
    memory: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program ran clean; if not, the exception's name, "timeout" or "killed"."""

    passed: bool
    reason: str


class Sandbox:
    """Runs programs one at a time; `isolation` says in one line what holds them in.

    Raises SandboxError where not even a harmless program runs, before any other is tried.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        if os.name != "posix":
            raise SandboxError("pass@1 runs generated code and needs Linux or macOS to hold it in")
        self._limits = limits or Limits()
        lines, reason = self._guarded(PROBE)
        if len(lines) != 2 or lines[1]["failure"] is not None:
            raise SandboxError(
                f"test programs do not run here ({reason or lines[-1]['failure']}): "
                "use a Python that every user may read, or run the benchmark as an ordinary user"
            )
        self.isolation = _describe(lines[0])

    def run(self, program: str) -> Verdict:
        """Run a program to its end or its limits."""
        lines, reason = self._guarded(program)
        if len(lines) == 2:
            failure = lines[1]["failure"]
            return Verdict(failure is None, str(failure or "passed"))
        return Verdict(False, reason or "killed")

    def _guarded(self, program: str) -> tuple[list[dict[str, object]], str]:
        """What the guard wrote, and why it did not end by itself ("" when it did)."""
        read_end, write_end = os.pipe()
        with os.fdopen(read_end, "rb") as verdict, tempfile.TemporaryDirectory() as folder:
            try:
                process = self._start(write_end, folder)
            finally:
                os.close(write_end)
            reason = self._finish(process, program)
            return [json.loads(line) for line in verdict.read(1 << 16).splitlines()], reason

    def _start(self, write_end: int, folder: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(write_end)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={},
            pass_fds=(write_end,),
            start_new_session=True,
        )

    def _finish(self, process: subprocess.Popen[bytes], program: str) -> str:
        limits = self._limits
        order = {
            "program": program,
            "cpu_s": limits.cpu_s,
            "wall_s": limits.wall_s,
            "memory": limits.memory,
        }
        try:
            process.communicate(json.dumps(order).encode("ascii"), timeout=limits.wall_s)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            _kill(process)
        timed_out = process.returncode in (-signal.SIGXCPU, -signal.SIGALRM)
        return "timeout" if timed_out else "" if process.returncode == 0 else "killed"


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe(held: dict[str, object]) -> str:
    user = "as nobody" if held["uid"] != os.getuid() else "as this user, writing forbidden"
    network = "network NOT cut off" if held["network"] else "no network"
    unlimited = held["unlimited"]
    rest = f", not limited: {unlimited}" if unlimited else ", resources limited"
    return f"{user}, {network}{rest}"
