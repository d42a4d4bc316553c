"""`.gitignore` and `.cloverignore`: which files they name, by the rules of gitignore(5)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

GITIGNORE = ".gitignore"
CLOVERIGNORE = ".cloverignore"
_CASE = re.IGNORECASE if sys.platform in ("win32", "darwin") else re.NOFLAG
_MAX_BYTES = 1 << 20
# a part of a pattern, longest first; what is none of them stands for itself
_PART = re.compile(
    r"(?P<deep>(?<![^/])\*\*/)|(?P<rest>(?<=/)\*\*\Z)|(?P<many>\*+)|(?P<one>\?)"
    r"|\[(?P<not>[!^]?)(?P<set>\]?+(?:\\.|[^\]\\])*+)\]|\\(?P<escaped>.)|(?P<broken>\[|\\\Z)"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file, read against paths relative to the file's folder."""

    pattern: re.Pattern[str]
    ignores: bool
    folders_only: bool

    def names(self, file: str) -> bool:
        """Whether it names the file at a relative path, with `/` between folders."""
        return self.ignores and not self.folders_only and bool(self.pattern.fullmatch(file))


def gitignored(path: Path) -> bool:
    """Whether git would ignore the file at this absolute path: by the `.gitignore` files from its
    repository's root down, and by `.git/info/exclude`. Without a repository all folders above
    count."""
    root = repository(path)
    if root is None:
        return _ignored(path, GITIGNORE, _above(path), [])
    inside = [folder for folder in _above(path) if len(folder) >= len(str(root))]
    return _ignored(path, GITIGNORE, inside, [(str(root), _rules(_exclude_file(root)))])


def cloverignored(path: Path) -> bool:
    """Whether a `.cloverignore` in any folder above names the file at this absolute path."""
    return _ignored(path, CLOVERIGNORE, _above(path), [])


def repository(path: Path) -> Path | None:
    """The nearest folder above `path` that holds a `.git`."""
    found = (folder for folder in reversed(_above(path)) if os.path.exists(f"{folder}/.git"))
    folder = next(found, None)
    return None if folder is None else Path(folder or "/")


def _above(path: Path) -> list[str]:
    """The folders above a path, from the root down, without a slash at their ends."""
    return [str(folder).rstrip("/\\") for folder in reversed(path.parents)]


def _ignored(
    path: Path, name: str, folders: Sequence[str], sources: list[tuple[str, Sequence[Rule]]]
) -> bool:
    """A folder that is ignored takes all it holds with it; else the last rule that fits decides,
    those of deeper files after those of higher ones."""
    for number, folder in enumerate(folders):
        if rules := _rules(f"{folder}/{name}"):
            sources.append((folder, rules))
        inner = number + 1 < len(folders)
        if sources and _verdict(folders[number + 1] if inner else str(path), sources, inner):
            return True
    return False


def _verdict(path: str, sources: Sequence[tuple[str, Sequence[Rule]]], is_folder: bool) -> bool:
    for folder, rules in reversed(sources):
        relative = path[len(folder) + 1 :].replace(os.sep, "/")
        for rule in reversed(rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(relative):
                return rule.ignores
    return False


def _exclude_file(root: Path) -> str:
    """`info/exclude` of a repository, which worktrees share (gitrepository-layout(5))."""
    folder = root / ".git"
    if folder.is_file():
        pointer = folder.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
        folder = root / pointer
        if (common := folder / "commondir").is_file():
            folder = folder / common.read_text("utf-8", "replace").strip()
    return str(folder / "info" / "exclude")


def _rules(file: str) -> tuple[Rule, ...]:
    try:
        stat = os.stat(file)
    except OSError:
        # no such file, or none that we may look at
        return ()
    return _read_rules(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _read_rules(file: str, mtime: int, size: int) -> tuple[Rule, ...]:
    """The rules of a file as it was at `mtime`."""
    if size > _MAX_BYTES or not os.path.isfile(file):
        return ()
    text = Path(file).read_text("utf-8-sig", "replace")
    return tuple(rule for line in text.split("\n") if (rule := read_rule(line.removesuffix("\r"))))


def read_rule(line: str) -> Rule | None:
    """The rule of a line; None for a comment, a blank line and a pattern that fits nothing."""
    if line.startswith("#"):
        return None
    line = re.sub(r"(?<!\\)((?:\\\\)*)[ ]+\Z", r"\1", line)
    ignores = not line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    anchored = "/" in line
    line = line.removeprefix("/")
    if not line:
        return None
    try:
        pattern = "".join(_translated(line))
        return Rule(
            re.compile(pattern if anchored else f"(?:.*/)?{pattern}", _CASE | re.DOTALL),
            ignores,
            folders_only,
        )
    except re.error:
        return None


def _translated(pattern: str) -> Iterator[str]:
    """The pieces of the regular expression that a pattern stands for. Raises re.error."""
    at = 0
    for part in _PART.finditer(pattern):
        yield re.escape(pattern[at : part.start()])
        at = part.end()
        match part.lastgroup:
            case "deep":
                yield "(?:.*/)?"
            case "rest":
                yield ".+"
            case "many":
                yield "[^/]*"
            case "one":
                yield "[^/]"
            case "set":
                yield _set(part["not"], part["set"])
            case "escaped":
                yield re.escape(part["escaped"])
            case _:
                raise re.error("the pattern ends inside a set or an escape")
    yield re.escape(pattern[at:])


def _set(negated: str, members: str) -> str:
    inner = re.sub(r"\\(.)|([\[\]&~|^])", lambda found: "\\" + (found[1] or found[2]), members)
    return f"(?!/)[{'^' if negated else ''}{inner}]"
