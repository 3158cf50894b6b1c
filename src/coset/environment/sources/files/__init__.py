"""CSV, TSV, JSON, JSONL, Parquet and Excel files, and folders of them."""
