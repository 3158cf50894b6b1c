"""The resources: the inventory of roles, each source's summary, and any object by its reference.

In: an address. Out: text. An address that leads nowhere is told with what would lead somewhere.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp_types import Resource, ResourceTemplate

from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.identities.explain import realised_identities
from coset.identities.inventory import COORDINATES, load_inventory
from coset.routing.objects.data_as_text import one_line
from coset.use_cases.documents import directory_of, document_of, documents_of

INVENTORY = "coset://inventory"
DIRECTORY = "coset://directory"
DOCUMENT = "coset://document/"
SOURCE = "coset://source/"
OBJECT = "coset://object/"
BUDGET = 6_000
MOST_DOCUMENTS = 100
SHOWN_OBJECTS = 6
TEXT = "text/plain"


def resources(environment: Environment) -> list[Resource]:
    """The inventory and one summary for each source of `coset.yaml`."""
    listed = [
        Resource(uri=f"{SOURCE}{quote(name)}", name=name, title=f"Source {name}", mime_type=TEXT,
                 description=f"What is known of the source {name}: its tables, notes and problems.")
        for name in environment.configuration.names
    ]  # fmt: skip
    inventory = Resource(
        uri=INVENTORY, name="inventory", title="Roles", mime_type=TEXT,
        description="The roles that columns can play, and which columns play them here.",
    )  # fmt: skip
    directory = Resource(
        uri=DIRECTORY, name="directory", title="Directory", mime_type=TEXT,
        description="What was written of the data, general rules, and a line for each table.",
    )  # fmt: skip
    documents = [
        Resource(uri=f"{DOCUMENT}{quote(name)}", name=name, title=name, mime_type=TEXT, description="A document.")
        for name in _documents(environment)
    ]
    return [directory, inventory, *listed, *documents]


def templates() -> list[ResourceTemplate]:
    return [
        ResourceTemplate(
            uri_template=f"{OBJECT}{{+reference}}", name="object", title="Object by reference", mime_type=TEXT,
            description="All that is known of a table, column, join or document, by a reference that a view shows.",
        )
    ]  # fmt: skip


def read(environment: Environment, address: str) -> str:
    """The text behind an address. Raises a `CosetError`."""
    if address == INVENTORY:
        return _inventory(environment)
    if address == DIRECTORY:
        return directory_of(environment.workspace)
    if address.startswith(DOCUMENT):
        return document_of(environment.workspace, unquote(address[len(DOCUMENT) :]))
    for prefix in (SOURCE, OBJECT):
        if address.startswith(prefix) and len(address) > len(prefix):
            return environment.recover(unquote(address[len(prefix) :]), BUDGET).text
    raise UserError(
        f"there is no resource '{one_line(address, 120)}': there are {DIRECTORY}, {INVENTORY}, {SOURCE}NAME, "
        f"{DOCUMENT}NAME and {OBJECT}REFERENCE"
    )


def _documents(environment: Environment) -> tuple[str, ...]:
    """The documents that were read; none before comprehension, so that the server can still be listed."""
    try:
        return tuple(each.name for each in documents_of(environment.workspace))[:MOST_DOCUMENTS]
    except CosetError:
        return ()


def _inventory(environment: Environment) -> str:
    inventory = load_inventory(environment.configuration.identities_file)
    with environment.reading() as state:
        realised = realised_identities(state, inventory)
    lines = ["ROLES PLAYED HERE (entity.attribute: objects in sources, the surest first)"]
    for role in realised:
        shown = ", ".join(one_line(reference, 120) for reference in role["fiber"][:SHOWN_OBJECTS])
        more = f" and {role['objects'] - SHOWN_OBJECTS} more" if role["objects"] > SHOWN_OBJECTS else ""
        lines.append(f"  {role['role']}: {role['objects']} in {role['sources']}: {shown}{more}")
    for coordinate in COORDINATES:
        lines.append("ENTITIES" if coordinate == "entity" else "ATTRIBUTES")
        lines += [f"  {identity.id}: {identity.meaning}" for identity in inventory.of(coordinate)]
    return "\n".join(lines) + "\n"
