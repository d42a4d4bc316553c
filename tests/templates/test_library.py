"""Templates are found by name, title and alias; those shipped and their samples are sound."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.builtins import Facts
from clover_templates.conformance import check_document
from clover_templates.dates import matches_date, print_date
from clover_templates.library import MAX_BYTES, Entry, Library, Origin, TemplateError
from clover_templates.template import Slot
from clover_templates.template_settings import Headings, Numbering
from tests.support.outlines import outline

ENGLISH = {
    *("adr", "bug", "changelog", "daily", "faq", "incident", "incident-short", "lab-report"),
    *("lecture", "meeting-note", "minutes", "one-on-one", "pr", "prd", "readme", "rfc"),
    *("runbook", "weekly", "zettel"),
}
CHINESE = {
    *("会议纪要", "周报", "工作总结", "工作方案", "调研报告", "事故复盘", "需求文档", "读书笔记"),
    *("课堂笔记", "实验报告", "更新日志"),
}
# 《党政机关公文处理工作条例》第八条
OFFICIAL = {
    *("决议", "决定", "命令", "公报", "公告", "通告", "意见", "通知", "通报", "报告", "请示"),
    *("批复", "议案", "函", "纪要"),
}
SHIPPED = {entry.template.name: entry for entry in Library.of().entries()}


def sample_of(entry: Entry) -> str:
    return (entry.path.parent / "samples" / entry.path.name).read_text(encoding="utf-8")


def test_what_is_shipped() -> None:
    assert set(SHIPPED) == ENGLISH | CHINESE | OFFICIAL
    assert {SHIPPED[name].template.settings.lang for name in ENGLISH} == {"en"}
    assert {SHIPPED[name].template.settings.lang for name in CHINESE | OFFICIAL} == {"zh"}
    assert {SHIPPED[name].template.numbering for name in OFFICIAL} == {Numbering.GONGWEN}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_template_is_sound_and_says_what_it_is(name: str) -> None:
    template = SHIPPED[name].template
    assert SHIPPED[name].reading.findings == ()
    assert template.settings.title
    assert template.settings.description
    assert template.settings.aliases
    fixed = [s for s in template.walk() if s.heading and not s.sections]
    assert all(section.hint for section in fixed), [s.label for s in fixed if not s.hint]
    assert all(s.aliases for s in fixed if s.label != "API"), [s.label for s in fixed]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_sample_conforms_and_no_longer_does_without_its_last_section(name: str) -> None:
    template, text = SHIPPED[name].template, sample_of(SHIPPED[name])
    parts = outline(text, template.numbering)
    assert check_document(template, parts) == ()
    required = [s for s in template.walk() if s.heading and not s.optional and not s.sections]
    labels = {section.label for section in required}
    cut = [part for part in parts if part.heading not in labels]
    assert bool(check_document(template, cut)) == bool(labels)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_headings_of_a_template_share_an_alias(name: str) -> None:
    seen: dict[str, str] = {}
    for section in SHIPPED[name].template.walk():
        for word in (section.label, *section.aliases):
            assert seen.setdefault(word.casefold(), section.label) == section.label, word


def test_closings_and_order_of_official_documents_are_called_practice() -> None:
    for name in OFFICIAL:
        template = SHIPPED[name].template
        assert "实务" in template.settings.description
        assert not re.search("规定|必须", template.settings.description)
        dates = [slot for slot in template.slots.values() if slot.name == "成文日期"]
        assert all(str(slot.format) == "YYYY年M月D日" for slot in dates)
        assert not re.search(r"发文字号|签发人|印章", template.text)


def test_attachments_are_numbered_and_end_without_a_mark() -> None:
    template = SHIPPED["通知"].template
    text = sample_of(SHIPPED["通知"]).replace("值守记录表", "值守记录表。")
    (found,) = check_document(template, outline(text, template.numbering))
    assert found.code == "D04"
    assert template.settings.headings is Headings.KEEP_SOURCE


@pytest.mark.parametrize(
    ("asked", "name"),
    [("adr", "adr"), ("README", "readme"), ("Postmortem", "incident"), ("复盘", "事故复盘"),
     ("命令（令）", "命令"), ("1:1", "one-on-one"), (" bug report ", "bug")],
)  # fmt: skip
def test_a_template_is_found_by_name_title_and_alias(asked: str, name: str) -> None:
    assert Library.of().find(asked).template.name == name


def test_names_and_aliases_lead_to_one_template() -> None:
    seen: dict[str, str] = {}
    for name, entry in SHIPPED.items():
        for word in {known.casefold() for known in entry.names}:
            assert seen.setdefault(word, name) == name, word


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("incidnet", 'there is no template "incidnet"; did you mean "incident"?'),
        ("会议记要", 'there is no template "会议记要"; did you mean "会议'),
        ("xyzzy", "`clover-write templates list` has all"),
    ],
)
def test_an_unknown_name_is_told_with_what_is_near(asked: str, message: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(message)):
        Library.of().find(asked)


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_the_workspace_stands_before_the_user_and_the_user_before_what_is_shipped(
    tmp_path: Path,
) -> None:
    user, workspace = tmp_path / "user", tmp_path / "workspace"
    library = Library.of(user, [workspace])
    assert library.find("adr").origin is Origin.SHIPPED
    put(user, "adr.md", "# {{title}}\n## Ours\n")
    assert library.find("adr").origin is Origin.USER
    put(workspace / ".clover" / "templates", "adr.txt", "\ufeff# {{title}}\n## Here\n")
    found = library.find("adr")
    assert found.origin is Origin.WORKSPACE
    assert found.template.text.startswith("# ")
    names = [entry.template.name for entry in library.entries()]
    assert names == sorted(set(names))


def test_a_template_with_errors_is_listed_and_not_used(tmp_path: Path) -> None:
    put(tmp_path, "mine.md", "# {{title\n")
    library = Library.of(tmp_path)
    assert any(entry.template.name == "mine" for entry in library.entries())
    with pytest.raises(TemplateError, match=r"mine\.md:1:3 \[T04\]"):
        library.find("mine")


@pytest.mark.parametrize("data", [b"caf\xe9", b"#" * (MAX_BYTES + 1)])
def test_a_file_that_is_no_template_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "mine.md").write_bytes(data)
    with pytest.raises(TemplateError, match=r"mine\.md"):
        Library.of(tmp_path).find("mine")


def test_a_link_that_leads_out_of_the_workspace_is_no_template(tmp_path: Path) -> None:
    put(tmp_path, "secret.md", "# token\n")
    folder = tmp_path / "workspace" / ".clover" / "templates"
    folder.mkdir(parents=True)
    (folder / "mine.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(TemplateError, match="there is no template"):
        Library.of(None, [tmp_path / "workspace"]).find("mine")
    assert Library.of(folder).find("mine").template.text == "# token\n"


NOW = datetime(2026, 8, 1, 9, 5)


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (Slot(0, 0, "date"), "2026-08-01"),
        (Slot(0, 0, "date", "YYYY年M月D日"), "2026年8月1日"),
        (Slot(0, 0, "date", "YY.MM [MM] GGGG-[W]WW"), "26.08 MM 2026-W31"),
        (Slot(0, 0, "time"), "09:05"),
        (Slot(0, 0, "time", "H:mm"), "9:05"),
        (Slot(0, 0, "title"), "Note"),
        (Slot(0, 0, "n"), "3"),
        (Slot(0, 0, "impact"), None),
    ],
)
def test_built_in_slots_are_filled_by_the_program(slot: Slot, text: str | None) -> None:
    assert Facts(NOW, "Note").fill(slot, 3) == text


@given(
    st.datetimes(),
    st.sampled_from(["YYYY-MM-DD", "YYYY年M月D日", "D.M.YYYY HH:mm", "YYYY/MM/DD [on] H:m"]),
)
def test_what_is_printed_in_a_format_is_written_in_it(when: datetime, form: str) -> None:
    assert matches_date(print_date(when, form), form)


@pytest.mark.parametrize(
    ("value", "form"),
    [("2026-02-30", "YYYY-MM-DD"), ("2026年08月01日", "YYYY年M月D日"), ("26-8-1", "YYYY-M-D"),
     ("2026-8-1 ", "YYYY-M-D"), ("2026-13-01", "YYYY-MM-DD"), ("9:60", "H:mm")],
)  # fmt: skip
def test_what_is_no_day_or_another_format_does_not_match(value: str, form: str) -> None:
    assert not matches_date(value, form)
