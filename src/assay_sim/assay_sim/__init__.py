"""Worlds that speak the topics of the hardware: the mock world."""
