"""From cvxpy constraints to the conic form, and the presolve that shrinks it."""
