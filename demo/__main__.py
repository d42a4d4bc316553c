"""Start `clover-write lsp --stdio`, open the samples and print the ghost text in its place."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from rich.console import Console
from rich.text import Text

SAMPLES = Path(__file__).parent / "samples"
ATTEMPTS = 10  # of five seconds each, where the engine takes longer to load
CURSOR = "‖"
LANGUAGES = {".py": "python", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class Sample:
    """A file and where the cursor is put in it."""

    path: Path
    text: str
    cursors: tuple[types.Position, ...]

    @property
    def uri(self) -> str:
        return self.path.resolve().as_uri()


def read_sample(path: Path) -> Sample:
    """The file without its cursor marks, and their positions (UTF-16 units, as LSP counts)."""
    marked = path.read_text(encoding="utf-8")
    cursors = []
    for number, line in enumerate(marked.split("\n")):
        before, mark, _ = line.partition(CURSOR)
        if mark:
            cursors.append(types.Position(number, len(before.encode("utf-16-le")) // 2))
    return Sample(path, marked.replace(CURSOR, ""), tuple(cursors))


class Editor:
    """The least an editor does: open a document, ask at the cursor, hear the status."""

    def __init__(self) -> None:
        self._client = LanguageClient("clover-write-demo", "1")
        self._status: asyncio.Queue[str] = asyncio.Queue()

        def heard(params: Any) -> None:
            if params.message:
                self._status.put_nowait(params.message)

        self._client.feature("clover/status")(heard)

    async def start(self) -> None:
        """Start the server and shake hands."""
        await self._client.start_io(sys.executable, "-m", "clover_write", "lsp", "--stdio")
        await self._client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities())
        )
        self._client.initialized(types.InitializedParams())

    def open(self, sample: Sample) -> None:
        """Show the server a document."""
        language = LANGUAGES[sample.path.suffix]
        item = types.TextDocumentItem(sample.uri, language, 1, sample.text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    async def complete(self, sample: Sample, cursor: types.Position) -> list[str]:
        """The ghost texts at the cursor; none when the server has nothing to say."""
        answer = await self._client.text_document_inline_completion_async(
            types.InlineCompletionParams(
                context=types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
                text_document=types.TextDocumentIdentifier(sample.uri),
                position=cursor,
            )
        )
        items = answer.items if isinstance(answer, types.InlineCompletionList) else answer or []
        return [str(item.insert_text) for item in items]

    def last_status(self) -> str:
        """What the server last said of itself."""
        message = ""
        while not self._status.empty():
            message = self._status.get_nowait()
        return message

    async def stop(self) -> None:
        """Say goodbye as the protocol wants it."""
        await self._client.shutdown_async(None)
        self._client.exit(None)
        await self._client.stop()  # type: ignore[no-untyped-call]


def in_place(sample: Sample, cursor: types.Position, ghost: str) -> Text:
    """The cursor's line and its neighbours, the ghost text where it would be inserted."""
    lines = sample.text.split("\n")
    line = lines[cursor.line]
    at = len(line.encode("utf-16-le")[: cursor.character * 2].decode("utf-16-le"))
    shown = Text()
    for above in lines[max(0, cursor.line - 2) : cursor.line]:
        shown.append(f"  │ {above}\n")
    shown.append(f"  │ {line[:at]}")
    shown.append(ghost.replace("\n", "\n  │ ") or "‖", style="bold green" if ghost else "dim")
    shown.append(line[at:])
    return shown


async def ask(
    editor: Editor, sample: Sample, cursor: types.Position
) -> tuple[list[str], float, str]:
    """The ghost texts, the milliseconds they took and the status; asked again while the engine
    loads."""
    attempt = 1
    while True:
        editor.last_status()
        asked = perf_counter()
        ghosts = await editor.complete(sample, cursor)
        took, status = (perf_counter() - asked) * 1000, editor.last_status()
        if "loading" not in status or attempt == ATTEMPTS:
            return ghosts, took, status
        attempt += 1


async def main() -> int:
    """Complete at every cursor of every sample; status 1 when one of them got nothing."""
    console = Console(highlight=False)
    samples = [read_sample(path) for path in sorted(SAMPLES.iterdir())]
    editor = Editor()
    started = perf_counter()
    await editor.start()
    console.print(f"server ready in {perf_counter() - started:.2f} s; the engine is starting\n")
    for sample in samples:
        editor.open(sample)
    empty = 0
    for sample in samples:
        console.print(f"[bold]{sample.path.name}[/bold]")
        for cursor in sample.cursors:
            ghosts, took, status = await ask(editor, sample, cursor)
            console.print(in_place(sample, cursor, ghosts[0] if ghosts else ""))
            several = f" for {len(ghosts)} answers; the last" if len(ghosts) > 1 else ""
            console.print(f"  [dim]{took:.0f} ms{several}: {status}[/dim]\n")
            empty += not ghosts
    await editor.stop()
    return 1 if empty else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
