"""Word pieces against the library that everybody uses, and against cases worked by hand."""

from __future__ import annotations

import random
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.identities.text_encoder import WordPieces

SMALL = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "cust",
    "##omer",
    "##s",
    "id",
    "_",
    "-",
    "a",
    "##b",
    "中",
    "cafe",
    "σ",
    "##σ",
]


def small() -> WordPieces:
    return WordPieces(SMALL)


def pieces_of(text: str, longest: int = 64) -> list[str]:
    return [SMALL[number] for number in small().encode(text, longest)[1:-1]]


@pytest.fixture(scope="module")
def vocabulary() -> list[str]:
    file = files("coset.identities").joinpath("weights/vocabulary.txt")
    if not file.is_file():
        pytest.skip("the weights are not built yet")
    return file.read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("customers", ["cust", "##omer", "##s"]),
        ("Customer_ID", ["cust", "##omer", "_", "id"]),
        ("customerz", ["[UNK]"]),  # a word with one unknown piece is unknown as a whole
        ("zzz id", ["[UNK]", "id"]),
        ("", []),
        (" \t\r\n\u00a0\u2028\u2029", []),
        ("id\u00a0id\u2028id", ["id", "id", "id"]),
        ("i\u0000d \u200bid\ufffd \x07id", ["id", "id", "id"]),  # control and format characters vanish
        ("id--id", ["id", "-", "-", "id"]),
        ("a中b", ["a", "中", "[UNK]"]),  # an ideograph is a word of its own, so b begins a word
        ("中中", ["中", "中"]),
        ("Café CAFE\u0301", ["cafe", "cafe"]),
        ("ab", ["a", "##b"]),
        ("ΣΣ", ["σ", "##σ"]),  # no final sigma
        ("a" * 100, ["[UNK]"]),
        ("a" * 101 + " id", ["[UNK]", "id"]),  # longer than any word: unknown without a look
    ],
)
def test_pieces_by_hand(text: str, pieces: list[str]) -> None:
    assert pieces_of(text) == pieces


def test_a_text_begins_and_ends_with_its_marks_and_is_cut_to_the_longest() -> None:
    encoded = small().encode("id " * 50, 8)
    assert encoded == [2, *[7] * 6, 3]
    assert small().encode("customers", 4) == [2, 4, 5, 3]
    assert small().encode("", 8) == [2, 3]


def test_batches_are_padded_to_the_longest_with_a_mask() -> None:
    tokens, mask = small().batch([[2, 7, 3], [2, 3]])
    assert tokens.tolist() == [[2, 7, 3], [2, 3, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert tokens.dtype == mask.dtype == np.int64
    assert small().batch([])[0].shape == (0, 1)


@given(st.text(max_size=60), st.integers(2, 40))
def test_any_text_has_tokens_within_the_bound(text: str, longest: int) -> None:
    encoded = small().encode(text, longest)
    assert 2 <= len(encoded) <= longest
    assert (encoded[0], encoded[-1]) == (2, 3)
    assert all(0 <= number < len(SMALL) for number in encoded)
    assert small().encode(text, longest) == encoded


def test_words_longer_than_any_are_not_kept() -> None:
    pieces = small()
    for number in range(50):
        pieces.encode(f"{'x' * 5_000}{number} id", 16)
    assert sum(map(len, pieces._words)) < 100


def samples() -> list[str]:
    """Texts like ours and texts unlike any: names, samples, scripts, accents, controls, and letters at random."""
    chosen = random.Random(7)
    written = [
        "customer id | orders | refers to customers | whole | 17; 42; 99 | with order date, total",
        "Größe (cm) | Österreich; Zürich; São Paulo; Łódź; Ñandú; Ærø; İstanbul; ǅ; ﬁne; Å Å",
        "ΟΔΟΣ ΑΘΗΝΩΝ ς σ Σ; ИМЯ Клиента ЁЖ; שלום עולם; السلام عليكم ٣٤; हिन्दी में नाम; ภาษาไทย",
        "客户名称 顧客の名前 カタカナ ひらがな 고객 이름 한국어 豈更車 𠀀𠀁 𫝀 𫠠 㐀㐁",
        "price $1,234.56 €99 £5 ¥100 50% a+b=c <tag> x^2 `code` |~ {json: [1, 2]} #1 @home & co.",
        "tab\there\nnewline\r\nform\x0cfeed\x0bvertical\x85next\u2028line\u2029paragraph\u3000wide\u00a0space",
        "nul\x00bell\x07escape\x1bdelete\x7fsoft\u00adhyphen zero\u200bwidth joiner\u200d bom\ufeff replacement\ufffd",
        "private\ue000use unassigned\u0378 emoji 💰👩‍👩‍👧 flags 🇨🇭 keycap 1️⃣ enclosed ① ² ½ Ⅷ ª º",
        "naïve café cafe\u0301 re\u0301sume\u0301 a\u0300\u0301\u0302 q\u0303 \u0301alone",
        "supercalifragilisticexpialidocious " + "a" * 99 + " " + "a" * 100 + " " + "a" * 101 + " " + "é" * 100,
        "don't rock'n'roll state-of-the-art e.g. i.e. _under__score_ --- ... “quotes” ‘single’ «guillemets» 「括弧」",
        "[UNKNOWN] ##ing ## # [ ] unaffable embeddings tokenization 0x1f 1e-5 2024-01-31T23:59:59Z",
        "550e8400-e29b-41d4-a716-446655440000 user@example.com https://example.org/a/b?c=d 192.168.0.1",
    ]
    letters = [
        chr(code) for code in (*range(0x20, 0x250), *range(0x370, 0x530), *range(0x4E00, 0x4E80), 0x3000, 0xAC00)
    ]
    controls = [chr(code) for code in (*range(0x20), 0x7F, 0x85, 0xAD, 0x200B, 0x2028, 0xFEFF, 0xFFFD, 0xE000)]
    words = " ".join(written).split()
    for _ in range(150):
        written.append("".join(chosen.choices(letters, k=chosen.randint(1, 40))))
        written.append(" ".join(chosen.choices(words, k=chosen.randint(1, 12))))
        written.append("".join(chosen.choices([*letters, *controls, " "], k=chosen.randint(1, 40))))
    return written


def test_tokens_equal_those_of_the_library(vocabulary: list[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    numbers = {piece: number for number, piece in enumerate(vocabulary) if piece}
    model = tokenizers.models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100)
    library = tokenizers.Tokenizer(model)
    library.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ours, texts = WordPieces(vocabulary), samples()
    assert len(texts) > 400
    for text in texts:
        assert ours.encode(text, 4096)[1:-1] == library.encode(text, add_special_tokens=False).ids, ascii(text)


def test_the_shipped_vocabulary_reads_common_words_as_one_piece(vocabulary: list[str]) -> None:
    pieces = WordPieces(vocabulary)
    assert len(vocabulary) > 29_000
    for word in ("customer", "price", "date", "status", "latitude"):
        assert [vocabulary[number] for number in pieces.encode(word.upper(), 8)] == ["[CLS]", word, "[SEP]"]
    assert [vocabulary[number] for number in pieces.encode("unaffable", 8)[1:-1]] == ["una", "##ffa", "##ble"]
