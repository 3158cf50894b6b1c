"""People and their contact data: which columns hold them, and how their sample values are shown without showing them.

In: a column's name and type, its table's name, example values. Out: the kind of personal data with a confidence and its
reason, or nothing; and `mask(value, kind)`.

E-mails, IBANs, card numbers and IP addresses are told by their values (checksums where there are any); names, streets
and birth dates need the column's name to agree, because a place or a product looks the same. Everything is fixed lists
and patterns: deterministic, and quiet rather than complete. Nothing here decides whether values may be shown.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

PersonalKind = Literal[
    "person_name", "email", "phone", "address", "iban", "card_number", "ip_address", "birth_date", "national_id"
]

MOST_VALUES_AGREE = 0.8
SOME_VALUES_AGREE = 0.3


@dataclass(frozen=True)
class PersonalData:
    kind: PersonalKind
    confidence: float
    reason: str
    """One clause for a person: what in the name or the values told it."""


def personal_data(column: str, type: str, examples: Sequence[str], *, table: str = "") -> PersonalData | None:
    """The kind of personal data in a column, from its name and example values; None when it looks like none."""
    words = _words(column)
    values = [value.strip() for value in examples if value and value.strip()]
    is_text = type.upper().startswith(("VARCHAR", "TEXT", "ENUM", "JSON", "CHAR"))
    if is_text and values:
        for kind, check in _TOLD_BY_VALUES:
            agreeing = _share(values, check)
            if agreeing >= MOST_VALUES_AGREE:
                return PersonalData(kind, 0.95, f"{agreeing:.0%} of its sample values are written so")
    named = _named(words, _words(table))
    if named is None:
        elsewhere = set(words) & _NOT_OF_PERSONS
        if is_text and not elsewhere and len(values) >= 5 and _share(values, _is_known_full_name) >= 0.6:
            return PersonalData("person_name", 0.7, "its sample values are common given names with a family name")
        return None
    return _confirmed(named, column, type, is_text, values)


def _confirmed(kind: PersonalKind, column: str, type: str, is_text: bool, values: Sequence[str]) -> PersonalData | None:
    """What the name promises, unless the values or the type say otherwise."""
    by_name = f"the column is called {column}"
    if kind == "birth_date":
        base = type.upper()
        dated = base.startswith(("DATE", "TIMESTAMP")) or not values or _share(values, _has_year) >= SOME_VALUES_AGREE
        return PersonalData(kind, 0.9 if dated else 0.5, by_name) if dated else None
    if kind in ("phone", "card_number", "national_id") and not is_text:
        whole = re.match(r"(U?(BIG|HUGE)?INT|U?INTEGER|DECIMAL|DOUBLE)", type.upper())
        return (
            PersonalData(kind, 0.6, by_name) if whole and (not values or _share(values, _long_digits) >= 0.5) else None
        )
    if not is_text:
        return None
    if not values:
        return PersonalData(kind, 0.5, f"{by_name}; there are no values to look at")
    agreeing = _share(values, _AGREES[kind])
    if agreeing < SOME_VALUES_AGREE:
        return None
    return PersonalData(kind, 0.6 + 0.35 * agreeing, f"{by_name} and {agreeing:.0%} of its sample values look like it")


def mask(value: str, kind: PersonalKind) -> str:
    """The value so that its form can be seen but not its content: `a***@***.com`, `J*** S***`, `+** *** **34`."""
    text = value.strip()
    if not text:
        return ""
    if kind == "email":
        local, at, domain = text.partition("@")
        ending = domain.rpartition(".")[2]
        return f"{local[:1]}***@***.{ending}" if at and "." in domain else "***"
    if kind in ("phone", "card_number", "national_id", "iban"):
        return _all_but_last(text, 2 if kind == "phone" else 4)
    if kind == "ip_address":
        return re.sub(r"[0-9A-Fa-f]+", "*", text)
    if kind == "birth_date":
        return re.sub(r"\d", "*", re.sub(r"[^\W\d_]+", "***", text))
    # One letter of each word, digits gone: enough to see "family name, given name" from "given name family name".
    return re.sub(r"\d+", "*", re.sub(r"([^\W\d_])[^\W\d_]+", r"\1***", text))


def _all_but_last(text: str, shown: int) -> str:
    total = sum(letter.isalnum() for letter in text)
    # A short number has no part that may be shown.
    keep_from = total - shown if total >= 3 * shown else total
    seen, result = 0, []
    for letter in text:
        if letter.isalnum():
            result.append(letter if seen >= keep_from else "*")
            seen += 1
        else:
            result.append(letter)
    return "".join(result)


# ---- what values look like

_EMAIL = re.compile(r"(mailto:)?[A-Za-z0-9._%+'-]+\s?@\s?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_PHONE = re.compile(r"(\+|00)?[\d(][\d\s().\-/]{5,20}\d(\s*(x|ext\.?|#)\s*\d{1,6})?", re.IGNORECASE)
_PLUS_PHONE = re.compile(
    r"\+\d{1,3}[\s().\-/]?[\d\s().\-/]{6,16}|\(\d{3}\)\s?\d{3}[-. ]\d{4}|\d{3}[-.]\d{3}[-.]\d{4}( ?x\d+)?"
)
_STREET = re.compile(
    r"(?=.*\d)(?=.*[^\W\d_]{3}).{6,}|.*\b(street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|way|court|ct|"
    r"platz|weg|gasse|rue|via|calle|plaza|straat)\b.*|.*(straße|strasse|str\.).*",
    re.IGNORECASE,
)
_NAME_WORD = r"[^\W\d_][^\W\d_'’.\-]*([-'’][^\W\d_]+)*\.?"
_NAME = re.compile(rf"{_NAME_WORD}(,? {_NAME_WORD}){{0,4}}")


def _is_email(text: str) -> bool:
    return bool(_EMAIL.fullmatch(text))


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    if not _IBAN.fullmatch(plain):
        return False
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


_CARD_STARTS = re.compile(r"(4\d{12}(\d{3})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(011|5\d\d)\d{12}|3[068]\d{12})")


def _is_card(text: str) -> bool:
    plain = re.sub(r"[ -]", "", text)
    if not _CARD_STARTS.fullmatch(plain):
        return False
    digits = [int(letter) for letter in reversed(plain)]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + doubled) % 10 == 0


def _is_ip(text: str) -> bool:
    if text.count(".") != 3 and text.count(":") < 2:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_clear_phone(text: str) -> bool:
    return bool(_PLUS_PHONE.fullmatch(text)) and 7 <= sum(letter.isdigit() for letter in text) <= 17


def _is_phone(text: str) -> bool:
    return bool(_PHONE.fullmatch(text)) and 7 <= sum(letter.isdigit() for letter in text) <= 17


def _is_name(text: str) -> bool:
    return (
        len(text) <= 60 and bool(_NAME.fullmatch(text)) and (text[0].isupper() or not text.isascii() or text.islower())
    )


def _is_street(text: str) -> bool:
    return len(text) <= 200 and bool(_STREET.fullmatch(text)) and not _is_email(text)


def _has_year(text: str) -> bool:
    return bool(re.search(r"(18|19|20)\d{2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2}", text))


def _long_digits(text: str) -> bool:
    return bool(re.fullmatch(r"\d{7,19}(\.0+)?", text))


def _is_number_like_id(text: str) -> bool:
    return 5 <= len(text) <= 20 and sum(letter.isdigit() for letter in text) >= 4


def _is_known_full_name(text: str) -> bool:
    words = text.replace(",", " ").split()
    given = words[1:2] if "," in text else words[:1]
    return 2 <= len(words) <= 4 and _is_name(text) and any(word.lower() in _GIVEN_NAMES for word in given)


_TOLD_BY_VALUES: tuple[tuple[PersonalKind, Callable[[str], bool]], ...] = (
    ("email", _is_email),
    ("iban", _is_iban),
    ("card_number", _is_card),
    ("ip_address", _is_ip),
    ("phone", _is_clear_phone),
)
_AGREES: dict[PersonalKind, Callable[[str], bool]] = {
    "person_name": _is_name,
    "email": _is_email,
    "phone": _is_phone,
    "address": _is_street,
    "iban": _is_iban,
    "card_number": lambda text: _is_card(text) or bool(re.fullmatch(r"[\dXx*• -]{12,25}", text)),
    "ip_address": _is_ip,
    "national_id": _is_number_like_id,
}


# ---- what columns are called

_PERSON_WORDS = {
    "person", "people", "customer", "client", "employee", "staff", "contact", "user", "member", "patient", "student",
    "teacher", "author", "lead", "guest", "passenger", "driver", "owner", "manager", "agent", "physician", "doctor",
    "nurse", "tenant", "borrower", "applicant", "candidate", "subscriber", "donor", "actor", "singer", "player",
    "reviewer", "buyer", "seller", "recipient", "sender", "holder", "cardholder", "payee", "beneficiary", "spouse",
    "emergency", "personnel", "worker", "salesperson", "cashier", "instructor", "participant", "visitor", "attendee",
}  # fmt: skip
_NAME_PARTS = {
    "firstname", "lastname", "surname", "fullname", "forename", "givenname", "familyname", "middlename", "maidenname",
    "lname", "fname", "nachname", "vorname", "prenom", "apellido", "apellidos", "displayname", "personname",
    "middleinitial", "initials",
}  # fmt: skip
_NOT_OF_PERSONS = {
    "user_name", "product", "company", "file", "table", "column", "host", "domain", "event", "brand", "city", "country",
    "state", "type", "group", "role", "status", "category", "class", "code", "id", "count", "number", "num", "flag",
}  # fmt: skip


def _named(words: Sequence[str], table: Sequence[str]) -> PersonalKind | None:
    joined = "".join(words)
    held = set(words)
    if held & {"email", "emails", "mail"} and not held & {
        "opt",
        "optout",
        "template",
        "subject",
        "body",
        "count",
        "id",
    }:
        return "email"
    if "email" in joined and words[-1:] in (["address"], ["email"]):
        return "email"
    if held & {"phone", "phones", "telephone", "mobile", "cellphone", "fax", "tel", "telefon"} or joined.endswith(
        "phone"
    ):
        return "phone" if not held & {"type", "model", "brand", "service", "multiple"} else None
    if "iban" in held:
        return "iban"
    if joined in ("creditcard", "creditcardnumber", "cardnumber", "cardno", "ccnumber", "ccnum", "pan"):
        return "card_number"
    if (
        joined in ("ip", "ipaddress", "ipaddr", "clientip", "remoteip", "remoteaddr", "sourceip")
        or "ipaddress" in joined
    ):
        return "ip_address"
    if joined in (
        "dob",
        "birthdate",
        "birthday",
        "dateofbirth",
        "dayofbirth",
        "birth",
        "born",
        "birthyear",
        "geburtsdatum",
    ):
        return "birth_date"
    if {"birth"} & held and held & {"date", "day", "dt"}:
        return "birth_date"
    if held & {"ssn", "passport", "nin", "nino"} or joined in ("socialsecuritynumber", "nationalid", "taxpayerid"):
        return "national_id"
    if joined in _NAME_PARTS or any(joined.endswith(part) for part in _NAME_PARTS if len(part) > 6):
        return "person_name"
    if words[-1:] == ["name"] and (held & _PERSON_WORDS) and not held & _NOT_OF_PERSONS:
        return "person_name"
    if joined == "name" and {_singular(word) for word in table} & _PERSON_WORDS and not set(table) & _NOT_OF_PERSONS:
        return "person_name"
    street = held & {"street", "address", "addr", "address1", "address2", "addressline", "strasse", "adresse"}
    if street and not held & {"id", "type", "count", "ip", "mac", "web", "url", "wallet", "contract"}:
        return "address"
    return None


def _words(name: str) -> list[str]:
    """`customerFirstName` and `customer_first_name` are the same three words."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word for word in re.split(r"[^A-Za-z0-9À-ÿ]+", parted.lower()) if word]


