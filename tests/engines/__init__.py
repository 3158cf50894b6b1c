"""Real database servers for the tests, one module each; a server that cannot run here skips the tests that need it."""
