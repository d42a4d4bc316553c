"""What `.editorconfig` files ask of a document."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from clover_lsp.editor_config import Layout, layout_of

ROOT = "root = true\n"


@pytest.mark.parametrize(
    ("asked", "layout"),
    [
        ("indent_style = space\nindent_size = 2", Layout("  ", 2)),
        ("indent_style = tab", Layout("\t")),
        ("indent_style = tab\nindent_size = 8", Layout("\t", 8)),
        ("indent_style = space\nindent_size = tab\ntab_width = 3", Layout("   ", 3)),
        ("indent_size = 4", Layout(None, 4)),
        ("INDENT_STYLE = Space\nindent_size = 4", Layout("    ", 4)),
        ("end_of_line = crlf", Layout(eol="\r\n")),
        ("end_of_line = LF", Layout(eol="\n")),
        ("max_line_length = 100", Layout(max_line_length=100)),
        ("max_line_length = off\nindent_style = unset", None),
        ("indent_style = space\nindent_size = 9999999999", None),
        ("indent_size = ²\nend_of_line = lfcr", None),
        ("charset = utf-8", None),
    ],
)
def test_properties(tmp_path: Path, asked: str, layout: Layout | None) -> None:
    (tmp_path / ".editorconfig").write_text(f"{ROOT}[*]\n{asked}\n", "utf-8")
    assert layout_of((tmp_path / "a.py").as_uri()) == layout


def test_sections_are_for_files(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text(
        f"{ROOT}[*.{{js,ts}}]\nindent_style = tab\n[docs/**.md]\nmax_line_length = 80\n"
    )
    assert layout_of((tmp_path / "src" / "a.ts").as_uri()) == Layout("\t")
    assert layout_of((tmp_path / "docs" / "b c" / "d.md").as_uri()) == Layout(max_line_length=80)
    assert layout_of((tmp_path / "a.py").as_uri()) is None


def test_a_nearer_file_comes_first_and_a_root_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".editorconfig").write_text(f"{ROOT}[*]\nindent_style = tab\ntab_width = 8\n")
    (tmp_path / "a" / ".editorconfig").write_text("[*]\ntab_width = 4\n")
    uri = (tmp_path / "a" / "b" / "c.go").as_uri()
    assert layout_of(uri) == Layout("\t", 4)
    (tmp_path / "a" / ".editorconfig").write_text(f"{ROOT}[*]\ntab_width = 2\n")
    assert layout_of(uri) == Layout(None, 2)


def test_an_edit_holds_at_once(tmp_path: Path) -> None:
    file, uri = tmp_path / ".editorconfig", (tmp_path / "a.py").as_uri()
    file.write_text(f"{ROOT}[*]\nindent_style = tab\n")
    assert layout_of(uri) == Layout("\t")
    file.write_text(f"{ROOT}[*]\nindent_style = space\nindent_size = 2\n")
    assert layout_of(uri) == Layout("  ", 2)
    file.unlink()
    assert layout_of(uri) is None


@pytest.mark.parametrize(
    "broken", [b"[*\nwhat is this\n", b"[*]\nindent_style\n", b"\xff\xfe[*]\n"]
)
def test_a_broken_file_is_logged_and_asks_nothing(
    tmp_path: Path, broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".editorconfig").write_bytes(broken)
    with caplog.at_level(logging.WARNING):
        assert layout_of((tmp_path / "a.py").as_uri()) is None
    assert "cannot be read" in caplog.text
    assert "what is this" not in caplog.text


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file:///a%00b", "", "git:/a.py?x"])
def test_what_is_no_file_is_asked_nothing(uri: str) -> None:
    assert layout_of(uri) is None
