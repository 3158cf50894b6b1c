"""What people do with an environment, each put together once: every surface, the demo and the benchmarks call these."""
