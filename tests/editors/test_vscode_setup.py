"""The extension's first run in VS Code: no server, then one is installed, then a model."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.code_server import code_server
from tests.editors.workbench import Workbench, workbench

pytestmark = pytest.mark.slow

# a package that is the program under test, but for its models: what is fetched takes a while
PROGRAM = """
import json, os, sys, time
from pathlib import Path

HERE = Path(__file__).with_name("fetched")
MODEL = {"name": "coder-0.5b", "title": "A model", "license": "Apache-2.0", "size": 491400064}

def main():
    words = sys.argv[1:]
    if words[:2] == ["models", "list"]:
        print(json.dumps([{**MODEL, "ready": HERE.exists(), "chosen": True}]))
    elif words[:2] == ["models", "pull"]:
        for done in range(0, 100):
            print(json.dumps({"stage": "downloading", "done": done, "total": 100}), flush=True)
            time.sleep(0.1)
        HERE.touch()
    else:
        os.execv(PYTHON, [PYTHON, "-m", "clover_write", *words])
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, artefacts: Path) -> Iterator[Workbench]:
    home = tmp_path_factory.mktemp("first-run")
    own = {"cloverWrite.serverPath": "", "cloverWrite.installFrom": str(wheel(home))}
    python = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "CLOVER_WRITE_ENGINE": "fake"}
    with code_server(home, python, own) as server, workbench(server, artefacts) as bench:
        yield bench


def wheel(folder: Path) -> Path:
    """A wheel of PROGRAM, as a registry would serve it."""
    name = "clover_write_stand_in"
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": f"PYTHON = {sys.executable!r}\n{PROGRAM}",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: clover-write-stand-in\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\nclover-write = {name}:main\n",
    }
    record = "".join(f"{path},{_digest(text)},{len(text)}\n" for path, text in files.items())
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(file, text)
    return path


def _digest(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def test_from_no_server_to_ghost_text(bench: Workbench) -> None:
    bench.status("not installed")
    bench.answer("Clover Write needs its server", "Set Up")
    bench.shoot("set up")
    bench.pick("Install with venv")
    bench.answer("is not on this machine yet", "Download")
    bench.status(r"Downloading the model coder-0.5b: \d\d %")
    bench.shoot("downloading")
    bench.status("Ready")
    bench.open("first.py", "total = price * count\n\n")
    bench.type("tot")
    bench.run("Complete Now")
    assert bench.ghost() == "al = price * count"
