"""Benchmarks of the workspace itself, as ratios to a floor measured in the same run.

Machines differ and are shared; absolute times say little. Each benchmark therefore measures, interleaved with the real
thing, what bare rclpy takes for the same exchange, and reports the ratio.
"""
