"""Plain pg_dump files, read without a server."""
