PATIENCE = 120.0
"""Seconds that anything may take before a test fails. A wait ends with what it waits for: on a loaded machine what takes 10 ms
elsewhere has taken 20 s."""
