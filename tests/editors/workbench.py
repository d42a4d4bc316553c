"""The window of VS Code in a browser: what a user does in it, and what they see."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.editors.code_server import CodeServer
from tests.support.chromium import find_chromium

T = TypeVar("T")
PATIENCE_MS = 60_000
# the cursor's line as the document has it, the ghost text in and below it, both as they are seen
LOOK = """() => {
  const editor = document.querySelector(".monaco-editor.focused")
    ?? document.querySelector(".editor-instance .monaco-editor");
  if (!editor) return { line: "", ghost: "", whole: "" };
  const cursor = editor.querySelector(".cursors-layer .cursor")?.getBoundingClientRect();
  const ghost = (node) => node.closest?.('[class*="ghost-text"]');
  const plain = (text) => text.replaceAll("\\u00a0", " ").replaceAll("\\u200c", "");
  let line = "", shown = "", whole = "";
  for (const view of editor.querySelectorAll(".view-lines > .view-line")) {
    const box = view.getBoundingClientRect();
    if (!cursor || cursor.top < box.top - 2 || cursor.top >= box.bottom - 2) continue;
    const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = plain(walker.currentNode.data);
      whole += text;
      if (ghost(walker.currentNode.parentElement)) shown += text; else line += text;
    }
  }
  const below = [...editor.querySelectorAll(".suggest-preview-text .view-line")];
  const more = below.map((view) => "\\n" + plain(view.textContent)).join("");
  return { line, ghost: shown + more, whole: whole + more };
}"""


@dataclass(frozen=True, slots=True)
class Look:
    """What one moment shows: the cursor's line without ghost text, that text, and the line with
    the text in its place."""

    line: str
    ghost: str
    whole: str


class Workbench:
    """One window. Screenshots go into `artefacts`."""

    def __init__(self, page: Page, server: CodeServer, artefacts: Path) -> None:
        self.page = page
        self.server = server
        self._artefacts = artefacts

    def open(self, name: str, text: str) -> None:
        """Make a file in the workspace, open it and put the cursor at its end."""
        self.write(name, text)
        self.find(name)
        self.editor(name).wait_for(timeout=PATIENCE_MS)
        expect(self.page.locator(".tab.active", has_text=name).first).to_be_visible()
        self.press("Control+End")

    def write(self, name: str, text: str) -> None:
        """Make a file in the workspace."""
        (self.server.workspace / name).write_bytes(text.encode())

    def find(self, name: str) -> None:
        """Open a file by the list of files."""
        self.press("Control+P")
        # by its whole path: the list of the folder's files may be older than this one
        self.page.keyboard.insert_text(str(self.server.workspace / name))
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=name)
        row.first.wait_for(timeout=PATIENCE_MS)
        self.press("Enter")

    def editor(self, name: str) -> Locator:
        """The editor of a file."""
        selector = f'.editor-instance .monaco-editor[data-uri$="/{quote(name)}"]'
        return self.page.locator(selector).first

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Key by key, as a fast typist does."""
        self.page.keyboard.type(text, delay=30)

    def look(self) -> Look:
        """What is seen at this moment."""
        return Look(**self.page.evaluate(LOOK))

    def line_after(self, before: str) -> Look:
        """What is seen once the cursor's line is another than `before`."""
        return self.wait(self.look, lambda look: look.line != before, f"line but {before!r}")

    def shows(self, whole: str) -> None:
        """Waits until ghost text makes the cursor's line `whole`."""
        self.wait(
            self.look, lambda look: bool(look.ghost) and look.whole == whole, f"ghost for {whole!r}"
        )

    def ghost(self, within_s: float = 20) -> str:
        """The ghost text, once there is some."""
        return self.wait(self.look, lambda look: bool(look.ghost), "ghost text", within_s).ghost

    def ghost_at_last(self, within_s: float = 180) -> str:
        """The ghost text, asked for until there is some: a slow machine misses a keystroke's time,
        which nothing but the next key would make good."""
        give_up_at = time.monotonic() + within_s
        while not (ghost := self._soon()):
            assert time.monotonic() < give_up_at, "no ghost text came"
            self.run("Complete Now")
        return ghost

    def _soon(self) -> str:
        """The ghost text of the next seconds; empty if none comes."""
        for _ in range(100):
            if ghost := self.look().ghost:
                return ghost
            self.page.wait_for_timeout(60)
        return ""

    def no_ghost(self) -> None:
        """Waits until there is none."""
        self.wait(self.look, lambda look: not look.ghost, "line without ghost text")

    def wait(
        self, now: Callable[[], T], wanted: Callable[[T], bool], what: str, within_s: float = 20
    ) -> T:
        """What `now` returns once that is as wanted."""
        give_up_at = time.monotonic() + within_s
        while not wanted(found := now()):
            if time.monotonic() > give_up_at:
                self.shoot("missed")
                raise AssertionError(f"no {what}: {found}")
            self.page.wait_for_timeout(50)
        return found

    def run(self, title: str, category: str = "Clover Write") -> None:
        """A command of the palette, by its title."""
        self.press("F1")
        self.page.keyboard.insert_text(f"{category}: {title}")
        self.pick(re.compile(f"^{category}: {re.escape(title)}"))

    def pick(self, text: str | re.Pattern[str]) -> None:
        """Choose the first entry of an open list that has the text."""
        row = self.page.locator(".quick-input-list .monaco-list-row", has_text=text).first
        row.wait_for(timeout=PATIENCE_MS)
        row.click()

    def answer(self, message: str, button: str) -> None:
        """Press a button of a notification."""
        toast = self.page.locator(".notification-toast", has_text=message).first
        toast.wait_for(timeout=PATIENCE_MS)
        toast.get_by_role("button", name=button).first.click()

    def status(self, wanted: str, within_s: float = 60) -> str:
        """What the item in the status bar says to a screen reader, once it is as wanted."""
        item = self.page.locator('[id="clover-write.clover-write.cloverWrite.status"] a').first
        item.wait_for(timeout=PATIENCE_MS)
        pattern = re.compile(wanted)

        def label() -> str:
            return item.get_attribute("aria-label") or ""

        return self.wait(
            label, lambda text: bool(pattern.search(text)), f"status {wanted}", within_s
        )

    def saved(self, name: str) -> bytes:
        """The bytes of the file, after saving it."""
        self.press("Control+S")
        tab = self.page.locator(".tab.active", has_text=name).first
        expect(tab).not_to_have_class(re.compile("dirty"), timeout=PATIENCE_MS)
        return (self.server.workspace / name).read_bytes()

    def shoot(self, name: str) -> None:
        """Keep what the window shows."""
        self._artefacts.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self._artefacts / f"{name.replace(' ', '-')}.png")


@contextmanager
def workbench(server: CodeServer, artefacts: Path) -> Iterator[Workbench]:
    """A window of the server's folder, with the extension at work; skips without a browser."""
    if not (browser := find_chromium()):
        pytest.skip("chromium is not installed: .ci/run installs it")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=arguments)
        try:
            page = chromium.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{server.url}/?folder={server.workspace}", wait_until="domcontentloaded")
            page.wait_for_selector(".monaco-workbench", timeout=PATIENCE_MS)
            page.wait_for_selector(".explorer-folders-view", timeout=PATIENCE_MS)
            yield Workbench(page, server, artefacts)
        finally:
            chromium.close()
