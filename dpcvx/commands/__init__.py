"""The commands of `dpcvx`; in each file `describe(parser)` declares arguments and `run(arguments)` returns a report."""
