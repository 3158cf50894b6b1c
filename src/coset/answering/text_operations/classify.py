"""Thousands of texts into categories with few calls of a model.

In: texts, categories, a labeller. Out: `Classified`: a category for each text, who gave it and how sure it is, and the
accuracy to expect. The model labels a sample; a local classifier learns from it and labels the rest; the texts it is
least sure of go back to the model, as far as the budget goes. Few texts are all read by the model. Knows no table.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coset.answering.text_operations.labels import Budget, LabelCache, Labeller, Labels
from coset.errors import CosetError, UserError

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Encode = Callable[[Sequence[str]], Floats]
WINDOW_WORDS = 28
"""As many words as the encoder surely reads whole."""
WORD_PLACES = 1024
MOST_WINDOWS = 12_000
"""So many windows are encoded in all: many texts get fewer each."""
_WORD = re.compile(r"[^\W\d_]{2,}")


def text_vectors(texts: Sequence[str], encode: Encode) -> Floats:
    """One vector of length 1 a text."""
    most = max(1, min(6, MOST_WINDOWS // max(1, len(texts))))
    pieces = [windows(text, most) for text in texts]
    vectors = encode([piece for each in pieces for piece in each])
    counts = np.array([len(each) for each in pieces])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    means = np.add.reduceat(vectors, starts, axis=0) / counts[:, None] if len(texts) else vectors
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def windows(text: str, most: int) -> list[str]:
    """At most so many pieces of a text, evenly spread, the beginning always among them."""
    words = text.split()
    if len(words) <= WINDOW_WORDS or most == 1:
        return [" ".join(words[:WINDOW_WORDS])]
    count = min(most, math.ceil(len(words) / WINDOW_WORDS))
    last = len(words) - WINDOW_WORDS
    starts = [round(number * last / (count - 1)) for number in range(count)]
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in dict.fromkeys(starts)]


def word_features(texts: Sequence[str]) -> Floats:
    """Hashed words, the seldom ones weighing more; rows of length 1."""
    rows = np.zeros((len(texts), WORD_PLACES), dtype=np.float32)
    counted = [Counter(word.lower() for word in _WORD.findall(text)) for text in texts]
    frequency = Counter(word for each in counted for word in each)
    for number, each in enumerate(counted):
        for word, count in each.items():
            digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            weight = (1 + math.log(count)) * math.log((1 + len(texts)) / frequency[word])
            rows[number, digest % WORD_PLACES] += weight if digest & 0x10000 else -weight
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


Integers = NDArray[np.int64]
STRENGTHS = np.geomspace(0.01, 30.0, 9)
"""Regularisation to choose from."""
TEMPERATURES = np.geomspace(0.02, 1.0, 14)


@dataclass(frozen=True)
class Classifier:
    means: Doubles
    weights: Doubles
    """(features, classes)."""
    shares: Doubles
    """How often each class was given: what is said of a row that is like no other."""
    temperature: float
    left_out: Doubles
    """For each labelled row, the calibrated probabilities of a classifier that did not see it."""

    def probabilities(self, features: NDArray[np.float32]) -> Doubles:
        return softmax((self.shares + (features - self.means) @ self.weights) / self.temperature)


def fit_classifier(features: NDArray[np.float32], labels: Integers, classes: int) -> Classifier:
    """`labels` are numbers of classes; every class need not occur."""
    means = features.mean(axis=0, dtype=np.float64)
    inputs = features - means
    targets = np.eye(classes)[labels]
    shares = targets.mean(axis=0)
    values, vectors = np.linalg.eigh(inputs @ inputs.T)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ (targets - shares)
    best: tuple[float, float, float, Doubles] | None = None
    for strength in STRENGTHS:
        kept = values / (values + strength)
        fitted = shares + vectors @ (kept[:, None] * rotated)
        # The pull of a row on its own prediction, by the weights and by the means.
        pull = np.minimum((vectors**2) @ kept + 1 / len(labels), 1 - 1e-6)[:, None]
        left_out = (fitted - pull * targets) / (1 - pull)
        for temperature in TEMPERATURES:
            loss = _loss(left_out, labels, temperature)
            if best is None or loss < best[0] - 1e-12:
                best = (loss, float(strength), float(temperature), left_out)
    assert best is not None  # noqa: S101
    _, strength, temperature, left_out = best
    weights = inputs.T @ (vectors @ (rotated / (values + strength)[:, None]))
    return Classifier(means, weights, shares, temperature, softmax(left_out / temperature))


def softmax(logits: Doubles) -> Doubles:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _loss(scores: Doubles, labels: Integers, temperature: float) -> float:
    chosen = softmax(scores / temperature)[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chosen, 1e-6)).mean())


LEAST_LABELS = 10
SURE = 0.97
"""From here on a label of the classifier is not asked about again."""
ROUNDS = 3
FIRST_SHARE = 0.5
NEAR_CATEGORIES = 0.3
"""Of the first sample, the part taken from the texts nearest to each category: seldom ones would be missed."""
By = Literal["model", "classifier", ""]


@dataclass(frozen=True)
class Classified:
    """The categories of the texts, in their order; None where a text fits none, or is empty."""

    categories: tuple[str, ...]
    labels: tuple[str | None, ...]
    confidence: NDArray[np.float64]
    by: tuple[By, ...]
    expected_accuracy: float | None
    """The share of the labels that the model would give as well; None when there are too few labels to say."""
    expected_counts: dict[str | None, float]
    """How many texts each category has by the probabilities of all. A seldom category that is hard to tell is labelled
    too seldom, and `counts` says too few of it; these come nearer."""
    checked_on: int
    """How many labels, picked at random and not seen in training, that was measured on."""
    texts: int
    """Different texts."""
    asked: int
    remembered: int
    calls: int
    refused: int
    problem: str

    @property
    def counts(self) -> dict[str | None, int]:
        found = Counter(self.labels)
        return {label: found[label] for label in (*self.categories, None) if found[label]}


async def classify(
    texts: Sequence[str | None],
    categories: Sequence[str],
    labeller: Labeller,
    encode: Encode,
    *,
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> Classified:
    """`labeller` gives for each text one of the categories, or None for none of them. `model` and `instruction` are
    part of what is remembered: another model, or other words, may label otherwise."""
    categories = tuple(categories)
    if len(set(categories)) != len(categories) or len(categories) < 2 or not all(categories):
        raise UserError(
            f"classify needs at least two different categories; these are {', '.join(categories) or 'none'}"
        )
    question = json.dumps(["classify", model, instruction, list(categories)], ensure_ascii=False)
    labels = Labels(
        labeller, budget or Budget(), cache, question, is_valid=lambda label: label is None or label in categories
    )
    distinct = list(dict.fromkeys(text for text in texts if text and text.strip()))
    labels.recall(distinct)
    drawn = _drawn(distinct)
    if len([text for text in distinct if text not in labels.known]) <= labels.left:
        await labels.ask(distinct)
        return _answer(texts, categories, labels, distinct, None, 0)
    vectors = text_vectors(distinct, encode)
    likeness = np.asarray(vectors @ encode(list(categories)).T)
    await labels.ask(_first_sample(distinct, drawn, likeness, labels.left))
    if len(labels.known) < LEAST_LABELS:
        why = labels.problem or f"only {len(labels.known)} of {labels.asked} labels could be used"
        raise CosetError(f"the texts could not be classified: {why}")
    features = np.hstack([vectors, word_features(distinct)])
    learned = _Learned(distinct, features, categories, labels)
    for round_number in range(ROUNDS):
        unsure = learned.unsure()
        if not unsure or not labels.left:
            break
        await labels.ask(unsure[: max(1, labels.left // (ROUNDS - round_number))])
        learned = _Learned(distinct, features, categories, labels)
    at_random = {text for text in drawn[: labels.budget.texts] if text in labels.known}
    return _answer(texts, categories, labels, distinct, learned, len(at_random), at_random)


class _Learned:
    """A classifier fitted on the labels there are, and what it says of all texts."""

    def __init__(
        self, texts: Sequence[str], features: NDArray[np.float32], categories: Sequence[str], labels: Labels
    ) -> None:
        self.texts = texts
        classes: list[str | None] = [*categories, None]
        self.labelled = np.array([number for number, text in enumerate(texts) if text in labels.known], dtype=np.int64)
        given = np.array([classes.index(labels.known[texts[number]]) for number in self.labelled], dtype=np.int64)
        fitted = fit_classifier(features[self.labelled], given, len(classes))
        # A class that no label names cannot be told from the bias: it is never predicted.
        seen = np.isin(np.arange(len(classes)), given)
        probabilities = np.where(seen, fitted.probabilities(features), 0.0)
        self.probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
        self.predicted = [classes[place] for place in self.probabilities.argmax(axis=1)]
        self.confidence = self.probabilities.max(axis=1)
        held_out = np.where(seen, fitted.left_out, 0.0)
        self.right_when_left_out = dict(
            zip((texts[number] for number in self.labelled), held_out.argmax(axis=1) == given, strict=True)
        )

    def unsure(self) -> list[str]:
        """The texts whose label is least sure, worst first."""
        known = set(self.labelled.tolist())
        order = np.argsort(self.confidence, kind="stable")
        return [self.texts[n] for n in order if n not in known and self.confidence[n] < SURE]


def _drawn(texts: Sequence[str]) -> list[str]:
    """The texts in an order that is random and always the same."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def _first_sample(texts: Sequence[str], drawn: Sequence[str], likeness: NDArray[np.float32], left: int) -> list[str]:
    """`likeness`: of each text to each category."""
    wanted = min(len(texts), max(LEAST_LABELS, round(left * FIRST_SHARE)), left)
    near_each = int(wanted * NEAR_CATEGORIES / likeness.shape[1])
    chosen: dict[str, None] = {}
    for column in likeness.T:
        best = np.argsort(-column, kind="stable")[:near_each]
        chosen.update(dict.fromkeys(texts[number] for number in best))
    for text in drawn:
        if len(chosen) >= wanted:
            break
        chosen.setdefault(text)
    # In the drawn order, so that a model that fails half-way has seen some of everything.
    return [text for text in drawn if text in chosen]


