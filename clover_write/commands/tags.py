"""`clover-write tags FILE`: the tags of a note, those it may want, and adding some."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clover_write.commands.output import add_output, put

if TYPE_CHECKING:
    from clover_write.text_file import TextFile

EPILOG = """\
Prints the note's tags, one a line: those of its front matter and the #tags of its text; with
--suggest, those it may want: tags that other notes of the vault have and whose words stand in
this one. With --add, prints the note with these added to its front matter, in the style of those
that are there; front matter is made where none is, and no other byte changes. With --diff and
--in-place, --suggest adds what it suggests.
The vault is the folder that Obsidian or git made its own above FILE, or else FILE's own.

examples:
  clover-write tags note.md
  clover-write tags note.md --suggest --vault ~/notes
  clover-write tags note.md --add python 项目/写作 --diff
  clover-write tags note.md --suggest --in-place
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `tags`."""
    parser = subparsers.add_parser(
        "tags",
        help="show, suggest or add a note's tags",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a Markdown file in UTF-8")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--add", nargs="+", metavar="TAG", help="tags to add, with or without #")
    what.add_argument("--suggest", action="store_true", help="print tags the note may want")
    parser.add_argument("--vault", type=Path, metavar="DIR", help="where other notes are")
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print tags, or print or write the note with some added. Raises CloverError."""
    from clover_templates.tags import read_tags
    from clover_write.text_file import read_text_file

    file = read_text_file(args.file)
    source = file.document.text.encode()
    names = _suggested(file, source, args.vault) if args.suggest else list(read_tags(source))
    if args.add or args.diff or args.in_place:
        put(args, file, _with_tags(file, source, args.add or names))
    else:
        sys.stdout.buffer.write("".join(f"{name}\n" for name in names).encode())
        sys.stdout.buffer.flush()
    return 0


def _with_tags(file: TextFile, source: bytes, names: list[str]) -> bytes:
    from clover_templates.edit import applied
    from clover_templates.tag_property import FrontMatterError
    from clover_templates.tags import tag_edit

    try:
        edit = tag_edit(source, names)
    except FrontMatterError as error:
        raise FrontMatterError(f"{file.path}:{error}") from error
    return applied(source, [edit] if edit else [])


def _suggested(file: TextFile, source: bytes, folder: Path | None) -> list[str]:
    from clover_templates.tag_suggestions import suggest_tags
    from clover_templates.vault import Vault, vault_folder
    from clover_write.text_file import FileError

    if folder and not folder.is_dir():
        raise FileError(f"{folder} is no folder: name the one that your notes are in")
    return suggest_tags(source, Vault(folder or vault_folder(file.path)).tags())
