"""VS Code itself, served to a browser by code-server, with the extension installed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
VERSIONS = {"newest": "4.139.1", "oldest": "4.100.3"}
PATIENCE_S = 60
# quiet: nothing looks for updates, nothing opens by itself, no popup stands before ghost text
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "telemetry.telemetryLevel": "off",
    "security.workspace.trust.enabled": False,
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "update.mode": "none",
    "git.enabled": False,
    "chat.disableAIFeatures": True,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.parameterHints.enabled": False,
    "editor.minimap.enabled": False,
    "editor.stickyScroll.enabled": False,
    "files.autoSave": "off",
    "cloverWrite.serverPath": str(Path(sys.executable).with_name("clover-write")),
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A code-server in the cache of tests/editors/install-vscode."""

    version: str
    folder: Path

    @classmethod
    def found(cls) -> Installed:
        """The newest one, or the one that CLOVER_VSCODE names; skips the test where none is."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        wanted = os.environ.get("CLOVER_VSCODE")
        for name in [wanted] if wanted else VERSIONS:
            folder = cache / "clover-write-editors" / f"code-server-{VERSIONS[name]}"
            if (folder / ".installed").is_file():
                return cls(VERSIONS[name], folder)
        pytest.skip("code-server is not installed: run make editors")

    def command(self, *arguments: str | Path) -> list[str]:
        """The command line of code-server."""
        entry = self.folder / "node_modules" / "code-server" / "out" / "node" / "entry.js"
        return [str(self.folder / "node" / "bin" / "node"), str(entry), *map(str, arguments)]


def packaged() -> Path:
    """The extension as users install it, made now; skips the test where it cannot be."""
    if not shutil.which("npm") or not (EXTENSION / "node_modules").is_dir():
        pytest.skip("the extension's packages are not installed: run make vscode")
    command = ["npm", "run", "--silent", "package"]
    done = subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return EXTENSION / "dist" / "clover-write.vsix"


@dataclass(frozen=True, slots=True)
class CodeServer:
    """One that runs: its address, the opened folder, and what its processes find as their home."""

    url: str
    workspace: Path
    home: Path

    def set(self, **settings: object) -> None:
        """Change settings; what is there stays. Those of machine scope are read from a file of
        their own where VS Code runs elsewhere than its window, so both files have all."""
        for scope in ("User", "Machine"):
            file = self.home / "data" / scope / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            before = json.loads(file.read_text()) if file.exists() else {}
            file.write_text(json.dumps({**before, **settings}))


@contextmanager
def code_server(
    home: Path, environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> Iterator[CodeServer]:
    """VS Code with the extension, for as long as this is open; all its processes end with it."""
    editor, vsix = Installed.found(), packaged()
    server = CodeServer(f"http://127.0.0.1:{_free_port()}", home / "workspace", home)
    server.set(**{**SETTINGS, **(settings or {})})
    server.workspace.mkdir()
    folders = ("--user-data-dir", home / "data", "--extensions-dir", home / "extensions")
    env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), **environment}
    for name in ("DATA", "CONFIG", "STATE"):
        env[f"XDG_{name}_HOME"] = str(home / name.lower())
    env.pop("PORT", None)
    install = editor.command(*folders, "--install-extension", vsix)
    subprocess.run(install, env=env, check=True, capture_output=True, timeout=PATIENCE_S)
    address = server.url.removeprefix("http://")
    quiet = ("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override")
    command = editor.command(*folders, "--bind-addr", address, "--auth", "none", *quiet)
    with (home / "code-server.log").open("wb") as log:
        # a group of its own: the extension host and our server end with it
        process = subprocess.Popen(
            [*command, str(server.workspace)], env=env, stdout=log, stderr=log, process_group=0
        )
        try:
            _wait_until_it_answers(server.url, process)
            yield server
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(PATIENCE_S)


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=1).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"code-server does not answer at {url}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
