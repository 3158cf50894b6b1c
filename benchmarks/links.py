"""Record links against a clean world: pairwise precision and recall, by entity and by pair of tables.

    python benchmarks/links.py ENVIRONMENT TRUTH.duckdb [--misses 10]

The environment must be comprehended; its records are linked, and `linked.*` is read as any user would. Which thing a
record
really is comes from the clean world, by the statement for its table below: measuring only, nothing of it is known to
the
product. A record that the clean world does not know is a thing of its own.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import time
from pathlib import Path

import duckdb

import coset

SURVIVORS = """
WITH RECURSIVE m AS (SELECT PANR, PANR AS p, PAMERG AS g FROM polmf.PARTNR UNION ALL
SELECT m.PANR, q.PANR, q.PAMERG FROM m JOIN polmf.PARTNR q ON m.g = q.PANR WHERE m.g <> 0)
"""
PARTIES = """
SELECT CAST(party.an8 AS VARCHAR), coalesce('company ' || c.tax_no, 'company ' || s.tax_no) FROM party
LEFT JOIN customer c USING (cust_id) LEFT JOIN supplier s USING (supp_id)
UNION ALL SELECT CAST(emp_id AS VARCHAR), 'employee ' || emp_id FROM employee
"""
ITEMS = "SELECT part_no, 'item ' || item_id FROM item UNION ALL SELECT 'id ' || item_id, 'item ' || item_id FROM item"
THINGS: dict[str, dict[str, tuple[str, str | None]]] = {
    # Table: (statement that gives key and what the clean world calls it, look-up in the clean world or None).
    "insurer": {
        "polmf/main/PARTNR": (
            f"{SURVIVORS} SELECT PANR, p FROM m WHERE g = 0", "SELECT partner_no, 'customer ' || cust FROM customer"
        ),
        "dwh/main/DIM_PARTY": (
            "SELECT PARTY_SK, (PARTY_SK - 700000) // 3 FROM dwh.DIM_PARTY", "SELECT cust, 'customer ' || cust FROM "
            "customer"
        ),
        "crm/Account": (
            "SELECT Id, coalesce(regexp_extract(Broker_Code__c, '[0-9]+'), lower(Email__c)) FROM crm.Account",
            "SELECT lower(email), 'customer ' || cust FROM customer UNION ALL "
            "SELECT CAST(broker AS VARCHAR), 'broker ' || broker FROM broker",
        ),
        "crm/Contact": (
            "SELECT c.Id, lower(a.Email__c) FROM crm.Contact c JOIN crm.Account a ON a.Id = c.AccountId",
            "SELECT lower(email), 'customer ' || cust FROM customer WHERE cat LIKE 'P%'",
        ),
        "compta/tiers": (
            f"{SURVIVORS} SELECT t.code_tiers, coalesce(CAST(s.p AS VARCHAR), CASE WHEN t.code_tiers LIKE '467%' THEN "
            "ltrim(substr(t.code_tiers, 4), '0') END) FROM compta.tiers t LEFT JOIN (SELECT PANR, p FROM m WHERE g "
            "= 0) s "
            "ON t.code_tiers LIKE '411%' AND ltrim(substr(t.code_tiers, 4), '0') = CAST(s.PANR AS VARCHAR)",
            "SELECT CAST(partner_no AS VARCHAR), 'customer ' || cust FROM customer UNION ALL "
            "SELECT CAST(broker AS VARCHAR), 'broker ' || broker FROM broker",
        ),
        "claims/clm/pty": (
            f"{SURVIVORS} SELECT q.pty_id, coalesce(CAST(s.p AS VARCHAR), lower(q.email)) FROM claims.clm.pty q "
            f"LEFT JOIN "
            "(SELECT PANR, p FROM m WHERE g = 0) s ON ltrim(substr(q.ext_ref, 2), '0') = CAST(s.PANR AS VARCHAR)",
            "SELECT CAST(partner_no AS VARCHAR), 'customer ' || cust FROM customer UNION ALL "
            "SELECT lower(email), 'customer ' || cust FROM customer",
        ),
        "polmf/main/AGTMST": ("SELECT AGNR, AGNR FROM polmf.AGTMST", "SELECT broker, 'broker ' || broker FROM broker"),
        "portal/brokerportal/agencies": (
            "SELECT _id, regexp_extract(agencyCode, '[0-9]+') FROM portal.brokerportal.agencies",
            "SELECT broker, 'broker ' || broker FROM broker",
        ),
        "share/hr_staff_list": ("SELECT staff_no, staff_no FROM share.hr_staff_list", "SELECT n, 'staff ' || n FROM "
        "staff"),
        "claims/clm/usr": (
            "SELECT usr_id, ltrim(substr(stf_no, 2), '0') FROM claims.clm.usr", "SELECT n, 'staff ' || n FROM staff"
        ),
        "crm/User": (
            "SELECT Id, ltrim(regexp_replace(Staff_No__c, '[^0-9]', '', 'g'), '0') FROM crm.User",
            "SELECT n, 'staff ' || n FROM staff",
        ),
    },
    "manufacturer": {
        "erp/adr/f0101": ("SELECT aban8, aban8 FROM erp.adr.f0101", PARTIES),
        "erp/pur/f0401": ("SELECT a6an8, a6an8 FROM erp.pur.f0401", PARTIES),
        "erp/sales/f03012": ("SELECT aian8, aian8 FROM erp.sales.f03012", PARTIES),
        "dwh/main/DIM_CUST": ("SELECT CUST_NO, ltrim(substr(CUST_NO, 2), '0') FROM dwh.DIM_CUST", PARTIES),
        "dwh/main/DIM_SUPPLIER": ("SELECT SUPP_KEY, ltrim(substr(SUPP_NO, 2), '0') FROM dwh.DIM_SUPPLIER", PARTIES),
        "dwh/main/DIM_EMP": ("SELECT EMP_KEY, ltrim(substr(EMP_NO, 2), '0') FROM dwh.DIM_EMP", PARTIES),
        "mes/main/operatori": (
            "SELECT matricola, ltrim(regexp_replace(matricola, '[^0-9]', '', 'g'), '0') FROM mes.operatori", PARTIES
        ),
        "fsa/fieldservice/accounts": (
            "SELECT a._id, coalesce('tax ' || ltrim(regexp_replace(min(a.vat.number), '[^0-9]', '', 'g'), '0'), "
            "'unit ' || min(u.serialNo)) FROM fsa.fieldservice.accounts a LEFT JOIN fsa.fieldservice.installedUnits u "
            "ON u.accountId = a._id GROUP BY a._id",
            "SELECT 'unit ' || serial, 'company ' || tax_no FROM installed JOIN customer USING (cust_id) UNION ALL "
            "SELECT 'tax ' || ltrim(regexp_replace(tax_no, '[^0-9]', '', 'g'), '0'), 'company ' || tax_no FROM "
            "customer",
        ),
        "erp/inv/f4101": (
            "SELECT imitm, right(regexp_replace(imlitm, '[^0-9]', '', 'g'), 8) FROM erp.inv.f4101", ITEMS
        ),
        "pdm/tItm": ("SELECT lngItmID, regexp_replace(strItmNo, '[^0-9]', '', 'g') FROM pdm.tItm", ITEMS),
        "dwh/main/DIM_PART": ("SELECT PART_KEY, 'id ' || (PART_KEY - 1000) FROM dwh.DIM_PART", ITEMS),
    },
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--misses", type=int, default=0, help="so many wrong and missed pairs are printed")
    options = parser.parse_args()
    company = options.truth.resolve().parents[1].name
    with coset.open(options.environment) as environment:
        started = time.process_time()
        entities = environment.links()
        print(f"linked in {time.process_time() - started:.1f} CPU s: {', '.join(each.entity for each in entities)}")
        truth = things(environment, options.truth, THINGS[company])
        found = {}
        for each in entities:
            for record in environment.links(each.entity).records:
                found[record.table, record.key] = (each.entity, record.cluster)
    measured(truth, found, options.misses)


def things(environment, truth: Path, statements: dict[str, tuple[str, str | None]]) -> dict[tuple[str, str], str]:
    """What each record of the tables above really is."""
    known = {}
    with duckdb.connect(str(truth), read_only=True) as clean:
        for table, (statement, lookup) in statements.items():
            names = {str(key): thing for key, thing in clean.execute(lookup).fetchall()} if lookup else {}
            for key, value in environment.sql(statement, max_rows=1_000_000).rows:
                own = f"{table} {key}"
                known[table, str(key)] = names.get(str(value), own) if lookup else str(value)
    return known


def measured(truth, found, misses: int) -> None:
    true_of = collections.defaultdict(list)
    found_of = collections.defaultdict(list)
    for record, thing in truth.items():
        true_of[thing].append(record)
        if record in found:
            found_of[found[record]].append(record)
    counts = collections.Counter()
    wrong, missed = [], []
    for records in found_of.values():
        for one, other in itertools.combinations(sorted(records), 2):
            right = truth[one] == truth[other]
            counts[one[0], other[0], "right" if right else "wrong"] += 1
            if not right:
                wrong.append((one, other))
    for records in true_of.values():
        for one, other in itertools.combinations(sorted(records), 2):
            if one not in found or found.get(one) != found.get(other):
                counts[one[0], other[0], "missed"] += 1
                missed.append((one, other))
    for pair in sorted({key[:2] for key in counts}):
        right, bad, lost = (counts[*pair, what] for what in ("right", "wrong", "missed"))
        print(f"{pair[0]:32} {pair[1]:32} right {right:6} wrong {bad:5} missed {lost:5}")
    right, bad, lost = (sum(n for key, n in counts.items() if key[2] == what) for what in ("right", "wrong", "missed"))
    print(f"pairs: precision {right / max(1, right + bad):.4f}, recall {right / max(1, right + lost):.4f} "
          f"({right:,} right, {bad:,} wrong, {lost:,} missed)")  # fmt: skip
    for title, pairs in (("wrong", wrong), ("missed", missed)):
        for one, other in pairs[:misses]:
            print(title, one, other, truth[one], truth[other])


if __name__ == "__main__":
    main()
