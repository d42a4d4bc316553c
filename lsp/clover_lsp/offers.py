"""What was offered to the editor, and what became of it: accepted, typed along, or dismissed."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import count
from weakref import WeakValueDictionary

from clover_lsp.graphemes import is_boundary, offset_before

# a text is not shown again where it was dismissed so often
MOST_DISMISSALS = 3
# as much text on either side makes a place
_PLACE_CHARS = 200
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Course:
    """How a document may go on: `before`, then `text` as far as it is typed or accepted, then
    `after`."""

    before: str
    text: str
    after: str

    def allows(self, document: str) -> bool:
        """Whether the document's text is somewhere on this course."""
        typed = self._between(document)
        return typed is not None and self.text.startswith(typed)

    def is_run(self, document: str) -> bool:
        """Whether the document's text is at its end."""
        return self._between(document) == self.text

    def is_left(self, document: str) -> bool:
        """Whether something else was typed in its place; a change elsewhere is none of it."""
        return bool(self._between(document)) and not self.allows(document)

    def ahead(self, head: str, tail: str) -> str | None:
        """What is left of the text where `head` stands left of the cursor and `tail` right of it;
        None if it is another place, nothing is left, or that would begin inside a character."""
        if tail != self.after or not head.startswith(self.before):
            return None
        typed = head[len(self.before) :]
        if not self.text.startswith(typed) or not is_boundary(self.text, len(typed)):
            return None
        return self.text[len(typed) :] or None

    def _between(self, document: str) -> str | None:
        """What stands in the document in place of the text; None if something else changed."""
        end = len(document) - len(self.after)
        stands = document.startswith(self.before) and document.endswith(self.after)
        return document[len(self.before) : end] if stands and end >= len(self.before) else None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Offer:
    """One text offered in `document` (a URI) and what was done with it so far.

    `course` has the document's text around it. `covered`, right of the cursor, gives way to the
    text, which holds it too. `accepted` counts its characters that were taken over.
    """

    id: int
    document: str
    course: Course
    covered: str = ""
    shown: bool = False
    accepted: int = 0

    @property
    def text(self) -> str:
        """What was offered, in the document's line ends."""
        return self.course.text

    @property
    def courses(self) -> tuple[Course, ...]:
        """How the document goes on if it is accepted, and if it is typed beside what it covers."""
        if not self.covered:
            return (self.course,)
        return self.course, replace(self.course, after=self.covered + self.course.after)

    def allows(self, document: str) -> bool:
        """Whether the document's text is on the way to holding the offered one."""
        return any(course.allows(document) for course in self.courses)

    def is_left(self, document: str) -> bool:
        """Whether something else was typed in its place."""
        return self.courses[-1].is_left(document) and not self.allows(document)

    def ahead(self, head: str, tail: str) -> tuple[str, str] | None:
        """What is left of it between `head` and `tail`, and what of `tail` that covers."""
        for covered in dict.fromkeys((self.covered, "")):
            if tail.startswith(covered) and (rest := self.course.ahead(head, tail[len(covered) :])):
                return rest, covered
        return None


@dataclass(frozen=True, slots=True)
class _Place:
    document: str
    before: str
    after: str
    text: str


class Offers:
    """The offers of all desks by id, and the texts that were dismissed where they stood."""

    def __init__(self) -> None:
        self._ids = count(1)
        # a desk keeps those that matter
        self._alive: WeakValueDictionary[int, Offer] = WeakValueDictionary()
        self._dismissed: OrderedDict[_Place, int] = OrderedDict()
        # an editor that ever tells what it shows tells it always
        self._tells = False

    def add(self, document: str, course: Course, covered: str = "") -> Offer:
        """A new offer, not yet shown."""
        offer = Offer(next(self._ids), document, course, covered)
        self._alive[offer.id] = offer
        return offer

    def show(self, id: int) -> None:
        """The editor shows the offer."""
        self._tells = True
        if offer := self._alive.get(id):
            offer.shown = True

    def accept(self, id: int, units: int | None = None) -> None:
        """The user took over the first `units` UTF-16 code units of the offer, or all of it.

        What ends inside a character counts up to its beginning; less than before counts nothing.
        """
        if not (offer := self._alive.get(id)):
            return
        length = len(offer.text)
        if units is not None:
            encoded = offer.text.encode("utf-16-le", "surrogatepass")[: 2 * units]
            length = offset_before(offer.text, len(encoded.decode("utf-16-le", "ignore")))
        offer.accepted = max(offer.accepted, length)

    def dismiss(self, offer: Offer) -> None:
        """Something else was typed where the text was offered, and seen."""
        if offer.accepted or (self._tells and not offer.shown):
            return
        place = _place(offer.document, offer.course)
        self._dismissed[place] = self._dismissed.pop(place, 0) + 1
        if len(self._dismissed) > _REMEMBERED:
            self._dismissed.popitem(last=False)

    def is_dismissed(self, document: str, course: Course) -> bool:
        """Whether the text was dismissed there so often that it is not to be offered again."""
        return self._dismissed.get(_place(document, course), 0) >= MOST_DISMISSALS


def _place(document: str, course: Course) -> _Place:
    before, after = course.before[-_PLACE_CHARS:], course.after[:_PLACE_CHARS]
    return _Place(document, before, after, course.text)
