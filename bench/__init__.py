"""Benchmarks: how fast the bridge is, as ratios to baselines that are measured in the same run.

`make bench` runs all of it, `make bench-quick` the part that tells whether the hot path became slower.
"""
