"""What has to be kept to the letter, and when two ways of writing it say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clover_templates.document import Document
from clover_templates.locks import Lock, items_of, locked_items
from clover_templates.numerals import numeral_value
from tests.support.documents import INCIDENT, TEXTS


def items(text: str) -> list[tuple[str, str]]:
    return [(item.lock.name, item.written) for item in items_of(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mail a.b+c@x-y.org, ask @ann", [("EMAIL", "a.b+c@x-y.org"), ("NAME", "@ann")]),
        ("at https://a.org/b?c=1。好", [("URL", "https://a.org/b?c=1")]),
        ("[a 3](http://b.org/4)", [("NUMBER", "3"), ("URL", "http://b.org/4")]),
        ("`x = 1` and ![[a.png]] ![b](c.png)", None),
        ("[[Note#a|b]] x[^n1]", [("WIKILINK", "[[Note#a|b]]"), ("FOOTNOTE", "[^n1]")]),
        ("国办发〔2026〕5号《管理办法》", None),
        ("2026年8月1日，25年底，8月1日，9:05", None),
        ("2026-08-01 and May 4, 2026 and 4 May 2026", None),
        ("v2.4.1, 1.2.3-rc1 and 1.5", None),
        ("/etc/hosts ~/a ./b src/a/b.py and/or", None),
        ("增长5.3%，共1,200万元，三成，百分之五，第三，一些", None),
        ("12 ms and -4 or 3GB", [("NUMBER", "12 ms"), ("NUMBER", "-4 or"), ("NUMBER", "3GB")]),
        # numbering is not locked
        ("1. a", []),
        ("- [ ] 2) b", []),
        ("（三）中文", []),
        ("## 3. 标题 4", [("NUMBER", "4")]),
    ],
)
def test_items(text: str, found: list[tuple[str, str]] | None) -> None:
    written = {
        "`": ["`x = 1`", "![[a.png]]", "![b](c.png)"],
        "国": ["国办发〔2026〕5号", "《管理办法》"],
        "2026年": ["2026年8月1日", "25年底", "8月1日", "9:05"],
        "2026-": ["2026-08-01", "May 4, 2026", "4 May 2026"],
        "v": ["v2.4.1", "1.2.3-rc1", "1.5"],
        "/": ["/etc/hosts", "~/a", "./b", "src/a/b.py"],
        "增": ["5.3%", "1,200万元", "三成", "百分之五", "第三"],
    }
    if found is not None:
        assert items(text) == found
    else:
        [wanted] = [list_ for start, list_ in written.items() if text.startswith(start)]
        assert [text for _, text in items(text)] == wanted


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1,200 users", "1200 users", True),
        ("3个", "三个", True),
        ("1.2万元", "12000元", True),
        ("百分之五", "5%", True),
        ("2026-08-01", "2026年8月1日", True),
        ("v1.2.3", "1.2.3", True),
        ("25年底", "2025年底", False),
        ("1.0", "1", True),
        ("1.0", "10", False),
        ("9" * 40, "9" * 39 + "8", False),
        ("5 ms", "5 s", False),
        ("`a`", "`b`", False),
    ],
)
def test_values(one: str, other: str, same: bool) -> None:
    [left], [right] = items_of(one), items_of(other)
    assert ((left.lock, left.value) == (right.lock, right.value)) is same


def test_items_of_a_document_stand_where_they_say() -> None:
    document = Document.of(INCIDENT.encode())
    found = list(locked_items(document))
    assert {Lock.DATE, Lock.NUMBER, Lock.WIKILINK, Lock.URL, Lock.CODE, Lock.NAME} <= {
        item.lock for item in found
    }
    for item in found:
        at = document.data[item.span.start : item.span.end].decode()
        assert at.strip() == item.written


@given(TEXTS)
def test_every_item_stands_where_it_says(text: str) -> None:
    document = Document.of(text.encode())
    for item in locked_items(document):
        assert document.data[item.span.start : item.span.end].decode().strip() == item.written


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        *(("三", 3), ("十", 10), ("十二", 12), ("二十", 20), ("一百零五", 105), ("两千", 2000)),
        *(("二〇二六", 2026), ("一万二千", 12000), ("三十万", 300000), ("一亿二千万", 120000000)),
        *(("一万亿", 10**12), ("", None), ("三个", None), ("三" * 31, None)),
    ],
)
def test_numerals(numeral: str, value: int | None) -> None:
    assert numeral_value(numeral) == value


@given(st.integers(1, 10**8 - 1))
def test_every_number_can_be_read_back(number: int) -> None:
    assert numeral_value(spelt(number)) == number


def spelt(number: int) -> str:
    """A number below 亿 in Chinese, as bookkeepers write it, every zero spoken once."""
    high, low = divmod(number, 10**4)
    if high:
        gap = "零" if 0 < low < 1000 else ""
        return spelt(high) + "万" + (gap + spelt(low) if low else "")
    text, pending = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if pending else "") + "零一二三四五六七八九"[digit] + name
        pending = not digit and bool(text)
    return text
