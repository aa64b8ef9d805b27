"""Hashes of values in 128 bits that are equal on every machine and in every run.

A hash is a row of two words. A word of a value is mixed into both of them by a different multiplier, and each step can
be undone: so two rows of words have equal hashes only by an accident of both at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.kernels.jit import inlined, kernel, read_only

Hashes = npt.NDArray[np.uint64]  # one row of two words for each value
Words = npt.NDArray[np.uint64]

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_START = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))
_HALF, _THIRD = np.uint64(32), np.uint64(29)
_BYTE = np.uint64(8)


def new_hashes(count: int) -> Hashes:
    """The hashes of nothing, into which values are mixed."""
    return np.tile(np.array(_START, dtype=np.uint64), (count, 1))


def mix_words(words: Words, hashes: Hashes) -> None:
    """Mixes one word into the hash of each row."""
    _mix_words(read_only(words), hashes)


def hashes_of_texts(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> Hashes:
    """The hash of each text, or of other bytes: those of text `i` are `data[offsets[i]:offsets[i + 1]]`."""
    hashes = new_hashes(len(offsets) - 1)
    _mix_texts(read_only(offsets), read_only(data), hashes)
    return hashes


def hashes_of_lists(offsets: npt.NDArray[np.int64], elements: Hashes) -> Hashes:
    """The hash of each list, whose elements are `elements[offsets[i]:offsets[i + 1]]`."""
    hashes = new_hashes(len(offsets) - 1)
    _mix_lists(read_only(offsets), read_only(elements), hashes)
    return hashes


def mix_marked(found: Any, of_events: Hashes, of_sets: Words, hashes: Hashes) -> None:
    """Mixes into the hash of each match its first, its last and its marked events, with the variables that mark them.

    `found` has arrays like those of `Piece`.
    """
    ends = (read_only(found.start), read_only(found.end))
    marked = (read_only(found.offset), read_only(found.position), read_only(found.mark))
    _mix_marked(ends, marked, read_only(of_events), read_only(of_sets), hashes)


@inlined
def _mixed(hash: Any, word: Any, multiplier: Any) -> Any:
    hash = (hash ^ word) * multiplier
    hash = (hash ^ (hash >> _HALF)) * _SECOND
    return hash ^ (hash >> _THIRD)


@inlined
def _mix(hashes: Any, i: int, word: Any) -> None:
    hashes[i, 0] = _mixed(hashes[i, 0], word, _FIRST)
    hashes[i, 1] = _mixed(hashes[i, 1] + _FIRST, word, _SECOND)


@kernel
def _mix_words(words: Any, hashes: Any) -> None:
    for i in range(len(words)):
        _mix(hashes, i, words[i])


@kernel
def _mix_texts(offsets: Any, data: Any, hashes: Any) -> None:
    for i in range(len(hashes)):
        first, last = offsets[i], offsets[i + 1]
        _mix(hashes, i, np.uint64(last - first))
        word, shift = np.uint64(0), np.uint64(0)
        for b in range(first, last):
            word |= np.uint64(data[b]) << shift
            shift += _BYTE
            if shift == np.uint64(64):
                _mix(hashes, i, word)
                word, shift = np.uint64(0), np.uint64(0)
        _mix(hashes, i, word)


@kernel
def _mix_lists(offsets: Any, elements: Any, hashes: Any) -> None:
    for i in range(len(hashes)):
        _mix(hashes, i, np.uint64(offsets[i + 1] - offsets[i]))
        for e in range(offsets[i], offsets[i + 1]):
            _mix(hashes, i, elements[e, 0])
            _mix(hashes, i, elements[e, 1])


@kernel
def _mix_marked(ends: Any, marked: Any, of_events: Any, of_sets: Any, hashes: Any) -> None:
    start, end = ends
    offset, position, mark = marked
    for i in range(len(start)):
        for event in (start[i], end[i]):
            _mix(hashes, i, of_events[event, 0])
            _mix(hashes, i, of_events[event, 1])
        for m in range(offset[i], offset[i + 1]):
            _mix(hashes, i, of_sets[mark[m]])
            _mix(hashes, i, of_events[position[m], 0])
            _mix(hashes, i, of_events[position[m], 1])
