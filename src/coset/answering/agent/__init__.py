"""The agent: a bounded loop of tool calls, for what the arbiter's statement leaves open."""
