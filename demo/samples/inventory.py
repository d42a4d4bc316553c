"""A small stock list."""

from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float
    count: int


def total_value(items: list[Item]) -> float:
    """The value of all items in stock."""
    return ‖


def find_item(items: list[Item], name: str) -> Item | None:
    """The first item of that name, or None."""
    for item in items:
        if item.na‖
            return item
    return None


def restock(items: list[Item], name: str, amount: int) -> None:
    """Add to an item's count; unknown names are an error."""
    item = find_item(‖)
    if item is None:
        raise KeyError(name)
    item.count += amount
