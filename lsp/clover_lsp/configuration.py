"""The settings in force, of the editor and of each workspace folder, kept up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from clover_lsp.client import Client
from clover_lsp.settings import Settings, read_settings

log = logging.getLogger(__name__)

SECTION = "cloverWrite"
# an editor that is asked for its settings and says nothing is waited for so long
WAIT_S = 1.0


class Configuration:
    """What `initializationOptions` say, then the editor's configuration, then that of a folder.

    `notebook_of` names the notebook of a cell, whose folder counts. `show` puts a message before
    the user, each once; `on_change` is called when other settings are in force.
    """

    def __init__(
        self,
        server: LanguageServer,
        notebook_of: Callable[[str], str | None],
        show: Callable[[str], None],
    ) -> None:
        self.client = Client()
        self.on_change: Callable[[], None] = lambda: None
        self._server = server
        self._notebook_of = notebook_of
        self._show = show
        self._initial = Settings()
        self._global = Settings()
        self._folders: dict[str, Settings] = {}
        self._shown: set[str] = set()
        self._pulling: asyncio.Task[None] | None = None
        self._pulls = 0
        self._waited = False

    def of(self, uri: str) -> Settings:
        """The settings for a document, by the innermost folder that holds it."""
        path = _path(self._notebook_of(uri) or uri)
        holding = [folder for folder in self._folders if path.startswith(_path(folder) + "/")]
        return self._folders[max(holding, key=len)] if holding else self._global

    def initialize(self, params: types.InitializeParams) -> Settings:
        """Take what the editor says first; returns the settings that follow."""
        self.client = Client.of(params)
        self._initial = self._read(params.initialization_options, Settings())
        self._global = self._initial
        return self._global

    async def known(self) -> None:
        """Wait until the editor has first given its settings: they may want nothing at all."""
        if self._pulling and not self._waited:
            await asyncio.wait({self._pulling}, timeout=WAIT_S)
            self._waited = True

    async def subscribe(self) -> None:
        """Read the editor's configuration, and have it tell when that changes."""
        self.pull()
        if not self.client.registers_configuration:
            return
        options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        registration = types.Registration(
            SECTION, types.WORKSPACE_DID_CHANGE_CONFIGURATION, options
        )
        try:
            await self._server.client_register_capability_async(
                types.RegistrationParams([registration])
            )
        except JsonRpcException as error:
            log.warning("the editor tells of no new settings: %s", type(error).__name__)

    def push(self, settings: object) -> None:
        """The editor's configuration changed, to `settings` unless it wants to be asked."""
        if self.client.pulls_configuration:
            self.pull()
        elif isinstance(settings, dict) and SECTION in settings:
            self._global = self._read(settings[SECTION], self._initial)
            self.on_change()

    def pull(self) -> None:
        """Ask the editor for its configuration, if it can be asked; a newer question counts."""
        if self.client.pulls_configuration:
            folders = [folder.uri for folder in self._server.workspace.folders.values()]
            self._pulling = asyncio.create_task(self._pull(folders))

    async def _pull(self, folders: Sequence[str]) -> None:
        self._pulls += 1
        number = self._pulls
        scopes = [None, *folders]
        items = [types.ConfigurationItem(scope_uri=scope, section=SECTION) for scope in scopes]
        try:
            answer = await self._server.workspace_configuration_async(
                types.ConfigurationParams(items)
            )
        except JsonRpcException as error:
            log.warning("the editor gives no settings: %s", type(error).__name__)
            return
        if number != self._pulls:
            return
        # what came is not checked by pygls
        if not isinstance(answer, (list, tuple)) or len(answer) != len(scopes):
            log.warning("the editor gives no settings for %d scopes", len(scopes))
            return
        own, *others = answer
        self._global = self._read(own, self._initial)
        self._folders = {
            folder: self._read(each, self._global)
            for folder, each in zip(folders, others, strict=True)
        }
        self.on_change()

    def _read(self, options: object, base: Settings) -> Settings:
        settings, complaints = read_settings(options, base)
        for complaint in complaints:
            if complaint not in self._shown:
                self._shown.add(complaint)
                self._show(complaint)
        return settings


def _path(uri: str) -> str:
    return unquote(uri).rstrip("/")
