"""Learners that see the number <loss, action> alone, and the reduction that makes them private."""
