"""The tags in use in a folder of notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clover_templates import vault
from clover_templates.vault import MAX_NOTE_BYTES, Vault, vault_folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_tags_are_counted_by_note_in_the_spelling_most_have(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "---\ntags: [Python, 写作]\n---\n#python #one")
    write(tmp_path / "b/c.md", "#python")
    write(tmp_path / "b/d.MARKDOWN", "#python")
    assert Vault(tmp_path).tags() == {"python": 3, "写作": 1, "one": 1}


def test_hidden_ignored_large_foreign_and_unreadable_files_have_none(tmp_path: Path) -> None:
    for name in (".hidden.md", ".trash/a.md", "node_modules/a.md", "a.txt"):
        write(tmp_path / name, "#no")
    write(tmp_path / "large.md", "#no " + "x" * MAX_NOTE_BYTES)
    (tmp_path / "latin.md").write_bytes(b"#no caf\xe9")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    write(tmp_path / "a.md", "#yes")
    assert Vault(tmp_path).tags() == {"yes": 1}
    assert Vault(tmp_path / "missing").tags() == {}


def test_a_large_vault_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "MAX_NOTES", 2)
    for name in "abc":
        write(tmp_path / f"{name}.md", f"#{name}")
    assert Vault(tmp_path).tags() == {"a": 1, "b": 1}


def test_a_note_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def read_tags(source: bytes) -> tuple[str, ...]:
        read.append(source.decode())
        return ("x",)

    monkeypatch.setattr(vault, "read_tags", read_tags)
    note = tmp_path / "a.md"
    write(note, "one")
    write(tmp_path / "b.md", "two")
    found = Vault(tmp_path)
    assert found.tags() == found.tags() == {"x": 2}
    assert read == ["one", "two"]
    write(note, "new")
    os.utime(note, ns=(1, 1))
    (tmp_path / "b.md").unlink()
    assert found.tags() == {"x": 1}
    assert read == ["one", "two", "new"]


def test_the_vault_of_a_note_is_what_obsidian_or_git_has_marked(tmp_path: Path) -> None:
    note = tmp_path / "repository/vault/folder/note.md"
    write(note, "")
    assert vault_folder(note) == note.parent
    (tmp_path / "repository/.git").mkdir()
    assert vault_folder(note) == tmp_path / "repository"
    (tmp_path / "repository/vault/.obsidian").mkdir()
    assert vault_folder(note) == tmp_path / "repository/vault"
