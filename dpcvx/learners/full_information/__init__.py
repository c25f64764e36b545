"""Learners that see the whole loss vector, through private sums alone."""
