"""The playground in Chromium: ghost text, the film of the canvas, and pages that stay out."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.chromium import Page, find_chromium
from tests.support.wire import Wire

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_chromium() is None, reason="chromium is not installed: .ci/run installs it"
    ),
]
COMMAND = [sys.executable, "-m", "clover_write", "playground"]
STATUS = "document.getElementById('status')"
READY = f"{STATUS}?.textContent === 'ready'"
GHOST = """(() => {
  const shown = document.querySelectorAll(".ghost-text-decoration");
  return [...shown].map((each) => each.textContent).join("").replaceAll("\\u00a0", " ");
})()"""
TEXT = "monaco.editor.getEditors()[0].getValue()"
# of each step: the forwards it shows, how many slots are settled, guesses and masks
FILM = """[...document.querySelectorAll("#steps button")].map((row) => {
  row.click();
  const of = (kind) => row.querySelectorAll(kind).length;
  const forwards = Number(document.getElementById("forwards").textContent);
  return [forwards, of(".settled"), of(".guess, .mask")];
})"""
WRITTEN = """[...document.querySelectorAll("#canvas .settled")]
  .map((each) => each.textContent).join("")"""
CANVAS = "document.getElementById('canvas').textContent"
ENDED = "document.getElementById('cost').textContent"
LENS = ".codelens-decoration a"
# a model that has to load, on a machine that has other things to do
LONG_S = 180
REACHED = """new Promise((resolve) => {{
  const socket = new WebSocket("{address}", ["lsp", "token.{token}"]);
  socket.onopen = () => resolve("open");
  socket.onerror = () => resolve("refused");
}})"""
FETCHED = """fetch("{address}").then(() => "read", () => "refused")"""

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Page, str]]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Opens the playground: `async with opened("--engine", "fake") as (page, url)`."""

    @asynccontextmanager
    async def open(*options: str, browser: tuple[str, ...] = ()) -> AsyncIterator[tuple[Page, str]]:
        state = {"CLOVER_WRITE_STATE_DIR": str(tmp_path / "state")}
        server = await Wire.start([*COMMAND, *options], **state)
        page = await Page.start(tmp_path / "browser", *browser)
        try:
            assert server.process.stdout
            url = (await server.process.stdout.readline()).decode().split()[-1]
            await page.open(url)
            await page.until(READY)
            yield page, url
        finally:
            # pytest keeps it, whatever came of the test
            (tmp_path / "page.png").write_bytes(await page.picture())
            await page.close()
            await server.kill()

    return open


async def choose(page: Page, control: str, value: str) -> None:
    """Choose an option, as a user does."""
    await page.value(f"""(() => {{
      const control = document.getElementById("{control}");
      control.value = "{value}";
      control.dispatchEvent(new Event("change"));
    }})()""")


def script(text: str, **more: object) -> str:
    """A line that has the fake engine write `text`."""
    return f"# clover-fake: {json.dumps({'text': text, **more})}\n"


