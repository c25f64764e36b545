"""Finite families of actions: distributions over them, and how to explore them."""
