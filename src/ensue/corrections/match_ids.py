"""What tells the matches of two evaluations apart, and the ids by which users know them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.corrections.event_ids import ids_in
from ensue.corrections.row_hashes import hashes_of_rows
from ensue.data.events import integers
from ensue.kernels.value_hashes import Hashes, Words, mix_marked, mix_words, new_hashes
from ensue.results.matches import Matches

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


def ids_of(matches: Matches, rows: pa.Table) -> Hashes:
    """The id of each match: of the identities of its first, last and marked events, and of the values that it shows."""
    ids = _of_events(matches, ids_in(matches.stream.table))
    shown = hashes_of_rows(rows.columns, len(rows))
    for i in range(2):
        mix_words(np.ascontiguousarray(shown[:, i]), ids)
    return ids


def difference(old: Sequence[Matches], new: Sequence[Matches]) -> tuple[list[Matches], list[Matches]]:
    """The matches of `old` that are not in `new`, and those of `new` that are not in `old`.

    Matches are compared by all values that are kept of their events: so those that stay need no rows.
    """
    if not old or not new:
        return list(old), list(new)
    before, after = ([_whole_keys(m) for m in matches] for matches in (old, new))
    gone, came = _not_in_both(np.concatenate(before), np.concatenate(after))
    return _chosen(old, gone), _chosen(new, came)


def _whole_keys(matches: Matches) -> Hashes:
    """Equal for matches with the same events, all of whose kept values are equal."""
    found, table = matches.found, matches.stream.table
    used = np.zeros(len(table), dtype=np.bool_)
    for positions in (found.start, found.end, found.position):
        used[positions] = True
    places = np.flatnonzero(used)
    # Times are shown too, and an event that was updated may have kept all but its time.
    used_columns = [matches.stream.time_column, *table.columns]
    of_used = hashes_of_rows([column.take(integers(places)) for column in used_columns], len(places))
    of_events = np.zeros((len(table), 2), dtype=np.uint64)
    of_events[places] = of_used
    keys = _of_events(matches, of_events)
    # Of windows that were found by their ends, events between the ends show in what is folded over them alone.
    folded = hashes_of_rows(list(found.computed.values()), len(matches))
    for i in range(2):
        mix_words(np.ascontiguousarray(folded[:, i]), keys)
    return keys


def _of_events(matches: Matches, of_events: Hashes) -> Hashes:
    keys = new_hashes(len(matches))
    mix_marked(matches.found, of_events, _words_of_sets(matches.found.sets), keys)
    return keys


def _words_of_sets(sets: Sequence[frozenset[str]]) -> Words:
    """A word for each set of variables, which does not depend on their order or number."""
    digests = [hashlib.blake2b("\0".join(sorted(s)).encode(), digest_size=8).digest() for s in sets]
    return np.frombuffer(b"".join(digests) or bytes(8), dtype="<u8").astype(np.uint64)


def _not_in_both(old: Hashes, new: Hashes) -> tuple[Mask, Mask]:
    """Which of the old and of the new ones are not among the others; each is at most once on either side."""
    both = np.concatenate([old, new])
    order = np.lexsort((both[:, 1], both[:, 0]))
    in_order = both[order]
    same = (in_order[1:] == in_order[:-1]).all(axis=1)
    alone = np.ones(len(both), dtype=np.bool_)
    alone[1:] &= ~same
    alone[:-1] &= ~same
    mask = np.empty(len(both), dtype=np.bool_)
    mask[order] = alone
    return mask[: len(old)], mask[len(old) :]


def not_in_both(old: Hashes, new: Hashes) -> tuple[Places, Places]:
    """The places of those that are not on the other side as well."""
    gone, came = _not_in_both(old, new)
    return np.flatnonzero(gone), np.flatnonzero(came)


def _chosen(matches: Sequence[Matches], mask: Mask) -> list[Matches]:
    chosen = []
    for m, own in zip(matches, np.split(mask, np.cumsum([len(m) for m in matches])[:-1]), strict=True):
        if own.any():
            chosen.append(m if own.all() else m.some(np.flatnonzero(own)))
    return chosen
