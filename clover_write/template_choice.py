"""Which template a command is about: the one it is given, or the one that the document names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_templates.document import Document
    from clover_templates.template import Template


def chosen_template(name: str | None, document: Document, workspace: Path) -> Template:
    """The template of this name, or that of the document's front matter. Raises TemplateError."""
    from clover_templates.conforming import named_template
    from clover_templates.library import Library, TemplateError
    from clover_write.config import config_path

    wanted = name or named_template(document.data)
    if not wanted:
        raise TemplateError("which template? Give --template, or `template:` in the front matter")
    library = Library.of(config_path().with_name("templates"), [workspace])
    return library.find(wanted).template
