"""What gets no completions, and what is read for none: secrets, ignored and generated files."""

from __future__ import annotations

from collections.abc import Sequence

from clover_lsp.documents import Document
from clover_lsp.generated import is_generated
from clover_lsp.ignore_files import cloverignored, gitignored
from clover_lsp.infill import Trigger
from clover_lsp.secret_files import LANGUAGES, holds_key, is_secret
from clover_lsp.settings import Settings
from clover_lsp.uris import files

MAX_BYTES = 10 * 1024 * 1024


def refusal(
    document: Document, settings: Settings, trigger: Trigger = Trigger.INVOKED
) -> str | None:
    """Why `document` gets no completions, in words for the user; None if it does.

    What git ignores is written by the user all the same and gets them; what a program wrote gets
    them when the user asks.
    """
    if not settings.enabled:
        return "completions are switched off"
    if document.language in LANGUAGES:
        return "no completions in a file that may hold secrets"
    if reason := private(document.uri, settings.secret_files):
        return f"no completions in a file that {reason}"
    if document.language in settings.excluded_languages:
        return f"no completions in {document.language} documents"
    if _larger_than(document.text, MAX_BYTES):
        return "no completions in a document over 10 MB"
    if "\0" in document.text:
        return "no completions in a binary file"
    if trigger is Trigger.AUTOMATIC and is_generated(document):
        return "no completions while typing in a generated file"
    return None


def stays_out_of_prompts(document: Document, settings: Settings) -> bool:
    """Whether nothing of `document` may be read for completions in other documents.

    What is no local file cannot be checked against ignore files, and stays out.
    """
    local = list(files(document.uri))
    return (
        not local
        or refusal(document, settings, Trigger.AUTOMATIC) is not None
        or holds_key(document.text)
        or any(gitignored(path) for path in local)
    )


def private(uri: str, secret_files: Sequence[str] = ()) -> str | None:
    """What makes a file one whose text enters no prompt at all; None if nothing does."""
    if is_secret(uri, secret_files):
        return "may hold secrets"
    if any(cloverignored(path) for path in files(uri)):
        return "is named in a .cloverignore file"
    return None


def _larger_than(text: str, limit: int) -> bool:
    if len(text) > limit or 4 * len(text) <= limit:
        return len(text) > limit
    return len(text.encode("utf-8", "surrogatepass")) > limit
