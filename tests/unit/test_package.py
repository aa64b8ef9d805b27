"""What a package index shows: a description without links that lead nowhere, and the facts about the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hatchling.metadata.core import CoreMetadata, ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#]+)[^)]*\)")
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]+\)")


@pytest.fixture(scope="module")
def described() -> CoreMetadata:
    """The metadata as a build makes it."""
    made: CoreMetadata = ProjectMetadata(str(ROOT), PluginManager()).core
    return made


def test_the_description_has_no_link_to_a_file(described: CoreMetadata) -> None:
    """The README has such links, for those who read it in the repository; on an index they become names of files."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files = [target for target in LINK.findall(readme) if not target.startswith("https://")]
    assert "docs/tutorial.md" in files
    assert [target for target in LINK.findall(described.readme) if not target.startswith("https://")] == []
    assert [target for target in files if f"`{target}`" not in described.readme] == []


def test_the_description_has_no_picture(described: CoreMetadata) -> None:
    """They are files of the repository too."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = PICTURE.findall(readme)
    assert pictures
    assert [p for p in pictures if re.sub(r"^!\[|\].*$", "", p) in described.readme] == []


def test_the_examples_are_in_the_description_as_they_are_tested(described: CoreMetadata) -> None:
    blocks = re.findall(r"^```.*?^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    assert [block for block in blocks if block not in described.readme] == []


def test_facts(described: CoreMetadata) -> None:
    assert described.authors_data == {"name": ["Ensue developers"], "email": []}
    assert described.license_expression == "Apache-2.0"
    assert described.keywords
    assert described.urls == {}  # there is no address yet


def test_classifiers_are_known(described: CoreMetadata) -> None:
    from trove_classifiers import classifiers, deprecated_classifiers

    assert described.classifiers
    assert set(described.classifiers) <= classifiers - deprecated_classifiers.keys()
    # PEP 639: the licence expression stands alone.
    assert [c for c in described.classifiers if c.startswith("License ::")] == []
