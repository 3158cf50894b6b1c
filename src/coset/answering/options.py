"""How a question is to be answered: models, evidence, limits, depth of verification.

In: nothing. Out: `AskOptions`, which every surface fills and the run reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coset.answering.agent_tools import AskUser
from coset.answering.answer import Mode
from coset.answering.exchange import Retries
from coset.answering.usage import Limits

Verify = Literal["none", "auto", "full"]
"""none: the answer as it is given. auto: checks always, an answer that fails one goes back once, and one that stays in
doubt is computed a second time. full: every answer is computed a second time, by another path; agreement ends it."""


@dataclass(frozen=True)
class AskOptions:
    """How a question is to be answered."""

    model: str | None = None
    arbiter_model: str | None = None
    text_model: str | None = None
    core: bool = False
    budget: int | None = None
    """Tokens of the view, or of the schema in core mode."""
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    ask_user: AskUser | None = None
    verify: Verify = "auto"

    @property
    def mode(self) -> Mode:
        return "core" if self.core else "learned"
