"""What connects the tables of an environment: joins, copies, code lists, record links."""
