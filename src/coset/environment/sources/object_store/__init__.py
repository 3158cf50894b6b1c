"""Files in an object store: S3, Google Cloud Storage, Azure, or behind HTTPS."""
