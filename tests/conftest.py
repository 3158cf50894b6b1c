"""What all tests share: the database servers, and the development environments beside the checkout where there are any."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["engines.postgresql", "engines.mysql", "engines.mongodb"]

SHARED = Path(__file__).parents[2] / "shared"
WITHOUT_SHARED = f"needs the development environments in ../{SHARED.name}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason=WITHOUT_SHARED)
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the development environments; a test that asks for it is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(WITHOUT_SHARED)
    return SHARED
