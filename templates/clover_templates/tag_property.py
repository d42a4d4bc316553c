"""The `tags` property of a YAML front matter, as text: its tags, and where more of them go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clover_engine.errors import CloverError
from clover_templates.edit import Edit
from clover_templates.front_matter import FrontMatter, line_end
from clover_templates.masked_spans import place

if TYPE_CHECKING:
    from yaml import ScalarNode, SequenceNode

# the property's own lines: all that follow it until a line of another one
_PROPERTY = re.compile(
    r"(?:(?<=[\r\n])|\A)(?P<key>([\"']?)tags?\2[ \t]*:(?=[ \t\r\n]|\Z))[^\r\n]*"
    r"(?:(?:\r\n|\n|\r)(?:(?=[ \t#\]-])[^\r\n]*|(?=[\r\n]|\Z)))*",
    re.I,
)
# another place may mean this value, or another program make something of it
_MARKED = re.compile(r"\s*[&!]")
_LINE_END = re.compile(r"\r\n|\n|\r|\Z")
_DASH = re.compile(r"[ \t]*-[ \t]*")
_WORD = re.compile(r"[^\s,]+")
# YAML takes these for something other than text
_NO_TEXT = re.compile(
    r"(?:true|false|yes|no|on|off|y|n|null)\Z|-|[+.\d][\d_.]*(?:e[-+]?\d+)?\Z"
    r"|0[xob]\w+\Z|\d{4}-\d{1,2}-\d{1,2}",
    re.I,
)


class FrontMatterError(CloverError):
    """The front matter has its tags in a way that is not edited; names line:column, from 1."""


@dataclass(frozen=True, slots=True)
class TagProperty:
    """The tags that are there as they are written, and the place of others.

    They go in place of the bytes `[start, end)`: `before`, then all with `between` between them,
    then `after`. Each stands in `quote`, which is None inside a text that has them all.
    """

    names: tuple[str, ...]
    start: int
    end: int
    before: str
    between: str
    after: str = ""
    quote: str | None = ""

    def edit(self, names: Sequence[str]) -> Edit:
        """What adds `names`, of which there is at least one."""
        texts = self.between.join(_written(name, self.quote) for name in names)
        return Edit(self.start, self.end, f"{self.before}{texts}{self.after}")


def tag_property(source: bytes, matter: FrontMatter) -> TagProperty | None:
    """The `tags` of `source`'s front matter, None if it has none; other properties are not read.

    They may be a list in brackets or in lines, or words in one line. Raises FrontMatterError for
    other YAML.
    """
    text = source[matter.start : matter.end].decode("utf-8", "surrogatepass")
    found = list(_PROPERTY.finditer(text))
    if not found:
        return None
    if len(found) > 1:
        raise _refusal(source, matter, text, found[1], "the front matter has tags twice: keep one")
    here = _read(text, found[0], line_end(source))
    if here is None:
        advice = "tags are written in a way that is not edited: make it tags: [one, two]"
        raise _refusal(source, matter, text, found[0], advice)
    start, end = (
        matter.start + len(text[:at].encode("utf-8", "surrogatepass"))
        for at in (here.start, here.end)
    )
    return replace(here, start=start, end=end)


def _refusal(
    source: bytes, matter: FrontMatter, text: str, found: re.Match[str], advice: str
) -> FrontMatterError:
    before = source[: matter.start].decode("utf-8", "surrogatepass") + text[: found.start()]
    return FrontMatterError(f"{place(before, len(before))}: {advice}")


def _read(text: str, found: re.Match[str], eol: str) -> TagProperty | None:
    """The property, with places in `text`; None if it is other YAML than ours."""
    import yaml

    if _MARKED.match(text, found.end("key")):
        return None
    try:
        mapping = yaml.compose(found[0], yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    if not isinstance(mapping, yaml.MappingNode) or len(mapping.value) != 1:
        return None
    value = mapping.value[0][1]
    if isinstance(value, yaml.ScalarNode):
        return _scalar(text, found, value, eol)
    items = value.value if isinstance(value, yaml.SequenceNode) else [value]
    if not all(isinstance(item, yaml.ScalarNode) and _is_short(item) for item in items):
        return None
    if value.flow_style:
        return _flow(text, found.start(), value)
    return _lines(text, found.start(), value, eol)


def _is_short(node: ScalarNode) -> bool:
    return node.style not in ("|", ">") and node.start_mark.line == node.end_mark.line


def _scalar(text: str, found: re.Match[str], node: ScalarNode, eol: str) -> TagProperty | None:
    if not _is_short(node):
        return None
    start, end = found.start() + node.start_mark.index, found.start() + node.end_mark.index
    if start == end:
        below = _LINE_END.search(text, found.end("key"))
        at = below.end() if below else len(text)
        return TagProperty((), at, at, "  - ", f"{eol}  - ", eol)
    names = () if _is_null(node) else tuple(_WORD.findall(node.value))
    if not names:
        return TagProperty((), start, end, "[", ", ", "]")
    if len(names) == 1:
        return TagProperty(names, start, end, f"[{text[start:end]}, ", ", ", "]", node.style or "")
    at = end - 1 if node.style else end
    gap = ", " if "," in node.value else " "
    return TagProperty(names, at, at, gap, gap, quote=None)


def _flow(text: str, start: int, node: SequenceNode) -> TagProperty:
    """A list in brackets; new ones are set off as the last is."""
    items: list[ScalarNode] = node.value
    if not items:
        at = start + node.start_mark.index + 1
        return TagProperty((), at, at, "", ", ")
    at = start + items[-1].end_mark.index
    before = items[-2].end_mark.index if items[1:] else node.start_mark.index + 1
    gap = text[start + before : start + items[-1].start_mark.index]
    gap = gap if items[1:] else f",{gap or ' '}"
    if gap.strip() != ",":
        # a comment belongs to one item
        gap = ", "
    return TagProperty(_names(items), at, at, gap, gap, quote=items[-1].style or "")


def _lines(text: str, start: int, node: SequenceNode, eol: str) -> TagProperty:
    """A list with an item a line; new ones stand as far in as the last."""
    items: list[ScalarNode] = node.value
    end = _LINE_END.search(text, start + items[-1].end_mark.index)
    at = end.end() if end else len(text)
    dash = _DASH.match(text, start + items[-1].start_mark.index - items[-1].start_mark.column)
    lead = dash[0] if dash else "-"
    lead = lead if lead[-1].isspace() else f"{lead} "
    return TagProperty(_names(items), at, at, lead, eol + lead, eol, quote=items[-1].style or "")


def _names(items: Sequence[ScalarNode]) -> tuple[str, ...]:
    return tuple(item.value.strip() for item in items if not _is_null(item))


def _is_null(node: ScalarNode) -> bool:
    return not node.style and node.value.lower() in ("", "~", "null")


def _written(name: str, quote: str | None) -> str:
    if quote is None:
        return name
    mark = quote or ('"' if _NO_TEXT.match(name) else "")
    return f"{mark}{name}{mark}"
