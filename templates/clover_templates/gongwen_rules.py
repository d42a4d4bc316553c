"""What the rules and the practice of 公文 say about how values are written (D11)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clover_templates.alignment import Part
from clover_templates.template_findings import Code, Finding

_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """`finds` what is not as it should be; of templates named in `kinds`, or of all."""

    finds: re.Pattern[str]
    says: str
    by: str
    kinds: tuple[str, ...]


def rule_findings(kind: str, outline: Sequence[Part]) -> Iterator[Finding]:
    """What in a document of a kind, the name of its template, is written in another way."""
    rules = [rule for rule in _rules() if not rule.kinds or kind in rule.kinds]
    for part in outline:
        for rule in rules:
            for found in rule.finds.finditer(part.text):
                text = found[0].strip()
                at = part.at(found.start() + found[0].index(text))
                shown = text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
                message = f'"{shown}": {rule.says} ({rule.by})'
                yield Finding(Code.D11, at, at + len(text.encode()), message)


@cache
def _rules() -> tuple[Rule, ...]:
    text = files("clover_templates").joinpath("gongwen_rules.toml").read_text(encoding="utf-8")
    return tuple(
        Rule(
            re.compile(rule["finds"], re.MULTILINE),
            rule["says"],
            rule["by"],
            tuple(rule.get("kinds", ())),
        )
        for rule in tomllib.loads(text)["rule"]
    )
