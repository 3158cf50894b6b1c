"""Small made-up companies that decode their columns in many ways, with the truth of which list decodes which column.

    python benchmarks/code_list_companies.py FOLDER [--companies 8] [--seed 1]

Each company has one habit of naming (plain, camel case, short forms, German, Spanish) and decodes each column by one
habit of `HABITS`: generic lists whose domains are called in full, in short, by table and column, in another language or
by a number; a small list for each code, called after it or not; sheets of a workbook, files, values inside documents of
a document store. Codes are written otherwise in the list (zeros before them, case), lists have codes that nothing uses,
older lists stand nearer. Columns that are no codes (counts, numbers of lines) must have no list. Prints which columns
have their right list, by habit, and how many columns that have none were given one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import openpyxl

sys.path.insert(0, str(Path(__file__).parent))

from copies import only_schemas, place_of

from coset.environment.configuration import load_environment
from coset.state import EvidenceState
from coset.use_cases.comprehend import comprehend

# Entity: its words in English, German, Spanish.
ENTITIES = {
    "loan": ("loan", "ausleihe", "prestamo"),
    "reader": ("reader", "leser", "lector"),
    "title": ("title", "titel", "titulo"),
    "branch": ("branch", "filiale", "sucursal"),
    "work order": ("work order", "auftrag", "orden"),
    "meter": ("meter", "zaehler", "contador"),
    "appointment": ("appointment", "termin", "cita"),
    "invoice": ("invoice", "rechnung", "factura"),
    "vehicle": ("vehicle", "fahrzeug", "vehiculo"),
    "supplier": ("supplier", "lieferant", "proveedor"),
    "course": ("course", "kurs", "curso"),
    "employee": ("employee", "mitarbeiter", "empleado"),
}
# Entity, attribute in English, German, Spanish, labels.
CONCEPTS = [
    ("loan", "status", "status", "estado", "on loan|returned|overdue|lost|claimed"),
    ("loan", "channel", "kanal", "canal", "desk|self service|online|bus"),
    ("loan", "fine reason", "gebuehrengrund", "motivo multa", "late|damaged|lost item|copy fee"),
    ("reader", "category", "kategorie", "categoria", "adult|child|student|senior|institution"),
    ("reader", "block reason", "sperrgrund", "motivo bloqueo", "unpaid fees|address unknown|house ban"),
    ("reader", "language", "sprache", "idioma", "German|English|French|Turkish|Polish"),
    ("title", "media type", "medienart", "tipo soporte", "book|audio disc|film|journal|map|game"),
    ("title", "binding", "einband", "encuadernacion", "hard cover|soft cover|spiral"),
    ("title", "subject group", "sachgruppe", "grupo tematico", "history|medicine|law|fiction|travel|music|sports"),
    ("branch", "region", "region", "region", "north district|south district|harbour|old town"),
    ("branch", "opening model", "oeffnungsmodell", "modelo apertura", "full day|mornings|weekend only"),
    ("work order", "priority", "prioritaet", "prioridad", "low|normal|high|emergency"),
    ("work order", "activity kind", "taetigkeitsart", "clase actividad", "inspection|repair|exchange|reading|removal"),
    ("work order", "completion state", "erledigung", "situacion", "planned|running|done|aborted"),
    ("meter", "device class", "geraeteklasse", "clase aparato", "single phase|three phase|gas small|gas large|water"),
    ("meter", "installation place", "einbauort", "lugar montaje", "cellar|stairwell|flat|outside box"),
    ("meter", "reading method", "ableseart", "metodo lectura", "by eye|by radio|by post card|estimated"),
    ("appointment", "cancellation cause", "absagegrund", "causa anulacion", "illness|no show|weather|moved|twice"),
    ("appointment", "room type", "raumtyp", "tipo sala", "surgery|ward|laboratory|office"),
    ("invoice", "payment terms", "zahlungsbedingung", "condicion pago", "14 days|30 days|at once|60 days"),
    ("invoice", "dunning level", "mahnstufe", "nivel reclamacion", "none yet|reminder|first warning|last one|court"),
    ("invoice", "tax code", "steuerkennzeichen", "codigo impuesto", "full rate|reduced rate|exempt|reverse charge"),
    ("invoice", "document type", "belegart", "tipo documento", "invoice|credit note|down payment|correction"),
    ("vehicle", "fuel", "kraftstoff", "combustible", "diesel|petrol|electric|natural gas|hybrid"),
    ("vehicle", "body", "aufbau", "carroceria", "van|truck|estate car|trailer|tipper"),
    ("vehicle", "ownership", "eigentum", "propiedad", "owned|leased|rented"),
    ("supplier", "rating", "bewertung", "valoracion", "excellent|good|sufficient|poor"),
    ("supplier", "industry", "branche", "sector", "building|printing|cleaning|software|transport|catering"),
    ("supplier", "delivery terms", "lieferbedingung", "condicion entrega", "free house|ex works|carrier|collected"),
    ("course", "level", "niveau", "nivel", "beginner|intermediate|advanced"),
    ("course", "format", "format", "formato", "evening class|weekend class|webinar|excursion"),
    ("course", "funding", "foerderung", "financiacion", "paid by city|paid by state|self paid"),
    ("employee", "contract type", "vertragsart", "tipo contrato", "permanent|fixed term|trainee|agency"),
    ("employee", "absence kind", "abwesenheitsart", "clase ausencia", "holiday|sick leave|training|parental leave"),
    ("employee", "pay group", "entgeltgruppe", "grupo salarial", "assistant|clerk|specialist|manager|director"),
    ("employee", "leaving reason", "austrittsgrund", "motivo baja", "own wish|dismissal|retirement|end of contract"),
]  # fmt: skip
HABITS = (
    "domain in full", "domain in short", "domain by place", "domain in English", "domain by number", "domain opaque",
    "own list", "own list of its column", "own list in short", "sheet", "file", "lookup in JSON", "names of its own",
)  # fmt: skip
GENERIC = HABITS[:6]
NAMING = ("plain", "camel", "short", "german", "spanish", "prefixed", "german short", "capitals")
CODES = ("letters", "initials", "short", "numbers", "padded", "tens", "words", "mixed")
TODAY, LONG_AGO, ENDED, NEVER = "2020-01-01", "2008-01-01", "2019-12-31", "9999-12-31"


@dataclass
class Code:
    """A code column of one entity, with the codes that it holds and the list that decodes it."""

    entity: str
    attribute: tuple[str, str, str]
    labels: list[str]
    codes: list[str]
    habit: str
    column: str = ""
    used: list[str] = field(default_factory=list)


class Naming:
    def __init__(self, style: str, chance: random.Random) -> None:
        self.style, self.chance = style, chance
        self.language = 1 if "german" in style else 2 if style == "spanish" else 0

    def word(self, words: tuple[str, str, str]) -> str:
        return words[self.language]

    def shape(self, text: str) -> str:
        words = text.split()
        if self.style == "camel":
            return words[0] + "".join(word.title() for word in words[1:])
        if self.style in ("short", "german short"):
            return "_".join(shortened(word, 4 if len(words) == 1 else 3) for word in words)
        if self.style == "capitals":
            return "".join(shortened(word, 6 if len(words) == 1 else 4) for word in words).upper()
        return "_".join(words)

    def table(self, entity: str) -> str:
        text = self.word(ENTITIES[entity])
        if self.style == "plain":
            return self.shape(text) + "s"
        return self.shape(text).title() if self.style == "german" else self.shape(text)

    def column(self, entity: str, attribute: tuple[str, str, str]) -> str:
        text = self.word(attribute)
        if self.style == "prefixed":
            return shortened(entity.replace(" ", ""), 2) + "_" + "_".join(shortened(w, 5) for w in text.split())
        kind = self.chance.choice(("", "", " code", " id", " of entity"))
        if kind == " of entity":
            text = f"{self.word(ENTITIES[entity])} {text}"
        elif kind:
            text += {0: kind, 1: " kz" if kind == " code" else " id", 2: " cod" if kind == " code" else " id"}[
                self.language
            ]
        return self.shape(text)


def shortened(word: str, most: int) -> str:
    """The first letter and the consonants that follow."""
    if len(word) <= most:
        return word
    kept = word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
    return kept[:most]


def codes_of(style: str, labels: list[str], chance: random.Random) -> list[str]:
    found: list[str] = []
    for place, label in enumerate(labels):
        code = {
            "letters": "ABCDEFGHIJ"[place],
            "initials": label[0].upper(),
            "short": shortened(label.replace(" ", ""), 3).upper(),
            "numbers": str(place + 1),
            "padded": f"{place + 1:02d}",
            "tens": str((place + 1) * 10),
            "words": label.upper().replace(" ", "_"),
            "mixed": f"{label[0].upper()}{place + 1}",
        }[style]
        while code in found:
            code += chance.choice("XYZ")
        found.append(code)
    return found


class Company:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.naming = Naming(NAMING[seed % len(NAMING)], self.chance)
        self.tables: dict[str, dict[str, tuple[list[str], list[tuple[Any, ...]]]]] = defaultdict(dict)
        self.truth: list[tuple[str, str, str, str]] = []
        self.plain_columns: list[str] = []
        self.documents: list[str] = []
        chosen = self.chance.sample(CONCEPTS, 28)
        generic = self.chance.choice(("domain in full", "domain in short", "domain by place", "domain by number",
                                      "domain in English", "domain opaque"))  # fmt: skip
        others = [each for each in HABITS if each not in GENERIC]
        self.codes: list[Code] = []
        for entity, *attribute, labels in chosen:
            listed = labels.split("|")
            habit = generic if self.chance.random() < 0.5 else self.chance.choice(others)
            codes = codes_of(self.chance.choice(CODES), listed, self.chance)
            code = Code(entity, tuple(attribute), listed, codes, habit)  # type: ignore[arg-type]
            if habit == "names of its own" or len(listed) < 3:
                code.used = codes
            else:
                code.used = self.chance.sample(codes, self.chance.randint(max(2, len(codes) - 2), len(codes)))
            code.column = self.naming.column(entity, code.attribute)
            while any(code.column == each.column and each.entity == entity for each in self.codes):
                code.column += "2"
            self.codes.append(code)
        self.systems = {entity: self.chance.choice(("core", "field")) for entity in ENTITIES}
        self.make()

    def make(self) -> None:
        numbers: dict[str, int] = {}
        for entity in {code.entity for code in self.codes}:
            own = [code for code in self.codes if code.entity == entity]
            name, source = self.naming.table(entity), self.systems[entity]
            noise = [self.naming.shape(each) for each in ("lines", "copies", "sort position", "grade points")]
            columns = [self.naming.shape("id"), *(code.column for code in own), *noise, self.naming.shape("remark")]
            written = {code.column: self.chance.choice(("same", "same", "same", "blank", "lower")) for code in own}
            rows = []
            for row in range(self.chance.randint(150, 600)):
                values: list[Any] = [10_000 + row]
                for code in own:
                    value = self.chance.choice(code.used)
                    if value.isdigit() and len(code.habit) % 2:
                        values.append(int(value))
                    else:
                        how = written[code.column]
                        values.append(value + "  " if how == "blank" else value.lower() if how == "lower" else value)
                chance = self.chance
                values += [chance.randint(1, 4), chance.randint(1, 6) * 10, chance.randint(1, 9), chance.randint(0, 15)]
                rows.append((*values, f"note {self.chance.randint(1, 9999)} of desk"))
            self.tables[source][name] = columns, rows
            self.plain_columns += [f"{source}.{name}.{each}" for each in noise]
            numbers[entity] = len(rows)
        for place, code in enumerate(self.codes):
            self.list_of(code, place)
        self.generic()
        self.write()

    def column_of(self, code: Code) -> str:
        return f"{self.systems[code.entity]}.{self.naming.table(code.entity)}.{code.column}"

    def domain(self, code: Code, place: int) -> str:
        entity, attribute = code.entity, code.attribute
        full = f"{self.naming.word(ENTITIES[entity])} {self.naming.word(attribute)}"
        match code.habit:
            case "domain in full":
                return "_".join(full.split()).upper()
            case "domain in short":
                words = full.split()
                return "".join(shortened(word, 3) for word in words).upper()
            case "domain by place":
                return f"{self.naming.table(entity)}.{code.column}"
            case "domain in English":
                return "".join(word.title() for word in attribute[0].split())
            case "domain by number":
                return str(100 + place * 7)
            case _:
                return f"D{place * 13 % 97:02d}"

    def generic(self) -> None:
        own = [(place, code) for place, code in enumerate(self.codes) if code.habit in GENERIC]
        if not own:
            return
        source = self.chance.choice(("core", "field", "hub"))
        names = self.chance.choice((
            ("code_values", "domain", "code", "lang", "text", "valid_from", "valid_to"),
            ("T_SCHL", "SCHLART", "SCHLWERT", "SPRAS", "KURZTEXT", "GUELTIG_AB", "GUELTIG_BIS"),
            ("ref_lookup", "lkp_set", "lkp_key", "lang_cd", "descr", "start_dt", "end_dt"),
            ("catalogo_valores", "catalogo", "valor", "idioma", "descripcion", "desde", "hasta"),
            ("FND_LOOKUP_VALUES", "LOOKUP_TYPE", "LOOKUP_CODE", "LANGUAGE", "MEANING", "START_DATE_ACTIVE",
             "END_DATE_ACTIVE"),
            ("SYNDOM", "DOMAINID", "VALUE", "LANGCODE", "DESCRIPTION", "EFFDT", "ENDDT"),
            ("slownik", "typ", "kod", "jezyk", "opis", "od_dnia", "do_dnia"),
        ))  # fmt: skip
        table, *columns = names
        languages = self.chance.choice((["EN"], ["EN", "DE"], [None]))
        dated = self.chance.random() < 0.6
        rows: list[tuple[Any, ...]] = []
        titles: list[tuple[str, str]] = []
        pad = self.chance.random() < 0.4
        # Domains that nothing here uses, as every such list has them.
        unused = [
            (f"{shortened(one, 4)}_{shortened(other, 4)}".upper(), [f"{one} {other} {x}" for x in "abcde"])
            for one in ("claim", "tool", "stock") for other in ("state", "kind", "grade", "cause")
        ]  # fmt: skip
        for place, code in own:
            name = self.domain(code, place)
            titles.append((name, f"{self.naming.word(ENTITIES[code.entity])} {self.naming.word(code.attribute)}"))
            for value, label in zip(code.codes, code.labels, strict=True):
                written = value.zfill(3) if pad and value.isdigit() else value
                for language in languages:
                    said = label if language != "DE" else f"{label} ({code.attribute[1]})"
                    if dated and self.chance.random() < 0.2:
                        rows.append((name, written, language, f"{said} old", LONG_AGO, ENDED))
                        rows.append((name, written, language, said, TODAY, NEVER))
                    else:
                        rows.append((name, written, language, said, LONG_AGO, NEVER))
        for name, labels in unused:
            style = self.chance.choice(CODES)
            for value, label in zip(codes_of(style, labels, self.chance), labels, strict=True):
                rows += [(name, value, language, label, LONG_AGO, NEVER) for language in languages]
        kept = [0, 1, *([2] if languages[0] else []), 3, *([4, 5] if dated else [])]
        surrogate = self.chance.random() < 0.3
        written_rows = [tuple(row[i] for i in kept) for row in rows]
        header = [columns[i] for i in kept]
        if surrogate:
            written_rows = [(place + 1, *row) for place, row in enumerate(written_rows)]
            header = [self.naming.shape("row id"), *header]
        self.tables[source][table] = header, written_rows
        if own[0][1].habit in ("domain by number", "domain opaque"):
            if self.chance.random() < 0.5:
                self.tables[source][f"{table}_h"] = [columns[0], "title"], list(titles)
            else:
                places = [
                    (name, self.naming.table(code.entity), code.column, 1 + place % 2)
                    for (name, _), (place, code) in zip(titles, own, strict=True)
                ]
                self.tables[source][f"{table}_use"] = [columns[0], "object_name", "field_name", "release"], places
        for place, code in own:
            self.truth.append((self.column_of(code), f"{source}.{table}", self.domain(code, place), code.habit))
        if dated and self.chance.random() < 0.7:
            # An older state of the list stands beside the data.
            near = "field" if source != "field" else "core"
            old = [row for row in rows if self.chance.random() < 0.8]
            self.tables[near][f"{table}_old"] = [columns[i] for i in kept], [tuple(r[i] for i in kept) for r in old]
            self.documents.append(f"{table}_old is no longer maintained; use {table}.")

    def list_of(self, code: Code, place: int) -> None:
        if code.habit in GENERIC:
            return
        naming, pairs = self.naming, list(zip(code.codes, code.labels, strict=True))
        pairs += [(f"{value}9" if value.isdigit() else f"{value}Q", f"formerly {label}") for value, label in pairs[:1]]
        source = self.systems[code.entity]
        attribute, entity = naming.word(code.attribute), naming.word(ENTITIES[code.entity])
        texts = {
            0: ("name", "description", "label"),
            1: ("bezeichnung", "klartext", "text"),
            2: ("nombre", "texto", "descripcion"),
        }
        text = self.chance.choice(texts[naming.language])
        match code.habit:
            case "own list":
                name, header = naming.shape(f"{attribute} list"), ["code", text]
                if self.chance.random() < 0.4:
                    name, header = naming.shape(attribute) + "s", [naming.shape(f"{attribute} id"), text]
            case "own list of its column":
                name, header = f"T{place:03d}{'ABC'[place % 3]}", [code.column, text[:4]]
            case "own list in short":
                begin = self.chance.choice(("ref_", "lk_", "T_", "zz"))
                name = begin + "".join(shortened(word, 3) for word in f"{entity} {attribute}".split())
                header = [self.chance.choice(("cd", "id", "val")), shortened(text, 3)]
            case "sheet":
                name, header = f"{self.chance.choice(('codes', 'lists'))}|{attribute.title()[:28]}", ["Code", "Meaning"]
                source = "share"
            case "file":
                name, header = f"{attribute.replace(' ', '-')}", ["schluessel", "bedeutung"]
                if naming.language != 1:
                    header = [self.chance.choice(("key", "value", "cod")), text]
                source = "share"
            case "lookup in JSON":
                name, header, source = "lookups", [], "store"
            case _:
                name, header = f"x{place}_{shortened(attribute, 3).strip()}", ["k", "v"]
        if code.habit == "lookup in JSON":
            words = f"{code.entity} {code.attribute[0]}".split()
            kind = words[0] + "".join(word.title() for word in words[1:])
            other = [("toolKind", str(key), {"en": f"tool {key}", "de": f"Werkzeug {key}"}) for key in range(1, 4)]
            rows = self.tables[source].setdefault(name, (["kind", "key", "label"], other))[1]
            rows += [(kind, value, {"en": label, "de": f"{label} de"}) for value, label in pairs]
            self.truth.append((self.column_of(code), f"{source}.{name}", kind, code.habit))
            return
        rows = list(pairs)
        if all(value.isdigit() for value, _ in pairs) and self.chance.random() < 0.5:
            rows = [(int(value), label) for value, label in pairs]  # type: ignore[misc]
        if code.habit not in ("sheet", "file") and self.chance.random() < 0.4:
            header = [*header, self.chance.choice(("active", "sort_no"))]
            rows = [(*row, 1 if header[-1] == "active" else n) for n, row in enumerate(rows)]  # type: ignore[misc]
        while name in self.tables[source]:
            name += "_2"
        self.tables[source][name] = header, rows
        if code.habit in ("own list", "own list in short") and self.chance.random() < 0.25:
            old = [(row[0], f"{row[1]} (2011)" if n == 1 else row[1], *row[2:]) for n, row in enumerate(rows[:-1])]
            self.tables[source][f"{name}_bak"] = header, old
        self.truth.append((self.column_of(code), f"{source}.{name.replace('|', '_')}", "", code.habit))

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "share" / "documents").mkdir(parents=True, exist_ok=True)
        sources = {"share": {"location": "share"}}
        books: dict[str, openpyxl.Workbook] = {}
        for source, tables in self.tables.items():
            if source in ("core", "field", "hub"):
                sources[source] = {"location": f"{source}.duckdb"}
                with duckdb.connect(str(self.folder / f"{source}.duckdb")) as connection:
                    for name, (columns, rows) in tables.items():
                        write_table(connection, name, columns, rows)
            elif source == "store":
                sources[source] = {"location": "store"}
                (self.folder / "store").mkdir(exist_ok=True)
                for name, (columns, rows) in tables.items():
                    lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
                    (self.folder / "store" / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
            else:
                for name, (columns, rows) in tables.items():
                    if "|" in name:
                        book, _, sheet = name.partition("|")
                        page = books.setdefault(book, openpyxl.Workbook()).create_sheet(sheet)
                        for row in (columns, *rows):
                            page.append(list(row))
                    else:
                        lines = [";".join(map(str, row)) for row in (columns, *rows)]
                        (self.folder / "share" / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, book in books.items():
            book.remove(book["Sheet"])
            book.create_sheet("Notes").append(["Ask the data office for changes."])
            book.save(self.folder / "share" / f"{name}.xlsx")
        (self.folder / "share" / "documents" / "handbook.md").write_text(
            "# Handbook\n\n" + "\n\n".join(self.documents) + "\n\nThe canteen is closed on Mondays.\n", encoding="utf-8"
        )
        (self.folder / "coset.yaml").write_text(json.dumps({"sources": sources}), encoding="utf-8")
        (self.folder / "codes.json").write_text(
            json.dumps({"truth": self.truth, "none": self.plain_columns}, indent=1), encoding="utf-8"
        )


def write_table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: list[str], rows: list[tuple[Any, ...]]
) -> None:
    types = [
        "BIGINT" if all(isinstance(row[place], int) for row in rows) else "VARCHAR" for place in range(len(columns))
    ]
    defined = ", ".join(f'"{column}" {kind}' for column, kind in zip(columns, types, strict=True))
    connection.execute(f'CREATE TABLE "{name}" ({defined})')
    connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})', rows)


def measured(folder: Path, listed: bool) -> tuple[list[tuple[str, bool]], int, int]:
    """Of each column its habit and whether its list is right; how many columns without a list have one, of how many."""
    environment = load_environment(folder / "coset.yaml")
    known = json.loads((folder / "codes.json").read_text(encoding="utf-8"))
    with EvidenceState.read(environment.state_folder) as state:
        lists, only = state.code_lists(), only_schemas(state)
    found = []
    for column, table, domain, habit in known["truth"]:
        own = [each for each in lists if place_of(each.column, only) == place_of(column) and each.status == "current"]
        right = (
            bool(own)
            and place_of(own[0].list, only) == place_of(table)
            and (not domain or f"'{domain.lower()}'" in (own[0].condition or "").lower())
        )
        found.append((habit, right))
        if listed and not right:
            shown = "; ".join(f"{each.list} {each.condition or ''} {each.confidence}" for each in own[:2])
            print(folder.name, habit, column, table, domain, "found:", shown or "none", sep="\t")
    none = {place_of(column) for column in known["none"]}
    wrong = {each.column for each in lists if place_of(each.column, only) in none and each.status == "current"}
    if listed:
        for each in lists:
            if each.column in wrong and each.status == "current":
                print(folder.name, "no list", each.column, each.list, each.condition, each.confidence, sep="\t")
    return found, len(wrong), len(none)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--companies", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="a line for each miss")
    parser.add_argument("--again", action="store_true", help="measure what is there")
    options = parser.parse_args()
    by_habit: dict[str, list[bool]] = defaultdict(list)
    wrong = none = 0
    for seed in range(options.seed, options.seed + options.companies):
        folder = options.folder / f"company{seed}"
        if not (folder / "coset.yaml").exists():
            Company(folder, seed)
        if not options.again:
            with contextlib.redirect_stdout(io.StringIO()):
                comprehend(load_environment(folder / "coset.yaml"))
        found, more, of = measured(folder, options.list)
        for habit, right in found:
            by_habit[habit].append(right)
        wrong, none = wrong + more, none + of
        print(f"{folder.name} ({NAMING[seed % len(NAMING)]}): {sum(r for _, r in found)} of {len(found)}")
    for habit, rights in sorted(by_habit.items()):
        print(f"  {habit}: {sum(rights)} of {len(rights)}")
    total = [right for rights in by_habit.values() for right in rights]
    print(f"{sum(total)} of {len(total)} columns have their right list: {sum(total) / len(total):.3f}; "
          f"{wrong} of {none} columns that have none have one")  # fmt: skip


if __name__ == "__main__":
    main()
