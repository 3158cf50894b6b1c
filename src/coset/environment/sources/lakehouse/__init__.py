"""Tables of lakehouse formats: Delta Lake and Apache Iceberg."""
