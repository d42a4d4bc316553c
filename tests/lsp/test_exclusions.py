"""Which documents get no completions, and which are read for none."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_lsp.documents import Document
from clover_lsp.exclusions import refusal, stays_out_of_prompts
from clover_lsp.infill import Trigger
from clover_lsp.positions import IndexedText
from clover_lsp.secret_files import is_secret
from clover_lsp.settings import Settings


@pytest.mark.parametrize(
    "uri",
    [
        "file:///home/a/.env",
        "file:///home/a/.env.local",
        "file:///home/a/prod.env",
        "file:///home/a/%2Eenv",
        "file:///home/a/%2eenv%2elocal",
        "file:///home/a/.ENV",
        "file:///home/a/#drafts/.env",
        "file:///home/a/what?/.env",
        "file:///C%3A/keys/Server.PEM",
        "file:///c:/keys/tls.key",
        "file:///c:/keys/tls.key.",
        "C:\\Users\\a\\.env",
        "file:///c:%5CUsers%5Ca%5C.aws%5Cconfig",
        "file:///home/a/.ssh/config",
        "file:///home/a/.aws/anything",
        "file://server/share/id_ed25519",
        "git:/home/a/.env?%7B%22ref%22%3A%22HEAD%22%7D",
        "untitled:secrets.yaml",
        "untitled:.env",
        "vscode-notebook-cell:/home/a/id_rsa#W0",
        "vscode-remote://ssh-remote%2Bhost/home/a/.env",
        "vscode-remote://ssh-remote%2Bhost/home/#drafts/.env",
        "file:///home/\ud83d/.netrc",
        ".env",
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
        "file:///home/a/.environment/notes.md",
        "file:///home/a/%252Eenv",
        "untitled:Untitled-1",
        "vscode-notebook-cell:/home/a/b.ipynb#W0",
        "",
        "file:///a%00b",
        "file://",
        "http://[",
    ],
)
def test_ordinary_files(uri: str) -> None:
    assert not is_secret(uri)


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        ("*.PRIVATE", "file:///a/diary.private"),
        ("*.private", "file:///a/.env"),
        ("journal", "file:///a/Journal/2026/monday.md"),
        ("journal/", "file:///a/journal/2026/monday.md"),
        ("/home/a/journal/", "file:///home/a/journal/monday.md"),
        ("private/*.md", "file:///a/private/plan.md"),
        ("日记*", "file:///a/%E6%97%A5%E8%AE%B0.md"),
    ],
)
def test_the_user_s_patterns_are_added(pattern: str, uri: str) -> None:
    assert is_secret(uri, (pattern,))


@pytest.mark.parametrize("pattern", ["journal/", "private/*.md", "plan", "*/.md"])
def test_a_pattern_names_no_more_than_it_says(pattern: str) -> None:
    assert not is_secret("file:///a/private/plan.txt", (pattern,))
    assert not is_secret("file:///a/my-journal/plan.md", (pattern,))


def test_a_link_to_a_secret_is_one(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    link = tmp_path / "notes.md"
    link.symlink_to(tmp_path / ".env")
    assert is_secret(link.as_uri())


def test_a_link_over_a_secret_s_name_or_into_its_folder_is_one(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("KEY=1\n")
    (tmp_path / ".env").symlink_to("vault")
    (tmp_path / "notes.md").symlink_to(".env")
    assert is_secret((tmp_path / "notes.md").as_uri())
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "folder").symlink_to(".ssh")
    assert is_secret((tmp_path / "folder" / "hosts").as_uri())


def test_links_in_a_circle_are_no_secret(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert not is_secret((tmp_path / "a").as_uri())


def document(path: Path | str, text: str = "text\n", language: str = "markdown") -> Document:
    uri = path if isinstance(path, str) else path.as_uri()
    return Document(uri, language, 1, IndexedText.of(text))


def test_git_ignored_files_get_completions_but_are_read_for_none(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("scratch/\n")
    scratch = document(tmp_path / "scratch" / "a.md")
    assert refusal(scratch, Settings(), Trigger.AUTOMATIC) is None
    assert stays_out_of_prompts(scratch, Settings())
    assert not stays_out_of_prompts(document(tmp_path / "a.md"), Settings())


def test_what_cloverignore_names_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".cloverignore").write_text("diary/\n")
    (tmp_path / "diary").mkdir()
    (tmp_path / "today.md").symlink_to(tmp_path / "diary" / "monday.md")
    for path in (tmp_path / "diary" / "monday.md", tmp_path / "today.md"):
        reason = refusal(document(path), Settings())
        assert reason == "no completions in a file that is named in a .cloverignore file"
        assert stays_out_of_prompts(document(path), Settings())


def test_generated_files_get_completions_when_asked(tmp_path: Path) -> None:
    lock = document(tmp_path / "poetry.lock", language="toml")
    assert refusal(lock, Settings(), Trigger.INVOKED) is None
    assert refusal(lock, Settings(), Trigger.AUTOMATIC)
    assert stays_out_of_prompts(lock, Settings())


@pytest.mark.parametrize("language", ["dotenv", "pem"])
def test_a_text_with_the_language_of_secrets_is_one(language: str) -> None:
    assert refusal(document("untitled:Untitled-1", language=language), Settings())


@pytest.mark.parametrize(
    "text",
    ["a\0b", "x" * (10 * 1024 * 1024 + 1), "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"],
    ids=["binary", "huge", "a private key"],
)
def test_texts_that_are_read_for_nothing_else(tmp_path: Path, text: str) -> None:
    assert stays_out_of_prompts(document(tmp_path / "a.md", text), Settings())


def test_what_has_no_path_is_read_for_nothing_else() -> None:
    for uri in ("untitled:Untitled-1", "git:/a.md?x", "vscode-notebook-cell:/a.ipynb#W0"):
        assert stays_out_of_prompts(document(uri), Settings())
        assert refusal(document(uri), Settings()) is None
