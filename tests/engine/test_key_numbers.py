"""The numbers of keys stay the same from batch to batch."""

from random import Random

import pyarrow as pa

from ensue.kernels.keys import KeyNumbers


def test_keys_keep_their_numbers_from_batch_to_batch():
    rng = Random(0)
    values = [rng.choice(["a", "b", "c", None]) for _ in range(100)]
    others = [rng.choice([1.5, 0.0, -0.0, None]) for _ in range(100)]
    whole = KeyNumbers(["x", "y"])
    at_once = whole.encode([pa.array(values), pa.array(others)]).tolist()
    cut = KeyNumbers(["x", "y"])
    in_parts = [
        number
        for i in range(0, 100, 7)
        for number in cut.encode([pa.array(values[i : i + 7], pa.string()), pa.array(others[i : i + 7], pa.float64())])
    ]
    assert in_parts == at_once
    assert len(whole) == len(cut) == len(set(at_once))
    for i in range(100):
        for j in range(100):
            same = values[i] == values[j] and others[i] == others[j]
            assert (at_once[i] == at_once[j]) == same
