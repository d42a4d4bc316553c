"""`clover-write restructure FILE`: bring a document into the shape of a template."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clover_write.commands.output import add_output, put

if TYPE_CHECKING:
    from clover_engine.api import EngineClient
    from clover_templates.document import Document
    from clover_templates.restructure import Proposal
    from clover_templates.template import Template

EPILOG = """\
Blocks are moved, not retyped: first by the headings that the document has, then by what they say.
What fits nowhere stands under a heading of its own at the end, what is missing stays a visible
hole. Before anything is given out it is checked that no sentence is lost and no number, link or
name is changed; where that does not hold the document stays as it is. Where a template says
`mode: rewrite` or `mode: write` the model words sentences, under the same checks. The template is
--template, or what the front matter names (template: adr). Prints the document.

examples:
  clover-write restructure incident.md --template incident --diff
  clover-write restructure 会议记录.md --template 会议纪要 --in-place
  clover-write restructure notes.md --template minutes --report
  clover-write restructure notes.md --template minutes --section Decisions --in-place
  clover-write restructure notes.md --template minutes --no-model
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `restructure`."""
    parser = subparsers.add_parser(
        "restructure",
        help="bring a document into the shape of a template, nothing lost",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a text or Markdown file in UTF-8")
    parser.add_argument("--template", metavar="NAME", help="`clover-write templates list` has all")
    add_output(parser).add_argument(
        "--report", action="store_true", help="print what would move where, and what is missing"
    )
    parser.add_argument(
        "--section",
        metavar="HEADING",
        action="append",
        help="make the changes of this section of the outcome alone; may be given several times",
    )
    parser.add_argument("--no-model", action="store_true", help="place by words alone")
    parser.add_argument("--engine", choices=("process", "inproc", "fake"), help="where it runs")
    parser.add_argument("--workspace", type=Path, default=Path(), help="where templates are sought")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Restructure and print or write the outcome. Raises CloverError."""
    import asyncio

    from clover_templates.changes import part_of
    from clover_templates.document import Document
    from clover_templates.report import report
    from clover_templates.restructure import refusal
    from clover_write.template_choice import chosen_template
    from clover_write.text_file import FileError, read_text_file

    file = read_text_file(args.file)
    document = Document.of(file.data)
    template = chosen_template(args.template, document, args.workspace)
    proposal = asyncio.run(_proposed(args, document, template))
    if args.section:
        proposal = part_of(proposal, template, args.section)
    if args.report:
        sys.stdout.write(report(proposal, template, file.path.name))
        return 0
    if reason := refusal(proposal, template):
        raise FileError(f"{file.path} stays as it is: {reason}")
    put(args, file, proposal.output.removeprefix(b"\xef\xbb\xbf"))
    _tell(proposal)
    return 0


async def _proposed(args: argparse.Namespace, document: Document, template: Template) -> Proposal:
    from datetime import datetime

    from clover_lsp.confidentiality import is_marked
    from clover_templates.builtins import Facts
    from clover_templates.engine_scorer import EngineScorer
    from clover_templates.on_behalf import OnBehalf
    from clover_templates.prose import Prose
    from clover_templates.restructure import restructure
    from clover_templates.scoring import WordScorer

    facts = Facts(datetime.now(), args.file.stem)
    client = None if args.no_model else _client(args)
    try:
        if client is None:
            return await restructure(document, template, WordScorer(), facts)
        text = document.data.decode("utf-8", "replace")
        engine = OnBehalf(client, args.file.absolute().as_uri(), is_marked(text))
        proposal = await restructure(document, template, EngineScorer(engine), facts)
        return await Prose(engine).for_slots(proposal, template)
    finally:
        if client:
            await client.close()


def _client(args: argparse.Namespace) -> EngineClient:
    from clover_write.app import connect
    from clover_write.config import load_config

    config = load_config()
    return connect(config.with_engine(args.engine))


def _tell(proposal: Proposal) -> None:
    from clover_templates.trace import Written

    left = sum(1 for one in proposal.placed if one.place is None)
    if left:
        sys.stderr.write(
            f"clover-write: {left} of {len(proposal.placed)} portions fit nowhere and stand at the"
            " end; --report names them\n"
        )
    if worded := sum(isinstance(piece, Written) for piece in proposal.trace.pieces):
        sys.stderr.write(f"clover-write: {worded} texts are the model's; --report shows them\n")
