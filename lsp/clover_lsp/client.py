"""What the editor at the other end can do, and what it needs: told when it initializes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lsprotocol import types

from clover_engine.api import Decoding
from clover_lsp.settings import Popup, Ranges, Settings

_VS_CODE = re.compile("visual studio code|vscod|code - oss|cursor|windsurf", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Client:
    """One editor. An unknown one gets what is safe everywhere."""

    name: str = ""
    has_inline_completion: bool = False
    pulls_configuration: bool = False
    registers_configuration: bool = False
    registers_completion: bool = False
    registers_hover: bool = False
    pulls_diagnostics: bool = False
    watches: Decoding | None = None  # it is told what jobs are made of, which are written like this

    @classmethod
    def of(cls, params: types.InitializeParams) -> Client:
        """The editor that says this of itself."""
        workspace = params.capabilities.workspace
        text_document = params.capabilities.text_document
        changes = workspace.did_change_configuration if workspace else None
        completion = text_document.completion if text_document else None
        hover = text_document.hover if text_document else None
        return cls(
            params.client_info.name if params.client_info else "",
            has_inline_completion=bool(text_document and text_document.inline_completion),
            pulls_configuration=bool(workspace and workspace.configuration),
            registers_configuration=bool(changes and changes.dynamic_registration),
            registers_completion=bool(completion and completion.dynamic_registration),
            registers_hover=bool(hover and hover.dynamic_registration),
            pulls_diagnostics=bool(text_document and text_document.diagnostic),
            watches=_watched(params.capabilities.experimental),
        )

    @property
    def keeps_eol(self) -> bool:
        """Whether a text's line ends are the document's; Neovim's buffers hold no `\\r`."""
        return "neovim" not in self.name.lower()

    def may_replace(self, settings: Settings) -> bool:
        """Whether an item may replace closing signs right of the cursor.

        VS Code draws such an item around them; elsewhere it would hide them.
        """
        if settings.ranges is Ranges.AUTO:
            return bool(_VS_CODE.search(self.name))
        return settings.ranges is Ranges.REPLACE

    def wants_popup(self, settings: Settings) -> bool:
        """Whether `textDocument/completion` is offered to it."""
        if settings.completion is Popup.AUTO:
            return not self.has_inline_completion
        return settings.completion is Popup.ON


def _watched(experimental: object) -> Decoding | None:
    """`{"cloverWatch": "causal"}` or `"diffusion"`; anything else is another server's affair."""
    named = experimental.get("cloverWatch") if isinstance(experimental, dict) else None
    return Decoding(named) if named in list(Decoding) else None
