"""The anchors that GitHub, GitLab and VS Code give to headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache

# the page's tiers: a heading keeps its anchor when a feature moves from one to another
_GITLAB_SUFFIX = re.compile(r"\s*\**\((?:core|starter|premium|ultimate)(?:\s+only)?\)\**")


class Style(StrEnum):
    """Who shows the document, and by which rule its headings are linked to."""

    GITHUB = "github"
    GITLAB = "gitlab"
    OBSIDIAN = "obsidian"
    VSCODE = "vscode"


def anchors(texts: Sequence[str], style: Style) -> list[str]:
    """The anchor of each heading of a document, from their rendered texts in order.

    All headings count, whatever their level. An anchor that begins with nothing of its heading is
    empty: nobody can link there. Sources: github-slugger, VS Code's Markdown language service,
    GitLab's `string_to_anchor`. Obsidian has no anchors.
    """
    return _COUNTED[style](texts)


def github_slug(text: str) -> str:
    """What GitHub makes of a heading's text, before headings of the same text are numbered."""
    return _deleted().sub("", text.lower()).replace(" ", "-")


def _github(texts: Sequence[str]) -> list[str]:
    """A number is passed over where a heading of that name has it already."""
    counts: dict[str, int] = {}
    found: list[str] = []
    for text in texts:
        slug = anchor = github_slug(text)
        while anchor in counts:
            counts[slug] += 1
            anchor = f"{slug}-{counts[slug]}"
        counts[anchor] = 0
        found.append(anchor if slug else "")
    return found


def _vscode(texts: Sequence[str]) -> list[str]:
    return _numbered([github_slug(text.strip()) for text in texts])


def _gitlab(texts: Sequence[str]) -> list[str]:
    return _numbered([_gitlab_slug(text) for text in texts])


def _gitlab_slug(text: str) -> str:
    slug = re.sub("-{2,}", "-", github_slug(_GITLAB_SUFFIX.sub("", text.strip().lower())))
    return f"anchor-{slug}" if slug.isascii() and slug.isdigit() else slug


def _numbered(slugs: Sequence[str]) -> list[str]:
    """With -1, -2 … from the second of a name on, even where another heading is called so."""
    counts: dict[str, int] = {}
    found: list[str] = []
    for slug in slugs:
        count = counts[slug] = counts.get(slug, -1) + 1
        found.append(f"{slug}-{count}" if slug and count else slug)
    return found


_COUNTED: dict[Style, Callable[[Sequence[str]], list[str]]] = {
    Style.GITHUB: _github,
    Style.GITLAB: _gitlab,
    Style.VSCODE: _vscode,
}


@cache
def _deleted() -> re.Pattern[str]:
    # imported here: editors wait for the server to start, and this is dear
    from importlib.resources import files

    table = files("clover_templates").joinpath("anchor_characters.txt").read_text("ascii")
    ranges = [line.split("-") for line in table.splitlines() if not line.startswith("#")]
    kept = "".join(rf"\U{ends[0]:0>8}-\U{ends[-1]:0>8}" for ends in ranges)
    return re.compile(f"[^{kept}\ud800-\udfff]")
