"""MySQL and MariaDB servers."""
