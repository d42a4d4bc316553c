"""`clover-write templates`: list, show, check and make templates."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clover_templates.library import Entry, Library

EPILOG = """\
A template is a text with headings and {{slots}}; the README of the templates folder has the
language. Templates of your own lie in the folder `templates` beside config.toml, those of a
workspace in its `.clover/templates`; they stand before shipped ones of the same name.

examples:
  clover-write templates list
  clover-write templates show adr
  clover-write templates check .clover/templates/review.md
  clover-write templates new --from minutes-of-may.md --name minutes
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `templates` with its four verbs."""
    parser = subparsers.add_parser(
        "templates",
        help="list, show, check and make templates",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the templates there are, by name")
    listing.add_argument("--json", action="store_true", help="with aliases, sections and files")
    show = verbs.add_parser("show", help="print a template")
    show.add_argument("name", metavar="NAME", help="its name, title or an alias")
    check = verbs.add_parser("check", help="say what is wrong with template files")
    check.add_argument("files", metavar="FILE", type=Path, nargs="+")
    new = verbs.add_parser("new", help="make a template of a document")
    new.add_argument("--from", dest="document", metavar="FILE", type=Path, required=True)
    new.add_argument("--name", help="write .clover/templates/NAME.md instead of printing it")
    for verb in (listing, show, new):
        verb.add_argument(
            "--workspace", metavar="FOLDER", type=Path, default=Path(), help="instead of this one"
        )


def run(args: argparse.Namespace) -> int:
    """Run one verb. Raises CloverError."""
    match args.verb:
        case "list":
            _list(_library(args.workspace), args.json)
        case "show":
            sys.stdout.write(_library(args.workspace).find(args.name).template.text)
        case "check":
            return _check(args.files)
        case "new":
            _new(args.document, args.name, args.workspace)
    return 0


def _library(workspace: Path) -> Library:
    from clover_templates.library import Library
    from clover_write.config import config_path

    return Library.of(config_path().with_name("templates"), [workspace])


def _list(library: Library, as_json: bool) -> None:
    import json

    from clover_templates.template_findings import errors_of

    entries = library.entries()
    if as_json:
        print(json.dumps([_facts(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    width = max((_columns(entry.template.name) for entry in entries), default=0)
    for entry in entries:
        name, settings = entry.template.name, entry.template.settings
        about = settings.description or entry.template.title
        if errors := errors_of(entry.reading.findings):
            about = f"cannot be used: {errors[0].message}"
        gap = " " * (width - _columns(name))
        print(f"{name}{gap}  {entry.origin:<9}  {settings.lang}  {about}")


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: a Chinese character takes two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _facts(entry: Entry) -> dict[str, Any]:
    template = entry.template
    return {
        "name": template.name,
        "title": template.title,
        "description": template.settings.description,
        "aliases": list(template.settings.aliases),
        "lang": template.settings.lang,
        "origin": str(entry.origin),
        "path": str(entry.path),
        "sections": [
            {"level": section.level, "heading": section.label, "optional": section.optional}
            for section in template.walk()
            if section.level
        ],
        "findings": [found.message for found in entry.reading.findings],
    }


def _check(files: list[Path]) -> int:
    from clover_templates.library import load
    from clover_templates.template_findings import errors_of

    errors = 0
    for path in files:
        entry = load(path)
        for finding in entry.reading.findings:
            print(finding.shown(str(path), entry.template.text))
        errors += len(errors_of(entry.reading.findings))
    return 1 if errors else 0


def _new(document: Path, name: str | None, workspace: Path) -> None:
    from clover_templates.derive import derive
    from clover_templates.library import WORKSPACE_FOLDER, TemplateError
    from clover_write.text_file import read_text_file

    text = derive(read_text_file(document).document.text, name or document.stem)
    if name is None:
        sys.stdout.write(text)
        return
    if Path(name).name != name:
        raise TemplateError(f'"{name}" is no name: a template lies in {WORKSPACE_FOLDER} itself')
    path = workspace / WORKSPACE_FOLDER / f"{name}.md"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise TemplateError(f"{path} is there already: choose another name") from error
    except OSError as error:
        raise TemplateError(f"{path} cannot be written: {error}") from error
    print(f"{path} is made: look through it, then `clover-write templates check {path}`")
