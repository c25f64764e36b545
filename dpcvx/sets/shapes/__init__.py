"""Recognised shapes."""
