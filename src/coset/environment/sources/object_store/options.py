"""The options of a source as each library calls them: region, endpoint, keys of an object store.

In: a location and the source's `options`. Out: a mapping for obstore and deltalake, or one for pyiceberg. What is not
given comes from the environment (AWS_ACCESS_KEY_ID and the like), as those libraries do by themselves.
"""

from __future__ import annotations

from coset.environment.source import SourceSettings

_ICEBERG = {
    "access_key_id": "s3.access-key-id", "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "region": "s3.region", "endpoint": "s3.endpoint", "account_name": "adls.account-name",
    "account_key": "adls.account-key",
}  # fmt: skip


def store_options(location: str, settings: SourceSettings) -> dict[str, str]:
    """For obstore and deltalake. A plain-http endpoint is one that the user named himself."""
    if "://" not in location:
        return {}
    options = {key.lower().removeprefix("aws_"): value for key, value in settings.options.items()}
    if options.get("endpoint", "").startswith("http://"):
        options.setdefault("allow_http", "true")
    return options


def iceberg_properties(settings: SourceSettings) -> dict[str, str]:
    """For pyiceberg; an option that is not of a store is passed on as it is."""
    return {_ICEBERG.get(key, key): value for key, value in settings.options.items() if key != "catalog"}
