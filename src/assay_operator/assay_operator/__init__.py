"""Operator consoles over one view model."""
