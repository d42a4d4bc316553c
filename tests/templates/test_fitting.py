"""Which templates are offered for a document, and in which order."""

from __future__ import annotations

from pathlib import Path

from clover_templates.document import Document
from clover_templates.fitting import fitting
from clover_templates.library import Library


def names(text: str, folder: Path | None = None, **more: list[str]) -> list[str]:
    entries = Library.of(folder).entries()
    found = fitting(Document.of(text.encode()), entries, recent=more.get("recent", []))
    return [entry.template.name for entry in found]


def test_headings_count_before_language_and_what_was_used_lately() -> None:
    text = "# Outage\n\n## Root causes\n\nx\n\n## Trigger\n\nx\n\n## Detection\n\nx\n"
    assert names(text)[0] == "incident"
    assert names(text, recent=["faq"])[0] == "incident"
    assert len(names(text)) == 8


def test_what_the_document_names_comes_first_by_any_of_its_names() -> None:
    text = "# Outage\n\n## Root causes\n\nx\n\n## Trigger\n\nx\n"
    assert names(f"---\ntemplate: faq\n---\n{text}")[0] == "faq"
    assert names("---\ntemplate: Postmortem\n---\nSome words.\n")[0] == "incident"


def test_of_equals_those_used_lately_come_first_then_those_of_the_language() -> None:
    assert names("Some words.\n", recent=["faq", "周报"])[:2] == ["faq", "周报"]
    chinese = {
        entry.template.name
        for entry in Library.of().entries()
        if entry.template.settings.lang == "zh"
    }
    assert set(names("一些文字。\n")) <= chinese
    assert not set(names("Some words.\n")) & chinese


def test_the_users_own_come_before_shipped_ones_and_broken_ones_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("# {{title}}\n## Points\n", encoding="utf-8")
    (tmp_path / "broken.md").write_text("# {{title\n", encoding="utf-8")
    found = names("Some words.\n", tmp_path)
    assert found[0] == "mine"
    assert "broken" not in found
