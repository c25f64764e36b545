"""Outside solvers, called directly."""
