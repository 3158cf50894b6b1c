"""Secrets are referred to, filled in late, and never shown."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from coset.environment.configuration import parse_environment
from coset.environment.secrets import fill, passwords_of, read_secrets_file, without_password, write_secret
from coset.errors import UserError


def test_the_environment_wins_over_the_secrets_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRM_PASSWORD", "from-environment")
    assert fill("x-${CRM_PASSWORD}", {"CRM_PASSWORD": "from-file"}).text == "x-from-environment"
    monkeypatch.delenv("CRM_PASSWORD")
    assert fill("x-${CRM_PASSWORD}", {"CRM_PASSWORD": "from-file"}).text == "x-from-file"


def test_a_password_with_url_characters_works_inside_a_url():
    filled = fill("postgresql://reader:${P}@host/db", {"P": "p@ss/w:rd"})
    assert filled.text == "postgresql://reader:p%40ss%2Fw%3Ard@host/db"
    assert set(filled.secrets) == {"p@ss/w:rd", "p%40ss%2Fw%3Ard"}


def test_a_whole_url_may_be_a_secret():
    filled = fill("${URL}", {"URL": "mysql://u:hidden@h/d"})
    assert filled.text == "mysql://u:hidden@h/d"
    assert "hidden" in filled.secrets


def test_every_missing_name_is_told():
    with pytest.raises(UserError, match="A and B are not set"):
        fill("${B}:${A}", {})


def test_the_secrets_file_is_private_and_keeps_other_lines(tmp_path: Path):
    path = tmp_path / ".coset" / "secrets.env"
    write_secret(path, "ONE", "1")
    write_secret(path, "TWO", "a=b")
    write_secret(path, "ONE", "uno")
    assert read_secrets_file(path) == {"ONE": "uno", "TWO": "a=b"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_broken_line_of_the_secrets_file_is_named_without_its_content(tmp_path: Path):
    path = tmp_path / "secrets.env"
    path.write_text("# fine\nGOOD=1\nhunter2\n")
    path.chmod(0o600)
    with pytest.raises(UserError) as error:
        read_secrets_file(path)
    assert "line 3" in str(error.value) and "hunter2" not in str(error.value)


def test_passwords_are_found_and_taken_out():
    assert passwords_of("postgresql://u:p%40ss@h/d") == ("p%40ss", "p@ss")
    assert passwords_of("postgresql://h/d?password=abc&x=1") == ("abc",)
    assert passwords_of("postgresql://u@h/d") == ()
    assert passwords_of("/a/path") == ()
    assert without_password("postgresql://u:pw@h/d", "${P}") == "postgresql://u:${P}@h/d"
    assert without_password("postgresql://h/d?password=abc&x=1", "${P}") == "postgresql://h/d?password=${P}&x=1"


def test_settings_hide_secrets_in_text_and_repr(tmp_path: Path):
    write_secret(tmp_path / ".coset" / "secrets.env", "P", "s3cr3t")
    environment = parse_environment("sources:\n  a: {location: 'mysql://u:${P}@h/d'}\n", tmp_path / "coset.yaml")
    settings = environment.settings("a")
    assert settings.redact(f"cannot connect to {settings.location}") == "cannot connect to mysql://u:***@h/d"
    assert "s3cr3t" not in repr(settings)
