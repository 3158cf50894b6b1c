"""A run between two steps, as JSON: the conversation, the records, the statements.

In: a run. Out: JSON, and back. Results are kept as the statements that gave them: they are run again on the data of the
day when they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from coset.answering.agent.results import NamedResults
from coset.answering.answer import Mode
from coset.answering.arbiter.records import Records
from coset.answering.models.client import StepUsage
from coset.errors import UserError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


class Checkpoint(BaseModel):
    """A run as it was between two steps."""

    model_config = ConfigDict(frozen=True)
    mode: Mode
    messages: list[Any]
    statements: list[str]
    records: Records | None
    usage: list[StepUsage]
    names: dict[str, Any] = {}
    """The short names that the conversation uses, and what they stand for."""

    @classmethod
    def of(
        cls,
        mode: Mode,
        messages: Sequence[ModelMessage],
        results: NamedResults,
        records: Records | None,
        usage: Sequence[StepUsage],
        names: Mapping[str, Any],
    ) -> Checkpoint:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return cls(
            mode=mode,
            messages=ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"),
            statements=[each.sql for each in results.known.values()],
            records=records,
            usage=list(usage),
            names=dict(names),
        )

    @classmethod
    def read(cls, kept: bytes | str) -> Checkpoint:
        try:
            return cls.model_validate_json(kept)
        except ValidationError:
            raise UserError(
                "what was kept of this run is of another version of coset: ask the question again"
            ) from None

    def conversation(self) -> list[ModelMessage]:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.validate_python(self.messages)
