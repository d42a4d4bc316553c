"""Nothing lost, nothing changed, nothing invented: metrics 1 to 4."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from clover_templates.breach import Breach, Metric
from clover_templates.case import Case
from clover_templates.locks import Item, Lock, items_of
from clover_templates.normal import grams, normal
from clover_templates.sentences import sentence_ends
from clover_templates.source import Span
from clover_templates.trace import Added, FromSource, Literal, Piece, Written
from clover_templates.wording import approvals, modal_counts, names

# a rewritten sentence that keeps less of its 3-grams is taken as lost
LEAST_KEPT = 0.6
# a rewrite with more 3-grams of its own is taken as invented
MOST_NEW = 0.35
# items that digits beside them would change
_DIGITS = frozenset({Lock.NUMBER, Lock.DATE, Lock.VERSION})
# sentences that share less are no pair
_LEAST_ALIKE = 0.3


def coverage(case: Case) -> Iterator[Breach]:
    """Every sentence, item and block of the source stands in the output, as often as it stood.

    A sentence that was rewritten keeps LEAST_KEPT of its 3-grams.
    """
    there = Counter(
        unit.text for unit in case.output_units if not _is_only(case.pieces(unit.span), Literal)
    )
    for unit in case.source_units:
        if there[unit.text]:
            there[unit.text] -= 1
        elif not case.is_accounted(unit.span) and not _is_kept(case, unit.text, unit.span):
            yield Breach(Metric.COVERAGE, "lost", unit.text, unit.span.start, in_output=False)
    yield from _repeated(case)


def _repeated(case: Case) -> Iterator[Breach]:
    """What the output says as the source's words, and the source does not, or not so often."""
    said = Counter(unit.text for unit in case.source_units)
    whole = "\n".join(said)
    for unit in case.output_units:
        if not _is_only(case.pieces(unit.span), FromSource):
            continue
        if said[unit.text]:
            said[unit.text] -= 1
        elif unit.text in said:
            yield Breach(Metric.COVERAGE, "repeated", unit.text, unit.span.start)
        elif unit.text not in whole:
            yield Breach(Metric.COVERAGE, "not in the source", unit.text, unit.span.start)


def locks(case: Case) -> Iterator[Breach]:
    """Every locked item stands in the output with its value, as often as it stood; a rewrite has
    every name of its source."""
    here: Counter[tuple[Lock, str]] = Counter()
    there = Counter(_key(item) for item in case.source_items)
    for item in case.output_items:
        pieces = case.pieces(item.span)
        if _is_only(pieces, Literal, Added) or _is_new(pieces):
            continue
        if item.lock in _DIGITS and _run_together(pieces):
            message = f"{item.lock} of the source and of what was added run into one another"
            yield Breach(Metric.LOCKS, message, item.written, item.span.start, code="D10")
        here[_key(item)] += 1
        if _is_only(pieces, FromSource) and here[_key(item)] > there[_key(item)]:
            message = f"{item.lock} that the source does not have, or not so often"
            yield Breach(Metric.LOCKS, message, item.written, item.span.start, code="D10")
    for item in case.source_items:
        if here[_key(item)]:
            here[_key(item)] -= 1
        elif not case.is_accounted(item.span):
            yield _changed(item)
    for piece in case.written:
        if piece.sources:
            yield from _rewritten_locks(case, piece)


def _rewritten_locks(case: Case, piece: Written) -> Iterator[Breach]:
    text = piece.data.decode(errors="replace")
    here = Counter(_key(item) for item in items_of(text))
    for item in case.source_items:
        if any(span.start <= item.span.start < span.end for span in piece.sources):
            here[_key(item)] -= 1
            if here[_key(item)] < 0:
                yield _changed(item)
    for (lock, value), count in here.items():
        if count > 0:
            message = f"{lock} that the rewritten text does not have"
            yield Breach(Metric.LOCKS, message, value, case.trace.start(piece), code="D10")
    for name in [name for span in piece.sources for name in names(case.source_text(span))]:
        if name not in text:
            message = "name lost or changed"
            yield Breach(Metric.LOCKS, message, name, case.trace.start(piece), code="D10")


