"""Benchmarks of the workspace itself, as ratios to a floor measured in the same run.

Machines differ and are shared; absolute times say little. Each benchmark therefore measures, interleaved with the real
thing, the least that any program could spend on the same work, and reports the ratio.
"""
