"""Questions about a set that need a solver: linear minimisation, projection, membership and vertices."""
