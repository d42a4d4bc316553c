"""Pieces of files, and which of them tell most about a place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_lsp.snippets import MAX_PIECE_BYTES, Place, pieces, size, telling, terms

SHAPES = '''"""Shapes."""

from dataclasses import dataclass

MAX_SIDES = 12


@dataclass
class Polygon:
    """A shape with sides."""

    sides: int

    def perimeter(self, length: float) -> float:
        return self.sides * length

    def rotate(self, degrees: float) -> None:
        self.angle = degrees
'''


def place(near: str, named: str = "") -> Place:
    return Place(frozenset(terms(near)), frozenset(terms(named)))


def told(near: str, *texts: str, room: int = 1000) -> list[str]:
    """The texts of the snippets for a place, files being named by their number."""
    files = {str(number): pieces(text) for number, text in enumerate(texts)}
    return [snippet.text for snippet in telling(place(near), files, room)]


def test_pieces_are_runs_of_lines_under_their_header() -> None:
    found = pieces(SHAPES)
    assert [piece.text.split("\n")[0] for piece in found] == [
        '"""Shapes."""',
        "from dataclasses import dataclass",
        "MAX_SIDES = 12",
        "@dataclass",
        "    sides: int",
        "    def perimeter(self, length: float) -> float:",
        "    def rotate(self, degrees: float) -> None:",
    ]
    assert {piece.header for piece in found[4:]} == {"class Polygon:"}
    assert [piece.header for piece in found[:4]] == [""] * 4


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def area(x):", "area"),
        ("    async def fetch(self):", "fetch"),
        ("class Polygon(Shape):", "Polygon"),
        ("export default async function loadAll() {", "loadAll"),
        ("export const LIMIT = 3", "LIMIT"),
        ("func (s *Server) Listen(port int) error {", "Listen"),
        ("pub fn parse(text: &str) -> Token {", "parse"),
        ("#define BUFFER 4096", "BUFFER"),
        ("interface Options {", "Options"),
        ("MAX_SIDES: Final = 12", "MAX_SIDES"),
    ],
)
def test_definitions(line: str, name: str) -> None:
    assert pieces(line)[0].defined == {name}


@pytest.mark.parametrize("line", ["if a == b:", "call(name=3)", "return value", "# def of it"])
def test_no_definitions(line: str) -> None:
    assert pieces(line)[0].defined == frozenset()


def test_the_definition_of_a_name_is_quoted_before_its_uses() -> None:
    use = "\n\n".join(f"total = rotate({at}) + other_{at}" for at in range(20))
    [snippet] = told("shape.rotate(", use + "\n\n" + SHAPES, room=120)
    assert snippet == "class Polygon:\n    def rotate(self, degrees: float) -> None:\n" + (
        "        self.angle = degrees"
    )


def test_names_of_the_head_are_looked_up_but_not_compared() -> None:
    files = {"shapes": pieces(SHAPES), "uses": pieces("x = Polygon\n")}
    [snippet] = telling(place("nothing else", "from shapes import Polygon"), files, 1000)
    assert snippet.path == "shapes"
    assert "class Polygon" in snippet.text


def test_pieces_stand_in_the_order_of_their_file_each_header_once() -> None:
    [text] = told("rotate perimeter", SHAPES)
    assert text.index("def perimeter") < text.index("def rotate")
    assert text.count("class Polygon:") == 1


def test_of_two_alike_the_later_file_s_is_quoted() -> None:
    files = {name: pieces("def area(shape):\n    return shape.sides") for name in ("old", "new")}
    [snippet] = telling(place("area"), files, 60)
    assert snippet.path == "new"


def test_what_shares_nothing_is_not_quoted() -> None:
    assert told("entirely different words", SHAPES) == []
    assert told("rotate", "") == []


def test_chinese_is_compared_by_pairs_of_signs() -> None:
    texts = ("港口的引航站在北岸。\n", "明天下雨。\n")
    assert told("港口引航站在北岸，几点开门", *texts) == ["港口的引航站在北岸。"]


lines = st.lists(
    st.sampled_from(
        [
            "",
            "def alpha(x):",
            "    beta = alpha(1)",
            "中文文字" * 50,
            "x" * 400,
            "\ud83d",
            "a\u2028\u2028b",
            "\fc",
            " \x85d",
        ]
    ),
    max_size=60,
).map("\n".join)


@given(st.lists(lines, max_size=4), st.integers(0, 1500))
@settings(max_examples=60, deadline=None)
def test_snippets_keep_to_their_room(texts: list[str], room: int) -> None:
    files = {f"path/{number}.py": pieces(text) for number, text in enumerate(texts)}
    snippets = telling(place("alpha beta 中文文字"), files, room)
    assert sum(size(f"{snippet.path}\n{snippet.text}\n") for snippet in snippets) <= room
    for snippet in snippets:
        whole = texts[int(snippet.path[5])]
        assert all(line in whole for line in snippet.text.split("\n"))


@given(lines)
@settings(max_examples=60, deadline=None)
def test_a_piece_is_bounded_and_stands_where_it_says(text: str) -> None:
    for piece in pieces(text):
        assert size(piece.text) <= MAX_PIECE_BYTES
        first = piece.text.split("\n")[0]
        assert text[piece.start :].startswith(first)