async def test_ghost_text_and_how_it_came(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await page.press("Control+End")
        await page.type(script("min(price, 3)", steps=3, step_ms=20, confidence=0.5))
        await page.type("x = ")
        await page.until(f"{GHOST} === 'min(price, 3)'")
        await page.until(f"{CANVAS}.endsWith('x = min(price, 3)') && {ENDED}")
        status = await page.value(f"{STATUS}.textContent")
        assert re.fullmatch(r"6 tokens in 3 forwards, \d+ ms", status)
        # masks turn into tokens, and the last step is what the engine says it cost
        assert await page.value(FILM) == [[0, 0, 1], [1, 2, 4], [2, 4, 2], [3, 6, 0]]
        await page.press("Tab")
        assert (await page.value(TEXT)).endswith("x = min(price, 3)")
        assert page.complaints == []


async def test_a_word_a_dismissal_and_asking(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await page.press("Control+End")
        await page.type(script("two words") + "x = ")
        await page.until(GHOST)
        await page.press("Control+ArrowRight")
        assert (await page.value(TEXT)).endswith("x = two")
        await page.until(f"{GHOST} === ' words'")
        await page.press("Escape")
        await page.until(f"!{GHOST}")
        await page.press("Alt+\\")
        await page.until(GHOST)
        assert (await page.value(TEXT)).endswith("x = two")
        assert page.complaints == []


async def test_what_failed_can_be_asked_again(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await page.press("Control+End")
        await page.type(script("", error="EngineBusy") + "x = ")
        for _ in range(3):
            await page.until(f"{ENDED} === 'ended early' && {STATUS}.className === ''")
            assert await page.value(f"{STATUS}.dataset.kind") == "Error"
            await page.value(f"{ENDED} = ''")
            await page.press("Alt+\\")
        assert page.complaints == []


async def test_all_spans_are_filled_in_one_step(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await choose(page, "sample", "trip")
        await page.until(f"{TEXT}.includes('coast')")
        before = await page.value(TEXT)
        await page.press("Control+End")
        await page.type("".join(script(f"span {number}") for number in range(5)))
        marked = await page.value(TEXT)
        await page.until(f"document.querySelector('{LENS}')?.textContent === 'Fill all spans (5)'")
        await page.click(LENS)
        await page.until(f"{TEXT} !== {json.dumps(marked)}")
        filled = await page.value(TEXT)
        assert [f"span {number}" in filled for number in range(5)] == [True] * 5
        assert "____" not in filled
        await page.until(ENDED)
        assert await page.value(WRITTEN) == "".join(f"span {number}" for number in range(5))
        await page.press("Control+z")
        assert await page.value(TEXT) == marked != before
        assert page.complaints == []


async def test_a_film_can_be_looked_at_step_by_step(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await page.press("Control+End")
        await page.type(script("a b c", confidence=0.25) + "x = ")
        await page.until(f"{CANVAS}.endsWith('x = a b c') && {ENDED}")
        for step, written in enumerate(["", "a", "a b", "a b c"]):
            await page.value(f"""(() => {{
              const step = document.getElementById("step");
              step.value = {step};
              step.dispatchEvent(new Event("input"));
            }})()""")
            assert await page.value(WRITTEN) == written
        colour = "getComputedStyle(document.querySelector('#canvas .settled'))"
        assert await page.value(f"{colour}.getPropertyValue('--sure')") == "25%"
        await page.click("#replay")
        await page.until(f"{WRITTEN} === ''")
        await page.until(f"{WRITTEN} === 'a b c'")


async def test_another_way_to_write_takes_the_document_along(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, _):
        await page.press("Control+End")
        await page.type(script("before"))
        await choose(page, "decoding", "diffusion")
        await page.until(READY)
        await page.type("x = ")
        assert await page.until(GHOST) == "before"
        assert page.complaints == []


async def test_a_wrong_token_is_said(opened: Open) -> None:
    async with opened("--engine", "fake") as (page, url):
        await page.open("about:blank")
        await page.open(url[:-1])
        await page.until(f"{STATUS}?.dataset.kind === 'Error'")
        text = await page.value(f"{STATUS}.textContent")
        assert "open the URL that clover-write printed" in text


async def test_a_page_of_another_origin_reaches_nothing(opened: Open) -> None:
    rebound = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
    async with opened("--engine", "fake", browser=(rebound,)) as (page, url), elsewhere() as other:
        address, token = url.split("#token=")
        socket = address.replace("http:", "ws:")
        assert await page.value(REACHED.format(address=socket, token=token)) == "open"
        await page.open(other)
        await page.until("document.title === 'elsewhere'")
        assert await page.value(REACHED.format(address=socket, token=token)) == "refused"
        assert await page.value(FETCHED.format(address=address)) == "refused"
        # a name of the attacker's that leads to this machine
        await page.open(address.replace("127.0.0.1", "rebound.example"))
        await page.until("document.body?.textContent === 'unknown host\\n'")


@asynccontextmanager
async def elsewhere() -> AsyncIterator[str]:
    """A page of another port of this machine, and by that of another origin."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<title>elsewhere</title>"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.model
async def test_ghost_text_of_the_real_model(opened: Open, real_model: Path) -> None:
    async with opened("--engine", "inproc") as (page, _):
        await fill_a_span(page, f"{LENS}:last-child")
        await choose(page, "sample", "shopping")
        await page.until(f"{TEXT}.includes('cheapest')")
        before = await page.value(TEXT)
        await page.press("Alt+\\")
        ghost = await page.until(GHOST)
        film = await page.value(FILM)
        assert film[-1][1] > 0
        assert film[-1][2] == 0
        await page.press("Tab")
        accepted = await page.value(TEXT)
        assert ghost in accepted
        assert len(accepted) == len(before) + len(ghost)
        assert page.complaints == []


@pytest.mark.model
async def test_masks_of_the_real_model_turn_into_tokens(opened: Open, real_model: Path) -> None:
    async with opened("--engine", "inproc") as (page, _):
        await choose(page, "decoding", "diffusion")
        await page.until(READY)
        await fill_a_span(page, LENS)
        film = await page.value(FILM)
        assert any(settled and masks for _, settled, masks in film)
        assert max(masks for _, _, masks in film) > 3
        assert film[-1][2] == 0
        assert await page.value(WRITTEN)
        assert page.complaints == []


async def fill_a_span(page: Page, lens: str) -> None:
    """Fill spans of a note by a lens, which waits for an engine that has to load."""
    await choose(page, "sample", "minutes")
    await page.until(f"{TEXT}.includes('会议') && document.querySelector('{LENS}')")
    before = await page.value(TEXT)
    await page.click(lens)
    await page.until(f"{TEXT} !== {json.dumps(before)}", LONG_S)
