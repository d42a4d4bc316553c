"""What a text has to keep to the letter: numbers, dates, names, links, code and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from unicodedata import normalize

from clover_templates.blocks import Kind
from clover_templates.document import Document
from clover_templates.normal import marks_end, whole
from clover_templates.numerals import SIGNS, numeral_value
from clover_templates.opaque import Inline, inline_pieces
from clover_templates.source import Span, byte_offsets
from clover_templates.words import word_list


class Lock(StrEnum):
    """What kind of item is locked."""

    URL = "URL"
    EMAIL = "e-mail address"
    CODE = "code"
    MATH = "formula"
    WIKILINK = "wikilink"
    IMAGE = "image"
    FOOTNOTE = "footnote"
    NUMBER = "number"
    DATE = "date"
    VERSION = "version"
    DOCUMENT_NUMBER = "document number"
    TITLE = "title"
    NAME = "name"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Item:
    """A locked item as `written`; two items of one `value` say the same.

    `span` is in bytes of the document.
    """

    lock: Lock
    written: str
    value: str
    span: Span


_INLINE = {
    Inline.CODE: Lock.CODE,
    Inline.MATH: Lock.MATH,
    Inline.WIKILINK: Lock.WIKILINK,
    Inline.IMAGE: Lock.IMAGE,
    Inline.FOOTNOTE: Lock.FOOTNOTE,
    Inline.URL: Lock.URL,
}
_WHOLE = {Kind.CODE: Lock.CODE, Kind.MATH: Lock.MATH}
_UNITS = "|".join(word_list("units"))
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_ITEM = re.compile(
    rf"""
      (?P<email>   (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}(?:\.[\w-]{{1,64}}){{1,5}} )
    | (?P<name>    (?<![\w@])@[\w-]{{1,40}} )
    | (?P<document_number> [\u4e00-\u9fff]{{1,12}}[〔\[（(]\d{{4}}[〕\]）)]第?\d{{1,5}}号 )
    | (?P<title>   《[^《》\r\n]{{1,80}}》 )
    | (?P<date>    \d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d)
                 | \d{{2,4}}年(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)?[底初末]?
                 | \d{{1,2}}月\d{{1,2}}[日号] | \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d)
                 | \b{_MONTH}\ \d{{1,2}}(?:,?\ \d{{4}})?(?!\w)
                 | \d{{1,2}}\ {_MONTH}(?:\ \d{{4}})?(?!\w) )
    | (?P<version> \bv\d+(?:\.\d+)*(?:-[\w.]+)?(?!\w)
                 | (?<![\w.])\d+(?:\.\d+){{2,}}(?:-[\w.]+)?(?!\w) )
    | (?P<path>    (?<![\w/.:])(?:~|\.{{1,2}})?/[\w.-]+(?:/[\w.-]+)*/? | \b[A-Za-z]:\\[\w.\\-]+
                 | (?<![\w/.-])[\w-]+(?:/[\w.-]+)*/[\w-]+\.[A-Za-z]\w{{0,5}}(?!\w) )
    | (?P<number>  (?<![\d.])-?(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)
                   (?:\ ?(?:%|‰|℃|°[CF]|(?:{_UNITS})|[A-Za-zµ]{{1,4}}(?!\w)))? )
    | (?P<numeral> (?:第|百分之)?[{SIGNS}]{{1,16}}(?:{_UNITS}) | (?:第|百分之)[{SIGNS}]{{1,16}}
                 | [{SIGNS}]{{2,16}} )
    """,
    re.VERBOSE,
)
_NUMERAL = re.compile(rf"(第|百分之)?([{SIGNS}]+)(.*)\Z")
_DIGITS = re.compile(r"(-?[\d,]+(?:\.\d+)?)\s*(.*)\Z")
_ZEROS = {"万": 4, "亿": 8}
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})[日号]?\Z")
_LINE = re.compile(r"[^\r\n]+")


def locked_items(document: Document) -> Iterator[Item]:
    """The locked items of a document, in order; the numbers of headings and lists are none."""
    for block in document.blocks:
        if lock := _WHOLE.get(block.kind):
            yield Item(lock, block.text.strip(), whole(block), block.span)
        elif block.kind is not Kind.BLANK:
            text = block.text
            places = byte_offsets(text)
            for line in _LINE.finditer(text):
                yield from _line_items(line[0], block.start + places[line.start()])


def items_of(text: str) -> list[Item]:
    """The locked items of a text by itself; their spans are bytes of the text."""
    return list(locked_items(Document.of(text.encode())))


def _line_items(line: str, at: int) -> Iterator[Item]:
    """The items of a line that begins `at` bytes into the document."""
    places = byte_offsets(line)
    for lock, start, end in _found(line):
        written = line[start:end]
        span = Span(at + places[start], at + places[end])
        yield Item(lock, written, _value(lock, written), span)


def _found(line: str) -> Iterator[tuple[Lock, int, int]]:
    done = marks_end(line)
    for piece in inline_pieces(line):
        if piece.end <= done:
            continue
        yield from _plain(line, done, piece.start)
        if lock := _INLINE.get(piece.kind):
            yield lock, piece.start, piece.end
        elif piece.kind is Inline.LINK:
            label_end = line.index("](", piece.start)
            yield from _plain(line, piece.start + 1, label_end)
            yield Lock.URL, label_end + 2, piece.end - 1
        else:
            yield from _plain(line, piece.start, piece.end)
        done = piece.end
    yield from _plain(line, done, len(line))


def _plain(line: str, start: int, end: int) -> Iterator[tuple[Lock, int, int]]:
    for found in _ITEM.finditer(line, start, end):
        name = found.lastgroup or ""
        lock = Lock.NUMBER if name in ("number", "numeral") else Lock[name.upper()]
        yield lock, *found.span()


def _value(lock: Lock, written: str) -> str:
    match lock:
        case Lock.NUMBER:
            return _number_value(written)
        case Lock.DATE if full := _DATE.match(written):
            return "-".join(str(int(part)) for part in full.groups())
        case Lock.VERSION:
            return written.removeprefix("v")
        case Lock.URL:
            return written.strip("<>").rstrip(".,;:!?")
        case Lock.CODE:
            return written.strip("`").strip()
        case _:
            return normalize("NFKC", written)


def _number_value(written: str) -> str:
    """`1,200 m` as `1200 m`, `三万元` as `30000 元`, `百分之五` as `5 %`."""
    if numeral := _NUMERAL.match(written):
        digits = str(numeral_value(numeral[2]))
        unit = "%" if numeral[1] == "百分之" else numeral[3]
    else:
        digits, unit = _DIGITS.findall(written)[0]
    zeros = 0
    while unit and unit[0] in _ZEROS:
        zeros, unit = zeros + _ZEROS[unit[0]], unit[1:]
    return f"{_shifted(digits, zeros)} {unit}".strip()


def _shifted(digits: str, zeros: int) -> str:
    """A number with its point moved, to the letter: no type of number holds all its digits."""
    sign = "-" * digits.startswith("-")
    whole, _, part = digits.lstrip("-").replace(",", "").partition(".")
    part = part.ljust(zeros, "0")
    whole, part = (whole + part[:zeros]).lstrip("0") or "0", part[zeros:].rstrip("0")
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"
