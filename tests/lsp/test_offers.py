"""What was offered stays while it fits, its rest follows a part taken, and dismissed text goes."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from clover_engine.api import Draft, Hole, Priority
from clover_lsp.infill import Trigger
from clover_lsp.offers import Course, Offers
from clover_lsp.settings import Mode, Ranges, Settings
from tests.support.session import URI, Session, inserted

AUTOMATIC = Settings(prefetch=False)


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    yield session
    await session.feature.close()


def one_after_the_other(*texts: str) -> Callable[[Hole], str]:
    """An engine with these texts, each unlike those before it."""

    def reply(hole: Hole) -> str:
        return next((text for text in texts if text not in hole.unlike), "")

    return reply


async def test_what_is_shown_stays_though_the_engine_would_write_something_else(
    session: Session,
) -> None:
    session.open("x = \n")
    session.engine.reply = lambda _: "foo"
    assert await session.texts((0, 4)) == ["foo"]
    session.engine.reply = lambda _: "bar"
    assert await session.texts((0, 4)) == ["foo"]
    session.type((0, 4), "f")
    assert await session.texts((0, 5)) == ["oo"]
    session.type((0, 5), "x")
    assert await session.texts((0, 6)) == ["bar"]


async def test_a_paragraph_that_was_asked_for_is_not_cut_to_a_line_by_typing_along(
    session: Session,
) -> None:
    session.open("def f():\n")
    session.engine.reply = lambda hole: "" if hole.unlike else "\n    a = 1\n    return a"
    [item] = await session.texts((0, 8), trigger=Trigger.INVOKED)
    session.type((0, 8), "\n    a")
    assert await session.texts((1, 5)) == [item.removeprefix("\n    a")]


@pytest.mark.parametrize("editor", ["", "Neovim"])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
async def test_each_part_taken_leaves_the_rest_to_the_byte(eol: str, editor: str) -> None:
    session = Session(editor=editor)
    session.open(f"def f():{eol}end")
    text = "\n  née 中文 👩\u200d💻 e\u0301x\n  b"
    session.engine.reply = lambda hole: "" if hole.unlike else text
    [item] = await session.texts((0, 8), trigger=Trigger.INVOKED)
    assert item == text.replace("\n", "\n" if editor else eol)
    left = text.replace("\n", eol)
    asks = len(session.engine.asks)
    line, column = 0, 8
    for part in (f"{eol}  n", "ée ", "中", "文 👩\u200d💻", " e\u0301x", f"{eol}  "):
        assert left.startswith(part)
        session.type((line, column), part)
        line, column = (line + 1, 0) if eol in part else (line, column)
        column += len(part.split(eol)[-1].encode("utf-16-le")) // 2
        left = left[len(part) :]
        shown = left.replace("\r\n", "\n") if editor else left
        assert await session.texts((line, column)) == [shown]
    assert len(session.engine.asks) == asks
    await session.feature.close()


async def test_no_rest_begins_inside_a_character(session: Session) -> None:
    session.open("x = \n")
    session.engine.reply = lambda _: "👩\u200d💻 works"
    assert await session.texts((0, 4)) == ["👩\u200d💻 works"]
    session.type((0, 4), "👩")
    session.engine.reply = lambda _: ""
    assert await session.texts((0, 6)) == []


@pytest.mark.parametrize(("cut", "left"), [("so 👩\u200d", "so"), ("so 🇩🇪🇫", "so 🇩🇪")])
async def test_no_answer_ends_inside_a_character(session: Session, cut: str, left: str) -> None:
    session.open("x = \n")
    session.engine.reply = lambda _: cut
    assert [text.rstrip() for text in await session.texts((0, 4))] == [left]


async def test_inside_a_character_there_is_no_answer(session: Session) -> None:
    session.open("e\u0301 👩\u200d💻\n")
    session.engine.reply = lambda _: "text"
    for column in (1, 5, 6):
        assert await session.texts((0, column), trigger=Trigger.INVOKED) == []
    assert await session.texts((0, 3), trigger=Trigger.INVOKED) == ["text"]


async def dismiss(session: Session, place: tuple[int, int]) -> None:
    """Type something else than what is offered there, and take it back."""
    line, column = place
    session.type(place, "q")
    session.replace(place, (line, column + 1), "")


async def test_a_text_dismissed_three_times_is_not_shown_again_there(session: Session) -> None:
    session.open("x = \ny = \n")
    session.engine.reply = lambda _: "foo"
    for _ in range(3):
        assert await session.texts((0, 4)) == ["foo"]
        await dismiss(session, (0, 4))
    for trigger in Trigger:
        assert await session.texts((0, 4), trigger=trigger) == []
    assert await session.texts((1, 4)) == ["foo"]


async def test_moving_away_typing_along_and_taking_it_is_no_dismissal(session: Session) -> None:
    session.open("x = \ny = \n")
    session.engine.reply = lambda _: "foo"
    for _ in range(4):
        assert await session.texts((0, 4)) == ["foo"]
        assert await session.texts((1, 4)) == ["foo"]
        assert await session.texts((0, 4)) == ["foo"]
        session.type((0, 4), "foo")
        session.type((0, 7), "l")
        session.replace((0, 4), (0, 8), "")


async def test_a_change_elsewhere_or_before_it_is_no_dismissal(session: Session) -> None:
    session.open("x = \ny = \n")
    session.engine.reply = lambda _: "foo"
    for change in [((1, 4), (1, 4), "1"), ((1, 4), (1, 5), ""), ((0, 3), (0, 4), "")] * 4:
        assert await session.texts((0, 4)) == ["foo"]
        session.replace(*change)
        if change[0] == (0, 3):
            session.type((0, 3), " ")


async def test_what_was_taken_in_part_is_not_dismissed_by_what_follows(session: Session) -> None:
    session.open("x = \n")
    session.engine.reply = lambda _: "foo"
    for _ in range(4):
        [item] = (await session.request((0, 4))).items
        assert item.command
        assert item.command.arguments
        [id] = item.command.arguments
        assert isinstance(id, int)
        session.feature.offers.accept(id, 1)
        await dismiss(session, (0, 4))


@given(
    st.lists(st.sampled_from(["a", "e\u0301", "中", "😀", "👩\u200d💻", "🇩🇪", "❤\ufe0f", "\r\n"])),
    st.integers(0, 30),
)
def test_a_length_taken_ends_with_a_whole_character(characters: list[str], units: int) -> None:
    offers = Offers()
    offer = offers.add(URI, Course("", "".join(characters), ""))
    offers.accept(offer.id, units)
    ends = [0, *accumulate(len(each.encode("utf-16-le")) // 2 for each in characters)]
    whole = max(number for number, end in enumerate(ends) if end <= units)
    assert offer.text[: offer.accepted] == "".join(characters[:whole])
    # it is counted from the beginning: what comes late changes nothing
    offers.accept(offer.id, 0)
    assert offer.text[: offer.accepted] == "".join(characters[:whole])
    offers.accept(offer.id)
    assert offer.accepted == len(offer.text)


async def test_offers_do_not_heap_up_copies_of_the_document(session: Session) -> None:
    text = "a line like many others\n" * 4000
    session.open(f"{text}y = \n")
    answer = "compute(alpha, beta, gamma) + offset / 2 - shift"
    session.engine.reply = lambda _: answer
    assert await session.texts((4000, 4)) == [answer]
    tracemalloc.start()
    for typed, sign in enumerate(answer[:-1]):
        session.type((4000, 4 + typed), sign)
        assert await session.texts((4000, 5 + typed)) == [answer[typed + 1 :]]
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 20 * len(text)


async def test_signals_of_unknown_offers_change_nothing(session: Session) -> None:
    session.feature.offers.show(7)
    session.feature.offers.accept(7, 3)
    session.open("x = \n")
    assert await session.shows((0, 4), "foo") == "foo"


async def test_who_asks_gets_several_answers_each_unlike_the_others(session: Session) -> None:
    session.open("return \n")
    session.engine.reply = one_after_the_other("a + b", "b + a", "a + b ", "sum(a)")
    asked = [Trigger.INVOKED] * 2
    answers = [await session.texts((0, 7), trigger=trigger) for trigger in asked]
    assert answers == [["a + b", "b + a"]] * 2
    assert [len(ask.hole.unlike) for ask in session.engine.asks] == [0, 1, 2]
    session.type((0, 7), "b")
    assert await session.texts((0, 8)) == [" + a"]
    assert len(session.engine.asks) == 3


async def test_typing_gets_one_answer(session: Session) -> None:
    session.open("return \n")
    session.engine.reply = one_after_the_other("a", "b")
    assert await session.texts((0, 7)) == ["a"]


async def test_a_change_while_further_answers_are_written_ends_the_request(
    session: Session,
) -> None:
    session.open("return \n")
    request = session.request((0, 7), Trigger.INVOKED)
    (await session.asked(1)).answer.set_result("a")
    further = await session.asked(2)
    session.type((0, 7), "q")
    async with asyncio.timeout(1):
        assert inserted(await request) is None
    await asyncio.sleep(0)
    assert further.cancelled


async def test_behind_what_is_shown_the_next_is_written_ahead() -> None:
    session = Session(Settings())
    session.open("x = \nend\n")
    request = session.request((0, 4))
    (await session.asked(1)).answer.set_result("foo")
    [item] = (await request).items
    ahead = await session.asked(2)
    assert ahead.request.priority is Priority.BACKGROUND
    assert ahead.left.endswith("x = foo")
    # typing along leaves it alone, and asks for it no second time
    session.type((0, 4), "f")
    assert await session.texts((0, 5)) == ["oo"]
    ahead.answer.set_result(" bar")
    session.replace((0, 4), (0, 5), "")
    session.accept(item)
    assert await session.texts((0, 7)) == [" bar"]
    # it goes one step ahead of what is shown, no further
    assert (await session.asked(3)).left.endswith("x = foo bar")
    assert len(session.engine.asks) == 3
    assert not any(ask.cancelled for ask in session.engine.asks)
    await session.feature.close()


async def test_a_job_ahead_is_taken_over_while_it_runs_and_ends_with_what_it_stood_on() -> None:
    session = Session(Settings())
    session.open("x = \nend\n")
    request = session.request((0, 4))
    (await session.asked(1)).answer.set_result("foo")
    [item] = (await request).items
    ahead = await session.asked(2)
    ahead.on_draft(Draft(" b"))
    session.accept(item)
    request = session.request((0, 7))
    await asyncio.sleep(0)
    ahead.answer.set_result(" bar")
    assert inserted(await request) == " bar"
    session.type((0, 7), "q")
    await asyncio.sleep(0)
    assert (await session.asked(3)).cancelled
    await session.feature.close()


@pytest.mark.parametrize(
    "settings",
    [Settings(prefetch=False), Settings(languages={"python": Mode.MANUAL})],
)
async def test_nothing_is_written_ahead_where_nobody_wants_it(settings: Settings) -> None:
    session = Session(settings)
    session.open("x = \nend\n")
    session.engine.reply = lambda hole: "" if hole.unlike else "foo"
    assert await session.texts((0, 4), trigger=Trigger.INVOKED) == ["foo"]
    await asyncio.sleep(0.01)
    assert {ask.request.priority for ask in session.engine.asks} == {Priority.INTERACTIVE}
    await session.feature.close()


@pytest.mark.parametrize(
    ("languages", "automatic", "invoked"),
    [
        ({}, ["foo"], ["foo"]),
        ({"python": Mode.MANUAL}, [], ["foo"]),
        ({"*": Mode.MANUAL}, [], ["foo"]),
        ({"*": Mode.OFF, "python": Mode.AUTOMATIC}, ["foo"], ["foo"]),
        ({"python": Mode.OFF}, [], []),
        ({"markdown": Mode.OFF}, ["foo"], ["foo"]),
    ],
)
async def test_modes_of_a_language(
    languages: dict[str, Mode], automatic: list[str], invoked: list[str]
) -> None:
    session = Session(Settings(prefetch=False, languages=languages))
    session.open("x = \n")
    session.engine.reply = lambda hole: "" if hole.unlike else "foo"
    assert await session.texts((0, 4)) == automatic
    assert bool(session.engine.asks) == bool(automatic)
    assert await session.texts((0, 4), trigger=Trigger.INVOKED) == invoked
    await session.feature.close()


async def test_unsure_text_comes_only_when_asked_for() -> None:
    session = Session(Settings(prefetch=False, min_confidence=0.3))
    session.open("x = \n")
    session.engine.reply = lambda hole: "" if hole.unlike else "foo"
    session.engine.confidence = 0.2
    assert await session.texts((0, 4)) == []
    assert await session.texts((0, 4), trigger=Trigger.INVOKED) == ["foo"]
    await session.feature.close()


def entry(start: int, end: int, text: str, line: int = 0) -> types.SelectedCompletionInfo:
    where = types.Range(types.Position(line, start), types.Position(line, end))
    return types.SelectedCompletionInfo(where, text)


async def test_with_an_entry_of_the_popup_selected_items_go_on_from_it(session: Session) -> None:
    session.open("os.pa\n")
    session.engine.reply = lambda hole: "" if hole.unlike else ".join(a, b)"
    for trigger in Trigger:
        request = session.request((0, 5), trigger, selected=entry(3, 5, "path"))
        [item] = (await request).items
        assert item.insert_text == "path.join(a, b)"
        assert item.range == types.Range(types.Position(0, 3), types.Position(0, 5))
    assert session.engine.asks[0].left == "os.path"
    # the entry accepted, the text behind it is known
    session.replace((0, 3), (0, 5), "path")
    assert await session.texts((0, 7)) == [".join(a, b)"]
    session.engine.reply = lambda _: ""
    assert await session.texts((0, 7), selected=entry(3, 7, "pathlib")) == []


@pytest.mark.parametrize(
    "selected",
    [
        entry(0, 2, "path"),
        entry(3, 5, "path", line=1),
        types.SelectedCompletionInfo(
            types.Range(types.Position(0, 3), types.Position(1, 0)), "path"
        ),
    ],
)
async def test_an_entry_that_stands_elsewhere_gets_nothing(
    session: Session, selected: types.SelectedCompletionInfo
) -> None:
    session.open("os.pa\n\n")
    session.engine.reply = lambda _: ".join"
    assert await session.texts((0, 5), selected=selected) == []


@pytest.mark.parametrize(
    ("editor", "ranges", "text", "end"),
    [
        ("Visual Studio Code", Ranges.AUTO, "a, b): pass", 7),
        ("Visual Studio Code", Ranges.INSERT, "a, b", 6),
        ("Neovim", Ranges.AUTO, "a, b", 6),
        ("", Ranges.AUTO, "a, b", 6),
        ("Neovim", Ranges.REPLACE, "a, b): pass", 7),
    ],
)
async def test_what_an_item_replaces_is_the_editor_s_choice(
    editor: str, ranges: Ranges, text: str, end: int
) -> None:
    session = Session(Settings(prefetch=False, ranges=ranges), editor)
    session.open("def f()\n")
    session.engine.reply = lambda _: "a, b): pass"
    [item] = (await session.request((0, 6))).items
    assert item.insert_text == text
    assert item.range == types.Range(types.Position(0, 6), types.Position(0, end))
    # typing along keeps it, with the closing sign still right of the cursor
    session.type((0, 6), "a")
    [item] = (await session.request((0, 7))).items
    assert item.insert_text == text[1:]
    assert item.range == types.Range(types.Position(0, 7), types.Position(0, end + 1))
    session.accept(item)
    document = session.documents.get(URI)
    assert document is not None
    assert document.text == ("def f(a, b): pass\n" if end == 7 else "def f(a, b)\n")
    await session.feature.close()
