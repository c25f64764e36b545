"""How files are kept and processes told apart: below everything that keeps a state.

Every file of the package that must survive an interruption, every lock between processes, every fingerprint and every
guard against forks is made here, so that what can go wrong with them is mended in one place.
"""
