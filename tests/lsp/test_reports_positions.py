"""What users of such servers reported about offsets, encodings and lines, each as a kind of case.

The numbers are those of the reports in the project's list of public complaints, group 4a.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from lsprotocol import types

from clover_lsp.infill import Trigger
from clover_lsp.positions import Encoding
from tests.support.session import URI, Session
from tests.support.wire import Wire

# signs whose length differs between encodings, or that some libraries take for line ends
BREAKS = ["\f", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"]
SIGNS = ["😀", "👩\u200d💻", "🇩🇪", "é", "e\u0301", "中", "𝒳", "\ufffd", *BREAKS]


def units(text: str, encoding: Encoding) -> int:
    name = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return len(text.encode(name)) // {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]


@pytest.fixture(params=Encoding)
async def session(request: pytest.FixtureRequest) -> AsyncIterator[Session]:
    session = Session()
    session.documents.encoding = request.param
    session.engine.reply = lambda hole: "" if hole.unlike else "answer"
    yield session
    await session.feature.close()


def text_of(session: Session) -> str:
    document = session.documents.get(URI)
    assert document is not None
    return document.text


@pytest.mark.parametrize("sign", SIGNS)
async def test_edits_and_items_behind_any_sign_stand_where_the_editor_has_them(
    session: Session, sign: str
) -> None:
    # 1, 2, 4, 5, 11
    before = f'log("we{sign}'
    session.open(f'first\n{before}", a)\nlast {sign}')
    column = units(before, session.documents.encoding)
    session.replace((1, column), (1, column + 1), "'")
    assert text_of(session) == f"first\n{before}', a)\nlast {sign}"
    end = units(f"last {sign}", session.documents.encoding)
    [item] = (await session.request((2, end), Trigger.INVOKED)).items
    at = types.Position(2, end)
    assert item.range == types.Range(at, at)
    assert session.engine.asks[-1].left.endswith(f"\nlast {sign}")
    session.accept(item)
    assert text_of(session).endswith(f"last {sign}answer")


@pytest.mark.parametrize("sign", BREAKS)
async def test_only_line_ends_of_the_protocol_begin_lines(session: Session, sign: str) -> None:
    # 5, 6: the end of a whole document is that of its text
    document = session.open(f"a{sign}\nb{sign}")
    end = session.documents.position(document, len(document.text))
    assert end == types.Position(1, 1 + units(sign, session.documents.encoding))
    session.replace((0, 0), (end.line, end.character), "new")
    assert text_of(session) == "new"


@pytest.mark.parametrize(("part", "rest"), [("今", "天天气很好。"), ("今天", "天气很好。")])
async def test_a_word_of_chinese_is_not_the_sentence(
    session: Session, part: str, rest: str
) -> None:
    # 3
    session.open("我说：\n")
    session.engine.reply = lambda _: "今天天气很好。"
    column = units("我说：", session.documents.encoding)
    [item] = (await session.request((0, column))).items
    assert item.command
    session.type((0, column), part)
    column = units(f"我说：{part}", session.documents.encoding)
    assert await session.texts((0, column)) == [rest]


@pytest.mark.parametrize("place", [(3, 0), (99, 0), (2, 99), (2**31 - 1, 2**31 - 1)])
async def test_a_position_that_no_longer_exists_gets_nothing(
    session: Session, place: tuple[int, int]
) -> None:
    # 7
    session.open("one\ntwo\nthree\n" * 2)
    session.replace((0, 3), (6, 0), "")
    for trigger in Trigger:
        assert await session.texts(place, trigger=trigger) == []


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\r\n", "a\rb", "😀\n\n"])
async def test_everything_deleted_then_typed_is_what_was_typed(session: Session, text: str) -> None:
    # 8
    session.open(text)
    session.replace((0, 0), (9, 0), "")
    session.type((0, 0), "a")
    assert text_of(session) == "a"


async def test_what_comes_twice_is_applied_once(session: Session) -> None:
    # 9
    for _ in range(2):
        session.open("a = 1\n")
    at = types.Range(types.Position(0, 0), types.Position(0, 0))
    change = types.TextDocumentContentChangePartial(range=at, text="x")
    for _ in range(2):
        session.documents.change(URI, 2, [change])
    assert text_of(session) == "xa = 1\n"


@pytest.mark.parametrize(
    "offered",
    [["utf-8", "utf-16", "utf-32"], ["utf-32", "utf-16"], ["utf-16"], ["utf-7", "utf-8"], []],
)
async def test_the_encoding_that_was_agreed_on_is_used_everywhere(
    wire: Wire, offered: list[str]
) -> None:
    # 10
    found = await wire.initialize(capabilities={"general": {"positionEncodings": offered}})
    encoding = Encoding(found["positionEncoding"])
    assert encoding in offered or (not offered and encoding is Encoding.UTF16)
    line = "😀é中 = 1"
    wire.open(f"{line}\n😀é中 [MASK]", language="markdown")
    column = units("😀é中 ", encoding)
    wire.send("textDocument/codeLens", {"textDocument": {"uri": "untitled:Untitled-1"}}, id="lens")
    lens = (await wire.answer("lens"))["result"][0]["range"]
    assert lens["start"] == {"line": 1, "character": column}
    ends = [{"line": 1, "character": at} for at in (column - 1, column + len("[MASK]"))]
    at = dict(zip(("start", "end"), ends, strict=True))
    identifier = {"uri": "untitled:Untitled-1", "version": 2}
    edit = {"textDocument": identifier, "contentChanges": [{"range": at, "text": ""}]}
    wire.send("textDocument/didChange", edit)
    assert await wire.texts(1, column - 1) == [" = 1"]
