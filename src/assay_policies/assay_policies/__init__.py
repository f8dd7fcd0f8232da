"""The policy node and its policies."""
