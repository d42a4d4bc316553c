"""The slots that the program fills itself: `{{date}}`, `{{time}}`, `{{title}}` and `{{n}}`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clover_templates.dates import print_date
from clover_templates.template import Slot
from clover_templates.template_settings import BUILTINS

__all__ = ["BUILTINS", "Facts"]

_FORMS = {"date": "YYYY-MM-DD", "time": "HH:mm"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known without reading the document: the hour, and its title or file name."""

    now: datetime
    title: str = ""

    def fill(self, slot: Slot, number: int = 1) -> str | None:
        """The text of a built-in slot, None for any other; `number` counts a unit's repetitions.

        `{{date}}` and `{{time}}` take a format: `{{date:YYYY年M月D日}}`.
        """
        match slot.name:
            case "date" | "time":
                return print_date(self.now, slot.form or _FORMS[slot.name])
            case "title":
                return self.title
            case "n":
                return str(number)
            case _:
                return None
