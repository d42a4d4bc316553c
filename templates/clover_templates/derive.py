"""Makes a template of a document: its headings stay, its text becomes slots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count, pairwise

from clover_templates.template_layout import Heading, Layout, guess_numbering, read_layout
from clover_templates.template_settings import BUILTINS, Numbering

_KEY = re.compile(r"^([^\s:#'\"\[\]{},-][^:\n]*):", re.MULTILINE)
_TABLE = re.compile(
    r"^[ \t]*\|(?P<head>[^\n]+)\|[ \t]*\n(?P<rule>[ \t]*\|[ \t]*:?-+[-:| \t]*)(?:\n|\Z)",
    re.MULTILINE,
)
_ITEM = re.compile(r"(?P<mark>[-*+]|1[.)])[ \t]+(?P<box>\[[ xX]\][ \t]+)?\S")
_MORE = re.compile(r"[-*+][ \t]|[0-9]{1,9}[.)][ \t]|[ \t]+\S|[ \t]*\Z")


def derive(text: str, title: str) -> str:
    """The template of a document, as text.

    Headings stay as they are; the first one, of the first level, becomes `{{title}}`. Front matter
    keeps its keys. A section of nothing but a table or a list keeps its shape with one row or item
    of slots. All other text is of this one document: where it stood is a slot. The template has no
    errors, but for one: that of a huge document may be too long (T12).
    """
    lined = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    numbering = guess_numbering(lined)
    layout = read_layout(lined, numbering)
    return "".join(_Deriver(lined, layout, numbering).template()) + _settings(title, numbering)


@dataclass(slots=True)
class _Deriver:
    text: str
    layout: Layout
    numbering: Numbering
    taken: set[str] = field(default_factory=lambda: set(BUILTINS))

    def template(self) -> Iterator[str]:
        yield from self._front_matter()
        headings = self.layout.headings
        starts = [*(heading.start for heading in headings), self.layout.closing]
        if not headings:
            yield "# {{title}}\n\n"
        if self.text[self.layout.front_matter_end : starts[0]].strip():
            yield self._slot("opening") + "\n\n"
        path: list[tuple[int, str]] = []
        seen: set[tuple[tuple[int, str], ...]] = set()
        for number, (heading, (_, end)) in enumerate(zip(headings, pairwise(starts), strict=True)):
            following = headings[number + 1 : number + 2]
            leaf = not following or following[0].level <= heading.level
            title = " ".join(self.text[heading.title_start : heading.title_end].split())
            path = [*(up for up in path if up[0] < heading.level), (heading.level, title)]
            # a heading that comes again under the same ones is one section of the template
            if tuple(path) not in seen:
                seen.add(tuple(path))
                yield self._head(heading, title) + "\n\n"
                yield self._body(title, self.text[heading.end : end], leaf)

    def _front_matter(self) -> Iterator[str]:
        keys = dict.fromkeys(_KEY.findall(self.text[: self.layout.front_matter_end]))
        if keys:
            lines = (f"{key}: {self._slot(key, shared=True)}\n" for key in keys)
            yield f"---\n{''.join(lines)}---\n"

    def _head(self, heading: Heading, title: str) -> str:
        fixed = title.replace("{{", "\\{{").replace("<!--", "<! --")
        if self.numbering is Numbering.MD:
            first = heading is self.layout.headings[0] and heading.level == 1
            return f"{'#' * heading.level} {'{{title}}' if first else fixed}"
        return self.text[heading.start : heading.title_start] + fixed

    def _body(self, title: str, text: str, leaf: bool) -> str:
        lines = text.strip().split("\n")
        table, item = _TABLE.match(text.lstrip("\n")), _ITEM.match(lines[0])
        if table and all(line.lstrip().startswith("|") for line in lines):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", table["head"])]
            row = " | ".join(self._slot(cell) for cell in cells)
            head = table["head"].replace("{{", "\\{{")
            return f"|{head}|\n{table['rule'].rstrip()}\n| {row} |\n\n"
        if item and all(_MORE.match(line) for line in lines):
            box = "[ ] " if item["box"] else ""
            return f"{item['mark']} {box}{self._slot(title)}\n\n"
        # a section with none below it has a slot of its own
        return "" if leaf or not text.strip() else self._slot(title) + "\n\n"

    def _slot(self, words: str, *, shared: bool = False) -> str:
        """A slot named after some words; `shared` may be a built-in one."""
        name = re.sub(r"[^\w-]+", "_", words).strip("_-")[:40].strip("_-").lower() or "text"
        if shared and name in ("title", "date"):
            return f"{{{{{name}}}}}"
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        free = next(one for one in names if one not in self.taken)
        self.taken.add(free)
        return f"{{{{{free}}}}}"


def _settings(title: str, numbering: Numbering) -> str:
    # JSON is YAML; angle brackets could end the comment
    shown = "".join(sign for sign in title if sign.isprintable() and sign not in "<>")
    name = json.dumps(shown, ensure_ascii=False)
    return f"<!-- clover\ntitle: {name}\nnumbering: {numbering}\n-->\n"
