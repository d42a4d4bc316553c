"""How a command that changes a text gives it out: printed, as a diff, or in its place."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clover_write.text_file import TextFile


def add_output(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add `--diff` and `--in-place`; what is added to the returned group excludes them."""
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--diff", action="store_true", help="print a unified diff instead")
    output.add_argument("--in-place", action="store_true", help="change the file, print nothing")
    return output


def put(args: argparse.Namespace, file: TextFile, new: bytes) -> None:
    """Give out `new`, the UTF-8 of what `file` should hold. Raises FileError."""
    text = new.decode()
    if args.in_place:
        if text != file.document.text:
            file.replace(text)
        return
    # bytes: the line ends of the file are not those of the terminal
    sys.stdout.buffer.write(file.diff(text) if args.diff else file.encoded(text))
    sys.stdout.buffer.flush()
