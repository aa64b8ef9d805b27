"""Finding texts in texts where each row has its own to look for, in time that grows with their length alone.

A part of a text is compared by its hash first (Karp and Rabin, 1987), and then as it is, so that the answer is exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ensue.columns.character_arrays import Characters, Texts, places_of
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
    count = np.bincount(rows, minlength=len(texts.first))
    # A row consists of a piece before each occurrence, the new text for each, and a piece after the last.
    end = np.cumsum(2 * count + 1)
    before = (end - (2 * count + 1))[rows] + 2 * (np.arange(len(rows)) - (np.cumsum(count) - count)[rows])
    begin = np.zeros(int(end[-1]) if len(end) else 0, dtype=np.int64)
    length = np.zeros_like(begin)
    begin[end - (2 * count + 1)] = texts.first
    begin[before + 2] = texts.first[rows] + at + old.length[rows]
    begin[before + 1] = len(texts.characters) + new.first[rows]
    length[before + 1] = new.length[rows]
    length[before] = texts.first[rows] + at - begin[before]
    length[end - 1] = texts.first + texts.length - begin[end - 1]
    characters = np.concatenate([texts.characters, new.characters])[places_of(begin, length)]
    bounds = np.concatenate([[0], np.cumsum(length)])[np.concatenate([[0], end])]
    return Texts(characters, bounds[:-1], np.diff(bounds))


def _equal_at(texts: Texts, parts: Texts, at: Integers) -> Mask:
    """Whether the part stands at this place of the text."""
    found = (at >= 0) & (at + parts.length <= texts.length)
    rows = np.flatnonzero(found)
    length = parts.length[rows]
    ours = texts.characters[places_of(texts.first[rows] + at[rows], length)]
    theirs = parts.characters[places_of(parts.first[rows], length)]
    found[np.repeat(rows, length)[ours != theirs]] = False
    return found


def _occurrences(texts: Texts, parts: Texts, *, only_first: bool) -> tuple[Integers, Integers]:
    """The row of each occurrence and its place in the text, in order: from the left, those that do not overlap.

    The empty text is looked for nowhere.
    """
    rows, at = _candidates(texts, parts)
    while True:
        chosen = np.unique(rows, return_index=True)[1] if only_first else _without_overlaps(rows, at, parts)
        equal = _equal_at(texts.rows(rows[chosen]), parts.rows(rows[chosen]), at[chosen])
        if equal.all():
            return rows[chosen], at[chosen]
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[chosen[~equal]] = False  # another text of the same hash
        rows, at = rows[kept], at[kept]


def _candidates(texts: Texts, parts: Texts) -> tuple[Integers, Integers]:
    """Where the hashes agree."""
    count = np.where(parts.length > 0, np.maximum(texts.length - parts.length + 1, 0), 0)
    rows = np.repeat(np.arange(len(count)), count)
    at = places_of(np.zeros_like(count), count)
    place, begin, length = texts.first[rows] + at, parts.first[rows], parts.length[rows]
    hashes, own = _hashes(texts.characters), _hashes(parts.characters)
    powers = _powers(max(len(hashes), len(own)))
    # The hash of a part has the power of its place as a factor: each side gets the other's as well.
    same = (hashes[place + length] - hashes[place]) * powers[begin] == (own[begin + length] - own[begin]) * powers[
        place
    ]
    return rows[same], at[same]


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
    taken[np.unique(rows, return_index=True)[1]] = True
    # After k rounds all are taken that lie less than 2^k steps behind the first of their row.
    while (following < count).any():
        taken[following[taken]] = True
        following = following[following]
    return np.flatnonzero(taken[:-1])
