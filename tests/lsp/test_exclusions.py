"""Which documents never reach the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_lsp.exclusions import is_secret


@pytest.mark.parametrize(
    "uri",
    [
        "file:///home/a/.env",
        "file:///home/a/.env.local",
        "file:///home/a/prod.env",
        "file:///home/a/%2Eenv",
        "file:///C%3A/keys/Server.PEM",
        "file:///c:/keys/tls.key",
        "file:///home/a/.ssh/config",
        "file:///home/a/.aws/anything",
        "file://server/share/id_ed25519",
        "git:/home/a/.env?%7B%22ref%22%3A%22HEAD%22%7D",
        "untitled:secrets.yaml",
        "vscode-notebook-cell:/home/a/id_rsa#W0",
        "file:///home/\ud83d/.netrc",
    ],
)
def test_secrets(uri: str) -> None:
    assert is_secret(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///home/a/notes.md",
        "file:///home/a/environment.py",
        "file:///home/a/secrets.py",
        "file:///home/a/monkey.py",
        "untitled:Untitled-1",
        "vscode-notebook-cell:/home/a/b.ipynb#W0",
        "",
        "file:///a%00b",
        "http://[",
    ],
)
def test_ordinary_files(uri: str) -> None:
    assert not is_secret(uri)


def test_the_user_s_patterns_are_added() -> None:
    assert is_secret("file:///a/diary.private", ("*.PRIVATE",))
    assert is_secret("file:///a/.env", ("*.private",))


def test_a_link_to_a_secret_is_one(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    link = tmp_path / "notes.md"
    link.symlink_to(tmp_path / ".env")
    assert is_secret(link.as_uri())
