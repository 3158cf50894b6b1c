"""A file of a semantic model, by what stands in it.

In: a path. Out: the `SemanticModel`, or None for a file of another kind. Nothing in a file is run, and YAML makes
plain values alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from coset.errors import UserError
from coset.semantics.model import SemanticModel, from_json

ENDINGS = (".json", ".yaml", ".yml", ".lkml")


def read_semantic_model(path: Path) -> SemanticModel | None:
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".lkml":
        from coset.semantics.lookml import from_lookml

        return from_lookml(text)
    try:
        document = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error}") from error
    except yaml.YAMLError as error:
        raise UserError(f"not YAML: {' '.join(str(error).split())}") from error
    return _of(document, text)


def _of(document: Any, text: str) -> SemanticModel | None:
    from coset.semantics.catalogues import from_datahub, from_openmetadata, is_datahub, is_openmetadata

    if is_datahub(document):
        return from_datahub(document)
    if is_openmetadata(document):
        return from_openmetadata(document)
    if not isinstance(document, Mapping):
        return None
    if isinstance(document.get("semantic_model"), list):
        from coset.semantics.osi import from_osi

        return from_osi(document)
    if "nodes" in document:
        from coset.semantics.dbt import from_manifest

        return from_manifest(document)
    if isinstance(document.get("cubes"), list):
        from coset.semantics.cube import from_cube

        return from_cube(document)
    if {"datasets", "relationships", "format"} <= set(document):
        return from_json(text)
    if {"sources", "models", "semantic_models", "metrics", "seeds", "snapshots"} & set(document):
        from coset.semantics.dbt import from_dbt_yaml

        return from_dbt_yaml(document)
    return None
