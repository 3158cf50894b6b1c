"""The code of docs/extending.md runs: a kind of source, a labeler, identities and a check, as the page has them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from coset.answering.checks import Proposal, run_checks
from coset.answering.checks.run import CHECKS
from coset.environment.configuration import load_environment
from coset.environment.source import SourceSettings
from coset.environment.sources import KINDS
from coset.errors import CosetError
from coset.identities import realise
from coset.identities.inventory import load_inventory
from coset.identities.model import load_model
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, comprehend

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = {
    first: text
    for text in re.findall(r"^```(?:python|yaml)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    if (first := text.splitlines()[0].removeprefix("# "))
}


def module(path: str, name: str) -> ModuleType:
    """The block that the page puts at `path`, as a module of that name."""
    made = ModuleType(name)
    made.__file__ = path
    exec(compile(BLOCKS[path], path, "exec"), made.__dict__)
    return made


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an INI file, and the page's kind of source in its place."""
    name = "coset.environment.sources.ini_file"
    monkeypatch.setitem(sys.modules, name, module("src/coset/environment/sources/ini_file.py", name))
    monkeypatch.setitem(KINDS, "ini", "ini_file:IniFile")
    (tmp_path / "app.ini").write_text("[server]\nport = 8080\nhost = here\n[client]\nretries = 3\nquiet\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  app: {location: app.ini, kind: ini}\n")
    return tmp_path


def test_the_kind_of_source_is_read_and_renewed(settings: Path):
    with QuerySession(load_environment(settings)) as session:
        asked = "SELECT section, count(*), count(value) FROM app.settings GROUP BY ALL ORDER BY section"
        assert session.sql(asked).rows() == [("client", 2, 1), ("server", 2, 2)]
        (settings / "app.ini").write_text("[server]\nport = 9090\n")
        assert session.sql("SELECT value FROM app.settings").rows() == [("9090",)]


def test_the_kind_of_source_passes_the_kit_as_the_page_calls_it(settings: Path):
    kind = sys.modules["coset.environment.sources.ini_file"].IniFile
    (settings / "wrong.ini").write_text("port = 8080\n")
    names = {
        "IniFile": kind,
        "settings": SourceSettings("app", str(settings / "app.ini"), "ini"),
        "wrong_settings": SourceSettings("app", str(settings / "wrong.ini"), "ini"),
    }
    exec(compile(BLOCKS["tests/environment/test_ini_file.py"], "page", "exec"), names)
    assert names["report"].rows == 4


def test_the_kind_of_source_says_what_is_wrong(settings: Path):
    (settings / "app.ini").write_text("port = 8080\n")
    with QuerySession(load_environment(settings)) as session, pytest.raises(CosetError, match="is no INI file"):
        session.sql("SELECT 1 FROM app.settings")


def test_the_labeler_speaks_where_it_should_and_nowhere_else(monkeypatch: pytest.MonkeyPatch):
    added = module("src/coset/identities/labelers/values.py", "added_labeler")
    monkeypatch.setattr(realise, "LABELERS", (*realise.LABELERS, added.BANK_ACCOUNTS))
    ibans = ("DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "NO9386011117947")
    columns = (
        ObservedColumn("acct", samples=ibans),
        ObservedColumn("code", samples=("DE88 3704 0044 0532 0130 00", *ibans)),
    )
    seen = ObservedEnvironment("bank", (ObservedTable("payments", columns),))
    model = load_model()
    table, accounts, broken = realise.all_signals(seen, model)
    said = [signal for signal in accounts if signal.labeler == "bank accounts"]
    assert [signal.supports for signal in said] == [True, False]
    assert [model.inventory.of("attribute")[number].id for number in said[0].identities] == ["identifier"]
    assert not [signal for signal in (*table, *broken) if signal.labeler == "bank accounts"], "one is no IBAN"


def test_identities_of_ones_own_have_a_prior(tmp_path: Path):
    (tmp_path / "roles.yaml").write_text(BLOCKS["roles.yaml"])
    (tmp_path / "coset.yaml").write_text(BLOCKS["coset.yaml"])
    environment = load_environment(tmp_path)
    assert environment.identities_file == tmp_path / "roles.yaml"
    inventory, shipped = load_inventory(environment.identities_file), load_inventory()
    assert set(inventory.ids("entity")) - set(shipped.ids("entity")) == {"loyalty_member"}
    assert inventory.role("loyalty_member.bonus_points").keys() == {"entity", "attribute"}
    model = load_model(environment.identities_file)
    assert len(model.coordinates["entity"].prior.centres) == len(shipped.ids("entity")) + 1


def outcome(session: QuerySession, state: EvidenceState, sql: str) -> tuple[str, str]:
    [result] = run_checks(Proposal("?", (sql,)), session, state, only={"placeholder dates"})
    return result.outcome, result.detail


def test_the_check_doubts_placeholders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    added = module("src/coset/answering/checks/placeholder_dates.py", "placeholder_dates")
    monkeypatch.setitem(CHECKS, added.NAME, added.check)
    (tmp_path / "jobs.csv").write_text("job,ends\n1,2024-05-01\n2,9999-12-31\n3,2023-01-31\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  hr: {location: jobs.csv}\n")
    environment = load_environment(tmp_path)
    comprehend(environment, stages=EVIDENCE)
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        doubted = outcome(session, state, "SELECT max(ends) FROM hr.jobs")
        assert doubted[0] == "doubt" and "9999-12-31 may stand for" in doubted[1]
        assert outcome(session, state, "SELECT min(ends) FROM hr.jobs")[0] == "passed"
        assert outcome(session, state, "SELECT count(*) FROM hr.jobs")[0] == "not applicable"


def test_every_block_of_code_on_the_page_is_run():
    here = Path(__file__).read_text(encoding="utf-8")
    assert len(BLOCKS) == 6 and all(f'"{path}"' in here for path in BLOCKS)