def invention(case: Case) -> Iterator[Breach]:
    """What a model wrote holds no item, name or approval that neither source nor template has."""
    known = f"{case.source.data.decode()}\n{case.expected.literals}"
    items = {_key(item) for item in [*case.source_items, *items_of(case.expected.literals)]}
    there = grams(known) if case.written else set()
    for piece in case.written:
        text, at = piece.data.decode(errors="replace"), case.trace.start(piece)
        for item in items_of(text):
            if _key(item) not in items:
                yield Breach(Metric.INVENTION, f"{item.lock} without a source", item.written, at)
        for name in [*names(text), *approvals(text)]:
            if name not in known:
                yield Breach(Metric.INVENTION, "name or decision without a source", name, at)
        if piece.slot in case.expected.rewritten:
            own = grams(text)
            share = len(own - there) / len(own) if own else 0.0
            if share > MOST_NEW:
                message = f"{share:.0%} of the rewrite is in neither source nor template"
                yield Breach(Metric.INVENTION, message, text, at)


def modality(case: Case) -> Iterator[Breach]:
    """Rewritten sentences oblige, allow, deny and report as their sources do."""
    for piece in case.written:
        if not piece.sources:
            continue
        before = [line for span in piece.sources for line in _sentences(case.source_text(span))]
        after = _sentences(piece.data.decode(errors="replace"))
        for old, new in [("".join(before), "".join(after)), *_pairs(before, after)]:
            lost, gained = modal_counts(old), modal_counts(new)
            if lost != gained:
                words = ", ".join([*(lost - gained), "->", *(gained - lost)])
                message = f"obligation changed: {words}"
                yield Breach(Metric.MODALITY, message, new, case.trace.start(piece))
                break


def _pairs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each sentence with the one most like it, where there is one."""
    holders: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for new in dict.fromkeys(after):
        for gram in grams(new):
            holders[gram].append(new)
    for old in dict.fromkeys(before):
        wanted = grams(old)
        shared = Counter(new for gram in wanted for new in holders.get(gram, ()))
        for new, count in shared.most_common(1):
            if count >= _LEAST_ALIKE * len(wanted):
                yield old, new


def _sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _is_kept(case: Case, text: str, span: Span) -> bool:
    """Whether a rewrite stands for `span` and keeps enough of its words."""
    rewrites = [
        piece.data.decode(errors="replace")
        for piece in case.written
        if any(source.start <= span.start and span.end <= source.end for source in piece.sources)
    ]
    return any(_share(grams(text), grams(normal(new))) >= LEAST_KEPT for new in rewrites)


def _share(wanted: set[tuple[str, ...]], had: set[tuple[str, ...]]) -> float:
    return len(wanted & had) / len(wanted) if wanted else 1.0


def _is_only(pieces: Sequence[Piece], *kinds: type[Piece]) -> bool:
    copied = any(isinstance(piece, FromSource) and piece.copy for piece in pieces)
    return not copied and all(isinstance(piece, kinds) for piece in pieces)


def _run_together(pieces: Sequence[Piece]) -> bool:
    kinds = {type(p) for p in pieces if isinstance(p, FromSource) or p.data.strip()}
    return FromSource in kinds and bool(kinds & {Added, Literal})


def _is_new(pieces: Sequence[Piece]) -> bool:
    """Whether a model wrote it without a text to rewrite; then it may say again what is there."""
    return any(isinstance(piece, Written) and not piece.sources for piece in pieces)


def _key(item: Item) -> tuple[Lock, str]:
    return item.lock, item.value


def _changed(item: Item) -> Breach:
    message = f"{item.lock} lost or changed"
    return Breach(Metric.LOCKS, message, item.written, item.span.start, in_output=False, code="D10")
