"""Whether a language model is set for an environment: then questions can be asked of it.

In: an environment. Out: yes or no. Opens nothing.
"""

from __future__ import annotations

import os

from coset.answering.models import DEFAULT_MODEL
from coset.environment.configuration import Environment


def has_model(environment: Environment) -> bool:
    return bool(environment.models.get("agent") or os.environ.get(DEFAULT_MODEL))
