"""`clover-write restructure` and `clover-write check`, run as a user runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clover_write.cli import main

REPORT = """\
# {{title}}

## Impact

## Cause

<!-- clover
Impact: {aliases: [What people saw]}
Cause: {aliases: [Root cause]}
-->
"""
NOTE = "# Outage\n\n## Root cause\n\nIt was full.\n\n## What people saw\n\n- errors\n"
RESTRUCTURED = "# Outage\n\n## Impact\n\n- errors\n\n## Cause\n\nIt was full.\n"
# what makes a template unusable, by the code that is told; the others are warnings
BROKEN = {
    "T01": "# A\n{{b}}\n<!-- clover\nb: [\n-->\n",
    "T02": "# A\n{{b}}\n<!-- clover\nc: {required: true}\n-->\n",
    "T03": "# A\n{{b c}}\n",
    "T04": "# A\n{{b\n",
    "T08": "# A\n## B <!-- optional -->\n{{b}}\n<!-- clover\nb: {required: true}\n-->\n",
    "T09": "# A\n{{b}}\n<!-- clover\nb: {one of: [x]}\n-->\n",
    "T10": "# A\n## B <!-- repeat -->\n",
    "T12": "# A\n{{b}}\n<!-- clover\nb: {mode: write, max: 99999 words}\n-->\n",
    "T14": "# A\n{{b}}\n<!-- clover\nb: {colour: red}\n-->\n",
}
REWRITE = "# {{title}}\n\n## Impact\n\n## Cause\n\n<!-- clover\nCause: {mode: rewrite}\n-->\n"
WARNED = {
    "T05": "# A\n`{{b}}`\n",
    "T06": "# A\n### B\n",
    "T07": "# A\n{{b}}{{c}}\n",
    "T11": "# A\n## B\n## B\n",
    "T13": "# A\n<% x %>\n",
}


@pytest.fixture(autouse=True)
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A note in a workspace that has a template `report`."""
    work = tmp_path / "work"
    put(work / ".clover" / "templates" / "report.md", REPORT.encode())
    monkeypatch.chdir(work)
    monkeypatch.setattr("clover_write.config.config_path", lambda: tmp_path / "config.toml")
    return put(work / "note.md", NOTE.encode())


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("engine", [["--no-model"], ["--engine", "fake"]])
def test_the_document_is_printed_or_written_in_its_shape(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes], engine: list[str]
) -> None:
    command = ["restructure", str(note), "--template", "report", *engine]
    assert main(command) == 0
    assert capfdbinary.readouterr() == (RESTRUCTURED.encode(), b"")
    assert note.read_bytes() == NOTE.encode()
    assert main([*command, "--in-place"]) == 0
    assert note.read_bytes() == RESTRUCTURED.encode()
    before = note.stat()
    assert main([*command, "--in-place"]) == 0
    # not even written
    assert (note.stat().st_ino, note.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert main([*command, "--diff"]) == 0
    assert capfdbinary.readouterr() == (b"", b"")


def test_the_template_stands_in_the_front_matter_and_other_bytes_stay(
    note: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    head = "\ufeff---\ntemplate: report\nx:  '1'\n---\n\n"
    note.write_bytes((head + NOTE).replace("\n", "\r\n").encode())
    assert main(["restructure", str(note), "--no-model", "--in-place"]) == 0
    assert note.read_bytes() == (head + RESTRUCTURED).replace("\n", "\r\n").encode()
    assert main(["check", str(note)]) == 0
    assert capfdbinary.readouterr() == (b"", b"")


def test_what_the_model_words_is_told(note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # the fake engine says what the last example of the prompt says
    new = "Mara must renew the certificate of the shop before 3 June and tell the team about it."
    text = f"By the way, {new}"
    note.write_text(f"# Outage\n\n## Cause\n\n{text}\n", encoding="utf-8")
    put(Path(".clover/templates/report.md"), REWRITE.encode())
    command = ["restructure", str(note), "--template", "report", "--engine", "fake"]
    assert main(command) == 0
    shown = capfd.readouterr()
    assert f"## Cause\n\n{new}\n" in shown.out
    assert shown.err == "clover-write: 1 texts are the model's; --report shows them\n"
    assert main([*command, "--report"]) == 0
    assert f"- Cause: “{text}” → “{new}”" in capfd.readouterr().out
    assert main([*command, "--no-model"]) == 0
    assert text in capfd.readouterr().out


def test_diff_and_report_change_nothing(note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["restructure", str(note), "--template", "report", "--no-model"]
    assert main([*command, "--diff"]) == 0
    diff = capfd.readouterr().out
    assert diff.startswith(f"--- {note}\n+++ {note}\n@@ ")
    assert "-## What people saw\n" in diff
    assert main([*command, "--report"]) == 0
    assert "| 5 | It was full. | Cause | heading |" in capfd.readouterr().out
    assert note.read_bytes() == NOTE.encode()


def test_sections_are_taken_one_by_one(note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["restructure", str(note), "--template", "report", "--no-model", "--section"]
    assert main([*command, "Impact"]) == 0
    moved = "## Impact\n\n- errors\n\n## Root cause\n\nIt was full.\n"
    assert capfd.readouterr().out == f"# Outage\n\n{moved}"
    assert main([*command, "Cause", "--section", "Impact"]) == 0
    assert capfd.readouterr().out == RESTRUCTURED
    assert main([*command, "Luck"]) == 1
    error = 'no change is for a section "Luck"; there are Impact, Cause'
    assert capfd.readouterr().err == f"clover-write: {error}\n"


def test_missing_facts_are_visible_holes_and_leftovers_are_told(
    note: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    note.write_text("# Outage\n\n## Root cause\n\nIt was full.\n", encoding="utf-8")
    assert main(["restructure", str(note), "--template", "report", "--no-model"]) == 0
    assert capfd.readouterr() == (
        "# Outage\n\n## Impact\n\nTODO(Impact)\n\n## Cause\n\nIt was full.\n",
        "",
    )
    note.write_text(f"{NOTE}\nLorem ipsum.\n\n## Annex\n\nDolor.\n", encoding="utf-8")
    assert main(["restructure", str(note), "--template", "incident", "--no-model"]) == 0
    out, err = capfd.readouterr()
    assert "## Unplaced\n" in out
    assert "portions fit nowhere and stand at the end; --report names them\n" in err


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n## Cause\n\nOne.\n\n## Impact\n\nTwo.\n\n## Cause\n\nThree.\n",
        "# T\n\n## Cause\n\nThe same. Again.\n\n## Impact\n\nThe same. Again.\n",
        "# T\n\n## Root cause\n\nA.\n\n## Cause\n\nB.\n",
    ],
)
def test_duplicates_are_all_kept(note: Path, capfd: pytest.CaptureFixture[str], text: str) -> None:
    note.write_text(text, encoding="utf-8")
    assert main(["restructure", str(note), "--template", "report", "--no-model"]) == 0
    out = capfd.readouterr().out
    for word in ("One.", "Two.", "Three.", "The same. Again.", "A.", "B."):
        assert out.count(word) == text.count(word)
    assert out.index("## Impact") < out.index("## Cause")
    assert out.count("## Cause") == 1


@pytest.mark.parametrize(
    ("content", "template", "message"),
    [
        (None, "report", "does not exist"),
        (b"", "report", "it has no text yet"),
        (b"\n \n", "report", "it has no text yet"),
        (b"---\na: b\n---\n", "report", "it has no text yet"),
        (b"# a\0", "report", "is a binary file"),
        (b"caf\xe9", "report", "is not UTF-8"),
        (b"text\n", "incidnet", 'there is no template "incidnet"; did you mean "incident"?'),
        (b"text\n", None, "which template? Give --template, or `template:` in the front matter"),
        *((b"text\n", code, f"[{code}]") for code in BROKEN),
    ],
)
def test_bad_input_is_one_line_that_helps_and_changes_nothing(
    note: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    template: str | None,
    message: str,
) -> None:
    for code, text in BROKEN.items():
        put(Path(".clover/templates") / f"{code}.md", text.encode())
    note.unlink()
    if content is not None:
        note.write_bytes(content)
    named = ["--template", template] if template else []
    assert main(["restructure", str(note), *named, "--no-model", "--in-place"]) == 1
    out, error = capsys.readouterr()
    assert message in error
    assert (out, error.count("\n")) == ("", 1)
    assert content is None or note.read_bytes() == content
    assert sorted(os.listdir()) == [".clover", *(["note.md"] if content is not None else [])]


@pytest.mark.parametrize("code", WARNED)
def test_a_template_with_warnings_can_be_used(
    note: Path, capfd: pytest.CaptureFixture[str], code: str
) -> None:
    put(Path(".clover/templates/odd.md"), WARNED[code].encode())
    assert main(["templates", "check", ".clover/templates/odd.md"]) == 0
    assert f"[{code}]" in capfd.readouterr().out
    assert main(["restructure", str(note), "--template", "odd", "--no-model"]) == 0
    assert "It was full." in capfd.readouterr().out


def test_a_file_that_changed_meanwhile_is_left_alone(
    note: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from clover_templates.scoring import Scores, WordScorer

    async def scores(*_: object) -> Scores:
        put(note, b"mine")
        return [[0.0, 1.0]]

    monkeypatch.setattr(WordScorer, "scores", scores)
    note.write_text("It was full.\n", encoding="utf-8")
    command = ["restructure", str(note), "--template", "report", "--no-model", "--in-place"]
    assert main(command) == 1
    assert "has changed meanwhile: nothing was written" in capsys.readouterr().err
    assert note.read_text(encoding="utf-8") == "mine"


def test_a_template_that_takes_no_leftovers_refuses_them(
    note: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strict = REPORT.replace("<!-- clover\n", "<!-- clover\nleftover: refuse\n")
    put(Path(".clover/templates/strict.md"), strict.encode())
    note.write_text("Lorem ipsum.\n\nDolor sit.\n", encoding="utf-8")
    command = ["restructure", str(note), "--template", "strict", "--no-model", "--in-place"]
    assert main(command) == 1
    assert "fit nowhere, and the template takes no leftovers" in capsys.readouterr().err
    assert note.read_text(encoding="utf-8") == "Lorem ipsum.\n\nDolor sit.\n"


def test_check_prints_findings_as_compilers_do(
    note: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(note), "--template", "report"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith(f"{note}:3:1 [D06] ")
    held = put(note.with_name("held.md"), RESTRUCTURED.replace("It was", "TODO(x) was").encode())
    assert main(["check", str(held), "--template", "report"]) == 0
    assert capfd.readouterr().out == f"{held}:9:1 [D07] TODO(x) is still to be filled in\n"
    good = put(note.with_name("good.md"), RESTRUCTURED.encode())
    assert main(["check", str(good), str(note), "--template", "report"]) == 1
    assert all(line.startswith(str(note)) for line in capfd.readouterr().out.splitlines())