def _answer(
    texts: Sequence[str | None],
    categories: tuple[str, ...],
    labels: Labels,
    distinct: Sequence[str],
    learned: _Learned | None,
    checked_on: int,
    at_random: set[str] | None = None,
) -> Classified:
    place = {text: number for number, text in enumerate(distinct)}
    given: list[str | None] = []
    confidence = np.zeros(len(texts))
    by: list[By] = []
    for number, text in enumerate(texts):
        if text is not None and text in labels.known:
            given.append(labels.known[text])
            confidence[number] = 1.0
            by.append("model")
        elif text is not None and text in place and learned is not None:
            given.append(learned.predicted[place[text]])
            confidence[number] = learned.confidence[place[text]]
            by.append("classifier")
        else:
            given.append(None)
            by.append("")
    accuracy: float | None = 1.0 if learned is None and any(by) else None
    if learned is not None and at_random:
        # Texts that the classifier finds hard went to the model, so the rest is easier than the sample: its own
        # calibrated confidence speaks for the rest, the held-out labels keep it honest.
        rest = [value for value, who in zip(confidence, by, strict=True) if who == "classifier"]
        held_out = float(np.mean([learned.right_when_left_out[text] for text in sorted(at_random)]))
        sure = float(np.mean(rest)) if rest else 1.0
        share = len(rest) / max(1, sum(1 for who in by if who))
        accuracy = (1 - share) + share * min(sure, held_out + (1 - held_out) / 2)
    return Classified(
        categories, tuple(given), confidence, tuple(by), accuracy,
        _expected_counts(categories, texts, labels, place, learned), checked_on, len(distinct), labels.asked,
        labels.remembered, labels.calls, labels.refused, labels.problem,
    )  # fmt: skip


def _expected_counts(
    categories: tuple[str, ...],
    texts: Sequence[str | None],
    labels: Labels,
    place: Mapping[str, int],
    learned: _Learned | None,
) -> dict[str | None, float]:
    classes: list[str | None] = [*categories, None]
    total = np.zeros(len(classes))
    for text in texts:
        if text is not None and text in labels.known:
            total[classes.index(labels.known[text])] += 1
        elif text is not None and text in place and learned is not None:
            total += learned.probabilities[place[text]]
    return {label: round(float(value), 1) for label, value in zip(classes, total, strict=True) if value >= 0.05}
