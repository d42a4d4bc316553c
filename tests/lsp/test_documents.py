"""The document store: what the editor sent is what stands, whatever order or kind of change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from clover_lsp.documents import Documents
from clover_lsp.positions import Encoding
from tests.support.editor_text import Editor, edits, texts

URI = "untitled:Untitled-1"


def partial(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        range=types.Range(types.Position(*start), types.Position(*end)), text=text
    )


def whole(text: str) -> types.TextDocumentContentChangeWholeDocument:
    return types.TextDocumentContentChangeWholeDocument(text)


@pytest.fixture
def documents() -> Documents:
    documents = Documents()
    documents.open(URI, "plaintext", 1, "one\ntwo\n")
    return documents


def text_of(documents: Documents) -> str:
    document = documents.get(URI)
    assert document is not None
    return document.text


def test_changes_apply_in_order_each_to_the_text_before(documents: Documents) -> None:
    changes = [
        partial((0, 0), (1, 0), ""),
        partial((0, 3), (0, 3), "!"),
        partial((1, 0), (1, 0), "x"),
    ]
    documents.change(URI, 2, changes)
    assert text_of(documents) == "two!\nx"


def test_a_full_change_may_follow_a_partial_one(documents: Documents) -> None:
    documents.change(
        URI, 2, [partial((0, 0), (0, 1), "0"), whole("a\r\nb"), partial((1, 1), (1, 1), "c")]
    )
    assert text_of(documents) == "a\r\nbc"


def test_deleting_everything_then_typing(documents: Documents) -> None:
    documents.change(URI, 2, [partial((0, 0), (2, 0), "")])
    documents.change(URI, 3, [partial((0, 0), (0, 0), "a")])
    assert text_of(documents) == "a"


def test_a_version_sent_twice_is_applied_once(documents: Documents) -> None:
    for _ in range(2):
        documents.change(URI, 2, [partial((0, 0), (0, 0), "x")])
    assert documents.change(URI, 1, [whole("old")]) is None
    assert text_of(documents) == "xone\ntwo\n"


def test_opening_again_takes_the_new_text(documents: Documents) -> None:
    documents.open(URI, "plaintext", 1, "again")
    assert text_of(documents) == "again"
    assert documents.change(URI, 2, [whole("more")]) is not None


def test_unknown_and_closed_documents_are_left_alone(documents: Documents) -> None:
    documents.close(URI)
    documents.close(URI)
    assert documents.change(URI, 2, [whole("x")]) is None
    assert documents.get(URI) is None


def test_a_snapshot_does_not_change(documents: Documents) -> None:
    before = documents.get(URI)
    documents.change(URI, 2, [whole("x")])
    assert before is not None
    assert before.text == "one\ntwo\n"


def test_a_position_beyond_the_last_line_is_stale(documents: Documents) -> None:
    document = documents.get(URI)
    assert document is not None
    assert documents.offset(document, types.Position(3, 0)) is None
    assert documents.offset(document, types.Position(2, 99)) == len(document.text)


@pytest.mark.parametrize(
    ("text", "eol"),
    [("", "\n"), ("a", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb", "\r\n"), ("a\rb", "\r")],
)
def test_line_end_of_a_document(text: str, eol: str) -> None:
    assert Documents().open(URI, "", 0, text).eol == eol


Position: TypeAlias = tuple[int, int]
# one message: its changes in order, whole texts among them, and how often it is sent
Message: TypeAlias = tuple[Sequence[tuple[Position, Position, str] | str], int]
messages = st.tuples(
    st.lists(edits | edits | edits | texts, max_size=4), st.sampled_from([1, 1, 2])
)
scripts = st.lists(messages, max_size=6)
uris = st.sampled_from(
    ["file:///a%20b/c.md", "untitled:U1", "git:/x?ref", "vscode-notebook-cell:/n.ipynb#W0", "x"]
)


def follow(encoding: Encoding, uri: str, text: str, script: Sequence[Message]) -> None:
    """Send the script's messages, and hold the store against an editor after each."""
    documents, editor = Documents(), Editor(text)
    documents.encoding = encoding
    documents.open(uri, "plaintext", 0, text)
    for number, (changes, times) in enumerate(script):
        events: list[types.TextDocumentContentChangeEvent] = []
        for change in changes:
            if isinstance(change, str):
                editor = Editor(change)
                events.append(whole(change))
                continue
            # what is negative is repaired before it comes here
            first, second = ((max(line, 0), max(column, 0)) for line, column in change[:2])
            new = change[2]
            start, end = sorted(editor.offset(*position, encoding) for position in (first, second))
            editor.replace(start, end, new)
            events.append(partial(first, second, new))
        for _ in range(times):
            documents.change(uri, number + 1, events)
        document = documents.get(uri)
        assert document is not None
        assert document.text == editor.text


@pytest.mark.parametrize("encoding", Encoding)
@settings(max_examples=60, deadline=None)
@given(uri=uris, text=texts, script=scripts)
def test_edit_scripts_leave_the_text_of_the_editor(
    encoding: Encoding, uri: str, text: str, script: list[Message]
) -> None:
    follow(encoding, uri, text, script)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", Encoding)
@settings(max_examples=2000, deadline=None)
@given(uri=uris, text=texts, script=scripts)
def test_two_thousand_edit_scripts(
    encoding: Encoding, uri: str, text: str, script: list[Message]
) -> None:
    follow(encoding, uri, text, script)


def test_halves_of_a_pair_that_come_one_by_one_are_one_character(documents: Documents) -> None:
    documents.change(URI, 2, [partial((0, 0), (0, 0), "\ud83d"), partial((0, 1), (0, 1), "\ude00")])
    assert text_of(documents) == "😀one\ntwo\n"
