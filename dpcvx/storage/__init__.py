"""How files are kept and processes told apart: below everything that keeps a state."""
