"""What was compiled from other sources is not used again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ensue.kernels import kernels_on_disk
from ensue.kernels.kernels_on_disk import digest_of, drop_stale


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources that stands for those of the library."""
    made = tmp_path / "sources"
    made.mkdir()
    (made / "steps.py").write_text("ONE = 1\n")
    monkeypatch.setattr(kernels_on_disk, "_sources", lambda: digest_of([made]))
    return made


def test_kernels_go_when_a_source_changes(sources: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    index, other = kept / "evaluate.advance-1.py311.nbi", kept / "evaluate.cpython-311.pyc"
    other.write_text("not a kernel")

    def stays() -> bool:
        index.write_text("a kernel")
        drop_stale.cache_clear()
        drop_stale(kept)
        assert other.exists()
        return index.exists()

    assert not stays()  # nobody knows what it was compiled from
    assert stays()
    (sources / "steps.py").write_text("ONE = 2\n")
    assert not stays()
    assert stays()


def test_once_a_process(sources: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    drop_stale.cache_clear()
    drop_stale(kept)
    (sources / "steps.py").write_text("ONE = 3\n")
    (kept / "a.nbi").write_text("compiled by this process")
    drop_stale(kept)
    assert (kept / "a.nbi").exists()
