"""What gets no completions, and what is read for none: secrets, ignored and generated files."""

from __future__ import annotations

from collections.abc import Sequence

from clover_lsp.confidentiality import is_marked
from clover_lsp.documents import Document
from clover_lsp.generated import is_generated
from clover_lsp.ignore_files import cloverignored, gitignored
from clover_lsp.infill import Trigger
from clover_lsp.secret_files import LANGUAGES, holds_key, is_secret
from clover_lsp.settings import Settings
from clover_lsp.uris import files

MAX_BYTES = 10 * 1024 * 1024
# each keystroke costs what the document is long
MAX_TYPED_BYTES = 2 * 1024 * 1024


def refusal(
    document: Document, settings: Settings, trigger: Trigger = Trigger.INVOKED
) -> str | None:
    """Why `document` gets no completions, in words for the user; None if it does.

    What git ignores is written by the user all the same and gets them; what is large, or a program
    wrote, gets them when the user asks.
    """
    if not settings.enabled:
        return "completions are switched off"
    if document.language in LANGUAGES:
        return "no completions in a file that may hold secrets"
    if reason := private(document.uri, settings.secret_files):
        return f"no completions in a file that {reason}"
    if document.language in settings.excluded_languages:
        return f"no completions in {document.language} documents"
    if document.content.size > MAX_BYTES:
        return "no completions in a document over 10 MB"
    if "\0" in document.text:
        return "no completions in a binary file"
    return _unasked(document) if trigger is Trigger.AUTOMATIC else None


def stays_out_of_prompts(document: Document, settings: Settings) -> bool:
    """Whether nothing of `document` may be read for completions in other documents.

    What is no local file cannot be checked against ignore files, and stays out.
    """
    local = list(files(document.uri))
    return (
        not local
        or refusal(document, settings, Trigger.AUTOMATIC) is not None
        or holds_key(document.text)
        or is_marked(document.text)
        or any(gitignored(path) for path in local)
    )


def private(uri: str, secret_files: Sequence[str] = ()) -> str | None:
    """What makes a file one whose text enters no prompt at all; None if nothing does."""
    if is_secret(uri, secret_files):
        return "may hold secrets"
    if any(cloverignored(path) for path in files(uri)):
        return "is named in a .cloverignore file"
    return None


def _unasked(document: Document) -> str | None:
    """Why nothing comes by itself while one types in `document`; None if it does."""
    if document.content.size > MAX_TYPED_BYTES:
        return "no completions while typing in a document over 2 MB, only when asked for"
    if is_generated(document):
        return "no completions while typing in a generated file, only when asked for"
    return None
