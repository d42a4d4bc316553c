"""The tags of a Markdown note: which it has, and the edit that adds some to its front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from clover_templates.edit import Edit
from clover_templates.front_matter import FrontMatter, body_start, front_matter, line_end
from clover_templates.tag_names import inline_tags, is_tag, tag_name, without_repeats
from clover_templates.tag_property import FrontMatterError, TagProperty, tag_property

_PROPERTY = re.compile(rb"(?:\A|[\r\n])[^\s#-][^\r\n:]*:(?=[ \t\r\n])")


def read_tags(source: bytes) -> tuple[str, ...]:
    """The tags of a note, from its front matter and its text, each once and without `#`.

    Front matter that cannot be read has none.
    """
    matter = front_matter(source)
    body = source[matter.body if matter else body_start(source) :]
    names: list[str] = []
    if matter and matter.is_yaml:
        try:
            found = tag_property(source, matter)
        except FrontMatterError:
            found = None
        names += [name.removeprefix("#") for name in found.names] if found else []
    names += inline_tags(body.decode("utf-8", "surrogatepass"))
    return tuple(without_repeats(filter(is_tag, names)))


def tag_edit(source: bytes, names: Iterable[str]) -> Edit | None:
    """What adds `names` to the `tags` of `source`'s front matter: None if all are there.

    They are put behind those that are there in the same style; front matter is made where none
    is. Nothing else of it is read or changed. Raises TagError and FrontMatterError.
    """
    wanted = without_repeats(map(tag_name, names))
    matter = front_matter(source)
    eol = line_end(source)
    if matter is None:
        return _front_matter(source, wanted, eol) if wanted else None
    if not matter.is_yaml:
        raise FrontMatterError("1:1: the front matter is TOML: tags are added to YAML alone")
    found = tag_property(source, matter)
    there = {name.removeprefix("#").casefold() for name in found.names} if found else set()
    new = [name for name in wanted if name.casefold() not in there]
    if not new:
        return None
    return (found or _new_property(source, matter, eol)).edit(new)


def _new_property(source: bytes, matter: FrontMatter, eol: str) -> TagProperty:
    """Below the other properties, as Obsidian writes lists. Raises FrontMatterError."""
    lines = source[matter.start : matter.end]
    if lines.strip() and not _PROPERTY.search(lines):
        raise FrontMatterError(
            "1:1: what stands between the first two rules is no front matter: put tags: [] there"
        )
    return TagProperty((), matter.end, matter.end, f"tags:{eol}  - ", f"{eol}  - ", eol)


def _front_matter(source: bytes, names: Sequence[str], eol: str) -> Edit:
    at = body_start(source)
    blank = "" if source[at : at + 1] in (b"", b"\r", b"\n") else eol
    made = TagProperty((), at, at, f"---{eol}tags:{eol}  - ", f"{eol}  - ", f"{eol}---{eol}{blank}")
    return made.edit(names)
