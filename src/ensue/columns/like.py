"""`LIKE` over columns: `%` is any text, `_` any one character, and a backslash takes the next character as it is."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.character_arrays import Texts, over_characters
from ensue.columns.raw_arrays import Integers, Mask, Value


class _Wild(IntEnum):
    """What a pattern has beside characters, as numbers that no character has."""

    ANY = -1
    ONE = -2


_ANY, _ONE, _END = int(_Wild.ANY), int(_Wild.ONE), -3


def like(text: Value, pattern: Value) -> pa.Array:
    """TRUE, FALSE or NULL for each row."""
    if not isinstance(pattern, pa.Scalar):
        return over_characters(_matches, text, pattern)
    try:
        return _like_one(text, pattern.as_py())
    except pa.ArrowInvalid:  # a pattern too large for a regular expression
        return over_characters(_matches, text, pattern)


# ---------------------------------------------------------------- one pattern


def _like_one(text: Value, pattern: str) -> pa.Array:
    """By the simplest kernel that the pattern allows."""
    pieces = _pieces(pattern)
    if _Wild.ONE not in pieces:
        match pieces:
            case []:
                return pc.equal(text, "")
            case [_Wild.ANY]:
                return pc.starts_with(text, pattern="")
            case [str(whole)]:
                return pc.equal(text, whole)
            case [str(begin), _Wild.ANY]:
                return pc.starts_with(text, pattern=begin)
            case [_Wild.ANY, str(end)]:
                return pc.ends_with(text, pattern=end)
            case [_Wild.ANY, str(part), _Wild.ANY]:
                return pc.match_substring(text, pattern=part)
            case [str(begin), _Wild.ANY, str(end)]:
                both = pc.and_(pc.starts_with(text, pattern=begin), pc.ends_with(text, pattern=end))
                return pc.and_(both, pc.greater_equal(pc.binary_length(text), len((begin + end).encode())))
    spelled = {_Wild.ANY: ".*", _Wild.ONE: "."}
    regex = "".join(_escaped(p) if isinstance(p, str) else spelled[p] for p in pieces)
    return pc.match_substring_regex(text, pattern=f"(?s)^{regex}$")


def _pieces(pattern: str) -> list[str | _Wild]:
    """The pattern as texts and wild cards, without what says nothing.

    >>> _pieces(r"a\\%%%_")
    ['a%', <_Wild.ANY: -1>, <_Wild.ONE: -2>]
    """
    pieces: list[str | _Wild] = []
    characters = iter(pattern)
    for c in characters:
        wild = {"%": _Wild.ANY, "_": _Wild.ONE}.get(c)
        if wild is not None:
            if wild is _Wild.ONE or pieces[-1:] != [_Wild.ANY]:
                pieces.append(wild)
            continue
        c = next(characters, c) if c == "\\" else c
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += c
        else:
            pieces.append(c)
    return pieces


def _escaped(text: str) -> str:
    """The text for RE2, in which a backslash may stand before ASCII marks alone."""
    return re.sub(r"([!-/:-@\[-^`{-~])", r"\\\1", text)


# ---------------------------------------------------------------- a pattern for each row


def _matches(texts: Texts, patterns: Texts) -> Mask:
    """All rows at once, a step at a time: each goes on in its text and its pattern, or back to its last `%`."""
    texts, patterns = _padded(texts), _padded(_tokens(patterns))
    found = np.zeros(len(texts.first), dtype=np.bool_)
    rows = np.arange(len(found))
    place, token = np.zeros_like(rows), np.zeros_like(rows)
    again, behind = np.zeros_like(rows), np.full_like(rows, -1)  # where to go on after the last %, -1 before the first
    while len(rows):
        ended = place == texts.length
        wanted, here = _at(patterns, token), _at(texts, place)
        any_ = wanted == _ANY
        forward = ~any_ & ~ended & ((wanted == here) | (wanted == _ONE))
        back = ~any_ & ~forward & ~ended & (behind >= 0)
        found[rows[ended & (wanted == _END)]] = True
        behind = np.where(any_, token + 1, behind)
        again = np.where(any_, place, np.where(back, again + 1, again))
        token = np.where(back, behind, token + (any_ | forward))
        place = np.where(back, again, place + forward)
        kept = any_ | forward | back
        if not kept.all():
            rows, place, token, again, behind = (a[kept] for a in (rows, place, token, again, behind))
            texts, patterns = texts.rows(kept), patterns.rows(kept)
    return found


def _at(texts: Texts, place: Integers) -> Integers:
    """The character at the place of each text, and behind its last one a number that no character has."""
    inside = place < texts.length
    return np.where(inside, texts.characters[np.where(inside, texts.first + place, 0)], _END)


def _padded(texts: Texts) -> Texts:
    """With a character more, so that there is one to look at."""
    return Texts(np.append(texts.characters.astype(np.int64), 0), texts.first, texts.length)


def _tokens(patterns: Texts) -> Texts:
    """The patterns without the backslashes that only take the next character as it is, and wild cards as numbers."""
    characters = patterns.characters.astype(np.int64)
    begins = np.zeros(len(characters) + 1, dtype=np.bool_)
    begins[patterns.first] = True
    ends = np.zeros_like(begins)
    ends[patterns.first + patterns.length] = True
    backslash = characters == ord("\\")
    # In a row of backslashes the first, the third, the fifth take the next one, if there is one.
    fresh = backslash & (begins[:-1] | ~np.append(False, backslash[:-1]))
    place = np.arange(len(characters))
    since = place - np.maximum.accumulate(np.where(fresh, place, 0))
    takes = backslash & (since % 2 == 0) & ~ends[1:]
    taken = np.append(False, takes[:-1])
    for wild, number in (("%", _ANY), ("_", _ONE)):
        characters[(characters == ord(wild)) & ~taken] = number
    before = np.append(0, np.cumsum(~takes))
    first = before[patterns.first]
    length = before[patterns.first + patterns.length] - first
    return Texts(characters[~takes], first, length)
