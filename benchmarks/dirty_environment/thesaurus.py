"""A small built-in thesaurus for names of tables and columns, and the abbreviations that databases use."""

from __future__ import annotations

SYNONYMS: dict[str, tuple[str, ...]] = {
    "customer": ("client", "buyer", "account"), "customers": ("clients", "buyers", "accounts"),
    "client": ("customer",), "product": ("item", "article"), "products": ("items", "articles", "goods"),
    "order": ("purchase", "sale"), "orders": ("purchases", "sales"), "line": ("position", "item"),
    "lines": ("positions", "items"), "employee": ("staff", "worker"), "employees": ("staff", "personnel"),
    "ticket": ("case", "issue"), "tickets": ("cases", "issues", "requests"), "payment": ("receipt", "settlement"),
    "payments": ("receipts", "settlements"), "delivery": ("shipment",), "deliveries": ("shipments", "consignments"),
    "warehouse": ("depot", "storehouse"), "warehouses": ("depots", "sites"), "shift": ("duty",), "shifts": ("duties",),
    "stock": ("inventory",), "levels": ("balances",), "id": ("key", "number", "ref"), "code": ("key", "identifier"),
    "name": ("label", "title"), "title": ("name", "heading"), "city": ("town", "municipality"),
    "country": ("nation", "state"), "phone": ("telephone", "tel"), "email": ("mail", "e mail address"),
    "address": ("location",), "price": ("cost", "rate"), "amount": ("value", "sum"), "total": ("sum", "overall"),
    "quantity": ("count", "units"), "weight": ("mass",), "date": ("day",), "day": ("date",), "salary": ("pay", "wage"),
    "status": ("state", "stage"), "category": ("class", "group", "type"), "type": ("kind", "class"),
    "description": ("text", "comment"), "body": ("message", "content"), "subject": ("topic", "heading"),
    "note": ("remark", "comment"), "manager": ("supervisor", "boss"), "rep": ("agent",), "segment": ("market", "group"),
    "priority": ("urgency",), "channel": ("medium",), "method": ("way", "means"), "carrier": ("shipper",),
    "duration": ("length", "time"), "limit": ("ceiling",), "credit": ("loan",), "discount": ("rebate",),
    "supplier": ("vendor",), "finish": ("surface", "colour"), "shelf": ("rack",), "headcount": ("people",),
    "year": ("yr",), "author": ("writer",), "age": ("years",), "rank": ("position",), "score": ("points",),
    "school": ("college",), "student": ("pupil",), "teacher": ("instructor",), "course": ("class",),
    "department": ("division", "unit"), "company": ("firm", "business"), "capacity": ("size",), "opened": ("started",),
    "hired": ("joined",), "ordered": ("placed",), "paid": ("settled",), "rate": ("ratio",), "team": ("squad",),
    "player": ("athlete",), "artist": ("performer",), "song": ("track",), "track": ("song",), "genre": ("style",),
    "invoice": ("bill",), "building": ("house",), "room": ("chamber",), "first": ("given",), "last": ("family",),
    "start": ("begin",), "end": ("finish",), "region": ("area",), "population": ("inhabitants",),
}  # fmt: skip

ABBREVIATIONS: dict[str, str] = {
    "customer": "cust", "customers": "cust", "amount": "amt", "quantity": "qty", "date": "dt", "description": "desc",
    "number": "no", "employee": "emp", "employees": "emp", "department": "dept", "product": "prod", "products": "prod",
    "order": "ord", "orders": "ord", "address": "addr", "telephone": "tel", "phone": "ph", "category": "cat",
    "account": "acct", "balance": "bal", "transaction": "txn", "payment": "pmt", "payments": "pmt", "invoice": "inv",
    "warehouse": "whse", "manager": "mgr", "percent": "pct", "reference": "ref", "status": "sts", "type": "typ",
    "code": "cd", "name": "nm", "total": "tot", "value": "val", "discount": "disc", "delivery": "dlv",
    "message": "msg", "identifier": "id", "country": "ctry", "city": "cty", "region": "reg", "year": "yr",
    "month": "mo", "day": "dy", "first": "fst", "last": "lst", "average": "avg", "maximum": "max", "minimum": "min",
    "temperature": "temp", "organisation": "org", "company": "co", "source": "src", "price": "prc", "weight": "wt",
    "position": "pos", "location": "loc", "student": "stu", "course": "crs", "count": "cnt", "details": "dtl",
}  # fmt: skip
