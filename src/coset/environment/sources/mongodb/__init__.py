"""MongoDB: a live server, and a mongodump folder."""
