"""The plugin's Lua is formatted, free of what luacheck finds, and small; needs no Neovim."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.neovim import PLUGIN

NODE = Path(__file__).parents[1] / "node"
FILES = sorted(map(str, PLUGIN.rglob("*.lua")))


def test_luacheck() -> None:
    if not (luacheck := shutil.which("luacheck")):
        pytest.skip("luacheck is not installed: .ci/run installs it")
    command = [luacheck, "--quiet", "--no-color", "--config", str(PLUGIN / ".luacheckrc"), *FILES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_stylua() -> None:
    node = shutil.which("node")
    if not node or not (NODE / "node_modules" / "@johnnymorganz").is_dir():
        pytest.skip("StyLua is not installed: run make clients")
    command = [node, str(NODE / "stylua.cjs"), *FILES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    others = json.loads(done.stdout)
    assert others == [], "node tests/editors/node/stylua.cjs --write FILE... formats them"
