"""Runs one program with rights and resources taken away; a script that sandbox.py starts.

Reads {"program", "cpu_s", "wall_s", "memory"} from stdin; writes two JSON lines to the descriptor
named by its argument: what holds the program in, then the verdict. No second line: it was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
NOBODY = 65534

# the kernel keeps files of root from `nobody`; this keeps a user's files from the user's program
FORBIDDEN = (
    "ctypes.",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "shutil.",
    "socket.",
    "subprocess.",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    order = json.load(sys.stdin)
    verdict = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    signal.alarm(order["wall_s"] + 1)  # should the parent die first
    network = cut_network_and_rights()
    unlimited = limit(order)
    held = {"uid": os.getuid(), "network": network, "unlimited": unlimited}
    print(json.dumps(held), file=verdict)
    sys.dont_write_bytecode = True
    sys.addaudithook(forbid)
    print(json.dumps({"failure": failure_of(order["program"])}), file=verdict)


def cut_network_and_rights() -> bool:
    """Become `nobody` when root; returns whether the network is still there."""
    if sys.platform != "linux":
        become_nobody()
        return True
    libc = ctypes.CDLL(None)
    network = libc.unshare(CLONE_NEWNET) != 0
    keep_library_open()
    become_nobody()
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self stays root's
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return network and bool(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)


def keep_library_open() -> None:
    """Reach Python's library through open folders: root's may lie where `nobody` cannot go."""
    loaded = [module.__path__ for module in sys.modules.values() if hasattr(module, "__path__")]
    for paths in [sys.path, *loaded]:
        folders = [os.open(path, os.O_PATH) for path in paths if os.path.isdir(path)]
        paths[:] = [f"/proc/self/fd/{folder}" for folder in folders]


def become_nobody() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def limit(order: dict[str, Any]) -> list[str]:
    """Set the limits; returns the names of those this system does not set."""
    wanted = {
        "AS": (order["memory"], order["memory"]),
        "CPU": (order["cpu_s"], order["cpu_s"] + 1),  # SIGXCPU, then SIGKILL
        "FSIZE": (0, 0),
        "CORE": (0, 0),
        "NOFILE": (64, 64),
        "NPROC": (0, 0),
    }
    refused = []
    for name, limits in wanted.items():
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), limits)
        except (OSError, ValueError):
            refused.append(name)
    return refused


def forbid(event: str, args: tuple[Any, ...]) -> None:
    if event.startswith(FORBIDDEN) or (event == "open" and int(args[2] or 0) & WRITING):
        raise PermissionError(f"{event} is not allowed here")


def failure_of(program: str) -> str | None:
    """Run the program; the class name of what it raised, None when it ran clean."""
    try:
        with open(os.devnull) as nothing, contextlib.redirect_stdout(None):
            sys.stdin = nothing
            exec(compile(program, "<candidate>", "exec"), {"__name__": "candidate"})
    except BaseException as error:  # noqa: BLE001 - however a program ends early, it failed
        return type(error).__name__
    return None


main()
