"""QoS by meaning, node parameters as dataclasses, message conversion and test helpers."""
