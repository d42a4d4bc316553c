"""What other open files tell about a place, and that it stands still while one types."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_engine.api import CanvasRequest, Context, Hole, Literal
from clover_lsp.documents import Document
from clover_lsp.infill import warm
from clover_lsp.neighbours import STEP_LINES, Neighbours
from clover_lsp.positions import IndexedText
from clover_lsp.settings import Settings

HELPERS = "def compute_total(prices, discount):\n    return sum(prices) - discount\n"
CALLER = "from helpers import compute_total\n\n\ndef bill(prices):\n    return \n"


class Project:
    """Open files of a folder, and the context told for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings()
        self.neighbours = Neighbours(lambda _: self.settings)
        self.documents: dict[str, Document] = {}

    def show(self, name: str, text: str, language: str = "python") -> Document:
        """Open a file, or change it."""
        uri = (self.folder / name).as_uri()
        document = Document(uri, language, 1, IndexedText.of(text))
        self.documents[name] = document
        self.neighbours.changed(document)
        return document

    def close(self, name: str) -> None:
        self.neighbours.closed(self.documents.pop(name).uri)

    async def context(self, name: str, offset: int | None = None) -> Context | None:
        document = self.documents[name]
        at = len(document.text) if offset is None else offset
        request = warm(document.text, at, document=document.uri)
        return (await self.neighbours.equip(request)).context

    async def quoted(self, name: str) -> list[str]:
        """The paths that the context of a file quotes."""
        context = await self.context(name)
        return [snippet.path for snippet in context.snippets] if context else []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "pond"
    (folder / ".git").mkdir(parents=True)
    return Project(folder)


async def test_a_neighbour_tells_what_the_text_uses(project: Project) -> None:
    project.show("lib/helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    context = await project.context("bill.py")
    assert context is not None
    assert (context.project, context.path) == ("pond", "bill.py")
    assert [snippet.path for snippet in context.snippets] == ["lib/helpers.py"]
    assert context.snippets[0].text == HELPERS.rstrip()


@pytest.mark.parametrize(
    ("language", "other", "together"),
    [
        ("python", "python", True),
        ("c", "cpp", True),
        ("typescript", "typescriptreact", True),
        ("markdown", "plaintext", True),
        ("python", "markdown", False),
        ("rust", "go", False),
    ],
)
async def test_languages_that_go_together(
    project: Project, language: str, other: str, together: bool
) -> None:
    project.show("a", HELPERS, other)
    project.show("b", CALLER, language)
    assert await project.quoted("b") == (["a"] if together else [])


async def test_a_context_stands_still_while_one_types(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    first = await project.context("bill.py")
    typed = CALLER
    for line in range(STEP_LINES - 10):
        typed += f"    other_{line} = compute_total(discount)\n"
        project.show("bill.py", typed)
        assert await project.context("bill.py") is first


async def test_a_file_that_is_opened_meanwhile_changes_nothing(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    first = await project.context("bill.py")
    project.show("more.py", HELPERS.replace("sum", "max"))
    assert await project.context("bill.py") is first


async def test_the_first_neighbour_to_open_is_told(project: Project) -> None:
    project.show("bill.py", CALLER)
    assert await project.context("bill.py") is None
    project.show("helpers.py", HELPERS)
    assert await project.quoted("bill.py") == ["helpers.py"]


async def test_what_was_edited_meanwhile_is_told_anew(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    await project.context("bill.py")
    project.show("helpers.py", HELPERS.replace("discount", "rebate"))
    context = await project.context("bill.py")
    assert context is not None
    assert "rebate" in context.snippets[0].text


async def test_far_away_other_things_are_told(project: Project) -> None:
    project.show("helpers.py", HELPERS + "\n\ndef far_away():\n    return 1\n")
    text = CALLER + "    # and so on\n" * (STEP_LINES + 120) + "    far_away()\n"
    project.show("bill.py", text)
    near, far = await project.context("bill.py", 60), await project.context("bill.py")
    assert near is not None
    assert far is not None
    assert "far_away" not in near.snippets[0].text
    assert "far_away" in far.snippets[0].text


async def test_a_closed_file_is_quoted_no_more(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    assert await project.quoted("bill.py") == ["helpers.py"]
    project.close("helpers.py")
    assert await project.context("bill.py") is None


async def test_settings_hold_at_once(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    project.show("bill.py", CALLER)
    assert await project.quoted("bill.py") == ["helpers.py"]
    project.settings = Settings(secret_files=("helpers*",))
    assert await project.context("bill.py") is None
    project.settings = Settings(open_files=False)
    assert await project.context("bill.py") is None


async def test_the_file_touched_last_stands_nearest_to_the_text(project: Project) -> None:
    project.show("old.py", HELPERS)
    project.show("new.py", HELPERS)
    project.show("bill.py", CALLER)
    assert await project.quoted("bill.py") == ["old.py", "new.py"]


async def test_files_outside_the_repository_show_the_end_of_their_path(project: Project) -> None:
    outside = project.folder.parent / "sea" / "lib" / "helpers.py"
    project.show(str(outside), HELPERS)
    project.show("bill.py", CALLER)
    assert await project.quoted("bill.py") == ["lib/helpers.py"]


async def test_only_infills_of_open_files_are_told_anything(project: Project) -> None:
    project.show("helpers.py", HELPERS)
    untitled = Document("untitled:Untitled-1", "python", 1, IndexedText.of(CALLER))
    project.neighbours.changed(untitled)
    bill = project.show("bill.py", CALLER)
    holes = CanvasRequest((Literal(CALLER), Hole(), Literal("\n"), Hole()), document=bill.uri)
    for request in (warm(CALLER, 9, document=untitled.uri), warm(CALLER, 9), holes):
        assert await project.neighbours.equip(request) == request
    assert await project.quoted("bill.py") == ["helpers.py"]


async def test_names_of_any_length_leave_a_valid_context(project: Project) -> None:
    name = "/".join(["很长的文件夹名字" * 8] * 3) + "/helpers.py"
    project.show(name, HELPERS + "# 中文\n" * 400)
    project.show(name.replace("helpers", "bill"), CALLER)
    context = await project.context(name.replace("helpers", "bill"))
    assert context is not None  # one of too many bytes refuses to be made
