"""Whole numbers of any size, from their residues modulo primes (the Chinese remainder theorem)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: Products of two residues modulo a smaller prime fit 64 bits.
_BELOW = 1 << 31
#: What is no prime below that, some of these says (Miller and Rabin; none below 3,215,031,751 passes all).
_WITNESSES = (2, 3, 5, 7)


def primes() -> Iterator[int]:
    """Primes below 2^31, the largest first.

    >>> found = primes()
    >>> next(found), next(found)
    (2147483647, 2147483629)
    """
    return (n for n in range(_BELOW - 1, 7, -2) if _is_prime(n))


def _is_prime(odd: int) -> bool:
    halvings = ((odd - 1) & (1 - odd)).bit_length() - 1
    for base in _WITNESSES:
        power = pow(base, (odd - 1) >> halvings, odd)
        if power in (1, odd - 1):
            continue
        if not any((power := power * power % odd) == odd - 1 for _ in range(halvings - 1)):
            return False
    return True


class Remainders:
    """Numbers of which ever more residues become known."""

    def __init__(self, count: int) -> None:
        self._numbers = [0] * count
        self._modulus = 1

    def add(self, prime: int, residues: Iterable[int]) -> None:
        """Adds the residues of all numbers modulo another prime."""
        inverse = pow(self._modulus, -1, prime)
        steps = ((r - n) * inverse % prime for n, r in zip(self._numbers, residues, strict=True))
        self._numbers = [n + self._modulus * step for n, step in zip(self._numbers, steps, strict=True)]
        self._modulus *= prime

    def tell(self, bits: int) -> bool:
        """Whether numbers with a sign are known that have so many bits without it."""
        return self._modulus > 1 << (bits + 1)

    def numbers(self) -> list[int]:
        """The numbers with the least absolute values."""
        return [n - self._modulus if 2 * n > self._modulus else n for n in self._numbers]
