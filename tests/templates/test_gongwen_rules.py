"""Values of 公文: what the rules say is found with its place, what follows them is not."""

from __future__ import annotations

from importlib.resources import files

import pytest

from clover_templates.conformance import check_document
from clover_templates.document import Document
from clover_templates.document_parts import parts_of
from clover_templates.library import Library
from clover_templates.template_findings import Code, Finding, Severity
from clover_templates.template_settings import Numbering

LIBRARY = Library.of()
OFFICIAL = sorted(
    entry.template.name
    for entry in LIBRARY.entries()
    if entry.template.numbering is Numbering.GONGWEN
)
TITLE = "某局关于修缮屋顶的"


def found(kind: str, *lines: str, ending: str = "\n") -> list[str]:
    data = "".join(line + ending for line in (f"{TITLE}{kind}", *lines)).encode()
    return [data[f.start : f.end].decode() for f in findings(kind, data)]


def findings(kind: str, data: bytes) -> list[Finding]:
    template = LIBRARY.find(kind).template
    parts = parts_of(Document.of(data), template)
    return [f for f in check_document(template, parts) if f.code is Code.D11]


WRONG = [
    ("通知", "某发[2026]第05号"),
    ("通知", "某发〔2026〕第5号"),
    ("通知", "某发〔2026〕05号"),
    ("通知", "某发（2026）5号"),
    ("通知", "2026年08月1日"),
    ("请示", "2026年8月01日"),
    ("请示", "二〇二六年八月一日"),
    ("请示", "2026-08-01"),
    ("通知", "附件：1.名单。"),
    ("通知", "附件：一、名单"),
    ("通知", "各区卫生局:"),
    ("通知", "抄送：市财政局，市医保局"),
    ("报告", "妥否"),
    ("函", "遵照执行"),
    ("通告", "各区卫生局："),
    ("通知", "《国家行政机关公文处理办法》"),
]
RIGHT = [
    ("通知", "某发〔2026〕5号"),
    ("通知", "2026年10月1日"),
    ("通知", "自2026年08月1日起施行。"),  # in a sentence it may be quoted
    ("通知", "附件：1.名单"),
    ("通知", "各区卫生局："),
    ("通知", "抄送：市财政局，市医保局。"),
    ("请示", "妥否，请批示。"),
    ("通知", "请认真贯彻执行。"),
]


@pytest.mark.parametrize(("kind", "text"), WRONG)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_is_written_otherwise_is_found_with_its_place(
    kind: str, text: str, ending: str
) -> None:
    assert found(kind, "正文在此。", text, ending=ending) == [text]


@pytest.mark.parametrize(("kind", "text"), RIGHT)
def test_what_follows_the_rules_is_not(kind: str, text: str) -> None:
    assert found(kind, "正文在此。", text) == []


def test_a_mark_behind_the_title() -> None:
    data = f"{TITLE}通知。\n正文在此。\n".encode()
    [one] = findings("通知", data)
    assert data[one.start : one.end].decode() == f"{TITLE}通知。"
    assert one.severity is Severity.WARNING
    assert one.message.endswith("(实务)")


@pytest.mark.parametrize("kind", OFFICIAL)
def test_the_samples_follow_the_rules(kind: str) -> None:
    sample = files("clover_templates").joinpath("zh", "samples", f"{kind}.md")
    assert findings(kind, sample.read_bytes()) == []


def test_other_templates_know_no_such_rules() -> None:
    data = "# 周报\n\n某发[2026]第05号\n".encode()
    template = LIBRARY.find("周报").template
    assert not [
        f
        for f in check_document(template, parts_of(Document.of(data), template))
        if f.code is Code.D11
    ]
