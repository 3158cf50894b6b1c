"""The words the demo company is made of: customers' names, countries, plans, articles, what goes wrong.

In: nothing. Out: constants. All names are invented; mail addresses lie under `.example`, which nobody can own.
"""

from __future__ import annotations

from typing import NamedTuple


class Country(NamedTuple):
    code: str
    name: str
    region: str
    ending: str
    """How a company there ends its name."""
    other_ending: str
    """How it is spelled too."""
    share: float
    """Of the customers."""


class Code(NamedTuple):
    code: str
    meaning: str
    share: float
    """How often it occurs."""


FIRST_WORDS = (
    "Alder", "Amber", "Arden", "Birch", "Boreal", "Bramble", "Brook", "Calder", "Cedar", "Cliff", "Cobalt", "Copper",
    "Coral", "Crane", "Delta", "Dover", "Dune", "Eagle", "Elm", "Ember", "Fable", "Falcon", "Fern", "Fjord", "Flint",
    "Garnet", "Glen", "Granite", "Grove", "Harbor", "Hawthorn", "Hazel", "Heron", "Indigo", "Iris", "Ivory", "Jasper",
    "Juniper", "Kestrel", "Lark", "Laurel", "Linden", "Lotus", "Lunar", "Maple", "Marble", "Meadow", "Mistral", "Moor",
    "Nimbus", "Northgate", "Oakley", "Onyx", "Opal", "Orchard", "Osprey", "Otter", "Pearl", "Pine", "Polar", "Quartz",
    "Raven", "Redwood", "Ridge", "River", "Rowan", "Saffron", "Sage", "Sierra", "Silver", "Sparrow", "Spruce",
    "Sterling", "Summit", "Swan", "Tamarack", "Thistle", "Timber", "Topaz", "Tundra", "Umber", "Vale", "Velvet",
    "Vesper", "Violet", "Walnut", "Willow", "Winter", "Wolf", "Zephyr",
)  # fmt: skip
SECOND_WORDS = (
    "Bakeries", "Batteries", "Brewing", "Bridges", "Cables", "Ceramics", "Chemicals", "Clinics", "Cold Storage",
    "Construction", "Dairy", "Energy", "Ferries", "Fisheries", "Foods", "Forestry", "Freight", "Furniture", "Glass",
    "Grain", "Hotels", "Hydraulics", "Instruments", "Insurance", "Irrigation", "Laboratories", "Lighting", "Logistics",
    "Machines", "Marine", "Media", "Mining", "Motors", "Nurseries", "Optics", "Packaging", "Paints", "Paper",
    "Pharmacies", "Plastics", "Printing", "Pumps", "Rail", "Recycling", "Roofing", "Salt", "Seafood", "Security",
    "Shipping", "Steel", "Textiles", "Tiles", "Tools", "Towing", "Toys", "Transport", "Turbines", "Vineyards",
    "Warehousing", "Waterworks", "Windows", "Wool",
)  # fmt: skip
FAMILIES = (
    "Aalto", "Abel", "Berg", "Brandt", "Carver", "Dahl", "Ekman", "Falk", "Fournier", "Gruber", "Hansen", "Hollis",
    "Ibsen", "Jansen", "Keller", "Lambert", "Lund", "Mercer", "Moreau", "Nyman", "Olsen", "Palmer", "Quist", "Rossi",
    "Sandoval", "Tanner", "Ullman", "Vogel", "Weber", "Zeller",
)  # fmt: skip

COUNTRIES = (
    Country("NO", "Norway", "Nordics", "AS", "A.S.", 0.13),
    Country("SE", "Sweden", "Nordics", "AB", "A.B.", 0.13),
    Country("DK", "Denmark", "Nordics", "ApS", "APS", 0.06),
    Country("FI", "Finland", "Nordics", "Oy", "OY", 0.06),
    Country("DE", "Germany", "Central Europe", "GmbH", "G.m.b.H.", 0.16),
    Country("CH", "Switzerland", "Central Europe", "AG", "A.G.", 0.07),
    Country("NL", "Netherlands", "Western Europe", "BV", "B.V.", 0.09),
    Country("FR", "France", "Western Europe", "SAS", "S.A.S.", 0.09),
    Country("GB", "United Kingdom", "Western Europe", "Ltd", "Limited", 0.14),
    Country("US", "United States", "North America", "Inc", "Incorporated", 0.07),
)

PLANS = (("S", "Starter", 49), ("T", "Team", 190), ("B", "Business", 620), ("E", "Enterprise", 2400))
"""Code, name, euros a month."""
SEGMENTS = ("retail", "industry", "transport", "public sector", "health")
NULL_TOKENS = ("N/A", "-")
INVOICE_STATES = (Code("paid", "", 0.87), Code("open", "", 0.08), Code("void", "", 0.05))
ORDER_STATES = (
    Code("D", "Delivered", 0.78),
    Code("S", "Shipped", 0.08),
    Code("X", "Cancelled", 0.09),
    Code("R", "Returned", 0.05),
)

ARTICLE_KINDS = ("Temperature sensor", "Door sensor", "Tracker", "Gateway", "Antenna", "Battery pack", "Mounting kit")
ARTICLE_SIZES = ("mini", "standard", "outdoor", "pro")
ERRORS = (
    Code("E17", "the login page keeps loading", 0.24),
    Code("E31", "the export stops half-way", 0.21),
    Code("E42", "the device goes offline", 0.19),
    Code("E58", "readings arrive hours late", 0.16),
    Code("E73", "the map stays empty", 0.11),
    Code("E421", "the firmware update is refused", 0.09),
)
"""What users see stands for the meaning; shares are of the tickets that report an error."""
CHANNELS = ("email", "phone", "web form", "chat")
AGENTS = ("Ada Lindqvist", "Jonas Beck", "Mira Castel", "Paul Okafor", "Runa Solheim", "Tess Verhoeven")
