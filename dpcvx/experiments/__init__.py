"""Experiments: pictures and measurements of what was declared."""
