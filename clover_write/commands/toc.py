"""`clover-write toc FILE`: the table of contents of a Markdown file, brought up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from clover_write.commands.output import add_output, put

EPILOG = """\
The table stands between <!-- toc --> and <!-- tocstop --> and lists the headings below it. Those
of doctoc, gh-md-toc and JetBrains are brought up to date between their own markers. Without
markers it is put behind the title, or at the top. Nothing outside the markers changes.
Prints the file. A heading with <!-- omit in toc --> is not listed; levels in the table's marker,
<!-- toc depthFrom:2 depthTo:3 -->, count more than --min and --max.

examples:
  clover-write toc README.md --in-place
  clover-write toc README.md --check
  clover-write toc note.md --style obsidian --max 3 --diff
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `toc`."""
    parser = subparsers.add_parser(
        "toc",
        help="insert or update a Markdown file's table of contents",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a Markdown file in UTF-8")
    add_output(parser).add_argument(
        "--check", action="store_true", help="print nothing; exit with 1 if a table is out of date"
    )
    parser.add_argument(
        "--style",
        choices=("github", "gitlab", "obsidian", "vscode"),
        help="whose anchors to link to (default: obsidian's where the table has those, or github)",
    )
    parser.add_argument(
        "--min", type=int, choices=range(1, 7), default=1, help="the highest level listed"
    )
    parser.add_argument(
        "--max", type=int, choices=range(1, 7), default=6, help="the lowest level listed"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Bring the table up to date and print or write the outcome. Raises CloverError."""
    from clover_templates.edit import applied
    from clover_templates.slug import Style
    from clover_templates.toc import TocError, TocOptions, toc_edit
    from clover_write.text_file import read_text_file

    file = read_text_file(args.file)
    source = file.document.text.encode()
    options = TocOptions(args.style and Style(args.style), args.min, args.max)
    try:
        edit = toc_edit(source, options, insert=not args.check)
    except TocError as error:
        raise TocError(f"{file.path}:{error}") from error
    if not args.check:
        put(args, file, applied(source, [edit] if edit else []))
    elif edit:
        sys.stderr.write(f"clover-write: {file.path}: its table of contents is out of date\n")
    return 1 if args.check and edit else 0
