"""Chromium, driven by its DevTools protocol: one process, one page."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from itertools import count
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 20
# tests run as root in containers, where Chromium's own sandbox does not start
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--window-size=1280,900",
)
KEYS = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Escape": {"code": "Escape", "windowsVirtualKeyCode": 27},
    "End": {"code": "End", "windowsVirtualKeyCode": 35},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "ArrowRight": {"code": "ArrowRight", "windowsVirtualKeyCode": 39},
    "ArrowDown": {"code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "\\": {"code": "Backslash", "windowsVirtualKeyCode": 220},
    "z": {"code": "KeyZ", "windowsVirtualKeyCode": 90},
}
MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}
# in the page itself: looked at with each of its frames
UNTIL = """new Promise((resolve, reject) => {{
  const late = setTimeout(() => reject(new Error("it did not come to this")), {patience_ms});
  const look = () => {{
    const found = ({condition});
    if (!found) return setTimeout(look, 20);
    clearTimeout(late);
    resolve(found);
  }};
  look();
}})"""


def find_chromium() -> str | None:
    """Where Chromium or Chrome is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Page:
    """A page in a browser of its own."""

    def __init__(self, process: Process, connection: ClientConnection) -> None:
        self._process = process
        self._connection = connection
        self._numbers = count(1)
        self._session: dict[str, str] = {}
        self.complaints: list[str] = []

    @classmethod
    async def start(cls, profile: Path, *options: str) -> Page:
        """Start a browser that keeps what it must in the folder `profile`."""
        program = find_chromium()
        assert program
        command = [program, *OPTIONS, *options, f"--user-data-dir={profile}", "about:blank"]
        process = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=PIPE)
        assert process.stderr
        async with asyncio.timeout(PATIENCE_S):
            while not (line := await process.stderr.readline()).startswith(b"DevTools listening"):
                assert line, "chromium ended"
        url = line.decode().split()[-1]
        page = cls(process, await connect(url, max_size=None, compression=None))
        await page._attach()
        return page

    async def _attach(self) -> None:
        target = (await self.ask("Target.createTarget", url="about:blank"))["targetId"]
        attached = await self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            await self.ask(f"{domain}.enable")
        # a page that is not in front takes no keys
        await self.ask("Emulation.setFocusEmulationEnabled", enabled=True)

    async def close(self) -> None:
        """End the browser."""
        await self._connection.close()
        self._process.terminate()
        await self._process.communicate()

    async def ask(self, method: str, **params: object) -> Any:
        """The result of a command of the protocol."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **self._session}
        await self._connection.send(json.dumps(message))
        while (answer := json.loads(await self._connection.recv())).get("id") != number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _note(self, event: Any) -> None:
        """Keep what the browser complains about: errors of scripts, refusals by a policy."""
        if event["method"] == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.complaints.append(str(details.get("exception", details)))
        elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(event["params"]["entry"]["text"])

    async def open(self, url: str) -> None:
        """Go to a page, whatever it answers."""
        await self.ask("Page.navigate", url=url)

    async def value(self, expression: str, patience_s: int = PATIENCE_S) -> Any:
        """The value of an expression, or of the promise that it is."""
        evaluated = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        async with asyncio.timeout(patience_s + 5):
            found = await self.ask("Runtime.evaluate", **evaluated)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, condition: str, patience_s: int = PATIENCE_S) -> Any:
        """The expression's value, once it is true."""
        waiting = UNTIL.format(condition=condition, patience_ms=patience_s * 1000)
        return await self.value(waiting, patience_s)

    async def type(self, text: str) -> None:
        """Type, a key after the other."""
        for sign in text:
            if sign == "\n":
                await self.press("Enter")
                continue
            await self.ask("Input.dispatchKeyEvent", type="char", text=sign)

    async def press(self, chord: str) -> None:
        """Press a key, `Control+ArrowRight` with others held."""
        *held, key = chord.split("+")
        modifiers = sum(MODIFIERS[name] for name in held)
        event = {"key": key, "modifiers": modifiers, **KEYS[key]}
        await self.ask("Input.dispatchKeyEvent", type="keyDown", **event)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **event)

    async def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        element = f"document.querySelector({json.dumps(selector)})"
        box = await self.value(f"{element}.getBoundingClientRect().toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    async def picture(self) -> bytes:
        """What is on the screen, as a PNG."""
        taken = await self.ask("Page.captureScreenshot", format="png")
        return base64.b64decode(taken["data"])
