"""How many suggestions were shown, accepted, and kept a minute later: counts, never text."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from clover_lsp.ledger import Count, Counts

LOOK_AGAIN_S = 60.0
SAVE_S = 60.0
# suggestions that may still be accepted; older ones are forgotten
REMEMBERED = 256


@dataclass(slots=True, eq=False)
class _Suggestion:
    """`text` is what is left of it."""

    uri: str
    language: str
    text: str
    accepted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Accepted:
    """Each line of an accepted text, and how often it stood in the document right afterwards."""

    uri: str
    language: str
    lines: dict[str, int]

    def stands_in(self, document: str) -> bool:
        """Whether most of it, by length, is still there."""
        still = sum(
            len(line) for line, times in self.lines.items() if document.count(line) >= times
        )
        return 2 * still > sum(map(len, self.lines))


class KeepRate:
    """Follows suggestions by their ids. An accepted text is held until it was looked for again.

    `text_of` gives a document's text as it stands, None once it is closed; `later(seconds, call)`
    calls after a while, as an event loop's `call_later`; `save` takes what was counted since.
    """

    def __init__(
        self,
        text_of: Callable[[str], str | None],
        later: Callable[[float, Callable[[], None]], object],
        save: Callable[[Counts], None],
    ) -> None:
        self._text_of = text_of
        self._later = later
        self._save = save
        self._shown: OrderedDict[int, _Suggestion] = OrderedDict()
        self._accepted: list[_Accepted] = []
        self._counts: defaultdict[str, Count] = defaultdict(Count)

    def shown(self, id: int, uri: str, language: str, text: str) -> None:
        """The suggestion came before the user. What is left of the one before, once a part of it
        was typed or accepted, is the same suggestion, under whatever id.
        """
        suggestion = next(reversed(self._shown.values()), None)
        if suggestion and suggestion.uri == uri and suggestion.text.endswith(text):
            suggestion.text = text
        else:
            suggestion = _Suggestion(uri, language, text)
            self._count(language, Count(shown=1))
        self._shown[id] = suggestion
        self._shown.move_to_end(id)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)

    def accepted(self, id: int, units: int | None = None) -> None:
        """The user took the suggestion, or its first `units` (of UTF-16): that counts once."""
        suggestion = self._shown.get(id)
        if suggestion is None or suggestion.accepted:
            return
        suggestion.accepted = True
        self._count(suggestion.language, Count(accepted=1))
        document = self._text_of(suggestion.uri) or ""
        lines = filter(None, map(str.strip, _taken(suggestion.text, units).split("\n")))
        standing = {line: max(document.count(line), 1) for line in lines}
        accepted = _Accepted(suggestion.uri, suggestion.language, standing)
        self._accepted.append(accepted)
        self._later(LOOK_AGAIN_S, lambda: self._look_again(accepted))

    def closing(self, uri: str) -> None:
        """The document is about to be closed: what was accepted in it is looked for now."""
        for accepted in [each for each in self._accepted if each.uri == uri]:
            self._look_again(accepted)

    def close(self) -> None:
        """The editor leaves: look for everything now, and hand over what was counted."""
        for uri in {accepted.uri for accepted in self._accepted}:
            self.closing(uri)
        self._flush()

    def _flush(self) -> None:
        counts, self._counts = dict(self._counts), defaultdict(Count)
        if counts:
            self._save(counts)

    def _look_again(self, accepted: _Accepted) -> None:
        if accepted not in self._accepted:
            return
        self._accepted.remove(accepted)
        document = self._text_of(accepted.uri)
        if document is not None and accepted.stands_in(document):
            self._count(accepted.language, Count(kept=1))

    def _count(self, language: str, count: Count) -> None:
        if not self._counts:
            self._later(SAVE_S, self._flush)
        self._counts[language] += count


def _taken(text: str, units: int | None) -> str:
    if units is None:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")
