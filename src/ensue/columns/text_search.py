"""Finding texts in texts where each row has its own to look for, in time that grows with their length alone.

A place is looked at where the first and the last character fit. Where these are too many, they are sorted out by the
hash of what stands there (Karp and Rabin, 1987). What is left is compared as it is, so that the answer is exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ensue.columns.character_arrays import Characters, Texts, places_of, written_out
from ensue.columns.raw_arrays import Integers, Mask

_Hashes = npt.NDArray[np.uint64]
_BASE = 0x9E3779B97F4A7C15


def starts_with(texts: Texts, parts: Texts) -> Mask:
    return _equal_at(texts, parts, np.zeros_like(texts.length))


def ends_with(texts: Texts, parts: Texts) -> Mask:
    return _equal_at(texts, parts, texts.length - parts.length)


def contains(texts: Texts, parts: Texts) -> Mask:
    rows, _ = _occurrences(texts, parts, only_first=True)
    found: Mask = parts.length == 0
    found[rows] = True
    return found


def replaced(texts: Texts, old: Texts, new: Texts) -> Texts:
    """The texts with each occurrence of `old`, from the left and without overlaps, as `new`."""
    rows, at = _occurrences(texts, old, only_first=False)
    changed, rows, count = np.unique(rows, return_inverse=True, return_counts=True)
    own, old, new = (t.rows(changed) for t in (texts, old, new))
    # A row consists of a piece before each occurrence, the new text for each, and a piece after the last.
    end = np.cumsum(2 * count + 1)
    before = (end - (2 * count + 1))[rows] + 2 * (np.arange(len(rows)) - (np.cumsum(count) - count)[rows])
    first = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.int64)
    length = np.zeros_like(first)
    first[end - (2 * count + 1)] = own.first
    first[before + 2] = own.first[rows] + at + old.length[rows]
    first[before + 1] = len(texts.characters) + new.first[rows]
    length[before + 1] = new.length[rows]
    length[before] = own.first[rows] + at - first[before]
    length[end - 1] = own.first + own.length - first[end - 1]
    made = written_out(Texts(np.concatenate([texts.characters, new.characters]), first, length))
    bounds = np.concatenate([[0], np.cumsum(length)])[np.concatenate([[0], end])]
    all_first, all_length = texts.first.copy(), texts.length.copy()
    all_first[changed], all_length[changed] = len(texts.characters) + bounds[:-1], np.diff(bounds)
    return Texts(np.concatenate([texts.characters, made]), all_first, all_length)


def _equal_at(texts: Texts, parts: Texts, at: Integers) -> Mask:
    """Whether the part stands at this place of the text."""
    found = (at >= 0) & (at + parts.length <= texts.length)
    rows = np.flatnonzero(found & (parts.length > 0))
    first, begin, length = texts.first[rows] + at[rows], parts.first[rows], parts.length[rows]
    # The last character tells most of those that differ.
    same = texts.characters[first + length - 1] == parts.characters[begin + length - 1]
    found[rows[~same]] = False
    rows, first, begin, length = rows[same], first[same], begin[same], length[same]
    differ = texts.characters[places_of(first, length)] != parts.characters[places_of(begin, length)]
    found[np.repeat(rows, length)[differ]] = False
    return found


def _occurrences(texts: Texts, parts: Texts, *, only_first: bool) -> tuple[Integers, Integers]:
    """The row of each occurrence and its place in the text, in order: from the left, those that do not overlap.

    The empty text is looked for nowhere.
    """
    rows, at = _candidates(texts, parts)
    while True:
        chosen = _firsts(rows) if only_first else _without_overlaps(rows, at, parts)
        equal = _equal_at(texts.rows(rows[chosen]), parts.rows(rows[chosen]), at[chosen])
        if equal.all():
            return rows[chosen], at[chosen]
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[chosen[~equal]] = False  # another text of the same hash
        rows, at = rows[kept], at[kept]


def _firsts(rows: Integers) -> Integers:
    """Where each row begins, in rows that are in order."""
    return np.flatnonzero(np.diff(rows, prepend=-1))


def _candidates(texts: Texts, parts: Texts) -> tuple[Integers, Integers]:
    """Where the part may stand. To look at all of these places takes no longer than to read the texts a few times."""
    count = np.where(parts.length > 0, np.maximum(texts.length - parts.length + 1, 0), 0)
    rows = np.repeat(np.arange(len(count)), count)
    place = places_of(texts.first, count)
    if len(rows):
        last = np.maximum(parts.length - 1, 0)
        same = texts.characters[place + last[rows]] == _at(parts, last)[rows]
        rows, place = rows[same], place[same]
        same = texts.characters[place] == _at(parts, 0)[rows]
        rows, place = rows[same], place[same]
    if parts.length[rows].sum() > 4 * len(texts.characters):
        same = _same_hash(texts, parts, rows, place)
        rows, place = rows[same], place[same]
    return rows, place - texts.first[rows]


def _at(texts: Texts, place: Integers | int) -> Characters:
    """The character at the place of each text, and any for the empty text."""
    found: Characters = texts.characters[np.minimum(texts.first + place, len(texts.characters) - 1)]
    return found


def _same_hash(texts: Texts, parts: Texts, rows: Integers, place: Integers) -> Mask:
    begin, length = parts.first[rows], parts.length[rows]
    hashes, own = _hashes(texts.characters), _hashes(parts.characters)
    powers = _powers(max(len(hashes), len(own)))
    # The hash of a part has the power of its place as a factor: each side gets the other's as well.
    same: Mask = (hashes[place + length] - hashes[place]) * powers[begin] == (
        (own[begin + length] - own[begin]) * powers[place]
    )
    return same


def _hashes(characters: Characters) -> _Hashes:
    """The hash of the characters before each place: the sum of each times a power, without what goes beyond 64 bits."""
    terms = (characters.astype(np.uint64) + np.uint64(1)) * _powers(len(characters))
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])


def _powers(count: int) -> _Hashes:
    factors = np.full(count, _BASE, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


def _without_overlaps(rows: Integers, at: Integers, parts: Texts) -> Integers:
    """Which candidates are taken from the left: the first of each row, and each that follows behind one taken."""
    count, width = len(rows), parts.length[rows]
    key = rows * (int((at + width).max(initial=0)) + 1) + at
    behind = np.searchsorted(key, key + width)
    following = np.full(count + 1, count)
    following[:-1] = np.where(np.append(rows, -1)[behind] == rows, behind, count)
    taken = np.zeros(count + 1, dtype=np.bool_)
    taken[_firsts(rows)] = True
    # After k rounds all are taken that lie less than 2^k steps behind the first of their row.
    while (following < count).any():
        taken[following[taken]] = True
        following = following[following]
    return np.flatnonzero(taken[:-1])
