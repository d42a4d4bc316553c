"""Remote engines: what each kind is sent, how its answers are read, what cannot be had of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clover_engine.api import (
    CanvasRequest,
    Context,
    Draft,
    Filled,
    Finish,
    Hole,
    Literal,
    Snippet,
    infill_request,
)
from clover_engine.errors import (
    EngineBusy,
    EngineError,
    EngineUnavailable,
    RequestError,
    Unsupported,
)
from clover_engine.remote import http as http_module
from clover_engine.remote.backend import RemoteBackend
from clover_engine.remote.discovery import Kind, detect
from clover_engine.remote.fim import prompt_for
from clover_engine.remote.http import Endpoint, Http
from clover_engine.remote.instruct import bare
from clover_engine.remote.llama_cpp import grammar
from tests.support.engine_streams import chat, completions, generated, llama
from tests.support.http_peer import Answer, HttpPeer, http_peer

WAIT_S = 10.0
SECRET = "SecretSentence"
Routes = dict[str, Callable[[dict[str, Any]], Answer]]


def models(name: str) -> Callable[[dict[str, Any]], Answer]:
    return lambda _: {"object": "list", "data": [{"id": name, "object": "model"}]}


KINDS: dict[str, tuple[Kind, str, Callable[..., Iterable[Any]], str]] = {
    "llama.cpp": (Kind.LLAMA_CPP, "/infill", llama, ""),
    "openai": (Kind.OPENAI, "/v1/completions", completions, "some-coder"),
    "sglang": (Kind.SGLANG, "/generate", generated, "Qwen/Qwen2.5-Coder-7B"),
    "vllm": (Kind.VLLM, "/v1/completions", completions, "Qwen/Qwen2.5-Coder-7B"),
    "instruct": (Kind.SGLANG, "/v1/chat/completions", chat, "some-chat-model"),
}


@asynccontextmanager
async def remote(
    kind: str, *texts: str, answer: Callable[[dict[str, Any]], Answer] | None = None
) -> AsyncIterator[tuple[RemoteBackend, HttpPeer]]:
    """A backend of that kind, and the server it asks, which says the texts."""
    known, path, stream, model = KINDS[kind]
    routes: Routes = {
        path: answer or (lambda _: stream(*texts)),
        "/v1/models": models(model),
        "/props": lambda _: {"model_path": "/models/coder.gguf"},
    }
    async with http_peer(routes) as peer:
        backend = RemoteBackend(known, Endpoint(peer.url, "some-token-of-mine", connect_s=2.0))
        try:
            yield backend, peer
        finally:
            await backend.close()


def infill(
    hole: Hole | None = None, left: str = "def f(a):\n    ", **options: Any
) -> CanvasRequest:
    hole = hole or Hole(16, stop=("\n",))
    return CanvasRequest((Literal(left), hole, Literal("\nf(1)\n")), **options)


async def fill(backend: RemoteBackend, request: CanvasRequest) -> tuple[Filled, Sequence[str]]:
    drafts: list[Draft] = []
    async with asyncio.timeout(WAIT_S):
        filled = await backend.fill(request, drafts.append)
    return filled, [draft.text for draft in drafts]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_fills_a_hole_and_shows_it_coming(kind: str) -> None:
    async with remote(kind, "return", " a") as (backend, peer):
        filled, drafts = await fill(backend, infill())
        assert filled.fills[0].text == "return a"
        assert filled.fills[0].finish is Finish.STOP
        assert drafts[:2] == ["return", "return a"]
        assert filled.stats.tokens == 2
        if kind != "instruct":
            assert (filled.stats.prompt_tokens, filled.stats.reused_tokens) == (12, 7)
        _, _, headers = peer.asked[-1]
        assert headers["authorization"] == "Bearer some-token-of-mine"


async def test_what_llama_cpp_is_sent_and_told_of_it() -> None:
    context = Context((Snippet("other.py", "x = 1\n"),))
    async with remote("llama.cpp", "1") as (backend, peer):
        await fill(backend, infill(context=context))
        [body] = peer.bodies("/infill")
        assert body["input_prefix"] == "def f(a):\n    "
        assert body["input_suffix"] == "\nf(1)\n"
        assert body["input_extra"] == [{"filename": "other.py", "text": "x = 1\n"}]
        assert (body["n_predict"], body["stop"], body["stream"]) == (16, ["\n"], True)
        info = await backend.info()
        assert (info.model, "no pattern" in info.detail) == ("coder.gguf", True)


async def test_what_the_others_are_sent() -> None:
    spelled = "<|fim_prefix|><|fim_suffix|>\nf(1)\n<|fim_middle|>def f(a):\n    "
    async with remote("sglang", "1") as (backend, peer):
        await fill(backend, infill())
        [body] = peer.bodies("/generate")
        assert body["text"] == spelled
        assert body["sampling_params"] == {"temperature": 0.0, "max_new_tokens": 16, "stop": ["\n"]}
    async with remote("vllm", "1") as (backend, peer):
        await fill(backend, infill(Hole(16, pattern="[0-9]")))
        [body] = peer.bodies("/v1/completions")
        assert (body["prompt"], body["model"]) == (spelled, "Qwen/Qwen2.5-Coder-7B")
        assert body["structured_outputs"] == {"regex": "[0-9]"}
        assert "suffix" not in body
    async with remote("openai", "1") as (backend, peer):
        await fill(backend, infill(Hole(16, stop=tuple("abcdefg"))))
        [body] = peer.bodies("/v1/completions")
        assert (body["prompt"], body["suffix"]) == ("def f(a):\n    ", "\nf(1)\n")
        assert body["stop"] == list("abcd")


async def test_codestrals_route() -> None:
    async with http_peer({"/v1/fim/completions": lambda _: chat("return", " a")}) as peer:
        endpoint = Endpoint(peer.url)
        backend = RemoteBackend(Kind.OPENAI, endpoint, "codestral", "/v1/fim/completions")
        filled, _ = await fill(backend, infill())
        assert filled.fills[0].text == "return a"
        await backend.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_hole_ends_where_it_must_whatever_the_remote_writes(kind: str) -> None:
    async with remote(kind, "one\n", "two\n", "thr", "ee") as (backend, peer):
        peer.pause_s = 0.005
        for hole, expected in (
            (Hole(16, max_lines=2), "one\ntwo"),
            (Hole(16, stop=("e\nt",)), "on"),
            (Hole(16), "one\ntwo\nthree"),
        ):
            filled, _ = await fill(backend, infill(hole, left="x\n"))
            assert filled.fills[0].text == expected


async def test_it_ends_where_the_right_text_begins_again() -> None:
    async with remote("openai", "a = 1\n", "result(a)\nend", "\nmore") as (backend, _):
        request = infill_request("", "result(a)\nend\n")
        filled, _ = await fill(backend, request)
        assert filled.fills[0].text == "a = 1\n"


async def test_holes_are_filled_in_order_each_with_what_stands_before_it() -> None:
    answers = iter(["Ann", "Bob"])
    async with remote("llama.cpp", answer=lambda _: llama(next(answers))) as (backend, peer):
        parts = (Literal("From "), Hole(4), Literal(" to "), Hole(4), Literal(".\n"))
        filled, _ = await fill(backend, CanvasRequest(parts))
        assert [each.text for each in filled.fills] == ["Ann", "Bob"]
        assert peer.bodies("/infill")[1]["input_prefix"] == "From Ann to "


async def test_choices_and_patterns_are_kept_or_the_hole_stays_empty() -> None:
    choices, pattern = Hole(4, choices=("yes", "no")), Hole(4, pattern="[0-9]{4}")
    for kind, hole in (("llama.cpp", choices), ("sglang", choices), ("vllm", pattern)):
        right = "no" if hole is choices else "2026"
        for said, expected in ((right, right), ("maybe", "")):
            async with remote(kind, said) as (backend, _):
                filled, _ = await fill(backend, infill(hole))
                assert filled.fills[0].text == expected


async def test_what_a_remote_cannot_do_is_said_before_anything_is_sent() -> None:
    scored = Hole(4, choices=("yes", "no"), scored=True)
    for kind, hole in (
        ("openai", Hole(4, choices=("a",))),
        ("instruct", Hole(4, pattern="a")),
        ("llama.cpp", Hole(4, pattern="a")),
        ("sglang", scored),
    ):
        async with remote(kind) as (backend, peer):
            with pytest.raises(Unsupported):
                await backend.fill(infill(hole))
            assert not [body for _, body, _ in peer.asked if body]


async def test_another_answer_is_none_and_warming_is_not_asked_of_who_bills_it() -> None:
    async with remote("openai", "x") as (backend, peer):
        for hole in (Hole(4, unlike=("x",)), Hole(0)):
            filled, _ = await fill(backend, infill(hole))
            assert filled.fills[0].text == ""
        assert not peer.bodies("/v1/completions")
    async with remote("llama.cpp", "x") as (backend, peer):
        filled, _ = await fill(backend, infill(Hole(0)))
        assert filled.fills[0].text == ""
        assert peer.bodies("/infill")[0]["n_predict"] == 0


async def test_text_that_a_server_would_take_for_commands_is_not_sent() -> None:
    async with remote("vllm", "x") as (backend, peer):
        with pytest.raises(RequestError, match="special"):
            await backend.fill(infill(left="a <|fim_middle|> b"))
        assert not peer.bodies("/v1/completions")


async def test_a_deadline_ends_with_what_is_there() -> None:
    async with remote("openai", *["word "] * 100) as (backend, peer):
        peer.pause_s = 0.05
        filled, drafts = await fill(backend, infill(Hole(100), deadline_ms=300))
        assert filled.fills[0].finish is Finish.DEADLINE
        assert filled.fills[0].text == drafts[-1]
        assert 0 < len(drafts) < 100


async def test_cancelling_closes_the_connection() -> None:
    async with remote("openai", *["word "] * 1000) as (backend, peer):
        peer.pause_s = 0.005
        shown = asyncio.Event()
        task = asyncio.create_task(backend.fill(infill(Hole(500)), lambda _: shown.set()))
        await asyncio.wait_for(shown.wait(), WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(peer.broken_off.wait(), WAIT_S)


async def test_busy_servers_are_asked_again_but_nothing_begun_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_module, "PAUSE_S", 0.01)
    answers: list[Answer] = [503, 429, list(completions("yes"))]
    async with remote("openai", answer=lambda _: answers.pop(0)) as (backend, peer):
        filled, _ = await fill(backend, infill())
        assert filled.fills[0].text == "yes"
        assert len(peer.bodies("/v1/completions")) == 3
    async with remote("openai", answer=lambda _: 503) as (backend, peer):
        with pytest.raises(EngineBusy):
            await backend.fill(infill())
        assert len(peer.bodies("/v1/completions")) == http_module.ATTEMPTS
    broken = ['data: {"choices": [{"text": "half", "finish_reason": null}]}\n\n']
    async with remote("openai", answer=lambda _: broken) as (backend, peer):
        with pytest.raises(EngineError, match="broke off"):
            await backend.fill(infill())
        assert len(peer.bodies("/v1/completions")) == 1


async def test_a_connection_that_was_closed_meanwhile_is_made_again() -> None:
    answers: list[Answer] = [list(completions("yes")), None, list(completions("yes")), None, None]
    async with remote("openai", answer=lambda _: answers.pop(0)) as (backend, peer):
        for _ in range(2):
            filled, _ = await fill(backend, infill())
            assert filled.fills[0].text == "yes"
        with pytest.raises(EngineUnavailable, match="went away"):
            await backend.fill(infill())
        assert len(peer.bodies("/v1/completions")) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 500])
async def test_refusals_say_what_to_look_at_and_quote_nothing(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "clover_engine")
    async with remote("openai", answer=lambda _: status) as (backend, peer):
        with pytest.raises(EngineError) as caught:
            await backend.fill(infill(left=SECRET))
        assert SECRET not in str(caught.value)
        assert "some-token-of-mine" not in repr(caught.value) + caplog.text
        assert len(peer.bodies("/v1/completions")) == 1


@pytest.mark.parametrize(
    "events",
    [
        ["data: {nonsense}\n\n"],
        ['data: {"choices": 5}\n\n'],
        ["data: {}\n\n"],
        ['data: {"error": {"message": "out of memory"}}\n\n'],
        ["<html>nothing here</html>"],
        [],
        ["data: {" + "x" * (http_module.MAX_EVENT_BYTES + 10)],
    ],
)
async def test_nonsense_is_an_error_of_one_line(events: list[str]) -> None:
    async with remote("openai", answer=lambda _: events) as (backend, _):
        with pytest.raises(EngineError) as caught:
            await backend.fill(infill())
        assert "\n" not in str(caught.value)


async def test_who_is_not_there_is_named() -> None:
    backend = RemoteBackend(Kind.OPENAI, Endpoint("http://127.0.0.1:9"), "model")
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:9 cannot be reached"):
        await backend.fill(infill())
    await backend.close()


async def test_what_serves_is_found_out() -> None:
    anything: Callable[[dict[str, Any]], Answer] = lambda _: {"x": 1}  # noqa: E731
    for path, kind in (
        ("/props", Kind.LLAMA_CPP),
        ("/get_model_info", Kind.SGLANG),
        ("/version", Kind.VLLM),
    ):
        async with http_peer({path: anything, "/v1/models": models("m")}) as peer:
            http = Http(Endpoint(peer.url))
            assert await detect(http) is kind
            await http.close()
    async with http_peer({"/v1/models": models("m")}) as peer:
        http = Http(Endpoint(peer.url))
        assert await detect(http) is Kind.OPENAI
        await http.close()
    async with http_peer({}) as peer:
        http = Http(Endpoint(peer.url))
        with pytest.raises(EngineError):
            await detect(http)
        await http.close()


def test_answers_of_chats_are_stripped_of_what_they_repeat() -> None:
    assert bare("```python\nreturn a\n```", "def f():\n    ", "\n") == "return a"
    assert bare("x = 1 + 2", "x = ", "\n") == "1 + 2"
    assert bare("one;\nend()", "a\n", "end()\nmore") == "one;\n"
    assert bare("plain", "a\n", "\nb") == "plain"


def test_prompts_are_known_by_the_models_name() -> None:
    assert prompt_for("Qwen/Qwen2.5-Coder-32B-Instruct-AWQ") is not None
    assert prompt_for("deepseek-ai/DeepSeek-Coder-V2-Lite") is not None
    assert prompt_for("meta-llama/Llama-3.1-8B-Instruct") is None


def test_a_grammar_spells_every_text() -> None:
    assert grammar(("yes", 'a"b\\c\n', "可")) == 'root ::= "yes" | "a\\"b\\\\c\\n" | "可"'


def test_a_token_is_not_shown() -> None:
    assert "secret-of-mine" not in repr(Endpoint("http://127.0.0.1:1", "secret-of-mine"))
