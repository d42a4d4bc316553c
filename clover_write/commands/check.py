"""`clover-write check FILE`: whether a document follows its template."""

from __future__ import annotations

import argparse
from pathlib import Path

EPILOG = """\
Prints one line for each place where the document does not follow the template, as compilers do:
file:line:column [code] message. The template is --template, or what the front matter names
(template: adr). Exits with 1 where anything but holes and leftovers is found.

examples:
  clover-write check docs/adr/0007-queue.md --template adr
  clover-write check docs/adr/*.md
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check`."""
    parser = subparsers.add_parser(
        "check",
        help="say where documents do not follow their template",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--template", metavar="NAME", help="`clover-write templates list` has all")
    parser.add_argument("--workspace", type=Path, default=Path(), help="where templates are sought")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check every file. Raises CloverError for one that cannot be read or names no template."""
    from clover_templates.conforming import findings
    from clover_templates.document import Document
    from clover_templates.template_findings import errors_of
    from clover_write.template_choice import chosen_template
    from clover_write.text_file import read_text_file

    wrong = False
    for path in args.files:
        document = Document.of(read_text_file(path).data)
        found = findings(document, chosen_template(args.template, document, args.workspace))
        for finding in found:
            at = document.source.place(finding.start)
            print(f"{path}:{at} [{finding.code}] {finding.message}")
        wrong = wrong or bool(errors_of(found))
    return int(wrong)
