"""What is asked and what came of it: the types that all parts of a benchmark hand to each other.

A `Task` is one question over one environment; an `Attempt` is one trial of it, judged. `Attempt` is also the line that
is kept on disk. Nothing here knows how an answer is found or judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["answered", "stopped", "failed"]
"""answered: with an answer of its own; stopped: a limit ended it; failed: an error, a time-out, a process that died."""
Verdict = Literal["passed", "wrong", "no answer", "not judged"]
"""not judged: the validator raised, hung, or gave nothing that can be read. It counts as not passed, and is told."""

COMPARED_PLAINLY = "compared plainly with the ground truth: there is no validate.py"
"""What a judge says of an answer where the benchmark brings no judge of its own; reports tell how many there were."""
Key = tuple[str, str, int]
"""Dataset, question, trial."""


@dataclass(frozen=True)
class Task:
    """One question over one environment."""

    dataset: str
    question: str
    """How the question is called within its dataset: its number, or its name."""
    text: str
    environment: Path
    """The folder with its coset.yaml."""

    @property
    def name(self) -> str:
        return f"{self.dataset}/{self.question}"


@dataclass(frozen=True)
class Judgement:
    """What a judge says of an answer."""

    verdict: Verdict
    reason: str


class Attempt(BaseModel):
    """One trial of one question, as it is kept."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    dataset: str
    question: str
    trial: int
    status: Status
    verdict: Verdict
    reason: str = ""
    """What the judge said, or why there was nothing to judge."""
    answer: str = ""
    """The answer, or its beginning where it is long."""
    answer_letters: int = 0
    answer_file: str | None = None
    """Where the whole of a long answer is, beside the attempts."""
    sql: str = ""
    """The statement behind the answer."""
    error: str = ""
    error_kind: str = ""
    seconds: float = 0.0
    model_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of the attempt's process and of the one that ran its statements: what it costs on a busy machine too."""
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None where no price is known."""
    tool_calls: int = 0
    tool_errors: dict[str, int] = {}
    leaks: tuple[str, ...] = ()
    """Text of the ground truth or the validator that was in a prompt and cannot have come from the data."""
    mentions: tuple[str, ...] = ()
    """Values of the ground truth that the evidence showed before anything was computed: to be looked at."""
    trace: str = ""
    """Where its steps are, beside the attempts."""

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def key(self) -> Key:
        return (self.dataset, self.question, self.trial)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens
