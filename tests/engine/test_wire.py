"""Messages survive the wire whole, and nothing malformed gets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_engine.api import (
    MAX_HOLE_TOKENS,
    CanvasRequest,
    Context,
    Draft,
    Drafting,
    EngineInfo,
    EngineState,
    Fill,
    Filled,
    Finish,
    Hole,
    Literal,
    Priority,
    Snippet,
    Stats,
    infill_request,
)
from clover_engine.errors import EngineBusy, EngineError, ModelError, RequestError
from clover_engine.wire import (
    MAX_MESSAGE_BYTES,
    CancelRequest,
    ClientMessage,
    DraftEvent,
    ErrorAnswer,
    FillAnswer,
    FillRequest,
    Hello,
    InfoAnswer,
    InfoRequest,
    ServerMessage,
    Stop,
    Welcome,
    decode_client,
    decode_server,
    encode,
)

# lone surrogates too
text = st.text(st.characters(exclude_categories=()))
ids = st.integers(min_value=0)
times = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
short = st.text(st.characters(exclude_categories=()), max_size=20)
snippets = st.builds(Snippet, short, short)
holes = st.builds(
    Hole,
    st.integers(0, MAX_HOLE_TOKENS),
    st.lists(text.filter(bool)).map(tuple),
    unlike=st.lists(text).map(tuple),
)
requests = st.builds(
    lambda before, hole, after, **more: CanvasRequest((*before, hole, *after), **more),
    st.lists(st.builds(Literal, text) | holes),
    holes,
    st.lists(st.builds(Literal, text)),
    document=text,
    context=st.none() | st.builds(Context, st.lists(snippets, max_size=3).map(tuple), short, short),
    drafting=st.sampled_from(Drafting),
    priority=st.sampled_from(Priority),
    deadline_ms=st.none() | ids,
)
infos = st.builds(EngineInfo, text, text, text, text, st.sampled_from(EngineState))
filled = st.builds(
    Filled,
    st.lists(st.builds(Fill, text, st.floats(0, 1), st.sampled_from(Finish))).map(tuple),
    st.builds(Stats, *[ids] * 6, times, times, times),
)
from_client = (
    st.builds(Hello, ids, text)
    | st.just(Stop())
    | st.builds(FillRequest, ids, requests)
    | st.builds(CancelRequest, ids)
    | st.builds(InfoRequest, ids)
)
from_server = (
    st.builds(Welcome, ids, text, infos)
    | st.builds(DraftEvent, ids, st.builds(Draft, text, ids))
    | st.builds(FillAnswer, ids, filled)
    | st.builds(InfoAnswer, ids, infos)
    | st.builds(ErrorAnswer, ids, text, text)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@settings(max_examples=50)
@given(from_client)
def test_what_a_client_says_arrives_whole(message: ClientMessage) -> None:
    assert decode_client(encode(message)) == message


@settings(max_examples=50)
@given(from_server)
def test_what_the_engine_says_arrives_whole(message: ServerMessage) -> None:
    assert decode_server(encode(message)) == message


@settings(max_examples=50)
@given(text | json_values.map(json.dumps) | st.binary())
def test_what_is_no_message_is_refused(said: str | bytes) -> None:
    for decode in (decode_client, decode_server):
        with pytest.raises(RequestError):
            decode(said)


FILL = encode(FillRequest(1, infill_request("a", "b", stop=["x"])))


@settings(max_examples=50)
@given(st.sampled_from(["id", "request", "segments", "text", "stop", "drafting"]), json_values)
def test_a_field_of_another_kind_is_refused_or_means_the_same(name: str, value: object) -> None:
    def swap(node: object) -> object:
        if isinstance(node, dict):
            return {key: value if key == name else swap(child) for key, child in node.items()}
        return [swap(child) for child in node] if isinstance(node, list) else node

    try:
        message = decode_client(json.dumps(swap(json.loads(FILL))))
    except RequestError:
        return
    assert decode_client(encode(message)) == message


@pytest.mark.parametrize(
    "said",
    [
        '{"type":"CancelRequest","id":"1"}',
        '{"type":"CancelRequest","id":true}',
        '{"type":"CancelRequest"}',
        '{"type":"Nonsense"}',
        '{"type":["Stop"]}',
        '{"type":"Stop"} {"type":"Stop"}',
        "[" * 100_000,
        FILL.replace('"drafting":"both"', '"drafting":"magic"'),
        FILL.replace('"max_tokens":64', '"max_tokens":100000'),
        FILL.replace('"deadline_ms":null', '"deadline_ms":-1'),
    ],
)
def test_near_misses_are_refused(said: str) -> None:
    with pytest.raises(RequestError):
        decode_client(said)


def test_unknown_fields_are_left_to_newer_versions() -> None:
    assert decode_client('{"type":"CancelRequest","id":1,"why":"typing"}') == CancelRequest(1)


class DamagedModel(ModelError):
    """A kind of error that only its own module knows."""


def test_errors_keep_their_type() -> None:
    assert type(ErrorAnswer.of(1, DamagedModel("x")).exception()) is ModelError
    answer = ErrorAnswer.of(1, EngineBusy("later"))
    assert type(answer.exception()) is EngineBusy
    assert str(answer.exception()) == "later"
    for name in ("NoSuchError", "annotations", "__name__"):
        assert type(ErrorAnswer(1, name, "x").exception()) is EngineError


def test_a_message_that_is_too_long_is_not_sent() -> None:
    with pytest.raises(RequestError, match="send less"):
        encode(FillRequest(1, infill_request("x" * MAX_MESSAGE_BYTES, "")))
