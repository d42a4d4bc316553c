"""A language small enough for a tiny model: brackets that close, sums, a little JSON."""

from __future__ import annotations

import json
from random import Random

PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
NAMES = ("ann", "bob", "cat", "dan")


def document(random: Random, lines: int) -> str:
    """So many lines of any kind, each ended."""
    return "".join(f"{line(random)}\n" for _ in range(lines))


def line(random: Random) -> str:
    """One line of any kind."""
    return random.choice((brackets, arithmetic, small_json))(random)


def brackets(random: Random) -> str:
    """Brackets that close, two deep at most."""
    return _group(random, 2)


def _group(random: Random, depth: int) -> str:
    left, right = random.choice(PAIRS)
    groups = random.choice((0, 1, 1, 2)) if depth > 1 else 0
    return left + "".join(_group(random, depth - 1) for _ in range(groups)) + right


def arithmetic(random: Random) -> str:
    """A sum of two small digits."""
    left, right = random.randrange(6), random.randrange(6)
    return f"{left}+{right}={left + right}"


def small_json(random: Random) -> str:
    """An object of one or two known keys."""
    values = {
        "name": random.choice(NAMES),
        "age": random.randrange(10),
        "ok": random.random() < 0.5,
    }
    keys = random.sample(sorted(values), random.choice((1, 2)))
    return json.dumps({key: values[key] for key in keys})


def is_line(text: str) -> bool:
    """Whether a text is a line of the language."""
    if "+" in text:
        summands, _, total = text.partition("=")
        left, _, right = summands.partition("+")
        digits = left.isdigit() and right.isdigit() and total.isdigit()
        return digits and int(left) + int(right) == int(total)
    if '"' in text:
        try:
            return isinstance(json.loads(text), dict)
        except ValueError:
            return False
    return _is_balanced(text)


def _is_balanced(text: str) -> bool:
    stack: list[str] = []
    closing = {right: left for left, right in PAIRS}
    for sign in text:
        if sign not in closing:
            stack.append(sign)
        elif not stack or stack.pop() != closing[sign]:
            return False
    return bool(text) and not stack and all(sign in "()[]{}" for sign in text)
