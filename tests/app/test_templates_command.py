"""`clover-write templates`, run as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clover_write.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("clover_write.config.config_path", lambda: tmp_path / "config.toml")


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_list_names_every_template_with_its_origin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "templates" / "mine.md", "# {{title}}\n## Mine\n")
    put(Path(".clover/templates/adr.md"), "# {{title}}\n## Ours\n<!-- clover\ntitle: Ours\n-->\n")
    put(Path(".clover/templates/broken.md"), "# {{title\n")
    assert main(["templates", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["mine"].split()[1] == "user"
    assert lines["adr"].split()[1:] == ["workspace", "en", "Ours"]
    assert "cannot be used" in lines["broken"]
    assert lines["请示"].split()[1:3] == ["shipped", "zh"]


def test_list_as_json_has_sections_and_aliases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["templates", "list", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert "postmortem" in found["incident"]["aliases"]
    assert {"level": 2, "heading": "Impact", "optional": False} in found["incident"]["sections"]
    assert found["incident"]["findings"] == []


def test_show_prints_a_template_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["templates", "show", "postmortem"]) == 0
    assert capsys.readouterr().out.startswith("# {{title}}\n")


def test_an_unknown_name_is_one_line_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["templates", "show", "incidnet"]) == 1
    error = capsys.readouterr().err
    assert error == 'clover-write: there is no template "incidnet"; did you mean "incident"?\n'


def test_check_says_what_is_wrong_and_where(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = put(Path("wrong.md"), "# A\n{{b\n### C\n")
    assert main(["templates", "check", str(wrong)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        'wrong.md:2:1 [T04] "{{" is never closed; write \\{{ for two literal braces',
        "wrong.md:3:1 [T06] the heading skips a level, from 1 to 3",
    ]
    odd = put(Path("odd.md"), "# A\n### C\n")
    assert main(["templates", "check", str(odd)]) == 0


@pytest.mark.parametrize(
    ("data", "message"), [(None, "No such file"), (b"caf\xe9", "cannot be read as a template")]
)
def test_a_file_that_is_no_text_is_one_line(
    capsys: pytest.CaptureFixture[str], data: bytes | None, message: str
) -> None:
    if data is not None:
        Path("mine.md").write_bytes(data)
    assert main(["templates", "check", "mine.md"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_new_makes_a_template_of_a_document_that_is_found_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    note = put(Path("may.md"), "# May\n\n## Present\n\n- one\n\n## Talk\n\nLong.\n")
    assert main(["templates", "new", "--from", str(note)]) == 0
    text = capsys.readouterr().out
    assert "- {{present}}" in text
    assert main(["templates", "new", "--from", str(note), "--name", "crew"]) == 0
    assert Path(".clover/templates/crew.md").read_text(encoding="utf-8") == text.replace(
        '"may"', '"crew"'
    )
    assert main(["templates", "show", "crew"]) == 0
    assert main(["templates", "show", "crew", "--workspace", "elsewhere"]) == 1
    assert main(["templates", "check", ".clover/templates/crew.md"]) == 0
    assert main(["templates", "new", "--from", str(note), "--name", "crew"]) == 1
    assert "there already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../crew", "a/b", "."])
def test_a_template_is_written_nowhere_else(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    note = put(Path("may.md"), "# May\n")
    assert main(["templates", "new", "--from", str(note), "--name", name]) == 1
    assert "is no name" in capsys.readouterr().err
    assert not Path(".clover").exists()
