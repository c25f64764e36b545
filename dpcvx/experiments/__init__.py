"""Tools for experiments: simulations, sweeps, loss sequences, fitted exponents, and how results are shown."""
