"""What all tests share: the database servers, and the development environments beside the checkout where there are any."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "engines.postgresql",
    "engines.mysql",
    "engines.mongodb",
    "engines.s3",
    "engines.clickhouse",
    "made_once",
]

# The same examples in every run, and no test that fails because a machine is slow.
settings.register_profile(
    "coset",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
settings.load_profile("coset")

SHARED = Path(__file__).parents[2] / "shared"
WITHOUT_SHARED = f"needs the development environments in ../{SHARED.name}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
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
