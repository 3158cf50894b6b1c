"""One small company, comprehended once for all tests of answering that ask it something, and copied for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering.small_company import comprehended, copied
from coset.environment.configuration import Environment


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return comprehended(tmp_path_factory.mktemp("company"))


@pytest.fixture
def environment(original: Environment, tmp_path: Path) -> Environment:
    return copied(original, tmp_path)
