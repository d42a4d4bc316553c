"""Whatever comes over the wire, the next valid request gets its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from clover_lsp.framing import MAX_BODY_BYTES, Frames
from tests.support.malformed import malformed
from tests.support.wire import URI, Wire, asking, frame

# the widest step at which a lost answer can still be told from a lost message
STEP = 10


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = await Wire.start()
    yield wire
    await wire.kill()


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 400), pytest.param(2, 10_000, marks=pytest.mark.slow)]
)
async def test_malformed_messages_cost_themselves_alone(wire: Wire, seed: int, count: int) -> None:
    await wire.initialize()
    document = {"uri": URI, "languageId": "python", "version": 1, "text": "x = 1\nx"}
    wire.send("textDocument/didOpen", {"textDocument": document})
    for number, piece in enumerate(malformed(seed, count)):
        wire.write(piece)
        if number % STEP == STEP - 1:
            wire.send("textDocument/inlineCompletion", asking(1, 1), id=f"probe {number}")
            answer = await wire.answer(f"probe {number}")
            assert [item["insertText"] for item in answer["result"]["items"]] == [" = 1"]
    wire.send("shutdown", id="end")
    assert (await wire.answer("end"))["result"] is None
    for piece in malformed(seed + 1000, 100):
        wire.write(piece)
    wire.send("textDocument/codeLens", id="late")
    assert (await wire.answer("late"))["error"]["code"] == -32600
    wire.send("exit")
    await wire.end()
    assert wire.process.returncode == 0
    probes = [id for id in wire.answers if str(id).startswith("probe")]
    assert len(probes) == count // STEP
    assert all(len(wire.answers[id]) == 1 for id in probes)


async def test_what_comes_before_initialize_is_refused_and_harmless(wire: Wire) -> None:
    for piece in malformed(3, 100):
        if b"initialize" not in piece:
            wire.write(piece)
    wire.send("textDocument/codeLens", {"textDocument": {"uri": URI}}, id="early")
    assert (await wire.answer("early"))["error"]["code"] == -32002
    await wire.initialize()
    wire.send("initialize", {"processId": None, "capabilities": {}}, id="again")
    assert (await wire.answer("again"))["error"]["code"] == -32600
    wire.send("exit")
    await wire.end()
    assert wire.process.returncode == 1


async def test_what_is_no_json_is_answered_without_an_id(wire: Wire) -> None:
    wire.write(b"Content-Length: 5\r\n\r\n{oops")
    error = (await wire.answer(None))["error"]
    assert error["code"] == -32700


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_are_found_however_the_stream_is_cut(size: int) -> None:
    bodies = [b"{}", b"", b'{"a": "\xc3\xa9"}', b"x" * 500]
    stream = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    frames = Frames()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [body for piece in pieces for body in frames.feed(piece)] == bodies


def test_a_body_that_is_too_large_is_dropped_and_the_next_is_found() -> None:
    frames = Frames()
    size = MAX_BODY_BYTES + 1
    assert list(frames.feed(b"Content-Length: %d\r\n\r\n" % size)) == []
    for _ in range(size // 2**20):
        assert list(frames.feed(bytes(2**20))) == []
    assert list(frames.feed(bytes(size % 2**20) + frame({}))) == [b"{}"]


@pytest.mark.parametrize("surplus", range(1, 24))
def test_a_length_that_is_too_large_takes_nothing_from_the_next_message(surplus: int) -> None:
    body = b'{"a": 1}'
    first = b"Content-Length: %d\r\n\r\n%s" % (len(body) + surplus, body)
    frames = Frames()
    found = frames.feed(first + frame([1, 2, 3]))
    assert frames.put_back(next(found))
    assert list(frames.feed(b"")) == [b"[1, 2, 3]"]
