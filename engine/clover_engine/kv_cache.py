"""Keys and values of the tokens read so far, and which texts they belong to."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from clover_engine.documents import owner_of

# Attention reads keys in whole units, what lies beyond the last token masked: sums over them are
# then taken in one order, however many rows a forward has, and drafts change no bit. With another
# number of keys the order may be another, so few forwards should be the first of a new unit.
KEY_UNIT = 128


def whole_units(length: int) -> int:
    """The length rounded up to a multiple of KEY_UNIT."""
    return -(-length // KEY_UNIT) * KEY_UNIT


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What one token occupies: layers x key-value heads x head width, keys and values."""

    layers: int
    heads: int
    head_dim: int
    device: torch.device
    dtype: torch.dtype = torch.float32

    @property
    def token_bytes(self) -> int:
        """Bytes of one cached token."""
        return self.layers * self.heads * self.head_dim * 2 * self.dtype.itemsize


class KVCache:
    """One token sequence with its keys and values, [layers, heads, capacity, head_dim]."""

    def __init__(self, shape: CacheShape, capacity: int = 128) -> None:
        self._shape = shape
        self.tokens: list[int] = []
        self.keys, self.values = self._allocate(capacity)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def nbytes(self) -> int:
        """Bytes held, used or not."""
        return self.keys.nbytes + self.values.nbytes

    def reserve(self, extra: int) -> None:
        """Make room for `extra` more tokens."""
        needed = len(self.tokens) + extra
        capacity = self.keys.shape[2]
        if needed > capacity:
            self._move_to(max(needed, capacity * 2))

    def append(self, tokens: Sequence[int]) -> None:
        """Note tokens whose keys and values have just been written behind the last one."""
        self.tokens.extend(tokens)

    def truncate(self, length: int) -> None:
        """Forget everything from token number `length` on."""
        del self.tokens[length:]

    def restorable(self, length: int) -> int:
        """To how many tokens it can be cut at most, for `length` of them to be kept."""
        return length

    def pretend(self, length: int) -> None:
        """Grow as if so many tokens had been read: for measuring what more of them cost."""
        self.reserve(length)
        self.append([0] * length)

    def fork(self, length: int) -> KVCache:
        """A copy of the first `length` tokens."""
        copy = KVCache(self._shape, capacity=max(128, length * 3 // 2))
        self._copy_into(copy, length)
        return copy

    def _copy_into(self, copy: KVCache, length: int) -> None:
        copy.tokens = self.tokens[:length]
        copy.keys[:, :, :length] = self.keys[:, :, :length]
        copy.values[:, :, :length] = self.values[:, :, :length]

    def _allocate(self, capacity: int) -> tuple[torch.Tensor, torch.Tensor]:
        shape = self._shape
        size = (shape.layers, shape.heads, whole_units(capacity), shape.head_dim)
        # not `empty`: what is masked must still be a number
        keys, values = (torch.zeros(size, dtype=shape.dtype, device=shape.device) for _ in range(2))
        return keys, values

    def _move_to(self, capacity: int) -> None:
        length = len(self.tokens)
        keys, values = self.keys, self.values
        self.keys, self.values = self._allocate(capacity)
        self.keys[:, :, :length] = keys[:, :, :length]
        self.values[:, :, :length] = values[:, :, :length]


# a cache keeps its tail when at most this many of its tokens would be dropped for a new request
SMALL_LOSS = 64


class CacheStore:
    """The caches of several documents, bounded in bytes: of the user who holds most, the least
    recently used goes first."""

    def __init__(self, new_cache: Callable[[], KVCache], max_bytes: int) -> None:
        self._new_cache = new_cache
        self._max_bytes = max_bytes
        self._caches: OrderedDict[int, tuple[str, KVCache]] = OrderedDict()

    def take(self, document: str, tokens: Sequence[int]) -> KVCache:
        """The cache that agrees longest with `tokens`, cut to where it agrees.

        A cache that would lose much is copied instead, so that going back stays cheap. Caches are
        never shared between documents; an unnamed document gets a new one, which is not kept.
        """
        best, agreed = self._best(document, tokens)
        if best is None:
            cache = self._new_cache()
        elif len(best) - agreed <= SMALL_LOSS:
            best.truncate(agreed)
            cache = best
        else:
            cache = best.fork(agreed)
        if document:
            self._caches[id(cache)] = (document, cache)
            self._caches.move_to_end(id(cache))
            self._evict()
        return cache

    def last_tokens(self, document: str) -> list[int]:
        """What was last read and written in the document; empty when nothing is kept of it."""
        for name, cache in reversed(self._caches.values()):
            if document and name == document:
                return list(cache.tokens)
        return []

    def _best(self, document: str, tokens: Sequence[int]) -> tuple[KVCache | None, int]:
        best: KVCache | None = None
        longest = 0
        for name, cache in self._caches.values():
            if document and name == document:
                agreed = cache.restorable(_agreement(cache.tokens, tokens))
                if agreed > longest:
                    best, longest = cache, agreed
        return best, longest

    def _evict(self) -> None:
        while len(self._caches) > 1:
            held: Counter[str] = Counter()
            for name, cache in self._caches.values():
                held[owner_of(name)] += cache.nbytes
            if held.total() <= self._max_bytes:
                return
            most = max(held, key=held.__getitem__)
            # the last one was just taken: its job has need of it
            *others, _ = self._caches
            theirs = [key for key in others if owner_of(self._caches[key][0]) == most]
            del self._caches[(theirs or others)[0]]


def _agreement(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are the same."""
    length = min(len(left), len(right))
    for i in range(length):
        if left[i] != right[i]:
            return i
    return length
