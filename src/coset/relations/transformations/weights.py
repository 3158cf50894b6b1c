"""The general weights of the fuzzy matcher: to rank candidates, to settle contests, to say how far to trust a winner.

Written by `python benchmarks/joins_training.py TASKS --write` from public fuzzy-join tasks of entity titles, with right
values of one task held against the left values of another as what must not match; the same command says how weights
fitted in this way do on tasks they have not seen. They hold no word and no name; one line per feature, in the order of
`resemblance.FEATURES`, `fuzzy.CONTEST` and `fuzzy.EVIDENCE`.
"""

from __future__ import annotations

import numpy as np

from coset.relations.transformations.resemblance import Floats

RANKING: Floats = np.array(
    [
        2.111,  # word cosine
        7.168,  # gram cosine
        -4.193,  # right words found
        -2.501,  # left words found
        4.528,  # right words found softly
        2.303,  # left words found softly
        2.580,  # right words kept
        2.930,  # left words kept
        -5.862,  # letters
        2.711,  # letters sorted
        -0.356,  # letters without blanks
        1.306,  # letters of the shorter
        3.015,  # core letters
        1.374,  # core equal
        2.863,  # squashed equal
        0.545,  # first word equal
        0.657,  # last word equal
        -0.725,  # right number missing
        -0.782,  # left number missing
        -0.065,  # numbers differ
        -2.798,  # rarest right word missing
        0.357,  # rarest left word missing
        -0.295,  # initials agree
        -0.496,  # difference tells left values apart
        -0.149,  # left difference tells them apart
        -0.084,  # right difference tells them apart
    ]
)

CONTEST: Floats = np.array(
    [
        1.000,  # own score
        2.032,  # claim of another right value
        0.109,  # another claim is stronger
        0.608,  # share of the left value
        -3.608,  # all claims
    ]
)

TRUST: Floats = np.array(
    [
        -6.294,  # constant
        0.152,  # score
        1.249,  # claim of another right value
        0.449,  # gap to the runner-up
        1.636,  # share of all candidates
        -0.206,  # share of the left value
        -2.702,  # all claims
        -0.072,  # gap to another right value
        0.447,  # word cosine
        2.376,  # gram cosine
        0.489,  # right words found
        0.311,  # left words found
        0.645,  # right words found softly
        0.257,  # left words found softly
        1.235,  # right words kept
        -0.024,  # left words kept
        -1.076,  # letters
        0.663,  # letters sorted
        -0.189,  # letters without blanks
        0.751,  # letters of the shorter
        0.786,  # core letters
        0.336,  # core equal
        1.206,  # squashed equal
        0.014,  # first word equal
        -0.191,  # last word equal
        -0.001,  # right number missing
        -0.700,  # left number missing
        1.331,  # numbers differ
        0.091,  # rarest right word missing
        0.132,  # rarest left word missing
        0.331,  # initials agree
        -0.335,  # difference tells left values apart
        -0.092,  # left difference tells them apart
        -0.143,  # right difference tells them apart
    ]
)
