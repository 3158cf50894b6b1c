"""The general weights of the fuzzy matcher: to rank candidates, to settle contests, to say how far to trust a winner.

Fitted once by logistic regression on public fuzzy-join tasks of entity titles,
with right values of one task held against the left values of another as what must not match, and checked by
cross-validation over whole tasks. They hold no word and no name; one line per feature, in the order of
`resemblance.FEATURES`.
"""

from __future__ import annotations

import numpy as np

from coset.evidence.joining.nearest import Floats

RANKING: Floats = np.array(
    [
        0.991,  # word cosine
        6.344,  # gram cosine
        -3.198,  # right words found
        -2.859,  # left words found
        4.857,  # right words found softly
        2.214,  # left words found softly
        2.878,  # right words kept
        3.095,  # left words kept
        -4.128,  # letters
        1.806,  # letters sorted
        -0.833,  # letters without blanks
        0.324,  # letters of the shorter
        3.131,  # core letters
        0.741,  # core equal
        2.555,  # squashed equal
        0.395,  # first word equal
        0.430,  # last word equal
        -1.059,  # right number missing
        -0.754,  # left number missing
        -0.895,  # numbers differ
        -2.399,  # rarest right word missing
        0.353,  # rarest left word missing
        -0.156,  # initials agree
    ]
)

CONTEST: Floats = np.array(
    [
        1.029,  # own score
        -0.809,  # claim of another right value
        -0.272,  # another claim is stronger
    ]
)

TRUST: Floats = np.array(
    [
        -7.078,  # constant
        0.074,  # score
        -0.677,  # claim of another right value
        0.334,  # gap to the runner-up
        2.152,  # share of all candidates
        0.244,  # word cosine
        1.888,  # gram cosine
        0.270,  # right words found
        0.332,  # left words found
        0.501,  # right words found softly
        0.005,  # left words found softly
        1.411,  # right words kept
        0.020,  # left words kept
        -1.160,  # letters
        1.001,  # letters sorted
        -0.178,  # letters without blanks
        0.778,  # letters of the shorter
        0.866,  # core letters
        0.226,  # core equal
        1.176,  # squashed equal
        0.167,  # first word equal
        -0.082,  # last word equal
        -0.087,  # right number missing
        -0.265,  # left number missing
        -1.414,  # numbers differ
        0.505,  # rarest right word missing
        0.622,  # rarest left word missing
        0.342,  # initials agree
    ]
)
