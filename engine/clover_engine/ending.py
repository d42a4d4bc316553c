"""Where a hole ends that nothing limits: the text right of it tells, or the end head."""

from __future__ import annotations

from clover_engine.api import Ends
from clover_engine.seam import beginning, overhang

CERTAIN = 0.6  # the chance from which the end head is believed
_PROBE = 24  # characters of the right text that are looked for in the hole
_LEAST_PROBE = 6  # of them must be more than blanks


class Ending:
    """Decides, token by token, whether the hole is finished and where its text ends."""

    def __init__(self, right: str, ends: Ends) -> None:
        self._right = right
        self._learned = ends in (Ends.LEARNED, Ends.BOTH)
        probe = right[:_PROBE]
        ruled = ends in (Ends.RULES, Ends.BOTH) and len(probe.strip()) >= _LEAST_PROBE
        self._probe = probe if ruled else ""

    def by_rule(self, written: str) -> int | None:
        """The length of the hole's text where the right text begins to be written again."""
        found = written.find(self._probe) if self._probe else -1
        return found if found >= 0 else None

    def by_chance(self, written: str, last: int, chance: float) -> int | None:
        """The length of the hole's text if it ends with the last token, which brought `last`
        characters, as the end head says with `chance`."""
        if not self._learned or chance <= CERTAIN or not written:
            return None
        beyond = overhang(written, self._right, last)
        return None if beyond is None else len(written) - beyond

    def again(self, written: str) -> int:
        """How many characters at the end of `written` repeat the beginning of the right text."""
        repeated = beginning(self._right)
        return len(repeated) if written.endswith(repeated) else 0

    def beyond(self, written: str, last: int) -> int:
        """How many characters of the last token may stand right of the hole already."""
        return overhang(written, self._right, last) or 0
