"""The identities of a real environment, from `coset comprehend` to teaching, with the weights that ship."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from coset.errors import CosetError
from coset.identities.certificates import stability_radius
from coset.identities.inventory import COORDINATES
from coset.identities.model import load_model
from coset.identities.prototypes import assign, distances
from coset.identities.store import IdentityStore
from coset.state import EvidenceState
from coset.surfaces.command_line import coset

BUYERS = 60


def run(folder: Path, *arguments: str, code: int = 0):
    result = CliRunner().invoke(coset, [*arguments, "-e", str(folder)], standalone_mode=True)
    if code == 0 and result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def as_json(folder: Path, *arguments: str):
    return json.loads(run(folder, *arguments, "--json").stdout)


def write_environment(folder: Path) -> None:
    """Two departments: orders in SQLite under buyer_id, subscriptions in CSV under customer_id."""
    shop = sqlite3.connect(folder / "shop.db")
    shop.execute(
        "CREATE TABLE purchases (purchase_id INTEGER PRIMARY KEY, buyer_id TEXT, ordered_on TEXT, total REAL, status TEXT)"
    )
    shop.execute("CREATE TABLE buyers (buyer_id TEXT PRIMARY KEY, full_name TEXT, email TEXT, city TEXT)")
    for number in range(BUYERS):
        shop.execute("INSERT INTO buyers VALUES (?, ?, ?, ?)",
                     (f"C{number:04}", f"Person {chr(65 + number % 26)}", f"p{number}@example.org", ["Oslo", "Bergen"][number % 2]))  # fmt: skip
    for number in range(4 * BUYERS):
        shop.execute("INSERT INTO purchases VALUES (?, ?, ?, ?, ?)",
                     (number, f"C{number % BUYERS:04}", f"2026-0{1 + number % 9}-11", 10.5 + number, ["open", "paid"][number % 2]))  # fmt: skip
    shop.commit()
    shop.close()
    (folder / "stream").mkdir()
    with (folder / "stream" / "subscriptions.csv").open("w") as out:
        out.write("subscription_id,customer_id,plan,started_at,is_active,monthly_fee\n")
        for number in range(2 * BUYERS):
            out.write(
                f"{number + 7000},C{number % BUYERS:04},{['basic', 'plus'][number % 2]},2025-03-0{1 + number % 9},{'true' if number % 3 else 'false'},{4.99 + number % 3}\n"
            )
    with (folder / "stream" / "sensors.csv").open("w") as out:
        out.write("device,zq1,zq2,taken\n")
        for number in range(80):
            out.write(
                f"D{number % 7},{20 + number % 5}.5,{30 + number % 9}.25,2026-02-1{number % 9} 10:0{number % 6}:00\n"
            )
    (folder / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n  stream: {location: stream}\n")


@pytest.fixture(scope="module")
def comprehended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    write_environment(folder)
    assert run(folder, "comprehend").exit_code == 0
    return folder


@pytest.fixture
def environment(comprehended: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    folder = tmp_path / "copy"
    shutil.copytree(comprehended, folder)
    return folder


def roles(folder: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with EvidenceState.read(folder / ".coset") as state:
        for coordinate in COORDINATES:
            for reference, row in IdentityStore(state).rows(coordinate).items():
                found.setdefault(reference, {})[coordinate] = row.identity
    return found


def test_departments_that_name_the_customer_differently_share_the_role(comprehended: Path) -> None:
    found = roles(comprehended)
    for reference in (
        "shop/main/purchases.buyer_id",
        "shop/main/buyers.buyer_id",
        "stream/subscriptions.csv.customer_id",
    ):
        match = [
            role
            for name, role in found.items()
            if name.replace("main/", "").replace(".csv", "") == reference.replace("main/", "").replace(".csv", "")
        ]
        assert match == [{"entity": "customer", "attribute": "identifier"}], (reference, found)


def test_identities_lists_the_shared_role_with_its_fiber_first(comprehended: Path) -> None:
    listed = as_json(comprehended, "identities")["identities"]
    assert listed[0]["sources"] == 2
    shared = next(row for row in listed if row["role"] == "customer.identifier")
    assert shared["sources"] == 2 and len(shared["fiber"]) >= 3


def test_every_profile_is_kept_whole_and_its_certificate_is_true_of_what_is_stored(comprehended: Path) -> None:
    with EvidenceState.read(comprehended / ".coset") as state:
        store = IdentityStore(state)
        for coordinate in COORDINATES:
            rows = list(store.rows(coordinate).values())
            ids, bank = store.banks(coordinate)[rows[0].bank]
            distance = distances(np.stack([row.embedding for row in rows]), bank)
            assignment = assign(distance)
            assert [ids[number] for number in assignment] == [row.identity for row in rows]
            stored = state.rows("SELECT radius FROM memberships WHERE coordinate = $1 ORDER BY reference", [coordinate])
            assert np.allclose(stability_radius(distance, assignment, bank), [row["radius"] for row in stored])
            profiles = np.stack([row.profile for row in rows])
            assert np.allclose(profiles.sum(axis=1), 1) and (profiles > 0).all()


def test_show_explains_a_role_with_reasons_runner_up_and_radius(comprehended: Path) -> None:
    shown = run(comprehended, "show", "purchases.buyer_id").output
    for words in ("role: entity", "customer", "runner-up", "stability radius", "support", "it refers to"):
        assert words in shown


def test_two_runs_give_the_same_state(comprehended: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    write_environment(again)
    run(again, "comprehend")
    with EvidenceState.read(again / ".coset") as one, EvidenceState.read(comprehended / ".coset") as two:
        query = "SELECT reference, coordinate, identity, profile FROM memberships ORDER BY 1, 2"
        assert one.rows(query) == two.rows(query)


def test_a_refresh_looks_again_only_where_the_drift_bound_does_not_reach(environment: Path) -> None:
    before = roles(environment)
    nothing = as_json(environment, "comprehend")["roles"]
    assert nothing["examined"] == 0 and nothing["encoded"] == 0 and nothing["certified"] == nothing["objects"]
    with (environment / "stream" / "sensors.csv").open("w") as out:
        out.write("device,zq1,taken,email\n")
        out.writelines(f"D{number % 7},{number}.5,2026-02-11,user{number}@example.org\n" for number in range(80))
    summary = as_json(environment, "comprehend")["roles"]
    assert 0 < summary["encoded"] < summary["objects"]
    assert summary["certified"] > 0
    after = roles(environment)
    changed = {(change["reference"], change["coordinate"]) for change in summary["changes"]}
    for reference, role in before.items():
        for coordinate, identity in role.items():
            if reference in after and (reference, coordinate) not in changed:
                assert after[reference][coordinate] == identity


def test_teaching_one_column_moves_its_look_alike_and_can_be_taken_back(environment: Path) -> None:
    before = roles(environment)
    one = next(reference for reference in before if reference.endswith(".zq1"))
    other = next(reference for reference in before if reference.endswith(".zq2"))
    assert before[one]["attribute"] != "temperature"
    told = as_json(environment, "teach", one, ".temperature")
    assert told["statements"][0]["identity"] == "temperature"
    after = roles(environment)
    assert after[one]["attribute"] == "temperature"
    assert after[other]["attribute"] == "temperature"
    assert {change["reference"] for change in told["changes"]} >= {one, other}
    kept = sum(before[name] == after[name] for name in before)
    assert kept >= len(before) - 4
    run(environment, "comprehend", "--everything")
    assert roles(environment)[one]["attribute"] == "temperature"
    run(environment, "teach", "--revoke", str(told["statements"][0]["number"]))
    assert roles(environment) == before
    assert as_json(environment, "teach", "--list")["statements"] == []


def test_teaching_not_excludes_the_identity_for_good(environment: Path) -> None:
    reference = next(name for name in roles(environment) if name.endswith("purchases.status"))
    was = roles(environment)[reference]["attribute"]
    run(environment, "teach", reference, "--not", f".{was}")
    assert roles(environment)[reference]["attribute"] != was
    run(environment, "comprehend")
    assert roles(environment)[reference]["attribute"] != was


def test_an_identity_of_the_users_own_can_be_taught(environment: Path) -> None:
    (environment / "roles.yaml").write_text(
        'entities:\n  - {id: probe, name: Probe, parent: device, meaning: "a thing in the field", examples: [probe]}\n'
    )
    text = (environment / "coset.yaml").read_text()
    (environment / "coset.yaml").write_text("identities: roles.yaml\n" + text)
    assert run(environment, "comprehend").exit_code == 0
    reference = next(name for name in roles(environment) if name.endswith(".device"))
    run(environment, "teach", reference, "probe.")
    assert roles(environment)[reference]["entity"] == "probe"
    assert "statement" in run(environment, "show", reference).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("teach", "purchases.buyerid", "customer.identifier"), "did you mean"),
        (("teach", "purchases.buyer_id", "custmer.identifier"), "customer"),
        (("teach", "purchases.buyer_id", "a.b.c"), "entity.attribute"),
        (("teach", "--revoke", "99"), "no statement 99"),
        (("teach", "purchases.buyer_id"), "NAME and a ROLE"),
        (("identities", "planet.identifier"), "is no entity"),
        (("map", "-o", "x.bmp"), ".html"),
    ],
)
def test_mistakes_are_named(comprehended: Path, arguments: tuple[str, ...], words: str) -> None:
    result = run(comprehended, *arguments, code=2)
    assert isinstance(result.exception, CosetError)
    assert words in str(result.exception)


def test_labelers_table_has_coverage_overlap_conflict_and_accuracy(comprehended: Path) -> None:
    rows = as_json(comprehended, "labelers")["labelers"]
    key = next(row for row in rows if row["labeler"] == "key")
    assert key["conflict"] + key["coverage"] > 0 and key["overlap"] <= key["coverage"] <= 1
    assert {row["says"] for row in rows} == {"for", "against"}


def test_the_map_is_one_page_that_shows_names_as_text(environment: Path) -> None:
    (environment / "stream" / "odd.csv").write_text("<script>alert(1)</script>,b\n1,2\n3,4\n")
    run(environment, "comprehend")
    out = environment / "map.html"
    assert run(environment, "map", "-o", str(out)).exit_code == 0
    page = out.read_text()
    assert "<script>alert" not in page and "\\u003cscript>alert" in page
    assert "http://" not in page and "https://" not in page


def test_weights_of_another_version_are_refused(tmp_path: Path) -> None:
    import coset.identities.model as module

    shipped = Path(module.__file__).parent / "weights"
    for name in (module.MODEL_FILE, module.TENSOR_FILE):
        shutil.copy(shipped / name, tmp_path / name)
    description = json.loads((tmp_path / module.MODEL_FILE).read_text())
    (tmp_path / module.MODEL_FILE).write_text(json.dumps({**description, "version": 99}))
    with pytest.raises(CosetError, match="version 99"):
        load_model(folder=tmp_path)
    (tmp_path / module.MODEL_FILE).write_text("{")
    with pytest.raises(CosetError, match="cannot be read"):
        load_model(None, tmp_path, 1)


def test_schema_only_sources_show_no_value_to_the_features(tmp_path: Path) -> None:
    from coset.identities.features import features_of
    from coset.readings.observe import observe

    write_environment(tmp_path)
    (tmp_path / "coset.yaml").write_text("sources:\n  shop: {location: shop.db, schema_only: true}\n")
    run(tmp_path, "comprehend")
    with EvidenceState.read(tmp_path / ".coset") as state:
        texts = features_of(observe(state)).texts
    shown = " ".join(f"{each.own} {each.table} {each.referred}" for each in texts).lower()
    assert texts and "oslo" not in shown and "c0001" not in shown
