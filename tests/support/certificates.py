"""A certificate for tests, made by the openssl program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """A certificate for `name` and 127.0.0.1, and its key. Skips where openssl is not installed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: no certificate can be made")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    kind = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    names = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1")
    subprocess.run(
        [openssl, *kind, "-keyout", key, "-out", certificate, "-days", "2", *names],
        check=True,
        capture_output=True,
    )
    return certificate, key
