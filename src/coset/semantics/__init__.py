"""Semantic models of other tools, read and written: OSI, dbt and MetricFlow, Cube, LookML, DataHub, OpenMetadata."""
