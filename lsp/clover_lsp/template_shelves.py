"""The templates within an editor's reach, and which of them a document follows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.lsp.server import LanguageServer

from clover_lsp.documents import Document
from clover_lsp.ignore_files import Rule, read_rule
from clover_lsp.settings import Settings
from clover_lsp.uris import local_path

# what reads documents is imported where it is used: an editor waits for the server to start
if TYPE_CHECKING:
    from clover_templates.library import Library

_FOLDER = "templates"  # the last name of every folder of templates


class TemplateShelves:
    """The shelves of the workspace's folders, the user's and the program's.

    `user_folder` says where the user's templates lie, None for nowhere.
    """

    def __init__(
        self,
        server: LanguageServer,
        settings: Callable[[str], Settings],
        user_folder: Callable[[], Path | None],
    ) -> None:
        self._server = server
        self._settings = settings
        self._user_folder = user_folder

    def library(self) -> Library:
        """All templates; those of the workspace's folders come first, in their order."""
        from clover_templates.library import Library

        return Library.of(self._user_folder(), self._folders())

    def named(self, document: Document) -> str | None:
        """The template that a document follows: by its front matter, or else by the settings."""
        from clover_templates.conforming import named_template

        source = document.text.encode("utf-8", "surrogatepass")
        return named_template(source) or self.named_by_settings(document.uri)

    def named_by_settings(self, uri: str) -> str | None:
        """The template of the first rule that names the file, seen from its workspace folder."""
        path = local_path(uri)
        inside = [folder for folder in self._folders() if path and path.is_relative_to(folder)]
        if path is None or not inside:
            return None
        file = path.relative_to(max(inside, key=lambda folder: len(folder.parts))).as_posix()
        for rule in self._settings(uri).templates:
            glob = _read_rule(rule.glob)
            if glob and glob.names(file):
                return rule.template
        return None

    def holds(self, uri: str) -> bool:
        """Whether the document is a template of the user's or of a workspace folder."""
        path = local_path(uri)
        # asked for every document: the library, which takes long to import, is not
        if path is None or path.parent.name != _FOLDER:
            return False
        from clover_templates.library import SUFFIXES, Origin

        shelves = self.library().shelves
        own = [shelf.folder for shelf in shelves if shelf.origin is not Origin.SHIPPED]
        return path.suffix in SUFFIXES and path.parent in own

    def patterns(self) -> list[str]:
        """Globs of template files, as an editor takes them."""
        folder = self._user_folder()
        own = [f"{folder.as_posix()}/*"] if folder else []
        return [f"**/.clover/{_FOLDER}/*", *own]

    def _folders(self) -> list[Path]:
        folders = self._server.workspace.folders.values()
        return [path for folder in folders if (path := local_path(folder.uri))]


@lru_cache(maxsize=64)
def _read_rule(glob: str) -> Rule | None:
    return read_rule(glob)
