"""psi_theta: features to an embedding and its precision, in NumPy.

In: text vectors and number features, trained weights. Out: z_e and s_e for one coordinate. The text vectors come from
`text_encoder`; training builds the same function in torch, and a test holds both together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.identities.prototypes import Array


@dataclass(frozen=True)
class Encoder:
    """A two-layer network with a residual around its hidden layer, and one output for the precision."""

    number_mean: Array
    number_scale: Array
    text_weight: Array
    number_weight: Array
    first_bias: Array
    hidden_weight: Array
    hidden_bias: Array
    embedding_weight: Array
    embedding_bias: Array
    precision_weight: Array
    precision_bias: Array
    lowest_precision: float = 0.25
    highest_precision: float = 4.0

    def encode(self, texts: NDArray[np.float32], numbers: NDArray[np.float32]) -> tuple[Array, Array]:
        """Embeddings (objects x p) and precisions (objects x 1 or p), the latter within fixed bounds."""
        scaled = (numbers.astype(np.float64) - self.number_mean) / self.number_scale
        first = gelu(texts.astype(np.float64) @ self.text_weight + scaled @ self.number_weight + self.first_bias)
        hidden = first + gelu(first @ self.hidden_weight + self.hidden_bias)
        embedding = hidden @ self.embedding_weight + self.embedding_bias
        # The logistic function, in the form that cannot overflow.
        share = 0.5 + 0.5 * np.tanh((hidden @ self.precision_weight + self.precision_bias) / 2)
        precision = self.lowest_precision * (self.highest_precision / self.lowest_precision) ** share
        return embedding, precision


def gelu(values: Array) -> Array:
    """The smooth rectifier, in its tanh form."""
    result: Array = 0.5 * values * (1 + np.tanh(0.7978845608028654 * (values + 0.044715 * values**3)))
    return result
