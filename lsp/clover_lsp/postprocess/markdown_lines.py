"""The lines of Markdown: items go on with their list, rows with their table."""

from __future__ import annotations

import re

# a list item's sign, with its box and the blanks behind it; also `1、` and `（1）`
ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?P<sign>[-*+•]|(?P<open>[（(]?)(?P<number>\d{1,9})(?P<close>[.)、）]))"
    r"(?:[ \t]+\[[ xX]\](?=[ \t]|$))?(?:[ \t]+|$|(?<=[、）]))"
)
_BOX = re.compile(r"\[[ xX]\](?:[ \t]+|$)")
_OPENING = re.compile(r"[ \t]*(?:#{1,6}|(?:>[ \t]?)+)[ \t]+")
_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[ \t]*(?:---|\+\+\+)[ \t]*$")


def without_marker(answer: str, before: str, comment: str = "", *, prose: bool = True) -> str:
    """The answer without the sign of its line that stands left of the cursor already.

    Signs are those of list items, headings and quotes in prose, of comments in code.
    """
    if not before.strip():
        return answer
    text = answer.lstrip(" \t")
    again = _item_length(before, text) if prose else _comment_length(before, text, comment)
    if not again:
        return answer
    gap = "" if before[-1] in " \t" else " "
    return gap + text[again:].lstrip(" \t")


def _item_length(before: str, text: str) -> int:
    """How long the sign is that `text` begins with, if `before` is but such a sign."""
    for sign in (ITEM, _OPENING):
        if (here := sign.match(before)) and here.end() == len(before):
            found = sign.match(text) or ("[" in before and _BOX.match(text))
            return found.end() if found else 0
    return 0


def _comment_length(before: str, text: str, comment: str) -> int:
    return len(comment) if before.strip() == comment and text.startswith(comment) else 0


def continued_items(answer: str, before: str, above: str) -> str:
    """The answer with its list items numbered and marked like the siblings above them."""
    lines = answer.split("\n")
    upper = (above + before).split("\n") if before.strip() else above.split("\n")
    start = 1 if before.strip() else 0
    siblings = _siblings(upper)
    for number in range(start, len(lines)):
        line = before + lines[number] if number == 0 else lines[number]
        item = ITEM.match(line)
        if not item or not line[item.end() :].strip():
            continue
        depth = len(item["indent"].expandtabs(4))
        siblings = {level: seen for level, seen in siblings.items() if level <= depth}
        sign = _next_sign(item, siblings.get(depth, []))
        made = line[: item.start("sign")] + sign + line[item.end("sign") :]
        lines[number] = made.removeprefix(before) if number == 0 else made
        siblings[depth] = [*siblings.get(depth, []), sign]
    return "\n".join(lines)


def _siblings(lines: list[str]) -> dict[int, list[str]]:
    """The signs of the open lists' items above, by depth, the nearest last."""
    found: dict[int, list[str]] = {}
    floor: int | None = None
    for line in reversed(lines):
        item = ITEM.match(line)
        depth = len(
            (item["indent"] if item else line[: len(line) - len(line.lstrip())]).expandtabs(4)
        )
        if line.strip() and not item and depth == 0:
            break
        if item and (floor is None or depth <= floor):
            floor = depth
            found[depth] = [item["sign"], *found.get(depth, [])]
    return found


def _next_sign(item: re.Match[str], siblings: list[str]) -> str:
    """The sign of an item behind its siblings, those of its kind if there are any; its own where it
    is the first."""
    items = [found for sign in siblings if (found := ITEM.match(sign))]
    alike = [each for each in items if bool(each["number"]) == bool(item["number"])] or items
    if not alike:
        return item["sign"]
    last = alike[-1]
    if not last["number"]:
        return last["sign"]
    # `1.` in front of every item is a style too
    step = 0 if [each["sign"] for each in alike[-2:-1]] == [last["sign"]] else 1
    return f"{last['open']}{int(last['number']) + step}{last['close']}"


def within_table(answer: str, before: str, rest: str, above: str, below: str) -> str:
    """The answer as a part of one table row, of no more columns than the table has.

    The row's last `|` is written if the row is complete and nothing stands right of the cursor.
    """
    columns = _columns(above.removesuffix("\n").rpartition("\n")[2]) or _columns(
        below.partition("\n")[0]
    )
    if not columns:
        return answer
    free = columns + 1 - len(_PIPE.findall(before)) - len(_PIPE.findall(rest))
    if not (before + answer).lstrip().startswith("|"):
        free -= 1
    if free <= 0 and not rest.strip():
        return ""
    pipes = [found.start() for found in _PIPE.finditer(answer)]
    if len(pipes) > max(free, 0):
        return answer[: pipes[free - 1] + 1 if free > 0 else pipes[0]]
    if len(pipes) == free - 1 and not rest.strip() and answer.strip():
        return answer.rstrip() + " |"
    return answer


def _columns(row: str) -> int:
    """How many columns a row with `|` at both ends has; 0 for what is no row."""
    bare = row.strip()
    return max(len(_PIPE.findall(bare)) - 1, 0) if bare.startswith("|") else 0


def without_rule(answer: str) -> str:
    """The answer up to a line that would end the front matter."""
    lines = answer.split("\n")
    at = next((number for number, line in enumerate(lines) if _RULE.match(line)), len(lines))
    return "\n".join(lines[:at])
