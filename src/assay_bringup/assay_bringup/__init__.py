"""Brings the graph up: launch files where `ros2 launch` is not installed, lifecycle manager, shared-memory hygiene."""
