"""Telling a leak from an answer that was computed."""

from __future__ import annotations

from pathlib import Path

from benchmark.small_checkout import CANARY, make_dataset
from coset.benchmark.trace_recorder import Prompt, TraceRecorder, ground_truth_of, leaks_in

TRUTH = "town,orders\nBasel Stadt,20\nChur am Rhein,12\n"
CODE = "def validate(llm_output):\n    wanted = parse_the_expected_table(llm_output)\n    return wanted == 3, ''\n"


def found(tmp_path: Path, *prompts: Prompt, question: str = "Which towns?"):
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "validate.py").write_text(CODE)
    return leaks_in(prompts, ground_truth_of(tmp_path / "truth.csv", tmp_path / "validate.py", question))


def test_the_whole_ground_truth_in_the_evidence_is_a_leak(tmp_path: Path):
    leaks, mentions = found(tmp_path, Prompt(f"note:   {TRUTH.upper()}", True))
    assert len(leaks) == 1 and "ground truth" in leaks[0]
    assert {"basel stadt", "chur am rhein"} <= set(mentions)


def test_the_file_itself_in_a_result_is_a_leak(tmp_path: Path):
    leaks, _ = found(tmp_path, Prompt(f"content\n{TRUTH}", False))
    assert len(leaks) == 1


def test_code_of_the_validator_is_a_leak_anywhere(tmp_path: Path):
    for given in (True, False):
        leaks, _ = found(tmp_path, Prompt("...wanted = parse_the_expected_table(llm_output)...", given))
        assert leaks == ("code of the validator was in a prompt",)


def test_an_answer_that_was_computed_is_no_leak(tmp_path: Path):
    leaks, mentions = found(tmp_path, Prompt("result_1: 2 rows\n| Basel Stadt | 20 |\n| Chur am Rhein | 12 |", False))
    assert leaks == () and mentions == ()


def test_a_value_of_the_data_in_the_evidence_is_a_mention(tmp_path: Path):
    leaks, mentions = found(tmp_path, Prompt('town: "Basel Stadt", "Bern"', True))
    assert leaks == () and mentions == ("basel stadt",)


def test_what_the_question_says_itself_is_neither(tmp_path: Path):
    leaks, mentions = found(tmp_path, Prompt("Basel Stadt", True), question="How many in Basel Stadt?")
    assert leaks == () and mentions == ()


def test_the_planted_checkout_would_be_seen(tmp_path: Path):
    question = make_dataset(tmp_path / "query_shop") / "query1"
    kept = ground_truth_of(question / "ground_truth.csv", question / "validate.py", "How many?")
    assert leaks_in([Prompt((question / "ground_truth.csv").read_text(), True)], kept)[0]
    assert leaks_in([Prompt((question / "validate.py").read_text(), False)], kept)[0]
    assert CANARY.casefold() in kept.whole


def test_every_request_is_searched_whichever_part_sent_it(tmp_path: Path):
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

    def searched(*messages: ModelRequest | ModelResponse) -> tuple[str, ...]:
        recorder = TraceRecorder(lambda value: value)
        recorder.sent(messages)
        return found(tmp_path, *recorder.all_prompts())[0]

    assert searched(ModelRequest(parts=[UserPromptPart(f"Read these texts:\n{TRUTH}")]))
    assert searched(ModelRequest(parts=[UserPromptPart("Read these.")], instructions=f"You know: {TRUTH}"))
    assert searched(ModelRequest(parts=[ToolReturnPart("sql", TRUTH, tool_call_id="1")]))
    assert not searched(ModelResponse(parts=[TextPart(TRUTH)])), "what a model writes is not what it was sent"
    assert not searched(ModelRequest(parts=[UserPromptPart("Which towns?")]))


def test_a_long_number_of_the_ground_truth_in_the_evidence_is_a_mention(tmp_path: Path):
    (tmp_path / "truth.csv").write_text("total\n48213.77\n")
    kept = ground_truth_of(tmp_path / "truth.csv", None, "What is the total?")
    assert leaks_in([Prompt("sum 48213.77 of 20", True)], kept) == ((), ("48213.77",))
    assert leaks_in([Prompt("sum 48213.77 of 20", False)], kept) == ((), ())
