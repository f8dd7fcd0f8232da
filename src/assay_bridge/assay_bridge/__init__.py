"""The graph as an Inspect Robots embodiment and policy, and the session runner."""
