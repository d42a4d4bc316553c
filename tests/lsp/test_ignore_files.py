"""Which files `.gitignore` and `.cloverignore` name, with git itself as the judge."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_lsp.ignore_files import cloverignored, gitignored


def git(folder: Path, *arguments: str, text: str = "") -> str:
    """What git prints, without the settings of the machine."""
    empty = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": "/-"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=text, env=os.environ | empty, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def judged(root: Path, names: list[str]) -> set[str]:
    """Those of the files that git ignores."""
    found = git(root, "check-ignore", "--no-index", "-z", "--stdin", text="\0".join(names))
    return {name for name in found.split("\0") if name}


def ours(root: Path, names: list[str]) -> set[str]:
    return {name for name in names if gitignored(root / name)}


def laid_out(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


NAMES = [
    "a.log",
    "b.log",
    "b.txt",
    "sub/a.log",
    "sub/b.txt",
    "sub/deep/a.log",
    "x y",
    "#a",
    "!b",
    "[c]",
]

CASES: dict[str, dict[str, str]] = {
    "a name anywhere": {".gitignore": "a.log\n"},
    "anchored": {".gitignore": "/a.log\nsub/b.txt\n"},
    "a folder": {".gitignore": "sub/\n"},
    "a folder's name is no file's": {".gitignore": "a.log/\n"},
    "negated": {".gitignore": "*.log\n!a.log\n"},
    "no way out of an ignored folder": {".gitignore": "sub\n!sub/a.log\n"},
    "all but": {".gitignore": "/*\n!/sub\n/sub/*\n!/sub/deep\n"},
    "nested wins": {".gitignore": "*.log\n", "sub/.gitignore": "!a.log\n"},
    "nested is relative": {"sub/.gitignore": "/a.log\n"},
    "double stars": {".gitignore": "**/deep\nsub/**/b.txt\n"},
    "all within": {".gitignore": "sub/**\n"},
    "sets": {".gitignore": "[a-b].*\n!b.[!l]*\n"},
    "comments and blanks": {".gitignore": "# a.log\n\n  \nb.txt   \n\\#a\n\\!b\n\\[c]\nx\\ y  \n"},
    "windows lines and a mark": {".gitignore": "\ufeffa.log\r\nb.txt\r\n"},
    "unclosed": {".gitignore": "[a\n[]*\n?[!]*\n\\\n"},
    "exclude file": {".git/info/exclude": "b.txt\n", "sub/.gitignore": "!b.txt\n"},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_git_agrees(root: Path, name: str) -> None:
    laid_out(root, CASES[name])
    laid_out(root, dict.fromkeys(NAMES, ""))
    assert ours(root, NAMES) == judged(root, NAMES)


pattern = st.text(st.sampled_from("ab/*?!\\[]-. #"), max_size=7)
patterns = st.lists(pattern, max_size=4).map("\n".join)
parts = st.sampled_from(["a", "b", "ab", "a b", "a.b", "-", "#a", "!a"])
path = st.lists(parts, min_size=1, max_size=3).map("/".join)


@given(patterns, patterns, st.lists(path, min_size=1, max_size=6, unique=True))
@settings(max_examples=25, deadline=None)
def test_git_agrees_on_any_patterns(top: str, below: str, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        git(root, "init", "-q")
        laid_out(root, {".gitignore": top, "a/.gitignore": below})
        # a name may be a folder's in one path and a file's in another: git asks the disk
        kept = [name for name in names if not any(f"{name}/" in other for other in names)]
        kept = [name for name in kept if name != "a"]
        laid_out(root, dict.fromkeys(kept, ""))
        assert ours(root, kept) == judged(root, kept)


def test_an_edited_ignore_file_holds_at_once(root: Path) -> None:
    laid_out(root, {".gitignore": "*.txt\n", "b.txt": ""})
    assert gitignored(root / "b.txt")
    (root / ".gitignore").write_text("*.text\n")
    assert not gitignored(root / "b.txt")
    (root / ".gitignore").unlink()
    assert not gitignored(root / "b.txt")


def test_a_worktree_shares_its_repository_s_exclude_file(root: Path) -> None:
    laid_out(root, {"one": ""})
    git(root, "add", "one")
    who = ("-c", "user.name=n", "-c", "user.email=e")
    git(root, *who, "commit", "-qm", "one")
    git(root, "worktree", "add", "-q", "../tree")
    laid_out(root, {".git/info/exclude": "*.secret\n"})
    assert gitignored(root.parent / "tree" / "a.secret")
    assert not gitignored(root.parent / "tree" / "one")


def test_git_s_rules_end_at_the_repository(root: Path) -> None:
    (root / "inner").mkdir()
    git(root / "inner", "init", "-q")
    laid_out(root, {".gitignore": "*.txt\n", ".cloverignore": "*.md\n"})
    assert not gitignored(root / "inner" / "b.txt")
    assert cloverignored(root / "inner" / "b.md")


def test_without_a_repository_all_ignore_files_above_hold(tmp_path: Path) -> None:
    laid_out(tmp_path, {".gitignore": "*.txt\n"})
    assert gitignored(tmp_path / "sub" / "b.txt")


def test_clover_s_own_file_reads_the_same_patterns(tmp_path: Path) -> None:
    laid_out(tmp_path, {".cloverignore": "diary/\n*.draft\n!shared.draft\n"})
    assert cloverignored(tmp_path / "diary" / "monday.md")
    assert cloverignored(tmp_path / "a" / "b.draft")
    assert not cloverignored(tmp_path / "a" / "shared.draft")
    assert not gitignored(tmp_path / "diary" / "monday.md")


def test_what_is_no_ignore_file_names_nothing(tmp_path: Path) -> None:
    (tmp_path / ".cloverignore").mkdir()
    assert not cloverignored(tmp_path / "a.md")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".cloverignore").write_bytes(b"\xff\xfe*\n")
    assert not cloverignored(tmp_path / "sub" / "a.md")