def _singular(word: str) -> str:
    return {"people": "person", "staff": "staff"}.get(word, word[:-1] if word.endswith("s") else word)


def _share(values: Sequence[str], check: Callable[[str], bool]) -> float:
    return sum(check(value) for value in values) / len(values) if values else 0.0


# Given names that are hardly ever a place, product or company.
_NAMES_TEXT = """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark
    donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary
    nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander raymond
    patrick jack dennis jerry mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy
    betty margaret sandra ashley kimberly emily donna michelle carol amanda dorothy melissa deborah stephanie
    rebecca sharon laura cynthia kathleen amy angela shirley anna brenda pamela emma nicole helen samantha katherine
    christine debra rachel carolyn janet catherine maria heather diane ruth julie olivia joyce hans peter klaus
    juergen jürgen wolfgang stefan andreas thorsten uwe monika ursula sabine petra karin anja claudia pierre jean
    michel philippe alain nathalie isabelle sophie jose josé juan carlos luis miguel javier antonio manuel francisco
    carmen ana isabel lucia lucía giovanni giuseppe marco luca francesca giulia mohammed muhammad ahmed ali fatima
    aisha wei li ming hiroshi yuki kenji priya rahul amit sanjay anita ivan sergei dmitri olga natasha tatiana piotr
    agnieszka katarzyna lars anders ingrid astrid bjorn
"""
_GIVEN_NAMES = frozenset(_NAMES_TEXT.split())
