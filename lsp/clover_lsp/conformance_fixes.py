"""Quick fixes of conformance: what is missing comes in, what stands elsewhere is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from clover_lsp.conformance import Checked, Conformance
from clover_lsp.conformance_diagnostics import SOURCE, ConformanceDiagnostics
from clover_lsp.documents import Document, Documents
from clover_lsp.restructuring import RESTRUCTURE
from clover_lsp.span_filling import FILL, wanted
from clover_lsp.workspace_edits import workspace_edit

# what reads documents is imported where it is used: an editor waits for the server to start
if TYPE_CHECKING:
    from clover_templates.template import Section, Template
    from clover_templates.template_findings import Finding

KIND = types.CodeActionKind.QuickFix


class ConformanceFixes:
    """The feature, for findings that touch a selection."""

    def __init__(
        self,
        server: LanguageServer,
        documents: Documents,
        conformance: Conformance,
        diagnostics: ConformanceDiagnostics,
    ) -> None:
        self._server = server
        self._documents = documents
        self._conformance = conformance
        self._diagnostics = diagnostics

    async def actions(
        self,
        document: Document | None,
        selected: types.Range,
        context: types.CodeActionContext,
    ) -> list[types.CodeAction]:
        """One for each finding on the selected lines that can be put right, in their order.

        Editors ask whenever the cursor moves: unless quick fixes are asked for, a document is
        looked at only where the editor shows one of our diagnostics.
        """
        ours = any(each.source == SOURCE for each in context.diagnostics)
        if document is None or not wanted(context.only, KIND.value) or not (context.only or ours):
            return []
        checked = await self._conformance.checked(document)
        if checked.entry is None:
            return []
        found: dict[str, types.CodeAction] = {}
        shown = self._diagnostics.diagnostics(checked)
        for finding, diagnostic in zip(checked.findings, shown, strict=True):
            at = diagnostic.range
            if at.start.line <= selected.end.line and selected.start.line <= at.end.line:
                action = self._fix(checked, finding)
                if action and action.title not in found:
                    action.diagnostics = [diagnostic]
                    found[action.title] = action
        return list(found.values())

    def _fix(self, checked: Checked, finding: Finding) -> types.CodeAction | None:
        from clover_templates.template_findings import Code

        assert checked.entry
        document, template = checked.document, checked.entry.template
        match finding.code:
            case Code.D01 if finding.expected.endswith(": "):
                return self._new_key(document, finding, template)
            case Code.D01 if section := _section(template, finding):
                return self._missing(document, finding, section, template)
            case Code.D02:
                options = {"model": False}
                arguments = [document.uri, template.name, options]
                return _command(
                    "Bring the sections into the template's order", RESTRUCTURE, arguments
                )
            case Code.D06 if finding.expected:
                return self._renamed(document, finding)
            case Code.D07:
                at = self._documents.position(document, finding.start)
                where = {"line": at.line, "character": at.character}
                return _command("Fill this hole", FILL, [document.uri, where])
        return None

    def _missing(
        self, document: Document, finding: Finding, section: Section, template: Template
    ) -> types.CodeAction | None:
        """A section that is not there, or that has no text."""
        from clover_templates.skeleton import form, skeleton

        if finding.expected:
            title = f'Insert section "{section.label}"'
            return self._inserted(document, finding.start, skeleton(section, template), title)
        text = document.text[finding.start : finding.end]
        body = form(section, template).strip("\n")
        if len(text.strip().splitlines()) > 1 or not body:
            return None
        at = finding.start + len(text.rstrip())
        return self._edit(document, at, at, f"\n\n{body}", f'Insert a hole under "{section.label}"')

    def _inserted(self, document: Document, at: int, text: str, title: str) -> types.CodeAction:
        """Whole lines at `at`, with a blank line before and behind."""
        before = document.text[:at].replace("\r\n", "\n")
        behind = document.text[at:].replace("\r\n", "\n")
        lead = max(0, 2 - (len(before) - len(before.rstrip("\n")))) if before.strip() else 0
        more = "\n" if behind and not behind.startswith("\n") else ""
        return self._edit(document, at, at, "\n" * lead + text + more, title)

    def _new_key(
        self, document: Document, finding: Finding, template: Template
    ) -> types.CodeAction:
        from clover_templates.front_matter import front_matter

        key = finding.expected.removesuffix(": ")
        line = f"{finding.expected}{template.settings.hole(key)}\n"
        title = f'Insert "{key}" into the front matter'
        source = document.text.encode("utf-8", "surrogatepass")
        matter = front_matter(source)
        if matter is None:
            return self._edit(document, 0, 0, f"---\n{line}---\n\n", title)
        fence = len(source[: matter.end].decode("utf-8", "surrogatepass"))
        return self._edit(document, fence, fence, line, title)

    def _renamed(self, document: Document, finding: Finding) -> types.CodeAction | None:
        """The template's words for a heading that has others."""
        line = document.text[finding.start : finding.end].splitlines()[0]
        mark = len(line) - len(line.lstrip("# \t"))
        start, end = finding.start + mark, finding.start + len(line.rstrip())
        return self._edit(document, start, end, finding.expected, f'Call it "{finding.expected}"')

    def _edit(
        self, document: Document, start: int, end: int, text: str, title: str
    ) -> types.CodeAction:
        place = types.Range(
            self._documents.position(document, start), self._documents.position(document, end)
        )
        edits = [types.TextEdit(place, text.replace("\n", document.eol))]
        return types.CodeAction(title, KIND, edit=workspace_edit(self._server, document, edits))


def _section(template: Template, finding: Finding) -> Section | None:
    """The section of the template that a finding names by its line."""
    for section in template.walk():
        line = template.text.count("\n", 0, section.start) + 1
        if section.level and line == finding.rule:
            return section
    return None


def _command(title: str, name: str, arguments: Sequence[object]) -> types.CodeAction:
    command = types.Command(title, name, arguments=list(arguments))
    return types.CodeAction(title, KIND, command=command)
